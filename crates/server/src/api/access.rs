//! Access: policies, entities, what-if decisions, the audit log, and the trace of an event.
//!
//! Must never: record a what-if decision, or omit a denial.

use std::collections::BTreeMap;

use agentry_kernel::access::allows_tool;
use agentry_kernel::route::{self, Route};
use agentry_protocol::access::{AccessRecord, Effect, PolicyOutcome};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{ChannelAddress, EventId, Inbound, PeerKind, Sender};
use agentry_protocol::intake::{Entity, IntakeStage};
use agentry_protocol::token::TokenScope;
use agentry_runtime::DefinitionSource;
use agentry_runtime::inbound::event_hooks::decide_locally;
use agentry_runtime::inbound::trace;
use agentry_store::{AuditFilter, AuditRow, InboundRow, Ledger, PolicyMatchFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::policies;
use crate::api_error::ApiError;
use crate::limits::{API_ROWS_MAX, API_ROWS_SHOWN, API_TEXT_CHARS_MAX};
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, page_size};
use crate::state::ServerState;

/// The sender of a what-if message if the request names none.
const SOMEBODY: &str = "somebody";
/// The message id on the channel of a what-if message.
const TRIAL: &str = "what-if";

pub(crate) fn routes() -> Vec<ApiRoute> {
    let (read, audit) =
        (RouteAccess::Owner(TokenScope::Read), RouteAccess::Owner(TokenScope::Audit));
    vec![
        ApiRoute::get("/api/policies", read, "All access policies and known entities", all),
        ApiRoute::post(
            "/api/access/what-if",
            audit,
            "Decision about a hypothetical message; nothing is recorded",
            what_if,
        ),
        ApiRoute::get("/api/audit", audit, "Access decisions, newest first", decisions),
        ApiRoute::get("/api/audit/{id}", audit, "An access decision, with its policies", decision),
        ApiRoute::get("/api/inbounds", read, "Inbound events, newest first", inbounds),
        ApiRoute::get(
            "/api/traces/{eventId}",
            read,
            "The trace of an event through all stages",
            traced,
        ),
    ]
}

/// Access policies and known entities.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyOverview {
    /// All policies, in order of rank.
    pub(crate) policies: Vec<policies::PolicySummary>,
    /// All known entities.
    pub(crate) people: Vec<Person>,
}

/// A known entity: a person, or another sender.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Person {
    /// Id that policies and grants use.
    pub(crate) id: String,
    /// Display name.
    pub(crate) name: String,
    /// True if this is the owner.
    pub(crate) is_user: bool,
    /// Relationship to the owner, such as friend.
    pub(crate) relationship: Option<String>,
    /// Tags that policies and grants can match.
    pub(crate) tags: Vec<String>,
    /// Identities, one per channel and account.
    pub(crate) identities: Vec<PersonIdentity>,
}

/// The identity of an entity on one channel.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonIdentity {
    /// Name of the channel.
    pub(crate) channel: String,
    /// Id of the entity on the channel.
    pub(crate) identifier: String,
    /// Account of the owner on which the identity is known; null for any.
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

/// A hypothetical message to decide about.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WhatIfBody {
    /// Name of the channel.
    channel: String,
    /// Id of the sender on the channel. Default: an unknown sender.
    sender: Option<String>,
    /// Name of the sender on the channel.
    sender_name: Option<String>,
    /// Kind of peer: a direct message, a group or a channel.
    peer_kind: Option<PeerKind>,
    /// Id of the peer: a person, a group or a channel.
    peer: Option<String>,
    /// Id of the server or workspace.
    guild: Option<String>,
    /// Text of the message.
    text: Option<String>,
    /// Time of the message, in milliseconds since 1970. Default: now.
    time: Option<u64>,
}

/// The decision about a hypothetical message.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhatIfResponse {
    /// Decision, in the form of the audit log.
    pub(crate) record: AccessRecord,
    /// Route that the message would take, in words.
    pub(crate) route: String,
    /// Outcome of each policy, in order of rank.
    pub(crate) parts: Vec<PolicyEvaluation>,
    /// Tools of this host, each with the permission of the sender.
    pub(crate) tools: Vec<WhatIfTool>,
}

/// The outcome of one policy.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyEvaluation {
    /// Name of the policy.
    pub(crate) policy: String,
    /// Outcome, in words.
    pub(crate) part: String,
    /// True if the policy contributed to the decision.
    pub(crate) matched: bool,
}

/// The sender's permission for a tool.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhatIfTool {
    /// Name of the tool.
    pub(crate) name: String,
    /// True if the sender may use the tool.
    pub(crate) allowed: bool,
    /// Reason, in words.
    pub(crate) why: String,
}

/// Filter of the audit log: decisions that match all given fields.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AuditQuery {
    /// Earliest time, in milliseconds since 1970.
    since: Option<u64>,
    /// End of the time range (exclusive), in milliseconds since 1970.
    until: Option<u64>,
    /// Effect of the decisions: allow or deny. Default: both.
    effect: Option<Effect>,
    /// Principal of the decisions, by id or name.
    principal: Option<String>,
    /// Channel of the decisions.
    channel: Option<String>,
    /// Policy that contributed to the decisions.
    policy: Option<String>,
    /// Most decisions in the list; the newest count. Default: 100.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
}

/// Decisions of the audit log.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecisionsResponse {
    /// Decisions, newest first.
    pub(crate) records: Vec<DecisionSummary>,
}

