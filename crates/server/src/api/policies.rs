//! An access policy in the API: whom it matches, its permissions, and its place in the files.
//!
//! Must never: omit a condition, so that a policy looks wider or narrower than it is.

use agentry_agentfile::access::{
    NameSet, Permissions, Policy, PolicyCondition, PrincipalCondition, TimeWindow, text_of,
};
use agentry_protocol::access::Effect;
use agentry_runtime::definitions::project_loader::LoadedProject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// Minutes per hour.
const HOUR_MINUTES: u16 = 60;

/// An access policy.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicySummary {
    /// Name, place and text of the policy.
    #[serde(flatten)]
    pub(crate) brief: PolicyExcerpt,
    /// Description of its purpose.
    pub(crate) description: Option<String>,
    /// True if the policy is enabled.
    pub(crate) enabled: bool,
    /// Priority; higher ones are evaluated first.
    pub(crate) priority: u8,
    /// Principals and conditions that it matches, in words.
    pub(crate) matches: String,
    /// Permissions: tools, credentials, data, session and queue mode.
    pub(crate) grants: Value,
    /// Number of recorded decisions to which it contributed.
    pub(crate) uses: u64,
    /// Time of the last such decision, in milliseconds since 1970.
    pub(crate) last_used_at: Option<u64>,
}

/// The name, place and text of a policy.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyExcerpt {
    /// Name of the policy.
    pub(crate) name: String,
    /// Path of its file; for a bundled policy, a name that is not a path.
    pub(crate) file: String,
    /// Line, from one.
    pub(crate) line: usize,
    /// Effect: allow or deny.
    pub(crate) effect: Effect,
    /// Text of the policy in its file.
    pub(crate) text: String,
}

/// Returns a policy with the number of its uses and the time of the last one.
pub(super) fn policy_summary(
    loaded: &LoadedProject,
    policy: &Policy,
    uses: u64,
    last: Option<u64>,
) -> PolicySummary {
    PolicySummary {
        brief: policy_excerpt(loaded, policy),
        description: policy.description.clone(),
        enabled: policy.enabled,
        priority: policy.priority,
        matches: matches(policy),
        grants: grants(policy),
        uses,
        last_used_at: last,
    }
}

/// Returns the name, place and text of a policy.
pub(super) fn policy_excerpt(loaded: &LoadedProject, policy: &Policy) -> PolicyExcerpt {
    let origin = &policy.name.origin;
    let source = loaded.library.access.source(&origin.file);
    let text = source.as_ref().and_then(|source| text_of(source, &policy.name.value));
    PolicyExcerpt {
        name: policy.name.value.to_string(),
        file: origin.file.to_string(),
        line: origin.line,
        effect: policy.effect,
        text: text.unwrap_or_default().to_owned(),
    }
}

/// Returns the principals and conditions that a policy matches, in words.
fn matches(policy: &Policy) -> String {
    let who = who(&policy.who);
    let who = if who.is_empty() { "everyone".to_owned() } else { who.join(" and ") };
    let places: Vec<String> = policy.conditions.iter().map(condition).collect();
    if places.is_empty() { who } else { format!("{who}; {}", places.join(", or ")) }
}

fn who(who: &PrincipalCondition) -> Vec<String> {
    let PrincipalCondition {
        is_user,
        relationship,
        tags,
        person_id,
        unknown,
        system,
        webhook,
        agent,
    } = who;
    let either = |said: &Option<bool>, yes: &str, no: &str| {
        said.map(|is| if is { yes.to_owned() } else { no.to_owned() })
    };
    let mut words = Vec::new();
    words.extend(either(is_user, "the owner", "anyone but the owner"));
    words.extend(relationship.as_ref().map(|word| format!("relationship {word}")));
    words.extend(tags.iter().map(|tag| format!("tag {tag}")));
    words.extend(person_id.as_ref().map(|id| format!("the entity {id}")));
    words.extend(either(unknown, "unknown senders", "anyone but unknown senders"));
    words.extend(either(system, "the system", "anyone but the system"));
    let named = |kind: &str, name: &String| match name.as_str() {
        "*" => format!("any {kind}"),
        name => format!("the {kind} {name}"),
    };
    words.extend(webhook.as_ref().map(|name| named("webhook", name)));
    words.extend(agent.as_ref().map(|name| named("agent", name)));
    words
}

fn condition(condition: &PolicyCondition) -> String {
    let PolicyCondition { channel, peer_kind, account, guild, time, hook_id, event_type } =
        condition;
    let mut words = Vec::new();
    words.extend(channel.as_ref().map(|name| format!("on {name}")));
    words.extend(peer_kind.map(|kind| format!("in a {kind}")));
    words.extend(account.as_ref().map(|id| format!("on the account {id}")));
    words.extend(guild.as_ref().map(|id| format!("in the server {id}")));
    words.extend(time.map(window));
    words.extend(hook_id.as_ref().map(|id| format!("from the hook {id}")));
    words.extend(event_type.as_ref().map(|kind| format!("of the type {kind}")));
    if words.is_empty() { "always".to_owned() } else { words.join(" ") }
}

fn window(window: TimeWindow) -> String {
    let clock = |minute: u16| format!("{:02}:{:02}", minute / HOUR_MINUTES, minute % HOUR_MINUTES);
    match window {
        TimeWindow::Daily { start, end } => format!("from {} to {}", clock(start), clock(end)),
        TimeWindow::Weekends => "on weekends".to_owned(),
        TimeWindow::Weekdays => "on weekdays".to_owned(),
    }
}

fn grants(policy: &Policy) -> Value {
    let Permissions { tools, credentials, data, ceiling } = &policy.permissions;
    let tools = tools.as_ref().map(
        |rule| json!({ "allow": rule.allow, "deny": rule.deny, "denyTheRest": rule.deny_the_rest }),
    );
    let credentials = credentials.as_ref().map(|names| match names {
        NameSet::All => json!("all"),
        NameSet::Listed(names) => json!(names),
    });
    let session = policy.session.as_ref().map(|session| {
        json!({
            "persona": session.persona, "key": session.key.to_string(),
            "isolate": session.isolate,
        })
    });
    json!({
        "tools": tools, "credentials": credentials, "data": data, "ceiling": ceiling,
        "session": session, "queueMode": policy.modifiers.delivery,
        "delayResponse": policy.modifiers.delay_response,
        "onlyModifies": policy.only_modifies(),
    })
}

#[cfg(test)]
mod tests {
    use agentry_agentfile::access::parse;
    use agentry_agentfile::diagnostic::Findings;
    use agentry_agentfile::source::SourceText;

    use super::*;

    #[test]
    fn a_policy_is_told_with_all_its_conditions() {
        let text = "\
policies:
  - name: friends
    effect: allow
    match:
      principal: { relationship: friend, tags: [close] }
      conditions:
        - { channel: discord, peer_kind: dm, time: \"09:00-17:30\" }
        - { channel: signal }
    permissions: { tools: { allow: [web_fetch], deny: [bash] } }
    session: { key: \"friend:{principal.id}\" }
";
        let mut findings = Findings::default();
        let policies = parse(&SourceText::new("a.yml", text), &mut findings);
        assert!(findings.is_empty(), "{:?}", findings.sorted());
        assert_eq!(
            matches(&policies[0]),
            "relationship friend and tag close; \
             on discord in a dm from 09:00 to 17:30, or on signal"
        );
        assert_eq!(grants(&policies[0])["tools"]["deny"], json!(["bash"]));
    }
}
