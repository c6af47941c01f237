//! An answer on its way out: pieces, tries, and what is left after a crash.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use agentry_protocol::inbound::{ChannelAddress, Direction, EventId, PeerKind};
use agentry_protocol::intake::{DeliveryError, DeliveryReport};
use agentry_runtime::channel::{
    ChannelCapabilities, ChannelSender, Latch, OutgoingChunk, SentChunk, WaitClock,
};
use agentry_runtime::outbound::chunked_send::{ChunkReceipt, OutgoingAnswer, SendContext, deliver};
use serde_json::Map;

/// Answers as it is told, and remembers what it was asked to send.
struct Told {
    answers: Mutex<VecDeque<Result<(), DeliveryError>>>,
    sent: Mutex<Vec<OutgoingChunk>>,
}

impl ChannelSender for Told {
    fn send(&self, outgoing: &OutgoingChunk) -> Result<SentChunk, DeliveryError> {
        self.sent.lock().expect("no other thread failed").push(outgoing.clone());
        let answer =
            self.answers.lock().expect("no other thread failed").pop_front().unwrap_or(Ok(()));
        answer.map(|()| SentChunk { message_id: Some(format!("m-{}", outgoing.content)) })
    }
}

/// A clock whose waits are over at once.
#[derive(Default)]
struct Noted(Mutex<Vec<u64>>);

impl WaitClock for Noted {
    fn now_ms(&self) -> u64 {
        77
    }

    fn wait(&self, ms: u64, bell: &Arc<Latch>) -> bool {
        self.0.lock().expect("no other thread failed").push(ms);
        bell.is_set()
    }
}

struct Outcome {
    delivered: DeliveryReport,
    /// Content and `reply_to_id` of each try.
    tried: Vec<(String, Option<String>)>,
    ids: Vec<String>,
    waits: Vec<u64>,
    recorded: Vec<u32>,
}

fn place() -> ChannelAddress {
    ChannelAddress {
        channel: "chat".to_owned(),
        account_id: Some("me".to_owned()),
        peer_id: Some("p1".to_owned()),
        peer_kind: Some(PeerKind::Dm),
        guild: None,
        thread_id: None,
        reply_to_id: Some("m1".to_owned()),
    }
}

/// Three pieces: the words are too long to stand together.
fn text() -> String {
    ["a", "b", "c"].map(|sign| sign.repeat(30)).join(" ")
}

fn piece(sign: &str) -> String {
    sign.repeat(30)
}

fn sent_with(answers: Vec<Result<(), DeliveryError>>, before: &[Option<String>]) -> Outcome {
    sent_until(answers, before, &Arc::default())
}

fn sent_until(
    answers: Vec<Result<(), DeliveryError>>,
    before: &[Option<String>],
    stop: &Arc<Latch>,
) -> Outcome {
    let way = Told { answers: Mutex::new(answers.into()), sent: Mutex::default() };
    let clock = Noted::default();
    let recorded = RefCell::new(Vec::new());
    let answer = OutgoingAnswer {
        event: &EventId::of("chat", "7").expect("it is an id"),
        text: &text(),
        links: &agentry_kernel::links::LinkFilter::allow_all(),
        to: &place(),
        capabilities: &ChannelCapabilities {
            text_limit: Some(40),
            ..ChannelCapabilities::default()
        },
        before,
        metadata: Map::from_iter([("turn_id".to_owned(), "t1".into())]),
    };
    let delivered = deliver::<Infallible>(
        &answer,
        &SendContext { way: &way, clock: &clock, stop },
        &mut |went: ChunkReceipt<'_>| {
            // What went out is recorded before the next is tried.
            assert_eq!(
                way.sent.lock().expect("no other thread failed").last().expect("it was sent").id,
                format!("chat:7#{}", went.chunk)
            );
            recorded.borrow_mut().push(went.chunk);
            Ok(())
        },
    );
    let sent = way.sent.into_inner().expect("no other thread failed");
    Outcome {
        delivered: delivered.expect("recording works"),
        tried: sent.iter().map(|one| (one.content.clone(), one.to.reply_to_id.clone())).collect(),
        ids: sent.iter().map(|one| one.id.clone()).collect(),
        waits: clock.0.into_inner().expect("no other thread failed"),
        recorded: recorded.into_inner(),
    }
}

fn network() -> Result<(), DeliveryError> {
    Err(DeliveryError::Network { message: "down".to_owned() })
}

