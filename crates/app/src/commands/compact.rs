//! `agentry compact`: summarizes the older turns of a session.
//!
//! Must never: record anything when there is nothing to summarize.

use std::io::Write;
use std::process::ExitCode;

use agentry_protocol::context::Compaction;
use agentry_protocol::event::{Event, StepPlan};
use agentry_runtime::definitions::plan;
use agentry_runtime::{RunOutcome, RunRequest, RunSettings};
use agentry_store::{Ledger, SessionRow};
use clap::Args;

use super::run::{look, show};
use crate::bootstrap::{self, ProjectRuntime, store_fault};
use crate::cli_context::CliContext;
use crate::commands::model_fetch;
use crate::event_description::compaction_result;
use crate::fault::{Blame, Fault};
use crate::model_choice::absolute_model;
use crate::signals;

#[derive(Args)]
pub(crate) struct Options {
    /// The session, by name, id or part of it [default: latest]
    session: Option<String>,
    /// The topic to emphasize in the summary
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,
    /// The model to use [default: that of the session's last run]
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Print one JSON event on each line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let model = options.model.as_deref().map(absolute_model).transpose()?;
    let ledger = bootstrap::open_ledger(host)?;
    let session = session(&ledger, options.session.as_deref())?;
    let head = session.head.as_ref().map(|head| ledger.turn(head)).transpose();
    let last = head.map_err(store_fault)?.flatten().and_then(|turn| turn.run);
    let Some(last) = last else { return nothing(&session) };
    let recorded = plan::recorded(&ledger, &last).map_err(bootstrap::fault)?;
    let engine = bootstrap::engine_of(host, ledger, &last)?;
    let persona = recorded.steps.last().and_then(|step: &StepPlan| step.persona.clone());
    let mut terms = RunSettings {
        model: recorded.asked.model,
        fallbacks: recorded.asked.fallbacks,
        mode: recorded.mode,
        limits: recorded.limits,
        check: None,
        persona,
        bounds: None,
        shaping: Default::default(),
    };
    if let Some(model) = &model {
        let agent = engine.definitions.agent(&session.agent).map_err(bootstrap::fault)?;
        let choice = model_fetch::choose_for_run(host, &engine, agent, Some(model))?;
        (terms.model, terms.fallbacks) = (choice.model, choice.fallbacks);
    }
    let focus = options.focus.as_deref();
    let order = RunRequest {
        agent: session.agent.clone(),
        task: None,
        prompt: focus.map_or_else(|| "/compact".to_owned(), |focus| format!("/compact {focus}")),
        images: Vec::new(),
        inputs: Default::default(),
        terms,
        session: Some(session.key.clone()),
        project: engine.project.display().to_string(),
        inbounds: Vec::new(),
        said: None,
    };
    let outcome = show(&engine, look(options.json), Vec::new(), |runner| {
        let parts = runner.host.clone();
        runner.compact(order, focus, &mut |about| signals::cancel_on_signal(&parts, about))
    })?;
    let Some(outcome) = outcome else { return nothing(&session) };
    let code = bootstrap::exit_code(&outcome);
    if code == 0 && !options.json {
        say(&engine, &outcome)?;
    }
    Ok(ExitCode::from(code))
}

/// Returns the named session, or the latest one if none is named.
fn session(ledger: &Ledger, named: Option<&str>) -> Result<SessionRow, Fault> {
    let row = match named {
        Some(text) => {
            let id = ledger.find_session(text).map_err(store_fault)?;
            ledger.session(&id).map_err(store_fault)?
        }
        None => ledger.sessions().map_err(store_fault)?.into_iter().next(),
    };
    row.ok_or_else(|| Fault::new(Blame::Caller, "there is no session yet"))
}

fn nothing(session: &SessionRow) -> Result<ExitCode, Fault> {
    writeln!(crate::output::stdout(), "{}: nothing to summarize", session.key)?;
    Ok(ExitCode::SUCCESS)
}

fn say(engine: &ProjectRuntime, outcome: &RunOutcome) -> Result<(), Fault> {
    let ledger = &engine.parts.ledger;
    match made(ledger, outcome).map_err(store_fault)? {
        Some(one) => writeln!(crate::output::stdout(), "{}", compaction_result(&one))?,
        None => writeln!(crate::output::stdout(), "nothing to summarize")?,
    }
    Ok(())
}

/// Returns the compaction that the run recorded, if any.
fn made(ledger: &Ledger, outcome: &RunOutcome) -> Result<Option<Compaction>, agentry_store::Error> {
    let turn = ledger.turns_of_run(&outcome.run)?.into_iter().next_back();
    let seq = turn.and_then(|turn| turn.ended_seq);
    let ended = seq.map(|seq| ledger.entry(seq)).transpose()?.flatten();
    Ok(ended.and_then(|envelope| match envelope.event {
        Event::TurnEnded { context, .. } => context.compaction,
        _ => None,
    }))
}
