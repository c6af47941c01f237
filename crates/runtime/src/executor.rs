//! Those who run the programs of agents: hooks and custom tools.
//!
//! One trait for all of them. The one that is here runs a program in this machine's sandbox; another may hand it to
//! a machine elsewhere. Both get the same job, speak for it under the same lease (`jobs`) and give the same back.
//!
//! Must never: decide whether a program may run, or write to the ledger.

mod callback;
mod local;
mod program_copy;
mod slot;

use std::path::PathBuf;
use std::sync::Arc;

use agentry_agentfile::trust::TrustCoverage;
use agentry_protocol::ContentHash;
use agentry_protocol::job::{Job, JobReport, JobState};
use agentry_sandbox::CancelToken;
use secrecy::SecretString;
use serde_json::Value;

use crate::enforcer::TurnSandbox;

pub use callback::Callback;
pub use local::LocalExecutor;

/// One job with all that its program is given.
pub struct Assignment {
    /// The job.
    pub job: Job,
    /// The program itself.
    pub program: JobProgram,
    /// What it is given beside its input.
    pub args: Vec<String>,
    /// Which variables name its files.
    pub names: FileVariables,
    /// What it reads.
    pub input: Value,
    /// What it gets in its environment beside the minimum.
    pub env: Vec<(String, SecretString)>,
    /// Where its agent lives, if it has one.
    pub agent_directory: Option<PathBuf>,
    /// What the owner must have looked at; none for a text that was kept.
    pub looked: Option<TrustRequirement>,
    /// Where it runs.
    pub(crate) confining: TurnSandbox,
    /// The folder in which it leaves files, if it says so.
    pub artifacts: Option<String>,
    /// Who answers what it asks while it runs, if it may ask.
    pub callback: Option<Arc<dyn Callback>>,
}

/// What the owner must have looked at before a program runs: all that it can load, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRequirement {
    /// The agent's directory, without links.
    pub directory: String,
    /// Which part of the directory programs can load.
    pub parts: TrustCoverage,
    /// The hash of all of it.
    pub hash: ContentHash,
}

/// What runs.
pub enum JobProgram {
    /// A file of the agent, below its directory; it must be what it was when it was looked at.
    File(String),
    /// A text that was kept.
    Stored(Vec<u8>),
}

/// Which variables name the files of a program: `AGENTRY_…` and, as in seed 000, `CYBROS_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileVariables {
    /// `…_HOOK_INPUT` and `…_HOOK_OUTPUT`.
    Hook,
    /// `…_TOOL_INPUT` and `…_TOOL_OUTPUT`.
    Tool,
}

/// What came of a job.
#[derive(Debug)]
pub struct JobOutcome {
    /// How it ended.
    pub state: JobState,
    /// What is known of it.
    pub report: JobReport,
    /// What it left behind.
    pub left: JobOutput,
}

/// What a program left behind.
#[derive(Debug, Default)]
pub struct JobOutput {
    /// Its output file: none if it wrote none, or why it cannot be read.
    pub output: Option<Result<Vec<u8>, String>>,
    /// Its standard output, or why it cannot be used.
    pub stdout: Option<Result<Vec<u8>, String>>,
    /// The end of its standard error.
    pub stderr: String,
    /// The files it left in its folder.
    pub artifacts: Vec<Artifact>,
}

/// A file that a program left.
#[derive(Debug)]
pub struct Artifact {
    /// Its path in the folder.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Somebody who runs jobs.
pub trait Executor: Send + Sync {
    /// Who it is.
    fn name(&self) -> &str;

    /// Runs a job to its end, or ends it. `hear` is told each line that it says beside its output.
    fn perform(
        &self,
        assignment: &Assignment,
        hear: &dyn Fn(&str),
        stop: &CancelToken,
    ) -> JobOutcome;
}

impl JobOutcome {
    /// It was not begun, and nothing happened.
    pub fn refused(why: impl Into<String>) -> Self {
        let report = JobReport { why: Some(why.into()), ..JobReport::default() };
        Self { state: JobState::Failed, report, left: JobOutput::default() }
    }
}
