//! The registry of the sources of tools, and the tools of one turn with their sources.
//!
//! Must never: let one source take the name of another's tool, or let a call end without an outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome, ToolSpec};
use agentry_tools::{ShellCallInput, broken_tool, unknown_tool};

use crate::error::Error;
use crate::host::tool_source::{CallContext, ToolGrant, ToolScope, ToolSource};

/// The sources of tools of this host, in the order of their offers: the built-in tools first.
#[derive(Clone)]
pub struct ToolRegistry {
    sources: Arc<[Arc<dyn ToolSource>]>,
    /// The names that are the same in every scope, each with the index of its source.
    fixed: Arc<BTreeMap<ToolName, usize>>,
}

/// The tools of one turn, each with its source.
#[derive(Clone)]
pub struct TurnToolset {
    registry: ToolRegistry,
    // Invariant: no name occurs twice, and none is a fixed name of another source.
    tools: Vec<SourcedTool>,
    /// The names that an answer to an unknown name can suggest.
    offered: Vec<ToolName>,
}

/// A tool with the index of its source.
#[derive(Clone)]
struct SourcedTool {
    spec: ToolSpec,
    source: usize,
}

impl ToolRegistry {
    /// Creates a registry of these sources. The first one has the built-in tools. Of two sources
    /// with the same fixed name, the first keeps it.
    pub fn new(sources: Vec<Arc<dyn ToolSource>>) -> Self {
        let mut fixed = BTreeMap::new();
        for (index, source) in sources.iter().enumerate() {
            for name in source.names() {
                fixed.entry(name).or_insert(index);
            }
        }
        Self { sources: sources.into(), fixed: fixed.into() }
    }

    /// Returns the names that are the same in every scope, which no definition can take.
    pub fn names(&self) -> BTreeSet<ToolName> {
        self.fixed.keys().cloned().collect()
    }

    /// Returns the names of the built-in tools, in the order of the offer.
    pub fn builtin_names(&self) -> Vec<ToolName> {
        self.sources.first().map(|source| source.names()).unwrap_or_default()
    }

    /// Returns the tools of all sources in a scope, in the order of the sources. A tool whose name
    /// another source has already is left out.
    ///
    /// # Errors
    /// If a source cannot determine its tools.
    pub fn toolset(&self, scope: &ToolScope<'_>) -> Result<TurnToolset, Error> {
        let mut tools: Vec<SourcedTool> = Vec::new();
        let mut taken = BTreeSet::new();
        for (index, source) in self.sources.iter().enumerate() {
            for spec in source.specs(scope)? {
                let owner = self.fixed.get(&spec.name).unwrap_or(&index);
                if *owner == index && taken.insert(spec.name.clone()) {
                    tools.push(SourcedTool { spec, source: index });
                }
            }
        }
        let offered = tools.iter().map(|tool| tool.spec.name.clone()).collect();
        Ok(TurnToolset { registry: self.clone(), tools, offered })
    }

    /// Returns the tools with fixed names, for a call outside of any scope.
    pub fn fixed_toolset(&self) -> TurnToolset {
        let offered = self.fixed.keys().cloned().collect();
        TurnToolset { registry: self.clone(), tools: Vec::new(), offered }
    }

    /// Returns the condition under which an agent is offered a tool; None if its name is not fixed.
    pub fn grant(&self, tool: &ToolName) -> Option<ToolGrant> {
        self.fixed_source(tool).map(ToolSource::grant)
    }

    /// Returns the shell command that a call runs; None if the tool is not a shell.
    pub fn shell_input<'a>(&self, call: &'a ToolCall) -> Option<ShellCallInput<'a>> {
        self.fixed_source(&call.tool)?.shell_input(call)
    }

    fn fixed_source(&self, tool: &ToolName) -> Option<&dyn ToolSource> {
        self.fixed.get(tool).map(|index| &*self.sources[*index])
    }
}

impl TurnToolset {
    /// Returns the tools with this grant, in the order of the offer.
    pub fn granted(&self, grant: ToolGrant) -> impl Iterator<Item = &ToolSpec> {
        let sources = &self.registry.sources;
        let tools = self.tools.iter().filter(move |tool| sources[tool.source].grant() == grant);
        tools.map(|tool| &tool.spec)
    }

    /// Sets the tools that the model of the turn knows of, which an unknown name may resemble.
    pub(crate) fn set_offered(&mut self, offered: Vec<ToolName>) {
        self.offered = offered;
    }

    /// Runs a call. A panic of its source and an unknown name become outcomes.
    ///
    /// # Errors
    /// If the ledger fails, which ends the run.
    pub fn call(&self, call: &ToolCall, context: &CallContext<'_>) -> Result<ToolOutcome, Error> {
        let Some(source) = self.source(&call.tool) else {
            return Ok(unknown_tool(&call.tool, &self.offered));
        };
        catch_unwind(AssertUnwindSafe(|| source.call(call, context)))
            .unwrap_or_else(|_| Ok(broken_tool(&call.tool)))
    }

    /// Returns the change that a call would make; None if there is no preview, or it panics.
    pub fn preview(&self, call: &ToolCall, context: &CallContext<'_>) -> Option<String> {
        let source = self.source(&call.tool)?;
        catch_unwind(AssertUnwindSafe(|| source.preview(call, context))).ok().flatten()
    }

    fn source(&self, name: &ToolName) -> Option<&dyn ToolSource> {
        let tool = self.tools.iter().find(|tool| tool.spec.name == *name);
        match tool {
            Some(tool) => Some(&*self.registry.sources[tool.source]),
            None => self.registry.fixed_source(name),
        }
    }
}
