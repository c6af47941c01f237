//! What a branch has said so far, as much of it as fits.
//!
//! The first turn that is shown stays the same from turn to turn until the room runs out, so that the
//! beginning of a request stays the same too; then half of the room is kept.
//!
//! Must never: read more of a branch than fits, or leave something out silently.

use agentry_protocol::TurnId;
use agentry_protocol::event::Event;
use agentry_protocol::message::Message;
use agentry_store::Ledger;

use crate::error::Error;
use crate::limits::{HISTORY_BYTES_MAX, HISTORY_TURNS_MAX};

/// The past of a turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) messages: Vec<Message>,
    /// The first turn that is shown.
    pub(crate) from: Option<TurnId>,
    /// How many turns before that are not.
    pub(crate) left_out: u64,
}

/// The past up to a head.
pub(crate) fn before(ledger: &Ledger, head: Option<&TurnId>) -> Result<History, Error> {
    let Some(head) = head else { return Ok(History::default()) };
    let kept_from = shown_from(ledger, head)?;
    let branch = walk(ledger, head)?;
    let sizes: Vec<usize> = branch.iter().map(|(_, messages, _)| size(messages)).collect();
    let total: usize = sizes.iter().sum();
    // Newest first in `branch`.
    let stay = branch.iter().position(|(id, _, _)| Some(id) == kept_from.as_ref());
    let fits = |count: usize| sizes.iter().take(count).sum::<usize>() <= HISTORY_BYTES_MAX;
    let count = match stay {
        Some(at) if fits(at + 1) => at + 1,
        None if fits(branch.len()) && total <= HISTORY_BYTES_MAX => branch.len(),
        Some(_) | None => half(&sizes),
    };
    let oldest = branch.get(count.saturating_sub(1));
    let left_out = oldest.map_or(0, |(_, _, depth)| depth.saturating_sub(1));
    let from = oldest.map(|(id, _, _)| id.clone());
    let shown = branch.into_iter().take(count).rev();
    let messages = with_note(left_out, shown.flat_map(|(_, messages, _)| messages));
    Ok(History { messages, from, left_out })
}

/// The past that a turn was given when it began.
pub(crate) fn as_given(
    ledger: &Ledger,
    parent: Option<&TurnId>,
    from: Option<&TurnId>,
) -> Result<Vec<Message>, Error> {
    let (Some(parent), Some(from)) = (parent, from) else { return Ok(Vec::new()) };
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

/// What is left out is said, where it would have stood.
fn with_note(left_out: u64, messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let content = format!("[{left_out} earlier turns of this session are not shown.]");
    let note = (left_out > 0).then_some(Message::user(content));
    note.into_iter().chain(messages).collect()
}

/// The newest turns that fill half of the room, but at least one.
fn half(sizes: &[usize]) -> usize {
    let mut used = 0;
    let fitting = sizes.iter().take_while(|size| {
        used += **size;
        used <= HISTORY_BYTES_MAX / 2
    });
    fitting.count().max(1)
}

type Told = (TurnId, Vec<Message>, u64);

/// Newest first, no further than could be shown.
fn walk(ledger: &Ledger, head: &TurnId) -> Result<Vec<Told>, Error> {
    let mut told = Vec::new();
    let mut bytes = 0;
    for turn in ledger.branch(head, HISTORY_TURNS_MAX)?.into_iter().rev() {
        let ended = turn.ended_seq.map(|seq| ledger.entry(seq)).transpose()?.flatten();
        let messages = match ended.map(|envelope| envelope.event) {
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

fn shown_from(ledger: &Ledger, head: &TurnId) -> Result<Option<TurnId>, Error> {
    let Some(turn) = ledger.turn(head)? else { return Ok(None) };
    let started = ledger.entry(turn.started_seq)?.map(|envelope| envelope.event);
    Ok(match started {
        // The first turn of a session was shown nothing; the next is shown it.
        Some(Event::TurnStarted(plan)) => Some(plan.history_from.unwrap_or_else(|| head.clone())),
        Some(_) | None => None,
    })
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
