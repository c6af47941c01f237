//! `agentry chat`, and `agentry` without a command: a chat in the terminal.
//!
//! Without a terminal, piped input is a prompt that runs as with `agentry run`.
//!
//! Must never: start a chat without a terminal to type into.

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use agentry_agentfile::diagnostic::{DiagnosticCode, Severity};
use agentry_agentfile::skill::SkillLevel;
use agentry_chat::{ChatSession, ChatSetup, ChatStart, ChatSurface, last_run, new_key, sessions};
use agentry_protocol::{AgentId, SessionKey};
use agentry_store::{Ledger, SessionRow};
use clap::Args;

use super::run::{self, WorkOptions};
use super::{AgentSelection, doctor, init, show_agent};
use crate::bootstrap::{self, ProjectRuntime};
use crate::cli_context::CliContext;
use crate::confirmation;
use crate::fault::{Blame, Fault};
use crate::limits::LINE_BYTES_MAX;
use crate::model_choice;
use crate::run_output::OutputMode;
use crate::trust;

/// The bundled profile that is used where no agent is defined.
const PROFILE: &str = "default-assistant";

#[derive(Args)]
pub(crate) struct Options {
    /// The agent, by its id or its directory
    #[arg(value_name = "AGENT", conflicts_with = "agent")]
    who: Option<String>,
    #[command(flatten)]
    work: WorkOptions,
    /// Continue the latest chat with this agent in this directory
    #[arg(long = "continue", conflicts_with_all = ["resume", "session"])]
    go_on: bool,
    /// Continue a session, by its id, its name or one of its runs
    #[arg(long, value_name = "ID", conflicts_with_all = ["who", "agent", "session"])]
    resume: Option<String>,
}

impl Options {
    /// Returns the options of `agentry` without a command.
    pub(crate) fn alone() -> Self {
        Self { who: None, work: WorkOptions::defaults(), go_on: false, resume: None }
    }
}

pub(crate) fn run(host: &CliContext, mut options: Options) -> Result<ExitCode, Fault> {
    let model = options.work.model.as_deref().map(model_choice::absolute_model).transpose()?;
    options.work.model = model;
    let directory = options.who.as_deref().map(Path::new).filter(|path| path.is_dir());
    match (directory, &options.who) {
        (Some(directory), _) => options.work.dir = directory.to_owned(),
        (None, Some(id)) => options.work.agent = Some(id.clone()),
        (None, None) => {}
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return piped(host, options);
    }
    let borrowed = match options.resume {
        Some(_) => None,
        None => borrow_profile(host, &mut options.work)?,
    };
    let mut opened = open(host, &options)?;
    opened.notes.extend(borrowed);
    agentry_chat::run(host, opened)
}

/// Runs the prompt from standard input.
fn piped(host: &CliContext, mut options: Options) -> Result<ExitCode, Fault> {
    let mut text = String::new();
    if !io::stdin().is_terminal() {
        let read = io::stdin().take(LINE_BYTES_MAX as u64).read_to_string(&mut text);
        read.map_err(|error| {
            Fault::new(Blame::Caller, format!("cannot read the prompt: {error}"))
        })?;
    }
    if text.trim().is_empty() {
        return Err(Fault::new(
            Blame::Caller,
            "there is no terminal to chat in, and no prompt was piped in",
        )
        .hint("pipe a prompt, as in `echo hello | agentry`; `agentry --help` lists the commands"));
    }
    if options.go_on || options.resume.is_some() {
        let text = "--continue and --resume need a terminal";
        return Err(Fault::new(Blame::Caller, text).hint("use `agentry run --session`"));
    }
    borrow_profile(host, &mut options.work)?;
    run::run(host, run::Options::of_prompt(text, options.work))
}

/// Selects the bundled assistant if no agent is defined here, and returns a note about it. Its
/// files are written once; then they belong to the user.
fn borrow_profile(host: &CliContext, work: &mut WorkOptions) -> Result<Option<String>, Fault> {
    if work.agent.is_some() {
        return Ok(None);
    }
    let loaded = host.load(&work.dir, SkillLevel::Extended)?;
    let wrong = |one: &agentry_agentfile::diagnostic::Diagnostic| {
        one.severity == Severity::Error && one.code != DiagnosticCode::NothingHere
    };
    let library = &loaded.library;
    let nothing = library.agents.is_empty() && library.broken_agents.is_empty();
    if !nothing || loaded.findings.sorted().iter().any(|one| wrong(one)) {
        return Ok(None);
    }
    let Some(state) = &host.environment.state else { return Ok(None) };
    let place = state.join("agents").join(PROFILE);
    init::materialise(&place, PROFILE)?;
    let settings = work.dir.join(agentry_agentfile::config::FILE);
    let unread = if settings.exists() {
        format!(" The settings in {} are not used.", settings.display())
    } else {
        String::new()
    };
    let here = work.dir.canonicalize().unwrap_or_else(|_| work.dir.clone());
    work.workspace = work.workspace.take().or(Some(here));
    work.dir = place;
    Ok(Some(format!(
        "No agent is defined here, so this chat uses the bundled assistant.{unread} `agentry init <dir>` creates your own."
    )))
}

/// The functions that the chat calls.
const SURFACE: ChatSurface = ChatSurface {
    show_run: |engine, order| run::show_run(engine, OutputMode::Terminal, order),
    doctor_report: doctor::report,
};

