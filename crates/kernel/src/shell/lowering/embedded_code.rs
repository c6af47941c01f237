//! Scans code of other languages for obvious shell calls and deletions.
//!
//! The code is not parsed. Findings become commands of their own; the interpreter stays opaque.
//!
//! Must never: make a text look harmless. It can only add to what is known.

use super::super::inline_code::{inline, is_awk, script};
use super::super::{ShellCommand, ShellWord};
use super::{InlineInput, LoweringContext, ShellContext};
use crate::limits::SHELL_LITERALS_MAX;

/// Adds the obvious actions of this interpreter's code.
pub(super) fn follow(
    lowering: &mut LoweringContext,
    simple: &ShellCommand,
    input: Option<&InlineInput>,
) {
    let Some(name) = simple.program() else { return };
    let written = inline(simple).map(|word| word.text().to_owned());
    let reads_input = script(simple).is_none_or(|script| script == "-") && !is_awk(name);
    let texts = match (written, input) {
        (Some(text), _) => vec![text],
        (None, Some(input)) if reads_input => vec![input.text.clone()],
        (None, None) if reads_input => printed(lowering, simple),
        (None, _) => Vec::new(),
    };
    let mut wrappers = simple.wrappers.clone();
    wrappers.push(name.to_owned());
    let around = ShellContext { wrappers, place: simple.place, ..ShellContext::default() };
    for text in texts {
        follow_text(lowering, &text, &around);
    }
}

fn follow_text(lowering: &mut LoweringContext, text: &str, around: &ShellContext) {
    let literals = literals(text);
    if EXECUTES.iter().any(|call| text.contains(call)) {
        for (_, literal) in &literals {
            lowering.inner(literal, around);
        }
        if let Some(list) = list_of_words(text, &literals) {
            lowering.settle(ShellCommand { words: list, ..ShellCommand::default() }, around);
        }
    }
    for call in DELETES {
        for (at, _) in text.match_indices(call) {
            let path = argument(&literals, at + call.len());
            let words = ["rm", "-rf"].map(|word| ShellWord::Literal(word.to_owned())).into_iter();
            let words =
                words.chain([path.unwrap_or_else(|| ShellWord::Dynamic("…".to_owned()))]).collect();
            lowering.settle(ShellCommand { words, ..ShellCommand::default() }, around);
        }
    }
    for call in WRITES {
        for (at, _) in text.match_indices(call) {
            let from = at + call.len();
            let mode = literals.iter().filter(|(place, _)| *place >= from).nth(1);
            let reads = *call == "open("
                && !mode.is_some_and(|(_, mode)| mode.contains(['w', 'a', '>', '+']));
            let writes: Vec<ShellWord> = argument(&literals, from).into_iter().collect();
            if !reads && !writes.is_empty() {
                lowering.settle(ShellCommand { writes, ..ShellCommand::default() }, around);
            }
        }
    }
}

/// Calls that pass text to a shell or start a program.
const EXECUTES: &[&str] = &[
    "system",
    "exec",
    "popen",
    "subprocess",
    "spawn",
    "%x",
    "qx",
    "getoutput",
    "`",
    "do shell script",
    "Command",
    "check_call",
    "| getline",
];
/// Calls that delete files, up to their argument.
const DELETES: &[&str] = &[
    "rmtree(",
    "rm_rf(",
    "rm_rf ",
    "rm_r(",
    "remove_dir_all(",
    "rmSync(",
    "rmdirSync(",
    "unlinkSync(",
    "os.remove(",
    "os.unlink(",
    "os.rmdir(",
    "os.removedirs(",
    "fs.rm(",
    "fs.unlink(",
    "fs.rmdir(",
    "unlink(",
    "unlink ",
    "rmdir(",
    "File.delete(",
    "Dir.rmdir(",
    "remove_entry_secure(",
    "remove_tree(",
];
/// Calls that write the file in their first argument.
const WRITES: &[&str] = &[
    "open(",
    "writeFileSync(",
    "writeFile(",
    "appendFileSync(",
    "appendFile(",
    "File.write(",
    "file_put_contents(",
];

/// Returns the texts that `echo` and `printf` print into a command.
pub(super) fn printed(lowering: &LoweringContext, simple: &ShellCommand) -> Vec<String> {
    simple
        .fed_by
        .iter()
        .filter_map(|at| lowering.commands.get(*at))
        .filter(|producer| matches!(producer.program(), Some("echo" | "printf")))
        .map(|producer| {
            let texts = producer
                .arguments()
                .iter()
                .map(ShellWord::text)
                .filter(|text| !text.starts_with('-'));
            texts.collect::<Vec<_>>().join(" ").replace("\\n", "\n")
        })
        .collect()
}

/// Returns quoted texts with their positions.
fn literals(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut chars = text.char_indices();
    while let Some((start, quote)) = chars.next() {
        if !matches!(quote, '\'' | '"' | '`') {
            continue;
        }
        let mut literal = String::new();
        while let Some((_, c)) = chars.next() {
            match c {
                '\\' => literal.extend(chars.next().map(|(_, c)| c)),
                c if c == quote => break,
                c => literal.push(c),
            }
        }
        found.push((start, literal));
    }
    found.truncate(SHELL_LITERALS_MAX);
    found
}

/// Returns the literal right after this position, where an argument begins.
fn argument(literals: &[(usize, String)], from: usize) -> Option<ShellWord> {
    let (_, literal) = literals.iter().find(|(place, _)| *place >= from && *place <= from + 2)?;
    Some(if literal.starts_with('~') {
        ShellWord::Dynamic(literal.clone())
    } else {
        ShellWord::Literal(literal.clone())
    })
}

/// Parses `['rm', '-rf', '/']`: a command as a list of words.
fn list_of_words(text: &str, literals: &[(usize, String)]) -> Option<Vec<ShellWord>> {
    let open = text.find('[')?;
    let close = open + text[open..].find(']')?;
    let inside = literals.iter().filter(|(place, _)| (open..close).contains(place));
    let words: Vec<ShellWord> =
        inside.map(|(_, literal)| ShellWord::Literal(literal.clone())).collect();
    (words.len() > 1).then_some(words)
}
