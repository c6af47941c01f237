//! The intake, in order: identify the sender, decide access, route, choose the delivery.
//!
//! A channel records an event. The intake then passes it through all stages and records their
//! results together: an event is either untouched, or settled, or in a mailbox. The rest (mailbox,
//! turn, answer) is the task of the dispatcher.
//!
//! Must never: admit an event that no policy allows, or triage one twice.

mod hook_intake;

use std::collections::HashMap;
use std::sync::Arc;

use agentry_agentfile::access::MINUTES_PER_DAY;
use agentry_kernel::access::{AccessPolicies, AccessQuery};
use agentry_kernel::mailbox::settings::DeliveryLevels;
use agentry_kernel::mailbox::{AuthorityFilter, MailboxInput, MailboxItem, MailboxSender};
use agentry_kernel::route::{self, Destination, Route};
use agentry_protocol::access::{AccessRecord, Decision, Effect};
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{EventId, Inbound};
use agentry_protocol::intake::{IntakeStage, QueuePreferences, QueueSettings, UnrunReason};
use agentry_protocol::tool::ToolName;
use agentry_protocol::{AccessId, AgentId, SessionId, SessionKey};
use agentry_store::Ledger;

use crate::definitions::definition_source::DefinitionSource;
use crate::error::Error;
use crate::inbound::authorize::{AccessContext, DecisionStamp};
use crate::inbound::event_hooks::{self, IntakeHooks};
use crate::intake_entries::{self, AdmittedEvent, RouteChoice};
use crate::limits::{DELAY_LOOKAHEAD_MINUTES, INTAKE_EVENTS_MAX};

/// The stages before the mailbox, with the data that they look up.
pub(crate) struct IntakePipeline {
    pub(crate) ledger: Ledger,
    pub(crate) definition_source: Arc<dyn DefinitionSource>,
    pub(crate) new_number: fn() -> u128,
    known: AccessContext,
    /// The sequence number of the last access change that `known` contains.
    changed_seq: u64,
    /// The event hooks, and the events that they match.
    hooks: IntakeHooks,
}

/// The input for the mailbox of a session that an event leads to.
pub(crate) struct Arrival {
    pub(crate) session: SessionId,
    pub(crate) told: MailboxInput,
    /// Entries to record only after the mailbox has handled its input.
    pub(crate) then: Vec<Draft>,
}

impl Arrival {
    /// Returns the event that is in the mailbox from then on.
    pub(crate) fn event(&self) -> Option<&EventId> {
        if let MailboxInput::Arrived(item) = &self.told { Some(&item.id) } else { None }
    }
}

/// A command of an event that carries no message.
enum ControlCommand {
    Queue(Option<QueuePreferences>),
    Stop(AuthorityFilter),
}

/// The entries and the mailbox input that one event leads to.
struct TriageOutcome {
    drafts: Vec<Draft>,
    arrival: Option<Arrival>,
}

/// An event to add to a mailbox, with the decision that admits its sender.
struct MailboxEntry<'a> {
    /// The event that is delivered: the message itself, or the work of hooks.
    inbound: &'a Inbound,
    /// The event that the sender is known by: the message, or the trigger of the hooks.
    origin: &'a Inbound,
    record: &'a AccessRecord,
    to: Destination,
    session: SessionId,
    agent: AgentId,
    persona: Option<String>,
}

/// The policies that a batch is decided by, and its sessions.
struct BatchState<'a> {
    access: &'a AccessPolicies,
    /// Sessions that this batch opened or found, by key and agent.
    opened: HashMap<(SessionKey, AgentId), SessionId>,
}

impl<'a> BatchState<'a> {
    fn new(access: &'a AccessPolicies) -> Self {
        Self { access, opened: HashMap::new() }
    }
}

impl IntakePipeline {
    pub(crate) fn new(
        ledger: Ledger,
        definition_source: Arc<dyn DefinitionSource>,
        tools: Vec<ToolName>,
        new_number: fn() -> u128,
    ) -> Result<Self, Error> {
        let known = AccessContext { tools, ..AccessContext::default() };
        let hooks = IntakeHooks::default();
        Ok(Self { ledger, definition_source, new_number, known, changed_seq: 0, hooks })
    }

