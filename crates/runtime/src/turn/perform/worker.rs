//! The thread of one call or one hook.
//!
//! Must never: append to the ledger, or inform the turn.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use agentry_protocol::CallId;
use agentry_protocol::call_facts::{CallFacts, ResolvedPath};
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::{Event, Mode};
use agentry_protocol::hook::{HookReport, HookResult};
use agentry_protocol::message::Message;
use agentry_protocol::tool_call::{
    CallMeasurements, OutcomeStatus, ToolCall, ToolOutcome, ToolSpec,
};
use agentry_sandbox::{CancelToken, denied_paths};
use agentry_tools::{ToolContext, ToolLimits, Workspace};

use super::{HookCall, TurnPermissions};
use crate::error::Error;
use crate::host::enforcer::TurnSandbox;
use crate::host::session_message::SessionMessage;
use crate::host::{RunObserver, SharedHost};
use crate::programs::input::{self, HookContext, HookTopic};
use crate::programs::{AgentTool, ProgramContext, Programs};
use crate::redact::redaction;
use crate::turn::call_facts::CallFactResolver;

/// The services and permissions of one effect.
pub(super) struct EffectWorker {
    pub(super) host: SharedHost,
    pub(super) workspace: Arc<Workspace>,
    pub(super) powers: TurnPermissions,
    pub(super) binding: Arc<CallFactResolver>,
    pub(super) news: Sender<SessionMessage>,
    pub(super) witness: Arc<dyn RunObserver>,
    pub(super) about: EntrySubject,
    pub(super) stop: CancelToken,
    pub(super) bounds: ToolLimits,
    pub(super) any_host: bool,
}

impl EffectWorker {
    /// Redacts an outcome, then adds the paths that the sandbox refused. In that order, because the
    /// redactor does not recognize a part of a secret.
    pub(super) fn redacted_outcome(&self, call: &ToolCall, outcome: ToolOutcome) -> ToolOutcome {
        let mut outcome = redaction::outcome(&self.host.redactor, outcome);
        let TurnSandbox::In(confined) = &self.powers.confining else { return outcome };
        if call.tool.as_str() != "bash" || outcome.status != OutcomeStatus::Failed {
            return outcome;
        }
        let cwd = call.input.get("cwd").and_then(serde_json::Value::as_str).unwrap_or_default();
        let cwd = self.workspace.path().join(cwd);
        for denied in denied_paths(&outcome.text, confined.confinement(), &cwd) {
            let line = denied.to_string();
            outcome.text.push_str(&format!("\n[{line}]"));
            outcome.measured.denied.push(line);
        }
        outcome
    }

    /// Returns the sandbox, with reports of a call's connections to the session.
    fn confining(&self, call: &CallId) -> TurnSandbox {
        self.powers.confining.telling(|| {
            let (news, call, host) = (self.news.clone(), call.clone(), self.host.clone());
            Arc::new(move |connection| {
                let connection = redaction::connection(&host.redactor, connection);
                let event = Event::ConnectionEnded { call: call.clone(), connection };
                // A session that has ended needs no message.
                news.send(SessionMessage::RecordOnly(Box::new(event))).unwrap_or_default();
            })
        })
    }

    /// Runs a tool of the agent.
    pub(super) fn run_own(
        &self,
        programs: &Programs,
        tool: &AgentTool,
        call: &ToolCall,
    ) -> Result<ToolOutcome, Error> {
        let hear = |line: &str| {
            let line = self.host.redactor.hide(line);
            self.witness.on_progress(&self.about, &call.id, &line);
        };
        let ground = ProgramContext {
            host: &self.host,
            about: &self.about,
            workspace: self.workspace.path().display().to_string(),
            confining: self.confining(&call.id),
            env: self.host.env_for(&call.tool, self.powers.credentials.as_ref()),
            stop: &self.stop,
            hear: &hear,
        };
        programs.call(&ground, tool, call)
    }

    /// Runs a hook of the agent.
    pub(super) fn consult(
        &self,
        programs: &Programs,
        consulted: &HookCall,
        (messages, tools, mode): (&[Arc<Message>], &[ToolSpec], Mode),
    ) -> Result<HookReport, Error> {
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
        let ground = ProgramContext {
            host: &self.host,
            about: &self.about,
            workspace: cwd.clone(),
            confining: self.powers.confining.clone(),
            env: Vec::new(),
            stop: &self.stop,
            hear: &|_| {},
        };
        let given = input::input(consulted.hook.moment, &facts, &subject);
        let report = programs.hook(&ground, &consulted.hook, given)?;
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
        Some(Box::new(self.binding.facts(&ToolCall { input, ..call })))
    }

    pub(super) fn run(&self, call: &ToolCall, judged: Option<&ResolvedPath>) -> ToolOutcome {
        let confining = self.confining(&call.id);
        let fetch = match (confining.network(), self.any_host) {
            (Some(network), false) => self.host.fetch.clone().within(network),
            (Some(_) | None, _) => self.host.fetch.clone(),
        };
        let env = self.host.env_for(&call.tool, self.powers.credentials.as_ref());
        let context = ToolContext {
            workspace: &self.workspace,
            stop: &self.stop,
            bounds: self.bounds,
            fetch: &fetch,
            env: &env,
            confines: confining.confines(),
            judged,
        };
        run(&self.host, &context, call)
    }
}

/// Returns the report for hooks of an agent whose definition is gone.
pub(super) fn missing_agent_report() -> HookReport {
    let why = "the agent does not load any more, so its hooks cannot run".to_owned();
    HookReport { job: None, result: HookResult::Failed { why }, notes: Vec::new(), facts: None }
}

fn run(host: &SharedHost, context: &ToolContext<'_>, call: &ToolCall) -> ToolOutcome {
    let begun = Instant::now();
    let mut outcome = host.tools.run(call, context);
    let duration = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    if outcome.measured.duration_ms.is_none() {
        outcome.measured = CallMeasurements { duration_ms: Some(duration), ..outcome.measured };
    }
    if context.stop.is_stopped() && outcome.status != OutcomeStatus::Done {
        outcome.status = OutcomeStatus::Stopped;
    }
    outcome
}
