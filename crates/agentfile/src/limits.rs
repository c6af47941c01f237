//! Every limit of this crate, with its unit.
//!
//! They bound what a hostile agent directory can cost the process that reads it.
//!
//! Must never: be changed without the page in `docs/errors` that quotes it.

/// The largest definition file that is read as text, in bytes.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// The largest nesting depth of lists and maps in a definition file.
pub const NODE_DEPTH_MAX: usize = 32;
/// The largest number of values in a definition file.
pub const NODES_MAX: usize = 50_000;
/// The largest number of findings kept for one file; the rest are only counted.
pub const FINDINGS_PER_FILE_MAX: usize = 100;
/// The largest number of names compared to find the one that was probably meant.
pub const CANDIDATES_MAX: usize = 1000;
/// The longest message or help of a finding, in characters.
pub const MESSAGE_CHARS_MAX: usize = 500;
/// The largest whole number that every reader of JSON and YAML agrees on.
pub const WHOLE_NUMBER_MAX: u64 = 1 << 53;
/// The largest compiled form of a `matches` expression, in bytes.
pub const REGEX_BYTES_MAX: usize = 256 * 1024;
/// The largest number of `matches` expressions in the approval rules of one file.
pub const REGEXES_MAX: usize = 200;
/// The largest number of threads that read skills.
pub const READERS_MAX: usize = 4;
/// The smallest number of skills that justifies a further thread.
pub const SKILLS_PER_READER_MIN: usize = 64;
/// The largest number of steps of a task.
pub const TASK_STEPS_MAX: usize = 200;
/// The largest nesting depth of `anyOf` and `allOf`.
pub const MATCHER_DEPTH_MAX: usize = 8;

/// The longest name of a skill, in characters.
pub const SKILL_NAME_CHARS_MAX: usize = 64;
/// The longest description of a skill, in characters.
pub const SKILL_DESCRIPTION_CHARS_MAX: usize = 1024;
/// The longest compatibility note of a skill, in characters.
pub const SKILL_COMPATIBILITY_CHARS_MAX: usize = 500;
/// The longest body of a skill that loads well, in lines.
pub const SKILL_BODY_LINES_MAX: usize = 500;

/// The default time limit of a shell call, in milliseconds.
pub const SHELL_TIMEOUT_MS_DEFAULT: u64 = 15_000;
/// The largest time limit of a shell call, in milliseconds.
pub const SHELL_TIMEOUT_MS_MAX: u64 = 120_000;
/// The default limit of the output kept of a shell call, in characters.
pub const SHELL_OUTPUT_CHARS_DEFAULT: u64 = 20_000;
/// The largest limit of the output kept of a shell call, in characters.
pub const SHELL_OUTPUT_CHARS_MAX: u64 = 200_000;
/// The longest name of a host, in bytes.
pub const DOMAIN_BYTES_MAX: usize = 253;
/// The largest amount that may be spent, in dollars.
pub const SPENDING_DOLLARS_MAX: f64 = 1_000_000_000.0;

/// The default time limit of a hook, in milliseconds.
pub const HOOK_TIMEOUT_MS_DEFAULT: u64 = 30_000;
/// The largest time limit of a hook, in milliseconds.
pub const HOOK_TIMEOUT_MS_MAX: u64 = 300_000;
/// The largest number of hooks of an agent, over all moments.
pub const HOOKS_MAX: usize = 64;
/// The default time limit of a custom tool's call, in milliseconds.
pub const TOOL_TIMEOUT_MS_DEFAULT: u64 = 120_000;
/// The largest time limit of a custom tool's call, in milliseconds.
pub const TOOL_TIMEOUT_MS_MAX: u64 = 600_000;
/// The longest name of a custom tool that every model accepts, in characters.
pub const TOOL_NAME_CHARS_MAX: usize = 64;
/// The longest name of an event hook, in characters.
pub const EVENT_HOOK_NAME_CHARS_MAX: usize = 64;
/// The default time limit of an event hook, in milliseconds.
pub const EVENT_HOOK_TIMEOUT_MS_DEFAULT: u64 = 5_000;
/// The largest time limit of an event hook, in milliseconds; also the default of one that queries
/// the model.
pub const EVENT_HOOK_TIMEOUT_MS_MAX: u64 = 30_000;
/// The largest `config` of an event hook, in bytes of JSON.
pub const EVENT_HOOK_CONFIG_BYTES_MAX: usize = 16 * 1024;
/// The longest id of an agent, in bytes.
pub const AGENT_ID_BYTES_MAX: usize = 200;
