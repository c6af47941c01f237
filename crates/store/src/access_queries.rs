//! Queries on access: decisions, grants and entities.
//!
//! Must never: leave out a decision because it was a denial.

use agentry_protocol::access::{AccessRecord, Effect, Grant};
use agentry_protocol::event::Event;
use agentry_protocol::intake::{AccessChange, AuditCutoff, Entity, IntakeStage};
use agentry_protocol::{AccessId, GrantId};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::view::{self, FoundGrant, GrantActivityRow};

/// A filter for decisions: a decision must match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The earliest time, in milliseconds since 1970.
    pub since: Option<u64>,
    /// The time before which decisions were made, in milliseconds since 1970.
    pub until: Option<u64>,
    /// Only allowed or only denied decisions.
    pub effect: Option<Effect>,
    /// Only decisions about this entity, by its id or name.
    pub principal: Option<String>,
    /// Only decisions about this kind of principal.
    pub kind: Option<String>,
    /// Only decisions about senders with this relationship to the owner.
    pub relationship: Option<String>,
    /// Only decisions about events of this channel.
    pub channel: Option<String>,
    /// Only decisions about events that this account of ours received.
    pub account: Option<String>,
    /// Only decisions in which a policy had this part.
    pub policy: Option<(String, PolicyMatchFilter)>,
    /// The maximum of decisions, the newest; None means all.
    pub last: Option<usize>,
}

/// The part that a policy had in a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyMatchFilter {
    /// The policy matched, with any result.
    Any,
    /// The policy matched and did not deny.
    Matched,
    /// The policy denied.
    Denied,
}

/// A decision, as listed in the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// The entry that holds the decision.
    pub seq: u64,
    /// The id of the decision.
    pub id: AccessId,
    /// The time of the decision, in milliseconds since 1970.
    pub time: u64,
    /// The event that was decided; None if the decision had no event.
    pub event: Option<String>,
    /// The channel of the event.
    pub channel: String,
    /// The account of ours that received the event.
    pub account: Option<String>,
    /// The kind of principal.
    pub kind: String,
    /// The id of the entity; None for an unknown sender.
    pub principal: Option<String>,
    /// The name of the entity.
    pub name: Option<String>,
    /// The relationship of the entity to the owner.
    pub relationship: Option<String>,
    /// The result of the decision.
    pub effect: Effect,
}

impl AuditRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let effect: String = row.get(10)?;
        Ok(Self {
            seq: row.get::<_, i64>(0)?.cast_unsigned(),
            id: AccessId::new(row.get::<_, String>(1)?),
            time: row.get::<_, i64>(2)?.cast_unsigned(),
            event: row.get(3)?,
            channel: row.get(4)?,
            account: row.get(5)?,
            kind: row.get(6)?,
            principal: row.get(7)?,
            name: row.get(8)?,
            relationship: row.get(9)?,
            effect: if effect == view::effect_word(Effect::Allow) {
                Effect::Allow
            } else {
                Effect::Deny
            },
        })
    }
}

