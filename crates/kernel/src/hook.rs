//! Selects the hooks for a call.
//!
//! A matcher is a regular expression for the whole name of a tool, under any of its known names.
//!
//! Must never: skip a hook whose expression does not compile.

use agentry_agentfile::limits::REGEX_BYTES_MAX;
use agentry_protocol::hook::{HookMoment, HookSpec};
use agentry_protocol::tool::{self, ToolName};
use regex::{Regex, RegexBuilder};

/// Returns the hooks of one moment that match a tool, in the order of their declaration.
pub fn for_tool<'a>(
    hooks: &'a [HookSpec],
    moment: HookMoment,
    tool: &ToolName,
) -> impl Iterator<Item = &'a HookSpec> {
    hooks.iter().filter(move |hook| hook.moment == moment && matches(hook, tool))
}

/// Returns true if a hook matches a tool. An expression that does not compile matches every tool.
pub fn matches(hook: &HookSpec, tool: &ToolName) -> bool {
    let pattern = match hook.matcher.as_deref() {
        None | Some("" | "*") => return true,
        Some(pattern) => pattern,
    };
    let name = tool.as_str();
    let aliases = tool::find_known_tool(name).map_or(&[][..], |known| known.aliases);
    match (compile(pattern), compile(&format!(r"\A(?:{pattern})\z"))) {
        (Some(_), Some(whole)) => {
            whole.is_match(name) || aliases.iter().any(|alias| whole.is_match(alias))
        }
        (None, _) | (_, None) => true,
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build().ok()
}
