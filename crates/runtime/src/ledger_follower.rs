//! Brings what comes in to the sessions that are under way in this process, and to who looks out for it.
//!
//! One thread follows the ledger for all of them, and only while there is somebody.
//!
//! Must never: bring an entry twice, out of order, or to another session.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard};

use agentry_protocol::SessionId;
use agentry_protocol::envelope::{Envelope, LedgerStream};
use agentry_store::{EntryFilter, Ledger, Tail};

use crate::error::Error;
use crate::limits::{TAIL_LOOK_TIME_MAX, TURN_ENTRIES_MAX};
use crate::session::SessionMessage;
use crate::spawn;

/// Where sessions under way have their mail brought from.
#[derive(Clone, Default)]
pub struct LedgerFollower(Arc<Mutex<LedgerSubscribers>>);

/// Those who are brought their mail.
#[derive(Default)]
struct LedgerSubscribers {
    sessions: HashMap<SessionId, SessionSubscriber>,
    lookouts: HashMap<u64, WorldListener>,
    /// Whether the thread goes round; it ends when it finds nobody.
    goes: bool,
    next_number: u64,
    /// All up to here was brought.
    after_seq: u64,
}

struct SessionSubscriber {
    number: u64,
    after_seq: u64,
    news: Sender<SessionMessage>,
}

/// Somebody who sees all that comes in, or hears why no more can be seen.
pub(crate) type WorldListener = Box<dyn Fn(Result<&[Envelope], &str>) + Send>;

/// Ends the looking out when it goes.
pub(crate) struct WorldSubscription {
    mail: LedgerFollower,
    number: u64,
}

impl Drop for WorldSubscription {
    fn drop(&mut self) {
        self.mail.round().lookouts.remove(&self.number);
    }
}

/// Ends the following when it goes.
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
    /// From now on brings a session what comes in for it after an entry.
    pub(crate) fn follow(
        &self,
        ledger: &Ledger,
        session: &SessionId,
        after_seq: u64,
        news: Sender<SessionMessage>,
    ) -> Result<SessionSubscription, Error> {
        let mut round = self.round();
        self.see_that_it_goes(&mut round, ledger, after_seq)?;
        // What the others were brought already.
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

    /// From now on somebody sees all that comes in, at the latest what comes after the last entry of now.
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
        // Who was told stops; nobody is brought anything after that.
        for (_, one) in self.sessions.drain() {
            one.news.send(SessionMessage::Fatal(why.to_owned())).unwrap_or_default();
        }
        for (_, see) in self.lookouts.drain() {
            see(Err(why));
        }
    }
}

/// The session may be over; then nobody wants it.
fn bring(news: &Sender<SessionMessage>, envelope: Envelope) {
    news.send(SessionMessage::Input(Box::new(envelope))).unwrap_or_default();
}
