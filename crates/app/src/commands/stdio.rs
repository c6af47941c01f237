//! `agentry stdio`: one JSON object on each line, in and out.
//!
//! Prompts run one after the other, in one session. All other messages are for the active run. An
//! invalid line is answered with an error that names its number; then the next line is read.
//!
//! Must never: stop because of a bad line, or apply an answer to another run.

use std::io::{self, BufRead, BufReader, Read};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use agentry_kernel::identity::STDIO;
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Mode;
use agentry_protocol::message::Image;
use agentry_protocol::{ApprovalId, RunId, SessionKey};
use agentry_runtime::commands::approvals::{self, AnswerRequest};
use agentry_runtime::commands::runs::{self, ModeChange};
use agentry_runtime::commands::{CommandContext, CommandError};
use agentry_runtime::definitions::trust;
use agentry_runtime::{
    Attendance, Host, RunObserver, RunRequest, RunSettings, Runner, SessionHandle, SessionInbox,
};
use clap::Args;
use serde::Deserialize;

use super::run::{self, WorkOptions};
use crate::agent_events;
use crate::bootstrap::{self, ProjectRuntime};
use crate::cli_context::CliContext;
use crate::confirmation;
use crate::fault::Fault;
use crate::image;
use crate::limits::LINE_BYTES_MAX;
use crate::run_output::{self, OutputMode, RunOutput};
use crate::signals;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    work: WorkOptions,
}

/// A message on an input line.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum StdioMessage {
    Prompt {
        prompt: String,
        /// Images in base64; the format is detected from the bytes.
        #[serde(default)]
        images: Vec<StdioImage>,
    },
    ApprovalResponse {
        gate_id: String,
        allow: bool,
        reason: Option<String>,
        #[serde(default)]
        session: bool,
    },
    Cancel {},
    #[serde(rename = "setMode", alias = "set_mode")]
    SetMode {
        new_mode: Mode,
        max_iterations: Option<u32>,
    },
    Steer {
        content: String,
    },
}

/// An image on a line, in base64.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StdioImage {
    data: String,
}

/// A prompt that waits until the runs before it have ended.
struct QueuedPrompt {
    prompt: String,
    images: Vec<Image>,
}

/// State shared by the reader of lines and the runs.
struct StdioState {
    parts: Arc<Host>,
    stage: Arc<RunOutput>,
    /// The active run, and the handle of its session.
    now: Mutex<Option<(EntrySubject, SessionHandle)>>,
    /// The number of unfinished prompts; `changed` is notified when a run begins or ends.
    prompts: AtomicUsize,
    changed: Condvar,
    /// The mode and iteration limit of the next run.
    mode: Mutex<(Mode, Option<u32>)>,
    alone: AtomicBool,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let work = &options.work;
    let model = work.model.as_deref().map(crate::model_choice::absolute_model).transpose()?;
    host.use_tape(work.tape()?);
    let ledger = bootstrap::open_ledger(host)?;
    let engine = bootstrap::engine(host, ledger, &work.dir, work.workspace.as_deref())?;
    let agent = run::choose(&engine.loaded, work)??;
    // Standard input carries JSON lines, so no person can be asked for trust.
    trust::check_one(&engine.parts.ledger, &engine.definitions, agent).map_err(bootstrap::fault)?;
    confirmation::report(&engine.parts.ledger, &engine.loaded)?;
    let terms = run::terms(host, &engine, agent, work, model.as_deref())?;
    bootstrap::warn_left_out(&engine, agent)?;
    let (stage, shower) =
        run_output::open(OutputMode::JsonLines, &engine.parts, &engine.definitions.workspace);
    let state = Arc::new(StdioState::new(&engine, &stage, terms.mode));
    let (sender, prompts) = mpsc::channel();
    let reader = state.clone();
    thread::spawn(move || read_lines(&reader, &sender));
    let key = session_key(work, &engine);
    let mut code = 0;
    for QueuedPrompt { prompt, images } in prompts {
        let post = SessionInbox::default();
        let handle = post.handle();
        let observer: Arc<dyn RunObserver> = stage.clone();
        let runner = Runner {
            host: engine.parts.clone(),
            definitions: &engine.definitions,
            observer,
            attendance: Attendance::Present,
            post,
        };
        let order = RunRequest {
            agent: agent.id.clone(),
            task: None,
            prompt,
            images,
            inputs: std::collections::BTreeMap::new(),
            terms: state.terms(&terms),
            session: Some(key.clone()),
            project: engine.project.display().to_string(),
            inbounds: Vec::new(),
            said: None,
        };
        let outcome = engine.admit(STDIO, order).and_then(|order| {
            let started = runner.start(order, &mut |about| {
                signals::cancel_on_signal(&engine.parts, about);
                state.begin(about, &handle);
            });
            started.map_err(bootstrap::fault)
        });
        state.end();
        match outcome {
            Ok(outcome) => code = code.max(bootstrap::exit_code(&outcome)),
            Err(fault) => {
                code = code.max(fault.code());
                stage.write_line(agent_events::text(&agent_events::error_line(
                    "run_failed",
                    fault.plain(),
                    false,
                )));
            }
        }
    }
    drop((state, stage));
    shower.join().unwrap_or_else(|_| Err(io::Error::other("the output thread panicked")))?;
    Ok(ExitCode::from(code))
}

