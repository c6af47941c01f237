//! The audit: one row for each access decision, allowed or denied, until it is trimmed.
//!
//! Must never: lack a decision that was recorded and is not too old to be listed.

use agentry_protocol::access::{AccessRecord, Effect, PolicyOutcome};
use agentry_protocol::intake::AuditCutoff;
use rusqlite::{Connection, params};

use super::{PlacedEntry, run};
use crate::column::whole;

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

pub(crate) fn effect_word(effect: Effect) -> &'static str {
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
