//! The mailbox of one session: the waiting items, the running turn, and the next action.
//!
//! It receives inputs and returns actions; its owner records and performs them. Items keep their
//! order of arrival. A prompt never holds texts of two senders, that is of two authorities or two
//! places, and no item is steered into, pushed out by or stopped for another sender's.
//!
//! Must never: lose an item silently, or run two turns at once.

pub mod directive;
mod item;
mod restart;
pub mod settings;
mod wording;

use std::collections::VecDeque;

use agentry_protocol::access::Delivery;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{OverflowPolicy, SenderKind, UnrunReason};
use agentry_protocol::{ContentHash, TurnId};
use serde::{Deserialize, Serialize};

use crate::limits::{MAILBOX_SEEN_MAX, MAILBOX_WAITING_MAX};

pub use self::item::{
    AuthorityFilter, MailboxAction, MailboxInput, MailboxItem, MailboxSender, MailboxStartReason,
    MailboxStopReason, ReplyAddress,
};
pub use self::wording::DropNotice;

/// The mailbox of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mailbox {
    state: State,
    // Invariant: by number, and no id twice here, in `steering` and in `settled` together.
    waiting: VecDeque<QueuedItem>,
    /// Items sent to the running turn that it has not accepted yet.
    steering: VecDeque<QueuedItem>,
    // Invariant: at most one for each sender.
    notes: Vec<(MailboxSender, DropNotice)>,
    /// The newest ids of items that no longer wait.
    settled: VecDeque<EventId>,
    next_number: u64,
}

/// The activity of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// No turn or compaction is running.
    #[default]
    Idle,
    /// A turn was ordered and has not begun.
    Starting {
        /// The sender of the turn.
        work: MailboxTurn,
        /// The notice about dropped items in its prompt.
        note: Option<DropNotice>,
    },
    /// A turn is running.
    Running {
        /// The ID of the turn.
        turn: TurnId,
        /// The sender of the turn.
        work: MailboxTurn,
        /// True while the turn compacts its branch.
        compacting: bool,
    },
    /// The session is being compacted, without a turn.
    Compacting {
        /// True if it was asked to stop.
        stopped: bool,
    },
}

/// The sender of a turn, and a request to stop it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxTurn {
    /// The sender of its items.
    pub sender: MailboxSender,
    /// Set when the turn was asked to stop.
    pub stop: Option<StopRequest>,
}

/// A request to stop a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    /// The reason for stopping.
    pub why: MailboxStopReason,
    /// Items steered to the turn with a lower number are dropped with it.
    pub before: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct QueuedItem {
    number: u64,
    item: MailboxItem,
    /// The time of arrival, in milliseconds.
    since_ms: u64,
}

