//! Finds likely mistakes in valid policies: principals never reached, policies never matched.
//!
//! Must never: call a case impossible that an event could still cause; if in doubt it is silent.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentry_agentfile::access::{
    LocalTime, MINUTES_PER_DAY, NameSet, Policy, PolicyCondition, PrincipalCondition, STOCK,
    TimeWindow, Weekday,
};
use agentry_agentfile::diagnostic_code::DiagnosticCode;
use agentry_agentfile::source::Origin;
use agentry_protocol::access::DisclosureLevel;
use agentry_protocol::principal::PrincipalKind;
use agentry_protocol::tool::ToolName;

use super::matching::{ANY, PrincipalKinds};
use super::tools::pattern_matches;
use super::{AccessPolicies, PolicyEffect, RankedPolicy};

/// A likely mistake in a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// The kind of the mistake.
    pub code: DiagnosticCode,
    /// The name of the policy.
    pub policy: Arc<str>,
    /// The file and line of the policy.
    pub origin: Origin,
    /// A description of the mistake.
    pub message: String,
    /// The suggested correction.
    pub help: String,
}

/// Returns the likely mistakes in the enabled policies.
pub fn findings(access: &AccessPolicies, known_tools: &BTreeSet<ToolName>) -> Vec<Lint> {
    let on: Vec<&RankedPolicy> = access.policies.iter().filter(|one| one.policy.enabled).collect();
    let mut lints = Vec::new();
    for one in &on {
        if let Some(lint) = never_matches(one) {
            lints.push(lint);
            continue;
        }
        lints.extend(dead_conditions(one));
        lints.extend(unreachable(one, &on));
        lints.extend(unknown_tools(one, known_tools));
        lints.extend(without_effect(one, &on));
        lints.extend(ceilings_apart(one, &on, known_tools));
    }
    lints
}

fn lint(
    code: DiagnosticCode,
    one: &RankedPolicy,
    message: String,
    help: impl Into<String>,
) -> Lint {
    Lint {
        code,
        policy: one.name().clone(),
        origin: one.policy.name.origin.clone(),
        message,
        help: help.into(),
    }
}

/// Unknown senders, timers and programs are no entities: conditions on entities never match them.
const NOT_ENTITIES: [PrincipalKind; 3] =
    [PrincipalKind::Unknown, PrincipalKind::System, PrincipalKind::Webhook];

fn never_matches(one: &RankedPolicy) -> Option<Lint> {
    let (name, who) = (one.name(), &one.policy.who);
    let report = |why: &str, help: &str| {
        let message = format!("`{name}` can never concern anybody: {why}");
        Some(lint(DiagnosticCode::PolicyNeverMatches, one, message, help))
    };
    if one.kinds.is_empty() {
        return report(
            "no sender has all the kinds that `match.principal` asks for",
            "keep one of is_user, unknown, system, webhook and agent",
        );
    }
    let of_entities = who.relationship.is_some() || who.person_id.is_some() || !who.tags.is_empty();
    if of_entities && one.kinds.within(&NOT_ENTITIES) {
        return report(
            "strangers, timers and webhooks have no relationship, tags or person_id",
            "remove `unknown`, `system` or `webhook`, or what is asked beside it",
        );
    }
    let conditions = &one.policy.conditions;
    if !conditions.is_empty() && conditions.iter().all(is_dead) {
        return report("its time windows are empty", "write an end that differs from the start");
    }
    None
}

fn is_dead(condition: &PolicyCondition) -> bool {
    condition.time.is_some_and(|window| match window {
        TimeWindow::Daily { start, end } => start == end,
        TimeWindow::Weekends | TimeWindow::Weekdays => false,
    })
}

fn dead_conditions(one: &RankedPolicy) -> Option<Lint> {
    let dead = one.policy.conditions.iter().find(|condition| is_dead(condition))?;
    let window = dead.time.map(|window| window.to_string()).unwrap_or_default();
    let message = format!("a condition of `{}` can never hold: `{window}` is empty", one.name());
    let help = "write an end that differs from the start; `00:00-24:00` is the whole day";
    Some(lint(DiagnosticCode::PolicyNeverMatches, one, message, help))
}

