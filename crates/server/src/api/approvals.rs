//! Approvals: the calls that wait for a person, the exact content of each, and the answers.
//!
//! Must never: apply an answer to another call than the one that the person read.

use agentry_kernel::legible_text::{payload, to_legible};
use agentry_kernel::permission_request::name_of;
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope, PermissionRequest};
use agentry_protocol::event::Event;
use agentry_protocol::token::TokenScope;
use agentry_protocol::tool::{Risk, ToolName, find_known_tool};
use agentry_protocol::{ApprovalId, TurnId};
use agentry_runtime::commands::CommandContext;
use agentry_runtime::commands::approvals::{self, AnswerRequest};
use agentry_runtime::definitions::definition_cache::DefinitionSnapshot;
use agentry_runtime::definitions::plan::{self, CallScope};
use agentry_runtime::redact::TextEdges;
use agentry_runtime::report::source_location::{
    DefinitionLocation, SourceQuote, SourceReader, StageFinding,
};
use agentry_store::{ApprovalRow, ApprovalStatus, Ledger, RunRow, RunStatus};
use agentry_tools::Workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api_error::ApiError;
use crate::limits::{API_DIFF_BYTES_MAX, API_ROWS_MAX, API_ROWS_SHOWN};
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, page_size};
use crate::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let (read, approve) =
        (RouteAccess::Owner(TokenScope::Read), RouteAccess::Owner(TokenScope::Approve));
    vec![
        ApiRoute::get("/api/approvals", read, "Approvals that wait for a person, or all", list),
        ApiRoute::get("/api/approvals/{id}", read, "An approval, with a diff of its changes", one),
        ApiRoute::post("/api/approvals/{id}/answer", approve, "Answer an approval", answer),
    ]
}

/// Filter of a list of approvals.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ApprovalsQuery {
    /// Waiting approvals, oldest first; or all, newest first. Default: waiting.
    pub(crate) status: Option<ApprovalStatusFilter>,
    /// Most approvals in the list. Default: 100.
    #[schemars(range(min = 1, max = 500))]
    pub(crate) limit: Option<usize>,
}

/// State of the listed approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalStatusFilter {
    /// Only approvals that wait for an answer.
    #[default]
    Waiting,
    /// All approvals.
    All,
}

/// Approvals.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalsResponse {
    /// Approvals, without diffs.
    pub(crate) approvals: Vec<ApprovalDetails>,
}

/// An approval: a question to a person about one call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalDetails {
    /// State of the approval.
    #[serde(flatten)]
    pub(crate) question: ApprovalState,
    /// The call.
    #[serde(flatten)]
    pub(crate) call: ApprovalCall,
    /// Reason for the approval.
    #[serde(flatten)]
    pub(crate) ruling: ApprovalReason,
    /// Session, run, turn and agent of the call.
    #[serde(flatten)]
    pub(crate) about: CallOwner,
    /// Requester without the permission; null unless this is a permission request.
    pub(crate) requester: Option<Requester>,
    /// Answer; null if there is none yet.
    pub(crate) answer: Option<ApprovalAnswer>,
    /// Time of the answer, in milliseconds since 1970.
    pub(crate) answered_at: Option<u64>,
    /// Changes that the call would make, as a unified diff; null in lists, or if unknown.
    pub(crate) diff: Option<String>,
}

/// State of an approval.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalState {
    /// Id of the approval.
    pub(crate) id: String,
    /// call: approval of an agent's call; request: a permission request of a sender without it.
    pub(crate) kind: &'static str,
    /// waiting, allowed, denied, expired or withdrawn.
    pub(crate) status: &'static str,
    /// Sequence number of the entry that asked.
    pub(crate) asked_seq: u64,
    /// Time of the question, in milliseconds since 1970.
    pub(crate) asked_at: u64,
    /// Expiry time of the question; null if it waits as long as its run.
    pub(crate) expires_at: Option<u64>,
}

