//! Delivers new world entries to this process's running sessions and to its world listeners.
//!
//! One thread follows the ledger for all of them; it ends when the last subscriber leaves.
//!
//! Must never: deliver an entry twice, out of order, or to another session.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard};

use agentry_protocol::SessionId;
use agentry_protocol::envelope::{Envelope, LedgerStream};
use agentry_store::{EntryFilter, Ledger, Tail};

use crate::error::Error;
use crate::host::session_message::SessionMessage;
use crate::limits::{TAIL_LOOK_TIME_MAX, TURN_ENTRIES_MAX};
use crate::spawn;

/// The follower of the ledger that all subscribers of this process share.
#[derive(Clone, Default)]
pub struct LedgerFollower(Arc<Mutex<LedgerSubscribers>>);

/// The subscribers and the position of the follower thread.
#[derive(Default)]
struct LedgerSubscribers {
    sessions: HashMap<SessionId, SessionSubscriber>,
    lookouts: HashMap<u64, WorldListener>,
    /// True while the follower thread runs; it ends when no subscriber is left.
    goes: bool,
    next_number: u64,
    /// The sequence number up to which all entries were delivered.
    after_seq: u64,
}

struct SessionSubscriber {
    number: u64,
    after_seq: u64,
    news: Sender<SessionMessage>,
}

/// A listener that receives all world entries, or the reason why no more will come.
pub(crate) type WorldListener = Box<dyn Fn(Result<&[Envelope], &str>) + Send>;

/// A subscription to all world entries; dropping it ends it.
pub(crate) struct WorldSubscription {
    mail: LedgerFollower,
    number: u64,
}

impl Drop for WorldSubscription {
    fn drop(&mut self) {
        self.mail.round().lookouts.remove(&self.number);
    }
}

/// A session's subscription to its world entries; dropping it ends it.
pub(crate) struct SessionSubscription {
    mail: LedgerFollower,
    session: SessionId,
    number: u64,
}

impl Drop for SessionSubscription {
    fn drop(&mut self) {
        let mut round = self.mail.round();
        if round.sessions.get(&self.session).is_some_and(|one| one.number == self.number) {
            round.sessions.remove(&self.session);
        }
    }
}

impl LedgerFollower {
    /// Subscribes a session to its world entries after `after_seq`.
    pub(crate) fn follow(
        &self,
        ledger: &Ledger,
        session: &SessionId,
        after_seq: u64,
        news: Sender<SessionMessage>,
    ) -> Result<SessionSubscription, Error> {
        let mut round = self.round();
        self.see_that_it_goes(&mut round, ledger, after_seq)?;
        // Entries that the thread delivered to earlier subscribers already.
        let mut seen = after_seq;
        if round.after_seq > after_seq {
            let stream = Some(LedgerStream::World);
            let filter =
                EntryFilter { session: Some(session.clone()), stream, ..EntryFilter::default() };
            for envelope in ledger.read_from(after_seq, &filter, TURN_ENTRIES_MAX)? {
                seen = envelope.seq;
                bring(&news, envelope);
            }
        }
        let number = round.next_number;
        round.next_number += 1;
        let one = SessionSubscriber { number, after_seq: seen, news };
        round.sessions.insert(session.clone(), one);
        Ok(SessionSubscription { mail: self.clone(), session: session.clone(), number })
    }

    /// Subscribes a listener to all world entries from now on; earlier ones may be among them.
    pub(crate) fn watch(
        &self,
        ledger: &Ledger,
        lookout: WorldListener,
    ) -> Result<WorldSubscription, Error> {
        let after_seq = ledger.last_seq()?;
        let mut round = self.round();
        self.see_that_it_goes(&mut round, ledger, after_seq)?;
        let number = round.next_number;
        round.next_number += 1;
        round.lookouts.insert(number, lookout);
        Ok(WorldSubscription { mail: self.clone(), number })
    }

    fn see_that_it_goes(
        &self,
        round: &mut LedgerSubscribers,
        ledger: &Ledger,
        after_seq: u64,
    ) -> Result<(), Error> {
        if !round.goes {
            let filter =
                EntryFilter { stream: Some(LedgerStream::World), ..EntryFilter::default() };
            let tail = ledger.tail(after_seq, filter)?;
            round.after_seq = after_seq;
            self.start(tail)?;
            round.goes = true;
        }
        Ok(())
    }

    fn start(&self, mut tail: Tail) -> Result<(), Error> {
        let mail = self.clone();
        let work = move || {
            loop {
                let came = tail.next(TAIL_LOOK_TIME_MAX);
                let mut round = mail.round();
                match came {
                    Ok(envelopes) => {
                        round.after_seq = tail.after_seq();
                        if !envelopes.is_empty() {
                            round.lookouts.values().for_each(|see| see(Ok(&envelopes)));
                        }
                        envelopes.into_iter().for_each(|envelope| round.bring(envelope));
                    }
                    Err(error) => round.tell_all(&error.to_string()),
                }
                if round.sessions.is_empty() && round.lookouts.is_empty() {
                    round.goes = false;
                    return;
                }
            }
        };
        spawn::start("inputs".to_owned(), work)
    }

    fn round(&self) -> MutexGuard<'_, LedgerSubscribers> {
        self.0.lock().unwrap_or_else(|one| one.into_inner())
    }
}

impl LedgerSubscribers {
    fn bring(&mut self, envelope: Envelope) {
        let Some(session) = &envelope.about.session else { return };
        let Some(one) = self.sessions.get(session) else { return };
        if envelope.seq > one.after_seq {
            bring(&one.news, envelope);
        }
    }

    fn tell_all(&mut self, why: &str) {
        // The follower failed: each subscriber hears the reason and is removed.
        for (_, one) in self.sessions.drain() {
            one.news.send(SessionMessage::Fatal(why.to_owned())).unwrap_or_default();
        }
        for (_, see) in self.lookouts.drain() {
            see(Err(why));
        }
    }
}

/// Sends an input to a session; a session that has ended needs none.
fn bring(news: &Sender<SessionMessage>, envelope: Envelope) {
    news.send(SessionMessage::Input(Box::new(envelope))).unwrap_or_default();
}
