//! Statuses of approvals, inbounds and invocations, which the views store and refusals name.
//!
//! Must never: have a word that differs from the one in the tables.

use rusqlite::Row;

use crate::column::of_word;

/// The status of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalStatus {
    /// No answer came yet.
    Waiting,
    /// The call was allowed.
    Yes,
    /// The call was denied.
    No,
    /// The turn or run ended before an answer came.
    Withdrawn,
    /// The request expired before an answer came.
    Expired,
}

impl ApprovalStatus {
    const ALL: [Self; 5] = [Self::Waiting, Self::Yes, Self::No, Self::Withdrawn, Self::Expired];

    /// Returns the word for this value, as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Yes => "yes",
            Self::No => "no",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
        }
    }

    /// Reads the word of a status from a column.
    pub(crate) fn read(row: &Row<'_>, index: usize) -> rusqlite::Result<Self> {
        let word: String = row.get(index)?;
        of_word(index, &word, &Self::ALL, Self::as_str)
    }
}

/// The stage of an inbound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboundStatus {
    /// It is on disk, and not routed yet.
    Received,
    /// It is kept and needs no action.
    Stored,
    /// Access denied it.
    Denied,
    /// Access allowed it, and its event hooks have not finished.
    Hooked,
    /// It waits in a mailbox.
    Waiting,
    /// It was added to a running turn, which has not read it yet.
    Steering,
    /// A running turn has read it.
    Taken,
    /// A run answers it.
    Running,
    /// Its run waits for an approval.
    Paused,
    /// Its run is done.
    Answered,
    /// Its run ended otherwise.
    Failed,
    /// It gets no turn.
    Unrun,
    /// The agent sent it.
    Sent,
}

impl InboundStatus {
    const ALL: [Self; 13] = [
        Self::Received,
        Self::Stored,
        Self::Denied,
        Self::Hooked,
        Self::Waiting,
        Self::Steering,
        Self::Taken,
        Self::Running,
        Self::Paused,
        Self::Answered,
        Self::Failed,
        Self::Unrun,
        Self::Sent,
    ];

    /// Returns the word for this value, as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Stored => "stored",
            Self::Denied => "denied",
            Self::Hooked => "hooked",
            Self::Waiting => "waiting",
            Self::Steering => "steering",
            Self::Taken => "taken",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Unrun => "unrun",
            Self::Sent => "sent",
        }
    }

    /// Returns true if at most the delivery of the answer is left.
    pub fn is_settled(self) -> bool {
        match self {
            Self::Stored
            | Self::Denied
            | Self::Answered
            | Self::Failed
            | Self::Unrun
            | Self::Sent => true,
            Self::Received
            | Self::Hooked
            | Self::Waiting
            | Self::Steering
            | Self::Taken
            | Self::Running
            | Self::Paused => false,
        }
    }

    /// Reads the word of a status from a column.
    pub(crate) fn read(row: &Row<'_>, index: usize) -> rusqlite::Result<Self> {
        let word: String = row.get(index)?;
        of_word(index, &word, &Self::ALL, Self::as_str)
    }
}

/// The status of an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvocationStatus {
    /// The program has not started.
    Matched,
    /// The program was about to start, and may have run.
    Begun,
    /// It is over.
    Done,
}

impl InvocationStatus {
    /// Returns the word for this value, as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Begun => "begun",
            Self::Done => "done",
        }
    }

    /// Reads the word of a status from a column.
    pub(crate) fn read(row: &Row<'_>, index: usize) -> rusqlite::Result<Self> {
        let word: String = row.get(index)?;
        of_word(index, &word, &[Self::Matched, Self::Begun, Self::Done], Self::as_str)
    }
}