fn open(host: &CliContext, options: &Options) -> Result<ChatSetup, Fault> {
    let work = &options.work;
    host.use_tape(work.tape()?);
    let ledger = bootstrap::open_ledger(host)?;
    if let Some(text) = &options.resume {
        return resumed(host, ledger, work, text);
    }
    let engine = bootstrap::engine(host, ledger, &work.dir, work.workspace.as_deref())?;
    let which = AgentSelection { dir: PathBuf::from("."), agent: work.agent.clone() };
    let agent =
        show_agent::choose(&engine.loaded, &which).map_err(Fault::in_a_definition)?.id.clone();
    let ledger = &engine.parts.ledger;
    let key = work.session.as_deref().map(SessionKey::new);
    let mut notes = Vec::new();
    let found = match (&key, options.go_on) {
        (Some(key), _) => ledger.session_named(key, &agent),
        (None, true) => {
            let found = sessions(ledger, &agent, &engine.definitions.workspace);
            let found = found.map(|found| found.into_iter().next().map(|(row, _)| row));
            if let Ok(None) = found {
                notes.push(
                    "There is no earlier chat to continue here; this is a new one.".to_owned(),
                );
            }
            found
        }
        (None, false) => Ok(None),
    };
    let found = found.map_err(bootstrap::store_fault)?;
    let model = found.as_ref().map(|row| model_of(ledger, row)).transpose()?.flatten();
    let selection = SessionSelection { agent, model, row: found, key };
    let talk = talk(host, engine, work, selection)?;
    Ok(ChatSetup {
        talk,
        notes,
        start: if options.go_on { ChatStart::Continued } else { ChatStart::New },
        surface: SURFACE,
    })
}

/// Opens a session by its id, name or one of its runs, in the project of its last run.
fn resumed(
    host: &CliContext,
    ledger: Ledger,
    work: &WorkOptions,
    text: &str,
) -> Result<ChatSetup, Fault> {
    let session = match ledger.find_session(text) {
        Ok(session) => session,
        Err(unknown) => {
            let run = ledger.find_run(text).ok().and_then(|run| ledger.run(&run).ok().flatten());
            run.and_then(|run| run.session).ok_or_else(|| bootstrap::store_fault(unknown))?
        }
    };
    let gone = || Fault::new(Blame::Us, format!("{session} is not in the ledger"));
    let row = ledger.session(&session).map_err(bootstrap::store_fault)?.ok_or_else(gone)?;
    let run = last_run(&ledger, &row).map_err(bootstrap::store_fault)?;
    let run = match run {
        Some(run) => Some(run),
        None => {
            let runs = ledger
                .runs(agentry_chat::limits::CHAT_SESSIONS_MAX)
                .map_err(bootstrap::store_fault)?;
            runs.into_iter().find(|run| run.session.as_ref() == Some(&session))
        }
    };
    let run = run.ok_or_else(|| {
        Fault::new(Blame::Caller, format!("the session {session} has no run yet"))
            .hint("start a new chat with `agentry chat`")
    })?;
    let engine = bootstrap::engine_of(host, ledger, &run.id)?;
    let agent = row.agent.clone();
    let model = Some(run.model);
    let selection = SessionSelection { agent, model, row: Some(row), key: None };
    let talk = talk(host, engine, work, selection)?;
    Ok(ChatSetup { talk, notes: Vec::new(), start: ChatStart::Continued, surface: SURFACE })
}

/// Returns the model of the session's last run.
fn model_of(ledger: &Ledger, row: &SessionRow) -> Result<Option<String>, Fault> {
    let run = last_run(ledger, row).map_err(bootstrap::store_fault)?;
    Ok(run.map(|run| run.model))
}

/// The session that a chat opens.
struct SessionSelection {
    agent: AgentId,
    /// The model of the session's last run.
    model: Option<String>,
    /// The row of a session that exists.
    row: Option<SessionRow>,
    /// The name for a new session; None for a new name.
    key: Option<SessionKey>,
}

fn talk(
    host: &CliContext,
    engine: ProjectRuntime,
    work: &WorkOptions,
    selection: SessionSelection,
) -> Result<ChatSession, Fault> {
    let SessionSelection { agent, model: before, row, key } = selection;
    let definition = engine.definitions.agent(&agent).map_err(bootstrap::fault)?;
    trust::gate(host, &engine, [definition])?;
    confirmation::report(&engine.parts.ledger, &engine.loaded)?;
    bootstrap::warn_left_out(&engine, definition)?;
    // A session keeps its model, as long as the agent may use it.
    let before =
        before.filter(|model| model_choice::model(&engine, definition, Some(model)).is_ok());
    let model_from =
        match (&work.model, &before, &engine.loaded.library.settings.config.agent.model) {
            (Some(_), _, _) => "named with --model",
            (None, Some(_), _) => "the model of this session so far",
            (None, None, Some(_)) => "named by the setting agent.model",
            (None, None, None) => "the first available model; `agentry models` explains the choice",
        };
    let model = work.model.clone().or(before);
    let terms = run::terms(host, &engine, definition, work, model.as_deref())?;
    let model_from = model_from.to_owned();
    let session = row.as_ref().map(|row| row.id.clone());
    let key = row.map(|row| row.key).or(key).unwrap_or_else(new_key);
    Ok(ChatSession { engine: Arc::new(engine), agent, terms, model_from, key, session })
}
