//! A dialogue with a mailbox, written down: `time what -> acts`, one line for each thing it is told.
//!
//! `a1 ann@tg followup cap=3 drop=old` is an item with its id, sender, place and settings; its text is
//! `text of a1`. The other things are `started`, `start failed`, `ended`, `taken a1`, `failed a1`,
//! `compacting`, `compacted`, `abort`, `abort ann` and `tick`.

use agentry_kernel::mailbox::{
    AuthorityFilter, Mailbox, MailboxAction, MailboxInput, MailboxItem, MailboxSender, ReplyAddress,
};
use agentry_protocol::access::Delivery;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{OverflowPolicy, QueueSettings, SenderKind};
use agentry_protocol::{ContentHash, TurnId};

pub(super) struct Dialogue {
    pub(super) mailbox: Mailbox,
    turns: u128,
    sender: MailboxSender,
}

impl Dialogue {
    pub(super) fn new(mailbox: Mailbox) -> Self {
        Self { mailbox, turns: 0, sender: sender("nobody@nowhere") }
    }

    /// Tells each line, compares what is said, and hands out all acts.
    #[track_caller]
    pub(super) fn hold(&mut self, lines: &str) -> Vec<MailboxAction> {
        let mut all = Vec::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (told, expected) = line.split_once("->").expect("a line has an arrow");
            let (time, what) = told.trim().split_once(' ').expect("a line begins with a time");
            let input = self.input(what.trim(), time.parse().expect("a time in milliseconds"));
            let acts = self.mailbox.tell(input, time.parse().expect("a time in milliseconds"));
            if let Some(MailboxAction::Start { items, .. }) = acts.last() {
                self.sender = items[0].sender.clone();
            }
            let said: Vec<String> = acts.iter().map(words).collect();
            assert_eq!(said.join("; "), expected.trim(), "in the line `{line}`");
            all.extend(acts);
        }
        all
    }

    fn input(&mut self, what: &str, now_ms: u64) -> MailboxInput {
        let words: Vec<&str> = what.split_whitespace().collect();
        match words.as_slice() {
            ["started"] => {
                self.turns += 1;
                let turn = TurnId::from_number(self.turns);
                MailboxInput::TurnStarted { turn, sender: self.sender.clone() }
            }
            ["start", "failed"] => MailboxInput::StartFailed,
            ["ended"] => MailboxInput::TurnEnded(TurnId::from_number(self.turns)),
            ["taken", id] => MailboxInput::SteerTaken(event(id)),
            ["failed", id] => MailboxInput::SteerFailed(event(id)),
            ["compacting"] => MailboxInput::CompactionStarted,
            ["compacted"] => MailboxInput::CompactionEnded,
            ["abort"] => MailboxInput::Aborted(AuthorityFilter::Everyone),
            ["abort", who] => MailboxInput::Aborted(AuthorityFilter::Of(authority(who))),
            ["tick"] => MailboxInput::Ticked,
            [id, from, rest @ ..] => MailboxInput::Arrived(item(id, from, rest, now_ms)),
            _ => panic!("`{what}` is nothing a mailbox is told"),
        }
    }
}

/// A dialogue with an empty mailbox.
#[track_caller]
pub(super) fn check(lines: &str) -> Vec<MailboxAction> {
    Dialogue::new(Mailbox::default()).hold(lines)
}

pub(super) fn item(id: &str, from: &str, settings: &[&str], received_ms: u64) -> MailboxItem {
    let mut source = SenderKind::Person;
    let mut all = QueueSettings {
        mode: Delivery::Followup,
        debounce_ms: 1_000,
        cap: 20,
        drop: OverflowPolicy::Summarize,
    };
    for word in settings {
        match word.split_once('=') {
            Some(("cap", cap)) => all.cap = cap.parse().expect("a number"),
            Some(("drop", drop)) => all.drop = drop.parse().expect("a policy"),
            Some(("debounce", time)) => all.debounce_ms = time.parse().expect("a time"),
            Some(_) => panic!("`{word}` is no setting"),
            None if *word == "heartbeat" => source = SenderKind::Heartbeat,
            None => all.mode = word.parse().expect("a delivery"),
        }
    }
    let text = format!("text of {id}");
    MailboxItem { id: event(id), sender: sender(from), source, text, settings: all, received_ms }
}

pub(super) fn sender(from: &str) -> MailboxSender {
    let (who, channel) = from.split_once('@').expect("a sender is who@where");
    MailboxSender {
        authority: authority(who),
        place: ReplyAddress { channel: channel.to_owned(), ..ReplyAddress::default() },
    }
}

/// The event with this id on a channel that is only for tests.
pub(super) fn event(id: &str) -> EventId {
    EventId::of("t", id).expect("an id for tests is plain")
}

/// The id of an event without its channel.
pub(super) fn bare(id: &EventId) -> &str {
    id.as_str().strip_prefix("t:").expect("the event is of the channel for tests")
}

fn authority(who: &str) -> ContentHash {
    ContentHash::of(who.as_bytes())
}

fn words(act: &MailboxAction) -> String {
    let word = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
    match act {
        MailboxAction::Start { items, why, .. } => {
            let ids: Vec<&str> = items.iter().map(|item| bare(&item.id)).collect();
            format!("start {} ({})", ids.join("+"), word(why))
        }
        MailboxAction::Steer { item } => format!("steer {}", bare(&item.id)),
        MailboxAction::Cancel { why } => format!("cancel ({})", word(why)),
        MailboxAction::Rejected { item, why } => {
            format!("reject {} ({})", bare(&item.id), word(why))
        }
        MailboxAction::Dropped { item, why } => format!("drop {} ({})", bare(&item.id), word(why)),
        MailboxAction::Repeated { id } => format!("repeated {}", bare(id)),
        MailboxAction::WakeAt(at) => format!("wake {at}"),
    }
}

/// What acts say in words, in order.
pub(super) fn said(acts: &[MailboxAction]) -> Vec<String> {
    acts.iter().map(words).collect()
}
