//! Every limit of this crate, with its unit.
//!
//! Must never: be changed without the page in `docs/errors` that quotes it.

use std::time::Duration;

/// The time limit for reading a directory, per `READ_FILES_IN_TIME_MIN` files.
pub const READ_TIME_MAX: Duration = Duration::from_secs(5);
/// The number of files after which `READ_TIME_MAX` starts again.
pub const READ_FILES_IN_TIME_MIN: usize = 1_000;
/// The most files that are read from one directory.
pub const READ_FILES_MAX: usize = 20_000;
/// The most directories that are read below one directory.
pub const READ_DIRECTORIES_MAX: usize = 20_000;
/// The deepest level of directories that is read.
pub const READ_DEPTH_MAX: usize = 12;
/// The most bytes that are read from one directory.
pub const READ_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The maximum number of changed definitions that are named.
pub const DEFINITIONS_SHOWN_MAX: usize = 20;
/// The maximum number of errors of an agent that are named if it does not load.
pub const AGENT_ERRORS_SHOWN_MAX: usize = 5;
/// Requests to the model in one turn, unless the settings say otherwise.
pub const STEPS_MAX: u32 = 250;
/// Tool calls in one turn, unless the settings say otherwise.
pub const CALLS_MAX: u32 = 1_000;
/// Iterations in the autonomous mode, unless an option or the settings say otherwise.
pub const ITERATIONS_MAX: u32 = 100;
/// The age up to which cached definitions are used without a check for changes.
pub const RELOAD_TIME_MIN: Duration = Duration::from_secs(1);
/// The age up to which cached definitions are used while another thread checks for changes.
pub const RELOAD_TIME_MAX: Duration = Duration::from_secs(2);

/// The timeout for a connection to Ollama, in milliseconds.
pub const OLLAMA_LOOK_MS_MAX: u64 = 200;

/// The memory limit of the process that renders templates, in bytes.
pub const TEMPLATE_MEMORY_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The processor time of one template, in seconds.
pub const TEMPLATE_CPU_SECONDS_MAX: u64 = 2;
/// The time limit of one template by the wall clock, under any load.
pub const TEMPLATE_TIME_MAX: Duration = Duration::from_secs(20);

/// The most bytes hashed of the files that a call executes; larger files count by size and times.
pub const BOUND_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The most files inspected of those that a call executes.
pub const BOUND_FILES_MAX: usize = 200;
/// The longest text of such a file that is kept to show a difference later, in bytes.
pub const BOUND_TEXT_BYTES_MAX: u64 = 8 * 1024;
/// The longest difference that is shown, in characters.
pub const BOUND_DIFF_CHARS_MAX: usize = 4_000;

/// The most text of earlier turns that a model reads if they have no compaction, in bytes.
pub const HISTORY_BYTES_MAX: usize = 512 * 1024;
/// The most earlier turns that are searched for that text.
pub const HISTORY_TURNS_MAX: usize = 2_000;
/// The number of turns of a branch that one query reads.
pub const HISTORY_PAGE_TURNS: usize = 64;
/// The context window assumed for a model of unknown window, in tokens.
pub const WINDOW_TOKENS_ASSUMED: u64 = 128_000;
/// The most text that retells one call of an interrupted turn, in characters.
pub const RETOLD_CALL_CHARS_MAX: usize = 200;
/// The most calls of an interrupted turn that are retold.
pub const RETOLD_CALLS_MAX: usize = 50;
/// The most entries of a turn that are read when it resumes.
pub const TURN_ENTRIES_MAX: usize = 1_000_000;
/// The most entries that the ledger follower reads at once for a subscriber that is behind.
pub const CATCH_UP_ENTRIES_MAX: usize = 1_000;
/// The time after which the ledger follower asks a listener without room again.
pub const LISTENER_ROOM_WAIT: Duration = Duration::from_millis(10);

