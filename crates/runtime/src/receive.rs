//! Puts what a channel hands in into the ledger. From then on it is accepted.
//!
//! Must never: say that something is accepted before it is on disk.

use agentry_protocol::envelope::{About, Draft};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::Inbound;
use agentry_protocol::intake::Intake as Stage;
use agentry_store::Ledger;

use crate::error::Error;
use crate::redact::Redactor;

/// What became of something that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is on disk, as this entry.
    New(u64),
    /// The same came in before, as this entry.
    Repeated(u64),
}

impl Taken {
    /// The entry.
    pub fn seq(self) -> u64 {
        match self {
            Self::New(seq) | Self::Repeated(seq) => seq,
        }
    }
}

/// Takes something in. Values of secrets are taken out of it first.
pub fn receive(ledger: &Ledger, redactor: &Redactor, mut inbound: Inbound) -> Result<Taken, Error> {
    inbound.check().map_err(|wrong| Error::Definition(wrong.to_string()))?;
    inbound.body.content = redactor.hide(&inbound.body.content);
    let event = Event::Intake(Stage::Received { inbound: Box::new(inbound) });
    match ledger.append(vec![Draft { cause: None, about: About::default(), event }]) {
        Ok(recorded) => Ok(Taken::New(recorded.first().map_or(0, |envelope| envelope.seq))),
        Err(agentry_store::Error::Repeated { seq, .. }) => Ok(Taken::Repeated(seq)),
        Err(error) => Err(error.into()),
    }
}