/// A decision in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecisionSummary {
    /// Id of the decision.
    pub(crate) id: String,
    /// Sequence number of its entry.
    pub(crate) seq: u64,
    /// Time of the decision, in milliseconds since 1970.
    pub(crate) time: u64,
    /// Id of the event; null if the decision is not about an event.
    pub(crate) event_id: Option<String>,
    /// Name of the channel.
    pub(crate) channel: String,
    /// Kind of principal.
    pub(crate) kind: String,
    /// Id of the entity; null for an unknown principal.
    pub(crate) principal: Option<String>,
    /// Display name of the principal.
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

/// A decision, with the policies that contributed to it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecisionDetails {
    /// The record of the decision.
    pub(crate) record: AccessRecord,
    /// The policies in their current form; deleted ones are missing.
    pub(crate) policies: Vec<policies::PolicyExcerpt>,
}

/// Size of a list of inbound events.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct InboundsQuery {
    /// Most events in the list; the newest count. Default: 100.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
}

/// Inbound events.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InboundsResponse {
    /// Inbound events, newest first.
    pub(crate) inbounds: Vec<InboundSummary>,
}

/// A received event, or a message that an agent sent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InboundSummary {
    /// Id of the event.
    pub(crate) event_id: String,
    /// Sequence number of its first entry.
    pub(crate) seq: u64,
    /// Time of that entry, in milliseconds since 1970.
    pub(crate) time: u64,
    /// Name of the channel.
    pub(crate) channel: String,
    /// Display name of the sender, or else its id on the channel.
    pub(crate) sender: String,
    /// Beginning of the text.
    pub(crate) text: String,
    /// State: received, denied, waiting, running, answered and others.
    pub(crate) status: &'static str,
    /// Id of the session to which it was routed.
    pub(crate) session_id: Option<String>,
    /// Id of its run.
    pub(crate) run_id: Option<String>,
    /// Reason why it gets no turn; null if it has one or waits for one.
    pub(crate) why: Option<String>,
}

fn all(site: &ServerState, _: ApiRequest<NoParams>) -> Result<PolicyOverview, ApiError> {
    let definite = site.definition_cache.read()?;
    let ledger = &site.parts.ledger;
    let mut uses: BTreeMap<String, u64> = BTreeMap::new();
    for (policy, _, count) in ledger.policy_counts(0)? {
        *uses.entry(policy).or_default() += count;
    }
    let mut all = Vec::new();
    for policy in definite.access.policies().take(API_ROWS_MAX) {
        let count = uses.get(&*policy.name.value).copied().unwrap_or(0);
        let last = if count == 0 { None } else { last_used(ledger, &policy.name.value)? };
        all.push(policies::policy_summary(&definite.loaded, policy, count, last));
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
    let definite = site.definition_cache.read()?;
    let now = site.parts.ledger.now();
    let time = asked.body.time.unwrap_or(now);
    let inbound = asked.body.inbound(time)?;
    let local = site.definition_cache.local_time(time);
    let record = decide_locally(&site.parts, &definite.access, &inbound, local)?;
    let asks = agentry_kernel::access::AccessQuery::of(&record.principal, &inbound, local);
    let parts =
        definite.access.parts(&asks).into_iter().take(API_ROWS_MAX).map(|one| PolicyEvaluation {
            policy: one.policy.to_string(),
            matched: had_a_say(one.part),
            part: one.part.to_string(),
        });
    let tools = agentry_frontend::cli_context::host_tool_names().into_iter().map(|name| {
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
            peer_id: self.peer.clone(),
            peer_kind: self.peer_kind,
            guild: self.guild.clone(),
            ..ChannelAddress::of_channel(&self.channel)
        };
        let sender = Sender {
            sender_id: self.sender.clone().unwrap_or_else(|| SOMEBODY.to_owned()),
            sender_name: self.sender_name.clone(),
        };
        let inbound = Inbound::new(TRIAL, time, place, sender)
            .map_err(|wrong| ApiError::invalid(wrong.to_string()))?;
        Ok(inbound.with_text(self.text.as_deref().unwrap_or_default()))
    }
}

/// Returns the route of a message, in words.
fn way(inbound: &Inbound, record: &AccessRecord) -> String {
    if record.decision.effect == Effect::Deny {
        return "none: the message is denied".to_owned();
    }
    match route::route(inbound, &record.principal, &record.decision) {
        Route::To(to) => {
            let who = to.persona.map(|persona| format!(", answered by `{persona}`"));
            format!("session `{}`{}", to.key, who.unwrap_or_default())
        }
        Route::Queue(to, _) => format!("sets the queue mode of the session `{}`", to.key),
        Route::Stop(to, _) => format!("stops the session `{}`", to.key),
        Route::Unrun(why, detail) if detail.is_empty() => format!("no turn: {why}"),
        Route::Unrun(why, detail) => format!("no turn: {why} ({detail})"),
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
    // The id of an event contains a colon; the id of a decision does not.
    let id = match EventId::try_from(text.to_owned()) {
        Ok(event) => ledger.decision_about(&event)?.ok_or_else(unknown)?,
        Err(_) => ledger.find_access(text)?,
    };
    let record = ledger.decision(&id)?.ok_or_else(unknown)?;
    let definite = site.definition_cache.read()?;
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
        let text = format!("cannot serialize the trace: {error}");
        ApiError::new(crate::api_error::ApiErrorCode::Internal, text)
    })
}
