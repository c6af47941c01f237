//! The prompt history of this user, kept across chats.
//!
//! Must never: write a file that others can read, or let it grow without limit.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::limits::{CHAT_HISTORY_BYTES_MAX, CHAT_HISTORY_ENTRIES_MAX};

/// The history, and the position of the user in it.
#[derive(Default)]
pub(crate) struct PromptHistory {
    file: Option<PathBuf>,
    entries: Vec<String>,
    /// The index of the shown entry, and the text that was typed before it.
    at: Option<(usize, String)>,
    /// The failure to shorten the file.
    failure: Option<io::Error>,
}

impl PromptHistory {
    /// Reads the history; an unreadable file counts as empty.
    pub(crate) fn open(state: Option<&Path>) -> Self {
        let file = state.map(|state| state.join("chat-history"));
        let mut entries = file.as_deref().and_then(read).unwrap_or_default();
        let mut failure = None;
        if entries.len() > CHAT_HISTORY_ENTRIES_MAX {
            entries.drain(..entries.len() - CHAT_HISTORY_ENTRIES_MAX);
            failure = file.as_ref().and_then(|file| rewrite(file, &entries).err());
        }
        Self { file, entries, at: None, failure }
    }

    /// Adds a sent text, unless it equals the last one. Fails once if the file cannot be written;
    /// after a failed append the history lasts for this chat only.
    pub(crate) fn add(&mut self, text: &str) -> io::Result<()> {
        self.at = None;
        if text.trim().is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return Ok(());
        }
        self.entries.push(text.to_owned());
        let appended = self.file.as_ref().map_or(Ok(()), |file| append(file, text));
        if appended.is_err() {
            self.file = None;
        }
        self.failure.take().map_or(appended, Err)
    }

    /// Returns the next older entry; keeps the typed text for `newer`.
    pub(crate) fn older(&mut self, typed: &str) -> Option<String> {
        let (at, kept) = match self.at.take() {
            Some((at, kept)) => (at.checked_sub(1), kept),
            None => (self.entries.len().checked_sub(1), typed.to_owned()),
        };
        let shown = at.unwrap_or(0);
        let text = self.entries.get(shown).cloned();
        self.at = text.is_some().then_some((shown, kept));
        text
    }

    /// Returns the next newer entry, or the text that was typed before.
    pub(crate) fn newer(&mut self) -> Option<String> {
        let (at, kept) = self.at.take()?;
        match self.entries.get(at + 1).cloned() {
            Some(text) => {
                self.at = Some((at + 1, kept));
                Some(text)
            }
            None => Some(kept),
        }
    }

    /// Leaves the history; the typed text is new from now on.
    pub(crate) fn leave(&mut self) {
        self.at = None;
    }

    /// Returns the newest entry that contains `part`, after skipping `skip` matches.
    pub(crate) fn find(&self, part: &str, skip: usize) -> Option<&str> {
        let found = self.entries.iter().rev().filter(|entry| entry.contains(part));
        found.map(String::as_str).nth(skip)
    }
}

fn read(file: &Path) -> Option<Vec<String>> {
    let bytes = fs::metadata(file).ok()?.len();
    let text = (bytes <= CHAT_HISTORY_BYTES_MAX).then(|| fs::read_to_string(file).ok())??;
    Some(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn open(file: &Path, options: &mut OpenOptions) -> io::Result<fs::File> {
    options.create(true).mode(0o600).open(file)
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    let mut opened = open(file, OpenOptions::new().append(true))?;
    writeln!(opened, "{}", serde_json::to_string(text)?)
}

fn rewrite(file: &Path, entries: &[String]) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut opened = open(&new, OpenOptions::new().write(true).truncate(true))?;
    for entry in entries {
        writeln!(opened, "{}", serde_json::to_string(entry)?)?;
    }
    fs::rename(new, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_goes_back_and_forth_and_keeps_what_was_typed() {
        let mut history = PromptHistory::default();
        history.add("one").unwrap();
        history.add("two").unwrap();
        assert_eq!(history.older("dr").as_deref(), Some("two"));
        assert_eq!(history.older("two").as_deref(), Some("one"));
        assert_eq!(history.older("one").as_deref(), Some("one"));
        assert_eq!(history.newer().as_deref(), Some("two"));
        assert_eq!(history.newer().as_deref(), Some("dr"));
        assert_eq!(history.newer(), None);
        assert_eq!(history.find("o", 1), Some("one"));
    }

    #[test]
    fn the_next_chat_has_it_and_nobody_else() {
        let home = tempfile::tempdir().unwrap();
        PromptHistory::open(Some(home.path())).add("two\nlines").unwrap();
        let mut again = PromptHistory::open(Some(home.path()));
        assert_eq!(again.older("").as_deref(), Some("two\nlines"));
        let mode = fs::metadata(home.path().join("chat-history")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_failure_to_save_is_returned_once_and_the_entries_stay() {
        let home = tempfile::tempdir().unwrap();
        let mut history = PromptHistory::open(Some(&home.path().join("missing")));
        assert_eq!(history.add("one").unwrap_err().kind(), io::ErrorKind::NotFound);
        history.add("two").unwrap();
        assert_eq!(
            (history.older("").as_deref(), history.find("o", 1)),
            (Some("two"), Some("one"))
        );
    }

    #[test]
    fn it_is_cut_at_its_limit() {
        let home = tempfile::tempdir().unwrap();
        let mut history = PromptHistory::open(Some(home.path()));
        for number in 0..CHAT_HISTORY_ENTRIES_MAX + 5 {
            history.add(&number.to_string()).unwrap();
        }
        assert_eq!(PromptHistory::open(Some(home.path())).entries.len(), CHAT_HISTORY_ENTRIES_MAX);
        let lines = fs::read_to_string(home.path().join("chat-history")).unwrap();
        assert_eq!(lines.lines().count(), CHAT_HISTORY_ENTRIES_MAX);
    }
}
