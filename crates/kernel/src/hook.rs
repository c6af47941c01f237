//! Which hooks are for which call.
//!
//! A matcher is an expression for the whole name of a tool, by any of the names that people know it by.
//!
//! Must never: pass over a hook whose expression nobody understands.

use agentry_agentfile::limits::REGEX_BYTES_MAX;
use agentry_protocol::hook::{HookMoment, HookSpec};
use agentry_protocol::tool::{self, ToolName};
use regex::{Regex, RegexBuilder};

/// The hooks of one moment that are for a tool, in the order in which they were declared.
pub fn for_tool<'a>(
    hooks: &'a [HookSpec],
    moment: HookMoment,
    tool: &ToolName,
) -> impl Iterator<Item = &'a HookSpec> {
    hooks.iter().filter(move |hook| hook.moment == moment && matches(hook, tool))
}

/// Whether a hook is for a tool. An expression that does not compile is for every tool.
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
