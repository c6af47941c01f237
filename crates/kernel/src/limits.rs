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
/// How many files that a command names are looked at.
pub const EXECUTED_CANDIDATES_MAX: usize = 2_000;
/// How many operands of an interpreter may be its script; those before it may be values of options.
pub const INTERPRETER_OPERANDS_MAX: usize = 3;
/// How many paths are tried for one word of a command whose variables have several values.
pub const DANGER_CANDIDATES_MAX: usize = 8;
/// The longest path that is tried.
pub const DANGER_PATH_BYTES_MAX: usize = 4096;
/// How many questions of one turn wait for a person at once; further calls that would be asked about are refused.
pub const QUESTIONS_MAX: usize = 20;
/// How often a call is judged again because what it depends on changed just before it was made; then it is refused.
pub const WITHHELD_MAX: u32 = 3;
/// The longest key of a session.
pub const SESSION_KEY_BYTES_MAX: usize = 1024;
/// What is estimated to have so many tokens at most is not counted with the tokenizer.
pub const ESTIMATE_TOKENS_MAX: u64 = 4_000;
/// Nor is what is less than one of so many parts of the window.
pub const ESTIMATE_WINDOW_PARTS_MIN: u64 = 10;
/// How much of a sender's name an agent is told, in characters.
pub const NAME_CHARS_MAX: usize = 80;
/// How much of the path of something attached an agent is told, in characters.
pub const PATH_CHARS_MAX: usize = 1024;
/// Of how many things attached to a message an agent is told.
pub const ATTACHED_MAX: usize = 20;
/// How many items of one sender wait in a mailbox unless somebody says otherwise.
pub const MAILBOX_CAP: usize = 20;
/// The most items of one sender that anybody may let wait.
pub const MAILBOX_CAP_MAX: usize = 200;
/// The most items of all senders together that wait in one mailbox; what comes then is turned away.
pub const MAILBOX_WAITING_MAX: usize = 1_000;
/// How many ids of settled items a mailbox remembers, so that none of them is taken twice.
pub const MAILBOX_SEEN_MAX: usize = 64;
/// How long it must be quiet before items are collected, in milliseconds.
pub const MAILBOX_DEBOUNCE_MS: u64 = 1_000;
/// The longest such quiet that anybody may ask for, in milliseconds.
pub const MAILBOX_DEBOUNCE_MS_MAX: u64 = 10 * 60 * 1_000;
/// The longest line that stands for an item that was dropped, in characters.
pub const MAILBOX_SUMMARY_CHARS_MAX: usize = 160;
/// The longest word of a directive that an error repeats, in characters.
pub const DIRECTIVE_WORD_CHARS_MAX: usize = 40;
/// How many turns run at once unless somebody says otherwise.
pub const TURNS_RUNNING: usize = 64;
/// How many of them one principal may have unless somebody says otherwise.
pub const TURNS_RUNNING_PER_PRINCIPAL: usize = 8;
/// How many turns wait to start before those who hand them in have to wait.
pub const TURNS_WAITING: usize = 100_000;
/// How many of them one principal may have.
pub const TURNS_WAITING_PER_PRINCIPAL: usize = 20_000;
/// How much of a model's window stays free for its answer, in tokens.
pub const COMPACTION_RESERVE_TOKENS: u64 = 20_000;
/// The largest part of a window that stays free, in percent.
pub const COMPACTION_RESERVE_PERCENT: u64 = 25;
/// How much of the newest turns a compaction keeps, in tokens.
pub const COMPACTION_KEEP_TOKENS: u64 = 30_000;
/// The largest part of a window that is kept, in percent.
pub const COMPACTION_KEEP_PERCENT: u64 = 40;
/// The longest text that stands for older turns, in tokens.
pub const COMPACTION_SUMMARY_TOKENS_MAX: u64 = 4_000;
/// The largest part of the room that this text is given, in percent.
pub const COMPACTION_SUMMARY_PERCENT: u64 = 25;
/// How often in a row a compaction may come to nothing.
pub const COMPACTION_FRUITLESS_MAX: usize = 2;
/// How many of the newest answers of the model keep the outputs that follow them.
pub const PRUNE_PROTECTED_ANSWERS: usize = 3;
/// From how full a window on the middle of old outputs is cut out, in percent.
pub const PRUNE_TRIM_PERCENT: u64 = 30;
/// From how full a window on old outputs are taken out whole, in percent.
pub const PRUNE_CLEAR_PERCENT: u64 = 50;
/// The longest output that is left as it is when others are trimmed, in characters.
pub const PRUNE_TRIM_CHARS_MAX: usize = 4_000;
/// How much of its beginning a trimmed output keeps, in characters.
pub const PRUNE_HEAD_CHARS: usize = 1_500;
/// How much of its end a trimmed output keeps, in characters.
pub const PRUNE_TAIL_CHARS: usize = 1_500;
/// How much there must be to prune before anything is pruned, in characters.
pub const PRUNE_CHARS_MIN: usize = 50_000;
/// How many requests for permission of one principal may wait unless somebody says otherwise.
pub const REQUEST_PENDING_MAX: u32 = 5;
/// How long somebody has to wait before they may ask again unless somebody says otherwise, in milliseconds.
pub const REQUEST_COOLDOWN_MS: u64 = 60 * 1_000;
/// So many denials within a day block somebody unless somebody says otherwise.
pub const REQUEST_DENIALS_MAX: u32 = 5;
/// The time within which denials count together, in milliseconds.
pub const REQUEST_DENIALS_WITHIN_MS: u64 = 24 * 60 * 60 * 1_000;
/// How long a block lasts unless somebody says otherwise, in milliseconds.
pub const REQUEST_BLOCK_MS: u64 = 24 * 60 * 60 * 1_000;
/// How long a request waits for its answer unless somebody says otherwise, in milliseconds.
pub const REQUEST_EXPIRES_MS: u64 = 24 * 60 * 60 * 1_000;
/// How long a yes for a day holds, in milliseconds.
pub const GRANT_DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// How much of the message behind a request is kept with it, in characters.
pub const REQUEST_MESSAGE_CHARS_MAX: usize = 2_000;
/// How much of changed arguments the model is told, in characters.
pub const EDIT_CHARS_MAX: usize = 2_000;
/// The longest text that a hook adds to a prompt, in bytes.
pub const HOOK_TEXT_BYTES_MAX: usize = 16 * 1024;
/// The longest reason that a hook gives, in characters.
pub const HOOK_REASON_CHARS_MAX: usize = 2_000;
/// How much the hooks of an agent may keep about a session, in bytes of JSON.
pub const AGENT_STATE_BYTES_MAX: usize = 64 * 1024;
/// After so many errors in a row a hook is left alone for a while.
pub const BREAKER_ERRORS_MAX: u32 = 5;
/// How long it is left alone before it may try once, in milliseconds.
pub const BREAKER_REST_MS: u64 = 5 * 60 * 1_000;
/// The longest answer of a hook's program that is read.
pub const HOOK_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How much of what a hook wants said, and of what it found, an agent is told: so many bytes of each.
pub const HOOK_PROMPT_BYTES_MAX: usize = 16 * 1024;
/// How much of what set a hook off an agent is told.
pub const HOOK_EVENT_BYTES_MAX: usize = 16 * 1024;
/// How often in a turn a hook may keep the agent from stopping, in times.
pub const STOP_CONTINUATIONS_MAX: u32 = 8;
/// How much of a hook's words the model is told at a time, in characters.
pub const HOOK_WORDS_CHARS_MAX: usize = 10_000;
/// How often a text is rewritten to make its addresses inert, before all markup is taken out, in times.
pub const LINK_ROUNDS_MAX: usize = 12;
/// How much of the destination of a link is shown in its place, in characters.
pub const LINK_SHOWN_CHARS_MAX: usize = 300;
/// How many digits a port has at most, in characters.
pub const LINK_PORT_CHARS_MAX: usize = 5;
/// How many blanks in a row are shown as they are to a person who judges a text, in characters.
pub const JUDGED_BLANKS_MAX: usize = 64;
/// How many line ends in a row are.
pub const JUDGED_LINES_MAX: usize = 5;
/// How often in a row a character is shown, in times.
pub const JUDGED_REPEATS_MAX: usize = 64;
/// How many words with a note a person is told of.
pub const JUDGED_NOTES_MAX: usize = 8;
