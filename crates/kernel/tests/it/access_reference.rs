//! Access decided slowly and plainly, straight from the rules, sharing nothing with the kernel.
//!
//! Must never: call what it is compared with.

use std::collections::BTreeSet;

use agentry_agentfile::access::{
    KeyPart, KeyTemplate, KeyVariable, LocalTime, NameSet, Policy, PolicyCondition, TimeWindow,
    Weekday,
};
use agentry_kernel::access::AccessQuery;
use agentry_protocol::access::{Delivery, DisclosureLevel, Effect, Grant, Resource};
use agentry_protocol::principal::{Principal, PrincipalKind};

/// All that a decision lets happen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) effect: Effect,
    pub(crate) tools: BTreeSet<String>,
    /// `None` is all of them.
    pub(crate) credentials: Option<BTreeSet<String>>,
    pub(crate) data: DisclosureLevel,
    pub(crate) session: Option<(String, Option<String>)>,
    pub(crate) delivery: Option<Delivery>,
    pub(crate) delay: Option<bool>,
}

impl Outcome {
    fn denied() -> Self {
        Self {
            effect: Effect::Deny,
            tools: BTreeSet::new(),
            credentials: Some(BTreeSet::new()),
            data: DisclosureLevel::None,
            session: None,
            delivery: None,
            delay: None,
        }
    }
}

pub(crate) fn decide(
    policies: &[Policy],
    asked: &AccessQuery<'_>,
    (grants, now): (&[Grant], u64),
    universe: &[&str],
) -> Outcome {
    // 1, 2: the principal is known; collect the policies that match.
    let mut matching: Vec<&Policy> = policies
        .iter()
        .filter(|policy| policy.enabled)
        .filter(|policy| principal_matches(policy, asked.principal))
        .filter(|policy| {
            policy.conditions.is_empty()
                || policy.conditions.iter().any(|condition| condition_matches(condition, asked))
        })
        .collect();
    // 3: sort by priority; names decide between equals.
    matching
        .sort_by_key(|policy| (100 - i32::from(policy.priority), policy.name.value.to_string()));
    // 4: any denial denies.
    if matching.iter().any(|policy| policy.effect == Effect::Deny) {
        return Outcome::denied();
    }
    // 5: at least one must allow; one that only modifies does not.
    let modifies = |policy: &Policy| {
        let says_modifier =
            policy.modifiers.delivery.is_some() || policy.modifiers.delay_response.is_some();
        let permissions = &policy.permissions;
        let says_power = permissions.tools.is_some()
            || permissions.credentials.is_some()
            || permissions.data.is_some();
        says_modifier && !says_power && policy.session.is_none()
    };
    let allowing: Vec<&Policy> =
        matching.iter().copied().filter(|policy| !modifies(policy)).collect();
    if allowing.is_empty() {
        return Outcome::denied();
    }
    // 7: the session of the first that isolates, else of the first that has one.
    let isolating = allowing.iter().find(|one| one.session.as_ref().is_some_and(|s| s.isolate));
    let chosen = isolating.or_else(|| allowing.iter().find(|one| one.session.is_some()));
    let session = match chosen.and_then(|policy| policy.session.as_ref()) {
        None => None,
        Some(rule) => match key(&rule.key, asked) {
            Some(key) => Some((key, rule.persona.as_deref().map(str::to_owned))),
            None => return Outcome::denied(),
        },
    };
    // 9: grants that hold.
    let grants: Vec<&Grant> = grants
        .iter()
        .filter(|grant| grant_holds(grant, asked, session.as_ref().map(|one| &one.0), now))
        .collect();
    let first = |value: &dyn Fn(&Policy) -> Option<i64>| matching.iter().find_map(|one| value(one));
    let delivery = matching.iter().find_map(|one| one.modifiers.delivery);
    let delay = first(&|one| one.modifiers.delay_response.map(i64::from)).map(|one| one == 1);
    Outcome {
        effect: Effect::Allow,
        tools: universe
            .iter()
            .filter(|tool| tool_allowed(&allowing, &grants, tool))
            .map(|tool| (*tool).to_owned())
            .collect(),
        credentials: credentials(&allowing, &grants),
        data: data(&allowing, &grants),
        session,
        delivery,
        delay,
    }
}

