//! The end of a turn: its ending, the messages that it adds, its effect on later turns.
//!
//! Must never: let a compaction without a summary replace turns.

use agentry_protocol::context::{Compaction, CompactionPlan, ContextUpdate};
use agentry_protocol::event::Ending;
use agentry_protocol::message::{FailureKind, Message, Usage};
use agentry_protocol::tool_call::OutcomeStatus;
use agentry_protocol::{ContentHash, ContentHasher};

use super::signal::{TurnLimit, TurnStopReason};
use super::{CallRecord, Turn};
use crate::compaction::summary_message;
use crate::moves::Move;
use crate::tokens;

/// The usage of all replies of a turn.
#[derive(Default)]
pub(super) struct TurnUsage {
    all: Usage,
    // Of the first and the last reply in use: the difference belongs to this turn.
    heard: Option<(Usage, Usage)>,
}

impl TurnUsage {
    pub(super) fn pay(&mut self, usage: Usage, is_heard: bool) {
        self.all = self.all.plus(usage);
        if is_heard {
            let first = self.heard.map_or(usage, |(first, _)| first);
            self.heard = Some((first, usage));
        }
    }

    /// Counts the tokens of these messages; None if a provider did not report all counts.
    fn counted(&self, messages: &[Message]) -> Option<u64> {
        let (first, last) = self.heard.filter(|(one, other)| !one.estimated && !other.estimated)?;
        Some(tokens::of_turn(Some(first), Some(last), messages))
    }
}

impl Turn {
    /// Returns true if the turn summarizes other turns.
    pub fn is_compaction(&self) -> bool {
        self.plan.compaction.is_some()
    }

    /// Returns true if the turn ended because its request was too long.
    pub fn overflowed(&self) -> bool {
        let failure = self.end.failure.as_ref();
        failure.is_some_and(|failure| failure.kind.is_too_long())
            && matches!(self.end.ended, Some((Ending::ModelFailed, _)))
    }

    /// Explains a stop at a limit or by a hook, or a failure of the model; None for other endings.
    pub fn failure_text(&self) -> Option<String> {
        if self.plan.compaction.is_some() && matches!(self.end.ended, Some((Ending::Failed, _))) {
            return Some("the model wrote no summary of the earlier turns".to_owned());
        }
        let limits = &self.charter.limits;
        match self.end.ended?.1 {
            TurnStopReason::Limit(TurnLimit::Steps) => {
                Some(format!("{} requests to the model", limits.steps_max))
            }
            TurnStopReason::Limit(TurnLimit::Calls) => {
                Some(format!("{} tool calls", limits.calls_max))
            }
            TurnStopReason::Limit(TurnLimit::Iterations) => Some("the iteration limit".to_owned()),
            TurnStopReason::Limit(TurnLimit::Tokens) => {
                Some(format!("{} tokens", limits.tokens_max.unwrap_or_default()))
            }
            TurnStopReason::Unanswered => {
                self.end.failure.as_ref().map(|failure| failure.message.clone())
            }
            TurnStopReason::Halted => self.hooks.halted.clone(),
            TurnStopReason::Done | TurnStopReason::Cancelled => None,
        }
    }

    pub(super) fn end(&mut self, why: TurnStopReason) -> Move {
        self.say_outcomes();
        for content in self.steers.drain(..) {
            self.talk.say(Message::user(content));
        }
        let refused = |record: &CallRecord| {
            record.outcome.as_ref().is_some_and(|one| one.status == OutcomeStatus::Refused)
        };
        let all_denied = !self.calls.is_empty() && self.calls.iter().all(refused);
        let ending = match why {
            TurnStopReason::Done if all_denied => Ending::Denied,
            TurnStopReason::Unanswered if self.is_too_dear() => Ending::LimitReached,
            TurnStopReason::Done
            | TurnStopReason::Cancelled
            | TurnStopReason::Unanswered
            | TurnStopReason::Limit(_)
            | TurnStopReason::Halted => why.ending(),
        };
        let (ending, messages, compaction) = match self.plan.compaction.as_deref() {
            None => (ending, self.talk.own(), None),
            Some(plan) => summed_up(plan, ending, why, self.end.result.as_deref()),
        };
        self.end.ended = Some((ending, why));
        let hash = self.hash(&messages, ending, compaction.as_ref());
        let context = Box::new(ContextUpdate {
            tokens: self.spent.counted(&messages).filter(|_| self.plan.compaction.is_none()),
            pruned: self.plan.pruned.clone(),
            compaction,
        });
        let (usage, result) = (self.spent.all, self.end.result.clone());
        Move::EndTurn { ending, hash, usage, result, messages, context }
    }

    /// Returns true if the model was not asked because the request exceeded the spending limit.
    fn is_too_dear(&self) -> bool {
        let failure = self.end.failure.as_ref();
        failure.is_some_and(|failure| failure.kind == FailureKind::SpendingLimit)
    }

    fn hash(
        &self,
        messages: &[Message],
        ending: Ending,
        compaction: Option<&Compaction>,
    ) -> ContentHash {
        let parent = self.plan.parent_hash.as_ref().map_or("", |hash| hash.as_str());
        let body = match compaction {
            None => serde_json::to_vec(&(messages, ending)),
            Some(one) => serde_json::to_vec(&(messages, ending, one)),
        };
        let body = body.expect("messages are plain JSON");
        let mut hasher = ContentHasher::default();
        hasher.part(parent.as_bytes()).part(&body).finish()
    }
}

/// Ends a compaction: it adds only its summary, and without a summary it adds nothing.
fn summed_up(
    plan: &CompactionPlan,
    ending: Ending,
    why: TurnStopReason,
    said: Option<&str>,
) -> (Ending, Vec<Message>, Option<Compaction>) {
    let said = said.map(str::trim).filter(|text| !text.is_empty());
    match (ending, said) {
        (Ending::Done, Some(summary)) => {
            let message = summary_message(summary);
            let tokens = plan.tokens_kept.saturating_add(tokens::of_messages([&message]));
            let compaction = Compaction {
                summary: summary.to_owned(),
                summarized_through: plan.summarized_through.clone(),
                first_kept: plan.first_kept.clone(),
                tokens_before: plan.tokens_before,
                tokens_after: tokens,
            };
            (Ending::Done, vec![message], Some(compaction))
        }
        (Ending::ModelFailed | Ending::Cancelled, _) => (ending, Vec::new(), None),
        // The request would have cost too much.
        (Ending::LimitReached, _) if why == TurnStopReason::Unanswered => {
            (ending, Vec::new(), None)
        }
        (Ending::Done | Ending::Failed | Ending::Denied | Ending::LimitReached, _) => {
            (Ending::Failed, Vec::new(), None)
        }
    }
}