/// Returns the wanted session, or a new one for all prompts of this input.
fn session_key(work: &WorkOptions, engine: &ProjectRuntime) -> SessionKey {
    SessionKey::new(work.session.clone().unwrap_or_else(|| {
        RunId::from_number((engine.parts.new_number)()).as_str().replacen("run", "stdio", 1)
    }))
}

fn read_lines(state: &StdioState, prompts: &Sender<QueuedPrompt>) {
    let mut input = BufReader::new(io::stdin().lock());
    let mut number = 0;
    loop {
        let mut line = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 1;
        number += 1;
        match (&mut input).take(limit).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) if line.len() > LINE_BYTES_MAX && !line.ends_with(b"\n") => {
                state.bad_line(number, &format!("it is longer than {LINE_BYTES_MAX} bytes"));
                if !skip_line(&mut input) {
                    break;
                }
            }
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(_) => match parse(&line) {
                Ok(StdioMessage::Prompt { prompt, images }) => {
                    let images = images.iter().map(|one| image::of_base64(&one.data));
                    match images.collect::<Result<Vec<Image>, String>>() {
                        Ok(images) => {
                            state.prompts.fetch_add(1, Ordering::SeqCst);
                            if prompts.send(QueuedPrompt { prompt, images }).is_err() {
                                // No run starts any more: the command has ended.
                                break;
                            }
                        }
                        Err(why) => state.bad_line(number, &why),
                    }
                }
                Ok(inbound) => {
                    if let Err(why) = state.take(inbound) {
                        state.bad_line(number, &why);
                    }
                }
                Err(why) => state.bad_line(number, &why),
            },
        }
    }
    // No one can answer from now on, so runs that wait for an approval pause.
    state.alone.store(true, Ordering::SeqCst);
    if let Some((_, handle)) = &*lock(&state.now) {
        handle.set_unattended();
    }
}

fn skip_line(input: &mut impl BufRead) -> bool {
    loop {
        let (found, used) = match input.fill_buf() {
            Ok([]) | Err(_) => return false,
            Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (true, at + 1),
                None => (false, bytes.len()),
            },
        };
        input.consume(used);
        if found {
            return true;
        }
    }
}

/// Parses a line: tagged by `type`, or with the message as its only key, or `{"prompt": …}`.
fn parse(line: &[u8]) -> Result<StdioMessage, String> {
    let mut value: serde_json::Value =
        serde_json::from_slice(line).map_err(|error| format!("it is not JSON: {error}"))?;
    let Some(fields) = value.as_object_mut() else {
        return Err("it is not a JSON object".to_owned());
    };
    if !fields.contains_key("type") {
        let named = ["approval_response", "cancel", "setMode", "set_mode", "steer"];
        let name = named.into_iter().find(|name| fields.contains_key(*name));
        match name {
            Some(name) if fields.len() == 1 => {
                let inner = fields.remove(name).unwrap_or_default();
                *fields = inner.as_object().cloned().unwrap_or_default();
                fields.insert("type".to_owned(), name.into());
            }
            Some(_) | None => {
                fields.insert("type".to_owned(), "prompt".into());
            }
        }
    }
    serde_json::from_value(value).map_err(|error| {
        format!("{error}; write {{\"prompt\": …}}, or a `type`: approval_response, cancel, setMode, steer")
    })
}

