//! Finds arguments by which a read-only program can write, delete or execute.
//!
//! The table of harmless options comes first. An allowlist refuses these arguments of its programs
//! instead of asking; for others (`sed`, `awk`, `env`, `set`, `shopt`) they are all we know.
//!
//! Must never: accept a word that may expand to such an option.

use super::escape_argument::EscapeArgument;
use super::git::{GitCommand, runs_something};
use super::harmless::may_be_option;
use super::program::{tests_of_find, valued};
use super::sed::sed;
use super::{ShellCommand, ShellWord, inline_code};

/// Returns these arguments: all of a `sed` script, the first of any other program.
pub(super) fn of(simple: &ShellCommand) -> Vec<EscapeArgument> {
    let is_made = simple.words.iter().skip(1).any(may_be_option);
    match simple.program() {
        Some("sed") if !is_made => sed(simple),
        Some(name) => first(simple, name).into_iter().collect(),
        None => Vec::new(),
    }
}

fn first(simple: &ShellCommand, name: &str) -> Option<EscapeArgument> {
    let escape = |at: usize, why: &'static str| Some(EscapeArgument { at, why });
    if let Some(git) = GitCommand::of(simple) {
        if let Some(place) = git.steered {
            return escape(place, "an option that changes what git runs or where");
        }
        let greps = git.subcommand == Some("grep");
        let opens = |text: &str| {
            greps && text.starts_with('-') && !text.starts_with("--") && text.contains('O')
        };
        let place =
            simple.words.iter().position(|word| runs_something(word.text()) || opens(word.text()));
        return place
            .and_then(|place| escape(place, "an option by which git runs or writes something"));
    }
    if let Some(place) = simple.words.iter().skip(1).position(may_be_option)
        && carries_options(name)
    {
        return escape(place + 1, "a word that may turn out to be an option");
    }
    let texts: Vec<(usize, &str)> = match name {
        "find" => tests_of_find(simple),
        _ => simple.words.iter().map(ShellWord::text).enumerate().skip(1).collect(),
    };
    for (place, text) in texts {
        if let Some(why) = option(name, text) {
            return escape(place, why);
        }
    }
    let operand = |number: usize| {
        let words = simple.words.iter().enumerate().skip(1);
        let mut operands = words.filter(|(_, word)| !word.text().starts_with('-'));
        operands.nth(number).map(|(place, _)| place)
    };
    match name {
        "curl" => curl(simple),
        name if inline_code::is_awk(name) => awk(simple),
        "uniq" | "xxd" => operand(1).and_then(|place| escape(place, "a file it writes")),
        "hostname" => operand(0).and_then(|place| escape(place, "a new name for the machine")),
        _ => None,
    }
}

/// Returns true for read-only programs with options that act.
fn carries_options(name: &str) -> bool {
    matches!(
        name,
        "find"
            | "fd"
            | "fdfind"
            | "sort"
            | "sed"
            | "rg"
            | "tree"
            | "uniq"
            | "xxd"
            | "date"
            | "man"
            | "hostname"
            | "yq"
            | "tar"
            | "file"
            | "less"
            | "bat"
            | "env"
            | "set"
            | "printf"
            | "read"
            | "test"
            | "["
            | "shopt"
    ) || inline_code::is_awk(name)
}

