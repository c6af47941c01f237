//! Removes wrappers from a command and follows code that a program executes.
//!
//! `env X=1 timeout 5 sh -c 'ls'` becomes `ls`, with its wrappers beside it.
//!
//! Must never: remove a wrapper and lose what it would execute.

use super::super::inline_code::is_awk;
use super::super::invocation::{after_shell_options, is_shell_option};
use super::super::path::is_system_folder;
use super::super::program::{ends_command, interpreter, is_shell};
use super::super::{ShellCommand, ShellWord};
use super::embedded_code::{self, printed};
use super::wrapper::{Wrapper, after_options, chdir, check_options, wrapper, writes_a_file};
use super::{InlineInput, LoweringContext, ShellContext, entered};
use crate::limits::SHELL_CODE_DEPTH_MAX;

/// Stands for words that come from the standard input or from a search.
const FROM_INPUT: &str = "{}";

/// The result of one unwrapping step.
enum UnwrapOutcome {
    /// A wrapper was removed; unwrap again.
    Again(ShellCommand),
    /// The command is final.
    Plain(ShellCommand),
    /// All of its code was followed.
    Done,
}

/// Unwraps one command to the commands that it executes.
pub(super) fn settle(
    lowering: &mut LoweringContext,
    mut simple: ShellCommand,
    input: Option<&InlineInput>,
) {
    for _ in 0..=2 * SHELL_CODE_DEPTH_MAX {
        if simple.words.first().is_some_and(|name| name.literal().is_none()) {
            lowering.opaque("the name of a program is not known");
        }
        let name = simple.words.first().map_or("", ShellWord::text);
        let is_foreign = name.contains('/') && !is_system_folder(name);
        let step = step(lowering, simple, input);
        if is_foreign && !matches!(step, UnwrapOutcome::Plain(_)) {
            lowering.opaque("a program in a folder of its own runs another");
        }
        match step {
            UnwrapOutcome::Again(inner) => simple = inner,
            UnwrapOutcome::Plain(simple) => return lowering.push(simple),
            UnwrapOutcome::Done => return,
        }
    }
    lowering.opaque("wrappers in wrappers without end");
    lowering.push(simple);
}

fn step(
    lowering: &mut LoweringContext,
    simple: ShellCommand,
    input: Option<&InlineInput>,
) -> UnwrapOutcome {
    let Some(name) = simple.program().map(str::to_owned) else {
        return UnwrapOutcome::Plain(simple);
    };
    match name.as_str() {
        "eval" => eval(lowering, simple),
        "trap" => {
            let handler = simple.arguments().iter().find(|word| word.text() != "--");
            let handler = handler.filter(|word| !matches!(word.text(), "-" | "-l" | "-p" | ""));
            run(lowering, &simple, handler, "trap");
            UnwrapOutcome::Plain(simple)
        }
        "source" | "." => {
            if simple.arguments().first().is_some_and(|word| word.literal().is_none()) {
                lowering.opaque("it runs text that is not known");
            }
            UnwrapOutcome::Plain(simple)
        }
        "alias" | "enable" | "bind" | "complete" if !simple.arguments().is_empty() => {
            lowering.opaque("it changes what names mean");
            UnwrapOutcome::Plain(simple)
        }
        "export" | "declare" | "typeset" | "local" | "readonly" => {
            let mut simple = simple;
            simple.assigns = simple.arguments().iter().filter_map(assignment).collect();
            UnwrapOutcome::Plain(simple)
        }
        "find" | "fd" | "fdfind" => search(lowering, simple, input),
        "xargs" | "parallel" => each(lowering, simple),
        "git" => git(lowering, simple),
        "command" if matches!(simple.words.get(1).map(ShellWord::text), Some("-v" | "-V")) => {
            UnwrapOutcome::Plain(simple)
        }
        "watch" | "script" | "ssh" | "su" | "runuser" | "sg" | "flock"
            if code_option(&name, &simple).is_some() =>
        {
            let code = code_option(&name, &simple);
            run(lowering, &simple, code.as_ref(), &name);
            UnwrapOutcome::Plain(simple)
        }
        name if is_shell(name) => shell(lowering, simple, input),
        name if interpreter(name).is_some() || is_awk(name) => {
            embedded_code::follow(lowering, &simple, input);
            UnwrapOutcome::Plain(simple)
        }
        name => match wrapper(name) {
            Some(wrapper) => strip(lowering, simple, wrapper),
            None => UnwrapOutcome::Plain(simple),
        },
    }
}