    /// Reloads entities, grants and hooks if they changed, so that no decision uses older ones.
    fn look_who_is_known(&mut self) -> Result<(), Error> {
        let changed_seq = self.ledger.access_changed()?;
        if changed_seq != self.changed_seq {
            self.known.refresh(&self.ledger)?;
            self.changed_seq = changed_seq;
        }
        self.hooks.refresh(&self.ledger)
    }

    /// Returns true if an event triggered hooks since the last call.
    pub(crate) fn set_off(&self) -> bool {
        self.hooks.take()
    }

    /// Triages one batch of received events; the bool is true if more events may wait.
    pub(crate) fn take(&mut self, only: Option<&EventId>) -> Result<(Vec<Arrival>, bool), Error> {
        let mut came = match only {
            None => self.ledger.inbounds_received(INTAKE_EVENTS_MAX)?,
            Some(event) => self.one(event)?,
        };
        if came.is_empty() {
            return Ok((Vec::new(), false));
        }
        let mut more = came.len() == INTAKE_EVENTS_MAX;
        self.look_who_is_known()?;
        let access = self.definition_source.access()?;
        let mut batch = BatchState::new(&access);
        let mut looked = Vec::with_capacity(came.len());
        for (seq, inbound) in &came {
            let one = self.look(*seq, inbound, &mut batch)?;
            let is_order = one.arrival.as_ref().is_some_and(|arrival| !arrival.then.is_empty());
            looked.push(one);
            if is_order {
                // Later events must not reach a mailbox before the command is done.
                more |= looked.len() < came.len();
                break;
            }
        }
        came.truncate(looked.len());
        let drafts = looked.iter_mut().flat_map(|one| std::mem::take(&mut one.drafts));
        match self.ledger.append(drafts.collect()) {
            Ok(_) => {}
            // Another process opened a session or took one event; the rest must not suffer for it.
            Err(error) if came.len() > 1 && is_about_one(&error) => {
                looked.clear();
                self.hooks.forget();
                self.hooks.refresh(&self.ledger)?;
                for (seq, inbound) in came.drain(..) {
                    let mut one = self.look(seq, &inbound, &mut BatchState::new(&access))?;
                    match self.ledger.append(std::mem::take(&mut one.drafts)) {
                        Ok(_) => looked.push(one),
                        Err(error) if is_about_one(&error) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Err(error) if is_about_one(&error) => return Ok((Vec::new(), true)),
            Err(error) => return Err(error.into()),
        }
        Ok((looked.into_iter().filter_map(|one| one.arrival).collect(), more))
    }

    fn one(&self, event: &EventId) -> Result<Vec<(u64, Box<Inbound>)>, Error> {
        let row = self.ledger.inbound(event)?;
        let row = row.filter(|row| row.status == agentry_store::InboundStatus::Received);
        match row {
            Some(row) => Ok(vec![(row.seq, self.ledger.inbound_received(&row)?)]),
            None => Ok(Vec::new()),
        }
    }

    /// Passes one event through all stages.
    fn look(
        &self,
        seq: u64,
        inbound: &Inbound,
        batch: &mut BatchState<'_>,
    ) -> Result<TriageOutcome, Error> {
        let mut stages = IntakeDrafts { seq, drafts: Vec::new() };
        if let Some(by) = event_hooks::fired_by(inbound) {
            return self.look_fired(stages, inbound, &by, batch);
        }
        let record = self.known.decide(inbound, batch.access, self.stamp());
        stages.push(intake_entries::decided(record.clone()), None);
        match record.decision.effect {
            Effect::Deny => Ok(TriageOutcome { drafts: stages.drafts, arrival: None }),
            Effect::Allow => self.route(stages, inbound, &record, batch),
        }
    }

    /// Returns the time and a new id for a decision.
    fn stamp(&self) -> DecisionStamp {
        let now = self.ledger.now();
        let id = AccessId::from_number((self.new_number)());
        DecisionStamp { now, local_time: self.definition_source.local_time(now), id }
    }

    fn route(
        &self,
        mut stages: IntakeDrafts,
        inbound: &Inbound,
        record: &AccessRecord,
        batch: &mut BatchState<'_>,
    ) -> Result<TriageOutcome, Error> {
        let unrun = |stages: IntakeDrafts, why, detail: String| {
            Ok(stages.unrun(&inbound.event_id, why, Some(detail)))
        };
        let (to, order) = match route::route(inbound, &record.principal, &record.decision) {
            Route::Unrun(UnrunReason::NoHook, detail) => {
                if self.matched(&mut stages, inbound, record) {
                    return Ok(TriageOutcome { drafts: stages.drafts, arrival: None });
                }
                return unrun(stages, UnrunReason::NoHook, detail);
            }
            Route::Unrun(why, detail) => return unrun(stages, why, detail),
            Route::To(to) => {
                self.matched(&mut stages, inbound, record);
                (*to, None)
            }
            Route::Queue(to, wish) => (to, Some(ControlCommand::Queue(wish))),
            Route::Stop(to, whose) => (to, Some(ControlCommand::Stop(whose))),
        };
        let (agent, persona) = match self.who_answers(inbound, to.persona.as_deref())? {
            Ok(found) => found,
            Err(why) => return unrun(stages, UnrunReason::NoAgent, why),
        };
        if let Some(ControlCommand::Stop(whose)) = order {
            // The event is settled only after the stop: after a crash the stop is repeated.
            let found = self.found(&to, &agent, batch)?;
            let mut looked = unrun(stages, UnrunReason::Directive, String::new())?;
            looked.arrival = found.map(|session| {
                let then = std::mem::take(&mut looked.drafts);
                Arrival { session, told: MailboxInput::Aborted(whose), then }
            });
            return Ok(looked);
        }
        let session = match self.session(&to, &agent, batch, &mut stages)? {
            Ok(session) => session,
            Err(why) => return unrun(stages, UnrunReason::NoAgent, why),
        };
        if let Some(ControlCommand::Queue(wish)) = order {
            stages.add(IntakeStage::QueueSet { wish }, Some(&session));
            return unrun(stages, UnrunReason::Directive, String::new());
        }
        let origin = inbound;
        let entry = MailboxEntry { inbound, origin, record, to, session, agent, persona };
        self.put_in(stages, entry, batch.access)
    }

    /// Adds an event to the mailbox of its session.
    fn put_in(
        &self,
        mut stages: IntakeDrafts,
        entry: MailboxEntry<'_>,
        access: &AccessPolicies,
    ) -> Result<TriageOutcome, Error> {
        let MailboxEntry { inbound, origin, record, to, session, agent, persona } = entry;
        let sender = route::sender(origin, &record.principal, &record.decision);
        let (channel, global) = self.definition_source.wishes(&origin.place.channel)?;
        let levels = DeliveryLevels {
            inline: QueuePreferences::default(),
            session: self.ledger.queue_wish(&session)?.unwrap_or_default(),
            channel,
            global,
        };
        let settings = route::delivery_settings(&to, &record.decision, levels);
        let choice = RouteChoice {
            agent,
            persona,
            source: to.source,
            text: (to.text != inbound.body.content).then(|| to.text.clone()),
            settings,
            answer_after: self.answer_after(origin, record, access),
            here: false,
        };
        let event = AdmittedEvent { id: &inbound.event_id, origin, record };
        stages.push(intake_entries::routed(event, choice), Some(&session));
        let told = MailboxInput::Arrived(item(inbound, sender, &to, settings));
        let arrival = Some(Arrival { session, told, then: Vec::new() });
        Ok(TriageOutcome { drafts: stages.drafts, arrival })
    }

    /// Returns the agent and persona that answer. A wanted persona is the id of an agent, or a
    /// persona of the channel's default agent; there is no other fallback.
    fn who_answers(
        &self,
        inbound: &Inbound,
        persona: Option<&str>,
    ) -> Result<Result<(AgentId, Option<String>), String>, Error> {
        let definitions = self.definition_source.definitions()?;
        if let Some(name) = persona.filter(|name| definitions.library.agents.contains_key(*name)) {
            return Ok(Ok((AgentId::new(name), None)));
        }
        let agent = match self.definition_source.default_agent(&inbound.place.channel) {
            Ok(agent) => agent,
            Err(Error::Definition(why)) => return Ok(Err(why)),
            Err(error) => return Err(error),
        };
        let Some(name) = persona else { return Ok(Ok((agent, None))) };
        let loaded = match definitions.agent(&agent) {
            Ok(loaded) => loaded,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if loaded.personas.available.iter().any(|one| one.id.as_str() == name) {
            Ok(Ok((agent, Some(name.to_owned()))))
        } else {
            Ok(Err(format!("`{name}` is neither an agent nor a persona of `{agent}`")))
        }
    }

    fn session(
        &self,
        to: &Destination,
        agent: &AgentId,
        batch: &mut BatchState<'_>,
        stages: &mut IntakeDrafts,
    ) -> Result<Result<SessionId, String>, Error> {
        let name = (to.key.clone(), agent.clone());
        let session = match self.found(to, agent, batch)? {
            Some(session) => session,
            None => {
                if let Some(head) = &to.head
                    && self.ledger.turn(head)?.is_none_or(|turn| turn.ended_seq.is_none())
                {
                    return Ok(Err(format!("the turn `{head}` does not exist or has not ended")));
                }
                let session = SessionId::from_number((self.new_number)());
                let (key, agent) = name.clone();
                let event = Event::SessionOpened { key, agent, head: to.head.clone() };
                stages.push(event, Some(&session));
                session
            }
        };
        batch.opened.insert(name, session.clone());
        Ok(Ok(session))
    }

    /// Returns the session of a destination; None if it does not exist yet.
    fn found(
        &self,
        to: &Destination,
        agent: &AgentId,
        batch: &BatchState<'_>,
    ) -> Result<Option<SessionId>, Error> {
        match batch.opened.get(&(to.key.clone(), agent.clone())) {
            Some(session) => Ok(Some(session.clone())),
            None => Ok(self.ledger.session_named(&to.key, agent)?.map(|row| row.id)),
        }
    }

    /// Returns the time at which no policy delays the answer any more; None if it may go at once.
    fn answer_after(
        &self,
        inbound: &Inbound,
        record: &AccessRecord,
        access: &AccessPolicies,
    ) -> Option<u64> {
        let is_held = |decision: &Decision| {
            decision.modifiers.delay_response.as_ref().is_some_and(|said| said.value)
        };
        if !is_held(&record.decision) {
            return None;
        }
        let (now, turns) = (self.ledger.now(), access.boundary_minutes());
        if turns.is_empty() {
            return None;
        }
        let mut before = self.definition_source.local_time(now).minute;
        let minutes = (1..=DELAY_LOOKAHEAD_MINUTES).map(|minute| now + minute * 60_000);
        let mut minutes = minutes.map(|at| (at, self.definition_source.local_time(at)));
        let free = minutes.find(|(at, time)| {
            // Only at these minutes can another policy apply, or where the clock is set.
            let is_set = time.minute != (before + 1) % MINUTES_PER_DAY;
            before = time.minute;
            let asked = AccessQuery::of(&record.principal, inbound, *time);
            (is_set || turns.contains(&time.minute))
                && !is_held(&access.decide(&asked, &self.known.grants, *at))
        });
        // A policy that always delays would never let an answer go; then it goes at once.
        free.map(|(at, _)| at - at % 60_000)
    }
}

/// The entries to record for one event, in order.
struct IntakeDrafts {
    seq: u64,
    drafts: Vec<Draft>,
}

impl IntakeDrafts {
    fn push(&mut self, event: Event, session: Option<&SessionId>) {
        let about = EntrySubject { session: session.cloned(), ..EntrySubject::default() };
        self.drafts.push(Draft { cause: Some(self.seq), about, event });
    }

    fn add(&mut self, stage: IntakeStage, session: Option<&SessionId>) {
        self.push(Event::Intake(stage), session);
    }

    fn unrun(self, event: &EventId, why: UnrunReason, detail: Option<String>) -> TriageOutcome {
        let detail = detail.filter(|detail| !detail.is_empty());
        self.end(IntakeStage::Unrun { event: event.clone(), why, detail }, None)
    }

    fn end(mut self, stage: IntakeStage, session: Option<&SessionId>) -> TriageOutcome {
        self.add(stage, session);
        TriageOutcome { drafts: self.drafts, arrival: None }
    }
}

fn item(
    inbound: &Inbound,
    sender: MailboxSender,
    to: &Destination,
    settings: QueueSettings,
) -> MailboxItem {
    MailboxItem {
        id: inbound.event_id.clone(),
        sender,
        source: to.source,
        text: route::text_with_attachments(to.text.clone(), inbound),
        settings,
        received_ms: inbound.timestamp,
    }
}

/// True if an append was rejected because another process handled one of the events.
fn is_about_one(error: &agentry_store::Error) -> bool {
    matches!(
        error,
        agentry_store::Error::Handled { .. }
            | agentry_store::Error::SessionExists { .. }
            | agentry_store::Error::HooksMatched { .. }
    )
}

#[cfg(test)]
mod tests;
