//! New sessions that go on from a turn of another one.
//!
//! Must never: change the session that the turn belongs to.

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::{AgentId, SessionId, SessionKey, TurnId};
use agentry_store::{Error as StoreError, Ledger};

/// A session that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedSession {
    /// Which one.
    pub session: SessionId,
    /// What people call it.
    pub key: SessionKey,
    /// Who it is with.
    pub agent: AgentId,
}

/// Why nothing can go on from a turn.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// It is under way, or there is none.
    #[error("{0} is not over, so nothing can go on from it")]
    UnderWay(TurnId),
    /// It belongs to no session, so nobody knows with whom it would go on.
    #[error("{0} has no session")]
    NoSession(TurnId),
    /// The session cannot be called so.
    #[error("a session cannot be called `{0}`; a name has letters")]
    Name(String),
    /// The ledger did not take or give something.
    #[error(transparent)]
    Ledger(#[from] StoreError),
}

/// Begins a session that goes on from a turn, with this name or a made-up one.
pub fn fork(
    ledger: &Ledger,
    turn: &TurnId,
    key: Option<String>,
    new_number: fn() -> u128,
) -> Result<ForkedSession, ForkError> {
    let row = ledger.turn(turn)?.filter(|row| row.ended_seq.is_some());
    let row = row.ok_or_else(|| ForkError::UnderWay(turn.clone()))?;
    let of = row.session.as_ref().map(|session| ledger.session(session)).transpose()?.flatten();
    let agent = of.ok_or_else(|| ForkError::NoSession(turn.clone()))?.agent;
    let session = SessionId::from_number(new_number());
    let key = key.unwrap_or_else(|| format!("fork-{session}"));
    if key.trim().is_empty() || key.chars().any(char::is_control) {
        return Err(ForkError::Name(key));
    }
    let forked = ForkedSession { session, key: SessionKey::new(key), agent };
    let ForkedSession { session, key, agent } = forked.clone();
    let about = EntrySubject { session: Some(session), run: None, turn: None };
    let event = Event::SessionOpened { key, agent, head: Some(turn.clone()) };
    ledger.append(vec![Draft { cause: None, about, event }])?;
    Ok(forked)
}
