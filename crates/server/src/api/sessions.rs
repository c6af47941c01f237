//! Sessions: their state, their turns, forks and compaction.
//!
//! Must never: show a session to a caller that is not its only speaker, except to the owner.

use std::sync::Arc;

use agentry_frontend::bootstrap::new_uuid_number;
use agentry_protocol::event::{Ending, Event};
use agentry_protocol::token::TokenScope;
use agentry_protocol::{SessionId, TurnId};
use agentry_runtime::report::activity::usd;
use agentry_runtime::turn::fork::{self, ForkError};
use agentry_runtime::{Attendance, DefinitionSource, RunRequest, Runner, SessionInbox};
use agentry_store::{
    RunRow, RunStatus, SessionRow, SpendingSubject, SpendingTotal, TurnRow, TurnStatus,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::visibility;
use crate::DeltaSink;
use crate::api_error::ApiError;
use crate::limits::{PAGE_ROWS_MAX, SESSION_SEARCH_MAX, SESSION_TURNS_MAX};
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, page_size};
use crate::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::AnyCaller(TokenScope::Read);
    vec![
        ApiRoute::get("/api/sessions", read, "Sessions, last used first", list),
        ApiRoute::get("/api/sessions/{id}", read, "A session, with the turns of its branch", one),
        ApiRoute::post(
            "/api/turns/{id}/fork",
            RouteAccess::Owner(TokenScope::Submit),
            "Fork a turn: start a new session that continues from it",
            fork,
        )
        .status(201),
        ApiRoute::post(
            "/api/sessions/{id}/compact",
            RouteAccess::Owner(TokenScope::Submit),
            "Summarize the older turns of a session; waits for the result",
            compact,
        ),
    ]
}

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionSummary {
    /// Id of the session.
    id: String,
    /// Key of the session, chosen by a person or generated.
    key: String,
    /// Id of the agent.
    agent: String,
    /// Beginning of the last prompt; empty before the first run.
    title: String,
    /// idle, running, waiting, queued or failed.
    state: &'static str,
    /// Number of turns in its branch.
    turns: u64,
    #[serde(flatten)]
    times: SessionTimes,
    /// Last run; null before the first one.
    run: Option<LastRun>,
    /// Number of approvals that wait for a person.
    approvals: usize,
    /// Number of messages in its queue.
    waiting: usize,
    /// Tokens and cost of the session.
    usage: UsageSummary,
}

/// Times of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionTimes {
    /// Time of creation, in milliseconds since 1970.
    created_at: u64,
    /// Time at which a turn last began or ended, in milliseconds since 1970.
    updated_at: u64,
    /// Sequence number of the last entry about the session.
    last_seq: u64,
}

/// The last run of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LastRun {
    /// Id of the run.
    id: String,
    /// State of the run.
    status: &'static str,
    /// Model of the run.
    model: String,
    /// Mode of the run: structured or wiggum.
    mode: &'static str,
}

/// Tokens and cost.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageSummary {
    /// Input tokens.
    input_tokens: u64,
    /// Output tokens.
    output_tokens: u64,
    /// Input tokens that the provider read from its cache.
    cached_tokens: u64,
    /// Known part of the cost in US dollars; null if no price is known.
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

/// Filter and page of a list of sessions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionsQuery {
    /// Most sessions in the page. Default: 50.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// Sessions after this one: `next` of the page before.
    before: Option<String>,
    /// Text to find in the key, agent or last prompt of a session.
    q: Option<String>,
}

/// A page of sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionPage {
    /// Sessions, last used first.
    sessions: Vec<SessionSummary>,
    /// `before` for the next page; null on the last page.
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

/// Returns true if the key, the agent or the last prompt contains a lower-case text.
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
    /// Turns of its branch, oldest first; the last ones of a long branch.
    branch: Vec<TurnSummary>,
    /// Messages that wait for their turn.
    queue: Vec<QueuedMessage>,
    /// Context window usage of the last request; null if unknown.
    context: Option<WindowUsage>,
}

/// A turn of a branch.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnSummary {
    /// Id of the turn.
    turn_id: String,
    /// Id of its run.
    run_id: Option<String>,
    /// Id of the turn before it in the branch.
    parent_id: Option<String>,
    /// Text of the prompt.
    prompt: String,
    /// Start time, in milliseconds since 1970.
    started_at: u64,
    /// End time, in milliseconds since 1970; null while the turn runs.
    ended_at: Option<u64>,
    /// Sequence number of its first entry.
    started_seq: u64,
    /// Sequence number of its last entry; null while the turn runs.
    ended_seq: Option<u64>,
    /// Ending; null while the turn runs.
    ending: Option<Ending>,
    /// True if the turn is a compaction: it only summarizes the turns before it.
    compaction: bool,
    /// Tokens and cost of the turn.
    usage: UsageSummary,
}

/// A message in the queue of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct QueuedMessage {
    /// Id of the message.
    event_id: String,
    /// Text of the message.
    text: String,
    /// Name of the sender, or its id on the channel.
    from: String,
    /// Time of arrival, in milliseconds since 1970.
    received_at: u64,
    /// Delivery to a busy session: steer, followup, collect or interrupt.
    delivery: Option<String>,
}

/// Usage of the model's context window.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WindowUsage {
    /// Tokens of the last request and its reply.
    used_tokens: u64,
    /// Size of the window, in tokens.
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

/// Returns the summary of a turn, read from its entries.
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

/// Returns the tokens of the last turn's newest reply; none if no reply has been counted.
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

/// The key of the new session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForkBody {
    /// Key of the new session. Default: a generated key.
    #[schemars(length(min = 1, max = 200))]
    key: Option<String>,
}

/// The new session of a fork.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ForkResponse {
    /// Id of the session.
    session_id: String,
    /// Key of the session.
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
                .hint("wait until it ends, or fork the turn before it"),
        })?;
    Ok(ForkResponse { session_id: begun.session.to_string(), key: begun.key.to_string() })
}

/// The emphasis of a compaction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompactionBody {
    /// Topic to describe in most detail.
    focus: Option<String>,
}

/// The result of a compaction.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CompactionResponse {
    /// True if the session had turns to summarize.
    compacted: bool,
    /// Id of the run that did the compaction; null if there was nothing to summarize.
    run_id: Option<String>,
}

fn compact(
    site: &ServerState,
    asked: ApiRequest<NoParams, CompactionBody>,
) -> Result<CompactionResponse, ApiError> {
    let row = visibility::visible_session(site, &asked.caller, asked.part(0))?;
    let focus = asked.body.focus.as_deref();
    let definitions = site.definition_cache.read()?.definitions;
    let wish = agentry_protocol::inbound_request::RunOverrides::default();
    let terms = site.definition_cache.terms(&definitions, &row.agent, &wish)?;
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
        observer: Arc::new(DeltaSink(site.hub.clone())),
        attendance: Attendance::Absent,
        post: SessionInbox::default(),
    };
    let outcome = runner.compact(order, focus, &mut |_| {})?;
    let run_id = outcome.map(|outcome| outcome.run.to_string());
    Ok(CompactionResponse { compacted: run_id.is_some(), run_id })
}