impl Ledger {
    /// Returns the last entry that changed entities or grants; zero if there is none.
    pub fn access_changed(&self) -> Result<u64, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM access_changed")?
                .query_row([], |row| row.get::<_, i64>(0).map(i64::cast_unsigned))
        })
    }

    /// Returns the matching decisions, the newest first.
    pub fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, Error> {
        let (of, mut values) = conditions(filter);
        values.push(Value::Integer(filter.last.map_or(-1, |last| whole(last as u64))));
        let text = format!(
            "SELECT seq, id, time, event, channel, account, kind, principal, name, relationship, effect
             FROM audit WHERE {of} ORDER BY seq DESC LIMIT ?"
        );
        self.ask(|sql| {
            sql.prepare_cached(&text)?
                .query_map(params_from_iter(values), AuditRow::read)?
                .collect()
        })
    }

    /// Returns true if the list has decisions or grant activity from before the cutoff.
    pub fn has_audit_before(&self, trimmed: AuditCutoff) -> Result<bool, Error> {
        let times = [whole(trimmed.access_before), whole(trimmed.grants_before)];
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM audit WHERE time < ?1)
                 OR EXISTS (SELECT 1 FROM grant_log WHERE time < ?2)",
            )?
            .query_row(times, |row| row.get(0))
        })
    }

    /// Returns a decision as recorded, from its entry.
    pub fn access_record(&self, row: &AuditRow) -> Result<Box<AccessRecord>, Error> {
        match self.entry(row.seq)?.map(|envelope| envelope.event) {
            Some(Event::Intake(IntakeStage::Decided { record })) => Ok(record),
            Some(_) | None => Err(self.not_the(row.seq, "decision")),
        }
    }

    /// Resolves an id or a part of an id to one decision.
    pub fn find_access(&self, text: &str) -> Result<AccessId, Error> {
        self.find("decision", "audit", AccessId::PREFIX, text).map(AccessId::new)
    }

    /// Returns the number of decisions for each policy and part since a time: policy, part, count.
    pub fn policy_counts(&self, since: u64) -> Result<Vec<(String, String, u64)>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT policy, part, COUNT(*) FROM audit_policies
                 WHERE seq IN (SELECT seq FROM audit WHERE time >= ?1)
                 GROUP BY policy, part ORDER BY policy, part",
            )?
            .query_map([whole(since)], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?.cast_unsigned()))
            })?
            .collect()
        })
    }

    /// Returns all grants, or only those neither revoked nor recorded as expired; oldest first.
    pub fn grants(&self, only_open: bool) -> Result<Vec<Grant>, Error> {
        self.read(|sql| {
            let found = FoundGrant::all(sql, only_open);
            let found = found.map_err(|source| self.shared.unread(source))?;
            found.iter().map(|found| self.given(sql, found)).collect()
        })
    }

    /// Returns a grant with its time of revocation; None if there is none with this id.
    pub fn grant(&self, id: &GrantId) -> Result<Option<Grant>, Error> {
        self.read(|sql| {
            let found = FoundGrant::by_id(sql, id);
            let found = found.map_err(|source| self.shared.unread(source))?;
            found.map(|found| self.given(sql, &found)).transpose()
        })
    }

    /// Resolves an id or a part of an id to one grant.
    pub fn find_grant(&self, text: &str) -> Result<GrantId, Error> {
        self.find("grant", "grants", GrantId::PREFIX, text).map(GrantId::new)
    }

    /// Returns the activity of one grant, or of all, since a time, oldest first.
    pub fn grant_log(
        &self,
        grant: Option<&GrantId>,
        since: u64,
    ) -> Result<Vec<GrantActivityRow>, Error> {
        self.ask(|sql| GrantActivityRow::all(sql, grant, since))
    }

    /// Returns all entities, by id.
    pub fn entities(&self) -> Result<Vec<Entity>, Error> {
        self.read(|sql| {
            let found = view::entities(sql).map_err(|source| self.shared.unread(source))?;
            found.into_iter().map(|seq| self.known(sql, seq)).collect()
        })
    }

    fn known(&self, sql: &Connection, seq: u64) -> Result<Entity, Error> {
        match self.entry_in(sql, seq)?.event {
            Event::Access(AccessChange::EntityChanged { entity }) => Ok(*entity),
            _ => Err(self.not_the(seq, "entity")),
        }
    }

    fn given(&self, sql: &Connection, found: &FoundGrant) -> Result<Grant, Error> {
        match self.entry_in(sql, found.seq)?.event {
            Event::Access(AccessChange::GrantGiven { grant }) => {
                Ok(Grant { revoked_at: found.revoked.or(grant.revoked_at), ..*grant })
            }
            _ => Err(self.not_the(found.seq, "grant")),
        }
    }
}

fn conditions(filter: &AuditFilter) -> (String, Vec<Value>) {
    let mut of = vec!["1".to_owned()];
    let mut values = Vec::new();
    let mut add = |text: &str, value: Value| {
        of.push(text.to_owned());
        values.push(value);
    };
    let text = |text: &String| Value::Text(text.clone());
    if let Some(since) = filter.since {
        add("time >= ?", Value::Integer(whole(since)));
    }
    if let Some(until) = filter.until {
        add("time < ?", Value::Integer(whole(until)));
    }
    if let Some(effect) = filter.effect {
        add("effect = ?", Value::Text(view::effect_word(effect).to_owned()));
    }
    if let Some(principal) = &filter.principal {
        add("? IN (principal, name)", text(principal));
    }
    let exact = [
        ("kind = ?", &filter.kind),
        ("relationship = ?", &filter.relationship),
        ("channel = ?", &filter.channel),
        ("account = ?", &filter.account),
    ];
    for (condition, value) in exact {
        if let Some(value) = value {
            add(condition, text(value));
        }
    }
    if let Some((policy, part)) = &filter.policy {
        let parts = match part {
            PolicyMatchFilter::Any => "",
            PolicyMatchFilter::Matched => " AND part <> 'denied'",
            PolicyMatchFilter::Denied => " AND part = 'denied'",
        };
        let condition = format!("seq IN (SELECT seq FROM audit_policies WHERE policy = ?{parts})");
        add(&condition, text(policy));
    }
    (of.join(" AND "), values)
}
