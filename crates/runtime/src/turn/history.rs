//! The past of a branch, in the form that a model sees.
//!
//! The newest compaction of a branch limits the history: turns before the first one that it keeps
//! are not visible, so they are not read. Records that are older than compactions name their first
//! visible turn themselves.
//!
//! Must never: read more of a branch than needed, or leave turns out without a note.

use agentry_kernel::compaction::{self, BranchPruning, BranchTurn, Kind, RebuildMode};
use agentry_protocol::TurnId;
use agentry_protocol::context::ContextUpdate;
use agentry_protocol::event::{Event, TurnPlan};
use agentry_protocol::message::Message;
use agentry_store::{Ledger, TurnRow};

use crate::error::Error;
use crate::limits::{HISTORY_BYTES_MAX, HISTORY_PAGE_TURNS, HISTORY_TURNS_MAX};

/// The visible part of a branch, oldest turn first.
#[derive(Debug, Default)]
pub(crate) struct Branch {
    turns: Vec<PastTurn>,
    /// The outputs that are pruned on the branch.
    pub(crate) pruned: BranchPruning,
}

#[derive(Debug)]
struct PastTurn {
    id: TurnId,
    messages: Vec<Message>,
    context: ContextUpdate,
}

impl Branch {
    /// Reads the turns up to a head, from the first one that the newest compaction keeps.
    pub(crate) fn read(ledger: &Ledger, head: Option<&TurnId>) -> Result<Self, Error> {
        let mut turns: Vec<PastTurn> = Vec::new();
        let mut until = HistoryDepth::Root;
        let mut next = head.cloned();
        while let Some(head) = next {
            // A page is ordered oldest first.
            let page = ledger.branch(&head, HISTORY_PAGE_TURNS)?;
            next = page.first().and_then(|oldest| oldest.parent.clone());
            for row in page.into_iter().rev() {
                let past = PastTurn::read(ledger, row)?;
                until = until.after(&past);
                turns.push(past);
                if until.is_reached(&turns) {
                    next = None;
                    break;
                }
            }
        }
        turns.reverse();
        let pruned = BranchPruning::by(turns.iter().map(|turn| &turn.context.pruned));
        Ok(Self { turns, pruned })
    }

    /// Returns the turns in the kernel's form.
    pub(crate) fn view(&self) -> Vec<BranchTurn<'_>> {
        self.turns.iter().map(PastTurn::view).collect()
    }

    /// Returns the messages that a model sees.
    pub(crate) fn visible_messages(&self) -> Result<Vec<Message>, Error> {
        let shown = compaction::assemble(&self.view(), &self.pruned, RebuildMode::Compacted);
        shown.map_err(|broken| Error::Halted(broken.to_string()))
    }
}

/// The depth to which a branch is read.
enum HistoryDepth {
    Root,
    Turn(TurnId),
    Here,
}

impl HistoryDepth {
    /// Takes the depth from the newest compaction, which is met first.
    fn after(self, past: &PastTurn) -> Self {
        match (self, &past.context.compaction) {
            (Self::Root, Some(one)) => one.first_kept.clone().map_or(Self::Here, Self::Turn),
            (same, Some(_) | None) => same,
        }
    }

    fn is_reached(&self, turns: &[PastTurn]) -> bool {
        match self {
            Self::Root => false,
            Self::Turn(first) => turns.last().is_some_and(|turn| turn.id == *first),
            Self::Here => true,
        }
    }
}

impl PastTurn {
    fn read(ledger: &Ledger, row: TurnRow) -> Result<Self, Error> {
        let (messages, context) = match ended(ledger, &row)? {
            Some(Event::TurnEnded { messages, context, .. }) => (messages, *context),
            Some(_) | None => (Vec::new(), ContextUpdate::default()),
        };
        Ok(Self { id: row.id, messages, context })
    }

    fn view(&self) -> BranchTurn<'_> {
        let kind = match &self.context.compaction {
            Some(compaction) => Kind::Compaction(compaction),
            None => Kind::Normal,
        };
        BranchTurn { id: &self.id, kind, tokens: self.context.tokens, messages: &self.messages }
    }
}

fn ended(ledger: &Ledger, row: &TurnRow) -> Result<Option<Event>, Error> {
    let entry = row.ended_seq.map(|seq| ledger.entry(seq)).transpose()?.flatten();
    Ok(entry.map(|envelope| envelope.event))
}

/// True if a turn that ended is a compaction.
pub(crate) fn is_compaction(ledger: &Ledger, row: &TurnRow) -> Result<bool, Error> {
    Ok(match ended(ledger, row)? {
        Some(Event::TurnEnded { context, .. }) => context.compaction.is_some(),
        Some(_) | None => false,
    })
}

/// Returns the history that a turn received when it began.
pub(crate) fn as_given(ledger: &Ledger, plan: &TurnPlan) -> Result<Vec<Message>, Error> {
    if plan.compaction.is_some() {
        return Ok(Vec::new());
    }
    if let (Some(parent), Some(from)) = (&plan.parent, &plan.history_from) {
        return before_compactions(ledger, parent, from);
    }
    let mut branch = Branch::read(ledger, plan.parent.as_ref())?;
    branch.pruned.add(&plan.pruned);
    branch.visible_messages()
}

/// Returns the history of a turn that is older than compactions.
fn before_compactions(
    ledger: &Ledger,
    parent: &TurnId,
    from: &TurnId,
) -> Result<Vec<Message>, Error> {
    let mut shown = Vec::new();
    let mut left_out = 0;
    for (id, messages, depth) in walk(ledger, parent)? {
        let last = id == *from;
        left_out = depth.saturating_sub(1);
        shown.push(messages);
        if last {
            break;
        }
    }
    Ok(with_note(left_out, shown.into_iter().rev().flatten()))
}

/// Adds a note in the place of the turns that are left out.
fn with_note(left_out: u64, messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let content = format!("[{left_out} earlier turns of this session are not shown.]");
    let note = (left_out > 0).then_some(Message::user(content));
    note.into_iter().chain(messages).collect()
}

type TurnMessages = (TurnId, Vec<Message>, u64);

/// Reads the turns from newest to oldest, up to the limit on visible bytes.
fn walk(ledger: &Ledger, head: &TurnId) -> Result<Vec<TurnMessages>, Error> {
    let mut told = Vec::new();
    let mut bytes = 0;
    for turn in ledger.branch(head, HISTORY_TURNS_MAX)?.into_iter().rev() {
        let messages = match ended(ledger, &turn)? {
            Some(Event::TurnEnded { messages, .. }) => messages,
            Some(_) | None => Vec::new(),
        };
        bytes += size(&messages);
        told.push((turn.id, messages, turn.depth));
        if bytes > HISTORY_BYTES_MAX {
            break;
        }
    }
    Ok(told)
}

fn size(messages: &[Message]) -> usize {
    let one = |message: &Message| match message {
        Message::User { content, images } => {
            content.len() + images.iter().map(|image| image.data.len()).sum::<usize>()
        }
        Message::Tool { content, .. } => content.len(),
        Message::Assistant { content, thinking, calls, sealed } => {
            let calls = calls.iter().map(|call| call.input.to_string().len() + 64);
            let sealed = sealed.iter().flat_map(|sealed| &sealed.items);
            let sealed = sealed.map(|item| item.to_string().len());
            content.len() + thinking.len() + calls.sum::<usize>() + sealed.sum::<usize>()
        }
    };
    messages.iter().map(|message| one(message) + 32).sum()
}
