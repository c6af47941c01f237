//! Questions to people: what waits for an answer, what exactly is asked, and the answer.
//!
//! Must never: take an answer for another question than the one that was looked at.

use agentry_kernel::legible_text::{payload, to_legible};
use agentry_kernel::permission_request::name_of;
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope, PermissionRequest};
use agentry_protocol::confinement::Confinement;
use agentry_protocol::event::Event;
use agentry_protocol::token::TokenScope;
use agentry_protocol::tool::{Risk, ToolName};
use agentry_protocol::{ApprovalId, TurnId};
use agentry_runtime::redact::TextEdges;
use agentry_runtime::{permission_request, plan};
use agentry_store::{ApprovalRow, ApprovalStatus, Ledger, RunRow, RunStatus};
use agentry_tools::Workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::source_location::{DefinitionLocation, SourceQuote, SourceReader, StageFinding};
use crate::definition_cache::DefinitionSnapshot;
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, page_size};
use crate::http::state::ServerState;
use crate::limits::{API_DIFF_BYTES_MAX, API_ROWS_MAX, API_ROWS_SHOWN};

pub(crate) fn routes() -> Vec<ApiRoute> {
    let (read, approve) =
        (RouteAccess::Owner(TokenScope::Read), RouteAccess::Owner(TokenScope::Approve));
    vec![
        ApiRoute::get("/api/approvals", read, "Questions that wait for a person, or all", list),
        ApiRoute::get("/api/approvals/{id}", read, "One question, with what would change", one),
        ApiRoute::post("/api/approvals/{id}/answer", approve, "Answer a question", answer),
    ]
}

/// Which questions are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ApprovalsQuery {
    /// Those that wait, the oldest first; or all, the newest first. Those that wait, if nothing is said.
    pub(crate) status: Option<ApprovalStatusFilter>,
    /// At most so many.
    #[schemars(range(min = 1, max = 500))]
    pub(crate) limit: Option<usize>,
}

/// How a question that is wanted stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalStatusFilter {
    /// It waits.
    #[default]
    Waiting,
    /// Anyhow.
    All,
}

/// Questions.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalsResponse {
    /// The questions; without what they would change.
    pub(crate) approvals: Vec<ApprovalDetails>,
}

/// A question to a person about one call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalDetails {
    /// The question.
    #[serde(flatten)]
    pub(crate) question: ApprovalState,
    /// The call.
    #[serde(flatten)]
    pub(crate) call: ApprovalCall,
    /// Why it is asked.
    #[serde(flatten)]
    pub(crate) ruling: ApprovalReason,
    /// Whose call it is.
    #[serde(flatten)]
    pub(crate) about: CallOwner,
    /// Who lacks the permission, if it is a request for one.
    pub(crate) requester: Option<Requester>,
    /// The answer, if there is one.
    pub(crate) answer: Option<ApprovalAnswer>,
    /// When it was answered, in milliseconds since 1970.
    pub(crate) answered_at: Option<u64>,
    /// What the call would change, as a unified diff; null in lists, and where nothing can be said.
    pub(crate) diff: Option<String>,
}

/// A question, as it stands.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalState {
    /// Its id.
    pub(crate) id: String,
    /// call: may the agent make it; request: may somebody have it made who has no permission.
    pub(crate) kind: &'static str,
    /// waiting, allowed, denied, expired or withdrawn.
    pub(crate) status: &'static str,
    /// The entry that asked.
    pub(crate) asked_seq: u64,
    /// When it was asked, in milliseconds since 1970.
    pub(crate) asked_at: u64,
    /// From then on nobody can answer; null if it waits as long as its run.
    pub(crate) expires_at: Option<u64>,
}

/// A call that is asked about.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalCall {
    /// Its id.
    pub(crate) call_id: String,
    /// The tool.
    pub(crate) tool: String,
    /// Its arguments.
    pub(crate) input: Value,
    /// The hash of tool and arguments; an answer names it.
    pub(crate) digest: String,
    /// The arguments as text in which everything can be seen: escaped, with long runs folded.
    pub(crate) legible: String,
    /// How long the command, or else the arguments as JSON, are in characters.
    pub(crate) chars: u64,
    /// The same in bytes.
    pub(crate) bytes: u64,
    /// What is easily overlooked: hosts that are not what they look like, mixed alphabets.
    pub(crate) notes: Vec<String>,
    /// How much harm a call of this tool can do: low, medium or high.
    pub(crate) risk: Risk,
}

/// Why a question is asked.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalReason {
    /// Why, in words.
    pub(crate) reason: String,
    /// The rule that wants it so; null for what is built in.
    pub(crate) rule: Option<SourceQuote>,
    /// What each stage said.
    pub(crate) findings: Vec<StageFinding>,
}

