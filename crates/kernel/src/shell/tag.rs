//! From one simple command to its tags.
//!
//! Must never: leave a command without a tag unless it does nothing at all.

use std::collections::BTreeSet;

use super::git::{self, Git};
use super::path::{Where, place};
use super::program::{self, effects, interpreter, is_dangerous_variable, is_downloader, is_shell};
use super::{Simple, Tag, Word, code, escape};

/// The tags of a command; those before it say what is fed to it.
pub(crate) fn of(simple: &Simple, before: &[Simple]) -> BTreeSet<Tag> {
    let mut tags = BTreeSet::new();
    for word in &simple.writes {
        written(word, simple, &mut tags);
    }
    if simple.assigns.iter().any(|(name, _)| is_dangerous_variable(name)) {
        tags.insert(Tag::Opaque);
    }
    for wrapper in &simple.wrappers {
        match wrapper.as_str() {
            "sudo" | "doas" | "pkexec" | "run0" | "su" | "runuser" | "sg" | "chroot"
            | "unshare" | "nsenter" => {
                tags.insert(Tag::Privilege);
            }
            "ssh" => tags.extend([Tag::Network, Tag::Opaque]),
            "systemd-run" => tags.extend([Tag::Persistence]),
            "strace" | "ltrace" | "trap" => tags.extend([Tag::Opaque]),
            _ => {}
        }
    }
    if !simple.words.is_empty() {
        program(simple, before, &mut tags);
    }
    tags
}

fn program(simple: &Simple, before: &[Simple], tags: &mut BTreeSet<Tag>) {
    let Some(name) = simple.program() else {
        tags.insert(Tag::Opaque);
        return;
    };
    if executes_downloaded(simple, before) {
        tags.insert(Tag::ExecDownloaded);
    }
    if let Some(git) = Git::of(simple) {
        tags.extend(git::tags(&git));
        return;
    }
    if asks_for_help(simple) && effects(name).is_some() {
        tags.insert(Tag::ReadOnly);
        return;
    }
    // A program in a folder is whatever that folder holds.
    let by_path = simple.words[0].text().contains('/') && !is_system_folder(simple.words[0].text());
    match effects(name).filter(|_| !by_path) {
        Some(effects) => tags.extend(effects.iter().filter(|tag| **tag != Tag::WorkspaceWrite)),
        None => {
            tags.insert(Tag::Opaque);
        }
    }
    // Code that is known would stand in the command's place; what is left here is a file or a terminal.
    if is_shell(name)
        && simple.arguments().is_empty()
        && simple.fed_by.is_empty()
        && simple.reads.is_empty()
    {
        tags.insert(Tag::Interactive);
    }
    tags.extend(escape::of(simple).into_iter().map(|escape| escape.tag));
    changed(name, simple, tags);
}

/// What a program that writes or deletes reaches.
fn changed(name: &str, simple: &Simple, tags: &mut BTreeSet<Tag>) {
    let targets = program::targets(simple);
    let writes = effects(name).is_some_and(|effects| effects.contains(&Tag::WorkspaceWrite));
    for target in &targets {
        written(target, simple, tags);
    }
    if writes && targets.is_empty() {
        tags.insert(Tag::WorkspaceWrite);
    }
    match name {
        "wget" if targets.is_empty() => {
            tags.insert(Tag::WorkspaceWrite);
        }
        "mv" if targets.last().is_some_and(|word| word.text() == "/dev/null") => {
            tags.insert(Tag::Delete);
        }
        "truncate" | "dd" => {
            tags.insert(Tag::Delete);
        }
        "chmod" if operand_is_setuid(simple) => {
            tags.insert(Tag::Privilege);
        }
        "rsync" if simple.arguments().iter().any(|word| word.text().starts_with("--del")) => {
            tags.insert(Tag::Delete);
        }
        "read" | "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "let"
        | "set" | "shopt" => {
            let names = simple.arguments().iter().map(Word::text);
            let sets = |text: &str| is_dangerous_variable(text.split('=').next().unwrap_or(text));
            if name == "let" || names.into_iter().any(sets) {
                tags.insert(Tag::Opaque);
            }
        }
        "crontab" if simple.arguments().iter().any(|word| word.text() == "-l") => {
            tags.insert(Tag::ReadOnly);
        }
        _ => {}
    }
}

fn written(word: &Word, simple: &Simple, tags: &mut BTreeSet<Tag>) {
    if runs_later(word.text()) {
        tags.insert(Tag::Persistence);
    }
    match place(word, simple.dir.as_ref()) {
        Where::Nowhere => {}
        Where::Temporary | Where::Here => {
            tags.insert(Tag::WorkspaceWrite);
        }
        Where::Elsewhere => {
            tags.insert(Tag::OutsideWrite);
        }
    }
}

