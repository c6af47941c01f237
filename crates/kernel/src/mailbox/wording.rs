//! Texts around waiting items: the heading of a group, and the notice about dropped ones.
//!
//! Must never: put texts of two senders into one prompt.

use serde::{Deserialize, Serialize};

use super::item::MailboxItem;
use crate::limits::MAILBOX_SUMMARY_CHARS_MAX;

const HEADING: &str = "[Queued messages while agent was busy]";
const BETWEEN: &str = "\n\n";

/// The items of one sender dropped by the cap since the last prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropNotice {
    /// The number of items.
    pub dropped: usize,
    /// A line for each of the newest of them.
    pub lines: Vec<String>,
}

impl DropNotice {
    /// Adds an item, and keeps at most so many lines.
    pub(super) fn add(&mut self, item: &MailboxItem, lines_max: usize) {
        self.dropped += 1;
        self.lines.push(line(&item.text));
        let over = self.lines.len().saturating_sub(lines_max);
        self.lines.drain(..over);
    }

    fn text(&self) -> String {
        let messages = if self.dropped == 1 { "message" } else { "messages" };
        let mut text =
            format!("[Queue overflow] Dropped {} {messages} due to cap.\nSummary:", self.dropped);
        for line in &self.lines {
            text.push_str("\n- ");
            text.push_str(line);
        }
        text
    }
}

/// Returns the prompt for one item alone.
pub(super) fn single_prompt(item: &MailboxItem, note: Option<&DropNotice>) -> String {
    let note = note.map(DropNotice::text);
    note.into_iter().chain([item.text.clone()]).collect::<Vec<_>>().join(BETWEEN)
}

/// Returns the prompt for a group of items of one sender.
pub(super) fn group_prompt(items: &[MailboxItem], note: Option<&DropNotice>) -> String {
    let mut blocks = vec![HEADING.to_owned()];
    blocks.extend(note.map(DropNotice::text));
    let numbered = items.iter().zip(1..);
    blocks.extend(numbered.map(|(item, number)| format!("---\nQueued #{number}\n{}", item.text)));
    blocks.join(BETWEEN)
}

/// Shortens a text to one short line.
fn line(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= MAILBOX_SUMMARY_CHARS_MAX {
        return flat;
    }
    let short: String = flat.chars().take(MAILBOX_SUMMARY_CHARS_MAX - 1).collect();
    format!("{}…", short.trim_end())
}
