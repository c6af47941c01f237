//! The audit: one row for each access decision, allowed or denied, until it is trimmed.
//!
//! Must never: lack a decision that was recorded and is not too old to be listed, or leave one out
//! of an answer because it was a denial.

use std::ops::Range;

use agentry_protocol::AccessId;
use agentry_protocol::access::{AccessRecord, Effect, PolicyOutcome};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{AuditCutoff, IntakeStage};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::{PlacedEntry, run};
use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;

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
            effect: if effect == effect_word(Effect::Allow) { Effect::Allow } else { Effect::Deny },
        })
    }
}

/// The key by which decisions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionGrouping {
    /// The principal: its name, else its id, else its kind.
    Principal,
    /// The channel.
    Channel,
    /// The kind of principal.
    Kind,
}

/// The number of decisions of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionCount {
    /// The value of the key for this group.
    pub of: String,
    /// The number of allowed decisions.
    pub allowed: u64,
    /// The number of denied decisions.
    pub denied: u64,
}

impl Ledger {
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

    /// Counts the decisions from one time to before another, the largest group first.
    pub fn decision_counts(
        &self,
        by: DecisionGrouping,
        times: Range<u64>,
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
                .query_map([whole(times.start), whole(times.end)], |row| {
                    let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
                    Ok(DecisionCount { of: row.get(0)?, allowed: number(1)?, denied: number(2)? })
                })?
                .collect()
        })
    }

    /// Returns a decision as recorded; None if there is none with this id.
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

    /// Returns the last decision about an event, or None.
    pub fn decision_about(&self, event: &EventId) -> Result<Option<AccessId>, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT id FROM audit WHERE event = ?1 ORDER BY seq DESC LIMIT 1")?
                .query_row([event.as_str()], |row| row.get::<_, String>(0).map(AccessId::new))
                .optional()
        })
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
        add("effect = ?", Value::Text(effect_word(effect).to_owned()));
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

pub(super) fn decided(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    record: &AccessRecord,
) -> rusqlite::Result<()> {
    let principal = &record.principal;
    let made = run(
        sql,
        "INSERT OR IGNORE INTO audit
             (seq, id, time, event, channel, account, kind, principal, name, relationship, effect)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            entry.seq,
            record.id.as_str(),
            entry.time,
            record.event_id.as_ref().map(|id| id.as_str()),
            record.channel,
            record.account,
            principal.kind.as_str(),
            principal.entity_id,
            principal.name,
            principal.relationship,
            effect_word(record.decision.effect),
        ],
    )?;
    if made == 0 {
        return Ok(());
    }
    for matched in &record.decision.matched {
        run(
            sql,
            "INSERT OR IGNORE INTO audit_policies (policy, seq, part) VALUES (?1, ?2, ?3)",
            params![&*matched.policy, entry.seq, part_word(matched.part)],
        )?;
    }
    for grant in &record.decision.grants {
        run(
            sql,
            "INSERT OR IGNORE INTO grant_log (seq, grant_id, time, activity, actor, access)
             VALUES (?1, ?2, ?3, 'used', ?4, ?5)",
            params![entry.seq, grant.as_str(), entry.time, principal.entity_id, record.id.as_str()],
        )?;
    }
    Ok(())
}

/// Removes rows before the cutoff. Grant activity is kept longer than the decisions that it refers
/// to, so references to removed decisions are cleared.
pub(super) fn trimmed(sql: &Connection, trimmed: AuditCutoff) -> rusqlite::Result<()> {
    let (access, grants) = (whole(trimmed.access_before), whole(trimmed.grants_before));
    run(
        sql,
        "DELETE FROM audit_policies WHERE seq IN (SELECT seq FROM audit WHERE time < ?1)",
        [access],
    )?;
    run(sql, "DELETE FROM audit WHERE time < ?1", [access])?;
    run(sql, "DELETE FROM grant_log WHERE time < ?1", [grants])?;
    run(
        sql,
        "UPDATE grant_log SET access = NULL WHERE time < ?1 AND access IS NOT NULL",
        [access],
    )?;
    Ok(())
}

fn effect_word(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "allow",
        Effect::Deny => "deny",
    }
}

fn part_word(part: PolicyOutcome) -> &'static str {
    match part {
        PolicyOutcome::Disabled => "disabled",
        PolicyOutcome::NotMatched(_) => "not_matched",
        PolicyOutcome::Allowed => "allowed",
        PolicyOutcome::Denied => "denied",
        PolicyOutcome::Modified => "modified",
    }
}