fn unreachable(one: &RankedPolicy, on: &[&RankedPolicy]) -> Option<Lint> {
    if one.role == PolicyEffect::Denies {
        return None;
    }
    let denying = || on.iter().filter(|other| other.role == PolicyEffect::Denies);
    let name = one.name();
    if let Some(wall) = denying().find(|other| covers(other, one)) {
        let message = format!("`{name}` admits no sender: `{}` denies all of them", wall.name());
        let help = "narrow the one that denies; a denial wins whatever its priority";
        return Some(lint(DiagnosticCode::PolicyUnreachable, one, message, help));
    }
    let for_anybody =
        one.role == PolicyEffect::Allows && one.policy.who == PrincipalCondition::default();
    let wall = denying().filter(|_| for_anybody).find(|other| walls_off_strangers(other, one))?;
    let message = format!("strangers can never use `{name}`: `{}` denies all of them", wall.name());
    let help = format!(
        "remove `{}`; a sender that no policy allows is denied anyway, also a stranger elsewhere",
        wall.name()
    );
    Some(lint(DiagnosticCode::PolicyUnreachable, one, message, help))
}

fn walls_off_strangers(wall: &RankedPolicy, one: &RankedPolicy) -> bool {
    let who = PrincipalCondition { unknown: Some(true), ..PrincipalCondition::default() };
    wall.kinds.has(PrincipalKind::Unknown)
        && covers_who(&wall.policy.who, &who)
        && covers_conditions(&wall.policy.conditions, &one.policy.conditions)
}

fn unknown_tools(one: &RankedPolicy, known: &BTreeSet<ToolName>) -> Vec<Lint> {
    // The bundled policies name tools that only some installations have.
    if STOCK.iter().any(|(file, _)| **file == *one.policy.name.origin.file) {
        return Vec::new();
    }
    let rule = one.policy.permissions.tools.iter();
    let names = rule.flat_map(|rule| rule.allow.iter().flatten().chain(&rule.deny));
    let is_known = |name: &str| {
        known.iter().any(|tool| pattern_matches(name, tool.as_str()))
            || name.contains('/')
            || name.bytes().all(|byte| byte == b'*')
    };
    let unknown = names.filter(|name| !is_known(name));
    unknown
        .map(|name| {
            let known: Vec<&str> = known.iter().map(ToolName::as_str).collect();
            let message = format!("`{}` names the tool `{name}`, which is not here", one.name());
            let help = agentry_agentfile::diagnostic::suggestion(name, &known);
            lint(DiagnosticCode::PolicyUnknownTool, one, message, help)
        })
        .collect()
}

fn without_effect(one: &RankedPolicy, on: &[&RankedPolicy]) -> Option<Lint> {
    let name = one.name();
    let report = |message: String, help: &str| {
        Some(lint(DiagnosticCode::PolicyWithoutEffect, one, message, help))
    };
    match one.role {
        PolicyEffect::Modifies => {
            let others = on.iter().filter(|other| other.role == PolicyEffect::Allows);
            if others.into_iter().any(|other| may_meet(&other.policy, &one.policy)) {
                return None;
            }
            report(
                format!(
                    "`{name}` only modifies, and no policy allows the senders that it concerns"
                ),
                "add `permissions`, or a policy that allows them",
            )
        }
        PolicyEffect::Denies => {
            let wider = |other: &&&RankedPolicy| {
                other.role == PolicyEffect::Denies
                    && other.name() != name
                    && covers(other, one)
                    // Of two equal policies, the first in rank stays.
                    && (!covers(one, other) || other.name() < name)
            };
            let wider = on.iter().find(wider)?;
            report(
                format!("`{name}` denies only what `{}` denies already", wider.name()),
                "remove one of the two",
            )
        }
        PolicyEffect::Allows if bounds_nothing(&one.policy) => report(
            format!("`{name}` is a ceiling that bounds nothing"),
            "list what is allowed at most, or remove `ceiling`",
        ),
        PolicyEffect::Allows => None,
    }
}

fn bounds_nothing(policy: &Policy) -> bool {
    let permissions = &policy.permissions;
    let all_tools = |names: &Vec<Arc<str>>| names.iter().any(|name| &**name == ANY);
    let tools = permissions.tools.as_ref();
    let open_tools =
        tools.is_none_or(|rule| rule.deny.is_empty() && rule.allow.as_ref().is_none_or(all_tools));
    permissions.ceiling
        && open_tools
        && permissions.credentials.as_ref().is_none_or(|names| *names == NameSet::All)
        && permissions.data.is_none_or(|level| level == DisclosureLevel::Full)
}

