//! The hooks around a turn: their inputs, and the changes that they make to the turn.
//!
//! They run in a fixed order, each recorded before its program starts. Forbidden parts of an answer
//! are dropped with a note. A resumed run uses the recorded answers; no hook is rerun.
//!
//! Must never: grant a turn more than its sender and host allow, or run a hook twice for one turn.

mod apply;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use agentry_agentfile::agent::Agent;
use agentry_kernel::charter::Charter;
use agentry_kernel::hook_output;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Event;
use agentry_protocol::hook::{HookChange, HookMoment, HookReport, HookResult, HookSpec, TurnShape};
use agentry_protocol::message::Message;
use agentry_protocol::{RunId, SessionId, TurnId};
use agentry_sandbox::CancelToken;
use agentry_store::{EntryFilter, Ledger};
use serde_json::Value;

use crate::definitions;
use crate::error::Error;
use crate::host::Host;
use crate::host::executor::reference_of;
use crate::limits::{HOOK_CANCEL_LOOK_MS, TURN_ENTRIES_MAX};
use crate::programs::input::{HookContext, HookTopic, input, recent};
use crate::programs::{self, ProgramContext, Programs};
use crate::turn::history::Branch;
use crate::turn::pre_turn::{InheritedHook, PreTurnOutcome, uncertain_hook};
use crate::turn::runner::{ActiveRun, PendingTurn, Runner};

use apply::{ShapingContext, rejection_reason};

/// The context of a hook around a turn.
struct TurnHookContext<'a> {
    programs: &'a Programs,
    charter: &'a Charter,
    turn: Option<&'a TurnId>,
    subject: HookTopic<'a>,
    recent: Vec<Value>,
    persona: Option<String>,
}

/// A moment at which hooks run, and its topic.
struct HookOccasion<'a> {
    moment: HookMoment,
    topic: HookTopic<'a>,
}

impl<'a> HookOccasion<'a> {
    fn new(moment: HookMoment, topic: HookTopic<'a>) -> Self {
        Self { moment, topic }
    }
}

/// The report of a hook, new or from the ledger.
enum HookExecution {
    /// It ran just now; its report is still to be recorded.
    Fresh(HookReport),
    /// Its report is in the ledger.
    Recorded(HookReport),
}

impl HookExecution {
    fn report(&self) -> &HookReport {
        match self {
            Self::Fresh(report) | Self::Recorded(report) => report,
        }
    }
}

