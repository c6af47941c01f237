//! Every limit of this crate, with its unit.
//!
//! Must never: be changed without the page in `docs/errors` that quotes it.

/// How many elements a template may render.
pub const TEMPLATE_STEPS_MAX: u64 = 100_000;
/// The longest text a template may render to.
pub const TEMPLATE_OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// The longest reason that a verdict carries, in characters.
pub const WHY_CHARS_MAX: usize = 400;
/// How many defects of a call's input are told.
pub const INPUT_DEFECTS_MAX: usize = 20;
/// The longest description of one of them, in characters.
pub const INPUT_DEFECT_CHARS_MAX: usize = 300;
/// The longest shell command that is read.
pub const SHELL_COMMAND_BYTES_MAX: usize = 64 * 1024;
/// How many simple commands one shell command may come to.
pub const SHELL_COMMANDS_MAX: usize = 1_000;
/// How deep code may hold code: `sh -c`, `eval`, substitutions.
pub const SHELL_CODE_DEPTH_MAX: usize = 8;
/// How many compound commands and groups one text may open; the grammar descends once for each.
pub const SHELL_GROUPS_MAX: usize = 60;
/// How deep parentheses may nest; the grammar tries each pair twice.
pub const SHELL_PARENTHESES_DEPTH_MAX: usize = 10;
/// How many `case` a text may hold; the grammar's cost doubles with each that is not closed.
pub const SHELL_CASES_MAX: usize = 6;
/// How many substitutions and expansions one text may open, heredocs that nobody expands apart; the
/// tokenizer descends once for each that is not closed.
pub const SHELL_EXPANSIONS_MAX: usize = 80;
/// How many quoted texts are looked at in the code of another language.
pub const SHELL_LITERALS_MAX: usize = 200;
/// How many paths are tried for one word of a command whose variables have several values.
pub const DANGER_CANDIDATES_MAX: usize = 8;
/// The longest path that is tried.
pub const DANGER_PATH_BYTES_MAX: usize = 4096;
/// The longest key of a session.
pub const SESSION_KEY_BYTES_MAX: usize = 1024;
