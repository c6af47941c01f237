//! Every limit of this crate, with its unit.
//!
//! Must never: be changed without the page in `docs/errors` that quotes it.

/// The number of elements that a template may render.
pub const TEMPLATE_STEPS_MAX: u64 = 100_000;
/// The longest text that a template may render to, in bytes.
pub const TEMPLATE_OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// The longest reason of a verdict, in characters.
pub const WHY_CHARS_MAX: usize = 400;
/// The number of defects of a call's input that are reported.
pub const INPUT_DEFECTS_MAX: usize = 20;
/// The longest description of such a defect, in characters.
pub const INPUT_DEFECT_CHARS_MAX: usize = 300;
/// The longest shell command that is parsed, in bytes.
pub const SHELL_COMMAND_BYTES_MAX: usize = 64 * 1024;
/// The number of simple commands that one shell command may expand to.
pub const SHELL_COMMANDS_MAX: usize = 1_000;
/// The nesting depth of code within code: `sh -c`, `eval`, substitutions.
pub const SHELL_CODE_DEPTH_MAX: usize = 8;
/// The number of compound commands and groups in one text; the grammar recurses once for each.
pub const SHELL_GROUPS_MAX: usize = 60;
/// The nesting depth of parentheses; the grammar tries each pair twice.
pub const SHELL_PARENTHESES_DEPTH_MAX: usize = 10;
/// The number of `case` in a text; the grammar's cost doubles with each that is not closed.
pub const SHELL_CASES_MAX: usize = 6;
/// The number of substitutions and expansions in one text, apart from heredocs without expansion;
/// the tokenizer recurses once for each that is not closed.
pub const SHELL_EXPANSIONS_MAX: usize = 80;
/// The number of quoted texts that are examined in the code of another language.
pub const SHELL_LITERALS_MAX: usize = 200;
/// The number of files named by a command that are examined.
pub const EXECUTED_CANDIDATES_MAX: usize = 2_000;
/// The number of operands of an interpreter that may be its script; some may be option values.
pub const INTERPRETER_OPERANDS_MAX: usize = 3;
/// The number of paths tried for one word of a command whose variables have several values.
pub const DANGER_CANDIDATES_MAX: usize = 8;
/// The longest path that is tried, in bytes.
pub const DANGER_PATH_BYTES_MAX: usize = 4096;
/// The number of pending approvals of one turn; further calls that need approval are refused.
pub const QUESTIONS_MAX: usize = 20;
/// The number of times a call is judged again because its facts changed; then it is refused.
pub const WITHHELD_MAX: u32 = 3;
/// The longest key of a session, in bytes.
pub const SESSION_KEY_BYTES_MAX: usize = 1024;
/// The highest estimate, in tokens, that is used without counting by the tokenizer.
pub const ESTIMATE_TOKENS_MAX: u64 = 4_000;
/// The part of the window, as a divisor, below which an estimate is used without counting.
pub const ESTIMATE_WINDOW_PARTS_MIN: u64 = 10;
/// The longest sender's name in a prompt, in characters.
pub const NAME_CHARS_MAX: usize = 80;
/// The longest path of an attachment in a prompt, in characters.
pub const PATH_CHARS_MAX: usize = 1024;
/// The number of attachments of a message that a prompt lists.
pub const ATTACHED_MAX: usize = 20;
/// The default number of items of one sender that wait in a mailbox.
pub const MAILBOX_CAP: usize = 20;
/// The highest number of waiting items of one sender that settings may allow.
pub const MAILBOX_CAP_MAX: usize = 200;
/// The number of items of all senders that wait in one mailbox; further items are rejected.
pub const MAILBOX_WAITING_MAX: usize = 1_000;
/// The number of ids of settled items that a mailbox remembers, to reject duplicates.
pub const MAILBOX_SEEN_MAX: usize = 64;
/// The default quiet time before items are collected, in milliseconds.
pub const MAILBOX_DEBOUNCE_MS: u64 = 1_000;
/// The longest quiet time that settings may ask for, in milliseconds.
pub const MAILBOX_DEBOUNCE_MS_MAX: u64 = 10 * 60 * 1_000;
/// The longest line that replaces a dropped item, in characters.
pub const MAILBOX_SUMMARY_CHARS_MAX: usize = 160;
/// The longest word of a directive that an error repeats, in characters.
pub const DIRECTIVE_WORD_CHARS_MAX: usize = 40;
/// The default number of turns that run at once.
pub const TURNS_RUNNING: usize = 64;
/// The default number of turns of one principal that run at once.
pub const TURNS_RUNNING_PER_PRINCIPAL: usize = 8;
/// The number of turns that wait to start before callers that submit one have to wait.
pub const TURNS_WAITING: usize = 100_000;
/// The number of turns of one principal that wait to start.
pub const TURNS_WAITING_PER_PRINCIPAL: usize = 20_000;
/// The part of a model's window kept free for its answer, in tokens.
pub const COMPACTION_RESERVE_TOKENS: u64 = 20_000;
/// The largest part of a window kept free, in percent.
pub const COMPACTION_RESERVE_PERCENT: u64 = 25;
/// The size of the newest turns that a compaction keeps, in tokens.
pub const COMPACTION_KEEP_TOKENS: u64 = 30_000;
/// The largest part of a window that is kept, in percent.
pub const COMPACTION_KEEP_PERCENT: u64 = 40;
/// The longest summary of older turns, in tokens.
pub const COMPACTION_SUMMARY_TOKENS_MAX: u64 = 4_000;
/// The largest part of the remaining tokens that a summary may take, in percent.
pub const COMPACTION_SUMMARY_PERCENT: u64 = 25;
/// The number of compactions in a row that may fail to shorten the branch.
pub const COMPACTION_FRUITLESS_MAX: usize = 2;
/// The number of newest model answers whose following outputs are protected from pruning.
pub const PRUNE_PROTECTED_ANSWERS: usize = 3;
/// The fill level of a window at which old outputs are trimmed in the middle, in percent.
pub const PRUNE_TRIM_PERCENT: u64 = 30;
/// The fill level of a window at which old outputs are removed whole, in percent.
pub const PRUNE_CLEAR_PERCENT: u64 = 50;
/// The longest output that is left as it is when others are trimmed, in characters.
pub const PRUNE_TRIM_CHARS_MAX: usize = 4_000;
/// The beginning of a trimmed output that is kept, in characters.
pub const PRUNE_HEAD_CHARS: usize = 1_500;
/// The end of a trimmed output that is kept, in characters.
pub const PRUNE_TAIL_CHARS: usize = 1_500;
/// The least total length of outputs for which a pruning step is made, in characters.
pub const PRUNE_CHARS_MIN: usize = 50_000;
/// The default number of pending permission requests of one principal.
pub const REQUEST_PENDING_MAX: u32 = 5;
/// The default time before a principal may send another request, in milliseconds.
pub const REQUEST_COOLDOWN_MS: u64 = 60 * 1_000;
/// The default number of denials within a day that block a principal.
pub const REQUEST_DENIALS_MAX: u32 = 5;
/// The period within which denials are counted together, in milliseconds.
pub const REQUEST_DENIALS_WITHIN_MS: u64 = 24 * 60 * 60 * 1_000;
/// The default duration of a block, in milliseconds.
pub const REQUEST_BLOCK_MS: u64 = 24 * 60 * 60 * 1_000;
/// The default time until a pending request expires, in milliseconds.
pub const REQUEST_EXPIRES_MS: u64 = 24 * 60 * 60 * 1_000;
/// The duration of a grant for a day, in milliseconds.
pub const GRANT_DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// The part of the message behind a request that is kept with it, in characters.
pub const REQUEST_MESSAGE_CHARS_MAX: usize = 2_000;
/// The part of changed arguments that the model is shown, in characters.
pub const EDIT_CHARS_MAX: usize = 2_000;
/// The longest text that a hook adds to a prompt, in bytes.
pub const HOOK_TEXT_BYTES_MAX: usize = 16 * 1024;
/// The longest reason of a hook, in characters.
pub const HOOK_REASON_CHARS_MAX: usize = 2_000;
/// The size of the state that an agent's hooks may keep for a session, in bytes of JSON.
pub const AGENT_STATE_BYTES_MAX: usize = 64 * 1024;
/// The number of errors in a row after which a hook is paused.
pub const BREAKER_ERRORS_MAX: u32 = 5;
/// The pause before a failing hook may try once, in milliseconds.
pub const BREAKER_REST_MS: u64 = 5 * 60 * 1_000;
/// The longest answer of a hook's program that is read, in bytes.
pub const HOOK_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// The longest text and the longest data of a hook in a prompt, in bytes of each.
pub const HOOK_PROMPT_BYTES_MAX: usize = 16 * 1024;
/// The longest description of the triggering event in a prompt, in bytes.
pub const HOOK_EVENT_BYTES_MAX: usize = 16 * 1024;
/// The number of times in a turn that a hook may keep the agent from stopping.
pub const STOP_CONTINUATIONS_MAX: u32 = 8;
/// The part of a hook's text that the model is shown at a time, in characters.
pub const HOOK_WORDS_CHARS_MAX: usize = 10_000;
/// The number of rewrites to make addresses inert; after them, all markup is removed.
pub const LINK_ROUNDS_MAX: usize = 12;
/// The part of a link's destination that is shown in its place, in characters.
pub const LINK_SHOWN_CHARS_MAX: usize = 300;
/// The number of digits of a port, at most.
pub const LINK_PORT_CHARS_MAX: usize = 5;
/// The number of blanks in a row that approvers are shown unchanged.
pub const JUDGED_BLANKS_MAX: usize = 64;
/// The number of line ends in a row that approvers are shown unchanged.
pub const JUDGED_LINES_MAX: usize = 5;
/// The number of times in a row that approvers are shown one character.
pub const JUDGED_REPEATS_MAX: usize = 64;
/// The number of annotated words that approvers are shown.
pub const JUDGED_NOTES_MAX: usize = 8;
