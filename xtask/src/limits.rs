//! Every limit of the workshop, each with its unit in its name.
//!
//! Must never: hold a limit of the product; each crate keeps its own `limits.rs`.

use std::time::Duration;

/// A source file stays under 500 lines, its tests apart, so that one looks for the seam in time.
pub(crate) const SOURCE_LINES_MAX: usize = 499;
/// A test file stays under 800 lines; past that nobody reads it, they only append.
pub(crate) const TEST_FILE_LINES_MAX: usize = 799;
pub(crate) const STRUCT_FIELDS_MAX: usize = 12;
/// The most fields of a struct that is the form of a file; the format says how many there are.
pub(crate) const FORM_FIELDS_MAX: usize = 16;
pub(crate) const HEADER_LINES_MIN: usize = 2;
pub(crate) const HEADER_LINES_MAX: usize = 10;
pub(crate) const DECISION_LINES_MAX: usize = 20;
pub(crate) const TRACKED_FILE_BYTES_MAX: u64 = 512 * 1024;

/// Five digits number the generated skills.
pub(crate) const BENCH_SKILLS_MAX: usize = 99_999;
pub(crate) const BENCH_RUNS_MIN: u32 = 5;
pub(crate) const BENCH_RUNS_MAX: u32 = 100;
pub(crate) const BENCH_BESIDE_ROUNDS_MAX: usize = 100;
/// How much of a failed run's output is shown.
pub(crate) const BENCH_COMPLAINT_LINES_MAX: usize = 20;

/// How often the local model is measured by turns with the engine alone.
pub(crate) const BENCH_LOCAL_ROUNDS: u32 = 3;

pub(crate) const CRASH_KILLS_MAX: u32 = 100_000;
/// A run of fifty calls takes seconds; one that takes so long hangs.
pub(crate) const CRASH_LIFE_TIME_MAX: Duration = Duration::from_secs(120);
/// A command that appends a line is over in milliseconds.
pub(crate) const CRASH_ORPHAN_TIME_MAX: Duration = Duration::from_secs(30);
/// How often one run is killed before it is called endless.
pub(crate) const CRASH_LIVES_MAX: u32 = 1_000;
/// How many approvals the quick start gives before it says that the agent does not come to an end.
pub(crate) const QUICKSTART_ANSWERS_MAX: usize = 5;

/// A finding lists so many places at most.
pub(crate) const FINDING_PLACES_MAX: usize = 12;
