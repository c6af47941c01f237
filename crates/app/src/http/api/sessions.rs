//! Sessions: what is talked about, how it stands, and where it can go on.
//!
//! Must never: show a session to somebody who is not its only speaker, but for the owner.

use std::sync::Arc;

use agentry_protocol::event::{Ending, Event};
use agentry_protocol::token::TokenScope;
use agentry_protocol::{SessionId, TurnId};
use agentry_runtime::fork::{self, ForkError};
use agentry_runtime::run::{RunRequest, Runner, SessionInbox};
use agentry_runtime::{Attendance, DefinitionSource};
use agentry_store::{
    RunRow, RunStatus, SessionRow, SpendingSubject, SpendingTotal, TurnRow, TurnStatus,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::visibility;
use crate::bootstrap::new_uuid_number;
use crate::http::DeltaSink;
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, page_size};
use crate::http::state::ServerState;
use crate::limits::{PAGE_ROWS_MAX, SESSION_SEARCH_MAX, SESSION_TURNS_MAX};

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::AnyCaller(TokenScope::Read);
    vec![
        ApiRoute::get("/api/sessions", read, "Sessions, the last used first", list),
        ApiRoute::get("/api/sessions/{id}", read, "A session, with the turns of its branch", one),
        ApiRoute::post(
            "/api/turns/{id}/fork",
            RouteAccess::Owner(TokenScope::Submit),
            "Begin a new session that goes on from a turn",
            fork,
        )
        .status(201),
        ApiRoute::post(
            "/api/sessions/{id}/compact",
            RouteAccess::Owner(TokenScope::Submit),
            "Put the older turns of a session into one text, and wait for it",
            compact,
        ),
    ]
}

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionSummary {
    /// Which one.
    id: String,
    /// What people call it.
    key: String,
    /// Who it is with.
    agent: String,
    /// The beginning of what was last asked.
    title: String,
    /// idle, running, waiting, queued or failed.
    state: &'static str,
    /// How many turns its branch has.
    turns: u64,
    #[serde(flatten)]
    times: SessionTimes,
    /// Its last run.
    run: Option<LastRun>,
    /// How many questions wait for a person.
    approvals: usize,
    /// How many messages wait.
    waiting: usize,
    /// What it cost.
    usage: UsageSummary,
}

/// When a session was used.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionTimes {
    /// When it was opened.
    created_at: u64,
    /// When a turn last began or ended.
    updated_at: u64,
    /// The last entry about it.
    last_seq: u64,
}

/// The last run of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LastRun {
    /// Which one.
    id: String,
    /// How it stands.
    status: &'static str,
    /// The model.
    model: String,
    /// The mode.
    mode: &'static str,
}

/// What something cost.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageSummary {
    /// Tokens read.
    input_tokens: u64,
    /// Tokens written.
    output_tokens: u64,
    /// Tokens read that the provider still had.
    cached_tokens: u64,
    /// What is known of the price, in dollars; null if nothing is.
    cost_usd: Option<f64>,
}

impl From<SpendingTotal> for UsageSummary {
    fn from(bill: SpendingTotal) -> Self {
        let is_known = bill.replies > bill.unknown;
        Self {
            input_tokens: bill.usage.input_tokens,
            output_tokens: bill.usage.output_tokens,
            cached_tokens: bill.usage.cached_tokens,
            cost_usd: is_known.then(|| usd(bill.nano_usd)),
        }
    }
}

/// Billionths of a dollar as dollars.
#[expect(clippy::cast_precision_loss, reason = "nobody spends so much that it matters")]
pub(crate) fn usd(nano: u64) -> f64 {
    nano as f64 / 1e9
}

/// Which sessions are wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionsQuery {
    /// At most so many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// Those after this session, which ended the page before.
    before: Option<String>,
    /// Those whose name, agent or last prompt has this text.
    q: Option<String>,
}

/// A page of sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionPage {
    /// They.
    sessions: Vec<SessionSummary>,
    /// What to say as `before` for the next page; null if there is none.
    next: Option<String>,
}

fn list(site: &ServerState, asked: ApiRequest<SessionsQuery>) -> Result<SessionPage, ApiError> {
    let SessionsQuery { limit, before, q } = asked.query;
    let limit = page_size(limit, 50, PAGE_ROWS_MAX)?;
    let words = q.unwrap_or_default().to_lowercase();
    let ledger = &site.parts.ledger;
    let mut after = before.map(SessionId::new);
    let (mut sessions, mut looked) = (Vec::new(), 0);
    loop {
        let rows = ledger.sessions_page(after.as_ref(), PAGE_ROWS_MAX)?;
        let is_last = rows.len() < PAGE_ROWS_MAX;
        for row in rows {
            if sessions.len() == limit || looked == SESSION_SEARCH_MAX {
                return Ok(SessionPage { sessions, next: after.map(|id| id.to_string()) });
            }
            looked += 1;
            after = Some(row.id.clone());
            if !visibility::can_see_session(site, &asked.caller, &row.id) {
                continue;
            }
            let run = ledger.last_run_of(&row.id)?;
            if has(&row, run.as_ref(), &words) {
                sessions.push(session(site, &row, run)?);
            }
        }
        if is_last {
            return Ok(SessionPage { sessions, next: None });
        }
    }
}