fn strip(lowering: &mut LoweringContext, simple: ShellCommand, wrapper: Wrapper) -> UnwrapOutcome {
    let name = simple.program().unwrap_or_default().to_owned();
    let mut inner = simple.clone();
    let mut at = after_options(&simple.words, wrapper.valued);
    check_options(lowering, &simple.words[..at], wrapper);
    if name == "env" {
        split_text(lowering, &simple, at);
        let dir = chdir(&simple.words[..at]).map(|dir| entered(simple.dir.as_ref(), dir));
        inner.dir = dir.or(inner.dir);
    }
    while let Some((variable, value)) = simple.words.get(at).and_then(assignment) {
        inner.assigns.push((variable, value));
        at += 1;
    }
    at += wrapper.operands;
    if at >= simple.words.len() {
        return UnwrapOutcome::Plain(simple);
    }
    if writes_a_file(&name, &simple.words[..at]) {
        inner.writes.push(ShellWord::Dynamic(format!("$({name})")));
    }
    inner.words = simple.words[at..].to_vec();
    inner.wrappers.push(name.clone());
    UnwrapOutcome::Again(inner)
}

/// Handles `env -S`, which splits a text by its own rules, so the option is opaque; parsed as shell
/// code, the text shows what may run.
fn split_text(lowering: &mut LoweringContext, simple: &ShellCommand, options_end: usize) {
    for (at, word) in simple.words[..options_end].iter().enumerate() {
        let text = word.text();
        if let Some(first) = text.strip_prefix("-S").or_else(|| text.strip_prefix("--split-string"))
        {
            let rest = joined(&simple.words[at + 1..]);
            let code = format!("{} {}", first.trim_start_matches('='), rest.text());
            lowering.inner(&code, &around(simple, "env"));
        }
    }
}

fn assignment(word: &ShellWord) -> Option<(String, ShellWord)> {
    let (name, value) = word.text().split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let value = match word {
        ShellWord::Literal(_) => ShellWord::Literal(value.to_owned()),
        ShellWord::Dynamic(_) => ShellWord::Dynamic(value.to_owned()),
    };
    is_name.then(|| (name.to_owned(), value))
}

/// Returns the surroundings of code that this command executes.
fn around(simple: &ShellCommand, wrapper: &str) -> ShellContext {
    let mut wrappers = simple.wrappers.clone();
    wrappers.push(wrapper.to_owned());
    ShellContext {
        wrappers,
        fed_by: simple.fed_by.clone(),
        assigns: simple.assigns.clone(),
        input: None,
        place: simple.place,
        dir: simple.dir.clone(),
    }
}

/// Follows code that runs in a shell of its own.
fn run(
    lowering: &mut LoweringContext,
    simple: &ShellCommand,
    code: Option<&ShellWord>,
    wrapper: &str,
) {
    let Some(code) = code else { return };
    if code.literal().is_none() {
        lowering.opaque(format!("`{wrapper}` executes text that is not known"));
    }
    lowering.inner(code.text(), &around(simple, wrapper));
}

fn eval(lowering: &mut LoweringContext, simple: ShellCommand) -> UnwrapOutcome {
    let code = joined(simple.arguments());
    let exact = code.literal().is_some();
    if !exact {
        lowering.opaque("`eval` executes text that is not known");
    }
    lowering.code(code.text(), &around(&simple, "eval"));
    keep(lowering, simple, exact)
}

