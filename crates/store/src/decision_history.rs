//! Past decisions, one after another, to compare them with the results of other policies.
//!
//! A year of decisions is too much to hold in memory and too much to read in full: of each entry
//! only the fields that a decision depends on are read, one decision at a time.
//!
//! Must never: skip a decision, or return one that differs from the record.

use std::ops::Range;

use agentry_protocol::AccessId;
use agentry_protocol::access::Decision;
use agentry_protocol::envelope::EVENT_VERSION;
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{Inbound, PeerKind};
use agentry_protocol::intake::IntakeStage;
use agentry_protocol::principal::Principal;
use rusqlite::Connection;
use serde::Deserialize;

use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::{PAST_CACHE_KIB, READER_CACHE_KIB};

/// A past decision with the facts that it depended on.
#[derive(Clone, Debug, PartialEq)]
pub struct PastDecision {
    /// The entry that holds the decision.
    pub seq: u64,
    /// The id of the decision.
    pub id: AccessId,
    /// The time of the decision, in milliseconds since 1970.
    pub time: u64,
    /// The event that was decided; None if the decision had no event.
    pub event: Option<String>,
    /// The principal, as resolved at that time.
    pub principal: Principal,
    /// The identifier of the sender on the channel.
    pub sender: String,
    /// The origin of the event.
    pub place: DecisionOrigin,
    /// The decision as recorded.
    pub decision: Decision,
}

/// The origin of an event, as far as a decision depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionOrigin {
    /// The channel.
    pub channel: String,
    /// The kind of peer: a person, a group or a channel.
    pub peer_kind: Option<PeerKind>,
    /// The id of the peer on the channel.
    pub peer_id: Option<String>,
    /// The account of ours that received the event.
    pub account: Option<String>,
    /// The id of the server or workspace on the channel.
    pub guild: Option<String>,
    /// The hook whose timer created the event.
    pub hook_id: Option<String>,
    /// The type of the event.
    pub event_type: Option<String>,
}

// In the order of the index, so that SQLite sorts nothing: a sort would copy all rows first.
const SELECT: &str = "
    SELECT decided.seq, decided.version, decided.body, came.seq, came.version, came.body
    FROM audit INDEXED BY audit_by_time
    CROSS JOIN ledger AS decided ON decided.seq = audit.seq
    LEFT JOIN inbounds ON inbounds.id = audit.event
    LEFT JOIN ledger AS came ON came.seq = inbounds.seq
    WHERE audit.time >= ?1 AND audit.time < ?2
    ORDER BY audit.time, audit.seq";

impl Ledger {
    /// Calls `take` for each decision from `since` to before `until`, the oldest first.
    pub fn each_decision(
        &self,
        since: u64,
        until: u64,
        mut take: impl FnMut(PastDecision),
    ) -> Result<(), Error> {
        self.read(|sql| {
            let read = |source| self.shared.unread(source);
            // Events are read in random order; with a small cache their pages would be read again.
            let kibibytes = |number: i64| sql.pragma_update(None, "cache_size", -number);
            kibibytes(PAST_CACHE_KIB).map_err(read)?;
            let handed = self.hand_out(sql, since..until, &mut take);
            kibibytes(READER_CACHE_KIB).map_err(read)?;
            handed
        })
    }

    fn hand_out(
        &self,
        sql: &Connection,
        times: Range<u64>,
        take: &mut dyn FnMut(PastDecision),
    ) -> Result<(), Error> {
        let read = |source| self.shared.unread(source);
        let mut statement = sql.prepare_cached(SELECT).map_err(read)?;
        let mut rows = statement.query([whole(times.start), whole(times.end)]).map_err(read)?;
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
                // Messages sent by the agent are also kept as inbounds.
                _ => InboundOrigin::default(),
            },
        };
        past.place.peer_id = rest.peer_id;
        past.place.guild = rest.guild;
        past.place.hook_id = rest.hook_id;
        past.place.event_type = rest.event_type;
        Ok(past)
    }

    /// Reads the whole entry, if it has another version or stores a part as an artifact.
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

/// An entry as stored in the ledger table.
struct StoredEntry<'a> {
    seq: u64,
    version: u32,
    body: &'a str,
}

impl<'a> StoredEntry<'a> {
    /// Parses the wanted fields, or returns None if the version or the form differs.
    fn read<T: Deserialize<'a>>(&self) -> Option<T> {
        (self.version == EVENT_VERSION).then(|| serde_json::from_str(self.body).ok()).flatten()
    }
}

#[derive(Deserialize)]
struct DecisionBody<T> {
    record: T,
}

/// The header of an access record, without its decision. The two are parsed one after the other:
/// `serde(flatten)` would copy all fields first.
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
