//! Sends an answer back where its question came from, piece by piece.
//!
//! Each piece is recorded right after it went out. Whoever sends the same answer again says how many pieces
//! went out before, and only the rest is sent.
//!
//! Must never: send a piece before the one before it went out, or go on after one that could not be
//! recorded.

use std::sync::Arc;

use agentry_kernel::chunk;
use agentry_kernel::links::LinkFilter;
use agentry_protocol::inbound::{
    ChannelAddress, Direction, EventId, Inbound, InboundContent, Sender,
};
use agentry_protocol::intake::{DeliveryError, DeliveryReport};
use serde_json::{Map, Value};

use crate::channel::{
    ChannelCapabilities, ChannelSender, Latch, OutgoingChunk, SentChunk, WaitClock,
};
use crate::limits::{
    DELIVERY_RETRIES_MAX, DELIVERY_RETRY_AFTER_MS_MAX, DELIVERY_RETRY_MS, DELIVERY_RETRY_MS_MAX,
};

/// An answer, and where it goes.
pub struct OutgoingAnswer<'a> {
    /// What is answered.
    pub event: &'a EventId,
    /// The answer.
    pub text: &'a str,
    /// What is done with addresses in each piece.
    pub links: &'a LinkFilter,
    /// Where it goes; its `reply_to_id` is carried by the first piece only.
    pub to: &'a ChannelAddress,
    /// What the channel can show. It must be what it was for the pieces that went out before.
    pub capabilities: &'a ChannelCapabilities,
    /// What the channel calls the pieces that went out before.
    pub before: &'a [Option<String>],
    /// What is to be known of it as an event: the turn, the persona.
    pub metadata: Map<String, Value>,
}

/// A piece that went out just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkReceipt<'a> {
    /// Which piece, from zero.
    pub chunk: u32,
    /// What the channel calls it.
    pub message_id: Option<&'a str>,
    /// Whether it was the last one.
    pub is_last: bool,
}

/// What sending needs.
pub struct SendContext<'a> {
    /// Sends one piece.
    pub way: &'a dyn ChannelSender,
    /// Waits between tries.
    pub clock: &'a dyn WaitClock,
    /// Ends the waiting.
    pub stop: &'a Arc<Latch>,
}

/// The pieces of an answer for a channel, each looked through for addresses as it is sent.
pub fn pieces(text: &str, capabilities: &ChannelCapabilities, links: &LinkFilter) -> Vec<String> {
    let limit = capabilities.limit();
    let pieces = chunk::chunks(text, limit, capabilities.markdown());
    pieces.into_iter().flat_map(|piece| links.rewrite_piece(piece, limit)).collect()
}

/// Sends what is left of an answer. What could not be recorded ends it with the recorder's error.
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
    Ok(delivered(answer, &pieces, sent, (error, means.clock.now_ms())))
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

/// How long to wait before another try; none if there is to be none.
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
    (error, now_ms): (Option<DeliveryError>, u64),
) -> DeliveryReport {
    let count = |many: usize| u32::try_from(many).unwrap_or(u32::MAX);
    let content = match sent.len() == pieces.len() {
        true => answer.text.to_owned(),
        false => pieces[..sent.len()].join("\n\n"),
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

/// What was sent, as an event. Its id follows from that of what it answers.
fn sent_event(answer: &OutgoingAnswer<'_>, content: String, now_ms: u64) -> Option<Inbound> {
    let channel = &answer.to.channel;
    let hash = agentry_protocol::ContentHash::of(answer.event.as_str().as_bytes());
    let plain = format!("sent:{}", answer.event);
    let id =
        EventId::of(channel, &plain).or_else(|_| EventId::of(channel, &format!("sent:{hash}")));
    let mut metadata = answer.metadata.clone();
    metadata.insert("in_reply_to".to_owned(), answer.event.as_str().into());
    let sender_id = answer.to.account_id.clone().unwrap_or_else(|| "agentry".to_owned());
    Some(Inbound {
        // A channel that nothing can come from cannot be answered on either.
        event_id: id.ok()?,
        timestamp: now_ms,
        body: InboundContent { content, ..InboundContent::default() },
        place: answer.to.clone(),
        sender: Sender { sender_id, sender_name: None },
        metadata,
        direction: Direction::Sent,
        backfill: false,
        hook_id: None,
        event_type: None,
    })
}