/// Keeps the rest of a command whose code was followed.
fn keep(lowering: &mut LoweringContext, mut simple: ShellCommand, followed: bool) -> UnwrapOutcome {
    if !followed {
        return UnwrapOutcome::Plain(simple);
    }
    if !simple.writes.is_empty() || !simple.reads.is_empty() {
        simple.words.clear();
        simple.assigns.clear();
        lowering.push(simple);
    }
    UnwrapOutcome::Done
}

fn shell(
    lowering: &mut LoweringContext,
    simple: ShellCommand,
    input: Option<&InlineInput>,
) -> UnwrapOutcome {
    let name = simple.program().unwrap_or_default().to_owned();
    let at = after_shell_options(&simple.words);
    let options: Vec<&str> = simple.words[1..at].iter().map(ShellWord::text).collect();
    let has = |flag: char| {
        options
            .iter()
            .any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(flag))
    };
    if let Some(strange) = options.iter().find(|text| !is_shell_option(text)) {
        lowering.opaque(format!("an option of a shell that is not known: `{strange}`"));
    }
    if has('c') {
        let code = simple.words.get(at).cloned();
        let exact = code.as_ref().is_none_or(|code| code.literal().is_some());
        run(lowering, &simple, code.as_ref(), &format!("{name} -c"));
        return keep(lowering, simple, exact);
    }
    let script = simple.words.get(at).filter(|_| !has('s'));
    match (script, input) {
        (Some(script), _) if script.literal().is_none_or(|text| text == "-") => {
            lowering.opaque("a shell runs text that is not known");
            UnwrapOutcome::Plain(simple)
        }
        (Some(_), _) => UnwrapOutcome::Plain(simple),
        (None, Some(input)) => {
            let word = if input.exact {
                ShellWord::Literal(input.text.clone())
            } else {
                ShellWord::Dynamic(input.text.clone())
            };
            run(lowering, &simple, Some(&word), &name);
            keep(lowering, simple, input.exact)
        }
        (None, None) => {
            fed_shell(lowering, &simple, &name);
            UnwrapOutcome::Plain(simple)
        }
    }
}

/// Handles a shell at the end of a pipe: the text that `echo` prints into it is code.
fn fed_shell(lowering: &mut LoweringContext, simple: &ShellCommand, name: &str) {
    if simple.fed_by.is_empty() {
        return;
    }
    lowering.opaque("a shell runs what it is fed");
    for code in printed(lowering, simple) {
        lowering.inner(&code, &ShellContext { fed_by: Vec::new(), ..around(simple, name) });
    }
}

/// Handles `find … -exec … ;` and `fd … -x …`.
fn search(
    lowering: &mut LoweringContext,
    simple: ShellCommand,
    input: Option<&InlineInput>,
) -> UnwrapOutcome {
    let runs = match simple.program() {
        Some("find") => ["-exec", "-execdir", "-ok", "-okdir"],
        _ => ["-x", "-X", "--exec", "--exec-batch"],
    };
    let mut at = 1;
    while at < simple.words.len() {
        let option = simple.words[at].text();
        at += 1;
        if !runs.contains(&option) {
            continue;
        }
        let rest = &simple.words[at..];
        let end = (0..rest.len()).find(|at| ends_command(rest, *at)).unwrap_or(rest.len());
        let words: Vec<ShellWord> =
            rest[..end].iter().map(|word| replaced(word, FROM_INPUT)).collect();
        at += end;
        let mut inner = ShellCommand { words, ..simple.clone() };
        inner.writes.clear();
        inner.reads.clear();
        inner.wrappers.push(format!("{} {option}", simple.program().unwrap_or_default()));
        settle(lowering, inner, input);
    }
    UnwrapOutcome::Plain(simple)
}

/// Makes a word dynamic if it contains the placeholder.
fn replaced(word: &ShellWord, mark: &str) -> ShellWord {
    if word.text().contains(mark) {
        ShellWord::Dynamic(word.text().to_owned())
    } else {
        word.clone()
    }
}