/// The shortest value of a secret, in characters; shorter values occur in any text.
pub const SECRET_CHARS_MIN: usize = 6;
/// The longest value of a secret, in bytes.
pub const SECRET_BYTES_MAX: usize = 16 * 1024;
/// The maximum size of the secrets file, in bytes.
pub const SECRETS_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The maximum length of a secret's name, in characters.
pub const SECRET_NAME_CHARS_MAX: usize = 64;
/// The shortest value of a variable that counts as a secret because of its name, in characters.
pub const SECRET_VARIABLE_CHARS_MIN: usize = 8;
/// The shortest line of a longer value that is redacted by itself, in bytes.
pub const SECRET_LINE_BYTES_MIN: usize = 16;
/// The shortest value that is also found with blanks inside it, in bytes.
pub const SECRET_DENSE_BYTES_MIN: usize = 12;
/// The most line ends and blanks that a value may gain in a text beside its escapes, in bytes.
pub const SECRET_BLANK_BYTES_MAX: usize = 16;
/// The answer length assumed if neither the request nor the price table has one, in tokens.
pub const ANSWER_TOKENS_ASSUMED: u64 = 32_000;

/// The most events in one intake batch.
pub const INTAKE_EVENTS_MAX: usize = 256;
/// The most minutes searched ahead for the end of a time in which answers are delayed.
pub const DELAY_LOOKAHEAD_MINUTES: u64 = 8 * 24 * 60;
/// The first wait before a session that another process owns is retried, in milliseconds.
pub const BUSY_SESSION_WAIT_MS: u64 = 1_000;
/// The longest such wait, in milliseconds.
pub const BUSY_SESSION_WAIT_MS_MAX: u64 = 60_000;
/// The longest idle wait of the dispatcher; any message ends it earlier.
pub const DESK_WAIT_MAX: Duration = Duration::from_secs(60);
/// The most answers that one channel sends at once, each of another session.
pub const ANSWER_LINES: usize = 16;
/// The wait before intake is retried after the definitions did not load, in milliseconds.
pub const UNREADY_WAIT_MS: u64 = 1_000;
/// The longest line that a channel adapter may write, in bytes.
pub const ADAPTER_LINE_BYTES_MAX: usize = 1024 * 1024;
/// The most lines that wait for a channel adapter to read them.
pub const ADAPTER_LINES_WAITING_MAX: usize = 256;
/// The most error lines of a channel adapter that are kept.
pub const ADAPTER_COMPLAINTS_MAX: usize = 20;
/// The longest of these error lines, in bytes.
pub const ADAPTER_COMPLAINT_BYTES_MAX: usize = 2 * 1024;
/// The time that a channel adapter has to end after a request to stop, in milliseconds.
pub const ADAPTER_END_MS_MAX: u64 = 5_000;
/// The wait for the last error lines of a channel adapter that ended, in milliseconds.
pub const ADAPTER_COMPLAINTS_MS_MAX: u64 = 3_000;
/// The time that a channel adapter has to confirm that a message was sent, in milliseconds.
pub const ADAPTER_ANSWER_MS_MAX: u64 = 30_000;
/// The first wait before a channel adapter restarts, in milliseconds; each next wait is doubled.
pub const ADAPTER_RESTART_MS: u64 = 1_000;
/// The longest such wait, in milliseconds.
pub const ADAPTER_RESTART_MS_MAX: u64 = 60_000;
/// The connected time after which the restart waits begin anew, in milliseconds.
pub const ADAPTER_HEALTHY_MS: u64 = 60_000;
/// The message limit of a channel that declares none, in characters.
pub const TEXT_LIMIT_CHARS: usize = 4_000;
/// The smallest limit that a channel may name, in characters.
pub const TEXT_LIMIT_CHARS_MIN: usize = 40;
/// The time between two ticks of the timer, in milliseconds.
pub const TIMER_TICK_MS: u64 = 60_000;
/// The largest body of a webhook, in bytes.
pub const WEBHOOK_BODY_BYTES_MAX: usize = 1024 * 1024;
/// The longest header of a webhook that is kept, in bytes.
pub const WEBHOOK_HEADER_BYTES_MAX: usize = 1024;
/// The largest difference between our time and the signed time of a webhook call, in milliseconds.
pub const WEBHOOK_TIME_MS_MAX: u64 = 5 * 60 * 1000;
/// The most retries of one piece of an answer.
pub const DELIVERY_RETRIES_MAX: u32 = 3;
/// The first wait before a retry, in milliseconds; each next wait is doubled.
pub const DELIVERY_RETRY_MS: u64 = 1_000;
/// The longest such wait, in milliseconds.
pub const DELIVERY_RETRY_MS_MAX: u64 = 30_000;
/// The longest wait before a retry that a channel may ask for, in milliseconds.
pub const DELIVERY_RETRY_AFTER_MS_MAX: u64 = 10 * 60 * 1_000;