/// The call that needs approval.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalCall {
    /// Id of the call.
    pub(crate) call_id: String,
    /// Name of the tool.
    pub(crate) tool: String,
    /// Arguments of the call.
    pub(crate) input: Value,
    /// Hash of tool and arguments; an answer must repeat it.
    pub(crate) digest: String,
    /// Arguments as text without hidden content: escaped, with long runs folded.
    pub(crate) legible: String,
    /// Length of the command, or else of the arguments as JSON, in characters.
    pub(crate) chars: u64,
    /// Length of the same text in bytes.
    pub(crate) bytes: u64,
    /// Details that are easily overlooked: look-alike host names, mixed alphabets.
    pub(crate) notes: Vec<String>,
    /// Potential harm of a call of this tool: low, medium or high.
    pub(crate) risk: Risk,
}

/// The reason for an approval.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalReason {
    /// Reason, in words.
    pub(crate) reason: String,
    /// Rule that requires the approval; null for a built-in rule.
    pub(crate) rule: Option<SourceQuote>,
    /// Findings of all stages.
    pub(crate) findings: Vec<StageFinding>,
}

/// The session, run, turn and agent of a call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallOwner {
    /// Id of the session.
    pub(crate) session_id: Option<String>,
    /// Id of the run.
    pub(crate) run_id: Option<String>,
    /// Id of the turn.
    pub(crate) turn_id: Option<String>,
    /// Id of the agent.
    pub(crate) agent: Option<String>,
}

/// The sender of a permission request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Requester {
    /// Display name of the requester.
    pub(crate) name: String,
    /// Kind of principal.
    pub(crate) kind: &'static str,
    /// Channel of the message.
    pub(crate) channel: String,
    /// Reason why the requester lacks the permission.
    pub(crate) reason: String,
    /// Text of the message.
    pub(crate) message: String,
    /// Resources that an approval with reach would grant.
    pub(crate) resources: Vec<String>,
}

/// An answer to an approval.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AnswerBody {
    /// True to allow the call.
    allow: bool,
    /// Reach of a yes: a call once or for the session; a request once, for a day or always.
    #[serde(default)]
    reach: ApprovalScope,
    /// Reason, sent to the agent with a no.
    reason: Option<String>,
    /// Arguments to use instead of those of the call; only with `allow`.
    edit: Option<Value>,
    /// `digest` of the approval that the person read.
    digest: String,
}

/// The approval after the answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerResponse {
    /// The approval, as it is now.
    pub(crate) approval: ApprovalDetails,
    /// Command that resumes the run; null if a server resumes it.
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
    let id = find(ledger, asked.part(0))?.approval.id;
    let AnswerBody { allow, reach, reason, edit, digest } = asked.body;
    let answer = ApprovalAnswer { allow, reach, reason, edit, expired: false, by: None };
    let by = asked.caller.attribution();
    let request =
        AnswerRequest { approval: &id, answer, by: &by, digest: Some(&digest), run: None };
    approvals::answer(CommandContext::from(&*site.parts), request)?;
    let row = find(ledger, id.as_str())?;
    Ok(AnswerResponse { next: next(ledger, &row)?, approval: approval_details(site, &row) })
}

fn find(ledger: &Ledger, id: &str) -> Result<ApprovalRow, ApiError> {
    let row = ledger.approval(&ApprovalId::new(id))?;
    row.ok_or_else(|| {
        ApiError::not_found("approval", id).hint("list them with GET /api/approvals?status=all")
    })
}

/// Returns the command for a run that waits and that no server resumes; else none.
fn next(ledger: &Ledger, row: &ApprovalRow) -> Result<Option<String>, ApiError> {
    let Some(run) = &row.run else { return Ok(None) };
    let waits = ledger.run(run)?.is_some_and(|run| run.status == RunStatus::PausedForApproval);
    let inbounds = ledger.inbounds_of_run(run)?;
    let is_served = inbounds.iter().any(|one| one.routed.as_ref().is_some_and(|to| !to.here));
    Ok((waits && !is_served).then(|| format!("agentry resume {run}")))
}

