//! Event hooks in the intake: the hooks that an event triggers, and the routes of their results.
//!
//! Must never: let a hook choose its own sender or session.

use agentry_kernel::route;
use agentry_protocol::access::{AccessRecord, Effect};
use agentry_protocol::event::Event;
use agentry_protocol::event_hook::EventHookOrigin;
use agentry_protocol::inbound::Inbound;
use agentry_protocol::intake::UnrunReason;

use super::{BatchState, IntakeDrafts, IntakePipeline, MailboxEntry, TriageOutcome};
use crate::error::Error;
use crate::intake_entries;

impl IntakePipeline {
    /// Records the hooks that an event triggers; returns true if there are any.
    pub(super) fn matched(
        &self,
        stages: &mut IntakeDrafts,
        inbound: &Inbound,
        record: &AccessRecord,
    ) -> bool {
        let now = self.ledger.now();
        let matched = self.hooks.match_event(inbound, record, now, self.new_number);
        let is_any = matched.is_some();
        if let Some(change) = matched {
            stages.push(Event::EventHook(change), None);
        }
        is_any
    }

    /// Triages the work of a hook; access and route are decided anew by the triggering event.
    pub(super) fn look_fired(
        &self,
        mut stages: IntakeDrafts,
        inbound: &Inbound,
        by: &EventHookOrigin,
        batch: &mut BatchState<'_>,
    ) -> Result<TriageOutcome, Error> {
        let unrun = |stages: IntakeDrafts, why: String| {
            Ok(stages.unrun(&inbound.event_id, UnrunReason::NoAgent, Some(why)))
        };
        let row = self.ledger.inbound(&by.origin)?;
        let Some(row) = row else {
            return unrun(stages, format!("there is no event {}", by.origin));
        };
        let origin = &self.ledger.inbound_received(&row)?;
        let mut record = self.known.decide(origin, batch.access, self.stamp());
        record.event_id = Some(inbound.event_id.clone());
        stages.push(intake_entries::decided(record.clone()), None);
        if record.decision.effect == Effect::Deny {
            return Ok(TriageOutcome { drafts: stages.drafts, arrival: None });
        }
        let (principal, content) = (&record.principal, &inbound.body.content);
        let to = match route::hook_route(origin, principal, &record.decision, content) {
            Ok(to) => to,
            Err(why) => return unrun(stages, why),
        };
        let wanted = by.agent.as_ref().map(|agent| agent.as_str());
        let (agent, persona) = match self.who_answers(origin, wanted.or(to.persona.as_deref()))? {
            Ok(found) => found,
            Err(why) => return unrun(stages, why),
        };
        let session = match self.session(&to, &agent, batch, &mut stages)? {
            Ok(session) => session,
            Err(why) => return unrun(stages, why),
        };
        let record = &record;
        let entry = MailboxEntry { inbound, origin, record, to, session, agent, persona };
        self.put_in(stages, entry, batch.access)
    }
}
