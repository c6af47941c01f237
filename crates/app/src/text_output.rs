//! A run as text: the agent's text on standard output, events on standard error.
//!
//! Must never: mix the two; standard output has the agent's text only.

use std::io::{self, Write};

use agentry_model::Delta;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;

use crate::call_text::mark;
use crate::diagnostics::{escaped, visible};
use crate::event_description::{EventDescriber, EventNotice, NoticeTone};

/// Writer of a run in progress.
pub(crate) struct TextOutput {
    /// True if deltas are shown as they arrive, instead of complete texts only.
    live: bool,
    streamed: bool,
    /// True if the active turn is a compaction.
    summing: bool,
    describer: EventDescriber,
    result: io::Result<()>,
}

impl TextOutput {
    pub(crate) fn new(live: bool) -> Self {
        let describer = EventDescriber::default();
        Self { live, streamed: false, summing: false, describer, result: Ok(()) }
    }

    /// Returns the first error of standard output, if any.
    pub(crate) fn result(self) -> io::Result<()> {
        self.result
    }

    pub(crate) fn piece(&mut self, delta: &Delta) {
        if let (true, Delta::Text(text)) = (self.live, delta) {
            self.streamed = true;
            self.out(|out| {
                write!(out, "{}", escaped(text))?;
                out.flush()
            });
        }
    }

    /// Ends the line of streamed text that is void, so that the next text starts on a new line.
    fn unsaid(&mut self) {
        if std::mem::take(&mut self.streamed) {
            self.out(|out| writeln!(out));
        }
    }

    pub(crate) fn note(&mut self, text: &str) {
        crate::output::write_stderr_line(&escaped(text));
    }

    /// Takes in an earlier entry, which is not shown; its calls name later outcomes.
    pub(crate) fn recall(&mut self, envelope: &Envelope) {
        self.describer.describe(envelope);
    }

    pub(crate) fn entry(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::TurnStarted(plan) => self.summing = plan.compaction.is_some(),
            Event::ModelReplied { reply, .. } if !self.summing => self.said(&reply.text),
            Event::ModelRetried { .. } | Event::ModelReplaced { .. } => self.unsaid(),
            // All other events have a notice at most.
            _ => {}
        }
        if let Some(notice) = self.describer.describe(envelope).notice {
            self.notice(&notice);
        }
    }

    fn notice(&mut self, notice: &EventNotice) {
        let EventNotice { text, details, .. } = notice;
        let (line, indent) = match notice.tone {
            NoticeTone::Progress => (text.clone(), "  "),
            NoticeTone::Proposal => (format!("● {text}"), "  "),
            NoticeTone::Outcome(status) => (format!("  {} {text}", mark(status)), "    "),
            NoticeTone::Warning => (format!("warning: {text}"), "  "),
            NoticeTone::Error => (format!("error: {text}"), "  "),
        };
        self.note(&line);
        for detail in details {
            self.note(&format!("{indent}{detail}"));
        }
    }

    fn said(&mut self, text: &str) {
        let streamed = std::mem::take(&mut self.streamed);
        if text.is_empty() {
            return;
        }
        self.out(|out| {
            if streamed {
                // The deltas were shown already.
                writeln!(out)
            } else {
                writeln!(out, "{}", visible(text))
            }
        });
    }

    fn out(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.result.is_ok() {
            self.result = write(&mut crate::output::stdout().lock());
        }
    }
}
