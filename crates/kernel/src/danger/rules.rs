//! The rules of the danger guard for one simple command, one function each.
//!
//! Must never: judge text that is not executed; the facts contain only commands that run.

use super::target::{PathCandidate, VariableScope};
use super::{Danger, file, refused};
use crate::shell::git::{GitCommand, is_forced_push, is_running_key, set_key};
use crate::shell::program::{has_option, operands, targets, tests_of_find};
use crate::shell::{ShellCommand, ShellFacts, ShellWord, executes_downloaded};

/// Returns the finding of the first rule that refuses the command at this position.
pub(super) fn of_simple(
    at: usize,
    facts: &ShellFacts,
    scope: &VariableScope<'_>,
) -> Option<Danger> {
    let expansions = scope.expansions(facts.commands.get(at)?);
    expansions.iter().find_map(|simple| of_expansion(simple, at, facts, scope))
}

fn of_expansion(
    simple: &ShellCommand,
    at: usize,
    facts: &ShellFacts,
    scope: &VariableScope<'_>,
) -> Option<Danger> {
    privilege(simple)
        .or_else(|| redirections(simple, scope))
        .or_else(|| downloaded(simple, &facts.commands[..at]))
        .or_else(|| rights(simple, scope))
        .or_else(|| deletion(simple, scope))
        .or_else(|| search(simple, facts, scope))
        .or_else(|| devices(simple))
        .or_else(|| written(simple, scope))
        .or_else(|| repository(simple))
        .or_else(|| persistence(simple))
        .or_else(|| machine(simple))
}

/// Detects a function that calls itself into a pipe of itself.
pub(super) fn fork_bomb(command: &str, facts: &ShellFacts) -> Option<Danger> {
    let tight: String = command.chars().filter(|c| !c.is_whitespace()).collect();
    let defined = facts.commands.iter().filter(|simple| simple.program() == Some("function"));
    let mut names = defined.filter_map(|simple| simple.words.get(1)?.literal());
    let pipes_itself =
        |name: &str| {
            let calls = |simple: &ShellCommand| simple.program() == Some(name);
            facts.commands.iter().filter(|simple| calls(simple)).any(|simple| {
                simple.fed_by.iter().filter_map(|at| facts.commands.get(*at)).any(calls)
            })
        };
    if tight.contains(":(){:|:&};:") && facts.opaque.is_some() || names.any(pipes_itself) {
        refused("fork_bomb", "a function that starts itself again and again")
    } else {
        None
    }
}

fn privilege(simple: &ShellCommand) -> Option<Danger> {
    let gains = |name: &str| {
        matches!(
            name,
            "sudo" | "su" | "doas" | "pkexec" | "run0" | "sudoedit" | "visudo" | "runuser"
        )
    };
    let wrapper = simple.wrappers.iter().map(String::as_str).find(|wrapper| gains(wrapper));
    let name = wrapper.or_else(|| simple.program().filter(|name| gains(name)))?;
    refused("privilege", format!("`{name}` runs with the rights of another"))
}

fn redirections(simple: &ShellCommand, scope: &VariableScope<'_>) -> Option<Danger> {
    simple.writes.iter().find_map(|word| write(word, simple, scope))
}

/// Checks a write. A path that is dangerous only if a variable is empty is too uncertain to refuse.
fn write(word: &ShellWord, simple: &ShellCommand, scope: &VariableScope<'_>) -> Option<Danger> {
    let paths = scope.paths(word, simple.dir.as_ref());
    paths
        .iter()
        .filter(|path| !path.if_empty)
        .find_map(|path| file::of_write(&path.path, scope.place))
}

fn downloaded(simple: &ShellCommand, before: &[ShellCommand]) -> Option<Danger> {
    let name = simple.program()?;
    if executes_downloaded(simple, before) {
        refused(
            "run_downloaded",
            format!("`{name}` executes text from the network that nobody read"),
        )
    } else {
        None
    }
}