/// Whose call it is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallOwner {
    /// The session.
    pub(crate) session_id: Option<String>,
    /// The run.
    pub(crate) run_id: Option<String>,
    /// The turn.
    pub(crate) turn_id: Option<String>,
    /// The agent.
    pub(crate) agent: Option<String>,
}

/// Who lacks a permission.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Requester {
    /// What people call them.
    pub(crate) name: String,
    /// The kind of principal.
    pub(crate) kind: &'static str,
    /// Where they wrote.
    pub(crate) channel: String,
    /// Why they lack it.
    pub(crate) reason: String,
    /// What they wrote.
    pub(crate) message: String,
    /// What a yes that lasts would give.
    pub(crate) resources: Vec<String>,
}

/// An answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AnswerBody {
    /// Yes or no.
    allow: bool,
    /// How far a yes reaches: a call once or for the session, a request once, for a day or always.
    #[serde(default)]
    reach: ApprovalScope,
    /// Why; told to the agent with a no.
    reason: Option<String>,
    /// Arguments that take the place of those of the call; only with a yes to this call.
    edit: Option<Value>,
    /// The digest of the question that was looked at.
    digest: String,
}

/// A question that was answered.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerResponse {
    /// The question, as it stands now.
    pub(crate) approval: ApprovalDetails,
    /// The command that goes on with its run, if no server does.
    pub(crate) next: Option<String>,
}

fn list(
    site: &ServerState,
    asked: ApiRequest<ApprovalsQuery>,
) -> Result<ApprovalsResponse, ApiError> {
    let ledger = &site.parts.ledger;
    let limit = page_size(asked.query.limit, API_ROWS_SHOWN, API_ROWS_MAX)?;
    let rows = match asked.query.status.unwrap_or_default() {
        ApprovalStatusFilter::Waiting => still_waiting(ledger.approvals_waiting()?, ledger.now()),
        ApprovalStatusFilter::All => ledger.approvals_newest(false, limit)?,
    };
    let approvals = rows.iter().take(limit).map(|row| approval_details(site, row)).collect();
    Ok(ApprovalsResponse { approvals })
}

fn one(site: &ServerState, asked: ApiRequest<NoParams>) -> Result<ApprovalDetails, ApiError> {
    let row = find(&site.parts.ledger, asked.part(0))?;
    let diff = diff(site, &row);
    Ok(ApprovalDetails { diff, ..approval_details(site, &row) })
}

fn answer(
    site: &ServerState,
    asked: ApiRequest<NoParams, AnswerBody>,
) -> Result<AnswerResponse, ApiError> {
    let ledger = &site.parts.ledger;
    let row = find(ledger, asked.part(0))?;
    let id = row.approval.id.clone();
    let AnswerBody { allow, reach, reason, edit, digest } = asked.body;
    if digest != row.approval.digest.as_str() {
        let text = format!("the answer is for another call than the one that `{id}` asks about");
        return Err(ApiError::conflict(text).hint("look at the question again"));
    }
    if reach != ApprovalScope::Once && !allow {
        return Err(ApiError::invalid("only a yes reaches further than this call"));
    }
    let by = Some(asked.caller.attribution());
    let answer = ApprovalAnswer { allow, reach, reason, edit, expired: false, by };
    let book = (ledger, &*site.parts.redactor);
    permission_request::answer(book, &id, answer, site.parts.new_number)?;
    let row = find(ledger, id.as_str())?;
    Ok(AnswerResponse { next: next(ledger, &row)?, approval: approval_details(site, &row) })
}

fn find(ledger: &Ledger, id: &str) -> Result<ApprovalRow, ApiError> {
    let row = ledger.approval(&ApprovalId::new(id))?;
    row.ok_or_else(|| {
        ApiError::not_found("approval", id).hint("list them with GET /api/approvals?status=all")
    })
}

/// A run that waits and that no server goes on with has to be taken up.
fn next(ledger: &Ledger, row: &ApprovalRow) -> Result<Option<String>, ApiError> {
    let Some(run) = &row.run else { return Ok(None) };
    let waits = ledger.run(run)?.is_some_and(|run| run.status == RunStatus::PausedForApproval);
    let inbounds = ledger.inbounds_of_run(run)?;
    let is_served = inbounds.iter().any(|one| one.routed.as_ref().is_some_and(|to| !to.here));
    Ok((waits && !is_served).then(|| format!("agentry resume {run}")))
}

