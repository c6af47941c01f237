//! Enforces the access decision about the sender of a turn, call by call.
//!
//! Turns that did not come through access have no bounds and skip this stage.
//!
//! Must never: widen the access decision, or request what a policy denies by name.

use agentry_agentfile::approval_rule::{COMMAND, SHELL};
use agentry_protocol::access::{AttributedName, Bounds, Credentials, DisclosureLevel, NameList};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use agentry_protocol::verdict::{Finding, Stage, Verdict};
use serde_json::Value;

use super::Authority;
use crate::access::{ToolAnswer, bounds_allow, pattern_matches};
use crate::permission_request;
use crate::shell::{self, ShellCommand, ShellWord};

/// The pattern that matches every name.
const EVERYTHING: &str = "*";

impl Authority {
    /// Judges a call by the bounds of its sender. None if the turn has no bounds.
    pub(super) fn access(&self, call: &ToolCall) -> Option<Finding> {
        let bounds = self.bounds.as_ref()?;
        let (tool, who) = (&call.tool, permission_request::name_of(&bounds.principal));
        let answer = bounds_allow(&bounds.tools, tool);
        let finding = |verdict, why: String, rule: Option<String>| Finding {
            stage: Stage::Access,
            verdict,
            why,
            rule,
        };
        let giver = answer.decided_by().map(ToString::to_string);
        let verdict = match answer {
            ToolAnswer::Allowed { .. } => {
                let why = format!("{who} may have `{tool}` called: {answer}");
                return Some(finding(Verdict::Allow, why, giver));
            }
            ToolAnswer::DeniedByName { .. } => Verdict::Deny,
            ToolAnswer::NotAmongOnly { .. }
            | ToolAnswer::AboveCeiling { .. }
            | ToolAnswer::NotAllowed => {
                if let Some(grant) = granted_command(bounds, call) {
                    let (from, pattern) = (&grant.from, &grant.name);
                    let why =
                        format!("{who} may have this command run: allowed by {from} ({pattern})");
                    return Some(finding(Verdict::Allow, why, Some(from.to_string())));
                }
                if permission_request::may_ask(bounds) { Verdict::Ask } else { Verdict::Deny }
            }
        };
        let why = format!("{who} has no permission for `{tool}`: {answer}");
        Some(finding(verdict, why, giver))
    }

    /// True if the model is shown the tool: not denied by name, and allowed or open to a request.
    pub fn is_offered(&self, tool: &ToolName) -> bool {
        let Some(bounds) = &self.bounds else { return true };
        match bounds_allow(&bounds.tools, tool) {
            ToolAnswer::Allowed { .. } => true,
            ToolAnswer::DeniedByName { .. } => false,
            ToolAnswer::NotAmongOnly { .. }
            | ToolAnswer::AboveCeiling { .. }
            | ToolAnswer::NotAllowed => {
                let some_commands = tool.as_str() == SHELL && !bounds.exec.is_empty();
                some_commands || permission_request::may_ask(bounds)
            }
        }
    }

    /// True for the local user, and for senders with all tools and full data: autonomy is allowed.
    pub fn may_be_autonomous(&self) -> bool {
        self.bounds.as_ref().is_none_or(is_full)
    }
}

/// Returns true if the credentials include this name.
pub fn allows_credential(credentials: &Credentials, name: &str) -> bool {
    match credentials {
        Credentials::All(_) => true,
        Credentials::Named(named) => named.iter().any(|one| &*one.name == name),
    }
}

/// Returns true if the bounds withhold nothing, credentials included.
pub fn is_unbounded(bounds: &Bounds) -> bool {
    is_full(bounds) && matches!(bounds.credentials, Credentials::All(_))
}

/// Returns true if the bounds allow all tools and all data.
fn is_full(bounds: &Bounds) -> bool {
    let tools = &bounds.tools;
    let all = |list: &NameList| list.names.iter().any(|name| &**name == EVERYTHING);
    tools.deny.is_empty()
        && tools.only.iter().chain(&tools.ceilings).all(|list| all(list))
        && tools.allow.iter().chain(&tools.granted).any(|list| all(list))
        && bounds.data.level == DisclosureLevel::Full
}

/// Returns the grant that allows this command to a sender without permission for the shell.
fn granted_command<'a>(bounds: &'a Bounds, call: &ToolCall) -> Option<&'a AttributedName> {
    if call.tool.as_str() != SHELL || bounds.exec.is_empty() {
        return None;
    }
    let command = call.input.get(COMMAND).and_then(Value::as_str)?.trim();
    let exact = bounds
        .exec
        .iter()
        .find(|one| permission_request::is_exact(&one.name) && &*one.name == command);
    if exact.is_some() {
        return exact;
    }
    // Compare the pattern with each command, never with the whole text:
    // `git *` must not allow `git status; rm x`.
    let facts = shell::read(command);
    if facts.opaque.is_some() {
        return None;
    }
    let mut first = None;
    for simple in &facts.commands {
        let plain = simple.wrappers.is_empty()
            && simple.assigns.is_empty()
            && simple.writes.is_empty()
            && simple.reads.is_empty()
            && simple.words.iter().all(|word| word.literal().is_some());
        let text = simple.to_string();
        let fits = |pattern: &str| pattern_matches(pattern, &text) && covers(pattern, simple);
        let found = bounds.exec.iter().find(|one| plain && fits(&one.name))?;
        first = first.or(Some(found));
    }
    first
}

/// Returns true if a pattern may allow a command that it matches: the part before its first `*` or
/// `?` is named literally, and the rest is harmless.
fn covers(pattern: &str, simple: &ShellCommand) -> bool {
    let start = pattern.find(['*', '?']).unwrap_or(pattern.len());
    let end = |at: usize| {
        let words = simple.words.iter().take(at + 1).map(|word| word.text().len() + 1);
        words.sum::<usize>().saturating_sub(1)
    };
    let name = simple.words.first().map_or("", ShellWord::text);
    let is_named = |at: usize| end(at) <= start;
    (is_named(0) || !name.contains('/')) && shell::steering(simple, &is_named).is_none()
}
