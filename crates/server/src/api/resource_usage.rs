//! The resources that the server uses: disk of the ledger, memory and threads.
//!
//! Must never: report a number that the system did not give.

use agentry_store::Ledger;

/// Returns the size of the ledger with its write-ahead log, in bytes.
pub(super) fn ledger_bytes(ledger: &Ledger) -> u64 {
    let path = ledger.home().ledger();
    let beside = path.with_extension("sqlite3-wal");
    let size = |path: &std::path::Path| path.metadata().map_or(0, |metadata| metadata.len());
    size(&path) + size(&beside)
}

/// Returns resident memory in bytes and the number of threads, if the system reports them.
pub(super) fn process_usage() -> (Option<u64>, Option<u64>) {
    const KIBIBYTE: u64 = 1024;
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    (number("VmRSS:").map(|kibibytes| kibibytes * KIBIBYTE), number("Threads:"))
}
