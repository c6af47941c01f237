//! Performs the moves of a turn: each in a thread of its own, each with a cancel token.
//!
//! A move is recorded before it is performed. Its result goes back to the session as a message.
//!
//! Must never: append to the ledger, or inform the turn.

mod worker;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use agentry_kernel::charter::Charter;
use agentry_kernel::tokens::{self, TokenCounter};
use agentry_kernel::turn::Turn;
use agentry_model::{Model, ModelAnswer, ModelQuery, RetryNotice};
use agentry_protocol::access::Credentials;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::{Event, Permit};
use agentry_protocol::hook::{HookChange, HookMoment, HookSpec};
use agentry_protocol::message::{ModelReply, ModelRequest, SealedContent, Usage};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use agentry_protocol::{AgentId, CallId};
use agentry_sandbox::CancelToken;
use agentry_tools::{ToolLimits, Workspace, normalize_arguments, shell_call};

use crate::canonical_json::canonical;
use crate::error::Error;
use crate::host::enforcer::{ResolvedPlacement, RunHomes};
use crate::host::session_message::SessionMessage;
use crate::host::spending::{RequestSize, SpendReservation};
use crate::host::tool_registry::TurnToolset;
use crate::host::{RunObserver, SharedHost};
use crate::programs::SharedPrograms;
use crate::redact::Redactor;
use crate::redact::redaction::{self, DeltaRedactor};
use crate::spawn;
use crate::turn::call_facts::{CallFactResolver, CallPermit};
use crate::turn::turn_agent::TurnAgent;
use crate::turn::turn_hooks;
use worker::{EffectWorker, TurnSnapshot, missing_agent_report};

/// The running effects of one turn.
pub(crate) struct TurnEffects {
    pub(crate) host: SharedHost,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) workspace: Arc<Workspace>,
    /// The permissions of tools; set when the turn is known.
    permissions: TurnPermissions,
    /// The agent with its tools and programs.
    own: AgentExtensions,
    pub(crate) observer: Arc<dyn RunObserver>,
    pub(crate) results: Sender<SessionMessage>,
    pub(crate) about: EntrySubject,
    /// The fallback models; the reservation covers their prices too.
    pub(crate) fallbacks: Vec<String>,
    /// True if replies are not streamed to the observer, as in a compaction.
    pub(crate) quiet: bool,
    under_way: HashMap<EffectKey, CancelToken>,
    held: HashMap<EffectKey, SpendReservation>,
}

/// The services that the effects of a turn use.
pub(crate) struct TurnServices {
    pub(crate) host: SharedHost,
    pub(crate) model: Arc<dyn Model>,
    /// The fallback models; the reservation covers their prices too.
    pub(crate) fallbacks: Vec<String>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) own: AgentExtensions,
    /// The observer of deltas and progress.
    pub(crate) observer: Arc<dyn RunObserver>,
    /// The queue of the session, for results.
    pub(crate) results: Sender<SessionMessage>,
    pub(crate) about: EntrySubject,
}

/// The agent of a turn with its tools and programs.
#[derive(Clone)]
pub(crate) struct AgentExtensions {
    pub(crate) caller: TurnAgent,
    /// The tools of the turn, each with its source.
    pub(crate) tools: TurnToolset,
    /// The programs of the agent; None if its definition is gone, then no hook runs.
    pub(crate) programs: Option<SharedPrograms>,
    /// The Stop hooks that this turn has run before.
    pub(crate) asked_to_end: BTreeSet<String>,
    /// Resolves the paths and files that calls depend on.
    pub(crate) binding: Arc<CallFactResolver>,
}

/// The permissions of the tools of a turn.
#[derive(Clone)]
struct TurnPermissions {
    /// The agent that calls them.
    agent: AgentId,
    /// The place where they run.
    placement: ResolvedPlacement,
    /// The credentials that they may use; None allows all.
    credentials: Option<Credentials>,
}

/// The key of a running effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EffectKey {
    /// A request to the model.
    Step(u32),
    /// A call.
    Call(CallId),
    /// A check.
    Check(u32),
    /// A hook.
    Hook(u32),
}

