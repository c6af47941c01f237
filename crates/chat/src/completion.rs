//! Completions of a word: a command, the argument of a command, or a file of the workspace.
//!
//! Must never: offer a file that the workspace's rules ignore, or one outside of it.

use std::path::Path;
use std::time::{Duration, Instant};

use ignore::WalkBuilder;

use crate::limits::{CHAT_FILES_MAX, CHAT_FILES_MS_MAX, CHAT_OFFERS_MAX};

/// The completions of the word before the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompletionList {
    /// The number of characters before the cursor that a completion replaces.
    pub(crate) replaces: usize,
    /// The completions, best first.
    pub(crate) all: Vec<Completion>,
}

/// One completion, with a short description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) text: String,
    pub(crate) about: String,
}

/// Source of completions.
pub(crate) trait CompletionSource {
    /// Returns the commands, with descriptions.
    fn commands(&self) -> Vec<Completion>;
    /// Returns the arguments of a command.
    fn arguments(&self, command: &str) -> Vec<Completion>;
    /// Returns the files of the workspace.
    fn files(&self) -> Vec<String>;
}

/// Returns the completions of the text before the cursor.
pub(crate) fn offers(before: &str, known: &dyn CompletionSource) -> CompletionList {
    if let Some(rest) = before.strip_prefix('/') {
        return match rest.split_once(' ') {
            None => fitting(before, known.commands()),
            Some((command, word)) => {
                let word = word.rsplit(' ').next().unwrap_or_default();
                fitting(word, known.arguments(command))
            }
        };
    }
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    match word.strip_prefix('@') {
        Some(part) => files(part, known.files()),
        None => CompletionList::default(),
    }
}

fn fitting(word: &str, all: Vec<Completion>) -> CompletionList {
    let fits = |offer: &Completion| offer.text.starts_with(word) && offer.text != word;
    let all = all.into_iter().filter(fits).take(CHAT_OFFERS_MAX).collect();
    CompletionList { replaces: word.chars().count(), all }
}

/// Returns matching files: by start of the path, then start of the name, then any part.
fn files(part: &str, all: Vec<String>) -> CompletionList {
    let lower = part.to_lowercase();
    let rank = |path: &String| {
        let path = path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        match () {
            () if path.starts_with(&lower) => Some(0),
            () if name.starts_with(&lower) => Some(1),
            () if path.contains(&lower) => Some(2),
            () => None,
        }
    };
    let mut found: Vec<(u8, String)> =
        all.into_iter().filter_map(|path| Some((rank(&path)?, path))).collect();
    found.sort();
    let offer =
        |(_, path): (u8, String)| Completion { text: format!("@{path} "), about: String::new() };
    let all = found.into_iter().take(CHAT_OFFERS_MAX).map(offer).collect();
    CompletionList { replaces: part.chars().count() + 1, all }
}

/// Returns the files below a directory that are not ignored, up to limits of number and time.
pub(crate) fn walk(workspace: &Path) -> Vec<String> {
    let until = Instant::now() + Duration::from_millis(CHAT_FILES_MS_MAX);
    let walk = WalkBuilder::new(workspace).follow_links(false).require_git(false).build();
    let files = walk
        .take_while(|_| Instant::now() < until)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| Some(entry.path().strip_prefix(workspace).ok()?.to_str()?.to_owned()));
    let mut files: Vec<String> = files.take(CHAT_FILES_MAX).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl CompletionSource for Fixed {
        fn commands(&self) -> Vec<Completion> {
            ["/mode", "/model", "/help"].map(offer).to_vec()
        }
        fn arguments(&self, command: &str) -> Vec<Completion> {
            match command {
                "mode" => ["structured", "wiggum"].map(offer).to_vec(),
                _ => Vec::new(),
            }
        }
        fn files(&self) -> Vec<String> {
            ["README.md", "src/main.rs", "docs/main.md"].map(str::to_owned).to_vec()
        }
    }

    fn offer(text: &str) -> Completion {
        Completion { text: text.to_owned(), about: String::new() }
    }

    #[track_caller]
    fn check(before: &str, replaces: usize, expected: &[&str]) {
        let offers = offers(before, &Fixed);
        let texts: Vec<&str> = offers.all.iter().map(|offer| offer.text.as_str()).collect();
        assert_eq!(texts, expected);
        assert_eq!(offers.replaces, replaces);
    }

    #[test]
    fn commands_and_what_they_take() {
        check("/mo", 3, &["/mode", "/model"]);
        check("/mode w", 1, &["wiggum"]);
        check("/mode ", 0, &["structured", "wiggum"]);
        check("/help x", 1, &[]);
    }

    #[test]
    fn files_by_path_then_by_name() {
        check("see @src", 4, &["@src/main.rs "]);
        check("see @main", 5, &["@docs/main.md ", "@src/main.rs "]);
        check("mail@main", 0, &[]);
        check("plain", 0, &[]);
    }

    #[test]
    fn ignored_and_hidden_files_are_not_offered() {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in [(".gitignore", "out\n"), ("a.txt", ""), ("out", ""), (".env", "")] {
            std::fs::write(place.path().join(name), text).unwrap();
        }
        assert_eq!(walk(place.path()), ["a.txt"]);
    }
}
