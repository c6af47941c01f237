//! Requests for permission: who may send them to the owner, how often, and for which resources.
//!
//! The quota is computed when a turn begins; the turn keeps it up to date.
//!
//! Must never: send a request of an unknown sender, or read a clock; callers pass the time.

use std::fmt;
use std::time::Duration;

use agentry_agentfile::approval_rule::{COMMAND, SHELL};
use agentry_protocol::access::{Bounds, Grant, RequestLimits, RequestQuota, Resource};
use agentry_protocol::approval::{Approval, ApprovalAnswer, ApprovalKind, ApprovalScope};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::tool_call::ToolCall;
use agentry_protocol::verdict::{Ruling, Stage, Verdict};
use serde_json::Value;

use crate::limits::{
    REQUEST_BLOCK_MS, REQUEST_COOLDOWN_MS, REQUEST_DENIALS_MAX, REQUEST_DENIALS_WITHIN_MS,
    REQUEST_EXPIRES_MS, REQUEST_PENDING_MAX,
};

/// The default limits.
pub const LIMITS: RequestLimits = RequestLimits {
    pending_max: REQUEST_PENDING_MAX,
    cooldown_ms: REQUEST_COOLDOWN_MS,
    denials_max: REQUEST_DENIALS_MAX,
    block_ms: REQUEST_BLOCK_MS,
    expires_ms: REQUEST_EXPIRES_MS,
};

/// Returns true if the sender of a turn may request missing permissions from the owner.
pub fn may_ask(bounds: &Bounds) -> bool {
    bounds.requests.is_some() && requester(&bounds.principal).is_some()
}

/// Returns the ID under which a principal sends requests; None if it may not send any.
pub fn requester(principal: &Principal) -> Option<&str> {
    match principal.kind {
        PrincipalKind::Owner | PrincipalKind::Known => principal.entity_id.as_deref(),
        PrincipalKind::Unknown
        | PrincipalKind::System
        | PrincipalKind::Webhook
        | PrincipalKind::Agent => None,
    }
}

/// Returns the display name of a principal.
pub fn name_of(principal: &Principal) -> String {
    let name = principal.name.as_deref().or(principal.entity_id.as_deref());
    let name = name.or(principal.source.as_deref()).or(principal.agent_id.as_deref());
    match (name, principal.relationship.as_deref()) {
        (Some(name), Some(relationship)) => format!("{name} ({relationship})"),
        (Some(name), None) => name.to_owned(),
        (None, _) => format!("the sender ({})", principal.kind),
    }
}

/// Returns the people that a grant is for, as its query names them.
pub fn grantees(grant: &Grant) -> String {
    let query = &grant.principal_query;
    let person = query.person_id.iter().map(|id| format!("person:{id}"));
    let relationship = query.relationship.iter().map(|word| format!("relationship:{word}"));
    let tags = query.tags.iter().map(|tag| format!("tag:{tag}"));
    person.chain(relationship).chain(tags).collect::<Vec<_>>().join(" ")
}

/// The reason why no further request is sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestLimitError {
    /// The maximal number of requests is pending.
    Pending {
        /// The maximal number.
        max: u32,
    },
    /// The previous request was too recent.
    CoolingDown {
        /// The time until the next request, in milliseconds.
        left_ms: u64,
    },
    /// Too many requests were denied.
    Blocked {
        /// The number of denials.
        denials: u32,
        /// The time until the next request, in milliseconds.
        left_ms: u64,
    },
}

impl fmt::Display for RequestLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending { max } => write!(
                f,
                "the owner is not asked, since {max} requests wait already; once one of them is answered, \
                 it can be asked for again"
            ),
            Self::CoolingDown { left_ms } => write!(
                f,
                "the owner is not asked, since the last request was a moment ago; it can be asked for again \
                 in {}",
                span(*left_ms)
            ),
            Self::Blocked { denials, left_ms } => write!(
                f,
                "the owner is not asked, since {denials} requests were denied within a day; it can be asked \
                 for again in {}",
                span(*left_ms)
            ),
        }
    }
}

