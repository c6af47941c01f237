//! Merges the matching policies into one decision, and adds the grants.
//!
//! Must never: let a grant override a policy that denies, or a tool that is denied by name.

use std::sync::Arc;

use agentry_agentfile::access::NameSet;
use agentry_protocol::access::DisclosureLevel;
use agentry_protocol::access::{
    AttributedDisclosureLevel, AttributedName, Credentials, Decision, DenyReason, Effect, Grant,
    Modifiers, NameList, PermissionSource, PolicyContribution, PolicyValue, Resource,
    SessionChoice, ToolBounds,
};
use agentry_protocol::tool::ToolName;

use super::key::{SessionKeyError, session_key};
use super::{AccessQuery, PolicyEffect, RankedPolicy, grants};

/// Returns the decision of the matching policies, given the first in rank first.
pub(super) fn decision(
    matched: &[&RankedPolicy],
    asked: &AccessQuery<'_>,
    given: &[Grant],
    now: u64,
) -> Decision {
    let denies = matched.iter().find(|one| one.role == PolicyEffect::Denies);
    if let Some(one) = denies {
        return denied(matched, DenyReason::Policy { policy: one.name().clone() });
    }
    let allowing = || matched.iter().copied().filter(|one| one.role == PolicyEffect::Allows);
    if allowing().next().is_none() {
        return denied(matched, DenyReason::NobodyAllows);
    }
    let session = match session(allowing(), asked) {
        Ok(session) => session,
        Err(reason) => return denied(matched, reason),
    };
    let mut decision = Decision {
        effect: Effect::Allow,
        deny_reason: None,
        tools: tools(allowing()),
        credentials: credentials(allowing()),
        data: data(allowing()),
        exec: Vec::new(),
        session,
        modifiers: modifiers(matched),
        matched: parts(matched),
        grants: Vec::new(),
    };
    let key = decision.session.as_ref().map(|session| session.key.clone());
    for grant in given {
        if grants::is_active(grant, now) && grants::applies(grant, asked, key.as_deref()) {
            add(&mut decision, grant);
        }
    }
    decision
}

fn denied(matched: &[&RankedPolicy], reason: DenyReason) -> Decision {
    Decision {
        effect: Effect::Deny,
        deny_reason: Some(reason),
        tools: ToolBounds::default(),
        credentials: Credentials::Named(Vec::new()),
        data: AttributedDisclosureLevel {
            level: DisclosureLevel::None,
            from: PermissionSource::Default,
        },
        exec: Vec::new(),
        session: None,
        modifiers: Modifiers::default(),
        matched: parts(matched),
        grants: Vec::new(),
    }
}

fn parts(matched: &[&RankedPolicy]) -> Vec<PolicyContribution> {
    let part = |one: &&RankedPolicy| PolicyContribution {
        policy: one.name().clone(),
        part: one.role.part(),
    };
    matched.iter().map(part).collect()
}

/// Returns the session of the first policy in rank; isolating policies precede all others.
fn session<'a>(
    allowing: impl Iterator<Item = &'a RankedPolicy> + Clone,
    asked: &AccessQuery<'_>,
) -> Result<Option<SessionChoice>, DenyReason> {
    let rules = || allowing.clone().filter_map(|one| Some((one, one.policy.session.as_ref()?)));
    let chosen = rules().find(|(_, rule)| rule.isolate).or_else(|| rules().next());
    let Some((one, rule)) = chosen else { return Ok(None) };
    let policy = one.name().clone();
    match session_key(&rule.key, asked) {
        Ok(key) => Ok(Some(SessionChoice { key, persona: rule.persona.clone(), policy })),
        Err(SessionKeyError::Missing(variable)) => {
            Err(DenyReason::MissingValue { policy, variable: variable.as_str().to_owned() })
        }
        Err(SessionKeyError::TooLong) => Err(DenyReason::KeyTooLong { policy }),
    }
}

