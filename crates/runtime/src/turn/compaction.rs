//! Makes a prompt fit: prunes old outputs, or summarizes older turns in a turn of its own.
//!
//! A compaction is a turn like any other: it is planned, recorded and driven in the same way, and
//! the head moves to it when it ends. The kernel makes all decisions.
//!
//! Must never: begin a compaction of no turns, or ask a model for an already recorded summary.

use agentry_kernel::charter::Charter;
use agentry_kernel::compaction::{
    self, BranchTurn, CompactionAction, CompactionError, CompactionInput, CompactionLimits,
    CompactionTrigger, Kind, SummaryPlan,
};
use agentry_kernel::prompt::TemplateIds;
use agentry_kernel::tokens;
use agentry_kernel::turn::Turn;
use agentry_protocol::TurnId;
use agentry_protocol::context::CompactionPlan;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::{Ending, Event, TurnPlan};
use agentry_protocol::message::Message;

use crate::definitions::plan::{self, COMPACT, FOCUS};
use crate::error::Error;
use crate::host::tool_source::ToolScope;
use crate::redact::redaction;
use crate::run_request::RunRequest;
use crate::turn::charter;
use crate::turn::history::Branch;
use crate::turn::runner::{ActiveRun, PendingTurn, RunOutcome, Runner};
use crate::turn::session::{TurnExit, halted};
use crate::turn::step_exit::{StepExit, finish};

/// The result of making a prompt fit.
pub(crate) enum PromptFit {
    /// The turn can begin, with these messages as its history.
    Ready(Vec<Message>),
    /// A compaction did not succeed; its exit is that of the step.
    Exited(StepExit),
    /// The prompt cannot be made short enough.
    Stuck(CompactionError),
}

/// A compaction that is about to run.
struct PendingCompaction {
    compact: SummaryPlan,
    trigger: CompactionTrigger,
    focus: Option<String>,
    prompt: String,
}