/// A hook that a turn runs.
pub(crate) struct HookCall {
    pub(crate) number: u32,
    pub(crate) hook: Box<HookSpec>,
    /// The call that the hook is about; None for other moments.
    pub(crate) call: Option<ToolCall>,
    /// The outcome of that call; None before the call.
    pub(crate) outcome: Option<ToolOutcome>,
    /// True if the hook ran before in this turn, for Stop hooks.
    pub(crate) again: bool,
}

/// One request to the model.
pub(crate) struct StepRequest {
    pub(crate) step: u32,
    /// The number of the request within the run.
    pub(crate) number: u64,
    /// The sequence number of its entry.
    pub(crate) seq: u64,
    pub(crate) request: ModelRequest,
    pub(crate) bytes: u64,
}

impl TurnEffects {
    pub(crate) fn new(services: TurnServices) -> Self {
        let TurnServices { host, model, fallbacks, workspace, own, observer, results, about } =
            services;
        let (under_way, held) = (HashMap::new(), HashMap::new());
        let placement = ResolvedPlacement::missing("the turn has not begun");
        let agent = AgentId::new("");
        let permissions = TurnPermissions { agent, placement, credentials: None };
        Self {
            host,
            model,
            workspace,
            permissions,
            own,
            observer,
            results,
            about,
            fallbacks,
            quiet: false,
            under_way,
            held,
        }
    }

    /// Returns the resolver of the paths and files that calls depend on.
    pub(crate) fn binding(&self) -> &CallFactResolver {
        &self.own.binding
    }

    /// Sets the agent, the placement, the credentials and the offered tools of the turn.
    pub(crate) fn confine(&mut self, charter: &Charter, homes: &RunHomes) {
        let (enforcer, workspace) = (&self.host.enforcer, self.workspace.path());
        let (agent, confinement) = (charter.agent.clone(), charter.confinement().clone());
        let placement = enforcer.placement_in_run(confinement, workspace, homes);
        let bounds = charter.authority.bounds.as_ref();
        let credentials = bounds.map(|bounds| bounds.credentials.clone());
        self.permissions = TurnPermissions { agent, placement, credentials };
        self.own.tools.set_offered(charter.tools.iter().map(|spec| spec.name.clone()).collect());
    }

    /// Asks the model, after reserving the maximum cost of the dearest candidate.
    pub(crate) fn ask_model(&mut self, asking: StepRequest) {
        let work = EffectKey::Step(asking.step);
        let names = std::iter::once(asking.request.model.as_str());
        let names: Vec<&str> = names.chain(self.fallbacks.iter().map(String::as_str)).collect();
        let size = RequestSize { bytes: asking.bytes, answer_tokens: asking.request.max_tokens };
        match self.host.spending.reserve(&self.host.ledger, &self.about, &names, size) {
            Ok(held) => drop(held.map(|held| self.held.insert(work.clone(), held))),
            Err(failure) => {
                return tell(&self.results, Event::ModelFailed { step: asking.step, failure });
            }
        }
        let stop = self.begin(work);
        let (model, observer) = (self.model.clone(), self.observer.clone());
        let (results, about) = (self.results.clone(), self.about.clone());
        let (host, new_number) = (self.host.clone(), self.host.new_number);
        let (name, quiet) = (format!("model {}", asking.step), self.quiet);
        self.spawn(name, move || {
            let hearing = DeltaRedactor::new(&host.redactor, |delta| {
                if !quiet {
                    observer.on_delta(&about, asking.seq, &delta);
                }
            });
            let answer = model.ask(&ModelQuery {
                request: &asking.request,
                number: asking.number,
                session: about.session.as_ref().map_or("", |session| session.as_str()),
                tell: &|trouble| {
                    let event = trouble_event(&host.redactor, asking.step, trouble);
                    spawn::send_if_running(&results, SessionMessage::RecordOnly(Box::new(event)));
                },
                hear: &|delta| hearing.take(delta),
                wait: &|time| !stop.wait(time),
            });
            hearing.end();
            let event = match answer {
                Ok(answer) => {
                    let answer = redaction::answer(&host.redactor, answer);
                    let mut reply = reply(answer, &asking, new_number);
                    let asked = &asking.request.model;
                    let answered = reply.model.as_ref().unwrap_or(asked);
                    reply.cost_nano_usd = host.spending.cost(answered, &reply.usage);
                    // The plan names the first model already.
                    reply.model = reply.model.filter(|model| model != asked);
                    Event::ModelReplied { step: asking.step, reply, facts: Vec::new() }
                }
                Err(failure) => {
                    let failure = redaction::failure(&host.redactor, failure);
                    Event::ModelFailed { step: asking.step, failure }
                }
            };
            tell(&results, event);
        });
    }

