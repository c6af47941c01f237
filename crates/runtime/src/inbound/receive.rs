//! Records the inbound events of channels. A recorded event is accepted.
//!
//! Must never: report an event as accepted before it is on disk.

use std::sync::Arc;

use agentry_protocol::event_hook::FIRED;
use agentry_protocol::inbound::Inbound;
use agentry_store::Ledger;
use serde_json::Value;

use crate::channel::{InboundAcceptance, InboundRejection, InboundSink};
use crate::error::Error;
use crate::intake_entries;
use crate::redact::Redactor;
use crate::run_request::sessionless_draft;

/// The receipt of an inbound event that is in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboundReceipt {
    /// Tells if the event is new or was recorded before.
    pub taken: InboundAcceptance,
    /// The sequence number of its entry.
    pub seq: u64,
}

/// Records an inbound event, after removing the values of secrets.
pub fn receive(
    ledger: &Ledger,
    redactor: &Redactor,
    mut inbound: Inbound,
) -> Result<InboundReceipt, Error> {
    inbound.check().map_err(|wrong| Error::Definition(wrong.to_string()))?;
    if inbound.event_type.as_deref() == Some(FIRED) {
        return Err(Error::Definition(format!(
            "a channel cannot send events of the type `{FIRED}`"
        )));
    }
    hide(redactor, &mut inbound);
    match ledger.append(vec![sessionless_draft(intake_entries::received(inbound))]) {
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

/// Removes values of secrets from all texts of the sender. Ids stay, as they identify it.
pub(crate) fn hide(redactor: &Redactor, inbound: &mut Inbound) {
    let hide = |text: &mut String| *text = redactor.hide(text);
    hide(&mut inbound.body.content);
    inbound.sender.sender_name.iter_mut().for_each(hide);
    for one in &mut inbound.body.attachments {
        hide(&mut one.filename);
        one.url.iter_mut().for_each(hide);
        one.path.iter_mut().for_each(hide);
    }
    inbound.metadata.change_values(|value| hide_in(redactor, value));
}

fn hide_in(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => *text = redactor.hide(text),
        Value::Array(all) => all.iter_mut().for_each(|one| hide_in(redactor, one)),
        Value::Object(all) => all.values_mut().for_each(|one| hide_in(redactor, one)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Records the inbound events of channels in the ledger.
pub struct LedgerSink {
    /// The ledger of this home.
    pub ledger: Ledger,
    /// Removes the values of secrets.
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
