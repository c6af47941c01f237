//! New sessions that continue from a turn of another session.
//!
//! Must never: change the session that the turn belongs to.

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::{AgentId, SessionId, SessionKey, TurnId};
use agentry_store::{Error as StoreError, Ledger};

/// A session that was forked from a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedSession {
    /// The id of the new session.
    pub session: SessionId,
    /// The key of the new session, by which users address it.
    pub key: SessionKey,
    /// The agent of the session.
    pub agent: AgentId,
}

/// The reason why a turn cannot be forked.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The turn is active or does not exist.
    #[error("{0} has not ended, so it cannot be forked")]
    UnderWay(TurnId),
    /// The turn belongs to no session, so its agent is unknown.
    #[error("{0} has no session")]
    NoSession(TurnId),
    /// The key is invalid.
    #[error("invalid session name `{0}`; use visible characters")]
    Name(String),
    /// The ledger failed to read or append.
    #[error(transparent)]
    Ledger(#[from] StoreError),
}

/// Opens a session that continues from a turn, under the given key or a generated one.
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
