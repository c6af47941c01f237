//! Every limit of this crate, with its unit.
//!
//! Must never: limit findings; only their display, and the defaults of a run.

use std::time::Duration;

/// The maximum length of a line from standard input, in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The maximum number of models of a provider in a list.
pub(crate) const SHOWN_MODELS_MAX: usize = 40;
/// The maximum number of runs in a list.
pub(crate) const SHOWN_RUNS_MAX: usize = 50;
/// The number of entries that are read from the ledger at once.
pub(crate) const SHOWN_ENTRIES_MAX: usize = 1_000;
/// Bytes of a command's output that `sandbox run` keeps for analysis; all of it is shown.
pub(crate) const SANDBOX_OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// The minimum time between progress updates of a download on a terminal, in milliseconds.
pub(crate) const PULL_LINE_MS: u64 = 100;
/// Percent of a download per line of progress, without a terminal.
pub(crate) const PULL_LINE_PERCENT: u64 = 10;
/// The maximum time that a server waits for a process that answers one message.
pub(crate) const INTAKE_WAIT_TIME_MAX: Duration = Duration::from_secs(120);
/// The interval at which a waiting server checks if that process has finished.
pub(crate) const INTAKE_LOOK_TIME: Duration = Duration::from_millis(50);
/// The time that active runs have to finish when the server stops.
pub(crate) const STOP_TIME_MAX: Duration = Duration::from_secs(10);
/// The maximum size of a program file that is stored for later diffs, in bytes.
pub(crate) const TRUST_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The maximum number of an agent's program files that a review lists.
pub(crate) const TRUST_FILES_SHOWN_MAX: usize = 500;
/// The maximum length of the diffs in a review, in characters.
pub(crate) const TRUST_DIFF_CHARS_MAX: usize = 100_000;
/// The default number of invocations of an event hook in a list.
pub(crate) const SHOWN_INVOCATIONS_MAX: usize = 50;
/// The default number of decisions in a list.
pub(crate) const SHOWN_DECISIONS_MAX: usize = 50;
/// The maximum depth of a foreign directory that is copied, in directories.
pub(crate) const FOREIGN_TREE_DEPTH_MAX: usize = 16;
