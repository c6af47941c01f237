//! Puts what a channel hands in into the ledger. From then on it is accepted.
//!
//! Must never: say that something is accepted before it is on disk.

use std::sync::Arc;

use agentry_protocol::envelope::{About, Draft};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::Inbound;
use agentry_protocol::intake::Intake as Stage;
use agentry_store::Ledger;

use crate::channel::{Refused, Sink, Taken};
use crate::error::Error;
use crate::redact::Redactor;

/// Something that stands in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Whether it is new there.
    pub taken: Taken,
    /// The entry.
    pub seq: u64,
}

/// Takes something in. Values of secrets are taken out of it first.
pub fn receive(
    ledger: &Ledger,
    redactor: &Redactor,
    mut inbound: Inbound,
) -> Result<Received, Error> {
    inbound.check().map_err(|wrong| Error::Definition(wrong.to_string()))?;
    inbound.body.content = redactor.hide(&inbound.body.content);
    let event = Event::Intake(Stage::Received { inbound: Box::new(inbound) });
    match ledger.append(vec![Draft { cause: None, about: About::default(), event }]) {
        Ok(recorded) => {
            let seq = recorded.first().map_or(0, |envelope| envelope.seq);
            Ok(Received { taken: Taken::New, seq })
        }
        Err(agentry_store::Error::Repeated { seq, .. }) => {
            Ok(Received { taken: Taken::Repeated, seq })
        }
        Err(error) => Err(error.into()),
    }
}

/// Hands what channels bring to the ledger.
pub struct Inlet {
    /// The ledger.
    pub ledger: Ledger,
    /// Takes values of secrets out.
    pub redactor: Arc<Redactor>,
}

impl Sink for Inlet {
    fn take(&self, inbound: Inbound) -> Result<Taken, Refused> {
        let received = receive(&self.ledger, &self.redactor, inbound);
        received.map(|received| received.taken).map_err(|error| Refused { why: error.to_string() })
    }
}
