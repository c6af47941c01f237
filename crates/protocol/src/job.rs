//! A job: one run of an agent's program by an executor, with its lease and its state.
//!
//! An executor leases a job for a time and may renew the lease. Each lease has a number, the fence,
//! and reports with the fence of an earlier lease are rejected. In the executor protocol a job is a
//! directive, its executor a territory and its workspace a facility.
//!
//! Must never: hold the input or the output of a program; those are files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;
use crate::hook::HookMoment;
use crate::id::{AgentId, CallId, EventHookId, JobId, WorkspaceReference};
use crate::tool::ToolName;

/// A job for an executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// The id of the job.
    pub id: JobId,
    /// The purpose of the job.
    pub purpose: JobPurpose,
    /// The agent that the program belongs to.
    pub agent: AgentId,
    /// The path of the program, for people.
    pub program: String,
    /// The hash of the program's text.
    pub hash: ContentHash,
    /// The workspace that the program works in.
    pub workspace: WorkspaceReference,
    /// True if no other job with a lock may work in the workspace at the same time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub locks: bool,
    /// The time limit, in milliseconds.
    pub timeout_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The purpose of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobPurpose {
    /// A call of one of the agent's own tools.
    Tool {
        /// The name of the tool.
        tool: ToolName,
        /// The call; none if a person tests the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// A run of a hook of a turn.
    Hook {
        /// The moment at which the hook runs.
        moment: HookMoment,
    },
    /// An invocation of an event hook.
    EventHook {
        /// The id of the event hook.
        hook: EventHookId,
    },
}

/// The state of a job.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// No executor has leased the job.
    Queued,
    /// An executor leased the job and has not started it.
    Leased,
    /// The program is running.
    Running,
    /// The program did its work.
    Succeeded,
    /// The program failed.
    Failed,
    /// The job was cancelled on request, or because its result was not needed any more.
    Cancelled,
    /// The program exceeded the time limit and was stopped.
    TimedOut,
    /// The executor with the lease is gone; the progress of the program is unknown.
    Uncertain,
}

impl JobState {
    /// All states.
    pub const ALL: [Self; 8] = [
        Self::Queued,
        Self::Leased,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
        Self::Uncertain,
    ];

    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Leased => "leased",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Uncertain => "uncertain",
        }
    }

    /// Returns true if the state is final.
    pub fn is_over(self) -> bool {
        match self {
            Self::Queued | Self::Leased | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::TimedOut | Self::Uncertain => {
                true
            }
        }
    }
}

/// A change of the state of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum JobChange {
    /// The job waits for an executor.
    Queued {
        /// The job.
        job: Box<Job>,
    },
    /// An executor leased the job.
    Leased {
        /// The id of the job.
        job: JobId,
        /// The lease, with its end and its fence.
        lease: Lease,
    },
    /// The program started.
    Started {
        /// The id of the job.
        job: JobId,
        /// The fence of the lease.
        fence: u32,
    },
    /// The program still runs, and the executor renewed the lease.
    Renewed {
        /// The id of the job.
        job: JobId,
        /// The fence of the lease.
        fence: u32,
        /// The new end of the lease, in milliseconds since 1970.
        expires_at: u64,
    },
    /// The executor did not start the program in time; the job waits again.
    Returned {
        /// The id of the job.
        job: JobId,
    },
    /// The job ended.
    Ended {
        /// The id of the job.
        job: JobId,
        /// The fence of the lease; none if the job had no lease, or its executor is gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<u32>,
        /// The final state.
        state: JobState,
        /// The report of the executor.
        report: JobReport,
    },
}

impl JobChange {
    /// Returns the id of the job.
    pub fn job(&self) -> &JobId {
        match self {
            Self::Queued { job } => &job.id,
            Self::Leased { job, .. }
            | Self::Started { job, .. }
            | Self::Renewed { job, .. }
            | Self::Returned { job }
            | Self::Ended { job, .. } => job,
        }
    }
}

/// A lease of a job by an executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// The name of the executor.
    pub executor: String,
    /// The number of the lease of this job, from one.
    pub fence: u32,
    /// The end of the lease, in milliseconds since 1970.
    pub expires_at: u64,
}

/// The report about a job that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobReport {
    /// The exit code, if the program ran to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The duration, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The reason of the failure, as text for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The end of the program's standard error.
    #[serde(rename = "said", default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The number of processes that the program left behind; they were stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_behind: Option<usize>,
    /// The acts that the sandbox refused or undid, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
}