/// Formats a duration for people: its two largest units.
fn span(ms: u64) -> String {
    let seconds = Duration::from_millis(ms).as_secs() + u64::from(!ms.is_multiple_of(1_000));
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    match (hours, minutes, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Checks whether one more request may be sent now.
pub fn check_room(room: &RequestQuota) -> Result<(), RequestLimitError> {
    let RequestLimits { pending_max, cooldown_ms, denials_max, block_ms, .. } = room.limits;
    let left = |until: u64| until.checked_sub(room.now_ms).filter(|left| *left > 0);
    let last = usize::try_from(denials_max).unwrap_or(usize::MAX).checked_sub(1);
    if let (Some(newest), Some(oldest)) =
        (room.denials_ms.first(), last.and_then(|last| room.denials_ms.get(last)))
        && newest.saturating_sub(*oldest) <= REQUEST_DENIALS_WITHIN_MS
        && let Some(left_ms) = left(newest.saturating_add(block_ms))
    {
        return Err(RequestLimitError::Blocked { denials: denials_max, left_ms });
    }
    if room.pending >= pending_max {
        return Err(RequestLimitError::Pending { max: pending_max });
    }
    let again = room.last_asked_ms.map(|asked| asked.saturating_add(cooldown_ms));
    match again.and_then(left) {
        Some(left_ms) => Err(RequestLimitError::CoolingDown { left_ms }),
        None => Ok(()),
    }
}

/// Counts a request that is sent now.
pub fn count_request(room: &mut RequestQuota) {
    room.pending = room.pending.saturating_add(1);
    room.last_asked_ms = Some(room.now_ms);
}

/// Counts the answer to a request.
pub fn count_answer(room: &mut RequestQuota, answer: &ApprovalAnswer) {
    room.pending = room.pending.saturating_sub(1);
    if !answer.allow && !answer.expired {
        room.denials_ms.insert(0, room.now_ms);
        room.denials_ms.truncate(usize::try_from(room.limits.denials_max).unwrap_or(usize::MAX));
    }
}

/// Returns the reason why the sender lacks permission, if a request would ask for it.
pub fn missing_permission(ruling: &Ruling) -> Option<&str> {
    let mut findings = ruling.findings.iter();
    let found = findings.find(|one| one.stage == Stage::Access && one.verdict == Verdict::Ask)?;
    (ruling.verdict == Verdict::Ask).then_some(found.why.as_str())
}

/// Returns the resources of a lasting grant: for the shell the exact command, if it can be named.
pub fn resources(call: &ToolCall) -> Vec<Resource> {
    let tool = || Resource::Tool(call.tool.as_str().to_owned());
    if call.tool.as_str() != SHELL {
        return vec![tool()];
    }
    let command = call.input.get(COMMAND).and_then(Value::as_str).unwrap_or_default().trim();
    let exec = format!("exec:{command}").parse::<Resource>();
    match exec {
        Ok(exec) if is_exact(command) => vec![exec],
        Ok(_) | Err(_) => vec![tool()],
    }
}

/// Returns true if a pattern matches only itself.
pub(crate) fn is_exact(pattern: &str) -> bool {
    !pattern.contains(['*', '?'])
}

/// The defect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongAnswer {
    /// A reach that only requests for permission have.
    ForPermission(ApprovalScope),
    /// A reach that requests for permission do not have.
    NotForPermission,
    /// Changed arguments with a refusal.
    EditWithNo,
    /// Changed arguments with an approval that reaches beyond this call.
    EditBeyondCall,
}

impl fmt::Display for WrongAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForPermission(reach) => write!(
                f,
                "a yes for `{}` is for requests for permission; this is about the agent's own call: answer \
                 once, or for the session",
                reach.as_str()
            ),
            Self::NotForPermission => f.write_str(
                "a request for permission is answered once, for a day or always, not for the session",
            ),
            Self::EditWithNo => f.write_str("changed arguments go with a yes"),
            Self::EditBeyondCall => {
                f.write_str("changed arguments go with a yes for this call only")
            }
        }
    }
}

/// Checks that an answer suits its question.
pub fn check_answer(approval: &Approval, answer: &ApprovalAnswer) -> Result<(), WrongAnswer> {
    if answer.edit.is_some() && !answer.allow {
        return Err(WrongAnswer::EditWithNo);
    }
    match (&approval.kind, answer.reach) {
        (ApprovalKind::ToolCall, reach @ (ApprovalScope::Day | ApprovalScope::Always)) => {
            Err(WrongAnswer::ForPermission(reach))
        }
        (ApprovalKind::Permission(_), ApprovalScope::Session) => Err(WrongAnswer::NotForPermission),
        (_, ApprovalScope::Session | ApprovalScope::Day | ApprovalScope::Always)
            if answer.edit.is_some() =>
        {
            Err(WrongAnswer::EditBeyondCall)
        }
        (ApprovalKind::ToolCall, ApprovalScope::Once | ApprovalScope::Session)
        | (
            ApprovalKind::Permission(_),
            ApprovalScope::Once | ApprovalScope::Day | ApprovalScope::Always,
        ) => Ok(()),
    }
}