    pub(crate) fn run_call(&mut self, call: ToolCall, allowed: CallPermit, bounds: ToolLimits) {
        let stop = self.begin(EffectKey::Call(call.id.clone()));
        let worker = self.worker(stop, bounds, is_of_a_person(&allowed.by));
        let results = self.results.clone();
        self.spawn(format!("call {}", call.tool), move || {
            // No other work may come between this check and the call.
            if let Some(facts) = worker.own.binding.changed_facts(&call, &allowed) {
                return tell(&results, Event::CallWithheld { call: call.id, facts });
            }
            let judged = allowed.expected.paths.values().next();
            match worker.call(&call, judged) {
                Ok(outcome) => tell(&results, Event::CallFinished { call: call.id, outcome }),
                Err(error) => fail(&results, &error),
            }
        });
    }

    /// Runs a hook for the turn.
    pub(crate) fn run_hook(&mut self, turn: &Turn, mut consulted: HookCall) {
        if consulted.hook.moment == HookMoment::Stop {
            consulted.again = !self.own.asked_to_end.insert(consulted.hook.program.clone());
        }
        let stop = self.begin(EffectKey::Hook(consulted.number));
        let worker = self.worker(stop, ToolLimits::default(), false);
        let (programs, results) = (self.own.programs.clone(), self.results.clone());
        let snapshot = TurnSnapshot {
            messages: turn.request().messages,
            tools: turn.charter().tools.clone(),
            mode: turn.charter().first_mode(),
        };
        self.spawn(format!("hook {}", consulted.hook.moment), move || {
            let report = match &programs {
                Some(programs) => worker.consult(programs, &consulted, &snapshot),
                None => Ok(missing_agent_report()),
            };
            let HookCall { number, hook, .. } = consulted;
            let HookSpec { moment, program, .. } = *hook;
            match report.map(Box::new) {
                Ok(report) => {
                    let change = HookChange::Finished { number, moment, program, report };
                    tell(&results, Event::Hook(change));
                }
                Err(error) => fail(&results, &error),
            }
        });
    }

    /// Returns the entries to record for an event; a finished hook may also keep session state.
    pub(crate) fn settled(&self, event: Event) -> Result<Vec<Event>, Error> {
        match (event, &self.about.session) {
            (Event::Hook(change), Some(session)) => {
                turn_hooks::settled(&self.host, session, change)
            }
            (event, _) => Ok(vec![event]),
        }
    }

    pub(crate) fn run_check(&mut self, iteration: u32, command: String, bounds: ToolLimits) {
        let stop = self.begin(EffectKey::Check(iteration));
        let (worker, results) = (self.worker(stop, bounds, false), self.results.clone());
        self.spawn(format!("check {iteration}"), move || {
            let call = shell_call(CallId::from_number((worker.host.new_number)()), &command);
            match worker.call(&call, None) {
                Ok(outcome) => tell(&results, Event::CheckFinished { iteration, outcome }),
                Err(error) => fail(&results, &error),
            }
        });
    }

    fn worker(&self, stop: CancelToken, bounds: ToolLimits, any_host: bool) -> EffectWorker {
        EffectWorker {
            host: self.host.clone(),
            workspace: self.workspace.clone(),
            permissions: self.permissions.clone(),
            own: self.own.clone(),
            results: self.results.clone(),
            observer: self.observer.clone(),
            about: self.about.clone(),
            stop,
            bounds,
            any_host,
        }
    }

    /// Cancels an effect. Its result still arrives as a message.
    pub(crate) fn stop(&mut self, work: &EffectKey) {
        if let Some(stop) = self.under_way.get(work) {
            stop.stop();
        }
    }

