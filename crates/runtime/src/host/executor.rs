//! Executors: they run the programs of agents, which are hooks and custom tools.
//!
//! All share one trait. The local executor uses this machine's sandbox; another may use a remote
//! machine. Each gets the same job, renews its lease (`jobs`) and returns the same result.
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

use crate::host::enforcer::TurnSandbox;

pub use callback::Callback;
pub use local::LocalExecutor;

/// A job with all inputs of its program.
pub struct Assignment {
    /// The job as recorded in the ledger.
    pub job: Job,
    /// The program that the job runs.
    pub program: JobProgram,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The names of the variables that point to its files.
    pub names: FileVariables,
    /// The content of its input file.
    pub input: Value,
    /// Variables beside the minimal environment; the values may be secrets.
    pub env: Vec<(String, SecretString)>,
    /// The directory of the agent; None for a hook without an agent.
    pub agent_directory: Option<PathBuf>,
    /// The trust that the owner must have given; None for a stored text.
    pub looked: Option<TrustRequirement>,
    /// The sandbox in which it runs.
    pub(crate) confining: TurnSandbox,
    /// The folder for files that the program leaves; None if it leaves none.
    pub artifacts: Option<String>,
    /// Answers the program's questions while it runs; None if it may ask none.
    pub callback: Option<Arc<dyn Callback>>,
}

/// The trust that a program needs: a hash over all files that it can load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRequirement {
    /// The agent's directory, without links.
    pub directory: String,
    /// The parts of the directory that programs can load.
    pub parts: TrustCoverage,
    /// The hash of all these files.
    pub hash: ContentHash,
}

/// The program of a job.
pub enum JobProgram {
    /// A file below the agent's directory; it must be unchanged since the owner trusted it.
    File(String),
    /// The text of a script that the ledger stores.
    Stored(Vec<u8>),
}

/// The variables that name a program's files: `AGENTRY_…`, and `CYBROS_…` as an alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileVariables {
    /// `…_HOOK_INPUT` and `…_HOOK_OUTPUT`.
    Hook,
    /// `…_TOOL_INPUT` and `…_TOOL_OUTPUT`.
    Tool,
}

/// The result of a job.
#[derive(Debug)]
pub struct JobOutcome {
    /// The final state of the job.
    pub state: JobState,
    /// The facts about the execution, for the ledger.
    pub report: JobReport,
    /// The output and files of the program.
    pub left: JobOutput,
}

/// The output and files that a program left.
#[derive(Debug, Default)]
pub struct JobOutput {
    /// Its output file; None if it wrote none, an error text if the file cannot be read.
    pub output: Option<Result<Vec<u8>, String>>,
    /// Its standard output; an error text if it cannot be used.
    pub stdout: Option<Result<Vec<u8>, String>>,
    /// The end of its standard error.
    pub stderr: String,
    /// The files it left in its artifact folder.
    pub artifacts: Vec<Artifact>,
}

/// A file that a program left.
#[derive(Debug)]
pub struct Artifact {
    /// The path of the file inside the artifact folder.
    pub name: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// Runs jobs; shared by the threads of all runs.
pub trait Executor: Send + Sync {
    /// Returns the executor's name, as recorded with each job.
    fn name(&self) -> &str;

    /// Runs a job until it ends or `stop` is raised. Calls `hear` with each line of standard error.
    fn perform(
        &self,
        assignment: &Assignment,
        hear: &dyn Fn(&str),
        stop: &CancelToken,
    ) -> JobOutcome;
}

impl JobOutcome {
    /// Returns the outcome of a job that was not started and had no effect.
    pub fn refused(why: impl Into<String>) -> Self {
        let report = JobReport { why: Some(why.into()), ..JobReport::default() };
        Self { state: JobState::Failed, report, left: JobOutput::default() }
    }
}
