//! Who may: the policies, what they would say, and what was decided.
//!
//! Must never: record what somebody only wants to know, or leave out a denial.

use std::collections::BTreeMap;

use agentry_kernel::access::allows_tool;
use agentry_kernel::route::{self, Route};
use agentry_protocol::access::{AccessRecord, Effect, PolicyOutcome};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{
    ChannelAddress, EventId, Inbound, InboundContent, PeerKind, Sender,
};
use agentry_protocol::intake::{Entity, IntakeStage};
use agentry_protocol::token::TokenScope;
use agentry_runtime::event_hooks::decide_locally;
use agentry_runtime::{DefinitionSource, trace};
use agentry_store::{AuditFilter, AuditRow, InboundRow, Ledger, PolicyMatchFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::policies;
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, page_size};
use crate::http::state::ServerState;
use crate::limits::{API_ROWS_MAX, API_ROWS_SHOWN, API_TEXT_CHARS_MAX};

/// Who speaks where nobody is named.
const SOMEBODY: &str = "somebody";
/// What stands for the channel's own id of a message that was never sent.
const TRIAL: &str = "what-if";

pub(crate) fn routes() -> Vec<ApiRoute> {
    let (read, audit) =
        (RouteAccess::Owner(TokenScope::Read), RouteAccess::Owner(TokenScope::Audit));
    vec![
        ApiRoute::get("/api/policies", read, "The access policies, and who is known", all),
        ApiRoute::post(
            "/api/access/what-if",
            audit,
            "What would be decided about a message; nothing is recorded",
            what_if,
        ),
        ApiRoute::get(
            "/api/audit",
            audit,
            "What was decided about who may, newest first",
            decisions,
        ),
        ApiRoute::get("/api/audit/{id}", audit, "The whole record of a decision", decision),
        ApiRoute::get("/api/inbounds", read, "What came in, newest first", inbounds),
        ApiRoute::get("/api/traces/{eventId}", read, "One event through all stages", traced),
    ]
}

/// Policies and people.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyOverview {
    /// All policies, the first in rank first.
    pub(crate) policies: Vec<policies::PolicySummary>,
    /// All who are known.
    pub(crate) people: Vec<Person>,
}

/// Somebody who is known.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Person {
    /// The id that policies and grants name.
    pub(crate) id: String,
    /// What people call it.
    pub(crate) name: String,
    /// Whether it is the owner.
    pub(crate) is_user: bool,
    /// What it is to the owner.
    pub(crate) relationship: Option<String>,
    /// Words that policies and grants may ask for.
    pub(crate) tags: Vec<String>,
    /// Who it is on each channel.
    pub(crate) identities: Vec<PersonIdentity>,
}

/// Who somebody is on one channel.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonIdentity {
    /// The channel.
    pub(crate) channel: String,
    /// The channel's id of them.
    pub(crate) identifier: String,
    /// Our account that knows them so; null means any.
    pub(crate) account: Option<String>,
}

impl From<Entity> for Person {
    fn from(entity: Entity) -> Self {
        let identities = entity.identities.into_iter().map(|one| PersonIdentity {
            channel: one.channel,
            identifier: one.identifier,
            account: one.account_id,
        });
        Self {
            id: entity.id,
            name: entity.name,
            is_user: entity.is_user,
            relationship: entity.relationship,
            tags: entity.tags,
            identities: identities.collect(),
        }
    }
}

/// A message that nobody sent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WhatIfBody {
    /// The channel.
    channel: String,
    /// The channel's id of who speaks.
    sender: Option<String>,
    /// What the speaker is called there.
    sender_name: Option<String>,
    /// What the other side is.
    peer_kind: Option<PeerKind>,
    /// The other side: a person, a group, a channel.
    peer: Option<String>,
    /// The server or workspace.
    guild: Option<String>,
    /// What is said.
    text: Option<String>,
    /// When, in milliseconds since 1970; now, if nothing is said.
    time: Option<u64>,
}