/// The time between two rounds of maintenance, in milliseconds.
pub const CHORES_MS: u64 = 60_000;
/// The time that access decisions stay in the audit, in milliseconds: 90 days.
pub const AUDIT_ACCESS_MS: u64 = 90 * 24 * 60 * 60 * 1_000;
/// The time that the history of grants stays in the audit, in milliseconds: 365 days.
pub const AUDIT_GRANTS_MS: u64 = 365 * 24 * 60 * 60 * 1_000;

/// The longest output file of a program of an agent, in bytes.
pub const JOB_OUTPUT_BYTES_MAX: usize = 1024 * 1024;
/// The most standard error of such a program that is kept with its job, in bytes.
pub const JOB_SAID_BYTES_MAX: usize = 4 * 1024;
/// The longest progress line that is shown, in characters.
pub const PROGRESS_CHARS_MAX: usize = 200;
/// The most progress lines of one job that are shown.
pub const PROGRESS_LINES_MAX: usize = 500;
/// The total size of the files that a tool may leave, in bytes.
pub const ARTIFACTS_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most files that a tool may leave.
pub const ARTIFACTS_MAX: usize = 64;
/// The deepest level of directories that these files may have.
pub const ARTIFACTS_DEPTH_MAX: usize = 8;
/// The time after which the lease of a job expires unless it is renewed, in milliseconds.
pub const JOB_LEASE_MS: u64 = 30_000;
/// The time between two renewals of a lease, in milliseconds.
pub const JOB_RENEW_MS: u64 = 10_000;
/// The time between two attempts to lock a workspace, in milliseconds.
pub const JOB_LOCK_POLL_MS: u64 = 50;
/// The longest wait of a job for its workspace, in milliseconds.
pub const JOB_LOCK_WAIT_MS_MAX: u64 = 10 * 60 * 1_000;
/// The longest callback request of a program, in bytes.
pub const CALLBACK_BYTES_MAX: usize = 64 * 1024;
/// The most callback requests of one program.
pub const CALLBACKS_MAX: u32 = 20;
/// The most job directories that are kept for reuse.
pub const JOB_SLOTS_KEPT: usize = 8;
/// The longest result of an agent's own tool that the model receives, in characters.
pub const TOOL_ANSWER_CHARS_MAX: usize = 200_000;
/// The most recent messages that a hook receives.
pub const HOOK_MESSAGES_MAX: usize = 20;
/// The longest text of each of these messages, in characters.
pub const HOOK_MESSAGE_CHARS_MAX: usize = 8_000;
/// The most events with pending hooks that one query reads.
pub const HOOK_EVENTS_MAX: usize = 64;
/// The most events whose hooks run at once.
pub const HOOK_EVENTS_RUNNING_MAX: usize = 8;
/// The most hooks of one event that run at once.
pub const HOOKS_SIDE_BY_SIDE_MAX: usize = 8;
/// The time between two queries for pending events without a wake-up, in milliseconds.
pub const HOOK_LOOK_MS: u64 = 5_000;
/// The longest model answer that a hook may request, in tokens.
pub const HOOK_MODEL_TOKENS_MAX: u64 = 2_000;
/// The longest model answer if a hook sets no limit, in tokens.
pub const HOOK_MODEL_TOKENS_DEFAULT: u64 = 300;
/// The most labels that a hook may classify by.
pub const HOOK_LABELS_MAX: usize = 50;
/// The most events that a search by a hook returns.
pub const HOOK_SEARCH_MAX: usize = 50;
/// The most recent events that such a search reads.
pub const HOOK_SEARCH_ROWS_MAX: usize = 1_000;
/// The most earlier messages of a place that are added to the work that a hook starts.
pub const HOOK_THREAD_MESSAGES: usize = 10;
/// The most recent events that are searched for these messages.
pub const HOOK_THREAD_ROWS_MAX: usize = 500;
/// The longest name of a hook that an agent makes, in characters.
pub const HOOK_NAME_CHARS_MAX: usize = 64;
/// The longest script of a hook that an agent makes, in bytes.
pub const HOOK_SCRIPT_BYTES_MAX: usize = 64 * 1024;
/// The longest script of a hook that a person registers, in bytes.
pub const HOOK_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The maximum length of an entity's name, in characters.
pub const ENTITY_NAME_CHARS_MAX: usize = 100;
/// The maximum length of an entity's id, relationship or tag, in characters.
pub const ENTITY_WORD_CHARS_MAX: usize = 64;
/// The maximum number of tags of an entity.
pub const ENTITY_TAGS_MAX: usize = 64;
/// The length of the secret part of a server key, in random bytes.
pub const KEY_BYTES: usize = 32;
/// The maximum length of a key's name, in characters.
pub const KEY_NAME_CHARS_MAX: usize = 100;
/// The time limit for the program of a hook that an agent made, in milliseconds.
pub const HOOK_TIMEOUT_MS: u64 = 5_000;
/// The time limit for such a program if it may ask the model, in milliseconds.
pub const HOOK_MODEL_TIMEOUT_MS: u64 = 30_000;
/// The most hooks, or executions of one hook, that a list for an agent holds.
pub const HOOK_LISTED_MAX: usize = 100;
/// The time between two checks for a cancel request while a hook runs, in milliseconds.
pub const HOOK_CANCEL_LOOK_MS: u64 = 100;
/// The time that the programs of event hooks have to end at shutdown, in milliseconds.
pub const HOOKS_FINISH_MS_MAX: u64 = 10_000;
/// The time between two checks whether these programs have ended, in milliseconds.
pub const HOOKS_FINISH_LOOK_MS: u64 = 20;