/// Returns the allowed tools within all ceilings; if only ceilings allow tools, the first one does.
fn tools<'a>(allowing: impl Iterator<Item = &'a RankedPolicy> + Clone) -> ToolBounds {
    let lists = |ceiling: bool| {
        let some = allowing.clone().filter(move |one| one.policy.permissions.ceiling == ceiling);
        some.filter_map(|one| one.allow.clone()).collect::<Vec<Arc<NameList>>>()
    };
    let (mut allow, mut ceilings) = (lists(false), lists(true));
    if allow.is_empty() && !ceilings.is_empty() {
        allow.push(ceilings.remove(0));
    }
    ToolBounds {
        allow,
        ceilings,
        only: allowing.clone().filter_map(|one| one.only.clone()).collect(),
        deny: allowing.filter_map(|one| one.deny.clone()).collect(),
        granted: Vec::new(),
    }
}

/// Returns the credentials common to all policies that list any.
fn credentials<'a>(allowing: impl Iterator<Item = &'a RankedPolicy>) -> Credentials {
    let mut all: Option<PermissionSource> = None;
    let mut named: Option<Vec<AttributedName>> = None;
    for one in allowing {
        let from = || PermissionSource::Policy(one.name().clone());
        match (&one.policy.permissions.credentials, &mut named) {
            (None, _) => {}
            (Some(NameSet::All), _) => all = all.or_else(|| Some(from())),
            (Some(NameSet::Listed(names)), Some(kept)) => {
                kept.retain(|one| names.contains(&one.name));
            }
            (Some(NameSet::Listed(names)), None) => {
                let traced = |name: &Arc<str>| AttributedName { name: name.clone(), from: from() };
                named = Some(names.iter().map(traced).collect());
            }
        }
    }
    match (named, all) {
        (Some(named), _) => Credentials::Named(named),
        (None, Some(from)) => Credentials::All(from),
        (None, None) => Credentials::Named(Vec::new()),
    }
}

/// Returns the lowest data level of all policies that set one; `None` if no policy does.
fn data<'a>(allowing: impl Iterator<Item = &'a RankedPolicy>) -> AttributedDisclosureLevel {
    let said = allowing.filter_map(|one| Some((one.policy.permissions.data?, one)));
    match said.min_by_key(|(level, _)| *level) {
        Some((level, one)) => {
            AttributedDisclosureLevel { level, from: PermissionSource::Policy(one.name().clone()) }
        }
        None => AttributedDisclosureLevel {
            level: DisclosureLevel::None,
            from: PermissionSource::Default,
        },
    }
}

/// Returns each modifier as the first policy in rank sets it.
fn modifiers(matched: &[&RankedPolicy]) -> Modifiers {
    let mut modifiers = Modifiers::default();
    for one in matched {
        let (rule, policy) = (&one.policy.modifiers, || one.name().clone());
        if let (None, Some(value)) = (&modifiers.delivery, rule.delivery) {
            modifiers.delivery = Some(PolicyValue { value, policy: policy() });
        }
        if let (None, Some(value)) = (&modifiers.delay_response, rule.delay_response) {
            modifiers.delay_response = Some(PolicyValue { value, policy: policy() });
        }
    }
    modifiers
}

/// Adds the powers of a grant to a decision that allows.
fn add(decision: &mut Decision, grant: &Grant) {
    let from = || PermissionSource::Grant(grant.id.clone());
    let mut tools: Vec<Arc<str>> = Vec::new();
    for resource in &grant.resources {
        match resource {
            Resource::Tool(name) => tools.push(ToolName::canonical(name).as_str().into()),
            Resource::Credential(name) => add_credential(&mut decision.credentials, name, from()),
            Resource::Data(level) if *level > decision.data.level => {
                decision.data = AttributedDisclosureLevel { level: *level, from: from() };
            }
            Resource::Data(_) => {}
            Resource::Exec(pattern) => {
                decision.exec.push(AttributedName { name: pattern.as_str().into(), from: from() });
            }
        }
    }
    if !tools.is_empty() {
        decision.tools.granted.push(Arc::new(NameList { from: from(), names: tools }));
    }
    decision.grants.push(grant.id.clone());
}

fn add_credential(credentials: &mut Credentials, name: &str, from: PermissionSource) {
    match credentials {
        Credentials::All(_) => {}
        Credentials::Named(named) if named.iter().any(|one| &*one.name == name) => {}
        Credentials::Named(named) => named.push(AttributedName { name: name.into(), from }),
    }
}