/// What would be decided.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhatIfResponse {
    /// The decision, in the form of the audit.
    pub(crate) record: AccessRecord,
    /// Where the message would go, in words.
    pub(crate) route: String,
    /// What each policy says, the first in rank first.
    pub(crate) parts: Vec<PolicyEvaluation>,
    /// The tools of this host, and whether the sender could have them called.
    pub(crate) tools: Vec<WhatIfTool>,
}

/// What one policy says.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyEvaluation {
    /// The policy.
    pub(crate) policy: String,
    /// Its part, in words.
    pub(crate) part: String,
    /// Whether it had a say.
    pub(crate) matched: bool,
}

/// Whether a tool could be called.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhatIfTool {
    /// The tool.
    pub(crate) name: String,
    /// Whether it could.
    pub(crate) allowed: bool,
    /// Why.
    pub(crate) why: String,
}

/// Which decisions are wanted: those that fit all that is said.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AuditQuery {
    /// From this time on, in milliseconds since 1970.
    since: Option<u64>,
    /// Before this time.
    until: Option<u64>,
    /// Only what was allowed, or only what was denied.
    effect: Option<Effect>,
    /// About somebody, by id or name.
    principal: Option<String>,
    /// On this channel.
    channel: Option<String>,
    /// In which this policy had a part.
    policy: Option<String>,
    /// At most so many, the newest.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
}

/// Decisions.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecisionsResponse {
    /// The newest first.
    pub(crate) records: Vec<DecisionSummary>,
}

/// A decision in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecisionSummary {
    /// Its id.
    pub(crate) id: String,
    /// The entry that holds it.
    pub(crate) seq: u64,
    /// When, in milliseconds since 1970.
    pub(crate) time: u64,
    /// The event that it is about.
    pub(crate) event_id: Option<String>,
    /// The channel.
    pub(crate) channel: String,
    /// The kind of principal.
    pub(crate) kind: String,
    /// The entity.
    pub(crate) principal: Option<String>,
    /// What people call it.
    pub(crate) name: Option<String>,
    /// allow or deny.
    pub(crate) effect: Effect,
}

impl From<AuditRow> for DecisionSummary {
    fn from(row: AuditRow) -> Self {
        Self {
            id: row.id.to_string(),
            seq: row.seq,
            time: row.time,
            event_id: row.event,
            channel: row.channel,
            kind: row.kind,
            principal: row.principal,
            name: row.name,
            effect: row.effect,
        }
    }
}

/// A decision with the policies that had a part in it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecisionDetails {
    /// The record.
    pub(crate) record: AccessRecord,
    /// The policies, as they stand now; one that is gone is left out.
    pub(crate) policies: Vec<policies::PolicyExcerpt>,
}

/// How many rows are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct InboundsQuery {
    /// At most so many, the newest.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
}

/// What came in.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InboundsResponse {
    /// The newest first.
    pub(crate) inbounds: Vec<InboundSummary>,
}

/// Something that came in, or that was sent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InboundSummary {
    /// Its id.
    pub(crate) event_id: String,
    /// The entry that it came in with.
    pub(crate) seq: u64,
    /// When that was written, in milliseconds since 1970.
    pub(crate) time: u64,
    /// The channel.
    pub(crate) channel: String,
    /// Who said it: the name that the channel gives, else its id of them.
    pub(crate) sender: String,
    /// The beginning of what was said.
    pub(crate) text: String,
    /// How far it is: received, denied, waiting, running, answered and so on.
    pub(crate) status: &'static str,
    /// The session that it went to.
    pub(crate) session_id: Option<String>,
    /// The run that is about it.
    pub(crate) run_id: Option<String>,
    /// Why it has no turn, if it has none.
    pub(crate) why: Option<String>,
}

