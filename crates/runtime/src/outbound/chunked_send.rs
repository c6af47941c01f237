//! Sends an answer to the channel of its question, chunk by chunk.
//!
//! Each chunk is recorded right after it was sent. A retry passes the number of chunks that were
//! sent before, and only the rest is sent.
//!
//! Must never: send a chunk before the previous one was sent, or continue after one that could not
//! be recorded.

use std::sync::Arc;

use agentry_kernel::chunk;
use agentry_kernel::links::LinkFilter;
use agentry_protocol::inbound::{ChannelAddress, Direction, EventId, Inbound, Sender};
use agentry_protocol::inbound_request::InboundMetadata;
use agentry_protocol::intake::{DeliveryError, DeliveryReport};
use serde_json::{Map, Value};

use crate::channel::{
    ChannelCapabilities, ChannelSender, Latch, OutgoingChunk, SentChunk, WaitClock,
};
use crate::limits::{
    DELIVERY_RETRIES_MAX, DELIVERY_RETRY_AFTER_MS_MAX, DELIVERY_RETRY_MS, DELIVERY_RETRY_MS_MAX,
};

/// An answer and its address.
pub struct OutgoingAnswer<'a> {
    /// The event that is answered.
    pub event: &'a EventId,
    /// The text of the answer.
    pub text: &'a str,
    /// The link filter that is applied to each chunk.
    pub links: &'a LinkFilter,
    /// The address; only the first chunk carries its `reply_to_id`.
    pub to: &'a ChannelAddress,
    /// The channel's capabilities; they must be equal in all tries of one answer.
    pub capabilities: &'a ChannelCapabilities,
    /// The channel's message ids of the chunks that were sent before.
    pub before: &'a [Option<String>],
    /// Metadata of the sent event: the turn, the persona.
    pub metadata: Map<String, Value>,
}

/// A chunk that was just sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkReceipt<'a> {
    /// The index of the chunk, from zero.
    pub chunk: u32,
    /// The channel's message id; None if it gave none.
    pub message_id: Option<&'a str>,
    /// True for the last chunk.
    pub is_last: bool,
}

/// The means to send chunks.
pub struct SendContext<'a> {
    /// Sends one chunk.
    pub way: &'a dyn ChannelSender,
    /// Waits between retries.
    pub clock: &'a dyn WaitClock,
    /// Ends a wait when set.
    pub stop: &'a Arc<Latch>,
}

/// Splits an answer into chunks for a channel, with the link filter applied to each.
pub fn pieces(text: &str, capabilities: &ChannelCapabilities, links: &LinkFilter) -> Vec<String> {
    let limit = capabilities.limit();
    let pieces = chunk::chunks(text, limit, capabilities.markdown());
    pieces.into_iter().flat_map(|piece| links.rewrite_piece(piece, limit)).collect()
}

