//! `agentry run`: one run, to its end or to a pause for approval.
//!
//! Must never: exit 0 when the work was not done.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use agentry_agentfile::agent::Agent;
use agentry_agentfile::task::Task;
use agentry_kernel::identity::TERMINAL;
use agentry_model::RecordingMode;
use agentry_protocol::SessionKey;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Mode;
use agentry_runtime::definitions::agent_choice::choose_agent;
use agentry_runtime::definitions::project_loader::LoadedProject;
use agentry_runtime::definitions::run_limits::run_limits;
use agentry_runtime::{
    Attendance, Error, RunObserver, RunRequest, RunSettings, Runner, SessionInbox,
};
use clap::{Args, ValueEnum};

use crate::bootstrap::{self, ProjectRuntime};
use crate::cli_context::CliContext;
use crate::commands::model_fetch;
use crate::confirmation;
use crate::fault::{Blame, Fault};
use crate::image;
use crate::model_choice::absolute_model;
use crate::run_output::{self, OutputMode};
use crate::signals;
use crate::trust;

#[derive(Args)]
pub(crate) struct Options {
    /// A prompt, or the id of a task (`-` reads standard input)
    #[arg(value_name = "PROMPT|TASK")]
    what: String,
    #[command(flatten)]
    pub(super) work: WorkOptions,
    /// An input of the task (repeatable)
    #[arg(long = "input", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// An image to add to the prompt (repeatable)
    #[arg(long = "image", value_name = "FILE")]
    images: Vec<PathBuf>,
    /// Print a JSON event per line
    #[arg(long)]
    json: bool,
}

/// Options of every command that starts runs.
#[derive(Args)]
pub(crate) struct WorkOptions {
    /// The directory of the definitions, and the workspace
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    pub(super) dir: PathBuf,
    /// Use another directory as the workspace
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// The agent, if the directory holds several
    #[arg(long, value_name = "ID")]
    pub(super) agent: Option<String>,
    /// NAME, PROVIDER/NAME, local, or scripted:answers.jsonl
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// The approval of calls and the end of the work
    #[arg(long, value_enum, default_value_t = RunModeArg::Structured)]
    pub(super) mode: RunModeArg,
    /// The maximum number of iterations in wiggum mode
    #[arg(long, value_name = "N")]
    pub(super) max_iterations: Option<u32>,
    /// In wiggum mode, the command whose success ends the work
    #[arg(long, value_name = "COMMAND")]
    pub(super) check: Option<String>,
    /// The session to continue or create, by its name
    #[arg(long, value_name = "KEY")]
    pub(super) session: Option<String>,
    /// Record the exchanges with the provider in a new file
    #[arg(long, value_name = "FILE", conflicts_with = "play")]
    pub(super) record: Option<PathBuf>,
    /// Play provider answers from a recording; send nothing
    #[arg(long, value_name = "FILE")]
    pub(super) play: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunModeArg {
    /// Ask a person for approvals
    #[value(alias = "supervised")]
    Structured,
    /// Continue until a check succeeds, without asking
    #[value(alias = "autonomous")]
    Wiggum,
}

impl Options {
    /// Returns the options of a run with a prompt only.
    pub(super) fn of_prompt(what: String, work: WorkOptions) -> Self {
        Self { what, work, inputs: Vec::new(), images: Vec::new(), json: false }
    }
}

impl WorkOptions {
    /// Returns the defaults of these options.
    pub(super) fn defaults() -> Self {
        Self {
            dir: PathBuf::from("."),
            workspace: None,
            agent: None,
            model: None,
            mode: RunModeArg::Structured,
            max_iterations: None,
            check: None,
            session: None,
            record: None,
            play: None,
        }
    }

    /// Returns the recording mode of the run, if any; paths are relative to the current directory.
    pub(super) fn tape(&self) -> Result<Option<RecordingMode>, Fault> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).map_err(|error| {
                Fault::new(
                    Blame::Caller,
                    format!("`{}` is not a file name: {error}", path.display()),
                )
            })
        };
        Ok(match (&self.record, &self.play) {
            (Some(file), _) => Some(RecordingMode::Record(absolute(file)?)),
            (None, Some(file)) => Some(RecordingMode::Play(absolute(file)?)),
            (None, None) => None,
        })
    }
}

impl RunModeArg {
    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Structured => Mode::Supervised,
            Self::Wiggum => Mode::Autonomous,
        }
    }
}

pub(crate) fn run(host: &CliContext, options: Options) -> Result<ExitCode, Fault> {
    let Options { what, work, inputs, images, json } = options;
    let what = if what == "-" { read_prompt()? } else { what };
    let model = work.model.as_deref().map(absolute_model).transpose()?;
    let images = images.iter().map(|path| image::read(path)).collect::<Result<_, Fault>>()?;
    host.use_tape(work.tape()?);
    let ledger = bootstrap::open_ledger(host)?;
    let engine = bootstrap::engine(host, ledger, &work.dir, work.workspace.as_deref())?;
    let agent = choose(&engine.loaded, &work)?;
    let task = task(&engine.loaded, &what)?;
    let agent_id = match (&work.agent, task) {
        // The task names its agent, unless --agent overrides it.
        (None, Some(task)) => {
            let first = task.steps.first().and_then(|step| step.agent.as_ref());
            first.map(|agent| agent.value.clone()).or_else(|| Some(agent.as_ref().ok()?.id.clone()))
        }
        _ => None,
    };
    let agent = match agent_id {
        Some(id) => engine.definitions.agent(&id).map_err(bootstrap::fault)?,
        None => agent?,
    };
    trust::gate(host, &engine, working(&engine, agent, task))?;
    confirmation::report(&engine.parts.ledger, &engine.loaded)?;
    bootstrap::warn_left_out(&engine, agent)?;
    let order = RunRequest {
        agent: agent.id.clone(),
        task: task.map(|task| task.id.clone()),
        prompt: what,
        images,
        inputs: parse_inputs(&inputs)?,
        terms: terms(host, &engine, agent, &work, model.as_deref())?,
        session: work.session.as_deref().map(SessionKey::new),
        project: engine.project.display().to_string(),
        inbounds: Vec::new(),
        said: None,
    };
    let look = look(json);
    let order = engine.admit(TERMINAL, order)?;
    let outcome = show(&engine, look, Vec::new(), |runner| {
        let parts = runner.host.clone();
        runner.start(order, &mut |about| signals::cancel_on_signal(&parts, about))
    })?;
    Ok(ExitCode::from(bootstrap::exit_code(&outcome)))
}