/// A question for people, without what it would change.
pub(crate) fn approval_details(site: &ServerState, row: &ApprovalRow) -> ApprovalDetails {
    let ledger = &site.parts.ledger;
    let definite = site.reception.read().ok();
    let run = row.run.as_ref().and_then(|run| ledger.run(run).ok().flatten());
    let mut approval = plain(row, run.as_ref(), ledger.now());
    let agent = approval.about.agent.as_deref();
    approval.call.risk = risk(site, definite.as_ref(), (agent, &row.approval.call.tool));
    let place = row.approval.ruling.deciding().and_then(|finding| finding.rule.as_deref());
    approval.ruling.rule =
        place.and_then(DefinitionLocation::from_rule).map(|place| match &definite {
            Some(definite) => {
                let (project, redactor) = (site.project.as_path(), &*site.parts.redactor);
                SourceReader { definite, project, redactor }.quote(place)
            }
            None => SourceQuote { file: place.file, line: place.line, text: None },
        });
    approval
}

/// The same, as far as the record tells it.
fn plain(row: &ApprovalRow, run: Option<&RunRow>, now: u64) -> ApprovalDetails {
    let approval = &row.approval;
    let request = approval.request();
    let why = approval.ruling.deciding().map(|finding| finding.why.clone());
    let text = |id: Option<&str>| id.map(str::to_owned);
    let legible = to_legible(&payload(&approval.call.input));
    ApprovalDetails {
        question: ApprovalState {
            id: approval.id.to_string(),
            kind: if request.is_some() { "request" } else { "call" },
            status: status(row, now),
            asked_seq: row.asked_seq,
            asked_at: row.asked,
            expires_at: request.map(|request| request.expires_at),
        },
        call: ApprovalCall {
            call_id: approval.call.id.to_string(),
            tool: approval.call.tool.to_string(),
            input: approval.call.input.clone(),
            digest: approval.digest.to_string(),
            legible: legible.text,
            chars: legible.chars as u64,
            bytes: legible.bytes as u64,
            notes: legible.notes,
            risk: Risk::High,
        },
        ruling: ApprovalReason {
            reason: request.map(|request| request.reason.clone()).or(why).unwrap_or_default(),
            rule: None,
            findings: approval.ruling.findings.iter().map(StageFinding::from).collect(),
        },
        about: CallOwner {
            session_id: text(row.session.as_ref().map(|id| id.as_str())),
            run_id: text(row.run.as_ref().map(|id| id.as_str())),
            turn_id: text(row.turn.as_ref().map(|id| id.as_str())),
            agent: run.map(|run| run.agent.to_string()),
        },
        requester: request.map(requester),
        answer: row.answer.clone(),
        answered_at: row.answered,
        diff: None,
    }
}

/// Those whose time is not over.
pub(super) fn still_waiting(mut rows: Vec<ApprovalRow>, now: u64) -> Vec<ApprovalRow> {
    rows.retain(|row| !is_over(row, now));
    rows
}

/// One whose time is over waits no more, also where nobody noted that yet.
fn is_over(row: &ApprovalRow, now: u64) -> bool {
    row.approval.request().is_some_and(|request| request.expires_at <= now)
}

fn status(row: &ApprovalRow, now: u64) -> &'static str {
    match row.status {
        ApprovalStatus::Waiting if is_over(row, now) => "expired",
        ApprovalStatus::Waiting => "waiting",
        ApprovalStatus::Yes => "allowed",
        ApprovalStatus::No => "denied",
        ApprovalStatus::Withdrawn => "withdrawn",
        ApprovalStatus::Expired => "expired",
    }
}

fn requester(request: &PermissionRequest) -> Requester {
    Requester {
        name: name_of(&request.requester),
        kind: request.requester.kind.as_str(),
        channel: request.requester_channel.clone(),
        reason: request.reason.clone(),
        message: request.original_message.clone(),
        resources: request.resources.iter().map(ToString::to_string).collect(),
    }
}

/// How much harm a call of a tool can do; of one that is not known, the most.
fn risk(
    site: &ServerState,
    definite: Option<&DefinitionSnapshot>,
    (agent, tool): (Option<&str>, &ToolName),
) -> Risk {
    let own = definite.zip(agent).and_then(|(definite, agent)| {
        let agent = definite.loaded.library.agents.get(agent)?;
        agent.powers.toolset.iter().find(|one| one.name == *tool).map(|one| one.risk)
    });
    let host = || site.parts.tools.specs().find(|spec| spec.name == *tool).map(|spec| spec.risk);
    own.or_else(host).unwrap_or(Risk::High)
}

/// What the call would change, looked up where it would be made. Only of one that still waits.
fn diff(site: &ServerState, row: &ApprovalRow) -> Option<String> {
    let ledger = &site.parts.ledger;
    if row.status != ApprovalStatus::Waiting {
        return None;
    }
    let run = ledger.run(row.run.as_ref()?).ok().flatten()?;
    let workspace = Workspace::open(std::path::Path::new(&run.workspace)).ok()?;
    let confinement = confinement(ledger, row.turn.as_ref()?)?;
    let preview = site.parts.preview(&row.approval.call, &confinement, &workspace);
    let preview = preview.map(|preview| site.parts.redactor.text(&preview, TextEdges::Cut).text);
    let parts: Vec<String> =
        row.approval.facts.change_summary().into_iter().chain(preview).collect();
    let mut text = Some(parts.join("\n")).filter(|text| !text.is_empty())?;
    text.truncate(text.floor_char_boundary(API_DIFF_BYTES_MAX));
    Some(text)
}