/// Returns the details of an approval, without its diff.
pub(crate) fn approval_details(site: &ServerState, row: &ApprovalRow) -> ApprovalDetails {
    let ledger = &site.parts.ledger;
    let definite = site.definition_cache.read().ok();
    let run = row.run.as_ref().and_then(|run| ledger.run(run).ok().flatten());
    let mut approval = plain(row, run.as_ref(), ledger.now());
    let agent = approval.about.agent.as_deref();
    approval.call.risk = risk(site, definite.as_ref(), agent, &row.approval.call.tool);
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

/// Returns the details that the ledger alone provides, with the highest risk and no rule text.
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

/// Removes the requests whose time is over.
pub(super) fn still_waiting(mut rows: Vec<ApprovalRow>, now: u64) -> Vec<ApprovalRow> {
    rows.retain(|row| !is_over(row, now));
    rows
}

/// A request whose time is over no longer waits, even if its expiry is not recorded yet.
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

/// Returns the risk of a tool; an unknown tool has the highest.
fn risk(
    site: &ServerState,
    definite: Option<&DefinitionSnapshot>,
    agent: Option<&str>,
    tool: &ToolName,
) -> Risk {
    let own = definite.zip(agent).and_then(|(definite, agent)| {
        let agent = definite.loaded.library.agents.get(agent)?;
        agent.powers.toolset.iter().find(|one| one.name == *tool).map(|one| one.risk)
    });
    let is_builtin = || site.parts.tools.builtin_names().contains(tool);
    let host = || find_known_tool(tool.as_str()).filter(|_| is_builtin()).map(|known| known.risk);
    own.or_else(host).unwrap_or(Risk::High)
}

/// Returns the changes that a waiting call would make in its workspace; none if unknown.
fn diff(site: &ServerState, row: &ApprovalRow) -> Option<String> {
    let ledger = &site.parts.ledger;
    if row.status != ApprovalStatus::Waiting {
        return None;
    }
    let run = ledger.run(row.run.as_ref()?).ok().flatten()?;
    let workspace = Workspace::open(std::path::Path::new(&run.workspace)).ok()?;
    let scope = call_scope(ledger, row.turn.as_ref()?)?;
    let preview = site.parts.preview(&row.approval.call, &scope, &workspace);
    let preview = preview.map(|preview| site.parts.redactor.text(&preview, TextEdges::Cut).text);
    let parts: Vec<String> =
        row.approval.facts.change_summary().into_iter().chain(preview).collect();
    let mut text = Some(parts.join("\n")).filter(|text| !text.is_empty())?;
    text.truncate(text.floor_char_boundary(API_DIFF_BYTES_MAX));
    Some(text)
}

/// Returns the agent and the confinement of a turn's calls.
fn call_scope(ledger: &Ledger, turn: &TurnId) -> Option<CallScope> {
    let seq = ledger.turn(turn).ok().flatten()?.started_seq;
    let Event::TurnStarted(plan) = ledger.entry(seq).ok().flatten()?.event else { return None };
    plan::call_scope(&plan)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentry_protocol::confinement::Confinement;
    use agentry_protocol::envelope::{Draft, EntrySubject};
    use agentry_protocol::{ContentHash, RunId, SessionId};
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    #[expect(clippy::disallowed_methods, reason = "a test writes the past itself")]
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
                "agent": "helper", "authority": {"confinement": Confinement::most_restricted()},
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
        let scope = call_scope(&ledger, &TurnId::from_number(1)).unwrap();
        assert_eq!(scope.confinement, Confinement::most_restricted());
        assert_eq!(scope.agent.as_str(), "helper");
        assert_eq!(
            next(&ledger, &row).unwrap(),
            Some(format!("agentry resume {}", run.unwrap().id))
        );
        // The expiry of the request is not recorded yet.
        let row = find(&ledger, ApprovalId::from_number(2).as_str()).unwrap();
        let value = serde_json::to_value(plain(&row, None, NOW)).unwrap();
        assert_eq!((&value["kind"], &value["status"]), (&json!("request"), &json!("expired")));
        assert_eq!(value["requester"]["name"], json!("Mom"));
        let newest = |requests| ledger.approvals_newest(requests, 9).unwrap();
        assert_eq!((newest(false).len(), newest(true)), (2, vec![row]));
        assert!(find(&ledger, "apr_nobody").is_err());
    }
}
