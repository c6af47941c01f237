//! The text so far of answers in progress, for clients that subscribe later.
//!
//! Must never: keep more of an answer than its limit, or an answer that is in the ledger.

use std::collections::HashMap;

use agentry_protocol::RunId;
use agentry_protocol::envelope::EntrySubject;

use super::frame::{DeltaKind, StreamDelta};
use crate::limits::PARTIAL_BYTES_MAX;

/// The text so far of each answer in progress, by its run.
#[derive(Default)]
pub(super) struct PartialAnswers(HashMap<RunId, StreamDelta>);

impl PartialAnswers {
    /// Adds a delta to the text so far; one that starts the answer over removes it.
    pub(super) fn keep(&mut self, delta: &StreamDelta) {
        let Some(run) = &delta.about.run else { return };
        match &delta.said {
            DeltaKind::Text(text) => {
                let empty = || StreamDelta {
                    said: DeltaKind::Text(String::new()),
                    whole: true,
                    ..delta.clone()
                };
                let kept = self.0.entry(run.clone()).or_insert_with(empty);
                if kept.asked != delta.asked {
                    *kept = empty();
                }
                if let DeltaKind::Text(all) = &mut kept.said
                    && all.len() + text.len() <= PARTIAL_BYTES_MAX
                {
                    all.push_str(text);
                }
            }
            DeltaKind::Restart => self.remove(run),
            DeltaKind::Thinking(_) | DeltaKind::Progress(_) => {}
        }
    }

    /// Forgets the text so far of a run.
    pub(super) fn remove(&mut self, run: &RunId) {
        self.0.remove(run);
    }

    /// Returns the texts whose subject is wanted.
    pub(super) fn about(&self, is_wanted: impl Fn(&EntrySubject) -> bool) -> Vec<StreamDelta> {
        self.0.values().filter(|one| is_wanted(&one.about)).cloned().collect()
    }
}