/// What the calls of a turn run under.
fn confinement(ledger: &Ledger, turn: &TurnId) -> Option<Confinement> {
    let seq = ledger.turn(turn).ok().flatten()?.started_seq;
    let Event::TurnStarted(plan) = ledger.entry(seq).ok().flatten()?.event else { return None };
    plan::confinement(&plan)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentry_protocol::envelope::{Draft, EntrySubject};
    use agentry_protocol::{ContentHash, RunId, SessionId};
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    fn add(ledger: &Ledger, value: Value) {
        let about = EntrySubject {
            session: Some(SessionId::from_number(1)),
            run: Some(RunId::from_number(1)),
            turn: Some(TurnId::from_number(1)),
        };
        let event = serde_json::from_value(value).unwrap();
        ledger.append(vec![Draft { cause: None, about, event }]).unwrap();
    }

    /// A run that waits for two answers: about a call, and about a permission until a moment ago.
    fn waiting(ledger: &Ledger) {
        add(ledger, json!({"type": "session_opened", "key": "a", "agent": "helper"}));
        add(
            ledger,
            json!({
                "type": "run_created", "agent": "helper", "prompt": "go", "model": "scripted:x",
                "mode": "structured", "workspace": "/w", "project": "/p", "files": {},
                "limits": {"steps_max": 9, "calls_max": 9, "iterations_max": 9},
                "steps": [{"id": "s1", "uses": "prompt", "agent": "helper"}],
            }),
        );
        add(
            ledger,
            json!({"type": "turn_started", "prompt": "go", "charter": {
                "authority": {"confinement": Confinement::most_restricted()},
            }}),
        );
        let ruling = json!({"verdict": "ask", "findings": [
            {"stage": "rules", "verdict": "ask", "why": "no rule fits", "rule": "a.yml:7"},
        ]});
        let question = |number: u128| {
            let call = json!({"id": agentry_protocol::CallId::from_number(number), "tool": "bash",
                "input": {"command": "ls"}});
            json!({"type": "approval_asked", "id": ApprovalId::from_number(number), "call": call,
                "ruling": ruling, "digest": ContentHash::of(b"ls")})
        };
        add(ledger, question(1));
        let mut request = question(2);
        request["kind"] = json!({"permission": {
            "requester": {"kind": "known", "entity_id": "mom", "name": "Mom"},
            "requester_channel": "tg", "resources": ["tool:bash"], "reason": "no policy",
            "original_message": "please", "created_at": 1, "expires_at": NOW,
        }});
        add(ledger, request);
        let ids = [ApprovalId::from_number(1), ApprovalId::from_number(2)];
        add(ledger, json!({"type": "run_paused", "approvals": ids}));
    }

    #[test]
    fn a_question_is_told_as_it_was_asked_and_stands() {
        let directory = tempfile::TempDir::new().unwrap();
        let ledger = Ledger::open(directory.path(), Arc::new(|| NOW)).unwrap();
        waiting(&ledger);
        let row = find(&ledger, ApprovalId::from_number(1).as_str()).unwrap();
        let run = ledger.run(&RunId::from_number(1)).unwrap();
        let value = serde_json::to_value(plain(&row, run.as_ref(), NOW)).unwrap();
        let said = |key: &str| value[key].clone();
        assert_eq!((said("kind"), said("status")), (json!("call"), json!("waiting")));
        assert_eq!((said("agent"), said("reason")), (json!("helper"), json!("no rule fits")));
        assert_eq!(said("digest"), json!(ContentHash::of(b"ls")));
        assert_eq!(said("findings")[0]["rule"], json!("a.yml:7"));
        let confinement = confinement(&ledger, &TurnId::from_number(1));
        assert_eq!(confinement, Some(Confinement::most_restricted()));
        assert_eq!(
            next(&ledger, &row).unwrap(),
            Some(format!("agentry resume {}", run.unwrap().id))
        );
        // Nobody noted yet that the time of the request is over.
        let row = find(&ledger, ApprovalId::from_number(2).as_str()).unwrap();
        let value = serde_json::to_value(plain(&row, None, NOW)).unwrap();
        assert_eq!((&value["kind"], &value["status"]), (&json!("request"), &json!("expired")));
        assert_eq!(value["requester"]["name"], json!("Mom"));
        let newest = |requests| ledger.approvals_newest(requests, 9).unwrap();
        assert_eq!((newest(false).len(), newest(true)), (2, vec![row]));
        assert!(find(&ledger, "apr_nobody").is_err());
    }
}
