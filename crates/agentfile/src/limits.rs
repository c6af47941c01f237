//! Every limit of this crate, with its unit.
//!
//! They bound what a hostile agent directory can cost the process that reads it.
//!
//! Must never: be changed without the page in `docs/errors` that quotes it.

/// The largest definition file that is read as text.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// How deep lists and maps may nest in a definition file.
pub const NODE_DEPTH_MAX: usize = 32;
/// How many values a definition file may hold.
pub const NODES_MAX: usize = 50_000;
/// How many defects are reported for one file before the rest are counted only.
pub const FINDINGS_PER_FILE_MAX: usize = 100;
/// How many names are looked at for the one that was probably meant.
pub const CANDIDATES_MAX: usize = 1000;
/// The longest message or help of a finding, in characters.
pub const MESSAGE_CHARS_MAX: usize = 500;
/// The largest whole number that every reader of JSON and YAML agrees on.
pub const WHOLE_NUMBER_MAX: u64 = 1 << 53;
/// The largest compiled form of a `matches` expression.
pub const REGEX_BYTES_MAX: usize = 256 * 1024;
/// How many `matches` expressions the approval rules of one file may hold.
pub const REGEXES_MAX: usize = 200;
/// How many threads read skills.
pub const READERS_MAX: usize = 4;
/// How many skills make a thread of their own worth its start.
pub const SKILLS_PER_READER_MIN: usize = 64;
/// How many steps a task may have.
pub const TASK_STEPS_MAX: usize = 200;
/// How deep `anyOf` and `allOf` may nest.
pub const MATCHER_DEPTH_MAX: usize = 8;

/// The longest name of a skill, in characters.
pub const SKILL_NAME_CHARS_MAX: usize = 64;
/// The longest description of a skill, in characters.
pub const SKILL_DESCRIPTION_CHARS_MAX: usize = 1024;
/// The longest compatibility note of a skill, in characters.
pub const SKILL_COMPATIBILITY_CHARS_MAX: usize = 500;
/// The longest body of a skill that loads well, in lines.
pub const SKILL_BODY_LINES_MAX: usize = 500;

/// The time a shell call gets when nobody says otherwise, in milliseconds.
pub const SHELL_TIMEOUT_MS_DEFAULT: u64 = 15_000;
/// The most time a shell call can be given, in milliseconds.
pub const SHELL_TIMEOUT_MS_MAX: u64 = 120_000;
/// The output of a shell call that is kept when nobody says otherwise, in characters.
pub const SHELL_OUTPUT_CHARS_DEFAULT: u64 = 20_000;
/// The most output of a shell call that can be kept, in characters.
pub const SHELL_OUTPUT_CHARS_MAX: u64 = 200_000;
/// The longest name of a host.
pub const DOMAIN_BYTES_MAX: usize = 253;
/// The largest amount that may be spent, in dollars.
pub const SPENDING_DOLLARS_MAX: f64 = 1_000_000_000.0;

/// The time a hook gets when nobody says otherwise, in milliseconds.
pub const HOOK_TIMEOUT_MS_DEFAULT: u64 = 30_000;
/// The most time a hook can be given, in milliseconds.
pub const HOOK_TIMEOUT_MS_MAX: u64 = 300_000;
/// How many hooks an agent may have, over all moments.
pub const HOOKS_MAX: usize = 64;
/// The time a call of a custom tool gets when nobody says otherwise, in milliseconds.
pub const TOOL_TIMEOUT_MS_DEFAULT: u64 = 120_000;
/// The most time a call of a custom tool can be given, in milliseconds.
pub const TOOL_TIMEOUT_MS_MAX: u64 = 600_000;
/// The longest name of a custom tool that every model takes, in characters.
pub const TOOL_NAME_CHARS_MAX: usize = 64;
/// The longest name of an event hook, in characters.
pub const EVENT_HOOK_NAME_CHARS_MAX: usize = 64;
/// The time an event hook gets when nobody says otherwise, in milliseconds.
pub const EVENT_HOOK_TIMEOUT_MS_DEFAULT: u64 = 5_000;
/// The most time an event hook can be given, in milliseconds; what one that asks the model gets when nobody says
/// otherwise.
pub const EVENT_HOOK_TIMEOUT_MS_MAX: u64 = 30_000;
/// The largest `config` of an event hook, in bytes of JSON.
pub const EVENT_HOOK_CONFIG_BYTES_MAX: usize = 16 * 1024;
/// The longest id of an agent, in bytes.
pub const AGENT_ID_BYTES_MAX: usize = 200;