impl Runner<'_> {
    /// Runs the hooks before a turn.
    pub(crate) fn before_turn(
        &self,
        underway: &mut ActiveRun,
        at: usize,
        turn: PendingTurn<'_>,
        prompt: &str,
    ) -> Result<PreTurnOutcome, Error> {
        let caller = self.caller(underway, at);
        let scope = caller.scope()?;
        let agent = scope.agent;
        let mut before = PreTurnOutcome::default();
        if programs::hooks(agent).next().is_none() {
            return Ok(before);
        }
        let programs = Programs::of(self.definitions, agent)?;
        let head = self.host.ledger.session(&underway.session)?.and_then(|row| row.head);
        let branch = Branch::read(&self.host.ledger, head.as_ref())?.visible_messages()?;
        let said = Message::user(prompt);
        let recent = recent(branch.iter().chain([&said]));
        let chosen = underway.plan.steps.first().and_then(|step| step.persona.clone());
        let shaping = ShapingContext {
            host: &self.host,
            scope,
            charter: turn.charter,
            chosen: chosen.as_deref(),
        };
        take_over(head.as_ref(), &shaping, &mut before)?;
        let is_new = head.is_none() && at == 0;
        let occasions = [
            (is_new, HookOccasion::new(HookMoment::SessionStart, HookTopic::Because("startup"))),
            (is_new, HookOccasion::new(HookMoment::OnConversationStart, HookTopic::Nothing)),
            (at == 0, HookOccasion::new(HookMoment::UserPromptSubmit, HookTopic::Prompt(prompt))),
            (true, HookOccasion::new(HookMoment::BeforeInference, HookTopic::Nothing)),
        ];
        for (_, occasion) in occasions.into_iter().filter(|(is_now, _)| *is_now) {
            let HookOccasion { moment, topic } = occasion;
            let starts =
                matches!(moment, HookMoment::SessionStart | HookMoment::OnConversationStart);
            let around = TurnHookContext {
                programs: &programs,
                charter: turn.charter,
                turn: (!starts).then_some(turn.id),
                subject: topic,
                recent: if starts { Vec::new() } else { recent.clone() },
                persona: active_persona(agent, underway, at, &before.shaping),
            };
            for spec in programs.hooks_at(moment) {
                let execution = self.ran(underway, spec, &around)?;
                let notes = shaping.apply(&mut before, spec, &execution.report().result);
                if let HookExecution::Fresh(mut report) = execution {
                    report.notes.extend(notes);
                    self.finished(underway, around.turn, spec, report)?;
                }
                if before.blocked.is_some() {
                    return Ok(before);
                }
            }
        }
        Ok(before)
    }

    /// Runs the hooks before a compaction; returns the reason if one of them denies it.
    pub(crate) fn before_compaction(
        &self,
        underway: &mut ActiveRun,
        at: usize,
        charter: &Charter,
        trigger: &'static str,
    ) -> Result<Option<String>, Error> {
        let occasion = HookOccasion::new(HookMoment::PreCompact, HookTopic::Because(trigger));
        self.gate_around(underway, at, charter, occasion)
    }

    /// Runs the hooks for the end of a session.
    pub(crate) fn after_session(
        &self,
        underway: &mut ActiveRun,
        reason: &'static str,
    ) -> Result<(), Error> {
        let at = underway.plan.steps.len().saturating_sub(1);
        let agent = self.definitions.agent(&underway.plan.steps[at].agent)?;
        if !programs::hooks(agent).any(|hook| hook.moment == HookMoment::SessionEnd) {
            return Ok(());
        }
        let turn = TurnId::from_number((self.host.new_number)());
        let charter = self.charter(underway, at, &turn)?;
        let occasion = HookOccasion::new(HookMoment::SessionEnd, HookTopic::Because(reason));
        // A denial has no effect here; the answers are only recorded.
        self.gate_around(underway, at, &charter, occasion).map(drop)
    }

    fn gate_around(
        &self,
        underway: &mut ActiveRun,
        at: usize,
        charter: &Charter,
        occasion: HookOccasion<'_>,
    ) -> Result<Option<String>, Error> {
        let agent = self.definitions.agent(&underway.plan.steps[at].agent)?;
        let programs = Programs::of(self.definitions, agent)?;
        let persona = active_persona(agent, underway, at, &TurnShape::default());
        let (turn, recent, programs) = (None, Vec::new(), &programs);
        let HookOccasion { moment, topic: subject } = occasion;
        let around = TurnHookContext { programs, charter, turn, subject, recent, persona };
        for spec in programs.hooks_at(moment) {
            let report = match self.ran(underway, spec, &around)? {
                HookExecution::Fresh(report) => {
                    self.finished(underway, None, spec, report.clone())?;
                    report
                }
                HookExecution::Recorded(report) => report,
            };
            if let Some(why) = rejection_reason(spec, &report.result) {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }

    /// Runs a hook, or takes its report from the ledger if it has run.
    fn ran(
        &self,
        underway: &mut ActiveRun,
        spec: &HookSpec,
        around: &TurnHookContext<'_>,
    ) -> Result<HookExecution, Error> {
        let is_this =
            |left: &InheritedHook| left.moment == spec.moment && left.program == spec.program;
        if underway.left_hooks.front().is_some_and(is_this) {
            return Ok(match underway.left_hooks.pop_front().and_then(|left| left.report) {
                Some(report) => HookExecution::Recorded(report),
                None => HookExecution::Fresh(uncertain_hook()),
            });
        }
        let about = EntrySubject { turn: around.turn.cloned(), ..underway.about() };
        let started = HookChange::Started {
            number: 0,
            moment: spec.moment,
            program: spec.program.clone(),
            call: None,
        };
        self.record(&about, vec![Event::Hook(started)])?;
        let charter = around.charter;
        let workspace = underway.workspace.path();
        let cwd = workspace.display().to_string();
        let facts = HookContext {
            session: underway.session.as_str(),
            turn: around.turn.map(|turn| turn.as_str()),
            recent: around.recent.clone(),
            persona: around.persona.as_deref(),
            state: self.host.ledger.agent_state(&underway.session)?,
            tools: charter.tools.iter().map(|spec| spec.name.to_string()).collect(),
            args: &around.programs.args,
            cwd: &cwd,
            mode: charter.first_mode().as_str(),
        };
        let stop = CancelToken::new();
        let context = ProgramContext {
            host: &self.host,
            about: &about,
            workspace: reference_of(workspace),
            placement: self.host.enforcer.placement(charter.confinement().clone(), workspace),
            variables: Arc::from([]),
            stop: &stop,
            on_line: &|_| {},
        };
        let given = input(spec.moment, &facts, &around.subject);
        let since = self.host.ledger.last_seq()?;
        let over = CancelToken::new();
        let (ledger, run) = (&self.host.ledger, &underway.id);
        thread::scope(|scope| {
            scope.spawn(|| end_if_cancelled(ledger, run, since, &stop, &over));
            let ran = around.programs.hook(&context, spec, given).map(HookExecution::Fresh);
            over.stop();
            ran
        })
    }

    /// Records the report of a hook, and its changes to the session's state.
    fn finished(
        &self,
        underway: &ActiveRun,
        turn: Option<&TurnId>,
        spec: &HookSpec,
        report: HookReport,
    ) -> Result<(), Error> {
        let about = EntrySubject { turn: turn.cloned(), ..underway.about() };
        let change = HookChange::Finished {
            number: 0,
            moment: spec.moment,
            program: spec.program.clone(),
            report: Box::new(report),
        };
        let events = settled(&self.host, &underway.session, change)?;
        self.record(&about, events).map(drop)
    }
}

/// Applies the overrides that hooks after the calls of the last turn set for this one.
fn take_over(
    head: Option<&TurnId>,
    shaping: &ShapingContext<'_>,
    before: &mut PreTurnOutcome,
) -> Result<(), Error> {
    let Some(head) = head else { return Ok(()) };
    for (spec, result) in wanted_for_next(&shaping.host.ledger, head)? {
        shaping.apply(before, &spec, &result);
    }
    Ok(())
}

/// Stops a hook if its run is cancelled: before a turn begins, no session loop does so.
fn end_if_cancelled(
    ledger: &Ledger,
    run: &RunId,
    since: u64,
    hook: &CancelToken,
    over: &CancelToken,
) {
    let filter = EntryFilter { run: Some(run.clone()), ..EntryFilter::default() };
    while !over.wait(Duration::from_millis(HOOK_CANCEL_LOOK_MS)) {
        let entries = ledger.read_from(since, &filter, TURN_ENTRIES_MAX).unwrap_or_default();
        if entries.iter().any(|entry| entry.event == Event::CancelReceived {}) {
            return hook.stop();
        }
    }
}

/// Returns the active persona of an agent.
pub(crate) fn active_persona(
    agent: &Agent,
    underway: &ActiveRun,
    at: usize,
    shaping: &TurnShape,
) -> Option<String> {
    let chosen = underway.plan.steps.get(at).and_then(|step| step.persona.as_deref());
    let worn = definitions::persona(agent, shaping.persona.as_deref().or(chosen)).ok().flatten();
    worn.map(|persona| persona.id.as_str().to_owned())
}

/// Returns the overrides that hooks after the calls of a turn set for the next one.
fn wanted_for_next(ledger: &Ledger, turn: &TurnId) -> Result<Vec<(HookSpec, HookResult)>, Error> {
    let filter = EntryFilter { turn: Some(turn.clone()), ..EntryFilter::default() };
    let mut wanted = Vec::new();
    for entry in ledger.read_from(0, &filter, TURN_ENTRIES_MAX)? {
        let Event::Hook(HookChange::Finished { moment, program, report, .. }) = entry.event else {
            continue;
        };
        let HookResult::Shaped { shape } = report.result else { continue };
        if moment == HookMoment::AfterToolCall {
            let spec = apply::named(moment, program);
            wanted.push((spec, HookResult::Shaped { shape: Box::new(apply::overrides(*shape)) }));
        }
    }
    Ok(wanted)
}

/// Returns the entries for a hook's report and its session state. Too much state is a failure.
pub(crate) fn settled(
    host: &Host,
    session: &SessionId,
    change: HookChange,
) -> Result<Vec<Event>, Error> {
    let HookChange::Finished { number, moment, program, mut report } = change else {
        return Ok(vec![Event::Hook(change)]);
    };
    let updates = match &report.result {
        HookResult::Shaped { shape } => shape.state_updates.clone(),
        HookResult::Gated { .. } | HookResult::Failed { .. } => None,
    };
    let mut state = None;
    if let Some(updates) = updates {
        match hook_output::merged(host.ledger.agent_state(session)?, &updates) {
            Ok(merged) => state = Some(HookChange::StateSet { state: merged }),
            Err(why) => report.result = HookResult::Failed { why },
        }
    }
    let finished = HookChange::Finished { number, moment, program, report };
    Ok([Some(finished), state].into_iter().flatten().map(Event::Hook).collect())
}
