//! Every limit of xtask, each with its unit in its name.
//!
//! Must never: hold a limit of the product; each crate keeps its own `limits.rs`.

use std::time::Duration;

/// The longest source file, its tests apart, so that one looks for the seam in time.
pub(crate) const SOURCE_LINES_MAX: usize = 499;
/// The longest test file; people only append to longer ones, and do not read them.
pub(crate) const TEST_FILE_LINES_MAX: usize = 799;
pub(crate) const STRUCT_FIELDS_MAX: usize = 12;
/// The most fields of a struct that is the form of a file; the format says how many there are.
pub(crate) const FORM_FIELDS_MAX: usize = 16;
pub(crate) const HEADER_LINES_MIN: usize = 2;
pub(crate) const HEADER_LINES_MAX: usize = 10;
pub(crate) const DECISION_LINES_MAX: usize = 20;
pub(crate) const TRACKED_FILE_BYTES_MAX: u64 = 512 * 1024;

/// The most generated skills: five digits number them.
pub(crate) const BENCH_SKILLS_MAX: usize = 99_999;
pub(crate) const BENCH_RUNS_MIN: u32 = 5;
pub(crate) const BENCH_RUNS_MAX: u32 = 100;
pub(crate) const BENCH_BESIDE_ROUNDS_MAX: usize = 100;
/// The lines that are shown of a failed run's output.
pub(crate) const BENCH_COMPLAINT_LINES_MAX: usize = 20;

/// The number of rounds of the local model, in turns with the engine alone.
pub(crate) const BENCH_LOCAL_ROUNDS: u32 = 3;

pub(crate) const CRASH_KILLS_MAX: u32 = 100_000;
/// The longest life of a process: a run of fifty calls takes seconds, so a longer one hangs.
pub(crate) const CRASH_LIFE_TIME_MAX: Duration = Duration::from_secs(120);
/// The longest wait for orphans: a command that appends a line takes milliseconds.
pub(crate) const CRASH_ORPHAN_TIME_MAX: Duration = Duration::from_secs(30);
/// The number of kills after which a run counts as endless.
pub(crate) const CRASH_LIVES_MAX: u32 = 1_000;
/// The number of approvals that the quick start gives before it reports an endless agent.
pub(crate) const QUICKSTART_ANSWERS_MAX: usize = 5;

/// The size of the recording, which readers load with README.md.
pub(crate) const PICTURE_TERMINAL_BYTES_MAX: u64 = 60 * 1024;
/// The size of the screenshot, which readers load with README.md.
pub(crate) const PICTURE_CONSOLE_BYTES_MAX: u64 = 200 * 1024;
/// The longest wait for a step of the recording, which takes a second on a machine under load.
pub(crate) const PICTURE_WAIT_TIME_MAX: Duration = Duration::from_secs(60);

/// The number of places that a finding lists.
pub(crate) const FINDING_PLACES_MAX: usize = 12;
