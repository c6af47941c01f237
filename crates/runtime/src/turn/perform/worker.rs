//! The thread of one call or one hook.
//!
//! Must never: append to the ledger, or inform the turn.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use agentry_protocol::CallId;
use agentry_protocol::call_facts::{CallFacts, ResolvedPath};
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::{Event, Mode};
use agentry_protocol::hook::{HookReport, HookResult};
use agentry_protocol::message::Message;
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall, ToolOutcome, ToolSpec};
use agentry_sandbox::{CancelToken, denied_paths};
use agentry_tools::{ToolLimits, Workspace};

use super::{AgentExtensions, HookCall, TurnPermissions};
use crate::error::Error;
use crate::host::enforcer::{ResolvedPlacement, TurnSandbox};
use crate::host::executor::reference_of;
use crate::host::session_message::SessionMessage;
use crate::host::tool_source::CallContext;
use crate::host::{RunObserver, SharedHost};
use crate::programs::input::{self, HookContext, HookTopic};
use crate::programs::{ProgramContext, Programs};
use crate::redact::redaction;
use crate::spawn;

/// The services and permissions of one effect.
pub(super) struct EffectWorker {
    pub(super) host: SharedHost,
    pub(super) workspace: Arc<Workspace>,
    pub(super) permissions: TurnPermissions,
    pub(super) own: AgentExtensions,
    pub(super) results: Sender<SessionMessage>,
    pub(super) observer: Arc<dyn RunObserver>,
    pub(super) about: EntrySubject,
    pub(super) stop: CancelToken,
    pub(super) bounds: ToolLimits,
    pub(super) any_host: bool,
}

/// The state of a turn that its hooks are told.
pub(super) struct TurnSnapshot {
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) tools: Arc<[ToolSpec]>,
    pub(super) mode: Mode,
}

impl EffectWorker {
    /// Redacts an outcome, then adds the paths that the sandbox refused. In that order, because the
    /// redactor does not recognize a part of a secret.
    fn redacted_outcome(&self, call: &ToolCall, outcome: ToolOutcome) -> ToolOutcome {
        let mut outcome = redaction::outcome(&self.host.redactor, outcome);
        let TurnSandbox::In(session) = self.permissions.placement.sandbox() else { return outcome };
        let Some(shell) = self.host.tools.shell_input(call) else { return outcome };
        if outcome.status != OutcomeStatus::Failed {
            return outcome;
        }
        let cwd = self.workspace.path().join(shell.cwd.unwrap_or_default());
        for denied in denied_paths(&outcome.text, session.confinement(), &cwd) {
            let line = denied.to_string();
            outcome.text.push_str(&format!("\n[{line}]"));
            outcome.measured.denied.push(line);
        }
        outcome
    }

    /// Returns the placement of a call, with reports of its connections to the session.
    fn placement(&self, call: &CallId) -> ResolvedPlacement {
        self.permissions.placement.reporting(|| {
            let (results, call, host) = (self.results.clone(), call.clone(), self.host.clone());
            Arc::new(move |connection| {
                let connection = redaction::connection(&host.redactor, connection);
                let event = Event::ConnectionEnded { call: call.clone(), connection };
                spawn::send_if_running(&results, SessionMessage::RecordOnly(Box::new(event)));
            })
        })
    }

    /// Runs a call and redacts its outcome.
    ///
    /// # Errors
    /// If the ledger fails, which ends the run.
    pub(super) fn call(
        &self,
        call: &ToolCall,
        judged: Option<&ResolvedPath>,
    ) -> Result<ToolOutcome, Error> {
        let progress = |line: &str| {
            let line = self.host.redactor.hide(line);
            self.observer.on_progress(&self.about, &call.id, &line);
        };
        let context = CallContext {
            host: &self.host,
            scope: self.own.caller.scope().ok(),
            about: &self.about,
            workspace: &self.workspace,
            agent: &self.permissions.agent,
            placement: &self.placement(&call.id),
            credentials: self.permissions.credentials.as_ref(),
            limits: self.bounds,
            any_host: self.any_host,
            judged,
            stop: &self.stop,
            progress: &progress,
        };
        let outcome = self.own.tools.call(call, &context)?;
        Ok(self.redacted_outcome(call, outcome))
    }

    /// Runs a hook of the agent.
    pub(super) fn consult(
        &self,
        programs: &Programs,
        consulted: &HookCall,
        snapshot: &TurnSnapshot,
    ) -> Result<HookReport, Error> {
        let TurnSnapshot { messages, tools, mode } = snapshot;
        let cwd = self.workspace.path().display().to_string();
        let session = self.about.session.as_ref();
        let state = session.map(|session| self.host.ledger.agent_state(session)).transpose()?;
        let facts = HookContext {
            session: session.map_or("", |session| session.as_str()),
            turn: self.about.turn.as_ref().map(|turn| turn.as_str()),
            recent: input::recent_of(messages),
            persona: programs.persona.as_deref(),
            state: state.unwrap_or_default(),
            tools: tools.iter().map(|spec| spec.name.to_string()).collect(),
            args: &programs.args,
            cwd: &cwd,
            mode: mode.as_str(),
        };
        let subject = match &consulted.call {
            Some(call) => HookTopic::Call(call, consulted.outcome.as_ref()),
            None => HookTopic::Finish { again: consulted.again },
        };
        let context = ProgramContext {
            host: &self.host,
            about: &self.about,
            workspace: reference_of(self.workspace.path()),
            placement: self.permissions.placement.clone(),
            variables: Arc::from([]),
            stop: &self.stop,
            on_line: &|_| {},
        };
        let given = input::input(consulted.hook.moment, &facts, &subject);
        let report = programs.hook(&context, &consulted.hook, given)?;
        Ok(HookReport { facts: self.facts_of_changed(consulted, &report.result), ..report })
    }

    /// Returns the facts about a call whose arguments a hook changed; None if unchanged.
    fn facts_of_changed(
        &self,
        consulted: &HookCall,
        result: &HookResult,
    ) -> Option<Box<CallFacts>> {
        let HookResult::Gated { answer } = result else { return None };
        let (call, input) = (consulted.call.clone()?, answer.updated_input.clone()?);
        Some(Box::new(self.own.binding.facts(&ToolCall { input, ..call })))
    }
}

/// Returns the report for hooks of an agent whose definition is gone.
pub(super) fn missing_agent_report() -> HookReport {
    let why = "the agent does not load any more, so its hooks cannot run".to_owned();
    HookReport { job: None, result: HookResult::Failed { why }, notes: Vec::new(), facts: None }
}
