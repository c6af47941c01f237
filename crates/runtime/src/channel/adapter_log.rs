//! The last error lines of a channel's adapter, without secrets.
//!
//! Must never: grow without a limit, or keep the value of a secret.

use std::collections::VecDeque;

use crate::limits::{ADAPTER_COMPLAINT_BYTES_MAX, ADAPTER_COMPLAINTS_MAX};
use crate::redact::{Redactor, TextEdges};

/// The last error lines, oldest first.
#[derive(Debug, Default)]
pub(super) struct AdapterLog(VecDeque<String>);

impl AdapterLog {
    pub(super) fn add(&mut self, line: &str) {
        if self.0.len() == ADAPTER_COMPLAINTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(line.to_owned());
    }

    pub(super) fn last(&self) -> Option<&str> {
        self.0.back().map(String::as_str)
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }
}

/// Removes secrets from a line and cuts it to the length that is kept.
pub(super) fn redacted_line(redactor: &Redactor, text: &str, ends: TextEdges) -> String {
    let mut text = redactor.text(text, ends).text;
    if text.len() > ADAPTER_COMPLAINT_BYTES_MAX {
        let end = text.floor_char_boundary(ADAPTER_COMPLAINT_BYTES_MAX);
        text.truncate(end);
        text.push('…');
    }
    text
}