fn all(site: &ServerState, _: ApiRequest<NoParams>) -> Result<PolicyOverview, ApiError> {
    let definite = site.reception.read()?;
    let ledger = &site.parts.ledger;
    let mut uses: BTreeMap<String, u64> = BTreeMap::new();
    for (policy, _, count) in ledger.policy_counts(0)? {
        *uses.entry(policy).or_default() += count;
    }
    let mut all = Vec::new();
    for policy in definite.access.policies().take(API_ROWS_MAX) {
        let count = uses.get(&*policy.name.value).copied().unwrap_or(0);
        let last = if count == 0 { None } else { last_used(ledger, &policy.name.value)? };
        all.push(policies::policy_summary(&definite.loaded, policy, (count, last)));
    }
    let people = ledger.entities()?.into_iter().take(API_ROWS_MAX);
    Ok(PolicyOverview { policies: all, people: people.map(Person::from).collect() })
}

fn last_used(ledger: &Ledger, policy: &str) -> Result<Option<u64>, ApiError> {
    let policy = Some((policy.to_owned(), PolicyMatchFilter::Any));
    let filter = AuditFilter { policy, last: Some(1), ..AuditFilter::default() };
    Ok(ledger.audit(&filter)?.first().map(|row| row.time))
}

fn what_if(
    site: &ServerState,
    asked: ApiRequest<NoParams, WhatIfBody>,
) -> Result<WhatIfResponse, ApiError> {
    let definite = site.reception.read()?;
    let now = site.parts.ledger.now();
    let time = asked.body.time.unwrap_or(now);
    let inbound = asked.body.inbound(time)?;
    let local = site.reception.local_time(time);
    let record = decide_locally(&site.parts, &definite.access, &inbound, local)?;
    let asks = agentry_kernel::access::AccessQuery::of(&record.principal, &inbound, local);
    let parts =
        definite.access.parts(&asks).into_iter().take(API_ROWS_MAX).map(|one| PolicyEvaluation {
            policy: one.policy.to_string(),
            matched: had_a_say(one.part),
            part: one.part.to_string(),
        });
    let tools = crate::cli_context::host_tool_names().into_iter().map(|name| {
        let answer = allows_tool(&record.decision, &name);
        let (allowed, why) = (answer.is_allowed(), answer.to_string());
        WhatIfTool { name: name.to_string(), allowed, why }
    });
    let (parts, tools) = (parts.collect(), tools.collect());
    Ok(WhatIfResponse { route: way(&inbound, &record), record, parts, tools })
}

fn had_a_say(part: PolicyOutcome) -> bool {
    match part {
        PolicyOutcome::Allowed | PolicyOutcome::Denied | PolicyOutcome::Modified => true,
        PolicyOutcome::Disabled | PolicyOutcome::NotMatched(_) => false,
    }
}

impl WhatIfBody {
    fn inbound(&self, time: u64) -> Result<Inbound, ApiError> {
        let place = ChannelAddress {
            channel: self.channel.clone(),
            account_id: None,
            peer_id: self.peer.clone(),
            peer_kind: self.peer_kind,
            guild: self.guild.clone(),
            thread_id: None,
            reply_to_id: None,
        };
        let sender = Sender {
            sender_id: self.sender.clone().unwrap_or_else(|| SOMEBODY.to_owned()),
            sender_name: self.sender_name.clone(),
        };
        let mut inbound = Inbound::new(TRIAL, time, place, sender)
            .map_err(|wrong| ApiError::invalid(wrong.to_string()))?;
        inbound.body = InboundContent {
            content: self.text.clone().unwrap_or_default(),
            ..InboundContent::default()
        };
        Ok(inbound)
    }
}

/// Where a message would go, in words.
fn way(inbound: &Inbound, record: &AccessRecord) -> String {
    if record.decision.effect == Effect::Deny {
        return "nowhere: it is denied".to_owned();
    }
    match route::route(inbound, &record.principal, &record.decision) {
        Route::To(to) => {
            let who = to.persona.map(|persona| format!(", answered by `{persona}`"));
            format!("to the session `{}`{}", to.key, who.unwrap_or_default())
        }
        Route::Queue(to, _) => format!("it says how messages of the session `{}` wait", to.key),
        Route::Stop(to, _) => format!("it stops what is under way in the session `{}`", to.key),
        Route::Unrun(why, detail) if detail.is_empty() => format!("it has no turn: {why}"),
        Route::Unrun(why, detail) => format!("it has no turn: {why} ({detail})"),
    }
}

