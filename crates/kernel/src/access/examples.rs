//! Checks the examples of policies against the decisions.
//!
//! Must never: try an example against its own policy alone; all policies decide together.

use agentry_agentfile::access::PolicyExample;
use agentry_agentfile::diagnostic_code::DiagnosticCode;
use agentry_protocol::access::{Decision, DenyReason, Effect};
use agentry_protocol::tool::ToolName;

use super::{AccessPolicies, AccessQuery, Lint, allows_tool};

/// Returns a finding for each failing example of an enabled policy.
pub fn examples_that_fail(access: &AccessPolicies) -> Vec<Lint> {
    let mut failed = Vec::new();
    for policy in access.policies().filter(|policy| policy.enabled) {
        for example in &policy.examples {
            let asked = asked(&example.value);
            let decision = access.decide(&asked, &[], 0);
            let Some(message) = wrong(&example.value, &decision) else { continue };
            failed.push(Lint {
                code: DiagnosticCode::PolicyExampleFails,
                policy: policy.name.value.clone(),
                origin: example.origin.clone(),
                message,
                help: "change the policies or the example; `agentry access test` shows each policy's part"
                    .to_owned(),
            });
        }
    }
    failed
}

fn asked(example: &PolicyExample) -> AccessQuery<'_> {
    let place = &example.place;
    AccessQuery {
        principal: &example.principal,
        sender_id: example.principal.entity_id.as_deref().or(Some("somebody")),
        channel: place.channel.as_deref().unwrap_or_default(),
        peer_kind: place.peer_kind,
        peer_id: example.peer_id.as_deref(),
        account: place.account.as_deref(),
        guild: place.guild.as_deref(),
        hook_id: place.hook_id.as_deref(),
        event_type: place.event_type.as_deref(),
        time: example.at,
    }
}

/// Describes the difference between the decision and the example; None if they agree.
fn wrong(example: &PolicyExample, decision: &Decision) -> Option<String> {
    if decision.effect != example.expect {
        return Some(match decision.effect {
            Effect::Allow => "this event is allowed, not denied".to_owned(),
            Effect::Deny => {
                let why = decision.deny_reason.as_ref().map(DenyReason::to_string);
                format!("this event is denied: {}", why.unwrap_or_default())
            }
        });
    }
    let answer = |tool: &String| allows_tool(decision, &ToolName::canonical(tool));
    if let Some(tool) = example.tools.iter().find(|tool| !answer(tool).is_allowed()) {
        return Some(format!("`{tool}` may not be called: {}", answer(tool)));
    }
    if let Some(tool) = example.no_tools.iter().find(|tool| answer(tool).is_allowed()) {
        return Some(format!("`{tool}` may be called: {}", answer(tool)));
    }
    let key = decision.session.as_ref().map(|session| session.key.as_str());
    match &example.session {
        Some(expected) if key != Some(expected) => {
            Some(format!("it goes to the session {}", key.unwrap_or("that is canonical")))
        }
        Some(_) | None => None,
    }
}
