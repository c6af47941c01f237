//! Runs a shell command.
//!
//! The environment is minimal and never our own. No process of the command outlives the call.
//!
//! The sandbox limits reads, writes and connections; its refusals are part of the outcome.
//!
//! Must never: run a command without the sandbox that it needs.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_protocol::CallId;
use agentry_protocol::confinement::Connection;
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{
    CallMeasurements, OutcomeStatus, RepeatSafety, ToolCall, ToolOutcome, ToolSpec,
};
use agentry_sandbox::{
    CancelToken, Command, Cwd, Error as SandboxError, ProcessBounds, ProcessEnding, ProcessOutcome,
    SandboxJob, Streams,
};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::run_parsed;
use crate::limits::{DENIALS_MAX, SHELL_COMMAND_BYTES_MAX};
use crate::output::of_process;
use crate::sandbox_session::{SandboxSession, ToolSandbox, no_sandbox};
use crate::tool::{Tool, ToolContext, spec};
use crate::workspace::Error;

/// Maximum of bytes in a character.
const CHARACTER_BYTES: usize = 4;
const NAME: &str = "bash";

/// The command that a call of the shell runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellCallInput<'a> {
    /// The text of the command.
    pub command: &'a str,
    /// The directory of the command, as written; None for the workspace.
    pub cwd: Option<&'a str>,
}

/// Builds a call that runs a command in the workspace.
pub fn shell_call(id: CallId, command: &str) -> ToolCall {
    ToolCall { id, tool: ToolName::canonical(NAME), input: json!({ "command": command }) }
}

/// Returns the command that a call runs; None if it is no call of the shell.
pub fn shell_input(call: &ToolCall) -> Option<ShellCallInput<'_>> {
    let text = |name: &str| call.input.get(name).and_then(Value::as_str);
    let command = text("command").unwrap_or_default();
    (call.tool.as_str() == NAME).then(|| ShellCallInput { command, cwd: text("cwd") })
}

pub(crate) struct Bash {
    spec: ToolSpec,
    shell: &'static str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BashArgs {
    command: String,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
    max_output_chars: Option<u64>,
}

impl Bash {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "cwd": {"type": "string"},
                "timeout_ms": {"type": "integer", "minimum": 1},
                "max_output_chars": {"type": "integer", "minimum": 1}
            },
            "required": ["command"],
            "additionalProperties": false
        });
        let description = "Run a shell command, without a terminal. Gives stdout and stderr \
                           together, and the exit code if not 0. What it leaves running is ended.";
        let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        Self { spec: spec(NAME, description, parameters, RepeatSafety::Uncertain), shell }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome {
        run_parsed(input, |arguments: BashArgs| run(self.shell, arguments, context))
    }
}

fn run(
    shell: &str,
    arguments: BashArgs,
    context: &ToolContext<'_>,
) -> Result<ToolOutcome, ToolOutcome> {
    let bytes = arguments.command.len();
    if bytes > SHELL_COMMAND_BYTES_MAX {
        return Err(ToolOutcome::failed(format!(
            "The command has {bytes} bytes; at most {SHELL_COMMAND_BYTES_MAX} can be run. Write \
             it to a file and run that."
        )));
    }
    let limits = context.bounds;
    let timeout_ms = arguments.timeout_ms.unwrap_or(u64::MAX).min(limits.shell_timeout_ms);
    let chars = arguments.max_output_chars.unwrap_or(u64::MAX).min(limits.shell_output_chars);
    let chars_max = usize::try_from(chars).unwrap_or(usize::MAX);
    let bounds = ProcessBounds {
        time: Duration::from_millis(timeout_ms),
        output_bytes_max: chars_max.saturating_mul(CHARACTER_BYTES),
    };
    let command = Command {
        program: shell.into(),
        args: vec!["-c".into(), arguments.command.into()],
        cwd: cwd(arguments.cwd.as_deref(), context)?,
        env: env(context),
        stdin: None,
        streams: Streams::Together,
    };
    let (finished, refused) = match context.confines {
        ToolSandbox::Missing(why) => return Err(no_sandbox(why)),
        ToolSandbox::Off => (agentry_sandbox::run(&command, &bounds, context.stop), Vec::new()),
        ToolSandbox::In(confined) => in_sandbox(confined, &command, bounds, context.stop),
    };
    match finished {
        Ok(finished) => Ok(outcome(&finished, chars_max, &refused)),
        Err(error @ SandboxError::Sandbox { .. }) => {
            Err(ToolOutcome::refused(format!("The command was not run: {error}.")))
        }
        Err(error) => Err(ToolOutcome::failed(format!("The command was not run: {error}."))),
    }
}