impl StdioState {
    fn new(engine: &ProjectRuntime, stage: &Arc<RunOutput>, mode: Mode) -> Self {
        Self {
            parts: engine.parts.clone(),
            stage: stage.clone(),
            now: Mutex::default(),
            prompts: AtomicUsize::new(0),
            changed: Condvar::new(),
            mode: Mutex::new((mode, None)),
            alone: AtomicBool::new(false),
        }
    }

    fn terms(&self, terms: &RunSettings) -> RunSettings {
        let (mode, iterations) = *lock(&self.mode);
        let mut terms = RunSettings { mode, ..terms.clone() };
        terms.limits.iterations_max = iterations.unwrap_or(terms.limits.iterations_max);
        terms
    }

    fn begin(&self, about: &EntrySubject, handle: &SessionHandle) {
        *lock(&self.now) = Some((about.clone(), handle.clone()));
        self.changed.notify_all();
        if self.alone.load(Ordering::SeqCst) {
            handle.set_unattended();
        }
    }

    fn end(&self) {
        let mut now = lock(&self.now);
        *now = None;
        self.prompts.fetch_sub(1, Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// Returns the active run; waits for one that is about to start.
    fn under_way(&self) -> Option<EntrySubject> {
        let coming = |now: &mut Option<(EntrySubject, SessionHandle)>| {
            now.is_none() && self.prompts.load(Ordering::SeqCst) > 0
        };
        let now = self.changed.wait_while(lock(&self.now), coming);
        let now = now.unwrap_or_else(PoisonError::into_inner);
        now.as_ref().map(|(about, _)| about.clone())
    }

    fn take(&self, inbound: StdioMessage) -> Result<(), String> {
        match inbound {
            StdioMessage::Prompt { .. } => Ok(()),
            StdioMessage::ApprovalResponse { gate_id, allow, reason, session } => {
                let approval: ApprovalId =
                    gate_id.parse().map_err(|error| format!("gateId `{gate_id}` is {error}"))?;
                let reach = if session { ApprovalScope::Session } else { ApprovalScope::Once };
                let answer = if allow {
                    ApprovalAnswer::approved(reach)
                } else {
                    ApprovalAnswer::declined(reason)
                };
                self.under_way().ok_or("no run is active")?;
                let request = AnswerRequest {
                    approval: &approval,
                    answer,
                    by: STDIO,
                    digest: None,
                    run: None,
                };
                done(approvals::answer(CommandContext::from(&*self.parts), request))
            }
            StdioMessage::Cancel {} => done(runs::cancel(&self.parts.ledger, &self.about()?)),
            StdioMessage::SetMode { new_mode, max_iterations } => {
                done(runs::check_mode(&self.parts.enforcer, new_mode))?;
                *lock(&self.mode) = (new_mode, max_iterations);
                let under_way = lock(&self.now).is_some();
                // Without an active run, the mode applies to the next one.
                if !under_way {
                    return Ok(());
                }
                let Host { ledger, enforcer, .. } = &*self.parts;
                let change = ModeChange { mode: new_mode, max_iterations };
                done(runs::set_mode(ledger, enforcer, &self.about()?, change))
            }
            StdioMessage::Steer { content } => {
                let context = CommandContext::from(&*self.parts);
                done(runs::steer(context, &self.about()?, &content))
            }
        }
    }

    /// Returns the active run, which reads its messages from the ledger.
    fn about(&self) -> Result<EntrySubject, String> {
        self.under_way().ok_or_else(|| "no run is active".to_owned())
    }

    fn bad_line(&self, number: usize, why: &str) {
        let message = format!("line {number}: {why}");
        self.stage
            .write_line(agent_events::text(&agent_events::error_line("bad_line", message, true)));
    }
}

/// Returns the reason if a command was refused.
fn done<T>(outcome: Result<T, CommandError>) -> Result<(), String> {
    outcome.map(drop).map_err(|error| error.to_string())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|one| one.into_inner())
}
