//! Every limit of this crate, with its unit.
//!
//! Must never: be changed without the page in `docs/errors` that quotes it.

use std::time::Duration;

/// How long reading a directory may take, for each thousand files.
pub const READ_TIME_MAX: Duration = Duration::from_secs(5);
/// How many files must have been read for the time to begin anew.
pub const READ_FILES_IN_TIME_MIN: usize = 1_000;
/// How many files are read from one directory.
pub const READ_FILES_MAX: usize = 20_000;
/// How many directories are read below one directory.
pub const READ_DIRECTORIES_MAX: usize = 20_000;
/// How deep directories are read.
pub const READ_DEPTH_MAX: usize = 12;
/// How many bytes are read from one directory.
pub const READ_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The memory of the process that renders templates.
pub const TEMPLATE_MEMORY_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The processor time of one template, in seconds.
pub const TEMPLATE_CPU_SECONDS_MAX: u64 = 2;
/// How long one template may take by the clock on the wall, whatever the load.
pub const TEMPLATE_TIME_MAX: Duration = Duration::from_secs(20);

/// How many bytes of the files that a call executes are hashed; beyond that a file counts by its size and times.
pub const BOUND_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How many files that a call executes are looked at.
pub const BOUND_FILES_MAX: usize = 200;
/// The longest text of such a file that is kept, so that a difference can be shown, in bytes.
pub const BOUND_TEXT_BYTES_MAX: u64 = 8 * 1024;
/// The longest difference that is shown, in characters.
pub const BOUND_DIFF_CHARS_MAX: usize = 4_000;

/// What a model was shown of earlier turns before there were compactions, in bytes.
pub const HISTORY_BYTES_MAX: usize = 512 * 1024;
/// How many earlier turns are looked at for that.
pub const HISTORY_TURNS_MAX: usize = 2_000;
/// How many turns of a branch are looked up at once.
pub const HISTORY_PAGE_TURNS: usize = 64;
/// How many tokens a model is taken to read and write together, where nobody knows it.
pub const WINDOW_TOKENS_ASSUMED: u64 = 128_000;
/// How much is told of one call that was made in a turn that broke off, in characters.
pub const RETOLD_CALL_CHARS_MAX: usize = 200;
/// How many such calls are told.
pub const RETOLD_CALLS_MAX: usize = 50;
/// How many entries of a turn are read when it is taken up again.
pub const TURN_ENTRIES_MAX: usize = 1_000_000;
/// How long a look at the ledger waits before it sees whether anybody still wants it.
pub const TAIL_LOOK_TIME_MAX: Duration = Duration::from_millis(200);

/// The shortest value of a secret, in characters; shorter ones stand in every text.
pub const SECRET_CHARS_MIN: usize = 6;
/// The longest value of a secret, in bytes.
pub const SECRET_BYTES_MAX: usize = 16 * 1024;
/// The shortest value of a variable that is taken for a secret because of its name, in characters.
pub const SECRET_VARIABLE_CHARS_MIN: usize = 8;
/// The shortest line of a longer value that is hidden alone, in bytes.
pub const SECRET_LINE_BYTES_MIN: usize = 16;
/// The shortest value that is found with blanks in it, in bytes.
pub const SECRET_DENSE_BYTES_MIN: usize = 12;
/// How much a value may grow in a text beside what its escapes take, in bytes: line ends, blanks.
pub const SECRET_BLANK_BYTES_MAX: usize = 16;
/// How long an answer is taken to be at most, in tokens, where neither the request nor the table says it.
pub const ANSWER_TOKENS_ASSUMED: u64 = 32_000;

