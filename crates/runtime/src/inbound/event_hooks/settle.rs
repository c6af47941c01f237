//! Settles an event whose hooks have all answered: their work becomes an event, and hooks may end.
//!
//! Must never: create two events for the same work; the event id derives from the trigger.

use agentry_kernel::event_hook::{self, DispatchPlan, HookDispatch, HookResponse, TriggeringEvent};
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::event_hook::{
    Author, EventHook, EventHookChange, EventHookOrigin, FIRED, FIRED_BY, FireResult,
};
use agentry_protocol::inbound::{EventId, Inbound};
use agentry_protocol::intake::{IntakeStage, UnrunReason};
use agentry_store::{InboundStatus, InvocationStatus};

use super::HookRunner;
use crate::error::Error;
use crate::limits::{HOOK_THREAD_MESSAGES, HOOK_THREAD_ROWS_MAX};

impl HookRunner {
    /// Records the work that the hooks of an event start.
    pub(super) fn settle(&self, event: &EventId) -> Result<(), Error> {
        let ledger = &self.host.ledger;
        let Some(row) = ledger.inbound(event)? else { return Ok(()) };
        let inbound = ledger.inbound_received(&row)?;
        let Some(record) = ledger.inbound_decided(&row)? else { return Ok(()) };
        let answers = self.answers(event)?;
        let fired: Vec<HookResponse<'_>> =
            answers.iter().map(|(hook, result)| HookResponse { hook, result }).collect();
        let occasion =
            TriggeringEvent { inbound: &inbound, principal: &record.principal, own: None };
        let mut plan = event_hook::plan(&occasion, &fired);
        let mut detail = None;
        if !plan.dispatches.is_empty() && record.decision.session.is_none() {
            // No work is started, so no hook may end either.
            let why = "hooks fired, but no policy that admits the event names a session";
            (self.say)(&format!("{event}: {why}; name one with `session` in the policy"));
            detail = Some(why.to_owned());
            plan = DispatchPlan::default();
        }
        let mut events = Vec::new();
        for dispatch in &plan.dispatches {
            let wish = self.wish(&inbound, row.seq, dispatch)?;
            // An existing event was created by a process that ended right after.
            if ledger.inbound(&wish.event_id)?.is_none() {
                events.push(Event::Intake(IntakeStage::Received { inbound: Box::new(wish) }));
            }
        }
        for one in plan.disable {
            let by = Author { person: Some("agentry".to_owned()), ..Author::default() };
            let reason = Some(one.reason);
            events.push(Event::EventHook(EventHookChange::Disabled { hook: one.hook, by, reason }));
        }
        events.push(Event::EventHook(EventHookChange::Settled { event: event.clone() }));
        if row.status == InboundStatus::Hooked {
            let why = match (&detail, plan.dispatches.is_empty()) {
                (Some(_), _) => UnrunReason::NoAgent,
                (None, true) => UnrunReason::NoHook,
                (None, false) => UnrunReason::Fired,
            };
            let event = event.clone();
            events.push(Event::Intake(IntakeStage::Unrun { event, why, detail }));
        }
        let draft = |event| Draft { cause: Some(row.seq), about: EntrySubject::default(), event };
        ledger.append(events.into_iter().map(draft).collect())?;
        Ok(())
    }

    fn answers(&self, event: &EventId) -> Result<Vec<(EventHook, FireResult)>, Error> {
        let ledger = &self.host.ledger;
        let mut answers = Vec::new();
        for one in ledger.invocations_of_event(event)? {
            let result = one.invocation.and_then(|invocation| invocation.result);
            let Some(result) = result.filter(|_| one.status == InvocationStatus::Done) else {
                continue;
            };
            let versions = ledger.event_hook_versions(&one.hook)?;
            let hook = versions.into_iter().find(|hook| hook.version == one.version);
            answers.extend(hook.map(|hook| {
                let result = self.within_authority(&hook, result);
                (hook, result)
            }));
        }
        Ok(answers)
    }

    /// Limits a hook that an agent made to start work only for that agent.
    fn within_authority(&self, hook: &EventHook, result: FireResult) -> FireResult {
        let Some(maker) = &hook.created_by.agent else { return result };
        match &result.agent {
            Some(wanted) if wanted != maker => {
                (self.say)(&format!(
                    "the hook `{}` was made by the agent {maker} and cannot start the agent {wanted}",
                    hook.name
                ));
                FireResult { fire: false, ..result }
            }
            Some(_) | None => FireResult { agent: Some(maker.clone()), ..result },
        }
    }

    /// Returns the event that hands the hooks' work to intake, in the place of the trigger.
    fn wish(&self, origin: &Inbound, seq: u64, dispatch: &HookDispatch) -> Result<Inbound, Error> {
        let who = dispatch.agent.as_ref().map_or("own", |agent| agent.as_str());
        let wrong =
            |wrong: agentry_protocol::inbound::InboundIdError| Error::Halted(wrong.to_string());
        let (place, sender) = (origin.place.clone(), origin.sender.clone());
        let now = self.host.ledger.now();
        let mut wish =
            Inbound::new(&format!("hook:{seq}:{who}"), now, place, sender).map_err(wrong)?;
        let mut content = dispatch.text.clone();
        if dispatch.include_thread {
            content = format!("{}{content}", self.said_before(origin, seq)?);
        }
        wish.event_type = Some(FIRED.to_owned());
        let by = EventHookOrigin {
            origin: origin.event_id.clone(),
            hooks: dispatch.hooks.clone(),
            agent: dispatch.agent.clone(),
        };
        let by = serde_json::to_value(by).expect("ids are plain JSON");
        wish.metadata.insert(FIRED_BY.to_owned(), by);
        Ok(wish.with_text(content))
    }

    /// Returns the earlier messages of the same place, quoted.
    fn said_before(&self, origin: &Inbound, seq: u64) -> Result<String, Error> {
        let ledger = &self.host.ledger;
        let mut lines = Vec::new();
        for row in ledger.inbounds(HOOK_THREAD_ROWS_MAX)?.iter().filter(|row| row.seq < seq) {
            let earlier = ledger.inbound_received(row)?;
            if earlier.place == origin.place && earlier.event_type.as_deref() != Some(FIRED) {
                lines.push((row.seq, format!("> {}", earlier.body.content.replace('\n', "\n> "))));
            }
        }
        lines.sort();
        let from = lines.len().saturating_sub(HOOK_THREAD_MESSAGES);
        let lines: Vec<String> = lines.split_off(from).into_iter().map(|(_, line)| line).collect();
        if lines.is_empty() {
            Ok(String::new())
        } else {
            Ok(format!("[Said before in the same place]\n{}\n\n", lines.join("\n")))
        }
    }
}