/// Sends the rest of an answer. An error of `record` ends it.
pub fn deliver<E>(
    answer: &OutgoingAnswer<'_>,
    means: &SendContext<'_>,
    record: &mut dyn FnMut(ChunkReceipt<'_>) -> Result<(), E>,
) -> Result<DeliveryReport, E> {
    let pieces = pieces(answer.text, answer.capabilities, answer.links);
    let mut sent: Vec<Option<String>> = answer.before.to_vec();
    sent.truncate(pieces.len());
    let mut error = None;
    for (chunk, piece) in pieces.iter().enumerate().skip(sent.len()) {
        let outgoing = outgoing(answer, chunk, piece);
        match try_again_and_again(&outgoing, means) {
            Ok(SentChunk { message_id }) => {
                let is_last = chunk + 1 == pieces.len();
                let chunk = u32::try_from(chunk).unwrap_or(u32::MAX);
                record(ChunkReceipt { chunk, message_id: message_id.as_deref(), is_last })?;
                sent.push(message_id);
            }
            Err(why) => {
                error = Some(why);
                break;
            }
        }
    }
    Ok(delivered(answer, &pieces, sent, error, means.clock.now_ms()))
}

fn outgoing(answer: &OutgoingAnswer<'_>, chunk: usize, piece: &str) -> OutgoingChunk {
    let mut to = answer.to.clone();
    if chunk > 0 {
        to.reply_to_id = None;
    }
    OutgoingChunk { id: format!("{}#{chunk}", answer.event), to, content: piece.to_owned() }
}

fn try_again_and_again(
    outgoing: &OutgoingChunk,
    means: &SendContext<'_>,
) -> Result<SentChunk, DeliveryError> {
    let mut retries = 0;
    loop {
        let error = match means.way.send(outgoing) {
            Ok(sent) => return Ok(sent),
            Err(error) => error,
        };
        let Some(wait) = wait_after(&error, retries) else { return Err(error) };
        retries += 1;
        if means.clock.wait(wait, means.stop) {
            return Err(error);
        }
    }
}

/// Returns the wait before a retry, in milliseconds; None for no retry.
fn wait_after(error: &DeliveryError, retries: u32) -> Option<u64> {
    if retries >= DELIVERY_RETRIES_MAX {
        return None;
    }
    let usual = DELIVERY_RETRY_MS.saturating_mul(1 << retries).min(DELIVERY_RETRY_MS_MAX);
    match error {
        DeliveryError::RateLimited { retry_after_ms: Some(wanted) } => {
            (*wanted <= DELIVERY_RETRY_AFTER_MS_MAX).then_some(*wanted)
        }
        DeliveryError::RateLimited { retry_after_ms: None }
        | DeliveryError::Network { .. }
        | DeliveryError::Unknown { .. } => Some(usual),
        DeliveryError::PermissionDenied { .. }
        | DeliveryError::NotFound { .. }
        | DeliveryError::ContentRejected { .. } => None,
    }
}

fn delivered(
    answer: &OutgoingAnswer<'_>,
    pieces: &[String],
    sent: Vec<Option<String>>,
    error: Option<DeliveryError>,
    now_ms: u64,
) -> DeliveryReport {
    let count = |many: usize| u32::try_from(many).unwrap_or(u32::MAX);
    let content = if sent.len() == pieces.len() {
        answer.text.to_owned()
    } else {
        pieces[..sent.len()].join("\n\n")
    };
    let event = (!sent.is_empty()).then(|| sent_event(answer, content, now_ms)).flatten();
    DeliveryReport {
        event: answer.event.clone(),
        chunks: count(pieces.len()),
        chunks_sent: count(sent.len()),
        message_ids: sent.into_iter().flatten().collect(),
        total_chars: answer.text.chars().count() as u64,
        error,
        sent: event.map(Box::new),
    }
}

/// Returns the event of the sent answer. Its id derives from the id of the question.
fn sent_event(answer: &OutgoingAnswer<'_>, content: String, now_ms: u64) -> Option<Inbound> {
    let sender_id = answer.to.account_id.clone().unwrap_or_else(|| "agentry".to_owned());
    let sender = Sender { sender_id, sender_name: None };
    let sent_as =
        |source_id: &str| Inbound::new(source_id, now_ms, answer.to.clone(), sender.clone());
    // The id of a long question does not fit behind a prefix; its hash does.
    let sent = sent_as(&format!("sent:{}", answer.event)).or_else(|_| {
        let hash = agentry_protocol::ContentHash::of(answer.event.as_str().as_bytes());
        sent_as(&format!("sent:{hash}"))
    });
    // A channel whose name allows no event ids cannot receive answers either.
    let mut sent = sent.ok()?;
    sent.metadata = InboundMetadata::from_outside(answer.metadata.clone());
    sent.metadata.insert("in_reply_to".to_owned(), answer.event.as_str().into());
    sent.direction = Direction::Sent;
    Some(sent.with_text(content))
}