fn decisions(
    site: &ServerState,
    asked: ApiRequest<AuditQuery>,
) -> Result<DecisionsResponse, ApiError> {
    let AuditQuery { since, until, effect, principal, channel, policy, limit } = asked.query;
    let filter = AuditFilter {
        since,
        until,
        effect,
        principal,
        channel,
        policy: policy.map(|policy| (policy, PolicyMatchFilter::Any)),
        last: Some(page_size(limit, API_ROWS_SHOWN, API_ROWS_MAX)?),
        ..AuditFilter::default()
    };
    let rows = site.parts.ledger.audit(&filter)?;
    Ok(DecisionsResponse { records: rows.into_iter().map(DecisionSummary::from).collect() })
}

fn decision(site: &ServerState, asked: ApiRequest<NoParams>) -> Result<DecisionDetails, ApiError> {
    let (ledger, text) = (&site.parts.ledger, asked.part(0));
    let unknown = || ApiError::not_found("decision", text).hint("list them with GET /api/audit");
    // The id of an event has a colon, the id of a decision has none.
    let id = match EventId::try_from(text.to_owned()) {
        Ok(event) => ledger.decision_about(&event)?.ok_or_else(unknown)?,
        Err(_) => ledger.find_access(text)?,
    };
    let record = ledger.decision(&id)?.ok_or_else(unknown)?;
    let definite = site.reception.read()?;
    let matched = record.decision.matched.iter().filter_map(|one| {
        let policy = definite.access.policies().find(|policy| policy.name.value == one.policy)?;
        Some(policies::policy_excerpt(&definite.loaded, policy))
    });
    let policies = matched.collect();
    Ok(DecisionDetails { record: *record, policies })
}

fn inbounds(
    site: &ServerState,
    asked: ApiRequest<InboundsQuery>,
) -> Result<InboundsResponse, ApiError> {
    let limit = page_size(asked.query.limit, API_ROWS_SHOWN, API_ROWS_MAX)?;
    let ledger = &site.parts.ledger;
    let mut all = Vec::new();
    for row in ledger.inbounds(limit)? {
        all.extend(came_in(ledger, row)?);
    }
    Ok(InboundsResponse { inbounds: all })
}

fn came_in(ledger: &Ledger, row: InboundRow) -> Result<Option<InboundSummary>, ApiError> {
    let Some(entry) = ledger.entry(row.seq)? else { return Ok(None) };
    let inbound = match entry.event {
        Event::Intake(IntakeStage::Received { inbound }) => Some(inbound),
        Event::Intake(IntakeStage::Delivered(delivered)) => delivered.sent,
        _ => None,
    };
    let Some(inbound) = inbound else { return Ok(None) };
    let Sender { sender_id, sender_name } = inbound.sender;
    Ok(Some(InboundSummary {
        event_id: row.id.to_string(),
        seq: row.seq,
        time: entry.time,
        channel: inbound.place.channel,
        sender: sender_name.unwrap_or(sender_id),
        text: inbound.body.content.chars().take(API_TEXT_CHARS_MAX).collect(),
        status: row.status.as_str(),
        session_id: row.routed.map(|routed| routed.session.to_string()),
        run_id: row.run.map(|run| run.to_string()),
        why: row.why,
    }))
}

fn traced(site: &ServerState, asked: ApiRequest<NoParams>) -> Result<Value, ApiError> {
    let text = asked.part(0);
    let unknown = || ApiError::not_found("event", text).hint("list them with GET /api/inbounds");
    let event = EventId::try_from(text.to_owned()).map_err(|_| unknown())?;
    let trace = trace::of(&site.parts.ledger, &event)?.ok_or_else(unknown)?;
    serde_json::to_value(trace).map_err(|error| {
        let text = format!("the trace cannot be written: {error}");
        ApiError::new(crate::http::api_error::ApiErrorCode::Internal, text)
    })
}
