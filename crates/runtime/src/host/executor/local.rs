//! The local executor: runs jobs and tool calls on this machine, in the sandbox of their agent.
//!
//! Must never: run a program that differs from the trusted one, or work with less confinement.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentry_kernel::executor_choice::{ExecutorCapability, ExecutorFacts, LOCAL_EXECUTOR};
use agentry_protocol::tool_call::ToolOutcome;
use agentry_tools::{ToolContext, Toolset};

use super::job_run::{JobRun, SlotKey};
use super::slot::Slot;
use super::{Assignment, ExecutionContext, Executor, FetchScope, JobOutcome, ToolAssignment};
use crate::limits::JOB_SLOTS_KEPT;

/// The executor in this process.
pub struct LocalExecutor {
    facts: ExecutorFacts,
    tools: Arc<Toolset>,
    slots: Mutex<HashMap<SlotKey, Vec<Slot>>>,
}

impl LocalExecutor {
    /// Creates an executor that makes calls of these tools.
    pub fn new(tools: Arc<Toolset>) -> Self {
        let capabilities = ExecutorCapability::ALL.to_vec();
        let facts = ExecutorFacts { name: LOCAL_EXECUTOR.to_owned(), capabilities };
        Self { facts, tools, slots: Mutex::default() }
    }

    /// Returns a slot. One that another program left is only reused under the same confinement.
    fn slot(&self, key: &SlotKey) -> std::io::Result<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.get_mut(key).and_then(Vec::pop) {
            Some(slot) => Ok(slot),
            None => Slot::new(key.user),
        }
    }

    fn put_back(&self, key: SlotKey, slot: Slot) {
        if slot.clear().is_err() {
            return;
        }
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = slots.values().map(Vec::len).sum();
        if kept < JOB_SLOTS_KEPT {
            slots.entry(key).or_default().push(slot);
        }
    }

    /// Calls `work` with the means of a tool call, or returns the reason why there are none.
    fn with_tool_context<T>(
        assignment: &ToolAssignment<'_>,
        context: &ExecutionContext<'_>,
        work: impl FnOnce(&ToolContext<'_>) -> T,
    ) -> Result<T, String> {
        let sandbox = context.resolver.sandbox(&assignment.placement);
        let rules = context.resolver.fetch_rules().clone();
        let fetch = match (sandbox.network(), assignment.fetch) {
            (Some(network), FetchScope::Confinement) => rules.within(network),
            (None, FetchScope::Confinement) | (_, FetchScope::AnyHost) => rules,
        };
        Ok(work(&ToolContext {
            workspace: context.resolver.workspace(&assignment.workspace)?,
            stop: context.stop,
            bounds: assignment.limits,
            fetch: &fetch,
            env: &context.environment(&assignment.variables)?,
            confines: sandbox.for_tools(),
            judged: assignment.judged_path.as_deref(),
        }))
    }
}

impl Executor for LocalExecutor {
    fn facts(&self) -> &ExecutorFacts {
        &self.facts
    }

    fn run_job(&self, assignment: &Assignment, context: &ExecutionContext<'_>) -> JobOutcome {
        let run = match JobRun::resolve(assignment, context) {
            Ok(run) => run,
            Err(why) => return JobOutcome::refused(why),
        };
        let key = run.slot_key();
        let slot = match self.slot(&key) {
            Ok(slot) => slot,
            Err(error) => {
                return JobOutcome::refused(format!("its files cannot be created: {error}"));
            }
        };
        let outcome = run.run(&slot).unwrap_or_else(JobOutcome::refused);
        self.put_back(key, slot);
        outcome
    }

    fn run_tool(
        &self,
        assignment: &ToolAssignment<'_>,
        context: &ExecutionContext<'_>,
    ) -> ToolOutcome {
        let run = |means: &ToolContext<'_>| self.tools.run(&assignment.call, means);
        Self::with_tool_context(assignment, context, run)
            .unwrap_or_else(|why| ToolOutcome::refused(format!("Nothing was done: {why}.")))
    }

    fn preview_tool(
        &self,
        assignment: &ToolAssignment<'_>,
        context: &ExecutionContext<'_>,
    ) -> Option<String> {
        let preview = |means: &ToolContext<'_>| self.tools.preview(&assignment.call, means);
        Self::with_tool_context(assignment, context, preview).ok().flatten()
    }
}
