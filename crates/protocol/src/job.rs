//! A program of an agent that is run once by an executor: what is to be run, who has it, how it stands.
//!
//! An executor takes a job for a time, and may take it for longer. Who has lost it cannot speak for it any more:
//! every word about a job that was taken carries the number of the taking. On the wire of seed 000 a job is a
//! directive, its executor a territory and its workspace a facility.
//!
//! Must never: hold the input or the output of a program; those are files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;
use crate::hook::HookMoment;
use crate::id::{AgentId, CallId, EventHookId, JobId};
use crate::tool::ToolName;

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Which job.
    pub id: JobId,
    /// What for.
    pub purpose: JobPurpose,
    /// Whose program it is.
    pub agent: AgentId,
    /// The program, as people find it.
    pub program: String,
    /// The hash of its text.
    pub hash: ContentHash,
    /// Where it works.
    pub workspace: String,
    /// Whether nobody else with a lock may work there meanwhile.
    #[serde(default, skip_serializing_if = "is_false")]
    pub locks: bool,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What a job is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobPurpose {
    /// A call of a tool that the agent brings itself.
    Tool {
        /// The tool.
        tool: ToolName,
        /// The call; a person who tries a tool has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// A hook of a turn.
    Hook {
        /// When it runs.
        moment: HookMoment,
    },
    /// A hook that looks at events.
    EventHook {
        /// Which.
        hook: EventHookId,
    },
}

/// How a job stands.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Nobody has taken it.
    Queued,
    /// An executor has taken it and not begun.
    Leased,
    /// It runs.
    Running,
    /// It did what it should.
    Succeeded,
    /// It did not.
    Failed,
    /// Somebody asked it to end, or did not want it any more.
    Cancelled,
    /// It took too long and was ended.
    TimedOut,
    /// Who had it is gone, and nobody knows how far it came.
    Uncertain,
}

impl JobState {
    /// All of them.
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

    /// The word.
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

    /// Whether nothing comes after it.
    pub fn is_over(self) -> bool {
        match self {
            Self::Queued | Self::Leased | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::TimedOut | Self::Uncertain => {
                true
            }
        }
    }
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum JobChange {
    /// It waits to be taken.
    Queued {
        /// The job.
        job: Box<Job>,
    },
    /// An executor took it.
    Leased {
        /// The job.
        job: JobId,
        /// For how long, and as which taking.
        lease: Lease,
    },
    /// It runs.
    Started {
        /// The job.
        job: JobId,
        /// The number of the taking.
        fence: u32,
    },
    /// It runs still, and who has it keeps it.
    Renewed {
        /// The job.
        job: JobId,
        /// The number of the taking.
        fence: u32,
        /// Until when, in milliseconds since 1970.
        expires_at: u64,
    },
    /// Who took it did not begin in time; it waits again.
    Returned {
        /// The job.
        job: JobId,
    },
    /// It is over.
    Ended {
        /// The job.
        job: JobId,
        /// The number of the taking; none if it was never taken, or its executor is gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<u32>,
        /// How.
        state: JobState,
        /// What is known of it.
        report: JobReport,
    },
}

impl JobChange {
    /// Which job.
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

/// A job in the hands of an executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// Who.
    pub executor: String,
    /// Which taking of the job it is, from one.
    pub fence: u32,
    /// Until when, in milliseconds since 1970.
    pub expires_at: u64,
}

/// What is known of a job that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobReport {
    /// The exit code, if the program ran to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Why it did not work, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The end of what it said beside its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// How many processes it left behind; they were ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_behind: Option<usize>,
    /// What the sandbox refused, and what it found and undid: a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
}
