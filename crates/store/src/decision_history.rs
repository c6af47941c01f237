//! Past decisions one after the other, to hold other policies against them.
//!
//! A year of decisions is too much to hold at once and too much to read in full: of each entry only what
//! a decision depends on is read, and one is handed out at a time.
//!
//! Must never: leave out a decision, or hand out another than was recorded.

use agentry_protocol::AccessId;
use agentry_protocol::access::{AccessRecord, Decision};
use agentry_protocol::envelope::EVENT_VERSION;
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{EventId, Inbound, PeerKind};
use agentry_protocol::intake::IntakeStage;
use agentry_protocol::principal::Principal;
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;

use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::{PAST_CACHE_KIB, READER_CACHE_KIB};
use crate::view::whole;

/// A decision, and what it was about.
#[derive(Clone, Debug, PartialEq)]
pub struct PastDecision {
    /// The entry that holds it.
    pub seq: u64,
    /// Its id.
    pub id: AccessId,
    /// When it was decided, in milliseconds since 1970.
    pub time: u64,
    /// The event that it is about.
    pub event: Option<String>,
    /// Who it was.
    pub principal: Principal,
    /// Who the channel said it was.
    pub sender: String,
    /// Where.
    pub place: DecisionOrigin,
    /// What was decided.
    pub decision: Decision,
}

/// Where an event came from, as far as a decision depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionOrigin {
    /// The channel.
    pub channel: String,
    /// What the other side is.
    pub peer_kind: Option<PeerKind>,
    /// The other side.
    pub peer_id: Option<String>,
    /// Which account of ours heard it.
    pub account: Option<String>,
    /// The server or workspace.
    pub guild: Option<String>,
    /// The hook that a timer woke.
    pub hook_id: Option<String>,
    /// The kind of event.
    pub event_type: Option<String>,
}

// In the order of the index, so that nothing has to be sorted: what is sorted would be copied first.
const SELECT: &str = "
    SELECT decided.seq, decided.version, decided.body, came.seq, came.version, came.body
    FROM audit INDEXED BY audit_by_time
    CROSS JOIN ledger AS decided ON decided.seq = audit.seq
    LEFT JOIN inbounds ON inbounds.id = audit.event
    LEFT JOIN ledger AS came ON came.seq = inbounds.seq
    WHERE audit.time >= ?1 AND audit.time < ?2
    ORDER BY audit.time, audit.seq";

impl Ledger {
    /// Hands out the decisions from one time to before another, the oldest first.
    pub fn each_decision(
        &self,
        since: u64,
        until: u64,
        mut take: impl FnMut(PastDecision),
    ) -> Result<(), Error> {
        self.read(|sql| {
            let read = |source| self.shared.unread(source);
            // Events are looked up in an order that jumps; pages that fell out would be read again.
            let kibibytes = |number: i64| sql.pragma_update(None, "cache_size", -number);
            kibibytes(PAST_CACHE_KIB).map_err(read)?;
            let handed = self.hand_out(sql, (since, until), &mut take);
            kibibytes(READER_CACHE_KIB).map_err(read)?;
            handed
        })
    }

    fn hand_out(
        &self,
        sql: &Connection,
        (since, until): (u64, u64),
        take: &mut dyn FnMut(PastDecision),
    ) -> Result<(), Error> {
        let read = |source| self.shared.unread(source);
        let mut statement = sql.prepare_cached(SELECT).map_err(read)?;
        let mut rows = statement.query([whole(since), whole(until)]).map_err(read)?;
        while let Some(row) = rows.next().map_err(read)? {
            let entry = |at: usize| -> rusqlite::Result<Option<StoredEntry<'_>>> {
                let Some(seq) = row.get::<_, Option<i64>>(at)? else { return Ok(None) };
                let (seq, version) = (seq.cast_unsigned(), row.get(at + 1)?);
                let body = row.get_ref(at + 2)?.as_str()?;
                Ok(Some(StoredEntry { seq, version, body }))
            };
            let decided = entry(0).map_err(read)?.expect("the key of a row is never null");
            let came = entry(3).map_err(read)?;
            take(self.past(sql, &decided, came.as_ref())?);
        }
        Ok(())
    }

    fn past(
        &self,
        sql: &Connection,
        decided: &StoredEntry<'_>,
        came: Option<&StoredEntry<'_>>,
    ) -> Result<PastDecision, Error> {
        let spoken = decided.read::<DecisionBody<DecisionHeader>>();
        let mut past = match (spoken, decided.read::<DecisionBody<Decision>>()) {
            (Some(spoken), Some(body)) => spoken.record.past(decided.seq, body.record),
            _ => self.past_in_full(sql, decided.seq)?,
        };
        let Some(came) = came else { return Ok(past) };
        let rest = match came.read::<ReceivedBody>().and_then(|body| body.inbound) {
            Some(rest) => rest,
            None => match self.entry_in(sql, came.seq)?.event {
                Event::Intake(IntakeStage::Received { inbound }) => InboundOrigin::of(*inbound),
                // What we sent ourselves is kept among what came in.
                _ => InboundOrigin::default(),
            },
        };
        past.place.peer_id = rest.peer_id;
        past.place.guild = rest.guild;
        past.place.hook_id = rest.hook_id;
        past.place.event_type = rest.event_type;
        Ok(past)
    }

    /// For an entry of another version, or with a part that is stored elsewhere.
    fn past_in_full(&self, sql: &Connection, seq: u64) -> Result<PastDecision, Error> {
        let envelope = self.entry_in(sql, seq)?;
        let Event::Intake(IntakeStage::Decided { record }) = envelope.event else {
            return Err(self.not_the(seq, "decision"));
        };
        let place = DecisionOrigin {
            channel: record.channel,
            peer_kind: record.peer_kind,
            account: record.account,
            ..DecisionOrigin::default()
        };
        Ok(PastDecision {
            seq,
            id: record.id,
            time: record.timestamp,
            event: record.event_id.map(String::from),
            principal: record.principal,
            sender: record.sender_identifier,
            place,
            decision: record.decision,
        })
    }
}