fn principal_matches(policy: &Policy, principal: &Principal) -> bool {
    let who = &policy.who;
    if let Some(is_user) = who.is_user
        && is_user != (principal.kind == PrincipalKind::Owner)
    {
        return false;
    }
    if let Some(unknown) = who.unknown
        && unknown != (principal.kind == PrincipalKind::Unknown)
    {
        return false;
    }
    if let Some(system) = who.system
        && system != (principal.kind == PrincipalKind::System)
    {
        return false;
    }
    if let Some(webhook) = &who.webhook {
        let right = webhook == "*" || principal.source.as_ref() == Some(webhook);
        if principal.kind != PrincipalKind::Webhook || !right {
            return false;
        }
    }
    if let Some(agent) = &who.agent {
        let right = agent == "*" || principal.agent_id.as_ref() == Some(agent);
        if principal.kind != PrincipalKind::Agent || !right {
            return false;
        }
    }
    if let Some(person) = &who.person_id
        && principal.entity_id.as_ref() != Some(person)
    {
        return false;
    }
    if let Some(relationship) = &who.relationship
        && principal.relationship.as_ref() != Some(relationship)
    {
        return false;
    }
    let tags: BTreeSet<&String> = principal.tags.iter().collect();
    who.tags.iter().all(|tag| tags.contains(tag))
}

fn condition_matches(condition: &PolicyCondition, asked: &AccessQuery<'_>) -> bool {
    let text = |said: &Option<String>, is: Option<&str>| match said {
        None => true,
        Some(said) => is == Some(said.as_str()),
    };
    let time = match condition.time {
        None => true,
        Some(window) => in_window(window, asked.time),
    };
    let peer_kind = match condition.peer_kind {
        None => true,
        Some(kind) => asked.peer_kind == Some(kind),
    };
    time && peer_kind
        && text(&condition.channel, Some(asked.channel))
        && text(&condition.account, asked.account)
        && text(&condition.guild, asked.guild)
        && text(&condition.hook_id, asked.hook_id)
        && text(&condition.event_type, asked.event_type)
}

/// Walks from the first minute of the window to its end, over midnight.
fn in_window(window: TimeWindow, at: LocalTime) -> bool {
    let off = at.weekday == Weekday::Saturday || at.weekday == Weekday::Sunday;
    match window {
        TimeWindow::Weekends => off,
        TimeWindow::Weekdays => !off,
        TimeWindow::Daily { start, end } => {
            let mut minute = start;
            while minute != end {
                if minute == at.minute {
                    return true;
                }
                minute += 1;
                if minute == 24 * 60 && minute != end {
                    minute = 0;
                }
            }
            false
        }
    }
}

fn tool_allowed(allowing: &[&Policy], grants: &[&Grant], tool: &str) -> bool {
    let rules = || allowing.iter().filter_map(|one| Some((one, one.permissions.tools.as_ref()?)));
    let on = |names: &[std::sync::Arc<str>]| names.iter().any(|name| glob(name, tool));
    // A named denial beats everything.
    if rules().any(|(_, rule)| on(&rule.deny)) {
        return false;
    }
    // A grant beats all that is left.
    let granted = grants.iter().flat_map(|grant| &grant.resources).any(|resource| match resource {
        Resource::Tool(pattern) => glob(pattern, tool),
        Resource::Credential(_) | Resource::Data(_) | Resource::Exec(_) => false,
    });
    if granted {
        return true;
    }
    // `*` in deny: nothing but this policy's own list.
    if rules().any(|(_, rule)| rule.deny_the_rest && !on(rule.allow.as_deref().unwrap_or(&[]))) {
        return false;
    }
    // The union of those that are no ceiling, within every ceiling; ceilings alone grant.
    let lists = |ceiling: bool| {
        rules()
            .filter(move |(one, _)| one.permissions.ceiling == ceiling)
            .filter_map(|(_, rule)| rule.allow.as_deref())
            .collect::<Vec<_>>()
    };
    let (plain, ceilings) = (lists(false), lists(true));
    let under_all = ceilings.iter().all(|list| on(list));
    match (plain.is_empty(), ceilings.is_empty()) {
        (true, true) => false,
        (true, false) => under_all,
        (false, _) => under_all && plain.iter().any(|list| on(list)),
    }
}

