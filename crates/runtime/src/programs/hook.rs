//! A hook of a turn, run as a job, and its answer or the reason why it has no effect.
//!
//! Must never: treat a failed hook as one without an objection.

use agentry_kernel::hook_output::{self, HookProgramOutput};
use agentry_protocol::hook::{HookReport, HookResult, HookSpec};
use agentry_protocol::job::{JobPurpose, JobState};
use serde_json::Value;

use super::{ProgramCall, ProgramContext, Programs};
use crate::error::Error;
use crate::host::Host;
use crate::host::executor::{Base64Bytes, FileVariables, JobOutcome};

impl Programs {
    /// Runs a hook as a job.
    ///
    /// # Errors
    /// If the ledger fails to append a change of the job.
    pub(crate) fn hook(
        &self,
        context: &ProgramContext<'_>,
        spec: &HookSpec,
        input: Value,
    ) -> Result<HookReport, Error> {
        let call = ProgramCall {
            purpose: JobPurpose::Hook { moment: spec.moment },
            program: &spec.program,
            hash: &spec.hash,
            args: &spec.args,
            file_variables: FileVariables::Hook,
            input,
            artifacts: None,
            timeout_ms: spec.timeout_ms,
        };
        let (job, outcome) = self.run(context, call)?;
        let (result, notes) = result(context.host, spec, &outcome);
        Ok(HookReport { job: Some(job), result, notes, facts: None })
    }
}

fn result(host: &Host, spec: &HookSpec, outcome: &JobOutcome) -> (HookResult, Vec<String>) {
    let failed = |why: String| (HookResult::Failed { why: host.redactor.hide(&why) }, Vec::new());
    let exit_code = match (outcome.state, outcome.report.exit_code) {
        (JobState::Succeeded | JobState::Failed, Some(code)) => code,
        _ => {
            let why = outcome.report.why.clone();
            return failed(why.unwrap_or_else(|| "it failed".to_owned()));
        }
    };
    // A program that touched protected files has no effect, even with exit code 0.
    if outcome.state == JobState::Failed && exit_code == 0 {
        return failed(outcome.report.why.clone().unwrap_or_default());
    }
    let output = &outcome.output;
    let file = match &output.file {
        Some(Ok(Base64Bytes(bytes))) => Some(redacted(host, bytes)),
        Some(Err(why)) if exit_code == 0 => return failed(why.clone()),
        Some(Err(_)) | None => None,
    };
    let stdout = match &output.stdout {
        Some(Ok(Base64Bytes(bytes))) => redacted(host, bytes),
        // Standard output counts only if there is no output file.
        Some(Err(why)) if exit_code == 0 && file.is_none() => return failed(why.clone()),
        Some(Err(_)) | None => Vec::new(),
    };
    let stderr = host.redactor.hide(&output.stderr);
    let output =
        HookProgramOutput { exit_code, file: file.as_deref(), stdout: &stdout, stderr: &stderr };
    hook_output::read(spec.moment, &output)
}

/// Removes secrets from a text; bytes that are no text stay, and are rejected later.
fn redacted(host: &Host, bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => host.redactor.hide(text).into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}
