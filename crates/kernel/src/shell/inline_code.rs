//! Finds the code, or the file with code, among the arguments of an interpreter.
//!
//! Must never: take the value of another option for the code.

use super::program::interpreter;
use super::{ShellCommand, ShellWord};

/// Returns true for the variants of awk.
pub(super) fn is_awk(name: &str) -> bool {
    matches!(name, "awk" | "gawk" | "mawk" | "nawk")
}

/// Returns the code among the arguments; None if there is none.
pub(super) fn inline(simple: &ShellCommand) -> Option<&ShellWord> {
    let name = simple.program()?;
    let arguments = simple.arguments();
    if is_awk(name) {
        return awk_program(arguments);
    }
    let language = interpreter(name)?;
    let (at, joined) = arguments
        .iter()
        .enumerate()
        .find_map(|(at, word)| Some((at, code_option(language, word.text())?)))?;
    arguments.get(at + usize::from(joined.is_empty()))
}

/// Returns the code joined to a code option: None for other words, empty if it is the next word.
fn code_option<'a>(language: &str, text: &'a str) -> Option<&'a str> {
    let short = text.strip_prefix('-').filter(|row| !row.starts_with('-'));
    let is_option = match language {
        // Code, a module or a value may follow its letter in the same word.
        "python" | "pypy" => {
            let row = short?;
            return row[row.find(['c', 'm', 'W', 'X'])?..].strip_prefix('c');
        }
        "node" | "nodejs" | "bun" if text.starts_with("--eval=") => return Some(text),
        "node" | "nodejs" | "bun" => matches!(text, "-e" | "-p" | "-pe" | "--eval" | "--print"),
        "perl" | "ruby" => short?.ends_with(['e', 'E']),
        "deno" => text == "eval",
        "php" => text == "-r",
        "pwsh" | "powershell" => {
            text.eq_ignore_ascii_case("-c") || text.eq_ignore_ascii_case("-command")
        }
        _ => text == "-e",
    };
    is_option.then_some("")
}

fn awk_program(arguments: &[ShellWord]) -> Option<&ShellWord> {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        match word.text() {
            "-F" | "-v" | "-f" | "-i" | "-e" | "-l" => at += 2,
            text if text.len() > 1 && text.starts_with('-') => at += 1,
            _ => return Some(word),
        }
    }
    None
}

/// Returns the file that an interpreter runs; None if it runs no file.
pub(super) fn script(simple: &ShellCommand) -> Option<&str> {
    let language = simple.program().and_then(interpreter)?;
    let mut arguments = simple.arguments().iter().map(ShellWord::text);
    let first =
        arguments.find(|text| !text.starts_with('-') || *text == "-" || text.starts_with("-m"))?;
    (language != "deno" || first != "run").then_some(first)
}
