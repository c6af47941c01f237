//! Puts what a channel hands in into the ledger. From then on it is accepted.
//!
//! Must never: say that something is accepted before it is on disk.

use std::sync::Arc;

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::event_hook::FIRED;
use agentry_protocol::inbound::Inbound;
use agentry_protocol::intake::IntakeStage;
use agentry_store::Ledger;
use serde_json::Value;

use crate::channel::{InboundAcceptance, InboundRejection, InboundSink};
use crate::error::Error;
use crate::redact::Redactor;

/// Something that stands in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboundReceipt {
    /// Whether it is new there.
    pub taken: InboundAcceptance,
    /// The entry.
    pub seq: u64,
}

/// Takes something in. Values of secrets are taken out of it first.
pub fn receive(
    ledger: &Ledger,
    redactor: &Redactor,
    mut inbound: Inbound,
) -> Result<InboundReceipt, Error> {
    inbound.check().map_err(|wrong| Error::Definition(wrong.to_string()))?;
    if inbound.event_type.as_deref() == Some(FIRED) {
        return Err(Error::Definition(format!("no channel can hand in a `{FIRED}`")));
    }
    hide(redactor, &mut inbound);
    let event = Event::Intake(IntakeStage::Received { inbound: Box::new(inbound) });
    match ledger.append(vec![Draft { cause: None, about: EntrySubject::default(), event }]) {
        Ok(recorded) => {
            let seq = recorded.first().map_or(0, |envelope| envelope.seq);
            Ok(InboundReceipt { taken: InboundAcceptance::New, seq })
        }
        Err(agentry_store::Error::Repeated { seq, .. }) => {
            Ok(InboundReceipt { taken: InboundAcceptance::Repeated, seq })
        }
        Err(error) => Err(error.into()),
    }
}

/// Takes values of secrets out of all that is somebody's own words. Ids stay, since they decide who it is.
pub(crate) fn hide(redactor: &Redactor, inbound: &mut Inbound) {
    let hide = |text: &mut String| *text = redactor.hide(text);
    hide(&mut inbound.body.content);
    inbound.sender.sender_name.iter_mut().for_each(hide);
    for one in &mut inbound.body.attachments {
        hide(&mut one.filename);
        one.url.iter_mut().for_each(hide);
        one.path.iter_mut().for_each(hide);
    }
    inbound.metadata.values_mut().for_each(|value| hide_in(redactor, value));
}

fn hide_in(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => *text = redactor.hide(text),
        Value::Array(all) => all.iter_mut().for_each(|one| hide_in(redactor, one)),
        Value::Object(all) => all.values_mut().for_each(|one| hide_in(redactor, one)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Hands what channels bring to the ledger.
pub struct LedgerSink {
    /// The ledger.
    pub ledger: Ledger,
    /// Takes values of secrets out.
    pub redactor: Arc<Redactor>,
}

impl InboundSink for LedgerSink {
    fn take(&self, inbound: Inbound) -> Result<InboundAcceptance, InboundRejection> {
        let received = receive(&self.ledger, &self.redactor, inbound);
        received
            .map(|received| received.taken)
            .map_err(|error| InboundRejection { why: error.to_string() })
    }
}