/// Returns all agents of the run: the first one and those of the task's steps.
fn working<'a>(
    engine: &'a ProjectRuntime,
    agent: &'a Agent,
    task: Option<&'a Task>,
) -> impl Iterator<Item = &'a Agent> {
    let steps = task.into_iter().flat_map(|task| &task.steps);
    let named = steps.filter_map(|step| step.agent.as_ref());
    let known = named.filter_map(|id| engine.definitions.agent(&id.value).ok());
    [agent].into_iter().chain(known)
}

/// Returns the output mode: JSON lines, or a terminal if both stdin and stderr are terminals.
pub(crate) fn look(json: bool) -> OutputMode {
    if json {
        OutputMode::JsonLines
    } else if io::stdin().is_terminal() && io::stderr().is_terminal() {
        OutputMode::Terminal
    } else {
        OutputMode::Text
    }
}

/// Runs `work` with an output for its entries. `past` is shown first.
pub(crate) fn show<T>(
    engine: &ProjectRuntime,
    look: OutputMode,
    past: Vec<Envelope>,
    work: impl FnOnce(&Runner<'_>) -> Result<T, Error>,
) -> Result<T, Fault> {
    let (stage, shower) = run_output::open(look, &engine.parts, &engine.definitions.workspace);
    stage.recall(past);
    let attendance = match look {
        OutputMode::Terminal => Attendance::Present,
        OutputMode::JsonLines | OutputMode::Text => Attendance::Absent,
    };
    let observer: Arc<dyn RunObserver> = stage;
    let runner = Runner {
        host: engine.parts.clone(),
        definitions: &engine.definitions,
        observer,
        attendance,
        post: SessionInbox::default(),
    };
    let outcome = work(&runner);
    drop(runner);
    let shown =
        shower.join().unwrap_or_else(|_| Err(io::Error::other("the output thread panicked")));
    let outcome = outcome.map_err(bootstrap::fault)?;
    shown?;
    Ok(outcome)
}

/// Admits and runs one request, and shows it.
pub(crate) fn show_run(
    engine: &ProjectRuntime,
    look: OutputMode,
    order: RunRequest,
) -> Result<(), Fault> {
    let order = engine.admit(TERMINAL, order)?;
    let started = show(engine, look, Vec::new(), |runner| {
        let parts = runner.host.clone();
        runner.start(order, &mut |about| signals::cancel_on_signal(&parts, about))
    });
    started.map(|_| ())
}

/// Returns the selected agent. The inner error is only reported if no task names an agent.
pub(crate) fn choose<'a>(
    loaded: &'a LoadedProject,
    work: &WorkOptions,
) -> Result<Result<&'a Agent, Fault>, Fault> {
    Ok(choose_agent(loaded, Path::new("."), work.agent.as_deref())
        .map_err(|error| Fault::from(error).in_a_definition()))
}

fn task<'a>(loaded: &'a LoadedProject, what: &str) -> Result<Option<&'a Task>, Fault> {
    if let Some(file) = loaded.library.broken_tasks.get(what) {
        let text = format!("the task `{what}` ({file}) does not load");
        return Err(Fault::new(Blame::Caller, text).hint("`agentry check` shows why"));
    }
    Ok(loaded.library.tasks.get(what))
}

/// Resolves the settings of a run: model, mode, limits and check.
pub(crate) fn terms(
    host: &CliContext,
    engine: &ProjectRuntime,
    agent: &Agent,
    work: &WorkOptions,
    model: Option<&str>,
) -> Result<RunSettings, Fault> {
    let loaded = &engine.loaded;
    bootstrap::check_mode(bootstrap::wanted_level(loaded), work.mode.mode())?;
    let choice = model_fetch::choose_for_run(host, engine, agent, model)?;
    Ok(RunSettings {
        model: choice.model,
        fallbacks: choice.fallbacks,
        mode: work.mode.mode(),
        limits: run_limits(&loaded.library.settings.config.limits, work.max_iterations),
        check: work.check.clone(),
        persona: None,
        bounds: None,
        shaping: Default::default(),
    })
}

fn parse_inputs(inputs: &[String]) -> Result<BTreeMap<String, String>, Fault> {
    let mut all = BTreeMap::new();
    for input in inputs {
        let Some((name, value)) = input.split_once('=') else {
            return Err(Fault::new(Blame::Caller, format!("`--input {input}` has no `=`"))
                .hint("write --input name=value"));
        };
        if all.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Fault::new(Blame::Caller, format!("the input `{name}` is given twice")));
        }
    }
    Ok(all)
}

fn read_prompt() -> Result<String, Fault> {
    let mut text = String::new();
    let read = io::stdin().take(crate::limits::LINE_BYTES_MAX as u64).read_to_string(&mut text);
    read.map_err(|error| Fault::new(Blame::Caller, format!("cannot read the prompt: {error}")))?;
    Ok(text)
}