/// By what decisions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionGrouping {
    /// By who it was: the name, else the id, else the kind.
    Principal,
    /// By channel.
    Channel,
    /// By kind of principal.
    Kind,
}

/// How many decisions there are of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionCount {
    /// Of which.
    pub of: String,
    /// How many were allowed.
    pub allowed: u64,
    /// How many were denied.
    pub denied: u64,
}

impl Ledger {
    /// How many decisions there are from one time to before another, the most first.
    pub fn decision_counts(
        &self,
        by: DecisionGrouping,
        (since, until): (u64, u64),
    ) -> Result<Vec<DecisionCount>, Error> {
        let key = match by {
            DecisionGrouping::Principal => "kind || ' ' || COALESCE(name, principal, '')",
            DecisionGrouping::Channel => "channel",
            DecisionGrouping::Kind => "kind",
        };
        let text = format!(
            "SELECT RTRIM({key}), SUM(effect = 'allow'), SUM(effect <> 'allow') FROM audit
             WHERE time >= ?1 AND time < ?2 GROUP BY 1 ORDER BY COUNT(*) DESC, 1"
        );
        self.ask(|sql| {
            sql.prepare_cached(&text)?
                .query_map([whole(since), whole(until)], |row| {
                    let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
                    Ok(DecisionCount { of: row.get(0)?, allowed: number(1)?, denied: number(2)? })
                })?
                .collect()
        })
    }

    /// A decision as it was recorded, by its id.
    pub fn decision(&self, id: &AccessId) -> Result<Option<Box<AccessRecord>>, Error> {
        let seq = self.ask(|sql| {
            sql.prepare_cached("SELECT seq FROM audit WHERE id = ?1")?
                .query_row([id.as_str()], |row| row.get::<_, i64>(0))
                .optional()
        })?;
        let Some(seq) = seq.map(i64::cast_unsigned) else { return Ok(None) };
        match self.entry(seq)?.map(|envelope| envelope.event) {
            Some(Event::Intake(IntakeStage::Decided { record })) => Ok(Some(record)),
            Some(_) | None => Err(self.not_the(seq, "decision")),
        }
    }

    /// The decision about an event.
    pub fn decision_about(&self, event: &EventId) -> Result<Option<AccessId>, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT id FROM audit WHERE event = ?1 ORDER BY seq DESC LIMIT 1")?
                .query_row([event.as_str()], |row| row.get::<_, String>(0).map(AccessId::new))
                .optional()
        })
    }
}

/// An entry as it is stored.
struct StoredEntry<'a> {
    seq: u64,
    version: u32,
    body: &'a str,
}

impl<'a> StoredEntry<'a> {
    /// What is wanted of it, if it can be read without the rest.
    fn read<T: Deserialize<'a>>(&self) -> Option<T> {
        (self.version == EVENT_VERSION).then(|| serde_json::from_str(self.body).ok()).flatten()
    }
}

#[derive(Deserialize)]
struct DecisionBody<T> {
    record: T,
}

/// What a record says beside the decision. The two are read one after the other: fields that are
/// flattened would be copied first.
#[derive(Deserialize)]
struct DecisionHeader {
    id: AccessId,
    timestamp: u64,
    #[serde(default)]
    event_id: Option<String>,
    channel: String,
    sender_identifier: String,
    #[serde(default)]
    peer_kind: Option<PeerKind>,
    #[serde(default)]
    account: Option<String>,
    principal: Principal,
}

impl DecisionHeader {
    fn past(self, seq: u64, decision: Decision) -> PastDecision {
        let (channel, peer_kind, account) = (self.channel, self.peer_kind, self.account);
        PastDecision {
            seq,
            id: self.id,
            time: self.timestamp,
            event: self.event_id,
            principal: self.principal,
            sender: self.sender_identifier,
            place: DecisionOrigin { channel, peer_kind, account, ..DecisionOrigin::default() },
            decision,
        }
    }
}

#[derive(Deserialize)]
struct ReceivedBody {
    #[serde(default)]
    inbound: Option<InboundOrigin>,
}

#[derive(Default, Deserialize)]
struct InboundOrigin {
    #[serde(default)]
    peer_id: Option<String>,
    #[serde(default)]
    guild: Option<String>,
    #[serde(default)]
    hook_id: Option<String>,
    #[serde(default)]
    event_type: Option<String>,
}

impl InboundOrigin {
    fn of(inbound: Inbound) -> Self {
        let (place, hook_id, event_type) = (inbound.place, inbound.hook_id, inbound.event_type);
        Self { peer_id: place.peer_id, guild: place.guild, hook_id, event_type }
    }
}
