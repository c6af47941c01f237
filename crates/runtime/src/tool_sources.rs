//! The sources of tools of every host, in the order in which they are offered.
//!
//! Must never: be known to the turn, which calls tools through the registry only.

mod builtin;
mod hook_tools;
mod own_tools;
mod skills;

use std::sync::Arc;

use agentry_tools::Toolset;

use crate::host::tool_source::ToolSource;
use builtin::BuiltinTools;
use hook_tools::HookTools;
use own_tools::OwnTools;
use skills::SkillTool;

/// Returns the sources of every host: these built-in tools, the hook tools, the agents' own tools
/// and their skills.
pub fn standard(builtin: Arc<Toolset>) -> Vec<Arc<dyn ToolSource>> {
    // In the order of the prompt; a changed order changes its beginning.
    vec![
        Arc::new(BuiltinTools::new(builtin)),
        Arc::new(HookTools),
        Arc::new(OwnTools),
        Arc::new(SkillTool),
    ]
}

#[cfg(test)]
mod tests;