impl Mailbox {
    /// Returns the activity of the session.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns true if no item, turn or notice is left: then an empty mailbox is equal.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
            && self.waiting.is_empty()
            && self.steering.is_empty()
            && self.notes.is_empty()
    }

    /// Returns the waiting items, oldest first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &MailboxItem> {
        self.waiting.iter().map(|waiting| &waiting.item)
    }

    /// Returns the items sent to the running turn and not accepted yet, oldest first.
    pub fn steering(&self) -> impl ExactSizeIterator<Item = &MailboxItem> {
        self.steering.iter().map(|waiting| &waiting.item)
    }

    /// Handles an input and returns the actions to perform; `now_ms` is the current time.
    pub fn tell(&mut self, input: MailboxInput, now_ms: u64) -> Vec<MailboxAction> {
        let mut acts = Vec::new();
        match input {
            MailboxInput::Arrived(item) => self.arrived(item, now_ms, &mut acts),
            MailboxInput::TurnStarted { turn, sender } => self.turn_started(turn, sender),
            MailboxInput::StartFailed => self.start_failed(),
            MailboxInput::SteerTaken(id) => self.steer_taken(&id),
            MailboxInput::SteerFailed(id) => self.steer_failed(&id, &mut acts),
            MailboxInput::TurnEnded(turn) => self.turn_ended(&turn, &mut acts),
            MailboxInput::CompactionStarted => self.compaction_started(),
            MailboxInput::CompactionEnded => self.compaction_ended(),
            MailboxInput::Aborted(whose) => self.aborted(&whose, &mut acts),
            MailboxInput::Ticked => {}
        }
        self.go_on(now_ms, &mut acts);
        acts
    }

    fn arrived(&mut self, item: MailboxItem, now_ms: u64, acts: &mut Vec<MailboxAction>) {
        if self.knows(&item.id) {
            acts.push(MailboxAction::Repeated { id: item.id });
            return;
        }
        let busy = self.state != State::Idle || !self.waiting.is_empty();
        if busy && item.source == SenderKind::Heartbeat {
            self.drop_item(item, UnrunReason::Busy, acts);
            return;
        }
        let number = self.next_number;
        self.next_number += 1;
        let came = QueuedItem { number, item, since_ms: now_ms };
        if !busy {
            self.waiting.push_back(came);
            self.start(1, MailboxStartReason::Idle, acts);
            return;
        }
        match came.item.settings.mode {
            Delivery::Steer if self.can_steer(&came.item) => {
                acts.push(MailboxAction::Steer { item: came.item.clone() });
                self.steering.push_back(came);
            }
            Delivery::Interrupt => self.interrupt(came, acts),
            Delivery::Steer | Delivery::Followup | Delivery::Collect => self.enqueue(came, acts),
        }
    }

    fn knows(&self, id: &EventId) -> bool {
        let mut open = self.waiting.iter().chain(&self.steering);
        open.any(|waiting| waiting.item.id == *id) || self.settled.contains(id)
    }

    fn can_steer(&self, item: &MailboxItem) -> bool {
        let State::Running { work, compacting: false, .. } = &self.state else { return false };
        // An item that could not be steered must not be overtaken by the next.
        let behind = |waiting: &QueuedItem| {
            waiting.item.settings.mode == Delivery::Steer && waiting.item.sender == item.sender
        };
        work.stop.is_none()
            && work.sender == item.sender
            && self.steering.len() < item.settings.cap
            && !self.waiting.iter().any(behind)
    }

    fn interrupt(&mut self, came: QueuedItem, acts: &mut Vec<MailboxAction>) {
        let authority = came.item.sender.authority.clone();
        let others = self.waiting.iter().filter(|waiting| !waiting.is_of(&authority)).count();
        if others >= MAILBOX_WAITING_MAX {
            acts.push(MailboxAction::Rejected { item: came.item, why: UnrunReason::Full });
            return;
        }
        let whose = AuthorityFilter::Of(authority);
        self.drop_waiting(&whose, UnrunReason::Interrupted, acts);
        self.stop(
            &whose,
            StopRequest { why: MailboxStopReason::Interrupt, before: came.number },
            acts,
        );
        self.waiting.push_back(came);
    }

    fn aborted(&mut self, whose: &AuthorityFilter, acts: &mut Vec<MailboxAction>) {
        self.drop_waiting(whose, UnrunReason::Aborted, acts);
        self.stop(
            whose,
            StopRequest { why: MailboxStopReason::Abort, before: self.next_number },
            acts,
        );
    }

    fn drop_waiting(
        &mut self,
        whose: &AuthorityFilter,
        why: UnrunReason,
        acts: &mut Vec<MailboxAction>,
    ) {
        let all = std::mem::take(&mut self.waiting);
        for waiting in all {
            if whose.means(&waiting.item.sender.authority) {
                self.drop_item(waiting.item, why, acts);
            } else {
                self.waiting.push_back(waiting);
            }
        }
        // The notice concerns a queue that is gone.
        self.notes.retain(|(sender, _)| !whose.means(&sender.authority));
    }

    fn stop(&mut self, whose: &AuthorityFilter, stop: StopRequest, acts: &mut Vec<MailboxAction>) {
        match &mut self.state {
            State::Idle => {}
            State::Starting { work, .. } | State::Running { work, .. } => {
                if !whose.means(&work.sender.authority) {
                    return;
                }
                if work.stop.is_none() {
                    acts.push(MailboxAction::Cancel { why: stop.why });
                }
                work.stop = Some(stop);
            }
            State::Compacting { stopped } => {
                if *whose == AuthorityFilter::Everyone && !*stopped {
                    acts.push(MailboxAction::Cancel { why: stop.why });
                    *stopped = true;
                }
            }
        }
    }

    fn enqueue(&mut self, came: QueuedItem, acts: &mut Vec<MailboxAction>) {
        let (cap, policy) = (came.item.settings.cap.max(1), came.item.settings.drop);
        let sender = came.item.sender.clone();
        let mine = |waiting: &QueuedItem| waiting.item.sender == sender;
        let mut count = self.waiting.iter().filter(|waiting| mine(waiting)).count();
        let why = match policy {
            OverflowPolicy::New if count >= cap => {
                acts.push(MailboxAction::Rejected { item: came.item, why: UnrunReason::Cap });
                return;
            }
            OverflowPolicy::New | OverflowPolicy::Old => UnrunReason::Overflow,
            OverflowPolicy::Summarize => UnrunReason::Summarized,
        };
        if count < cap && self.waiting.len() >= MAILBOX_WAITING_MAX {
            acts.push(MailboxAction::Rejected { item: came.item, why: UnrunReason::Full });
            return;
        }
        while count >= cap {
            let oldest = self.waiting.iter().position(mine).expect("it was counted");
            let oldest = self.waiting.remove(oldest).expect("it was found there").item;
            if why == UnrunReason::Summarized {
                self.note_of(&sender).add(&oldest, cap);
            }
            self.drop_item(oldest, why, acts);
            count -= 1;
        }
        self.waiting.push_back(came);
    }

    fn note_of(&mut self, sender: &MailboxSender) -> &mut DropNotice {
        let at = self.notes.iter().position(|(one, _)| one == sender).unwrap_or_else(|| {
            self.notes.push((sender.clone(), DropNotice::default()));
            self.notes.len() - 1
        });
        &mut self.notes[at].1
    }

    fn turn_started(&mut self, turn: TurnId, sender: MailboxSender) {
        self.state = match std::mem::take(&mut self.state) {
            // Its prompt was delivered, and the notice with it.
            State::Starting { work, note: _ } => State::Running { turn, work, compacting: false },
            // The turn was started without the mailbox.
            State::Idle => {
                State::Running { turn, work: MailboxTurn { sender, stop: None }, compacting: false }
            }
            State::Compacting { stopped: _ } => {
                State::Running { turn, work: MailboxTurn { sender, stop: None }, compacting: true }
            }
            running @ State::Running { .. } => running,
        };
    }

    fn start_failed(&mut self) {
        match std::mem::take(&mut self.state) {
            State::Starting { work, note } => {
                // The notice has not been delivered yet.
                if let Some(note) = note {
                    self.give_back(&work.sender, note);
                }
            }
            other @ (State::Idle | State::Running { .. } | State::Compacting { .. }) => {
                self.state = other;
            }
        }
    }

    fn give_back(&mut self, sender: &MailboxSender, note: DropNotice) {
        let newer = self.note_of(sender);
        newer.dropped += note.dropped;
        newer.lines.splice(0..0, note.lines);
        let over = self.notes.len().saturating_sub(MAILBOX_WAITING_MAX);
        self.notes.drain(..over);
    }

    fn steer_taken(&mut self, id: &EventId) {
        let taken = take(&mut self.steering, id)
            // The turn may report this only after its end.
            .or_else(|| take(&mut self.waiting, id));
        if let Some(taken) = taken {
            self.settle(taken.item.id);
        }
    }

    fn steer_failed(&mut self, id: &EventId, acts: &mut Vec<MailboxAction>) {
        let Some(failed) = take(&mut self.steering, id) else { return };
        let stop = match &self.state {
            State::Starting { work, .. } | State::Running { work, .. } => work.stop,
            State::Idle | State::Compacting { .. } => None,
        };
        match stop.filter(|stop| failed.number < stop.before) {
            Some(StopRequest { why: MailboxStopReason::Interrupt, .. }) => {
                self.drop_item(failed.item, UnrunReason::Interrupted, acts);
            }
            Some(StopRequest { why: MailboxStopReason::Abort, .. }) => {
                self.drop_item(failed.item, UnrunReason::Aborted, acts);
            }
            None => {
                let at = self.waiting.partition_point(|one| one.number < failed.number);
                self.waiting.insert(at, failed);
            }
        }
    }

    fn turn_ended(&mut self, ended: &TurnId, acts: &mut Vec<MailboxAction>) {
        if !matches!(&self.state, State::Running { turn, .. } if turn == ended) {
            return;
        }
        // The turn accepts no further items.
        while let Some(first) = self.steering.front() {
            let id = first.item.id.clone();
            self.steer_failed(&id, acts);
        }
        self.state = State::Idle;
    }

    fn compaction_started(&mut self) {
        match &mut self.state {
            State::Idle => self.state = State::Compacting { stopped: false },
            State::Running { compacting, .. } => *compacting = true,
            State::Starting { .. } | State::Compacting { .. } => {}
        }
    }

    fn compaction_ended(&mut self) {
        match &mut self.state {
            State::Compacting { .. } => self.state = State::Idle,
            State::Running { compacting, .. } => *compacting = false,
            State::Starting { .. } | State::Idle => {}
        }
    }

    /// Starts the next turn if the session is idle, or returns the time to check again.
    fn go_on(&mut self, now_ms: u64, acts: &mut Vec<MailboxAction>) {
        if self.state != State::Idle {
            return;
        }
        let Some(first) = self.waiting.front() else { return };
        let why = match first.item.settings.mode {
            Delivery::Steer | Delivery::Followup => MailboxStartReason::FollowUp,
            Delivery::Interrupt => MailboxStartReason::Interrupt,
            Delivery::Collect => {
                let count = self.group();
                match self.quiet_at(count).filter(|at| *at > now_ms) {
                    Some(at) => acts.push(MailboxAction::WakeAt(at)),
                    None => self.start(count, MailboxStartReason::Collected, acts),
                }
                return;
            }
        };
        self.start(1, why, acts);
    }

    /// Returns the number of first items that share one turn.
    fn group(&self) -> usize {
        let sender = self.waiting.front().map(|first| &first.item.sender);
        let same = |waiting: &&QueuedItem| {
            waiting.item.settings.mode == Delivery::Collect && Some(&waiting.item.sender) == sender
        };
        self.waiting.iter().take_while(same).count()
    }

    /// Returns the time at which the group's quiet time ends; None if it need not wait.
    fn quiet_at(&self, count: usize) -> Option<u64> {
        let last = &self.waiting.get(count.checked_sub(1)?)?;
        // A group followed by another cannot grow, and a full one must not wait for ever.
        let closed = count < self.waiting.len() || count >= last.item.settings.cap;
        (!closed).then(|| last.since_ms.saturating_add(last.item.settings.debounce_ms))
    }

    fn start(&mut self, count: usize, why: MailboxStartReason, acts: &mut Vec<MailboxAction>) {
        let items: Vec<MailboxItem> =
            self.waiting.drain(..count).map(|waiting| waiting.item).collect();
        let sender = items.last().expect("a turn starts for at least one item").sender.clone();
        let note = self.notes.iter().position(|(one, _)| *one == sender);
        let note = note.map(|at| self.notes.remove(at).1);
        let prompt = match why {
            MailboxStartReason::Collected => wording::group_prompt(&items, note.as_ref()),
            MailboxStartReason::Idle
            | MailboxStartReason::FollowUp
            | MailboxStartReason::Interrupt => wording::single_prompt(&items[0], note.as_ref()),
        };
        for item in &items {
            self.settle(item.id.clone());
        }
        self.state = State::Starting { work: MailboxTurn { sender, stop: None }, note };
        acts.push(MailboxAction::Start { items, prompt, why });
    }

    fn drop_item(&mut self, item: MailboxItem, why: UnrunReason, acts: &mut Vec<MailboxAction>) {
        self.settle(item.id.clone());
        acts.push(MailboxAction::Dropped { item, why });
    }

    fn settle(&mut self, id: EventId) {
        self.settled.push_back(id);
        let over = self.settled.len().saturating_sub(MAILBOX_SEEN_MAX);
        self.settled.drain(..over);
    }
}

impl QueuedItem {
    fn is_of(&self, authority: &ContentHash) -> bool {
        self.item.sender.authority == *authority
    }
}

fn take(from: &mut VecDeque<QueuedItem>, id: &EventId) -> Option<QueuedItem> {
    let at = from.iter().position(|waiting| waiting.item.id == *id)?;
    from.remove(at)
}
