//! Errors of the ledger, and what to do about them.
//!
//! A refused append wrote nothing; an append of unknown outcome may have written all its entries.
//!
//! Must never: call an append that may have happened a failure.

mod class;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use agentry_protocol::inbound::EventId;
use agentry_protocol::job::JobState;
use agentry_protocol::{
    AgentId, ApprovalId, EventHookId, InvocationId, JobId, SessionId, SessionKey, TokenId, TurnId,
};

use crate::defect::{EntryDefect, Loss};
use crate::lock_holder::IntakeHolder;
use crate::status::{ApprovalStatus, InboundStatus, InvocationStatus};

pub use class::ErrorClass;

/// An error of the ledger. Its text names the object that failed, then what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An operation on a file or directory below the home failed.
    #[error("cannot {doing} {}: {source}; check its permissions and the disk", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The operation, as a verb that follows "cannot".
        doing: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The database failed to answer a query. No write was in progress.
    #[error("cannot read {}: {source}; run `agentry ledger verify`", path.display())]
    Read {
        /// The ledger file.
        path: PathBuf,
        /// The error of the database.
        source: BackendError,
    },
    /// The migration of the file to the current layout failed.
    #[error("cannot upgrade {}: {why}; keep a copy of the file before trying again", path.display())]
    Upgrade {
        /// The ledger file.
        path: PathBuf,
        /// The error of the database.
        why: String,
    },
    /// The file was written by a newer version of agentry.
    #[error(
        "{} was written by a newer version of agentry ({what} {found}; this one knows {known}): \
         upgrade agentry",
        path.display()
    )]
    FromTheFuture {
        /// The ledger file.
        path: PathBuf,
        /// The kind of version: "layout", "schema" or "event".
        what: &'static str,
        /// The version in the file.
        found: u64,
        /// The highest version that this program knows.
        known: u64,
    },
    /// The body or a column of an entry does not decode.
    #[error("entry {seq} of {} cannot be read: {why}; run `agentry ledger verify`", path.display())]
    Unreadable {
        /// The ledger file.
        path: PathBuf,
        /// The number of the entry.
        seq: u64,
        /// The reason, as a clause that begins with "it" or "its", or the error of the parser.
        why: String,
    },
    /// An artifact (a long string in a file of its own) is missing or changed.
    #[error("the artifact {} {why}; restore it from a copy", path.display())]
    Artifact {
        /// The file.
        path: PathBuf,
        /// The defect, as a predicate of the file.
        why: &'static str,
    },
    /// The event has no stored form. Nothing was written.
    #[error("the event cannot be stored: {why}")]
    Unstorable {
        /// The reason.
        why: String,
    },
    /// The head of the session moved since the caller read it. Nothing was written.
    #[error("the session {session} {}; read it again", moved(expected, head, under_way))]
    HeadMoved {
        /// The session.
        session: SessionId,
        /// The head that the caller named; None means before the first turn.
        expected: Option<TurnId>,
        /// The current head.
        head: Option<TurnId>,
        /// A turn that started and has not ended.
        under_way: Option<TurnId>,
    },
    /// The agent already has a session with this key. Nothing was written.
    #[error("the agent {agent} has a session `{key}` already: {session}")]
    SessionExists {
        /// The key of the session.
        key: SessionKey,
        /// The agent of the session.
        agent: AgentId,
        /// The existing session.
        session: SessionId,
    },
    /// The approval does not wait for an answer. Nothing was written.
    #[error("{approval} does not wait for an answer: {}", standing(*status))]
    NotWaiting {
        /// The approval.
        approval: ApprovalId,
        /// The status; None if there is no such approval.
        status: Option<ApprovalStatus>,
    },
    /// The event was received before. Nothing was written.
    #[error("the event {event} was received before, as entry {seq}")]
    Repeated {
        /// The event.
        event: EventId,
        /// The entry that received it.
        seq: u64,
    },
    /// The event is not at the stage that the change requires. Nothing was written.
    #[error("the event {event} is {}; read it again", further(*status))]
    Handled {
        /// The event.
        event: EventId,
        /// The current stage; None if there is no such event.
        status: Option<InboundStatus>,
    },
    /// An identity belongs to one entity only. Nothing was written.
    #[error("{channel}:{identifier} is {entity} already; unlink it there first")]
    IdentityTaken {
        /// The channel.
        channel: String,
        /// The id of the sender on that channel.
        identifier: String,
        /// The entity that has the identity.
        entity: String,
    },
    /// The key was revoked or used up, or there is no such key. Nothing was written.
    #[error("the key {token} is revoked, used up or unknown")]
    TokenGone {
        /// The key.
        token: TokenId,
    },
    /// The job is not in the state that the change requires. Nothing was written.
    #[error("the job {job} is {}; read it again", stands(*state))]
    JobMoved {
        /// The job.
        job: JobId,
        /// The current state; None if there is no such job.
        state: Option<JobState>,
    },
    /// The fence of a report is stale, or no executor has the job. Nothing was written.
    #[error("stale fence for job {job}: got {}, current {current}", got(*fence))]
    Fenced {
        /// The job.
        job: JobId,
        /// The fence of the report.
        fence: Option<u32>,
        /// The fence of the last lease; zero if there was none.
        current: u32,
    },
    /// Another job holds the lock of the workspace. Nothing was written.
    #[error("the job {holder} locks the workspace {workspace}; wait until it ends")]
    WorkspaceLocked {
        /// The workspace.
        workspace: String,
        /// The job that holds the lock.
        holder: JobId,
    },
    /// Two hooks that are not deleted cannot have one name. Nothing was written.
    #[error("there is a hook `{name}` already: {hook}; choose another name, or update that one")]
    HookNameTaken {
        /// The name.
        name: String,
        /// The hook that has the name.
        hook: EventHookId,
    },
    /// The version is not the next one: the hook changed since it was read. Nothing was written.
    #[error("the next version of the hook {hook} is {expected} and not {version}; read it again")]
    HookVersion {
        /// The hook.
        hook: EventHookId,
        /// The version in the change.
        version: u32,
        /// The version that comes next.
        expected: u32,
    },
    /// A deleted hook cannot be changed. Nothing was written.
    #[error("the hook {hook} was deleted; register it as a new one")]
    HookDeleted {
        /// The hook.
        hook: EventHookId,
    },
    /// The hooks of an event were matched before, or were never matched. Nothing was written.
    #[error("the event {event} {}", set_off(*is_settled))]
    HooksMatched {
        /// The event.
        event: EventId,
        /// True if all its hooks have finished; None if the event was never matched.
        is_settled: Option<bool>,
    },
    /// An invocation for the event has not finished. Nothing was written.
    #[error("the event {event} cannot be settled: {invocation} has not finished")]
    HooksPending {
        /// The event.
        event: EventId,
        /// An unfinished invocation.
        invocation: InvocationId,
    },
    /// The invocation is over, is of another hook or event, or does not exist. Nothing was written.
    #[error("the invocation {invocation} is {}; read it again", how_far(*status))]
    InvocationMoved {
        /// The invocation.
        invocation: InvocationId,
        /// The status; None if there is no such invocation of this hook for this event.
        status: Option<InvocationStatus>,
    },
    /// Another process kept the ledger locked for too long. Nothing was written.
    #[error("another process keeps {} locked; try again", path.display())]
    Locked {
        /// The ledger file.
        path: PathBuf,
    },
    /// Another owner, here or in another process, holds the lock of the session.
    #[error("the session {session} is in use{}", by(*pid))]
    Busy {
        /// The session.
        session: SessionId,
        /// The process that holds it, if it has written its id.
        pid: Option<u32>,
        /// The time of locking, in milliseconds since 1970.
        since: Option<u64>,
    },
    /// Another process holds the intake lock of the home.
    #[error("{} for this home{}", holds(*taker), process(*pid))]
    IntakeBusy {
        /// The process that holds it, if it has written its id.
        pid: Option<u32>,
        /// The time of locking, in milliseconds since 1970.
        since: Option<u64>,
        /// The kind of process that holds it.
        taker: IntakeHolder,
    },
    /// The disk is full. The ledger has to be opened again.
    #[error("the disk is full at {}: {outcome}; make room and start again", path.display())]
    DiskFull {
        /// The ledger file.
        path: PathBuf,
        /// The fate of the append.
        outcome: AppendOutcome,
    },
    /// The commit failed; its entries may or may not be there. The ledger has to be opened again.
    #[error(
        "it is unknown whether the last entries of {} were written ({cause}); start again to see",
        path.display()
    )]
    OutcomeUnknown {
        /// The ledger file.
        path: PathBuf,
        /// The error of the database.
        cause: String,
    },
    /// A short id that matches no id.
    #[error("there is no {what} `{text}`")]
    Unknown {
        /// The kind of object, such as "run".
        what: &'static str,
        /// The short id as given.
        text: String,
    },
    /// A short id that matches several ids.
    #[error("`{text}` fits more than one {what}: {}", found.join(", "))]
    Ambiguous {
        /// The kind of object, such as "run".
        what: &'static str,
        /// The short id as given.
        text: String,
        /// Some of the matching ids.
        found: Vec<String>,
    },
    /// Entries that were written are missing. Nothing was written since.
    #[error(
        "{} {loss}. Restore the file together with `-wal` from a copy, or go on without the lost entries: \
         `agentry ledger accept-loss` records that entries are missing",
        path.display()
    )]
    Lost {
        /// The ledger file.
        path: PathBuf,
        /// The missing entries.
        loss: Loss,
    },
    /// There is no loss to accept. Nothing was written.
    #[error("nothing is lost from {}: it has every entry that is known to have been written", path.display())]
    NothingLost {
        /// The ledger file.
        path: PathBuf,
    },
    /// The ledger was opened for reading only. Nothing was written.
    #[error("{} is open for reading only; open it for writing to change it", path.display())]
    ReadOnly {
        /// The ledger file.
        path: PathBuf,
    },
    /// The file has an older layout and must be upgraded before it can be read.
    #[error(
        "{} was written by an older version of agentry and must be upgraded, which needs a writable \
         home; copy the home to a writable place and set AGENTRY_HOME to it",
        path.display()
    )]
    NeedsUpgrade {
        /// The ledger file.
        path: PathBuf,
    },
    /// Verification found entries that differ from what was written.
    #[error("{} is damaged: {}", path.display(), listed(broken))]
    Broken {
        /// The ledger file.
        path: PathBuf,
        /// The defects, each with its entry.
        broken: Vec<EntryDefect>,
    },
}

