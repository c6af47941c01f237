//! `agentry audit export`: writes records as CSV or JSON.
//!
//! Must never: write a cell that a spreadsheet reads as a formula.

use std::borrow::Cow;
use std::io::{BufWriter, Write};

use agentry_protocol::access::{AccessRecord, Credentials, PolicyOutcome};
use clap::ValueEnum;

use super::{ExportOptions, own_zone};
use crate::bootstrap::{self, rfc3339, store_fault};
use crate::cli_context::CliContext;
use crate::fault::Fault;

/// Output format of the records.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ExportFormat {
    /// A line per record; lists are separated by spaces
    Csv,
    /// An array of records
    Json,
}

const COLUMNS: [&str; 24] = [
    "id",
    "timestamp",
    "event_id",
    "channel",
    "sender_identifier",
    "peer_kind",
    "account",
    "principal_id",
    "principal_type",
    "principal_name",
    "principal_relationship",
    "policies_evaluated",
    "policies_matched",
    "policies_denied",
    "effect",
    "deny_reason",
    "tools_allowed",
    "tools_denied",
    "credentials_allowed",
    "data_access",
    "persona",
    "session_key",
    "grants_applied",
    "processing_time_ms",
];

pub(super) fn run(host: &CliContext, options: &ExportOptions) -> Result<(), Fault> {
    let filter = options.which.filter(&own_zone(host)?)?;
    let ledger = bootstrap::open_ledger(host)?;
    let mut rows = ledger.audit(&filter).map_err(store_fault)?;
    // Oldest first, so that later exports can be appended.
    rows.reverse();
    let mut out = BufWriter::new(std::io::stdout().lock());
    match options.format {
        ExportFormat::Csv => writeln!(out, "{}", COLUMNS.join(","))?,
        ExportFormat::Json => write!(out, "[")?,
    }
    for (at, row) in rows.iter().enumerate() {
        let record = ledger.access_record(row).map_err(store_fault)?;
        match options.format {
            ExportFormat::Csv => {
                let cells = cells(&record);
                let cells: Vec<Cow<'_, str>> = cells.iter().map(|cell| quoted(cell)).collect();
                writeln!(out, "{}", cells.join(","))?;
            }
            ExportFormat::Json => {
                let comma = if at == 0 { "\n" } else { ",\n" };
                write!(out, "{comma}{}", serde_json::to_string(&record)?)?;
            }
        }
    }
    if options.format == ExportFormat::Json {
        writeln!(out, "{}]", if rows.is_empty() { "" } else { "\n" })?;
    }
    out.flush()?;
    Ok(())
}

/// Returns the cells of a record, in the order of `COLUMNS`.
fn cells(record: &AccessRecord) -> [String; 24] {
    let (decision, principal) = (&record.decision, &record.principal);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let denied = |part: PolicyOutcome| part == PolicyOutcome::Denied;
    let policies = |wanted: &dyn Fn(PolicyOutcome) -> bool| {
        spaced(decision.matched.iter().filter(|one| wanted(one.part)).map(|one| &one.policy))
    };
    let resolved = record.resolved.clone().unwrap_or_default();
    let session = decision.session.as_ref();
    [
        record.id.to_string(),
        rfc3339(record.timestamp),
        record.event_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        record.channel.clone(),
        record.sender_identifier.clone(),
        record.peer_kind.map(|kind| kind.to_string()).unwrap_or_default(),
        text(&record.account),
        text(&principal.entity_id),
        principal.kind.to_string(),
        text(&principal.name),
        text(&principal.relationship),
        spaced(record.policies_evaluated.iter()),
        policies(&|part| !denied(part)),
        policies(&denied),
        decision.effect.to_string(),
        decision.deny_reason.as_ref().map(ToString::to_string).unwrap_or_default(),
        spaced(resolved.tools_allowed.iter()),
        spaced(resolved.tools_denied.iter()),
        match &decision.credentials {
            Credentials::All(_) => "*".to_owned(),
            Credentials::Named(named) => spaced(named.iter().map(|one| &one.name)),
        },
        decision.data.level.to_string(),
        session.and_then(|one| one.persona.as_ref()).map(ToString::to_string).unwrap_or_default(),
        session.map(|one| one.key.clone()).unwrap_or_default(),
        spaced(decision.grants.iter()),
        record.processing_time_ms.to_string(),
    ]
}

fn spaced<T: ToString>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
}

/// Escapes a cell so that a spreadsheet never computes it; quotes it where CSV requires it.
fn quoted(cell: &str) -> Cow<'_, str> {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let cell = if is_formula { Cow::Owned(format!("'{cell}")) } else { Cow::Borrowed(cell) };
    if cell.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\"")))
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_where_it_must_be_and_never_a_formula() {
        let cases = [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@sum", "'@sum"),
            ("\tx", "'\tx"),
            ("=a,b", "\"'=a,b\""),
            ("a=b", "a=b"),
        ];
        for (cell, expected) in cases {
            assert_eq!(quoted(cell), expected, "{cell:?}");
        }
    }
}
