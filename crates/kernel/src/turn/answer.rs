//! The effect of a person's answer: approved, refused, or approved with changed arguments.
//!
//! Changed arguments are judged like those of a model. A denial stands, no matter who wrote them; a
//! need for approval is covered by the answer.
//!
//! Must never: extend an answer beyond its stated reach.

use agentry_bthread::Lane;
use agentry_protocol::ApprovalId;
use agentry_protocol::approval::{
    Approval, ApprovalAnswer, ApprovalKind, ApprovalScope, PermissionRequest,
};
use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::event::CallEdit;
use agentry_protocol::tool_call::ToolCall;
use agentry_protocol::verdict::Verdict;
use serde_json::Value;

use super::Turn;
use super::events::{approval_id, digest, standing_key};
use super::hooks::add_hook_questions;
use super::signal::Signal;
use crate::limits::REQUEST_MESSAGE_CHARS_MAX;
use crate::moves::Move;
use crate::permission_request;

impl Turn {
    /// Requests an approval or, if the sender lacks the permission, asks the owner for it.
    pub(super) fn ask_person(&mut self, number: u64) -> Move {
        let kind = self.kind_of(number);
        let record = self.record(number);
        let id = approval_id(&record.call, record.questions.count);
        record.questions.count += 1;
        record.questions.open = Some(id.clone());
        let (call, ruling) = (record.call.clone(), record.ruling.clone());
        let digest = record.digest.clone();
        let facts = record.facts.clone();
        Move::AskApproval(Box::new(Approval { id, call, ruling, digest, kind, facts }))
    }

    fn kind_of(&mut self, number: u64) -> ApprovalKind {
        let record = self.record(number);
        let Some(reason) =
            permission_request::missing_permission(&record.ruling).map(str::to_owned)
        else {
            return ApprovalKind::ToolCall;
        };
        let resources = permission_request::resources(&record.call);
        let (Some(bounds), Some(room)) = (&self.charter.authority.bounds, &self.requests) else {
            return ApprovalKind::ToolCall;
        };
        ApprovalKind::Permission(Box::new(PermissionRequest {
            requester: bounds.principal.clone(),
            requester_channel: bounds.channel.clone(),
            resources,
            reason,
            original_message: self.plan.message.chars().take(REQUEST_MESSAGE_CHARS_MAX).collect(),
            created_at: room.now_ms,
            expires_at: room.now_ms.saturating_add(room.limits.expires_ms),
        }))
    }

    pub(super) fn hear_answer(
        &mut self,
        at: usize,
        approval: &ApprovalId,
        answer: &ApprovalAnswer,
    ) {
        let permission = permission_request::missing_permission(&self.calls[at].ruling).is_some();
        if let Some(room) = self.requests.as_mut().filter(|_| permission) {
            permission_request::count_answer(room, answer);
        }
        let record = &mut self.calls[at];
        record.questions.open = None;
        record.questions.answered = Some(approval.clone());
        if !answer.allow {
            record.questions.no = Some(answer.clone());
        } else if let Some(input) = &answer.edit {
            return self.hear_edit(at, input);
        } else if answer.reach == ApprovalScope::Session && !permission {
            let key = standing_key(&record.digest, &record.facts.bound);
            self.plan.standing.insert(key, approval.clone());
        }
        self.program.offer(Lane::Normal, Signal::Decided(at as u64, answer.allow));
    }

    /// Replaces the arguments of the call.
    fn hear_edit(&mut self, at: usize, input: &Value) {
        let call = ToolCall { input: input.clone(), ..self.calls[at].call.clone() };
        // A person means the path's real target; the question fixed the files that it executes.
        let bound = self.calls[at].facts.bound.clone();
        let facts = CallFacts { bound, ..CallFacts::default() };
        let verdict = self.change(at, call, facts, None);
        let number = at as u64;
        self.program.offer(
            Lane::Normal,
            match verdict {
                Verdict::Allow | Verdict::Ask => Signal::Decided(number, true),
                Verdict::Deny => Signal::Forbidden(number),
            },
        );
    }

    /// Judges changed arguments again, no matter who changed them.
    pub(super) fn change(
        &mut self,
        at: usize,
        call: ToolCall,
        facts: CallFacts,
        by: Option<String>,
    ) -> Verdict {
        let mut ruling = self.ruled(&call, &facts);
        if ruling.verdict < Verdict::Deny
            && let Some(danger) = self.charter.authority.danger_at(&call, &facts)
        {
            ruling.verdict = Verdict::Deny;
            ruling.findings.push(danger);
        }
        // A person who changes arguments has already been asked.
        let is_refused = ruling.verdict == Verdict::Deny;
        if by.is_some()
            && !is_refused
            && permission_request::missing_permission(&self.calls[at].ruling).is_none()
        {
            ruling = self.within_room(ruling);
        }
        let digest = digest(&call);
        let record = &mut self.calls[at];
        add_hook_questions(&mut ruling, record.hooked.asks.iter().cloned());
        let verdict = ruling.verdict;
        record.edited = Some(Box::new(CallEdit {
            input: call.input.clone(),
            digest: digest.clone(),
            ruling: ruling.clone(),
            by,
        }));
        (record.call, record.digest, record.ruling, record.facts) = (call, digest, ruling, facts);
        verdict
    }
}
