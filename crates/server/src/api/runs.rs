//! Runs: their steps, turns, calls, duration and cost, and the controls to cancel or change one.
//!
//! Must never: show a run to a caller that is not its session's only speaker, except to the owner.

use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Ending;
use agentry_protocol::token::TokenScope;
use agentry_protocol::{ApprovalId, RunId};
use agentry_runtime::commands::approvals::AnswerRequest;
use agentry_runtime::commands::runs::ModeChange;
use agentry_runtime::commands::{self, CommandContext};
use agentry_runtime::report::timeline::{self, TimelineSpan};
use agentry_runtime::turn::replay::{ReplayReport, replay};
use agentry_store::{EntryFilter, RunRow, RunStatus, SpendingSubject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::{self, TurnSummary, UsageSummary};
use super::visibility;
use crate::api_error::ApiError;
use crate::limits::{PAGE_ROWS_MAX, RUN_ENTRIES_MAX};
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, RouteMethod, page_size};
use crate::sse::Kind;
use crate::state::ServerState;
use crate::supervision::{ModeSchema, RequestedLimit, RequestedMode, Supervision};

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::AnyCaller(TokenScope::Read);
    let submit = RouteAccess::AnyCaller(TokenScope::Submit);
    let approve = RouteAccess::Owner(TokenScope::Approve);
    vec![
        ApiRoute::get(
            "/api/runs",
            RouteAccess::Owner(TokenScope::Read),
            "Runs, newest first",
            list,
        ),
        ApiRoute::get("/api/runs/{id}", read, "A run, with its steps, turns and calls", one),
        ApiRoute::stream::<NoParams, NoParams>(
            RouteMethod::Get,
            "/api/runs/{id}/events",
            read,
            "Events of a run as they happen; `Last-Event-ID` resumes the stream",
            Kind::Run,
        ),
        ApiRoute::post("/api/runs/{id}/cancel", submit, "Cancel a run", cancel).status(202),
        ApiRoute::post("/runs/{id}/cancel", submit, "Cancel a run", cancel).status(202),
        ApiRoute::post("/runs/{id}/approvals", approve, "Answer an approval of a run", answer),
        ApiRoute::post(
            "/api/runs/{id}/mode",
            RouteAccess::Owner(TokenScope::Submit),
            "Change the mode of a running run",
            change_mode,
        )
        .supervision(Supervision::ReducedBy(&["mode", "maxIterations"]))
        .status(202),
        ApiRoute::post(
            "/api/runs/{id}/replay",
            RouteAccess::Owner(TokenScope::Read),
            "Replay a run with the current program and files",
            play,
        ),
    ]
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunSummary {
    /// Id of the run.
    id: String,
    /// Id of its session.
    session_id: Option<String>,
    /// Id of the agent.
    agent: String,
    /// Id of the task; null if the run is of a prompt.
    task: Option<String>,
    /// Model of the run.
    model: String,
    /// Mode of the run: structured or wiggum.
    mode: &'static str,
    /// State of the run.
    status: &'static str,
    /// Ending; null while the run goes on.
    ending: Option<Ending>,
    /// Beginning of the prompt.
    prompt: String,
    #[serde(flatten)]
    times: RunTimes,
    /// Tokens and cost of the run.
    usage: UsageSummary,
}

/// Times of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunTimes {
    /// Time of creation, in milliseconds since 1970.
    created_at: u64,
    /// End time, in milliseconds since 1970; null while the run goes on.
    ended_at: Option<u64>,
}

