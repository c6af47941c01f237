//! A hook of a turn, run as a job, and its answer or the reason why it has no effect.
//!
//! Must never: treat a failed hook as one without an objection.

use agentry_kernel::hook_output::{self, HookProgramOutput};
use agentry_protocol::hook::{HookReport, HookResult, HookSpec};
use agentry_protocol::job::{JobPurpose, JobState};
use serde_json::Value;

use super::{ProgramContext, Programs};
use crate::error::Error;
use crate::host::Host;
use crate::host::executor::{FileVariables, JobOutcome};
use crate::programs::jobs;

impl Programs {
    /// Runs a hook as a job.
    ///
    /// # Errors
    /// If the ledger fails to append a change of the job.
    pub(crate) fn hook(
        &self,
        ground: &ProgramContext<'_>,
        spec: &HookSpec,
        input: Value,
    ) -> Result<HookReport, Error> {
        let purpose = JobPurpose::Hook { moment: spec.moment };
        let mut assignment = self.assignment(
            ground,
            (purpose, &spec.program, &spec.hash),
            (FileVariables::Hook, input),
            spec.timeout_ms,
        );
        assignment.args.clone_from(&spec.args);
        let performed =
            jobs::run(ground.host, ground.about, &assignment, ground.hear, ground.stop)?;
        let (result, notes) = answered(ground.host, spec, &performed);
        Ok(HookReport { job: Some(assignment.job.id), result, notes, facts: None })
    }
}

fn answered(host: &Host, spec: &HookSpec, performed: &JobOutcome) -> (HookResult, Vec<String>) {
    let failed = |why: String| (HookResult::Failed { why: host.redactor.hide(&why) }, Vec::new());
    let exit_code = match (performed.state, performed.report.exit_code) {
        (JobState::Succeeded | JobState::Failed, Some(code)) => code,
        _ => {
            let why = performed.report.why.clone();
            return failed(why.unwrap_or_else(|| "it failed".to_owned()));
        }
    };
    // A program that touched protected files has no effect, even with exit code 0.
    if performed.state == JobState::Failed && exit_code == 0 {
        return failed(performed.report.why.clone().unwrap_or_default());
    }
    let left = &performed.left;
    let file = match &left.output {
        Some(Ok(bytes)) => Some(hidden(host, bytes)),
        Some(Err(why)) if exit_code == 0 => return failed(why.clone()),
        Some(Err(_)) | None => None,
    };
    let stdout = match &left.stdout {
        Some(Ok(bytes)) => hidden(host, bytes),
        // Standard output counts only if there is no output file.
        Some(Err(why)) if exit_code == 0 && file.is_none() => return failed(why.clone()),
        Some(Err(_)) | None => Vec::new(),
    };
    let stderr = host.redactor.hide(&left.stderr);
    let left =
        HookProgramOutput { exit_code, file: file.as_deref(), stdout: &stdout, stderr: &stderr };
    hook_output::read(spec.moment, &left)
}

/// Removes secrets from a text; bytes that are no text stay, and are rejected later.
fn hidden(host: &Host, bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => host.redactor.hide(text).into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}
