//! Detects commands that execute text from the network.
//!
//! Must never: treat a file as downloaded only because a download precedes it.

use super::program::{self, interpreter, is_downloader, is_shell};
use super::{ShellCommand, ShellWord, inline_code};

/// Returns true if a command executes text from the network; `before` shows what feeds it.
pub(crate) fn executes_downloaded(simple: &ShellCommand, before: &[ShellCommand]) -> bool {
    let Some(name) = simple.program() else { return false };
    let fed = simple.fed_by.iter().filter_map(|at| before.get(*at));
    let downloads = fed.filter_map(ShellCommand::program).any(is_downloader);
    let arguments = simple.arguments();
    let unknown_code = || arguments.iter().any(|word| word.literal().is_none());
    let executes_input = match name {
        "eval" | "source" | "." => true,
        name if is_shell(name) => unknown_code() || reads_script_from_input(arguments),
        name if interpreter(name).is_some() => {
            inline_code::inline(simple).is_some_and(|code| code.literal().is_none())
                || (inline_code::inline(simple).is_none()
                    && inline_code::script(simple)
                        .is_none_or(|script| script == "-" || script.starts_with('<')))
        }
        _ => false,
    };
    let runs = if is_shell(name) || interpreter(name).is_some() || matches!(name, "source" | ".") {
        arguments.iter().map(ShellWord::text).find(|text| !text.starts_with('-'))
    } else {
        simple.words[0].literal()
    };
    (downloads && executes_input)
        || runs.is_some_and(|file| before.iter().any(|earlier| saved(earlier, file)))
}

fn reads_script_from_input(arguments: &[ShellWord]) -> bool {
    let mut operands =
        arguments.iter().map(ShellWord::text).filter(|text| !text.starts_with('-') || *text == "-");
    let to_input = arguments.iter().any(|word| word.text() == "-s");
    to_input || operands.next().is_none_or(|first| matches!(first, "-" | "/dev/stdin"))
}

/// Returns true if an earlier command downloaded this file.
fn saved(earlier: &ShellCommand, file: &str) -> bool {
    let Some(name) = earlier.program().filter(|name| is_downloader(name)) else { return false };
    let bare = |path: &str| path.trim_start_matches("./").to_owned();
    let wanted = bare(file);
    let named = program::targets(earlier)
        .into_iter()
        .chain(earlier.writes.iter().cloned())
        .any(|word| bare(word.text()) == wanted);
    let by_address = name == "wget" || program::has_option(earlier, 'O', "--remote-name");
    let last = |word: &ShellWord| word.text().rsplit('/').next().map(str::to_owned);
    named || (by_address && earlier.arguments().iter().filter_map(last).any(|last| last == wanted))
}