/// Whether the name of a session, its agent or its last prompt has some words.
fn has(row: &SessionRow, run: Option<&RunRow>, words: &str) -> bool {
    let prompt = run.map_or("", |run| run.prompt.as_str());
    let mut texts = [row.key.as_str(), row.agent.as_str(), prompt].into_iter();
    words.is_empty() || texts.any(|text| text.to_lowercase().contains(words))
}

fn session(
    site: &ServerState,
    row: &SessionRow,
    run: Option<RunRow>,
) -> Result<SessionSummary, ApiError> {
    let ledger = &site.parts.ledger;
    let waiting = ledger.inbounds_open(&row.id)?.waiting.len();
    let approvals = match &run {
        Some(run) => ledger.approvals_waiting_of(&run.id)?.len(),
        None => 0,
    };
    let times = SessionTimes {
        created_at: row.created,
        updated_at: row.updated,
        last_seq: ledger.last_seq_of(&row.id)?,
    };
    Ok(SessionSummary {
        id: row.id.to_string(),
        key: row.key.to_string(),
        agent: row.agent.to_string(),
        title: run.as_ref().map_or_else(String::new, |run| run.prompt.clone()),
        state: state(run.as_ref(), waiting),
        turns: row.turns,
        times,
        run: run.map(|run| LastRun {
            id: run.id.to_string(),
            status: run.status.as_str(),
            model: run.model,
            mode: run.mode.as_str(),
        }),
        approvals,
        waiting,
        usage: ledger.spending_total(&SpendingSubject::Session(row.id.clone()))?.into(),
    })
}

fn state(run: Option<&RunRow>, waiting: usize) -> &'static str {
    match run.map(|run| run.status) {
        Some(RunStatus::Planned | RunStatus::Running) => "running",
        Some(RunStatus::PausedForApproval) => "waiting",
        _ if waiting > 0 => "queued",
        Some(RunStatus::Failed) => "failed",
        Some(RunStatus::Completed | RunStatus::Canceled) | None => "idle",
    }
}

/// A session with its turns.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionDetails {
    /// The session.
    session: SessionSummary,
    /// The turns of its branch, the oldest first; of a long branch the last ones.
    branch: Vec<TurnSummary>,
    /// What waits for its turn.
    queue: Vec<QueuedMessage>,
    /// How much of the model's window the last request took.
    context: Option<WindowUsage>,
}

/// A turn of a branch.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnSummary {
    /// Which one.
    turn_id: String,
    /// Its run.
    run_id: Option<String>,
    /// The turn before.
    parent_id: Option<String>,
    /// What was asked.
    prompt: String,
    /// When it began.
    started_at: u64,
    /// When it ended.
    ended_at: Option<u64>,
    /// The entry it began with.
    started_seq: u64,
    /// The entry it ended with.
    ended_seq: Option<u64>,
    /// How it ended.
    ending: Option<Ending>,
    /// Whether it only sums up those before it.
    compaction: bool,
    /// What it cost.
    usage: UsageSummary,
}

/// Something that waits.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct QueuedMessage {
    /// The message.
    event_id: String,
    /// What was said.
    text: String,
    /// By whom.
    from: String,
    /// When.
    received_at: u64,
    /// How it reaches a busy session.
    delivery: Option<String>,
}

/// How full the model's window is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WindowUsage {
    /// Tokens that the last request had.
    used_tokens: u64,
    /// Tokens that the model takes.
    window_tokens: u64,
}

fn one(site: &ServerState, asked: ApiRequest) -> Result<SessionDetails, ApiError> {
    let row = visibility::visible_session(site, &asked.caller, asked.part(0))?;
    let ledger = &site.parts.ledger;
    let mut rows = match &row.head {
        Some(head) => ledger.branch(head, SESSION_TURNS_MAX)?,
        None => Vec::new(),
    };
    let under_way = ledger.turn_under_way(&row.id)?;
    rows.extend(under_way.filter(|turn| !rows.iter().any(|one| one.id == turn.id)));
    let branch = rows.iter().map(|row| turn(site, row)).collect::<Result<Vec<TurnSummary>, _>>()?;
    let run = ledger.last_run_of(&row.id)?;
    Ok(SessionDetails {
        queue: queue(site, &row)?,
        context: window(site, run.as_ref(), branch.last())?,
        session: session(site, &row, run)?,
        branch,
    })
}

/// A turn, as its entries tell of it.
pub(crate) fn turn(site: &ServerState, row: &TurnRow) -> Result<TurnSummary, ApiError> {
    let ledger = &site.parts.ledger;
    let started = ledger.entry(row.started_seq)?;
    let ended = row.ended_seq.map(|seq| ledger.entry(seq)).transpose()?.flatten();
    let (prompt, compaction) = match started.as_ref().map(|entry| &entry.event) {
        Some(Event::TurnStarted(plan)) => (plan.prompt.clone(), plan.compaction.is_some()),
        Some(_) | None => (String::new(), false),
    };
    Ok(TurnSummary {
        turn_id: row.id.to_string(),
        run_id: row.run.as_ref().map(ToString::to_string),
        parent_id: row.parent.as_ref().map(ToString::to_string),
        prompt,
        started_at: started.map_or(0, |entry| entry.time),
        ended_at: ended.map(|entry| entry.time),
        started_seq: row.started_seq,
        ended_seq: row.ended_seq,
        ending: match row.status {
            TurnStatus::UnderWay => None,
            TurnStatus::Ended(ending) => Some(ending),
        },
        compaction,
        usage: ledger.spending_total(&SpendingSubject::Turn(row.id.clone()))?.into(),
    })
}

