//! Every limit of this crate, with its unit.
//!
//! Must never: bound what is found; only what is shown of it, and what a run gets when nothing is said.

/// How much of one line an excerpt takes.
pub(crate) const EXCERPT_BYTES_MAX: usize = 1024;
/// Requests to the model in one turn, unless the settings say otherwise.
pub(crate) const STEPS_MAX: u32 = 250;
/// Tool calls in one turn, unless the settings say otherwise.
pub(crate) const CALLS_MAX: u32 = 1_000;
/// Iterations of autonomous work, unless somebody says otherwise.
pub(crate) const ITERATIONS_MAX: u32 = 100;
/// The longest line that is taken from standard input.
pub(crate) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many models of one provider a list shows.
pub(crate) const SHOWN_MODELS_MAX: usize = 40;
/// How long it is waited for a server of models on this machine.
pub(crate) const OLLAMA_LOOK_MS_MAX: u64 = 200;
/// The largest picture that goes with a prompt.
pub(crate) const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// How much of an argument or an outcome one line of progress shows.
pub(crate) const PROGRESS_CHARS_MAX: usize = 120;
/// How many runs a list shows.
pub(crate) const SHOWN_RUNS_MAX: usize = 50;
/// How many entries are read from the ledger at once.
pub(crate) const SHOWN_ENTRIES_MAX: usize = 1_000;
/// The largest file of secrets.
pub(crate) const SECRETS_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The longest name of a secret.
pub(crate) const SECRET_NAME_CHARS_MAX: usize = 64;
/// How much of an entry one line shows.
pub(crate) const SHOWN_LINE_CHARS_MAX: usize = 200;
/// How much of a command's output `sandbox run` keeps to look at, in bytes; all of it is shown.
pub(crate) const SANDBOX_OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// How often the line about a pull is written anew on a terminal.
pub(crate) const PULL_LINE_MS: u64 = 100;
/// Without a terminal, one line is written for so many percent of a pull.
pub(crate) const PULL_LINE_PERCENT: u64 = 10;
