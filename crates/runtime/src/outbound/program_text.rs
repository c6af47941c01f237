//! Descriptions of events about agents' programs: jobs, hooks, event hooks, trust.
//!
//! Must never: leave out a failure.

use agentry_protocol::event::Event;
use agentry_protocol::event_hook::EventHookChange;
use agentry_protocol::hook::{
    GateAnswer, GateVerdict, HookChange, HookMoment, HookReport, HookResult, ShapeAnswer,
};
use agentry_protocol::job::{Job, JobChange, JobPurpose, JobReport};
use agentry_protocol::trust::TrustChange;

/// Describes a change of a job in one line.
pub fn job(change: &JobChange) -> String {
    match change {
        JobChange::Queued { job } => format!("{} queued: {}", job.id, purpose(job)),
        JobChange::Leased { job, lease } => {
            format!("{job} leased to {} (fence {})", lease.executor, lease.fence)
        }
        JobChange::Started { job, .. } => format!("{job} started"),
        JobChange::Renewed { job, .. } => format!("{job} still runs"),
        JobChange::Returned { job } => {
            format!("{job} was not started in time, and is queued again")
        }
        JobChange::Ended { job, state, report, .. } => {
            format!("{job} {}{}", state.as_str(), reported(report))
        }
    }
}

fn purpose(job: &Job) -> String {
    match &job.purpose {
        JobPurpose::Tool { tool, .. } => format!("the tool {tool} ({})", job.program),
        JobPurpose::Hook { moment } => format!("the hook {moment} ({})", job.program),
        JobPurpose::EventHook { hook } => format!("the event hook {hook} ({})", job.program),
    }
}

fn reported(report: &JobReport) -> String {
    let mut words = String::new();
    if let Some(why) = &report.why {
        words.push_str(&format!(": {why}"));
    }
    if let Some(time) = report.duration_ms {
        words.push_str(&format!(" ({time} ms)"));
    }
    if let Some(count) = report.left_behind {
        words.push_str(&format!("; {count} leftover processes were killed"));
    }
    for line in &report.denied {
        words.push_str(&format!("; {line}"));
    }
    words
}

/// Describes the start or result of a hook in one line.
pub fn hook(change: &HookChange) -> String {
    match change {
        HookChange::Started { moment, program, call, .. } => {
            let about = call.as_ref().map_or_else(String::new, |call| format!(" for {call}"));
            format!("hook {moment} ({program}) starts{about}")
        }
        HookChange::Finished { moment, program, report, .. } => {
            format!("hook {moment} ({program}): {}", came_of(*moment, report))
        }
        HookChange::StateSet { state } => {
            let names: Vec<&str> = state.keys().map(String::as_str).collect();
            format!("agent state: {}", names.join(", "))
        }
    }
}

fn came_of(moment: HookMoment, report: &HookReport) -> String {
    let words = match &report.result {
        HookResult::Failed { why } if moment.is_gate() => {
            format!("failed, and is ignored: {why}")
        }
        HookResult::Failed { why } => {
            format!("failed, so the static config is used: {why}")
        }
        HookResult::Shaped { shape } => shaped(shape),
        HookResult::Gated { answer } => gated(answer),
    };
    // Notes come first, because a long line may be cut.
    report.notes.iter().cloned().chain([words]).collect::<Vec<_>>().join("; ")
}

fn shaped(shape: &ShapeAnswer) -> String {
    let mut parts = Vec::new();
    if let Some(text) = &shape.system_prompt_append {
        parts.push(format!("adds to the prompt (text of the agent): {text}"));
    }
    if let Some(persona) = &shape.persona_override {
        parts.push(format!("persona {persona}"));
    }
    if !shape.tool_additions.is_empty() {
        parts.push(format!("adds tools {}", shape.tool_additions.join(", ")));
    }
    if !shape.tool_removals.is_empty() {
        parts.push(format!("removes tools {}", shape.tool_removals.join(", ")));
    }
    if let Some(updates) = &shape.state_updates {
        let names: Vec<&str> = updates.keys().map(String::as_str).collect();
        parts.push(format!("sets state {}", names.join(", ")));
    }
    if let Some(model) = &shape.model_override {
        parts.push(format!("model {model}"));
    }
    if parts.is_empty() { "changes nothing".to_owned() } else { parts.join("; ") }
}

