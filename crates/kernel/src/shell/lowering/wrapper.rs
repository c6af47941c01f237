//! Programs that run another program: their options, and the start of its command.
//!
//! Must never: call an option known that may take another word than the table says.

use super::super::ShellWord;
use super::LoweringContext;

/// A program that runs another: its options with and without a value, and the number of words
/// before the command.
#[derive(Clone, Copy)]
pub(super) struct Wrapper {
    pub(super) valued: &'static [&'static str],
    pub(super) flags: &'static [&'static str],
    pub(super) operands: usize,
}

#[rustfmt::skip]
pub(super) fn wrapper(name: &str) -> Option<Wrapper> {
    type Names = &'static [&'static str];
    let (valued, flags, operands): (Names, Names, usize) = match name {
        "env" => (&["-u", "--unset", "-C", "--chdir", "-a", "--argv0"], &["-i", "-", "-0", "-v", "--ignore-environment", "--null", "--debug"], 0),
        "sudo" => (&["-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-R", "-D", "-U", "--user", "--group", "--host",
            "--prompt", "--chdir", "--chroot", "--role", "--type"], &["-n", "-S", "-E", "-H", "-i", "-s", "-k", "-b", "-A", "-P", "-l", "-v"], 0),
        "doas" => (&["-u", "-C"], &["-n", "-s", "-L"], 0),
        "pkexec" | "run0" => (&["--user", "-u"], &["--disable-internal-agent", "--keep-cwd"], 0),
        "command" => (&[], &["-p"], 0),
        "setsid" => (&[], &["-c", "-f", "-w", "--wait", "--fork", "--ctty"], 0),
        "builtin" | "nohup" | "unbuffer" | "eatmydata" | "fakeroot" | "caffeinate" | "busybox" | "toybox" | "catchsegv" => (&[], &[], 0),
        "exec" => (&["-a"], &["-c", "-l"], 0),
        "nice" => (&["-n", "--adjustment"], &["-0", "-1", "-5", "-10", "-15", "-19", "-20"], 0),
        "ionice" => (&["-c", "-n", "--class", "--classdata"], &["-t", "--ignore"], 0),
        "chrt" => (&[], &["-b", "-f", "-i", "-o", "-r", "-a", "-v"], 1),
        "taskset" => (&[], &["-a", "-c"], 1),
        "stdbuf" => (&["-i", "-o", "-e", "--input", "--output", "--error"], &[], 0),
        "timeout" | "gtimeout" => (&["-s", "-k", "--signal", "--kill-after"], &["-v", "--verbose", "--foreground", "--preserve-status", "-f", "-p"], 1),
        "time" => (&["-f", "-o", "--format", "--output"], &["-p", "-v", "-a", "-l", "--portability", "--verbose", "--append"], 0),
        "strace" | "ltrace" => (&["-o", "-e", "-p", "-s", "-u", "-E", "-S", "-a", "-b", "-P"], &["-f", "-ff", "-c", "-t", "-tt", "-T", "-v", "-y", "-q", "-r"], 0),
        "chroot" => (&["--userspec", "--groups"], &["--skip-chdir"], 1),
        "flock" => (&["-w", "--timeout", "-E"], &["-n", "-x", "-s", "-e", "-u", "-o", "-F", "--nonblock", "--exclusive", "--shared"], 1),
        "unshare" | "nsenter" | "systemd-run" | "xvfb-run" | "dbus-run-session" | "rlwrap" | "proxychains" | "proxychains4"
        | "tsocks" | "torsocks" => (&[], &["-a", "-m", "-n", "-r", "-u", "-p", "-f", "--user", "--scope", "-q"], 0),
        _ => return None,
    };
    Some(Wrapper { valued, flags, operands })
}

/// Records unknown options: one may take the next word, and then another word is the command.
pub(super) fn check_options(lowering: &mut LoweringContext, words: &[ShellWord], wrapper: Wrapper) {
    let name = words.first().map_or("", ShellWord::text);
    let strange = words
        .iter()
        .skip(1)
        .map(ShellWord::text)
        .filter(|text| text.starts_with(['-', '+']) && *text != "--")
        .find(|text| {
            let long = text.split('=').next().unwrap_or(text);
            let joined = wrapper
                .valued
                .iter()
                .any(|valued| !valued.starts_with("--") && text.starts_with(valued));
            let is_flag = |letter: char| {
                wrapper.flags.iter().any(|flag| flag.len() == 2 && flag.ends_with(letter))
            };
            let letters = text.len() > 1 && text.chars().skip(1).all(is_flag);
            !(wrapper.flags.contains(text) || wrapper.valued.contains(&long) || joined || letters)
        });
    if let Some(option) = strange {
        lowering.opaque(format!("an option of `{name}` that is not known: `{option}`"));
    }
}

/// Returns the position of the first word after the options.
pub(super) fn after_options(words: &[ShellWord], valued: &[&str]) -> usize {
    let mut at = 1;
    while let Some(text) = words.get(at).and_then(ShellWord::literal) {
        match text {
            "--" => return at + 1,
            text if valued.contains(&text) => at += 2,
            text if text.starts_with(['-', '+']) => at += 1,
            _ => break,
        }
    }
    at.min(words.len())
}

/// Returns the directory that an option of `env` names.
pub(super) fn chdir(options: &[ShellWord]) -> Option<ShellWord> {
    options.iter().enumerate().find_map(|(at, word)| match word.text() {
        "-C" | "--chdir" => options.get(at + 1).cloned(),
        text => {
            let dir = text.strip_prefix("-C").or_else(|| text.strip_prefix("--chdir="))?;
            Some(word.with(dir))
        }
    })
}

/// True if `time -o` or `strace -o` writes its output to a file.
pub(super) fn writes_a_file(name: &str, options: &[ShellWord]) -> bool {
    matches!(name, "time" | "strace" | "ltrace")
        && options
            .iter()
            .any(|word| word.text().starts_with("-o") || word.text().starts_with("--output"))
}