impl Error {
    /// Returns the error for a query that the database did not answer.
    pub(crate) fn read(ledger: &Path, error: rusqlite::Error) -> Self {
        Self::Read { path: ledger.to_owned(), source: BackendError::new(error) }
    }
}

/// An error of the database below the ledger. Only its text is for callers.
#[derive(Debug)]
pub struct BackendError {
    // Private: the type of the cause names the database, which callers must not know.
    cause: Box<dyn std::error::Error + Send + Sync>,
}

impl BackendError {
    /// Creates an error from its cause, or from a text.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { cause: cause.into() }
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for BackendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}

/// The fate of an append that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// Nothing was written.
    NothingWritten,
    /// The entries may or may not be on disk.
    Unknown,
}

impl fmt::Display for AppendOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingWritten => "nothing was written",
            Self::Unknown => "it is unknown whether the last entries were written",
        })
    }
}

fn moved(expected: &Option<TurnId>, head: &Option<TurnId>, under_way: &Option<TurnId>) -> String {
    let name = |turn: &Option<TurnId>| {
        turn.as_ref().map_or_else(|| "its beginning".to_owned(), ToString::to_string)
    };
    match under_way {
        Some(turn) => format!("has a turn under way, {turn}"),
        None => format!("is at {} and not at {}", name(head), name(expected)),
    }
}

