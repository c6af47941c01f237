//! Runs: what was done, how long it took, what it cost, and how to end it.
//!
//! Must never: show a run to somebody who is not the only speaker of its session, but for the owner.

use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::{Ending, Event};
use agentry_protocol::token::TokenScope;
use agentry_protocol::{ApprovalId, RunId};
use agentry_runtime::permission_request;
use agentry_runtime::replay::{ReplayReport, replay};
use agentry_store::{EntryFilter, RunRow, RunStatus, SpendingSubject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mine;
use super::sessions::{self, Turn, Usage};
use super::timeline::{self, Span};
use crate::http::refusal::Refusal;
use crate::http::site::Site;
use crate::http::stream::Kind;
use crate::http::supervision::{AskedLimit, AskedMode, ModeWord, Supervision};
use crate::http::table::{Asked, Method, Need, Nothing, Route, page_size};
use crate::limits::{PAGE_ROWS_MAX, RUN_ENTRIES_MAX};

pub(crate) fn routes() -> Vec<Route> {
    let read = Need::Anybody(TokenScope::Read);
    let submit = Need::Anybody(TokenScope::Submit);
    let approve = Need::Owner(TokenScope::Approve);
    vec![
        Route::get("/api/runs", Need::Owner(TokenScope::Read), "Runs, the newest first", list),
        Route::get("/api/runs/{id}", read, "A run, with its steps, turns and calls", one),
        Route::stream::<Nothing, Nothing>(
            Method::Get,
            "/api/runs/{id}/events",
            read,
            "The events of a run as they come; `Last-Event-ID` goes on after a break",
            Kind::Run,
        ),
        Route::post("/api/runs/{id}/cancel", submit, "Ask a run to end", cancel).status(202),
        Route::post("/runs/{id}/cancel", submit, "Ask a run to end", cancel).status(202),
        Route::post("/runs/{id}/approvals", approve, "Answer a question of a run", answer),
        Route::post(
            "/api/runs/{id}/mode",
            Need::Owner(TokenScope::Submit),
            "Change the mode of a run under way",
            change_mode,
        )
        .supervision(Supervision::ReducedBy(&["mode", "maxIterations"]))
        .status(202),
        Route::post(
            "/api/runs/{id}/replay",
            Need::Owner(TokenScope::Read),
            "Play a run to today's program and files",
            play,
        ),
    ]
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Run {
    /// Which one.
    id: String,
    /// Its session.
    session_id: Option<String>,
    /// Who does it.
    agent: String,
    /// The task, if it is one.
    task: Option<String>,
    /// The model.
    model: String,
    /// The mode.
    mode: &'static str,
    /// How it stands.
    status: &'static str,
    /// How it ended.
    ending: Option<Ending>,
    /// The beginning of what was asked.
    prompt: String,
    #[serde(flatten)]
    times: RunTimes,
    /// What it cost.
    usage: Usage,
}

/// When a run was.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunTimes {
    /// When it came to be.
    created_at: u64,
    /// When it ended.
    ended_at: Option<u64>,
}

fn run(site: &Site, row: RunRow) -> Result<Run, Refusal> {
    let usage = site.parts.ledger.spending_total(&SpendingSubject::Run(row.id.clone()))?.into();
    Ok(Run {
        id: row.id.to_string(),
        session_id: row.session.map(|id| id.to_string()),
        agent: row.agent.to_string(),
        task: row.task.map(|id| id.to_string()),
        model: row.model,
        mode: row.mode.as_str(),
        status: row.status.as_str(),
        ending: row.ending,
        prompt: row.prompt,
        times: RunTimes { created_at: row.created, ended_at: row.ended },
        usage,
    })
}

/// Which runs are wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunsQuery {
    /// At most so many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// Those after this run, which ended the page before.
    before: Option<String>,
    /// Those that stand so.
    status: Option<Status>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Planned,
    Running,
    PausedForApproval,
    Completed,
    Failed,
    Canceled,
}

impl Status {
    fn is(self, status: RunStatus) -> bool {
        let own = match self {
            Self::Planned => RunStatus::Planned,
            Self::Running => RunStatus::Running,
            Self::PausedForApproval => RunStatus::PausedForApproval,
            Self::Completed => RunStatus::Completed,
            Self::Failed => RunStatus::Failed,
            Self::Canceled => RunStatus::Canceled,
        };
        own == status
    }
}