fn gated(answer: &GateAnswer) -> String {
    let mut words = match answer.say {
        None | Some(GateVerdict::Allow) => "no objection".to_owned(),
        Some(GateVerdict::Ask) => "requires approval".to_owned(),
        Some(GateVerdict::Deny) => "denies the call".to_owned(),
    };
    if let Some(reason) = &answer.reason {
        words.push_str(&format!(": {reason}"));
    }
    if answer.updated_input.is_some() {
        words.push_str("; changes the arguments");
    }
    if let Some(context) = &answer.context {
        words.push_str(&format!("; adds (text of the agent): {context}"));
    }
    if let Some(why) = &answer.halt {
        words.push_str(&format!("; stops the turn: {why}"));
    }
    words
}

/// Describes a change of an event hook in one line.
pub fn event_hook(change: &EventHookChange) -> String {
    let because = |reason: &Option<String>| {
        reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"))
    };
    match change {
        EventHookChange::Registered { hook } => {
            format!("event hook {} version {} by {}", hook.name, hook.version, hook.created_by)
        }
        EventHookChange::Enabled { hook, by } => format!("event hook {hook} enabled by {by}"),
        EventHookChange::Disabled { hook, by, reason } => {
            format!("event hook {hook} disabled by {by}{}", because(reason))
        }
        EventHookChange::Deleted { hook, by } => format!("event hook {hook} deleted by {by}"),
        EventHookChange::Matched { event, invocations, .. } => {
            format!("{event} triggers {} event hooks", invocations.len())
        }
        EventHookChange::Begun { invocation } => format!("{invocation} starts"),
        EventHookChange::Invoked(one) => match (&one.error, one.fired) {
            (Some(error), _) => format!("{} of {} failed: {error}", one.id, one.hook_id),
            (None, true) => format!("{} of {} fired", one.id, one.hook_id),
            (None, false) => format!("{} of {} did not fire", one.id, one.hook_id),
        },
        EventHookChange::Settled { event } => format!("{event}: all event hooks have run"),
    }
}

/// Describes a change of trust in one line.
pub fn trust(change: &TrustChange) -> String {
    match change {
        TrustChange::Trusted(one) => {
            format!("{} trusted by {}: {} files", one.path, one.by, one.files.len())
        }
        TrustChange::Addresses(one) => {
            let all: Vec<&str> = one.addresses.iter().map(String::as_str).collect();
            format!("{} may connect to, trusted by {}: {}", one.path, one.by, all.join("; "))
        }
        TrustChange::Definitions(one) => match &one.confirmed_by {
            Some(by) => {
                format!("{} definitions in {} confirmed by {by}", one.files.len(), one.path)
            }
            None => format!("{} definitions first seen in {}", one.files.len(), one.path),
        },
        TrustChange::Withdrawn { path, by } => format!("trust in {path} revoked by {by}"),
    }
}

/// Returns a warning about a hook: a failure, an objection or a message; else None.
pub fn warning(event: &Event) -> Option<String> {
    let Event::Hook(HookChange::Finished { moment, program, report, .. }) = event else {
        return None;
    };
    match &report.result {
        HookResult::Gated { answer } if answer.say.is_none_or(|say| say == GateVerdict::Allow) => {
            let message = answer.message.clone().or_else(|| answer.halt.clone())?;
            Some(format!("hook {moment} ({program}): {message}"))
        }
        HookResult::Shaped { .. } if report.notes.is_empty() => None,
        HookResult::Shaped { .. } => {
            Some(format!("hook {moment} ({program}): {}", report.notes.join("; ")))
        }
        HookResult::Gated { .. } | HookResult::Failed { .. } => {
            Some(format!("hook {moment} ({program}): {}", came_of(*moment, report)))
        }
    }
}