/// How many events are taken in at once.
pub const INTAKE_EVENTS_MAX: usize = 256;
/// How far ahead it is looked for the end of a time in which answers are held back, in minutes.
pub const DELAY_LOOKAHEAD_MINUTES: u64 = 8 * 24 * 60;
/// How long a session that another process works on is left alone before it is tried again, in milliseconds.
pub const BUSY_SESSION_WAIT_MS: u64 = 1_000;
/// The longest such wait, in milliseconds.
pub const BUSY_SESSION_WAIT_MS_MAX: u64 = 60_000;
/// How long the desk waits when nothing is due; it is woken earlier by whatever happens.
pub const DESK_WAIT_MAX: Duration = Duration::from_secs(60);
/// How many answers of a channel may be on their way at once, each of another session.
pub const ANSWER_LINES: usize = 16;
/// How long the desk waits before it tries again to take in what came, when the definitions do not load.
pub const UNREADY_WAIT_MS: u64 = 1_000;
/// The longest line that a channel's program may write, in bytes.
pub const ADAPTER_LINE_BYTES_MAX: usize = 1024 * 1024;
/// How many lines wait for a channel's program to read them.
pub const ADAPTER_LINES_WAITING_MAX: usize = 256;
/// How many lines that a channel's program complained in are kept.
pub const ADAPTER_COMPLAINTS_MAX: usize = 20;
/// The longest of them, in bytes.
pub const ADAPTER_COMPLAINT_BYTES_MAX: usize = 2 * 1024;
/// How long a channel's program is given to end by itself, in milliseconds.
pub const ADAPTER_END_MS_MAX: u64 = 5_000;
/// How long the last complaints of a channel's program are waited for, in milliseconds.
pub const ADAPTER_COMPLAINTS_MS_MAX: u64 = 3_000;
/// How long a channel's program is given to say whether a message went out, in milliseconds.
pub const ADAPTER_ANSWER_MS_MAX: u64 = 30_000;
/// How long the first wait before a channel's program is started again is, in milliseconds; each next is twice as long.
pub const ADAPTER_RESTART_MS: u64 = 1_000;
/// The longest such wait, in milliseconds.
pub const ADAPTER_RESTART_MS_MAX: u64 = 60_000;
/// How long a channel must have been connected for the waits to begin anew, in milliseconds.
pub const ADAPTER_HEALTHY_MS: u64 = 60_000;
/// The longest message of a channel that does not say, in characters.
pub const TEXT_LIMIT_CHARS: usize = 4_000;
/// The smallest limit that a channel may name, in characters.
pub const TEXT_LIMIT_CHARS_MIN: usize = 40;
/// How long it is from one tick of the timer to the next, in milliseconds.
pub const TIMER_TICK_MS: u64 = 60_000;
/// The largest body of a webhook, in bytes.
pub const WEBHOOK_BODY_BYTES_MAX: usize = 1024 * 1024;
/// The longest header of a webhook that is kept, in bytes.
pub const WEBHOOK_HEADER_BYTES_MAX: usize = 1024;
/// How far the signed time of a webhook's call may be from ours, in milliseconds.
pub const WEBHOOK_TIME_MS_MAX: u64 = 5 * 60 * 1000;
/// How often a piece of an answer is tried again.
pub const DELIVERY_RETRIES_MAX: u32 = 3;
/// How long the first wait before another try is, in milliseconds; each next is twice as long.
pub const DELIVERY_RETRY_MS: u64 = 1_000;
/// The longest such wait, in milliseconds.
pub const DELIVERY_RETRY_MS_MAX: u64 = 30_000;
/// The longest wait that a channel may ask for before another try, in milliseconds.
pub const DELIVERY_RETRY_AFTER_MS_MAX: u64 = 10 * 60 * 1_000;

/// How long it is from one time that what is due is noted to the next, in milliseconds.
pub const CHORES_MS: u64 = 60_000;
/// How long decisions are listed in the audit, in milliseconds: 90 days.
pub const AUDIT_ACCESS_MS: u64 = 90 * 24 * 60 * 60 * 1_000;
/// How long what became of grants is listed, in milliseconds: 365 days.
pub const AUDIT_GRANTS_MS: u64 = 365 * 24 * 60 * 60 * 1_000;