fn ceilings_apart(
    one: &RankedPolicy,
    on: &[&RankedPolicy],
    known: &BTreeSet<ToolName>,
) -> Option<Lint> {
    let list =
        |one: &RankedPolicy| if one.policy.permissions.ceiling { one.allow.clone() } else { None };
    let own = list(one)?;
    let apart = on.iter().find(|other| {
        let Some(list) = list(other).filter(|_| other.name() > one.name()) else { return false };
        let names = own.names.iter().chain(&list.names).map(|name| &**name);
        let names = names.chain(known.iter().map(ToolName::as_str));
        let is_on =
            |names: &[Arc<str>], tool: &str| names.iter().any(|name| pattern_matches(name, tool));
        let mut both = names.filter(|tool| is_on(&own.names, tool) && is_on(&list.names, tool));
        both.next().is_none() && may_meet(&one.policy, &other.policy)
    })?;
    let message =
        format!("the ceilings `{}` and `{}` leave no tool between them", one.name(), apart.name());
    Some(lint(DiagnosticCode::CeilingsApart, one, message, "let them share a tool, or never meet"))
}

/// Returns true if `a` provably matches every event that `b` matches.
fn covers(a: &RankedPolicy, b: &RankedPolicy) -> bool {
    covers_who(&a.policy.who, &b.policy.who)
        && covers_conditions(&a.policy.conditions, &b.policy.conditions)
}

fn covers_who(a: &PrincipalCondition, b: &PrincipalCondition) -> bool {
    let same = |a: &Option<String>, b: &Option<String>| a.is_none() || a == b;
    let named = |a: &Option<String>, b: &Option<String>| a.as_deref() == Some(ANY) || same(a, b);
    PrincipalKinds::of(a).covers(PrincipalKinds::of(b))
        && same(&a.relationship, &b.relationship)
        && same(&a.person_id, &b.person_id)
        && named(&a.webhook, &b.webhook)
        && named(&a.agent, &b.agent)
        && a.tags.iter().all(|tag| b.tags.contains(tag))
}

fn covers_conditions(a: &[PolicyCondition], b: &[PolicyCondition]) -> bool {
    let covered = |b: &PolicyCondition| a.iter().any(|a| covers_condition(a, b));
    a.is_empty() || !b.is_empty() && b.iter().all(covered)
}

fn covers_condition(a: &PolicyCondition, b: &PolicyCondition) -> bool {
    let same = |a: &Option<String>, b: &Option<String>| a.is_none() || a == b;
    same(&a.channel, &b.channel)
        && (a.peer_kind.is_none() || a.peer_kind == b.peer_kind)
        && same(&a.account, &b.account)
        && same(&a.guild, &b.guild)
        && same(&a.hook_id, &b.hook_id)
        && same(&a.event_type, &b.event_type)
        && moments().all(|at| !holds(b, at) || holds(a, at))
}

/// Returns true if an event may match both policies.
fn may_meet(a: &Policy, b: &Policy) -> bool {
    let apart = |a: &Option<String>, b: &Option<String>| {
        let exact = |name: &Option<String>| name.clone().filter(|name| name != ANY);
        exact(a).is_some() && exact(b).is_some() && a != b
    };
    let who = PrincipalKinds::of(&a.who).shares(PrincipalKinds::of(&b.who))
        && !apart(&a.who.relationship, &b.who.relationship)
        && !apart(&a.who.person_id, &b.who.person_id)
        && !apart(&a.who.webhook, &b.who.webhook)
        && !apart(&a.who.agent, &b.who.agent);
    let meet = |a: &PolicyCondition, b: &PolicyCondition| {
        !apart(&a.channel, &b.channel)
            && (a.peer_kind.is_none() || b.peer_kind.is_none() || a.peer_kind == b.peer_kind)
            && !apart(&a.account, &b.account)
            && !apart(&a.guild, &b.guild)
            && !apart(&a.hook_id, &b.hook_id)
            && !apart(&a.event_type, &b.event_type)
            && moments().any(|at| holds(a, at) && holds(b, at))
    };
    let any_place = a.conditions.is_empty() || b.conditions.is_empty();
    let together =
        || a.conditions.iter().any(|one| b.conditions.iter().any(|other| meet(one, other)));
    who && (any_place || together())
}

fn holds(condition: &PolicyCondition, at: LocalTime) -> bool {
    condition.time.is_none_or(|window| window.contains(at))
}

/// Returns every minute of a working day and of a day off.
fn moments() -> impl Iterator<Item = LocalTime> {
    let days = [Weekday::Monday, Weekday::Sunday].into_iter();
    days.flat_map(|weekday| (0..MINUTES_PER_DAY).map(move |minute| LocalTime { weekday, minute }))
}
