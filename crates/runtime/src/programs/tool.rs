//! A tool of an agent: it reads its arguments as JSON and answers in JSON.
//!
//! Must never: accept an answer that does not match the tool's own schema.

use agentry_agentfile::agent::{Agent, CustomTool, ToolKind};
use agentry_kernel::authority::schema_errors;
use agentry_protocol::job::{JobPurpose, JobState};
use agentry_protocol::tool_call::{
    CallMeasurements, OutcomeStatus, RepeatSafety, ToolCall, ToolOutcome, ToolSpec,
};
use serde_json::{Value, json};

use super::{AgentTool, ProgramCall, ProgramContext, Programs};
use crate::error::Error;
use crate::host::Host;
use crate::host::executor::{Artifact, Base64Bytes, FileVariables, JobOutcome, JobOutput};
use crate::limits::{ARTIFACTS_MAX, TOOL_ANSWER_CHARS_MAX};

/// Returns the specifications of an agent's own tools.
pub(crate) fn specs(agent: &Agent) -> impl Iterator<Item = ToolSpec> {
    agent.powers.toolset.iter().filter_map(|tool| match &tool.kind {
        ToolKind::Custom(custom) => Some(ToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone().unwrap_or_else(|| json!({"type": "object"})),
            category: tool.category,
            risk: tool.risk,
            repeat: if custom.read_only { RepeatSafety::Harmless } else { RepeatSafety::Uncertain },
        }),
        ToolKind::Host | ToolKind::Mcp { .. } => None,
    })
}

impl Programs {
    /// Runs a call of one of the agent's own tools.
    pub(crate) fn call(
        &self,
        context: &ProgramContext<'_>,
        tool: &AgentTool,
        call: &ToolCall,
    ) -> Result<ToolOutcome, Error> {
        let AgentTool { custom: tool, parameters } = tool;
        let about = context.about;
        let input = json!({
            "tool_name": call.tool.as_str(),
            "arguments": with_defaults(&call.input, parameters),
            "conversation_id": about.session.as_ref().map(|id| id.as_str()),
            "turn_id": about.turn.as_ref().map(|id| id.as_str()),
            "call_id": call.id.as_str(),
            "args": self.args,
        });
        let call = ProgramCall {
            purpose: JobPurpose::Tool { tool: call.tool.clone(), call: Some(call.id.clone()) },
            program: &tool.program,
            hash: &tool.hash,
            args: &[],
            file_variables: FileVariables::Tool,
            input,
            artifacts: tool.artifacts.as_deref(),
            timeout_ms: tool.timeout_ms,
        };
        let (_, ended) = self.run(context, call)?;
        outcome(context.host, tool, ended)
    }
}

/// Returns the arguments, with the schema's defaults for missing ones.
fn with_defaults(input: &Value, parameters: &Value) -> Value {
    let Some(given) = input.as_object() else { return input.clone() };
    let mut all = given.clone();
    let properties = parameters.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        if let Some(default) = schema.get("default").filter(|_| !all.contains_key(name)) {
            all.insert(name.clone(), default.clone());
        }
    }
    Value::Object(all)
}

fn outcome(host: &Host, tool: &CustomTool, ended: JobOutcome) -> Result<ToolOutcome, Error> {
    let JobOutcome { state, report, output } = ended;
    let measured = CallMeasurements {
        exit_code: report.exit_code,
        duration_ms: report.duration_ms,
        denied: report.denied,
        ..CallMeasurements::default()
    };
    let why = report.why.unwrap_or_else(|| "it did not work".to_owned());
    let with = |status, text: String| {
        let (text, truncated) = shortened(text);
        ToolOutcome { status, text, measured: CallMeasurements { truncated, ..measured.clone() } }
    };
    let failed = |why: &str| {
        let stderr = output.stderr.trim();
        let stderr = if stderr.is_empty() { String::new() } else { format!("\n{stderr}") };
        format!("The tool did not work: {why}.{stderr}")
    };
    match state {
        JobState::Succeeded => {}
        JobState::Cancelled => return Ok(with(OutcomeStatus::Stopped, failed(&why))),
        JobState::Uncertain => {
            let text = format!("Nobody knows whether it was done: {why}.");
            return Ok(with(OutcomeStatus::Uncertain, text));
        }
        JobState::Queued
        | JobState::Leased
        | JobState::Running
        | JobState::Failed
        | JobState::TimedOut => return Ok(with(OutcomeStatus::Failed, failed(&why))),
    }
    match answer(tool, &output) {
        Ok(mut text) => {
            text.push_str(&kept(host, &output.artifacts)?);
            Ok(with(OutcomeStatus::Done, text))
        }
        Err(why) => Ok(with(OutcomeStatus::Failed, failed(&why))),
    }
}

/// Returns the tool's answer, as the model receives it.
fn answer(tool: &CustomTool, output: &JobOutput) -> Result<String, String> {
    let (Base64Bytes(bytes), place) = match (&output.file, &output.stdout) {
        (Some(file), _) => (file.as_ref().map_err(Clone::clone)?, "output file"),
        (None, Some(stdout)) => (stdout.as_ref().map_err(Clone::clone)?, "standard output"),
        (None, None) => return Err("it ended without an answer".to_owned()),
    };
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("its {place} is not JSON: {error}"))?;
    if let Some(schema) = &tool.output {
        let misfits = schema_errors(schema, &value, "the answer");
        if !misfits.is_empty() {
            return Err(format!("its answer does not fit its schema: {}", misfits.join("; ")));
        }
    }
    // A string is passed as plain text, every other value as JSON.
    Ok(match value {
        Value::String(text) => text,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    })
}

/// Stores the files that the tool left; returns their names and hashes for the model.
fn kept(host: &Host, artifacts: &[Artifact]) -> Result<String, Error> {
    let mut lines = String::new();
    for artifact in artifacts.iter().take(ARTIFACTS_MAX) {
        let Base64Bytes(bytes) = &artifact.bytes;
        let hash = host.ledger.keep_file(bytes)?;
        let name = host.redactor.hide(&artifact.name);
        lines.push_str(&format!("\n[artifact {name}, {} bytes, {hash}]", bytes.len()));
    }
    Ok(lines)
}

fn shortened(text: String) -> (String, bool) {
    match text.char_indices().nth(TOOL_ANSWER_CHARS_MAX) {
        None => (text, false),
        Some((end, _)) => {
            let left_out = text[end..].chars().count();
            (format!("{}\n[{left_out} more characters are left out]", &text[..end]), true)
        }
    }
}