#[test]
fn an_answer_goes_out_in_order_and_only_the_first_piece_replies() {
    let outcome = sent_with(vec![], &[]);
    assert_eq!(
        outcome.tried,
        [(piece("a"), Some("m1".to_owned())), (piece("b"), None), (piece("c"), None)]
    );
    assert_eq!(outcome.ids, ["chat:7#0", "chat:7#1", "chat:7#2"]);
    assert_eq!(outcome.recorded, [0, 1, 2]);
    let delivered = outcome.delivered;
    assert_eq!((delivered.chunks, delivered.chunks_sent, delivered.error), (3, 3, None));
    assert_eq!(delivered.total_chars, 92);
    assert_eq!(delivered.message_ids.len(), 3);
    let sent = delivered.sent.unwrap();
    assert_eq!(sent.event_id.as_str(), "chat:sent:chat:7");
    assert_eq!((sent.direction, sent.timestamp), (Direction::Sent, 77));
    assert_eq!((sent.body.content, sent.sender.sender_id), (text(), "me".to_owned()));
    assert_eq!(sent.metadata.get("in_reply_to"), Some(&"chat:7".into()));
    assert_eq!(sent.metadata.get("turn_id"), Some(&"t1".into()));
}

#[test]
fn what_went_out_before_a_crash_is_not_sent_again() {
    let before = [Some("m-1".to_owned()), None];
    let outcome = sent_with(vec![], &before);
    assert_eq!(outcome.tried, [(piece("c"), None)]);
    assert_eq!(outcome.recorded, [2]);
    let ids = ["m-1".to_owned(), format!("m-{}", piece("c"))];
    assert_eq!(outcome.delivered.message_ids, ids);
    assert_eq!(outcome.delivered.chunks_sent, 3);
    let all = [None, None, None];
    let outcome = sent_with(vec![], &all);
    assert!(outcome.tried.is_empty());
    assert_eq!(outcome.delivered.chunks_sent, 3);
}

#[test]
fn a_broken_way_is_tried_three_times_more_and_the_rest_is_told() {
    let outcome = sent_with(vec![Ok(()), network(), network(), Ok(()), Ok(())], &[]);
    assert_eq!(outcome.waits, [1_000, 2_000]);
    assert_eq!(outcome.delivered.chunks_sent, 3);
    let outcome = sent_with(vec![Ok(()), network(), network(), network(), network()], &[]);
    assert_eq!(outcome.waits, [1_000, 2_000, 4_000]);
    assert_eq!(outcome.ids, ["chat:7#0", "chat:7#1", "chat:7#1", "chat:7#1", "chat:7#1"]);
    assert_eq!(outcome.recorded, [0]);
    let delivered = outcome.delivered;
    assert_eq!((delivered.chunks, delivered.chunks_sent), (3, 1));
    assert_eq!(delivered.error, Some(DeliveryError::Network { message: "down".to_owned() }));
    assert_eq!(delivered.sent.unwrap().body.content, piece("a"));
}

#[test]
fn a_channel_says_itself_when_it_wants_the_next_try() {
    let limited = |ms| Err(DeliveryError::RateLimited { retry_after_ms: ms });
    let outcome = sent_with(vec![limited(Some(42_000)), limited(None), Ok(())], &[]);
    assert_eq!(outcome.waits, [42_000, 2_000]);
    assert_eq!(outcome.delivered.chunks_sent, 3);
    let outcome = sent_with(vec![limited(Some(600_001))], &[]);
    assert!(outcome.waits.is_empty());
    assert_eq!((outcome.delivered.chunks_sent, outcome.tried.len()), (0, 1));
    assert!(outcome.delivered.sent.is_none());
}

#[test]
fn what_will_not_work_later_is_not_tried_again() {
    let text = || "no".to_owned();
    let errors = [
        DeliveryError::PermissionDenied { reason: text() },
        DeliveryError::NotFound { target: text() },
        DeliveryError::ContentRejected { reason: text() },
    ];
    for error in errors {
        let outcome = sent_with(vec![Err(error.clone())], &[]);
        assert_eq!((outcome.tried.len(), outcome.waits.len()), (1, 0));
        assert_eq!(outcome.delivered.error, Some(error));
    }
}

#[test]
fn a_stop_ends_the_waiting() {
    let stop: Arc<Latch> = Arc::default();
    stop.set();
    let outcome = sent_until(vec![network()], &[], &stop);
    assert_eq!((outcome.tried.len(), outcome.waits), (1, vec![1_000]));
}

#[test]
fn what_cannot_be_recorded_ends_it() {
    let way = Told { answers: Mutex::default(), sent: Mutex::default() };
    let answer = OutgoingAnswer {
        event: &EventId::of("chat", "7").unwrap(),
        text: &text(),
        links: &agentry_kernel::links::LinkFilter::allow_all(),
        to: &place(),
        capabilities: &ChannelCapabilities {
            text_limit: Some(40),
            ..ChannelCapabilities::default()
        },
        before: &[],
        metadata: Map::new(),
    };
    let means = SendContext { way: &way, clock: &Noted::default(), stop: &Arc::default() };
    let ended = deliver(&answer, &means, &mut |_| Err("the disk is full"));
    assert_eq!(ended, Err("the disk is full"));
    assert_eq!(way.sent.lock().unwrap().len(), 1);
}