fn option(name: &str, text: &str) -> Option<&'static str> {
    let long = text.split('=').next().unwrap_or(text);
    let is_row = text.starts_with('-') && !text.starts_with("--");
    let row_has = |letters: &[char]| is_row && text[1..].contains(letters);
    // Programs accept abbreviated long options.
    let shortened =
        |options: &[&str]| long.len() > 3 && options.iter().any(|option| option.starts_with(long));
    const RUNS: &str = "it runs a program";
    const WRITES: &str = "it writes a file";
    const PAGES: &str = "it runs or writes something";
    match name {
        "find" if text == "-delete" => Some("it deletes what it finds"),
        "find" if text.starts_with("-fprint") || text == "-fls" => Some("it writes what it finds"),
        "fd" | "fdfind"
            if (row_has(&['x', 'X']) && text.len() > 2)
                || text.starts_with("--exec=")
                || text.starts_with("--exec-batch=") =>
        {
            Some(RUNS)
        }
        "sort" | "shuf" | "base64" | "base32" if row_has(&['o']) || shortened(&["--output"]) => {
            Some(WRITES)
        }
        "sort" if shortened(&["--compress-program"]) => Some(RUNS),
        "rg" if matches!(long, "--pre" | "--hostname-bin") => Some(RUNS),
        "tree" if row_has(&['o', 'R']) => Some(WRITES),
        "date" if (row_has(&['s']) && !text.starts_with("-I")) || shortened(&["--set"]) => {
            Some("it sets the clock")
        }
        "file" if row_has(&['C']) || shortened(&["--compile"]) => Some(WRITES),
        "yq" if row_has(&['i']) || shortened(&["--inplace", "--in-place"]) => {
            Some("it changes a file")
        }
        "tar"
            if row_has(&['I', 'F'])
                || (!text.starts_with('-')
                    && text.len() < 8
                    && text.contains(['I', 'F'])
                    && !text.contains('.')) =>
        {
            Some(RUNS)
        }
        "tar"
            if shortened(&[
                "--checkpoint-action",
                "--to-command",
                "--use-compress-program",
                "--rsh-command",
                "--info-script",
                "--new-volume-script",
            ]) =>
        {
            Some(RUNS)
        }
        "man" if row_has(&['P', 'H']) || shortened(&["--pager", "--html"]) => Some(PAGES),
        "bat" if shortened(&["--pager"]) => Some(PAGES),
        "less"
            if text.starts_with('+')
                || row_has(&['o', 'O', 'k'])
                || shortened(&["--log-file", "--LOG-FILE", "--lesskey-file"]) =>
        {
            Some(PAGES)
        }
        "printf" if text.starts_with("-v") => Some("it sets a variable"),
        "hash" if row_has(&['p']) => Some("it changes what names mean"),
        "test" | "[" if text == "-v" || text.contains("[$") || text.contains("[`") => {
            Some("a test that may execute text")
        }
        _ => None,
    }
}

/// Finds a request that sends data to a server, or saves the response to a file.
fn curl(simple: &ShellCommand) -> Option<EscapeArgument> {
    let first = |names: &[&str]| valued(simple, names);
    let method =
        first(&["-X", "--request"]).map(|(at, name)| (at, name.text().to_ascii_uppercase()));
    let body = [
        "-d",
        "-F",
        "-T",
        "--data",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "--json",
        "--form",
        "--upload-file",
    ];
    let files = [
        "-o",
        "--output",
        "-c",
        "--cookie-jar",
        "-D",
        "--dump-header",
        "--trace",
        "--trace-ascii",
        "--etag-save",
    ];
    let saves = || {
        simple.words.iter().position(|word| {
            let text = word.text();
            text == "--remote-name"
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('O'))
        })
    };
    let (at, why) = if let Some((at, _)) = first(&["-K", "--config"]) {
        (at, "options that are not seen")
    } else if let Some((at, _)) =
        method.filter(|(_, name)| !matches!(name.as_str(), "GET" | "HEAD" | "OPTIONS"))
    {
        (at, "a request that changes something")
    } else if let Some((at, _)) = first(&body) {
        (at, "it sends something")
    } else if let Some(at) = first(&files).map(|(at, _)| at).or_else(saves) {
        (at, "it writes a file")
    } else {
        return None;
    };
    Some(EscapeArgument { at, why })
}

/// Accepts only field separators and variables; the program must be present, and be plain.
fn awk(simple: &ShellCommand) -> Option<EscapeArgument> {
    let escape = |at: usize, why| Some(EscapeArgument { at, why });
    let program = inline_code::inline(simple);
    let at = program
        .and_then(|program| simple.words.iter().position(|word| std::ptr::eq(word, program)));
    let options = simple
        .words
        .iter()
        .map(ShellWord::text)
        .enumerate()
        .skip(1)
        .take(at.unwrap_or(simple.words.len()).saturating_sub(1));
    let strange = options.filter(|(_, text)| text.starts_with('-')).find(|(_, text)| {
        !(text.starts_with("-F")
            || text.starts_with("-v")
            || matches!(*text, "--" | "--posix" | "--csv" | "--version"))
    });
    if let Some((at, _)) = strange {
        return escape(at, "a program that is not seen");
    }
    let (program, at) = (program?, at?);
    let acts = ["system", "|", ">", "@", "/inet", "close("];
    match program.literal() {
        None => escape(at, "a program that is not known"),
        // A comparison also uses these characters; the distinction is not worth the effort.
        Some(text) if acts.iter().any(|act| text.contains(act)) => {
            escape(at, "a program that may run or write something")
        }
        Some(_) => None,
    }
}
