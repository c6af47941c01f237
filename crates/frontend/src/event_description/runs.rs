//! The words about runs, turns and replies.
//!
//! Must never: report an ending as done that is not.

use agentry_protocol::ApprovalId;
use agentry_protocol::confinement::Attestation;
use agentry_protocol::context::Compaction;
use agentry_protocol::event::{Ending, RunPlan, TurnPlan};
use agentry_protocol::message::{ModelReply, Usage};
use agentry_runtime::outbound::agent_events::in_words;
use serde_json::Value;

use super::{EventDescription, EventNotice, NoticeTone, NoticeTopic, labeled, progress, silent};
use crate::diagnostics::plural;

pub(super) fn created(run: &str, plan: &RunPlan) -> EventDescription {
    let settings = format!("{} with {}, {}", plan.agent, plan.asked.model, plan.mode.as_str());
    let notice = EventNotice::new(NoticeTone::Progress, &format!("{run}: {settings}"));
    silent(format!("run of {settings}, {}", plural(plan.steps.len(), "step")))
        .with(notice.about(NoticeTopic::Run))
}

pub(super) fn resumed(run: &str) -> EventDescription {
    silent("run resumed").with_notice(NoticeTone::Progress, &format!("{run}: resumed"))
}

pub(super) fn paused(run: &str, approvals: &[ApprovalId]) -> EventDescription {
    let ids: Vec<&str> = approvals.iter().map(|id| id.as_str()).collect();
    let words = format!("waiting for approval: {}", ids.join(", "));
    let mut notice = EventNotice::new(NoticeTone::Progress, &words).about(NoticeTopic::Run);
    for id in ids {
        notice = notice.detail(&format!("agentry answer {id} yes|no"));
    }
    silent(format!("run paused, {words}")).with(notice.detail(&format!("agentry resume {run}")))
}

pub(super) fn ended(ending: Ending, message: Option<&str>) -> EventDescription {
    let why = in_words(ending, message);
    let words = format!("run ended: {why}");
    match ending {
        Ending::Done => silent(words),
        Ending::Cancelled => progress(words),
        Ending::Failed | Ending::Denied | Ending::LimitReached | Ending::ModelFailed => {
            silent(words).with_notice(NoticeTone::Error, &why)
        }
    }
}

pub(super) fn sandbox(attestation: &Attestation) -> String {
    let tried = plural(attestation.escapes.len(), "escape");
    format!("sandbox: {}, {tried} tried, all blocked", attestation.level)
}

pub(super) fn sandbox_missing(why: &str) -> EventDescription {
    let words = format!("no sandbox: {why}");
    let remedy = "commands and file tools are refused; `agentry doctor` shows how to fix it";
    silent(&words).with(EventNotice::new(NoticeTone::Warning, &words).detail(remedy))
}

pub(super) fn turn_started(plan: &TurnPlan) -> EventDescription {
    if let Some(one) = &plan.compaction {
        let (why, last) = (one.reason.as_str(), &one.summarized_through);
        return silent(format!("compaction starts ({why}): turns through {last} are summarized"))
            .with_notice(NoticeTone::Progress, &format!("compaction: {why}"));
    }
    let started = silent(format!("turn starts: {}", plan.prompt));
    if is_unconfined(plan) {
        let words = "the sandbox is off, commands can do everything that you can";
        let notice = EventNotice::new(NoticeTone::Warning, words);
        return started.with(notice.about(NoticeTopic::Run));
    }
    started
}

/// Returns true if a turn runs without a sandbox.
fn is_unconfined(plan: &TurnPlan) -> bool {
    plan.charter.pointer("/authority/confinement/level").and_then(Value::as_str) == Some("off")
}

pub(super) fn turn_ended(
    ending: Ending,
    usage: Usage,
    compaction: Option<&Compaction>,
) -> EventDescription {
    if let Some(one) = compaction {
        let words = format!("compaction ended: {}", compaction_result(one));
        return silent(format!("{words}: {}", one.summary))
            .with_notice(NoticeTone::Progress, &words);
    }
    let (why, read, written) = (in_words(ending, None), usage.input_tokens, usage.output_tokens);
    silent(format!("turn ended: {why}, {read} tokens in, {written} out"))
}

pub(super) fn reply(reply: &ModelReply) -> String {
    let calls = plural(reply.calls.len(), "call");
    labeled(&format!("the model replies with {calls}"), &reply.text)
}

/// Describes the result of a compaction.
pub fn compaction_result(one: &Compaction) -> String {
    let kept = match &one.first_kept {
        Some(first) => format!("kept from {first} on"),
        None => "no turn kept unchanged".to_owned(),
    };
    let Compaction { tokens_before, tokens_after, summarized_through, .. } = one;
    format!(
        "{tokens_before} → {tokens_after} tokens; summarized through {summarized_through}, {kept}"
    )
}