/// Files that a shell, a session, git or a scheduler runs of its own accord.
pub(crate) fn runs_later(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let start_up = matches!(
        name,
        ".bashrc"
            | ".bash_profile"
            | ".bash_login"
            | ".bash_logout"
            | ".profile"
            | ".zshrc"
            | ".zshenv"
            | ".zprofile"
            | ".zlogin"
            | ".kshrc"
            | ".cshrc"
            | ".tcshrc"
            | ".login"
            | ".xprofile"
            | ".xinitrc"
            | ".xsession"
            | ".pam_environment"
            | "authorized_keys"
            | "authorized_keys2"
    );
    let folders = [
        ".git/hooks/",
        "/etc/cron",
        "/var/spool/cron",
        "/etc/systemd/",
        "/.config/systemd/",
        "/.config/autostart/",
        "/LaunchAgents/",
        "/LaunchDaemons/",
        "/etc/profile",
        "/etc/init.d/",
        "/.config/fish/",
        "/.ssh/rc",
        "/etc/rc.local",
    ];
    let git_config =
        path == ".git/config" || path.ends_with("/.git/config") || name == ".gitconfig";
    start_up || git_config || folders.iter().any(|folder| path.contains(folder))
}

fn operand_is_setuid(simple: &Simple) -> bool {
    let Some(mode) = program::operands(simple).first().map(|word| word.text()) else {
        return false;
    };
    let symbolic = mode.contains(['+', '=']) && mode.contains('s');
    symbolic || (mode.len() == 4 && mode.starts_with(['4', '2', '6', '7']))
}

fn asks_for_help(simple: &Simple) -> bool {
    matches!(simple.arguments(), [word] if matches!(word.text(), "--help" | "--version"))
}

/// Whether a path names a program where systems keep theirs.
pub(super) fn is_system_folder(path: &str) -> bool {
    let folder = path.rsplit_once('/').map(|(folder, _)| folder);
    matches!(
        folder,
        Some("/bin" | "/usr/bin" | "/sbin" | "/usr/sbin" | "/usr/local/bin" | "/opt/homebrew/bin")
    )
}

/// Whether text from the network is executed here.
fn executes_downloaded(simple: &Simple, before: &[Simple]) -> bool {
    let Some(name) = simple.program() else { return false };
    let fed = simple.fed_by.iter().filter_map(|at| before.get(*at));
    let downloads = fed.filter_map(Simple::program).any(is_downloader);
    let arguments = simple.arguments();
    let unknown_code = || arguments.iter().any(|word| word.literal().is_none());
    let executes_input = match name {
        "eval" | "source" | "." => true,
        name if is_shell(name) => unknown_code() || reads_script_from_input(arguments),
        name if interpreter(name).is_some() => {
            code::inline(simple).is_some_and(|code| code.literal().is_none())
                || (code::inline(simple).is_none()
                    && code::script(simple)
                        .is_none_or(|script| script == "-" || script.starts_with('<')))
        }
        _ => false,
    };
    let runs = match is_shell(name) || interpreter(name).is_some() || matches!(name, "source" | ".")
    {
        true => arguments.iter().map(Word::text).find(|text| !text.starts_with('-')),
        false => simple.words[0].literal(),
    };
    (downloads && executes_input)
        || runs.is_some_and(|file| before.iter().any(|earlier| saved(earlier, file)))
}

fn reads_script_from_input(arguments: &[Word]) -> bool {
    let mut operands =
        arguments.iter().map(Word::text).filter(|text| !text.starts_with('-') || *text == "-");
    let to_input = arguments.iter().any(|word| word.text() == "-s");
    to_input || operands.next().is_none_or(|first| matches!(first, "-" | "/dev/stdin"))
}

/// Whether an earlier command got this file from the network.
fn saved(earlier: &Simple, file: &str) -> bool {
    let Some(name) = earlier.program().filter(|name| is_downloader(name)) else { return false };
    let bare = |path: &str| path.trim_start_matches("./").to_owned();
    let wanted = bare(file);
    let named = program::targets(earlier)
        .into_iter()
        .chain(earlier.writes.iter().cloned())
        .any(|word| bare(word.text()) == wanted);
    let by_address = name == "wget" || program::has_option(earlier, 'O', "--remote-name");
    let last = |word: &Word| word.text().rsplit('/').next().map(str::to_owned);
    named
        || (by_address
            && earlier
                .arguments()
                .iter()
                .filter_map(last)
                .any(|last| !last.is_empty() && last == wanted))
}