/// Bytes of a definition that are read to find one line.
pub const SOURCE_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The maximum time range of statistics, in hours.
pub const STATS_HOURS_MAX: u64 = 90 * 24;
/// The maximum number of entries of a turn that are searched for the reasons of a call.
pub const WHY_ENTRIES_MAX: usize = 2_000;
/// The maximum number of causes of an entry that are shown beside the decisions.
pub const WHY_CAUSES_MAX: usize = 8;
/// The maximum number of inbounds that are shown for a run.
pub const WHY_INBOUNDS_MAX: usize = 8;
/// The number of past decisions in a batch from the reader to the evaluator.
pub const REPLAY_BATCH_MAX: usize = 256;
/// The maximum number of such batches that wait.
pub const REPLAY_BATCHES_MAX: usize = 8;
/// The maximum length of a detail in the reasons of an entry, in characters.
pub const WHY_TEXT_CHARS_MAX: usize = 500;
/// The maximum length of a quoted line of a definition, in characters.
pub const SOURCE_LINE_CHARS_MAX: usize = 200;

/// The longest line of a dump that is searched for secrets, in bytes.
pub(crate) const DUMP_LINE_BYTES_MAX: usize = 400;
/// The most digits of the offset at the start of such a line.
pub(crate) const DUMP_OFFSET_DIGITS_MAX: usize = 16;