fn queue(site: &ServerState, row: &SessionRow) -> Result<Vec<QueuedMessage>, ApiError> {
    let ledger = &site.parts.ledger;
    let waiting = ledger.inbounds_open(&row.id)?.waiting;
    let queued = waiting.iter().map(|row| {
        let inbound = ledger.inbound_received(row)?;
        let routed = ledger.inbound_routed(row)?;
        Ok(QueuedMessage {
            event_id: row.id.to_string(),
            text: inbound.body.content,
            from: inbound.sender.sender_name.unwrap_or(inbound.sender.sender_id),
            received_at: inbound.timestamp,
            delivery: routed.map(|routed| routed.settings.mode.to_string()),
        })
    });
    queued.collect()
}

/// What the model was last asked with, as far as a provider counted it.
fn window(
    site: &ServerState,
    run: Option<&RunRow>,
    last: Option<&TurnSummary>,
) -> Result<Option<WindowUsage>, ApiError> {
    let ledger = &site.parts.ledger;
    let (Some(run), Some(last)) = (run, last) else { return Ok(None) };
    let of = agentry_store::EntryFilter {
        turn: Some(TurnId::new(last.turn_id.clone())),
        ..agentry_store::EntryFilter::default()
    };
    let entries = ledger.read_before(u64::MAX >> 1, &of, SESSION_TURNS_MAX)?;
    let used = entries.iter().rev().find_map(|entry| {
        let Event::ModelReplied { reply, .. } = &entry.event else { return None };
        Some(reply.usage.input_tokens + reply.usage.output_tokens)
    });
    Ok(used.map(|used_tokens| WindowUsage {
        used_tokens,
        window_tokens: site.parts.window(&run.model),
    }))
}

/// What the new session is to be called.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForkBody {
    /// Its name; made up if none is said.
    #[schemars(length(min = 1, max = 200))]
    key: Option<String>,
}

/// A session that was begun.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ForkResponse {
    /// Which one.
    session_id: String,
    /// What people call it.
    key: String,
}

fn fork(
    site: &ServerState,
    asked: ApiRequest<NoParams, ForkBody>,
) -> Result<ForkResponse, ApiError> {
    let (ledger, id) = (&site.parts.ledger, TurnId::new(asked.part(0)));
    if ledger.turn(&id)?.is_none() {
        return Err(ApiError::not_found("turn", asked.part(0)));
    }
    let begun =
        fork::fork(ledger, &id, asked.body.key, new_uuid_number).map_err(|no| match no {
            ForkError::Ledger(error) => error.into(),
            ForkError::Name(_) => ApiError::invalid(no.to_string()),
            ForkError::NoSession(_) => ApiError::conflict(no.to_string()),
            ForkError::UnderWay(_) => ApiError::conflict(no.to_string())
                .hint("wait for its end, or fork the turn before it"),
        })?;
    Ok(ForkResponse { session_id: begun.session.to_string(), key: begun.key.to_string() })
}

/// What the summary is to be like.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompactionBody {
    /// What it gives most room to.
    focus: Option<String>,
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CompactionResponse {
    /// Whether there was anything to sum up.
    compacted: bool,
    /// The run that did it.
    run_id: Option<String>,
}

fn compact(
    site: &ServerState,
    asked: ApiRequest<NoParams, CompactionBody>,
) -> Result<CompactionResponse, ApiError> {
    let row = visibility::visible_session(site, &asked.caller, asked.part(0))?;
    let focus = asked.body.focus.as_deref();
    let definitions = site.reception.read()?.definitions;
    let wish = agentry_kernel::route::RunWish::default();
    let terms = site.reception.terms(&definitions, &row.agent, &wish)?;
    let order = RunRequest {
        agent: row.agent,
        task: None,
        prompt: focus.map_or_else(|| "/compact".to_owned(), |focus| format!("/compact {focus}")),
        images: Vec::new(),
        inputs: std::collections::BTreeMap::new(),
        terms,
        session: Some(row.key),
        project: site.project.display().to_string(),
        inbounds: Vec::new(),
        said: None,
    };
    let runner = Runner {
        host: site.parts.clone(),
        definitions: &definitions,
        witness: Arc::new(DeltaSink(site.hub.clone())),
        attendance: Attendance::Absent,
        post: SessionInbox::default(),
    };
    let outcome = runner.compact(order, focus, &mut |_| {})?;
    let run_id = outcome.map(|outcome| outcome.run.to_string());
    Ok(CompactionResponse { compacted: run_id.is_some(), run_id })
}
