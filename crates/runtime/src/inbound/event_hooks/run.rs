//! Runs the programs of the hooks that an event triggered, in parallel, and records each answer.
//!
//! Must never: rerun a program that was begun, or let one program's failure block another's answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use agentry_kernel::event_hook::{self, BreakerOutcome};
use agentry_protocol::access::AccessRecord;
use agentry_protocol::confinement::Confinement;
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::event_hook::{
    EventHook, EventHookChange, EventHookUsage, FireResult, Invocation,
};
use agentry_protocol::inbound::Inbound;
use agentry_protocol::inbound_request::RunOverrides;
use agentry_protocol::job::{Job, JobPurpose, JobState};
use agentry_protocol::{AgentId, ContentHash, JobId, WorkspaceReference};
use agentry_sandbox::CancelToken;
use agentry_store::{EventHookRow, HookEventRow, InvocationRow, InvocationStatus};
use serde_json::{Value, json};

use super::HookRunner;
use super::hook_callback::HookCallback;
use crate::error::Error;
use crate::host::SharedHost;
use crate::host::executor::{
    Assignment, Base64Bytes, Callback, ExecutionContext, FileVariables, HostResolver, JobOutcome,
    JobProgram,
};
use crate::limits::{HOOKS_SIDE_BY_SIDE_MAX, JOB_OUTPUT_BYTES_MAX};
use crate::programs::jobs;

/// The result of running a hook's program.
#[derive(Debug)]
pub struct HookTrial {
    /// The answer, or the reason why it is invalid.
    pub answer: Result<FireResult, String>,
    /// The parts of the answer that were dropped: a line each.
    pub notes: Vec<String>,
    /// The queries that the program sent to the runtime.
    pub spent: EventHookUsage,
    /// The time of its start, in milliseconds since 1970.
    pub started_at: u64,
    /// The time of its end, in milliseconds since 1970.
    pub finished_at: u64,
}

impl HookRunner {
    /// Runs the hooks of an event that have not run yet.
    pub(super) fn evaluate(&self, open: &HookEventRow) -> Result<(), Error> {
        let ledger = &self.host.ledger;
        let Some(row) = ledger.inbound(&open.event)? else { return Ok(()) };
        let inbound = ledger.inbound_received(&row)?;
        let Some(record) = ledger.inbound_decided(&row)? else { return Ok(()) };
        let failed: Mutex<Option<Error>> = Mutex::default();
        for some in open.invocations.chunks(HOOKS_SIDE_BY_SIDE_MAX) {
            thread::scope(|scope| {
                for one in some.iter().filter(|one| one.status != InvocationStatus::Done) {
                    let (failed, inbound, record) = (&failed, &inbound, &record);
                    scope.spawn(move || {
                        if let Err(error) = self.invoke(one, inbound, record) {
                            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        }
                    });
                }
            });
        }
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn invoke(
        &self,
        one: &InvocationRow,
        inbound: &Inbound,
        record: &AccessRecord,
    ) -> Result<(), Error> {
        let ledger = &self.host.ledger;
        let Some(row) = ledger.event_hook(&one.hook)? else { return Ok(()) };
        let versions = ledger.event_hook_versions(&one.hook)?;
        let hook = versions.into_iter().find(|hook| hook.version == one.version);
        let trial = match (one.status, hook) {
            (InvocationStatus::Begun, _) => gone(
                ledger.now(),
                "the process stopped while it was under way, so its result is unknown; it is not run \
                 again",
            ),
            (_, None) => gone(ledger.now(), "this version of the hook no longer exists"),
            (InvocationStatus::Matched | InvocationStatus::Done, Some(hook)) => {
                self.append(EventHookChange::Begun { invocation: one.id.clone() })?;
                let model = self.model(inbound);
                let event = HookTrigger { inbound, record };
                let input = input(&hook, &row, event, ledger.now());
                run(&self.host, &hook, input, model)?
            }
        };
        self.answered(one, trial)
    }

    /// Records an answer and the new state of the breaker.
    fn answered(&self, one: &InvocationRow, trial: HookTrial) -> Result<(), Error> {
        let _alone = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(row) = self.host.ledger.event_hook(&one.hook)? else { return Ok(()) };
        let outcome = match &trial.answer {
            Ok(_) => BreakerOutcome::Worked,
            Err(_) => BreakerOutcome::Failed,
        };
        let circuit = event_hook::circuit_after(row.circuit, outcome, trial.finished_at);
        let name = &row.hook.name;
        if let Err(why) = &trial.answer {
            (self.say)(&format!("the hook `{name}` failed: {why}"));
        }
        if circuit.opened_at != row.circuit.opened_at && circuit.opened_at.is_some() {
            let count = circuit.consecutive_errors;
            (self.say)(&format!(
                "the hook `{name}` is paused for 5 minutes: it failed {count} times in a row"
            ));
        }
        let fired = trial.answer.as_ref().is_ok_and(|answer| answer.fire);
        let (result, error) = match trial.answer {
            Ok(answer) => (Some(answer), None),
            Err(why) => (None, Some(why)),
        };
        self.append(EventHookChange::Invoked(Box::new(Invocation {
            id: one.id.clone(),
            hook_id: one.hook.clone(),
            version: one.version,
            event_id: one.event.clone(),
            started_at: trial.started_at,
            finished_at: trial.finished_at,
            latency_ms: trial.finished_at.saturating_sub(trial.started_at),
            fired,
            result,
            spent: trial.spent,
            error,
            circuit,
        })))
    }

    fn append(&self, change: EventHookChange) -> Result<(), Error> {
        let event = Event::EventHook(change);
        let draft = Draft { cause: None, about: EntrySubject::default(), event };
        self.host.ledger.append(vec![draft])?;
        Ok(())
    }

    /// Returns the model for hooks: the operator's choice, else that of the channel's agent.
    fn model(&self, inbound: &Inbound) -> Result<String, String> {
        let definition_source = &self.definition_source;
        let terms = definition_source.definitions().and_then(|definitions| {
            let agent = definition_source.default_agent(&inbound.place.channel)?;
            definition_source.terms(&definitions, &agent, &RunOverrides::default())
        });
        terms.map(|terms| terms.model).map_err(|error| error.to_string())
    }
}

fn gone(now: u64, why: &str) -> HookTrial {
    HookTrial {
        answer: Err(why.to_owned()),
        notes: Vec::new(),
        spent: EventHookUsage::default(),
        started_at: now,
        finished_at: now,
    }
}

/// The event that a hook's program answers, with the decision of access about it.
#[derive(Clone, Copy)]
pub struct HookTrigger<'a> {
    /// The event.
    pub inbound: &'a Inbound,
    /// The decision that allowed it.
    pub record: &'a AccessRecord,
}

