//! `agentry ledger`: verifies the ledger, and records the loss of entries.
//!
//! Must never: repair. Damage is reported and stays as it is; lost entries are recorded as lost.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agentry_runtime::commands::loss;
use agentry_store::{Defect, Error as StoreError, Ledger, VerificationReport};
use clap::Args;

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::fault::{Blame, Fault};

#[derive(Args)]
pub(crate) struct Options {}

#[derive(Args)]
pub(crate) struct AcceptOptions {}

pub(crate) fn run(host: &CliContext, _options: &Options) -> Result<ExitCode, Fault> {
    let verified = verified(host)?;
    let mut out = crate::output::stdout().lock();
    writeln!(
        out,
        "verified: {} entries, {} artifacts, {} anchors",
        verified.entries, verified.artifacts, verified.anchors
    )?;
    writeln!(out, "  head {}", verified.head_hash)?;
    if verified.losses > 0 {
        writeln!(out, "  accepted losses of entries: {}", verified.losses)?;
    }
    if verified.anchors_unreadable > 0 {
        writeln!(out, "  warning: {} anchors cannot be read", verified.anchors_unreadable)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Verifies the whole ledger; works in a read-only home too.
fn verified(host: &CliContext) -> Result<VerificationReport, Fault> {
    let home = host.environment.state.as_deref();
    let Some(home) = home.filter(|_| bootstrap::has_ledger(host)) else {
        return bootstrap::open_ledger(host)?.verify().map_err(advised);
    };
    let ledger = match Ledger::open_to_read(home, Arc::new(bootstrap::now)) {
        Err(StoreError::NeedsUpgrade { .. }) => bootstrap::open_ledger(host)?,
        opened => opened.map_err(advised)?,
    };
    ledger.verify().map_err(advised)
}

/// Turns an error into a fault with a hint other than to verify again.
fn advised(error: StoreError) -> Fault {
    let copy = "stop every agentry process, and restore ledger.sqlite3 together with ledger.sqlite3-wal, anchor, head and \
                artifacts/ from a copy";
    let (message, hint) = match &error {
        StoreError::Read { path, source } => {
            (format!("{} is damaged: {source}", path.display()), unreadable(path, copy))
        }
        StoreError::Unreadable { path, seq, why } => (
            format!("entry {seq} of {} cannot be read: {why}", path.display()),
            unreadable(path, copy),
        ),
        StoreError::Broken { path, broken } => {
            let is_only_cut = broken
                .iter()
                .all(|one| matches!(one.defect, Defect::Cut { .. } | Defect::NotAnchored));
            let hint = if is_only_cut {
                format!(
                    "{copy}; or continue without the lost entries: `agentry ledger accept-loss`"
                )
            } else {
                unreadable(path, copy)
            };
            (error.to_string(), hint)
        }
        _ => return bootstrap::store_fault(error),
    };
    Fault::new(Blame::Machine, message).hint(hint)
}

fn unreadable(path: &Path, copy: &str) -> String {
    let path = path.display();
    format!(
        "{copy}; without a copy, move {path} and {path}-wal aside (`sqlite3 FILE .recover` may read some of it) and \
         start a new ledger with `agentry ledger accept-loss`"
    )
}

/// Records that entries are missing, so that the ledger can be used again.
pub(crate) fn accept_loss(host: &CliContext, _options: &AcceptOptions) -> Result<ExitCode, Fault> {
    let Some(home) = &host.environment.state else {
        return Err(Fault::new(Blame::Machine, "no directory for the ledger: HOME is not set")
            .hint("set AGENTRY_HOME to a directory"));
    };
    let accepted = loss::accept(home, Arc::new(bootstrap::now)).map_err(command_fault)?;
    let (last, known, seq) = (accepted.loss.last, accepted.loss.known, accepted.seq);
    let mut out = crate::output::stdout().lock();
    if last < known {
        writeln!(out, "entries {} to {known} are lost; recorded in entry {seq}", last + 1)?
    } else {
        writeln!(out, "entry {known} is not the original one; recorded in entry {seq}")?
    }
    Ok(ExitCode::SUCCESS)
}