    /// Cancels all effects that are not in `wanted`.
    pub(crate) fn stop_all_but(&mut self, wanted: &[EffectKey]) {
        for (work, stop) in &self.under_way {
            if !wanted.contains(work) {
                stop.stop();
            }
        }
    }

    pub(crate) fn finish(&mut self, work: &EffectKey) {
        self.under_way.remove(work);
    }

    /// Releases the reservation of an effect, once its result and cost are recorded.
    pub(crate) fn release_reservation(&mut self, work: &EffectKey) {
        drop(self.held.remove(work));
    }

    fn begin(&mut self, work: EffectKey) -> CancelToken {
        let stop = CancelToken::new();
        self.under_way.insert(work, stop.clone());
        stop
    }

    fn spawn(&self, name: String, work: impl FnOnce() + Send + 'static) {
        if let Err(error) = spawn::start(name, work) {
            fail(&self.results, &error);
        }
    }
}

/// Sends a result to the session; a session that has ended needs none.
fn tell(results: &Sender<SessionMessage>, event: Event) {
    spawn::send_if_running(results, SessionMessage::EffectResult(Box::new(event)));
}

/// Sends an error that ends the run; a session that has ended needs none.
fn fail(results: &Sender<SessionMessage>, error: &Error) {
    spawn::send_if_running(results, SessionMessage::Fatal(error.to_string()));
}

fn trouble_event(redactor: &Redactor, step: u32, trouble: RetryNotice) -> Event {
    match trouble {
        RetryNotice::Retry { attempt, failure, wait } => Event::ModelRetried {
            step,
            attempt,
            failure: redaction::failure(redactor, failure),
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        },
        RetryNotice::Replace { from, to, failure } => {
            Event::ModelReplaced { step, from, to, failure: redaction::failure(redactor, failure) }
        }
    }
}

/// True if a person approved the call and thereby its host; a rule or a mode does not.
fn is_of_a_person(by: &Permit) -> bool {
    match by {
        Permit::Approval { .. } | Permit::Earlier { .. } => true,
        Permit::Rule { .. } | Permit::Mode {} => false,
    }
}

/// Gives calls their ids and canonical form, and estimates usage that the provider left out.
fn reply(answer: ModelAnswer, asking: &StepRequest, new_number: fn() -> u128) -> ModelReply {
    let ModelAnswer { text, thinking, calls, sealed, model, usage } = answer;
    let calls = calls.into_iter().map(|call| {
        let tool = ToolName::canonical(&call.name);
        let input = canonical(normalize_arguments(&tool, call.input));
        ToolCall { id: CallId::from_number(new_number()), tool, input }
    });
    let calls: Vec<ToolCall> = calls.collect();
    let sealed = sealed.map(|sealed| SealedContent {
        items: sealed.items.into_iter().map(canonical).collect(),
        ..sealed
    });
    let usage = usage.unwrap_or_else(|| {
        let inputs: Vec<String> = calls.iter().map(|call| call.input.to_string()).collect();
        let written: Vec<&str> =
            inputs.iter().map(String::as_str).chain([text.as_str(), &thinking]).collect();
        Usage {
            input_tokens: read(asking),
            output_tokens: tokens::of_texts(&written, u64::MAX),
            estimated: true,
            ..Usage::default()
        }
    });
    ModelReply { text, thinking, calls, sealed, model, usage, cost_nano_usd: None }
}

/// Estimates the input tokens of a request.
fn read(asking: &StepRequest) -> u64 {
    let StepRequest { request, bytes, .. } = asking;
    let about = bytes / 4;
    match TokenCounter::fitting(about, u64::MAX) {
        TokenCounter::Rough => about,
        TokenCounter::Exact => {
            let tools = serde_json::to_string(&request.tools).expect("tools are plain JSON");
            let beside =
                TokenCounter::Exact.of_text(&request.system) + TokenCounter::Exact.of_text(&tools);
            beside
                + TokenCounter::Exact.of_messages(request.messages.iter().map(|message| &**message))
        }
    }
}

#[cfg(test)]
mod tests;