/// Runs the command in a sandbox; also returns the connections that were refused.
fn in_sandbox(
    confined: &SandboxSession,
    command: &Command,
    bounds: ProcessBounds,
    stop: &CancelToken,
) -> (Result<ProcessOutcome, SandboxError>, Vec<Connection>) {
    let confinement = confined.confinement();
    let time = bounds.time.min(Duration::from_millis(confinement.limits.timeout_ms));
    let refused = Arc::new(Mutex::new(Vec::new()));
    let (tell, seen) = (confined.connected(), refused.clone());
    let connected = Arc::new(move |connection: Connection| {
        if connection.refused.is_some() {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(connection.clone());
        }
        tell(connection);
    });
    let bounds = ProcessBounds { time, ..bounds };
    let job = SandboxJob { command, confinement, bounds: &bounds, connected, hear: None };
    let finished = confined.sandbox().run(&job, stop);
    let refused = std::mem::take(&mut *refused.lock().unwrap_or_else(PoisonError::into_inner));
    (finished, refused)
}

fn cwd(given: Option<&str>, context: &ToolContext<'_>) -> Result<Cwd, ToolOutcome> {
    let given = given.unwrap_or(".");
    let workspace = context.workspace;
    let located = workspace.locate(given, context.judged);
    let opened = located.and_then(|real| workspace.open_real_dir(&real.path));
    match opened {
        Ok(dir) => Ok(Cwd::Handle(OwnedFd::from(dir.into_std_file()))),
        Err(Error::Outside { .. }) if context.bounds.shell_any_cwd => {
            Ok(Cwd::Path(workspace.path().join(given)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns a minimal environment without a sandbox, never our own; a sandbox has its own.
fn env(context: &ToolContext<'_>) -> Vec<(OsString, OsString)> {
    let minimal = [
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()),
        ("HOME", context.workspace.path().as_os_str().to_owned()),
        ("LANG", "C.UTF-8".into()),
        ("TERM", "dumb".into()),
        ("USER", "agent".into()),
    ];
    let minimal = minimal.into_iter().map(|(name, value)| (name.into(), value));
    let given = context.env.iter().map(|(name, value)| (name.into(), value.expose_secret().into()));
    match context.confines {
        ToolSandbox::In(_) => given.collect(),
        // A later variable replaces an earlier one with its name.
        ToolSandbox::Off | ToolSandbox::Missing(_) => minimal.chain(given).collect(),
    }
}

/// Returns one line for each refused host and each violation; the caller may hide their paths.
fn denials(finished: &ProcessOutcome, refused: &[Connection]) -> Vec<String> {
    let mut lines: Vec<String> = refused.iter().filter_map(Connection::denial).collect();
    let broken = finished.violations.iter().map(|line| format!("policy_violation: {line}"));
    lines.extend(broken);
    lines.dedup();
    if lines.len() > DENIALS_MAX {
        let more = lines.split_off(DENIALS_MAX).len();
        lines.push(format!("denied by sandbox: {more} more"));
    }
    lines
}

fn outcome(finished: &ProcessOutcome, chars_max: usize, refused: &[Connection]) -> ToolOutcome {
    let shown = of_process(&finished.stdout, chars_max);
    let denied = denials(finished, refused);
    let seconds = finished.duration.as_secs_f64();
    let (status, exit_code, end) = match finished.ending {
        // A command that touched a protected path has failed, even if it exits with 0.
        ProcessEnding::Exited(0) if !finished.violations.is_empty() => {
            (OutcomeStatus::Failed, Some(0), None)
        }
        ProcessEnding::Exited(0) => (OutcomeStatus::Done, Some(0), None),
        ProcessEnding::Exited(code) => {
            (OutcomeStatus::Failed, Some(code), Some(format!("exit code {code}, {seconds:.2} s")))
        }
        ProcessEnding::Signalled(signal) => {
            let end = format!("ended by signal {signal}, {seconds:.2} s");
            (OutcomeStatus::Failed, None, Some(end))
        }
        ProcessEnding::TimedOut => {
            let end = format!("timed out after {seconds:.2} s, all its processes were ended");
            (OutcomeStatus::Failed, None, Some(end))
        }
        ProcessEnding::OutOfMemory => {
            let end = format!("limit: memory, after {seconds:.2} s, all its processes were ended");
            (OutcomeStatus::Failed, None, Some(end))
        }
        ProcessEnding::Stopped => {
            let end = format!("stopped after {seconds:.2} s, all its processes were ended");
            (OutcomeStatus::Stopped, None, Some(end))
        }
    };
    let left_behind = match finished.left_behind {
        0 => None,
        1 => Some("1 background process was ended with the command".to_owned()),
        count => Some(format!("{count} background processes were ended with the command")),
    };
    let mut text = shown.text;
    for note in denied.iter().cloned().chain(left_behind).chain(end) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]"));
    }
    if text.is_empty() {
        text.push_str("[no output]");
    }
    let duration_ms = u64::try_from(finished.duration.as_millis()).ok();
    ToolOutcome {
        status,
        text,
        measured: CallMeasurements {
            exit_code,
            duration_ms,
            truncated: shown.is_cut,
            denied,
            redacted: 0,
        },
    }
}