fn deletion(simple: &ShellCommand, scope: &VariableScope<'_>) -> Option<Danger> {
    let recursive = match simple.program()? {
        "rm" | "srm" | "trash" => is_recursive(simple),
        "mv" => targets(simple).last().is_some_and(|word| word.text() == "/dev/null"),
        "wipe" => true,
        "rsync" => simple.arguments().iter().any(|word| word.text().starts_with("--del")),
        _ => false,
    };
    if !recursive {
        return None;
    }
    targets(simple).iter().find_map(|word| tree(word, simple, scope))
}

fn is_recursive(simple: &ShellCommand) -> bool {
    has_option(simple, 'r', "--recursive") || has_option(simple, 'R', "--recursive")
}

/// Checks a whole tree. A path that assumes an empty variable is refused only at the root.
fn tree(word: &ShellWord, simple: &ShellCommand, scope: &VariableScope<'_>) -> Option<Danger> {
    scope.paths(word, simple.dir.as_ref()).iter().find_map(|PathCandidate { path, if_empty }| {
        if !if_empty {
            file::of_tree(path, scope.place)
        } else if matches!(path.as_str(), "/" | "/*" | "/.*") {
            refused(
                "delete_unknown",
                format!("`{}` is everything on the machine if the variable is empty", word.text()),
            )
        } else {
            None
        }
    })
}

/// Refuses a `find` that deletes all that it finds, without a test that narrows it.
fn search(simple: &ShellCommand, facts: &ShellFacts, scope: &VariableScope<'_>) -> Option<Danger> {
    if simple.program() != Some("find") {
        return None;
    }
    let texts: Vec<&str> = tests_of_find(simple).into_iter().map(|(_, text)| text).collect();
    let runs_rm = facts.commands.iter().any(|inner| {
        inner.place == simple.place
            && matches!(inner.program(), Some("rm" | "shred" | "unlink"))
            && inner.wrappers.iter().any(|wrapper| wrapper.starts_with("find "))
            && inner.arguments().iter().any(|word| word.text() == "{}")
    });
    let options = texts.iter().take_while(|text| matches!(**text, "-L" | "-P" | "-H")).count();
    let tests = texts.iter().skip(options).filter(|text| text.starts_with('-'));
    let wide = [
        "-delete",
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-type",
        "-mindepth",
        "-depth",
        "-xdev",
        "-mount",
        "-print",
        "-print0",
        "-follow",
        "-o",
    ];
    let narrows = tests.into_iter().any(|test| !wide.contains(test))
        || texts.contains(&"l")
        || texts.contains(&"!");
    if narrows || !(texts.contains(&"-delete") || runs_rm) {
        return None;
    }
    let starts = simple.arguments().iter().skip(options);
    let starts: Vec<&ShellWord> =
        starts.take_while(|word| !word.text().starts_with(['-', '(', '!'])).collect();
    let here = ShellWord::Literal(".".to_owned());
    let starts = if starts.is_empty() { vec![&here] } else { starts };
    starts.into_iter().find_map(|word| tree(word, simple, scope))
}

fn devices(simple: &ShellCommand) -> Option<Danger> {
    let name = simple.program()?;
    let formats = name.starts_with("mkfs")
        || matches!(
            name,
            "mke2fs"
                | "wipefs"
                | "blkdiscard"
                | "shred"
                | "fdisk"
                | "sfdisk"
                | "parted"
                | "sgdisk"
                | "mkswap"
                | "cryptsetup"
                | "newfs"
                | "wipe"
        );
    let lists =
        simple.arguments().iter().any(|word| matches!(word.text(), "-l" | "--list" | "print"));
    let device =
        operands(simple).into_iter().map(ShellWord::text).find(|text| file::is_device(text));
    match device {
        Some(device) if formats && !lists => {
            refused("device_write", format!("`{name}` destroys what is on `{device}`"))
        }
        _ => None,
    }
}

/// Refuses programs that write or delete single protected files.
fn written(simple: &ShellCommand, scope: &VariableScope<'_>) -> Option<Danger> {
    // Removing a file of the agent's definition equals writing it, and `mv` removes its source.
    targets(simple).iter().find_map(|word| write(word, simple, scope))
}