/// Handles `xargs`: words from the input are appended.
fn each(lowering: &mut LoweringContext, simple: ShellCommand) -> UnwrapOutcome {
    let name = simple.program().unwrap_or_default().to_owned();
    let options = Wrapper {
        valued: &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-E",
            "-s",
            "-a",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
            "-j",
            "--jobs",
        ],
        flags: &[
            "-0",
            "-r",
            "-t",
            "-x",
            "-o",
            "--null",
            "--no-run-if-empty",
            "--verbose",
            "--exit",
        ],
        operands: 0,
    };
    let at = after_options(&simple.words, options.valued);
    check_options(lowering, &simple.words[..at], options);
    let mut inner = simple.clone();
    inner.wrappers.push(name.clone());
    inner.words = simple.words[at..].to_vec();
    if inner.words.is_empty() {
        inner.words.push(ShellWord::Literal("echo".to_owned()));
        if name == "parallel" {
            lowering.opaque("`parallel` executes its input");
            return UnwrapOutcome::Plain(simple);
        }
    }
    let options = &simple.words[..at];
    let mark = options.windows(2).find(|pair| pair[0].text() == "-I").map(|pair| pair[1].text());
    let joined = options
        .iter()
        .find_map(|word| word.text().strip_prefix("-I").filter(|mark| !mark.is_empty()));
    let mark = mark.or(joined);
    if name == "parallel" {
        lowering.opaque("`parallel` executes text made of its input");
    }
    match mark {
        Some(mark) => inner.words = inner.words.iter().map(|word| replaced(word, mark)).collect(),
        None => inner.words.push(ShellWord::Dynamic(FROM_INPUT.to_owned())),
    }
    UnwrapOutcome::Again(inner)
}

/// Handles git subcommands that execute their arguments.
fn git(lowering: &mut LoweringContext, simple: ShellCommand) -> UnwrapOutcome {
    let texts: Vec<&str> = simple.arguments().iter().map(ShellWord::text).collect();
    let code = match texts.as_slice() {
        ["bisect", "run", ..] => Some((3, simple.words.len())),
        ["submodule", "foreach", "--recursive", ..] => Some((4, simple.words.len())),
        ["submodule", "foreach", ..] => Some((3, simple.words.len())),
        ["rebase" | "filter-branch" | "difftool", ..] => texts
            .iter()
            .position(|text| {
                matches!(*text, "-x" | "--exec" | "--extcmd") || text.ends_with("-filter")
            })
            .map(|at| (at + 2, at + 3)),
        _ => None,
    };
    if let Some(words) = code.and_then(|(from, to)| simple.words.get(from..to)) {
        run(lowering, &simple, Some(&joined(words)), "git");
    }
    UnwrapOutcome::Plain(simple)
}

/// Joins words with single spaces.
fn joined(words: &[ShellWord]) -> ShellWord {
    let text = words.iter().map(ShellWord::text).collect::<Vec<_>>().join(" ");
    if words.iter().all(|word| word.literal().is_some()) {
        ShellWord::Literal(text)
    } else {
        ShellWord::Dynamic(text)
    }
}

/// Returns the code among the arguments of a program that passes it to a shell.
fn code_option(name: &str, simple: &ShellCommand) -> Option<ShellWord> {
    let after = |option: &str| {
        let at = simple.words.iter().position(|word| word.text() == option)?;
        simple.words.get(at + 1).cloned()
    };
    let rest = |from: usize| simple.words.get(from..).filter(|words| !words.is_empty()).map(joined);
    match name {
        "watch" => rest(after_options(&simple.words, &["-n", "--interval"])),
        "ssh" => rest(
            1 + after_options(
                &simple.words,
                &["-p", "-i", "-o", "-l", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-m"],
            ),
        ),
        _ => after("-c").or_else(|| after("--command")),
    }
}