fn glob(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = &pattern[1..];
            (0..=text.len()).any(|skip| glob(rest, &text[skip..]))
        }
        Some('?') => !text.is_empty() && glob(&pattern[1..], &text[1..]),
        Some(sign) => text.starts_with(sign) && glob(&pattern[1..], &text[1..]),
    }
}

fn credentials(allowing: &[&Policy], grants: &[&Grant]) -> Option<BTreeSet<String>> {
    let said: Vec<&NameSet> =
        allowing.iter().filter_map(|one| one.permissions.credentials.as_ref()).collect();
    if !said.is_empty() && said.iter().all(|names| **names == NameSet::All) {
        return None;
    }
    let mut candidates: BTreeSet<String> = BTreeSet::new();
    for names in &said {
        if let NameSet::Listed(list) = names {
            candidates.extend(list.iter().map(|name| name.to_string()));
        }
    }
    candidates.retain(|name| {
        said.iter().all(|names| match names {
            NameSet::All => true,
            NameSet::Listed(list) => list.iter().any(|one| **one == **name),
        })
    });
    for resource in grants.iter().flat_map(|grant| &grant.resources) {
        if let Resource::Credential(name) = resource {
            candidates.insert(name.clone());
        }
    }
    Some(candidates)
}

fn data(allowing: &[&Policy], grants: &[&Grant]) -> DisclosureLevel {
    let least = allowing.iter().filter_map(|one| one.permissions.data).min();
    let granted = grants.iter().flat_map(|grant| &grant.resources).filter_map(|resource| {
        if let Resource::Data(level) = resource { Some(*level) } else { None }
    });
    granted.fold(least.unwrap_or(DisclosureLevel::None), std::cmp::max)
}

fn grant_holds(grant: &Grant, asked: &AccessQuery<'_>, key: Option<&String>, now: u64) -> bool {
    let over = grant.expires_at.is_some_and(|end| end <= now);
    if grant.revoked_at.is_some() || over {
        return false;
    }
    let (query, principal) = (&grant.principal_query, asked.principal);
    let mut asks = 0;
    if let Some(person) = &query.person_id {
        asks += 1;
        if principal.entity_id.as_ref() != Some(person) {
            return false;
        }
    }
    if let Some(relationship) = &query.relationship {
        asks += 1;
        if principal.relationship.as_ref() != Some(relationship) {
            return false;
        }
    }
    for tag in &query.tags {
        asks += 1;
        if !principal.tags.contains(tag) {
            return false;
        }
    }
    let channel = grant.conditions.channel.as_ref().is_none_or(|one| one == asked.channel);
    let session = grant.conditions.session.as_ref().is_none_or(|one| Some(one) == key);
    asks > 0 && channel && session
}

/// The values of the random events hold only letters, digits, spaces and colons.
fn key(template: &KeyTemplate, asked: &AccessQuery<'_>) -> Option<String> {
    let principal = asked.principal;
    let mut key = String::new();
    for part in &template.parts {
        match part {
            KeyPart::Text(text) => key += text,
            KeyPart::Value(variable) => {
                let value = match variable {
                    KeyVariable::PrincipalName => principal.name.clone(),
                    KeyVariable::PrincipalRelationship => principal.relationship.clone(),
                    KeyVariable::Source => principal.source.clone(),
                    KeyVariable::Channel => Some(asked.channel.to_owned()),
                    KeyVariable::PeerId => asked.peer_id.map(str::to_owned),
                    KeyVariable::Account => asked.account.map(str::to_owned),
                    KeyVariable::Guild => asked.guild.map(str::to_owned),
                    KeyVariable::PrincipalId => match principal.kind {
                        PrincipalKind::Unknown => asked.sender_id.map(str::to_owned),
                        PrincipalKind::Webhook => principal.source.clone(),
                        PrincipalKind::Agent => principal.agent_id.clone(),
                        PrincipalKind::Owner | PrincipalKind::Known | PrincipalKind::System => {
                            principal.entity_id.clone()
                        }
                    },
                }?;
                let space = if *variable == KeyVariable::PrincipalName { "-" } else { "%20" };
                let value = value.to_lowercase().replace(' ', space).replace(':', "%3a");
                if value.is_empty() {
                    return None;
                }
                key += &value;
            }
        }
    }
    Some(key)
}
