//! What can go wrong with the ledger, and what to do about it.
//!
//! An append that is refused wrote nothing; one of unknown outcome may have written everything.
//!
//! Must never: call an append that may have happened a failure.

use std::fmt;
use std::io;
use std::path::PathBuf;

use agentry_protocol::inbound::EventId;
use agentry_protocol::job::JobState;
use agentry_protocol::{
    AgentId, ApprovalId, EventHookId, InvocationId, JobId, SessionId, SessionKey, TokenId, TurnId,
};

use crate::lock::IntakeHolder;
use crate::loss::Loss;
use crate::verify::EntryDefect;
use crate::view::{ApprovalStatus, InboundStatus, InvocationStatus};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory below the home.
    #[error("cannot {doing} {}: {source}; check its permissions and the disk", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why it did not work.
        source: io::Error,
    },
    /// The database did not answer a question. Nothing was being written.
    #[error("cannot read {}: {source}; run `agentry ledger verify`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
    /// The database could not be brought to today's form.
    #[error("cannot upgrade {}: {why}; keep a copy of the file before trying again", path.display())]
    Upgrade {
        /// The file.
        path: PathBuf,
        /// What it said.
        why: String,
    },
    /// A newer program wrote it.
    #[error(
        "{} was written by a newer version of agentry ({what} {found}; this one knows {known}): \
         upgrade agentry",
        path.display()
    )]
    FromTheFuture {
        /// The file.
        path: PathBuf,
        /// Which version is meant.
        what: &'static str,
        /// The version in the file.
        found: u64,
        /// The newest that this program knows.
        known: u64,
    },
    /// An entry that cannot be understood.
    #[error("entry {seq} of {} cannot be read: {why}; run `agentry ledger verify`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The entry.
        seq: u64,
        /// Why.
        why: String,
    },
    /// A long string that is kept in a file of its own is gone or changed.
    #[error("the artifact {} {why}; restore it from a copy", path.display())]
    Artifact {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An event that cannot be stored. Nothing was written.
    #[error("the event cannot be stored: {why}")]
    Unstorable {
        /// Why.
        why: String,
    },
    /// The session went on without the caller. Nothing was written.
    #[error("the session {session} {}; read it again", moved(expected, head, under_way))]
    HeadMoved {
        /// The session.
        session: SessionId,
        /// The head that the caller knew.
        expected: Option<TurnId>,
        /// The head as it is.
        head: Option<TurnId>,
        /// A turn that began and did not end yet.
        under_way: Option<TurnId>,
    },
    /// There is such a session already. Nothing was written.
    #[error("the agent {agent} has a session `{key}` already: {session}")]
    SessionExists {
        /// Its name.
        key: SessionKey,
        /// Its agent.
        agent: AgentId,
        /// The session.
        session: SessionId,
    },
    /// An answer to a question that nobody asks. Nothing was written.
    #[error("{approval} does not wait for an answer: {}", standing(*status))]
    NotWaiting {
        /// The question.
        approval: ApprovalId,
        /// How it stands; nothing if there is no such question.
        status: Option<ApprovalStatus>,
    },
    /// The same event came in before. Nothing was written.
    #[error("the event {event} came in before, as entry {seq}")]
    Repeated {
        /// The event.
        event: EventId,
        /// The entry that it came in with.
        seq: u64,
    },
    /// Something was to be done about an event that is further on its way, or that nobody knows. Nothing was written.
    #[error("the event {event} is {}; read it again", further(*status))]
    Handled {
        /// The event.
        event: EventId,
        /// How far it is; nothing if there is no such event.
        status: Option<InboundStatus>,
    },
    /// An identity belongs to one entity only. Nothing was written.
    #[error("{channel}:{identifier} is {entity} already; unlink it there first")]
    IdentityTaken {
        /// The channel.
        channel: String,
        /// The channel's id.
        identifier: String,
        /// Whose it is.
        entity: String,
    },
    /// A key that was taken back or used up, or that nobody has. Nothing was written.
    #[error("the key {token} opens nothing any more")]
    TokenGone {
        /// The key.
        token: TokenId,
    },
    /// A job does not stand where the change begins. Nothing was written.
    #[error("the job {job} is {}; read it again", stands(*state))]
    JobMoved {
        /// The job.
        job: JobId,
        /// How it stands; nothing if there is no such job.
        state: Option<JobState>,
    },
    /// Who speaks for a job has lost it, or never had it. Nothing was written.
    #[error(
        "the job {job} is not in these hands: {} named, and the last taking is {current}",
        taking(*fence)
    )]
    Fenced {
        /// The job.
        job: JobId,
        /// The taking that was named.
        fence: Option<u32>,
        /// The last one; zero if nobody took it.
        current: u32,
    },
    /// Another job has the workspace for itself. Nothing was written.
    #[error("the job {holder} has {workspace} for itself; wait until it is over")]
    WorkspaceLocked {
        /// The workspace.
        workspace: String,
        /// Who has it.
        holder: JobId,
    },
    /// Two living hooks cannot have one name. Nothing was written.
    #[error("there is a hook `{name}` already: {hook}; choose another name, or update that one")]
    HookNameTaken {
        /// The name.
        name: String,
        /// Whose it is.
        hook: EventHookId,
    },
    /// Somebody else changed the hook meanwhile. Nothing was written.
    #[error("the next version of the hook {hook} is {expected} and not {version}; read it again")]
    HookVersion {
        /// The hook.
        hook: EventHookId,
        /// The version that was handed in.
        version: u32,
        /// The one that comes next.
        expected: u32,
    },
    /// A hook that was deleted does not come back. Nothing was written.
    #[error("the hook {hook} was deleted; register it as a new one")]
    HookDeleted {
        /// The hook.
        hook: EventHookId,
    },
    /// It is known already, or not known at all, what an event set off. Nothing was written.
    #[error("the event {event} {}", set_off(*is_settled))]
    HooksMatched {
        /// The event.
        event: EventId,
        /// Whether its hooks are through; nothing if none was ever set off.
        is_settled: Option<bool>,
    },
    /// A hook that the event set off is not through. Nothing was written.
    #[error("the event {event} is not settled: {invocation} is not over")]
    HooksPending {
        /// The event.
        event: EventId,
        /// What is still to come.
        invocation: InvocationId,
    },
    /// A running that is over, that is another's, or that nothing set off. Nothing was written.
    #[error("the invocation {invocation} is {}; read it again", how_far(*status))]
    InvocationMoved {
        /// Which.
        invocation: InvocationId,
        /// How far it is; nothing if no such hook was set off by such an event.
        status: Option<InvocationStatus>,
    },
    /// Another process held the ledger for too long. Nothing was written.
    #[error("another process keeps {} locked; try again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else works on the session.
    #[error("the session {session} is in use{}", by(*pid))]
    Busy {
        /// The session.
        session: SessionId,
        /// The process, if it said.
        pid: Option<u32>,
        /// Since when, in milliseconds since 1970.
        since: Option<u64>,
    },
    /// Somebody else takes in what comes.
    #[error("what comes is taken in already{}", by(*pid))]
    IntakeBusy {
        /// The process, if it said.
        pid: Option<u32>,
        /// Since when, in milliseconds since 1970.
        since: Option<u64>,
        /// Whether it stays.
        taker: IntakeHolder,
    },
    /// No room is left. The ledger has to be opened again.
    #[error("the disk is full at {}: {outcome}; make room and start again", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What became of the append.
        outcome: AppendOutcome,
    },
    /// The commit failed, and the entries may or may not be there. The ledger has to be opened again.
    #[error(
        "nobody knows whether the last entries of {} were written ({cause}); start again to see",
        path.display()
    )]
    OutcomeUnknown {
        /// The file.
        path: PathBuf,
        /// What was said.
        cause: String,
    },
    /// A short id that fits nothing.
    #[error("there is no {what} `{text}`")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// What was given.
        text: String,
    },
    /// A short id that fits several.
    #[error("`{text}` fits more than one {what}: {}", found.join(", "))]
    Ambiguous {
        /// What was looked for.
        what: &'static str,
        /// What was given.
        text: String,
        /// Some that fit.
        found: Vec<String>,
    },
    /// Entries that were written are not there any more. Nothing was written since.
    #[error(
        "{} {loss}. Restore the file together with `-wal` from a copy, or go on without what was lost: \
         `agentry ledger accept-loss` records that entries are missing",
        path.display()
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// What is missing.
        loss: Loss,
    },
    /// There is no loss to accept. Nothing was written.
    #[error("nothing is lost from {}: it has every entry that is known to have been written", path.display())]
    NothingLost {
        /// The file.
        path: PathBuf,
    },
    /// The ledger was opened to look at it only. Nothing was written.
    #[error("{} is open to be read only; open it for writing to change it", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// It has to be brought to today's form before it can be read.
    #[error(
        "{} was written by an older version of agentry and has to be upgraded, which needs a home that can be \
         written; copy the home to such a place and name it with AGENTRY_HOME",
        path.display()
    )]
    NeedsUpgrade {
        /// The file.
        path: PathBuf,
    },
    /// The ledger is not what was written.
    #[error("{} is damaged: {}", path.display(), listed(broken))]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong, by entry.
        broken: Vec<EntryDefect>,
    },
}

/// What became of an append that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// Nothing was written.
    NothingWritten,
    /// Nobody knows.
    Unknown,
}

impl fmt::Display for AppendOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingWritten => "nothing was written",
            Self::Unknown => "nobody knows whether the last entries were written",
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
        Some(ApprovalStatus::Expired) => "nobody answered in time",
    }
}

fn by(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
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

fn taking(fence: Option<u32>) -> String {
    fence.map_or_else(|| "no taking is".to_owned(), |fence| format!("taking {fence} is"))
}

fn set_off(is_settled: Option<bool>) -> &'static str {
    match is_settled {
        None => "set off no hook",
        Some(false) => "set off its hooks before",
        Some(true) => "set off its hooks before, and they are through",
    }
}

fn how_far(status: Option<InvocationStatus>) -> &'static str {
    status.map_or("not known", InvocationStatus::as_str)
}
