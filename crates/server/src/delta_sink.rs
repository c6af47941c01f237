//! Forwards deltas of the runs in this process to the stream hub.
//!
//! Must never: keep deltas of an answer that is in the ledger.

use std::sync::Arc;

use agentry_model::Delta;
use agentry_protocol::CallId;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_runtime::RunObserver;

use super::hub::{DeltaKind, StreamDelta, StreamHub};

/// The observer of runs that forwards their deltas to the hub.
pub struct DeltaSink(pub Arc<StreamHub>);

impl RunObserver for DeltaSink {
    fn on_entry(&self, envelope: &Envelope) {
        let is_whole = matches!(
            envelope.event,
            Event::ModelReplied { .. }
                | Event::ModelFailed { .. }
                | Event::TurnEnded { .. }
                | Event::RunEnded { .. }
        );
        if let Some(run) = envelope.about.run.as_ref().filter(|_| is_whole) {
            self.0.clear_partial(run);
        }
    }

    fn on_delta(&self, about: &EntrySubject, asked: u64, delta: &Delta) {
        let said = match delta {
            Delta::Text(text) => DeltaKind::Text(text.clone()),
            Delta::Thinking(text) => DeltaKind::Thinking(text.clone()),
            Delta::Restart => DeltaKind::Restart,
            Delta::Call { .. } => return,
        };
        let (about, asked) = (about.clone(), Some(asked));
        self.0.publish_delta(StreamDelta { about, asked, call: None, said, whole: false });
    }

    fn on_progress(&self, about: &EntrySubject, call: &CallId, line: &str) {
        let (about, call) = (about.clone(), Some(call.clone()));
        let said = DeltaKind::Progress(line.to_owned());
        self.0.publish_delta(StreamDelta { about, asked: None, call, said, whole: false });
    }
}