fn run(site: &ServerState, row: RunRow) -> Result<RunSummary, ApiError> {
    let usage = site.parts.ledger.spending_total(&SpendingSubject::Run(row.id.clone()))?.into();
    Ok(RunSummary {
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

/// Filter and page of a list of runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunsQuery {
    /// Most runs in the page. Default: 50.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// Runs after this one: `next` of the page before.
    before: Option<String>,
    /// State of the listed runs. Default: any.
    status: Option<RunStatusFilter>,
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RunStatusFilter {
    Planned,
    Running,
    PausedForApproval,
    Completed,
    Failed,
    Canceled,
}

impl RunStatusFilter {
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
    /// Runs, newest first.
    runs: Vec<RunSummary>,
    /// `before` for the next page; null on the last page.
    next: Option<String>,
}

fn list(site: &ServerState, asked: ApiRequest<RunsQuery>) -> Result<RunPage, ApiError> {
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

/// A run with its steps, turns and calls.
#[derive(Debug, Serialize, JsonSchema)]
struct RunDetails {
    /// The run.
    run: RunSummary,
    /// Steps of its task, in order.
    steps: Vec<RunStep>,
    /// Turns, in order of their start.
    turns: Vec<TurnSummary>,
    /// Tool calls, in the order in which they were proposed.
    calls: Vec<RunCall>,
    /// Timed spans, in order of their start.
    timeline: Vec<TimelineSpan>,
}

/// A step of a task.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunStep {
    /// Index of the step, from zero.
    index: u32,
    /// Name of the step.
    id: String,
    /// Source of the step: `prompt`, or `step:` with a file of the task.
    uses: String,
    /// Id of the agent.
    agent: String,
    /// State of the step.
    status: &'static str,
    /// Id of the last turn that worked on it.
    turn_id: Option<String>,
}

/// A tool call of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunCall {
    /// Id of the call.
    id: String,
    /// Name of the tool.
    tool: String,
    /// State of the call.
    status: &'static str,
    /// Id of its turn.
    turn_id: Option<String>,
    /// Sequence number of the entry that proposed it.
    proposed_seq: u64,
    /// Sequence number of the entry that started it; null if it did not start.
    started_seq: Option<u64>,
    /// Sequence number of the entry that settled it; null if it is not settled.
    finished_seq: Option<u64>,
}

fn one(site: &ServerState, asked: ApiRequest) -> Result<RunDetails, ApiError> {
    let row = visibility::visible_run(site, &asked.caller, asked.part(0))?;
    let ledger = &site.parts.ledger;
    let steps = ledger.steps(&row.id)?.into_iter().map(|step| RunStep {
        index: step.index,
        id: step.id,
        uses: step.uses,
        agent: step.agent.to_string(),
        status: step.status.as_str(),
        turn_id: step.turn.map(|id| id.to_string()),
    });
    let calls = ledger.calls_of_run(&row.id)?.into_iter().map(|call| RunCall {
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
    Ok(RunDetails {
        steps: steps.collect(),
        turns,
        calls: calls.collect(),
        timeline: timeline::timeline_of(&entries),
        run: run(site, row)?,
    })
}

/// The record of a request to a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunControlReceipt {
    /// Sequence number of its entry.
    pub(super) seq: u64,
}

fn cancel(
    site: &ServerState,
    asked: ApiRequest<NoParams, NoParams>,
) -> Result<RunControlReceipt, ApiError> {
    let row = visibility::visible_run(site, &asked.caller, asked.part(0))?;
    let recorded = commands::runs::cancel(&site.parts.ledger, &about(row))?;
    Ok(RunControlReceipt { seq: recorded.seq })
}

/// The mode to change to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ModeBody {
    /// Mode; `wiggum` needs a key with the scope `approve`.
    #[schemars(with = "ModeSchema")]
    mode: RequestedMode,
    /// Most iterations from now on; needs a key with the scope `approve`.
    #[schemars(with = "Option<u32>")]
    max_iterations: Option<RequestedLimit>,
}

fn change_mode(
    site: &ServerState,
    asked: ApiRequest<NoParams, ModeBody>,
) -> Result<RunControlReceipt, ApiError> {
    let row = visibility::visible_run(site, &asked.caller, asked.part(0))?;
    let ModeBody { mode, max_iterations } = asked.body;
    let mode = mode.authorize(&asked.caller)?;
    let max_iterations = max_iterations.map(|limit| limit.authorize(&asked.caller)).transpose()?;
    let (parts, change) = (&site.parts, ModeChange { mode, max_iterations });
    let recorded = commands::runs::set_mode(&parts.ledger, &parts.enforcer, &about(row), change)?;
    Ok(RunControlReceipt { seq: recorded.seq })
}

fn about(row: RunRow) -> EntrySubject {
    EntrySubject { session: row.session, run: Some(row.id), turn: None }
}

/// An answer to an approval, in the form of AgentEvent protocol clients.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct GateAnswerBody {
    /// Id of the approval.
    gate_id: String,
    /// True to allow the call.
    allow: bool,
    /// Reason of a no.
    reason: Option<String>,
    /// True to allow this exact call for the rest of the session.
    session: Option<bool>,
}

fn answer(
    site: &ServerState,
    asked: ApiRequest<NoParams, GateAnswerBody>,
) -> Result<RunControlReceipt, ApiError> {
    let row = visibility::visible_run(site, &asked.caller, asked.part(0))?;
    let GateAnswerBody { gate_id, allow, reason, session } = asked.body;
    let id: ApprovalId =
        gate_id.parse().map_err(|wrong| ApiError::invalid(format!("`gateId` is {wrong}")))?;
    let reach = if session == Some(true) { ApprovalScope::Session } else { ApprovalScope::Once };
    let answer =
        if allow { ApprovalAnswer::approved(reach) } else { ApprovalAnswer::declined(reason) };
    let by = asked.caller.attribution();
    let request =
        AnswerRequest { approval: &id, answer, by: &by, digest: None, run: Some(&row.id) };
    let answered = commands::approvals::answer(CommandContext::from(&*site.parts), request)?;
    Ok(RunControlReceipt { seq: answered.recorded.first().map_or(0, |entry| entry.seq) })
}

/// The result of a replay.
#[derive(Debug, Serialize, JsonSchema)]
struct ReplayResponse {
    /// True if all moves are the same.
    identical: bool,
    /// Number of moves that are the same, before the first difference.
    moves: u64,
    /// Recorded move at the difference; null if there is none.
    recorded: Option<String>,
    /// Today's move at the difference; null if there is none.
    today: Option<String>,
}

fn play(
    site: &ServerState,
    asked: ApiRequest<NoParams, NoParams>,
) -> Result<ReplayResponse, ApiError> {
    let row = visibility::visible_run(site, &asked.caller, asked.part(0))?;
    check_project(site, &row.id, "replay")?;
    let definitions = site.definition_cache.read()?.definitions;
    Ok(match replay(&site.parts.ledger, &row.id, &definitions, &site.parts.tools)? {
        ReplayReport::Identical { moves } => {
            ReplayResponse { identical: true, moves, recorded: None, today: None }
        }
        ReplayReport::Different { moves, recorded, today } => {
            ReplayResponse { identical: false, moves, recorded: Some(recorded), today: Some(today) }
        }
    })
}

/// Fails for a run of another project, whose files the server does not read.
pub(super) fn check_project(site: &ServerState, run: &RunId, verb: &str) -> Result<(), ApiError> {
    let plan = agentry_runtime::definitions::plan::recorded(&site.parts.ledger, run)?;
    if plan.project == site.project.display().to_string() {
        return Ok(());
    }
    Err(ApiError::conflict(format!("run {run} belongs to another project"))
        .hint(format!("`agentry {verb} {run}` uses that project's files")))
}