fn standing(status: Option<ApprovalStatus>) -> &'static str {
    match status {
        None => "there is no such approval",
        Some(ApprovalStatus::Waiting) => "it is waiting",
        Some(ApprovalStatus::Yes) => "it was answered with yes",
        Some(ApprovalStatus::No) => "it was answered with no",
        Some(ApprovalStatus::Withdrawn) => "its turn is over",
        Some(ApprovalStatus::Expired) => "it expired without an answer",
    }
}

fn by(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
}

fn holds(taker: IntakeHolder) -> &'static str {
    match taker {
        IntakeHolder::Once => "another agentry process is answering a message",
        IntakeHolder::Server => "another agentry server is already running",
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

fn listed(broken: &[EntryDefect]) -> String {
    let lines: Vec<String> = broken.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

fn further(status: Option<InboundStatus>) -> &'static str {
    status.map_or("not known", InboundStatus::as_str)
}

fn stands(state: Option<JobState>) -> &'static str {
    state.map_or("not known", JobState::as_str)
}

fn got(fence: Option<u32>) -> String {
    fence.map_or_else(|| "none".to_owned(), |fence| fence.to_string())
}

fn set_off(is_settled: Option<bool>) -> &'static str {
    match is_settled {
        None => "was never matched against hooks",
        Some(false) => "was matched against hooks before",
        Some(true) => "was matched against hooks before, and they have finished",
    }
}

fn how_far(status: Option<InvocationStatus>) -> &'static str {
    status.map_or("not known", InvocationStatus::as_str)
}