/// Refuses changes to owners and modes of the system, of a home directory or of the root.
fn rights(simple: &ShellCommand, scope: &VariableScope<'_>) -> Option<Danger> {
    let name = simple.program().filter(|name| matches!(*name, "chmod" | "chown" | "chgrp"))?;
    let opens = operands(simple).first().is_some_and(|mode| mode.text().ends_with("777"));
    targets(simple).iter().flat_map(|word| scope.paths(word, simple.dir.as_ref())).find_map(
        |path| {
            let found = file::of_tree(&path.path, scope.place).filter(|_| !path.if_empty)?;
            let system = matches!(found.rule, "delete_root" | "delete_system");
            let home = path.path.trim_end_matches("/*") == scope.home();
            if (system || home) && (is_recursive(simple) || (opens && path.path == "/")) {
                refused(
                    "system_permissions",
                    format!("`{name}` on everything below `{}`", path.path),
                )
            } else {
                None
            }
        },
    )
}

fn repository(simple: &ShellCommand) -> Option<Danger> {
    let git = GitCommand::of(simple)?;
    if is_forced_push(&git) {
        return refused(
            "force_push",
            "a forced push replaces the history of others; `--force-with-lease` looks first",
        );
    }
    let now = git.arguments.iter().any(|text| {
        text.split_once('=').is_some_and(|(name, value)| {
            matches!(name, "--expire" | "--expire-unreachable" | "--prune")
                && matches!(value, "now" | "all")
        })
    });
    let drops = match git.subcommand {
        Some("reflog") => git.operands().first() == Some(&"expire") && now,
        Some("gc") => now,
        Some("prune") => {
            !git.has(&["-n", "--dry-run"]) && git.has(&["--expire=now", "--expire=all"])
        }
        _ => false,
    };
    if drops {
        return refused(
            "history_destroyed",
            "it drops commits for good, beyond what the reflog keeps",
        );
    }
    let set = set_key(&git).filter(|key| is_running_key(key));
    set.and_then(|key| refused("persistence", format!("`{key}` makes git run a program later")))
}

fn persistence(simple: &ShellCommand) -> Option<Danger> {
    let name = simple.program()?;
    let first = operands(simple).first().map(|word| word.text()).unwrap_or_default();
    let stays = match name {
        "crontab" => !simple.arguments().iter().any(|word| word.text() == "-l"),
        "systemctl" => matches!(first, "enable" | "reenable" | "link" | "mask" | "preset"),
        "launchctl" => matches!(first, "load" | "bootstrap" | "submit" | "enable"),
        "update-rc.d" | "chkconfig" => true,
        _ => false,
    };
    if stays {
        refused("persistence", format!("`{name} {first}` leaves something that runs later"))
    } else {
        None
    }
}

fn machine(simple: &ShellCommand) -> Option<Danger> {
    let name = simple.program()?;
    let texts: Vec<&str> = simple.arguments().iter().map(ShellWord::text).collect();
    let first = operands(simple).first().map(|word| word.text()).unwrap_or_default();
    let stops = match name {
        "shutdown" | "reboot" | "halt" | "poweroff" => {
            !texts.iter().any(|text| matches!(*text, "--help" | "--version" | "-c"))
        }
        "init" | "telinit" => matches!(first, "0" | "6"),
        "systemctl" => matches!(
            first,
            "poweroff" | "reboot" | "halt" | "kexec" | "rescue" | "emergency" | "suspend"
        ),
        _ => false,
    };
    if stops {
        return refused("power", format!("`{name}` stops the machine"));
    }
    let kills = match name {
        "kill" => texts.iter().skip(1).any(|text| *text == "-1"),
        "killall5" => true,
        "pkill" => texts.last().is_some_and(|pattern| matches!(*pattern, "." | ".*" | "")),
        _ => false,
    };
    if kills { refused("kill_all", format!("`{name}` ends every process")) } else { None }
}