/// Returns the input of a hook's program.
fn input(hook: &EventHook, row: &EventHookRow, event: HookTrigger<'_>, now: u64) -> Value {
    let HookTrigger { inbound, record } = event;
    json!({
        "event": inbound,
        "principal": record.principal,
        "permissions": record.resolved,
        "session": record.decision.session.as_ref().map(|session| &session.key),
        "now": now,
        "hook": {
            "id": hook.id,
            "name": hook.name,
            "version": hook.version,
            "mode": hook.mode,
            "created_at": row.times.created,
            "last_triggered": row.times.last_triggered,
            "trigger_count": row.trigger_count,
            "config": hook.config,
        },
    })
}

/// Runs a hook's program once; only its job is recorded.
fn run(
    host: &SharedHost,
    hook: &EventHook,
    input: Value,
    model: Result<String, String>,
) -> Result<HookTrial, Error> {
    let started_at = host.ledger.now();
    let text = host.ledger.kept_file(&hook.program.hash)?;
    let callback = hook.program.model.then(|| Arc::new(HookCallback::new(host.clone(), model)));
    let confinement = Confinement {
        level: host.enforcer.level(),
        authority: Some(ContentHash::of(hook.id.as_str().as_bytes())),
        ..Confinement::most_restricted()
    };
    let placement = host.enforcer.placement(confinement, &std::env::temp_dir());
    let assignment = Assignment {
        job: Job {
            id: JobId::from_number((host.new_number)()),
            purpose: JobPurpose::EventHook { hook: hook.id.clone() },
            agent: hook.created_by.agent.clone().unwrap_or_else(|| AgentId::new("")),
            program: hook.program.path.clone(),
            hash: hook.program.hash.clone(),
            workspace: WorkspaceReference::new("/tmp"),
            locks: false,
            timeout_ms: hook.program.timeout_ms,
        },
        fence: 0,
        program: JobProgram::Stored(Base64Bytes(text)),
        args: Vec::new(),
        file_variables: FileVariables::Hook,
        input,
        variables: Arc::from([]),
        placement: placement.value().clone(),
        output_bytes_max: JOB_OUTPUT_BYTES_MAX,
        artifacts: None,
        may_call_back: callback.is_some(),
    };
    let questions = callback.clone().map(|callback| callback as Arc<dyn Callback>);
    let context = ExecutionContext {
        resolver: &HostResolver {
            host,
            placement: &placement,
            variables: &[],
            workspace: None,
            directory: None,
        },
        stop: &CancelToken::new(),
        on_line: &|_| {},
        callback: questions.as_ref(),
    };
    let outcome = jobs::run(host, &EntrySubject::default(), assignment, &context)?;
    let spent = callback.map(|callback| callback.spent()).unwrap_or_default();
    let finished_at = host.ledger.now();
    let (answer, notes) = answer(outcome);
    let hide = |text: String| host.redactor.hide(&text);
    Ok(HookTrial { answer: answer.map_err(hide), notes, spent, started_at, finished_at })
}

/// Returns the answer of a program, or the reason why there is none, and the dropped parts.
fn answer(outcome: JobOutcome) -> (Result<FireResult, String>, Vec<String>) {
    let mut notes = Vec::new();
    let output = outcome.output.file.or(outcome.output.stdout);
    let answer = match (outcome.state, output) {
        (JobState::Succeeded, Some(output)) => output.and_then(|Base64Bytes(bytes)| {
            let answer = event_hook::answer(&bytes).map_err(|why| why.to_string())?;
            notes = answer.notes;
            Ok(answer.result)
        }),
        (JobState::Succeeded, None) => Err("it ended without an answer".to_owned()),
        (_, _) => {
            let why = outcome.report.why.unwrap_or_else(|| "it failed".to_owned());
            let stderr = outcome.report.stderr.unwrap_or_default();
            Err(if stderr.is_empty() { why } else { format!("{why}: {}", stderr.trim()) })
        }
    };
    (answer, notes)
}

/// Runs a hook by hand on a made-up event, as if it had arrived from this principal.
///
/// # Errors
/// If the ledger fails to append the job.
pub fn try_hook(
    host: &SharedHost,
    row: &EventHookRow,
    event: HookTrigger<'_>,
    model: Result<String, String>,
) -> Result<HookTrial, Error> {
    let input = input(&row.hook, row, event, host.ledger.now());
    run(host, &row.hook, input, model)
}