impl Runner<'_> {
    /// Compacts the older turns of a session on request. Returns None, and records nothing, if
    /// there is nothing to compact.
    pub fn compact(
        &self,
        order: RunRequest,
        focus: Option<&str>,
        accepted: &mut dyn FnMut(&EntrySubject),
    ) -> Result<Option<RunOutcome>, Error> {
        let order = redaction::order(&self.host.redactor, order);
        let mut plan = plan::of_order(self.definitions, &order)?;
        for step in &mut plan.steps {
            COMPACT.clone_into(&mut step.uses);
        }
        if let Some(focus) = focus {
            plan.given.inputs.insert(FOCUS.to_owned(), self.host.redactor.hide(focus));
        }
        let key = order.session.as_ref();
        let found = key.map(|key| self.host.ledger.session_named(key, &order.agent)).transpose()?;
        let head = found.flatten().and_then(|row| row.head);
        let branch = Branch::read(&self.host.ledger, head.as_ref())?;
        let limits = CompactionLimits::of_window(self.host.window(&plan.asked.model));
        let moment = TemplateIds { session: None, turn: None };
        let terms = plan::terms(&plan, 0);
        let agent = self.definitions.agent(&order.agent)?;
        let scope = ToolScope { definitions: self.definitions, agent, step: None };
        let charter = charter::of_scope(&scope, &self.host.tools, &terms, &moment)?;
        match asked(&branch, &limits, beside(&charter, &limits))? {
            Some(_) => self.begin(order, plan, accepted).map(Some),
            None => Ok(None),
        }
    }

    /// Runs the step of a run that only compacts.
    pub(crate) fn compact_asked(
        &self,
        underway: &mut ActiveRun,
        at: usize,
    ) -> Result<StepExit, Error> {
        let ledger = &self.host.ledger;
        let head = ledger.session(&underway.session)?.and_then(|row| row.head);
        let branch = Branch::read(ledger, head.as_ref())?;
        let limits = CompactionLimits::of_window(self.host.window(&underway.plan.asked.model));
        let charter = self.charter(underway, at, &TurnId::from_number((self.host.new_number)()))?;
        let Some(compact) = asked(&branch, &limits, beside(&charter, &limits))? else {
            return Ok((TurnExit::Ended(Ending::Done), None));
        };
        let focus = underway.plan.given.inputs.get(FOCUS).cloned();
        let turns = branch.view();
        let prompt =
            compaction::request(&turns, &compact, &branch.pruned, focus.as_deref(), &limits);
        self.sum_up(
            underway,
            at,
            PendingCompaction { compact, trigger: CompactionTrigger::Asked, focus, prompt },
        )
    }

    /// Makes a turn's prompt fit, and writes its parent and its pruning into the plan.
    pub(crate) fn make_room(
        &self,
        underway: &mut ActiveRun,
        turn: PendingTurn<'_>,
        plan: &mut TurnPlan,
        trigger: CompactionTrigger,
    ) -> Result<PromptFit, Error> {
        let PendingTurn { id, charter } = turn;
        let limits = CompactionLimits::of_window(self.host.window(&underway.plan.asked.model));
        let other_tokens = beside(charter, &limits);
        let said = [Message::User { content: plan.prompt.clone(), images: plan.images.clone() }];
        let begun = BranchTurn { id, kind: Kind::UnderWay, tokens: None, messages: &said };
        let mut trigger = trigger;
        loop {
            let row = self.host.ledger.session(&underway.session)?;
            plan.parent = row.and_then(|row| row.head);
            let mut branch = Branch::read(&self.host.ledger, plan.parent.as_ref())?;
            let mut turns = branch.view();
            turns.push(begun);
            let question =
                CompactionInput { branch: &turns, pruned: &branch.pruned, other_tokens, trigger };
            match compaction::plan(&question, &limits) {
                Ok(CompactionAction::Nothing) => {}
                Ok(
                    CompactionAction::PruneOnly { pruning }
                    | CompactionAction::OneGiantTurn { truncate: pruning },
                ) => {
                    plan.pruned = pruning;
                }
                Ok(CompactionAction::Compact(compact)) => {
                    let prompt =
                        compaction::request(&turns, &compact, &branch.pruned, None, &limits);
                    let at = plan.step as usize;
                    let summing = PendingCompaction { compact, trigger, focus: None, prompt };
                    match self.sum_up(underway, at, summing)? {
                        (TurnExit::Ended(Ending::Done), _) => trigger = CompactionTrigger::Request,
                        ended => return Ok(PromptFit::Exited(ended)),
                    }
                    continue;
                }
                Err(CompactionError::Broken(broken)) => {
                    return Err(Error::Halted(broken.to_string()));
                }
                // Our token count is a guess: only the provider knows the real limit.
                Err(CompactionError::TooLarge { .. }) if trigger == CompactionTrigger::Request => {}
                Err(stuck) => return Ok(PromptFit::Stuck(stuck)),
            }
            branch.pruned.add(&plan.pruned);
            return Ok(PromptFit::Ready(branch.visible_messages()?));
        }
    }

    /// Runs a compaction as a turn under the head.
    fn sum_up(
        &self,
        underway: &mut ActiveRun,
        at: usize,
        summing: PendingCompaction,
    ) -> Result<StepExit, Error> {
        let PendingCompaction { compact, trigger, focus, prompt } = summing;
        let id = TurnId::from_number((self.host.new_number)());
        let charter = self.charter(underway, at, &id)?;
        let denied = self.before_compaction(underway, at, &charter, trigger_word(trigger))?;
        if let Some(why) = denied {
            return Ok((TurnExit::Ended(Ending::Denied), Some(why)));
        }
        let charter = charter.for_compaction();
        let parent = self.host.ledger.session(&underway.session)?.and_then(|row| row.head);
        let plan = TurnPlan {
            parent_hash: self.hash_of(parent.as_ref())?,
            parent,
            history_from: None,
            pruned: Default::default(),
            compaction: Some(Box::new(CompactionPlan {
                reason: trigger.reason(),
                focus,
                summarized_through: compact.summarized_through,
                first_kept: compact.first_kept,
                tokens_before: compact.tokens_before,
                tokens_kept: compact.tokens_kept,
            })),
            step: u32::try_from(at).unwrap_or(u32::MAX),
            prompt: self.host.redactor.hide(&prompt),
            images: Vec::new(),
            charter: serde_json::to_value(&charter).expect("a charter is plain JSON"),
            standing: Default::default(),
            shaping: Default::default(),
        };
        let (mut turn, moves) = Turn::begin(charter, &plan, Vec::new()).map_err(halted)?;
        let mut session = self.session(underway, &id, at)?;
        session.workers.confine(turn.charter(), &underway.held.homes);
        session.workers.quiet = true;
        let started = Event::TurnStarted(Box::new(plan));
        session.record_and_perform(&mut turn, vec![started], None, moves)?;
        finish(session, &mut turn, underway)
    }
}

/// Plans a compaction on request; returns None if there is nothing to compact.
fn asked(
    branch: &Branch,
    limits: &CompactionLimits,
    other_tokens: u64,
) -> Result<Option<SummaryPlan>, Error> {
    let turns = branch.view();
    let trigger = CompactionTrigger::Asked;
    let question =
        CompactionInput { branch: &turns, pruned: &branch.pruned, other_tokens, trigger };
    match compaction::plan(&question, limits) {
        Ok(CompactionAction::Compact(compact)) => Ok(Some(compact)),
        Ok(
            CompactionAction::Nothing
            | CompactionAction::PruneOnly { .. }
            | CompactionAction::OneGiantTurn { .. },
        ) => Ok(None),
        Err(stuck) => Err(Error::Halted(stuck.to_string())),
    }
}

/// Returns the tokens of the prompt beside the messages: system prompt and tools.
fn beside(charter: &Charter, limits: &CompactionLimits) -> u64 {
    let tools = serde_json::to_string(&charter.tools).expect("tools are plain JSON");
    tokens::of_texts(&[&charter.system, &tools], limits.window)
}

/// Returns the trigger word that hooks of other runtimes know.
fn trigger_word(trigger: CompactionTrigger) -> &'static str {
    match trigger {
        CompactionTrigger::Asked => "manual",
        CompactionTrigger::Request | CompactionTrigger::Overflow { .. } => "auto",
    }
}