/// The longest output file of a program of an agent, in bytes.
pub const JOB_OUTPUT_BYTES_MAX: usize = 1024 * 1024;
/// How much of the standard error of such a program is kept with its job, in bytes.
pub const JOB_SAID_BYTES_MAX: usize = 4 * 1024;
/// The longest line of progress that is shown, in characters.
pub const PROGRESS_CHARS_MAX: usize = 200;
/// How many lines of progress of one job are shown.
pub const PROGRESS_LINES_MAX: usize = 500;
/// How much a tool may leave in files, all together, in bytes.
pub const ARTIFACTS_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many files a tool may leave.
pub const ARTIFACTS_MAX: usize = 64;
/// How deep they may lie.
pub const ARTIFACTS_DEPTH_MAX: usize = 8;
/// How long an executor has a job before it must say that it still runs, in milliseconds.
pub const JOB_LEASE_MS: u64 = 30_000;
/// How long it is from one time that it says so to the next, in milliseconds.
pub const JOB_RENEW_MS: u64 = 10_000;
/// How long it is from one look whether a workspace is free to the next, in milliseconds.
pub const JOB_LOCK_POLL_MS: u64 = 50;
/// How long a job waits for its workspace, in milliseconds.
pub const JOB_LOCK_WAIT_MS_MAX: u64 = 10 * 60 * 1_000;
/// The longest question of a program to the runtime, in bytes.
pub const CALLBACK_BYTES_MAX: usize = 64 * 1024;
/// How many questions one program may ask.
pub const CALLBACKS_MAX: u32 = 20;
/// How many directories for programs are kept for the next ones.
pub const JOB_SLOTS_KEPT: usize = 8;
/// The longest answer of an agent's own tool that the model is told, in characters.
pub const TOOL_ANSWER_CHARS_MAX: usize = 200_000;
/// How many of the last messages a hook is told.
pub const HOOK_MESSAGES_MAX: usize = 20;
/// How much of each of them, in characters.
pub const HOOK_MESSAGE_CHARS_MAX: usize = 8_000;
/// How many events whose hooks are not through are looked at together.
pub const HOOK_EVENTS_MAX: usize = 64;
/// Of how many events the hooks run at once.
pub const HOOK_EVENTS_RUNNING_MAX: usize = 8;
/// How many hooks of one event run at once.
pub const HOOKS_SIDE_BY_SIDE_MAX: usize = 8;
/// How long it is from one look for such events to the next, if nobody rings, in milliseconds.
pub const HOOK_LOOK_MS: u64 = 5_000;
/// The longest answer that a hook may want of the model, in tokens.
pub const HOOK_MODEL_TOKENS_MAX: u64 = 2_000;
/// The longest answer if a hook does not say, in tokens.
pub const HOOK_MODEL_TOKENS_DEFAULT: u64 = 300;
/// How many labels a hook may have something classified by.
pub const HOOK_LABELS_MAX: usize = 50;
/// How many events a search of a hook gives.
pub const HOOK_SEARCH_MAX: usize = 50;
/// Through how many of the latest events it looks.
pub const HOOK_SEARCH_ROWS_MAX: usize = 1_000;
/// How many of the earlier messages of a place go along with what a hook wants done.
pub const HOOK_THREAD_MESSAGES: usize = 10;
/// Among how many of the latest events they are looked for.
pub const HOOK_THREAD_ROWS_MAX: usize = 500;
/// The longest name of a hook that an agent makes, in characters.
pub const HOOK_NAME_CHARS_MAX: usize = 64;
/// The longest script of a hook that an agent makes, in bytes.
pub const HOOK_SCRIPT_BYTES_MAX: usize = 64 * 1024;
/// How long the program of a hook that an agent made may take, in milliseconds.
pub const HOOK_TIMEOUT_MS: u64 = 5_000;
/// The same for one that may ask the model, in milliseconds.
pub const HOOK_MODEL_TIMEOUT_MS: u64 = 30_000;
/// How many hooks, or runnings of one, an agent is told of.
pub const HOOK_LISTED_MAX: usize = 100;
/// How long it is from one look whether a run whose hook is under way shall end to the next, in milliseconds.
pub const HOOK_CANCEL_LOOK_MS: u64 = 100;
/// How long the programs of event hooks are given to end when the process is asked to, in milliseconds.
pub const HOOKS_FINISH_MS_MAX: u64 = 10_000;
/// How long it is from one look whether they have ended to the next, in milliseconds.
pub const HOOKS_FINISH_LOOK_MS: u64 = 20;
/// The longest line of a dump that is looked at for secrets, in bytes.
pub(crate) const DUMP_LINE_BYTES_MAX: usize = 400;
/// The most digits that the offset at the beginning of such a line has.
pub(crate) const DUMP_OFFSET_DIGITS_MAX: usize = 16;
