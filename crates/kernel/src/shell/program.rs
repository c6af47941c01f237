//! Classifies programs and variables by their names.
//!
//! Must never: call a variable harmless that controls what a program runs.

use super::{ShellCommand, ShellWord};

/// Returns true for programs that fetch text from the network.
pub(super) fn is_downloader(name: &str) -> bool {
    matches!(
        name,
        "curl"
            | "wget"
            | "aria2c"
            | "nc"
            | "ncat"
            | "netcat"
            | "http"
            | "https"
            | "xh"
            | "lynx"
            | "fetch"
            | "ftp"
    )
}

/// Returns true for shells: they execute their `-c`, their file or their input.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "ash"
            | "fish"
            | "mksh"
            | "rbash"
            | "yash"
            | "csh"
            | "tcsh"
    )
}

/// Returns the language of an interpreter, by its name without the version.
pub(super) fn interpreter(name: &str) -> Option<&'static str> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let known = [
        "python",
        "pypy",
        "perl",
        "ruby",
        "node",
        "nodejs",
        "bun",
        "deno",
        "php",
        "lua",
        "luajit",
        "Rscript",
        "osascript",
        "pwsh",
        "powershell",
        "tclsh",
    ];
    known.into_iter().find(|known| *known == bare)
}

/// Returns the words that name what a program writes, changes or deletes.
pub(crate) fn targets(simple: &ShellCommand) -> Vec<ShellWord> {
    let operands = || operands(simple).into_iter().cloned();
    let option = |names: &[&str]| valued(simple, names).map(|(_, value)| value);
    match simple.program() {
        Some("cp" | "ln" | "install") => {
            let into = option(&["-t", "--target-directory"]);
            into.or_else(|| operands().next_back()).into_iter().collect()
        }
        Some("gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd")
            if ['c', 't', 'l'].into_iter().any(|short| has_option(simple, short, "--stdout")) =>
        {
            Vec::new()
        }
        Some(
            "mv" | "rm" | "rmdir" | "unlink" | "shred" | "srm" | "wipe" | "mkdir" | "touch" | "tee"
            | "mkfifo" | "truncate" | "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz"
            | "zstd" | "trash" | "chattr" | "sudoedit",
        ) => operands().collect(),
        Some("chmod" | "chown" | "chgrp" | "setfacl" | "setcap") => operands().skip(1).collect(),
        Some("dd") => {
            let output =
                |word: &ShellWord| word.text().strip_prefix("of=").map(|file| word.with(file));
            simple.arguments().iter().filter_map(output).collect()
        }
        Some("sed") if has_option(simple, 'i', "--in-place") => operands().skip(1).collect(),
        Some("curl" | "sort" | "shuf") => option(&["-o", "--output"]).into_iter().collect(),
        Some("wget") => option(&["-O", "--output-document"])
            .filter(|file| file.text() != "-")
            .into_iter()
            .collect(),
        Some("rsync" | "scp") => operands().next_back().into_iter().collect(),
        Some("tar" | "unzip") => option(&["-C", "--directory", "-d"]).into_iter().collect(),
        Some(_) | None => Vec::new(),
    }
}

/// Returns the arguments that are not options.
pub(crate) fn operands(simple: &ShellCommand) -> Vec<&ShellWord> {
    let mut ended = false;
    let mut operands = Vec::new();
    for word in simple.arguments() {
        let text = word.text();
        match () {
            () if !ended && text == "--" => ended = true,
            () if !ended && text.len() > 1 && text.starts_with('-') => {}
            () => operands.push(word),
        }
    }
    operands
}

/// True if a short option, alone or grouped, or a long one (also abbreviated) is given.
pub(crate) fn has_option(simple: &ShellCommand, short: char, long: &str) -> bool {
    let arguments = simple.arguments().iter().map(ShellWord::text).take_while(|text| *text != "--");
    arguments.into_iter().any(|text| match text.strip_prefix("--") {
        Some(_) => long.starts_with(text.split('=').next().unwrap_or(text)),
        None => text.starts_with('-') && text[1..].contains(short),
    })
}

/// Returns an option's value and its position: in the next word, after `=`, or joined to a short
/// option, which may end a group.
pub(super) fn valued(simple: &ShellCommand, names: &[&str]) -> Option<(usize, ShellWord)> {
    simple.words.iter().enumerate().skip(1).find_map(|(at, word)| {
        let text = word.text();
        let value = names.iter().find_map(|name| match name.strip_prefix("--") {
            Some(_) if text == *name => Some(""),
            Some(_) => text.strip_prefix(name)?.strip_prefix('='),
            None if text.starts_with("--") || !text.starts_with('-') => None,
            None => text.split_once(&name[1..]).map(|(_, joined)| joined),
        })?;
        if value.is_empty() {
            Some((at, simple.words.get(at + 1)?.clone()))
        } else {
            Some((at, word.with(value)))
        }
    })
}

/// Returns the words of a `find` outside of the commands that it runs, each with its position.
pub(crate) fn tests_of_find(simple: &ShellCommand) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut tests = Vec::new();
    for (at, word) in simple.words.iter().enumerate().skip(1) {
        match word.text() {
            _ if inside && ends_command(&simple.words, at) => inside = false,
            text if !inside => {
                inside = matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir");
                tests.push((at, text));
            }
            _ => {}
        }
    }
    tests
}

/// Returns true if the word here ends the command of an `-exec`: `;`, or `+` after `{}`.
pub(super) fn ends_command(words: &[ShellWord], at: usize) -> bool {
    match words[at].text() {
        ";" => true,
        "+" => words[..at].last().map(ShellWord::text) == Some("{}"),
        _ => false,
    }
}

/// Returns true for variables that control which programs run, or what they load.
pub(super) fn is_dangerous_variable(name: &str) -> bool {
    let exact = [
        "PATH",
        "IFS",
        "ENV",
        "BASH_ENV",
        "PROMPT_COMMAND",
        "SHELLOPTS",
        "BASHOPTS",
        "PS4",
        "CDPATH",
        "HOME",
        "SHELL",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "MANPAGER",
        "BROWSER",
        "LESSOPEN",
        "LESSCLOSE",
        "LESS",
        "CC",
        "CXX",
        "MAKEFLAGS",
        "NODE_OPTIONS",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "RUBYLIB",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "RUSTC_WRAPPER",
        "RUSTFLAGS",
        "TAR_OPTIONS",
        "GREP_OPTIONS",
        "RIPGREP_CONFIG_PATH",
        "SUDO_ASKPASS",
        "SSH_ASKPASS",
        "GLOBIGNORE",
        "EXECIGNORE",
        "HISTFILE",
        "TMPDIR",
        "KUBECONFIG",
        "DOCKER_HOST",
    ];
    let prefixes = [
        "LD_",
        "DYLD_",
        "GIT_",
        "PYTHON",
        "BASH_FUNC",
        "NPM_CONFIG_",
        "npm_config_",
        "CARGO_",
        "SSH_",
    ];
    exact.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns true for variables that only change the appearance of output.
pub(super) fn is_harmless_variable(name: &str) -> bool {
    let exact = [
        "LANG",
        "LANGUAGE",
        "TZ",
        "TERM",
        "COLUMNS",
        "LINES",
        "NO_COLOR",
        "CLICOLOR",
        "FORCE_COLOR",
        "CLICOLOR_FORCE",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "CI",
    ];
    exact.contains(&name) || name.starts_with("LC_")
}
