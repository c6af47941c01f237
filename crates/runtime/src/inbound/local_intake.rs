//! Admits prompts that this process itself received, at the terminal or over stdio.
//!
//! Access decides about them as about any event. The sender also names the session and waits here
//! for the answer; so all stages are recorded with the run, and no other process resumes it.
//!
//! Must never: begin a run for a sender that access did not admit.

use agentry_agentfile::access::LocalTime;
use agentry_kernel::access::AccessPolicies;
use agentry_kernel::authority::is_unbounded;
use agentry_protocol::AccessId;
use agentry_protocol::access::{Effect, RequestLimits};
use agentry_protocol::inbound::{ChannelAddress, Inbound, Sender};

use crate::error::Error;
use crate::host::SharedHost;
use crate::inbound::authorize::decide_locally;
use crate::inbound::permission_request;
use crate::inbound::receive;
use crate::inbound::trace;
use crate::run_request::{AdmittedPrompt, RunRequest, sessionless_draft};

/// The sender id of the user at this machine.
const LOCAL: &str = "local";

/// The context in which a local prompt is admitted.
pub struct LocalIntake<'a> {
    /// The shared services.
    pub host: &'a SharedHost,
    /// The access policies.
    pub access: &'a AccessPolicies,
    /// The local time of the owner.
    pub local_time: LocalTime,
    /// The limits on permission requests of other senders.
    pub requests: RequestLimits,
}

impl LocalIntake<'_> {
    /// Admits a prompt of a channel of this process, with the bounds of its sender.
    pub fn admit(&self, channel: &str, order: RunRequest) -> Result<RunRequest, Error> {
        let inbound = self.inbound(channel, &order)?;
        let record = decide_locally(self.host, self.access, &inbound, self.local_time)?;
        let said = AdmittedPrompt { inbound: Box::new(inbound), record: Box::new(record) };
        if said.record.decision.effect == Effect::Deny {
            let why = trace::decided(&said.record);
            self.host
                .ledger
                .append(said.intake_events().into_iter().map(sessionless_draft).collect())?;
            return Err(Error::Denied(why));
        }
        let bounds = permission_request::bounds(&self.host.ledger, &said.record, self.requests)?;
        let mut order = order;
        order.terms.bounds = Some(bounds).filter(|bounds| !is_unbounded(bounds));
        order.inbounds = vec![said.inbound.event_id.clone()];
        order.said = Some(said);
        Ok(order)
    }

    fn inbound(&self, channel: &str, order: &RunRequest) -> Result<Inbound, Error> {
        let place = ChannelAddress::of_peer(channel, LOCAL);
        let sender = Sender { sender_id: LOCAL.to_owned(), sender_name: None };
        let source = AccessId::from_number((self.host.new_number)());
        let source = source.as_str().rsplit('_').next().unwrap_or(source.as_str());
        let mut inbound = Inbound::new(source, self.host.ledger.now(), place, sender)
            .map_err(|wrong| Error::Definition(wrong.to_string()))?
            .with_text(&order.prompt);
        if let Some(key) = &order.session {
            inbound.metadata.insert("session".to_owned(), key.as_str().into());
        }
        receive::hide(&self.host.redactor, &mut inbound);
        Ok(inbound)
    }
}