/// A page of runs.
#[derive(Debug, Serialize, JsonSchema)]
struct RunPage {
    /// They.
    runs: Vec<Run>,
    /// What to say as `before` for the next page; null if there is none.
    next: Option<String>,
}

fn list(site: &Site, asked: Asked<RunsQuery>) -> Result<RunPage, Refusal> {
    let RunsQuery { limit, before, status } = asked.query;
    let limit = page_size(limit, 50, PAGE_ROWS_MAX)?;
    let mut after = before.map(RunId::new);
    let mut runs = Vec::new();
    loop {
        let rows = site.parts.ledger.runs_page(after.as_ref(), PAGE_ROWS_MAX)?;
        let is_last = rows.len() < PAGE_ROWS_MAX;
        for row in rows {
            if runs.len() == limit {
                return Ok(RunPage { runs, next: after.map(|id| id.to_string()) });
            }
            after = Some(row.id.clone());
            if status.is_none_or(|status| status.is(row.status)) {
                runs.push(run(site, row)?);
            }
        }
        if is_last {
            return Ok(RunPage { runs, next: None });
        }
    }
}

/// A run with what it consists of.
#[derive(Debug, Serialize, JsonSchema)]
struct WholeRun {
    /// The run.
    run: Run,
    /// The steps of its task, in order.
    steps: Vec<Step>,
    /// Its turns, in the order they began.
    turns: Vec<Turn>,
    /// The calls of tools, in the order they were proposed.
    calls: Vec<Call>,
    /// What took time, in the order it began.
    timeline: Vec<Span>,
}

/// A step of a task.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Step {
    /// Its place, from zero.
    index: u32,
    /// Its name.
    id: String,
    /// What it uses.
    uses: String,
    /// Who does it.
    agent: String,
    /// How it stands.
    status: &'static str,
    /// The last turn that worked on it.
    turn_id: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Call {
    /// Which one.
    id: String,
    /// The tool.
    tool: String,
    /// How it stands.
    status: &'static str,
    /// Its turn.
    turn_id: Option<String>,
    /// The entry that proposed it.
    proposed_seq: u64,
    /// The entry that started it.
    started_seq: Option<u64>,
    /// The entry that settled it.
    finished_seq: Option<u64>,
}

fn one(site: &Site, asked: Asked) -> Result<WholeRun, Refusal> {
    let row = mine::run(site, &asked.caller, asked.part(0))?;
    let ledger = &site.parts.ledger;
    let steps = ledger.steps(&row.id)?.into_iter().map(|step| Step {
        index: step.index,
        id: step.id,
        uses: step.uses,
        agent: step.agent.to_string(),
        status: step.status.as_str(),
        turn_id: step.turn.map(|id| id.to_string()),
    });
    let calls = ledger.calls_of_run(&row.id)?.into_iter().map(|call| Call {
        id: call.id.to_string(),
        tool: call.tool.to_string(),
        status: call.status.as_str(),
        turn_id: call.turn.map(|id| id.to_string()),
        proposed_seq: call.proposed_seq,
        started_seq: call.started_seq,
        finished_seq: call.finished_seq,
    });
    let turns = ledger.turns_of_run(&row.id)?;
    let turns = turns.iter().map(|turn| sessions::turn(site, turn)).collect::<Result<_, _>>()?;
    let of = EntryFilter { run: Some(row.id.clone()), ..EntryFilter::default() };
    let entries = ledger.read_from(0, &of, RUN_ENTRIES_MAX)?;
    Ok(WholeRun {
        steps: steps.collect(),
        turns,
        calls: calls.collect(),
        timeline: timeline::of(&entries),
        run: run(site, row)?,
    })
}

/// What was asked of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Told {
    /// The entry.
    pub(super) seq: u64,
}

fn cancel(site: &Site, asked: Asked<Nothing, Nothing>) -> Result<Told, Refusal> {
    let row = mine::run(site, &asked.caller, asked.part(0))?;
    tell(site, row, Event::CancelReceived {})
}

