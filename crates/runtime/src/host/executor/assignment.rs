//! Work for an executor as values: a job with its inputs, or a tool call, and the results.
//!
//! The values can be stored and sent. They refer to live things and secrets by name; the executor
//! resolves the names with the `AssignmentResolver` that it gets beside the value.
//!
//! Must never: hold a live handle or the value of a secret.

use std::borrow::Cow;
use std::sync::Arc;

use agentry_agentfile::trust::TrustCoverage;
use agentry_kernel::executor_choice::ExecutorCapability;
use agentry_protocol::call_facts::ResolvedPath;
use agentry_protocol::job::{Job, JobReport, JobState};
use agentry_protocol::tool_call::ToolCall;
use agentry_protocol::{AgentId, ContentHash, WorkspaceReference};
use agentry_tools::ToolLimits;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::host::enforcer::Placement;
use crate::redact::secrets::SecretReference;

/// A job with all inputs of its program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The job as recorded in the ledger.
    pub job: Job,
    /// The fence of the lease under which the job runs; zero before the lease.
    pub fence: u32,
    /// The program that the job runs.
    pub program: JobProgram,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The names of the variables that point to its files.
    pub file_variables: FileVariables,
    /// The content of its input file.
    pub input: Value,
    /// The variables beside the minimal environment.
    pub variables: Arc<[VariableReference]>,
    /// The place where it runs.
    pub placement: Arc<Placement>,
    /// The maximum of bytes of the output file, and of each output stream.
    pub output_bytes_max: usize,
    /// The folder for files that the program leaves; None if it leaves none.
    pub artifacts: Option<String>,
    /// True if the program may ask questions while it runs.
    pub may_call_back: bool,
}

/// The program of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobProgram {
    /// A file of an agent's directory; all covered files must be as the owner trusted them.
    File {
        /// The path of the program in the directory.
        path: String,
        /// The trusted files of the directory.
        tree: AgentTree,
    },
    /// The text of a script that the ledger stores.
    Stored(Base64Bytes),
}

/// The files of an agent's directory that a program can load, identified by their hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTree {
    /// The hash of all these files.
    pub hash: ContentHash,
    /// The parts of the directory that the hash covers.
    pub parts: TrustCoverage,
}

/// The variables that name a program's files: `AGENTRY_…`, and `CYBROS_…` as an alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileVariables {
    /// `…_HOOK_INPUT` and `…_HOOK_OUTPUT`.
    Hook,
    /// `…_TOOL_INPUT` and `…_TOOL_OUTPUT`.
    Tool,
}

/// A variable of a program, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableReference {
    /// A variable that the operator passes to every program, by its name.
    Passed(String),
    /// A secret for its receiver.
    Secret(SecretReference),
}

impl VariableReference {
    /// Returns the name of the variable.
    pub fn name(&self) -> &str {
        match self {
            Self::Passed(name) => name,
            Self::Secret(secret) => &secret.variable,
        }
    }
}

/// A call of a built-in tool with its limits.
///
/// The call is borrowed where it is made and owned where it was received, so that a call in this
/// process copies no argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolAssignment<'a> {
    /// The agent that makes the call, or for which a person makes it.
    pub agent: Cow<'a, AgentId>,
    /// The call.
    pub call: Cow<'a, ToolCall>,
    /// The place where it runs.
    pub placement: Arc<Placement>,
    /// The workspace that it works in.
    pub workspace: WorkspaceReference,
    /// The limits of the call.
    pub limits: ToolLimits,
    /// The resolved path when the call was judged; the call may use no other path.
    pub judged_path: Option<Cow<'a, ResolvedPath>>,
    /// The hosts that the call may fetch from.
    pub fetch: FetchScope,
    /// The variables beside the minimal environment.
    pub variables: Arc<[VariableReference]>,
}

/// The hosts that a call may fetch from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchScope {
    /// The hosts that the confinement allows.
    Confinement,
    /// Any host, because a person approved the call.
    AnyHost,
}

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOutcome {
    /// The final state of the job.
    pub state: JobState,
    /// The facts about the execution, for the ledger.
    pub report: JobReport,
    /// The output and files of the program.
    pub output: JobOutput,
}

/// The output and files of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOutput {
    /// Its output file; None if it wrote none, an error text if the file cannot be read.
    pub file: Option<Result<Base64Bytes, String>>,
    /// Its standard output; an error text if it cannot be used.
    pub stdout: Option<Result<Base64Bytes, String>>,
    /// The end of its standard error.
    pub stderr: String,
    /// The files in its artifact folder.
    pub artifacts: Vec<Artifact>,
}

/// A file that a program left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// The path of the file inside the artifact folder.
    pub name: String,
    /// The content of the file.
    pub bytes: Base64Bytes,
}

/// Bytes that are base64 when they are stored or sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base64Bytes(pub Vec<u8>);

impl Serialize for Base64Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text.as_bytes()).map(Self).map_err(D::Error::custom)
    }
}

impl Assignment {
    /// Returns the capabilities that the executor of the job must have.
    pub fn requirements(&self) -> Vec<ExecutorCapability> {
        let program = match &self.program {
            JobProgram::File { .. } => ExecutorCapability::AgentPrograms,
            JobProgram::Stored(_) => ExecutorCapability::StoredPrograms,
        };
        let profile = ExecutorCapability::Profile(self.placement.confinement.profile);
        let callbacks = self.may_call_back.then_some(ExecutorCapability::Callbacks);
        [program, profile].into_iter().chain(callbacks).collect()
    }
}

impl ToolAssignment<'_> {
    /// Returns the capabilities that the executor of the call must have.
    pub fn requirements(&self) -> [ExecutorCapability; 2] {
        let profile = self.placement.confinement.profile;
        [ExecutorCapability::ToolCalls, ExecutorCapability::Profile(profile)]
    }
}

impl JobOutcome {
    /// Returns the outcome of a job that was not started and had no effect.
    pub fn refused(why: impl Into<String>) -> Self {
        let report = JobReport { why: Some(why.into()), ..JobReport::default() };
        Self { state: JobState::Failed, report, output: JobOutput::default() }
    }
}