/// The mode that is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WantedMode {
    /// The mode; `wiggum` needs a key that opens `approve`.
    #[schemars(with = "ModeWord")]
    mode: AskedMode,
    /// The most iterations from now on; needs a key that opens `approve`.
    #[schemars(with = "Option<u32>")]
    max_iterations: Option<AskedLimit>,
}

fn change_mode(site: &Site, asked: Asked<Nothing, WantedMode>) -> Result<Told, Refusal> {
    let row = mine::run(site, &asked.caller, asked.part(0))?;
    let WantedMode { mode, max_iterations } = asked.body;
    let mode = mode.allowed(&asked.caller)?;
    let max_iterations = max_iterations.map(|limit| limit.allowed(&asked.caller)).transpose()?;
    tell(site, row, Event::ModeReceived { mode, max_iterations })
}

fn tell(site: &Site, row: RunRow, event: Event) -> Result<Told, Refusal> {
    if row.ending.is_some() {
        return Err(Refusal::conflict(format!("{} is over", row.id)));
    }
    let about = EntrySubject { session: row.session, run: Some(row.id), turn: None };
    let recorded = site.parts.ledger.append(vec![Draft { cause: None, about, event }])?;
    Ok(Told { seq: recorded.first().map_or(0, |entry| entry.seq) })
}

/// An answer, as seed 003's clients give it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct GateAnswer {
    /// The question.
    gate_id: String,
    /// Whether the call may be made.
    allow: bool,
    /// Why not.
    reason: Option<String>,
    /// Whether a yes holds for the same call for the rest of the session.
    session: Option<bool>,
}

fn answer(site: &Site, asked: Asked<Nothing, GateAnswer>) -> Result<Told, Refusal> {
    let row = mine::run(site, &asked.caller, asked.part(0))?;
    let GateAnswer { gate_id, allow, reason, session } = asked.body;
    let id: ApprovalId =
        gate_id.parse().map_err(|wrong| Refusal::invalid(format!("gateId is {wrong}")))?;
    let parts = &site.parts;
    let approval = parts.ledger.approval(&id)?;
    if approval.is_none_or(|approval| approval.run.as_ref() != Some(&row.id)) {
        return Err(Refusal::not_found("question", &gate_id));
    }
    let reach = if session == Some(true) { ApprovalScope::Session } else { ApprovalScope::Once };
    let answer =
        if allow { ApprovalAnswer::approved(reach) } else { ApprovalAnswer::declined(reason) };
    let answer = answer.by(asked.caller.spoken());
    let book = (&parts.ledger, &*parts.redactor);
    let answered = permission_request::answer(book, &id, answer, parts.new_number)?;
    Ok(Told { seq: answered.recorded.first().map_or(0, |entry| entry.seq) })
}

/// What came of a replay.
#[derive(Debug, Serialize, JsonSchema)]
struct Difference {
    /// Whether every move is the same.
    identical: bool,
    /// How many are, before the first that is not.
    moves: u64,
    /// What was recorded there.
    recorded: Option<String>,
    /// What would be done today.
    today: Option<String>,
}

fn play(site: &Site, asked: Asked<Nothing, Nothing>) -> Result<Difference, Refusal> {
    let row = mine::run(site, &asked.caller, asked.part(0))?;
    must_be_here(site, &row.id, "replay")?;
    let definitions = site.reception.read()?.definitions;
    Ok(match replay(&site.parts.ledger, &row.id, &definitions)? {
        ReplayReport::Identical { moves } => {
            Difference { identical: true, moves, recorded: None, today: None }
        }
        ReplayReport::Different { moves, recorded, today } => {
            Difference { identical: false, moves, recorded: Some(recorded), today: Some(today) }
        }
    })
}

/// Only a run of this project is read with its files; for others there is a command.
pub(super) fn must_be_here(site: &Site, run: &RunId, verb: &str) -> Result<(), Refusal> {
    let plan = agentry_runtime::plan::recorded(&site.parts.ledger, run)?;
    match plan.project == site.project.display().to_string() {
        true => Ok(()),
        false => Err(Refusal::conflict(format!("{run} belongs to another project"))
            .hint(format!("`agentry {verb} {run}` looks there"))),
    }
}
