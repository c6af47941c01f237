//! Why a request is not done, in one form for all routes: a code for programs, words for people.
//!
//! Must never: tell a stranger what is inside, or call a defect of ours a mistake of the caller.

use agentry_runtime::Error as Runtime;
use agentry_store::Error as Store;
use schemars::JsonSchema;
use serde::Serialize;

use crate::fault::{Blame, Fault};

/// What kind of refusal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApiErrorCode {
    /// Nobody is known by the key that was sent, or none was sent.
    Unauthenticated,
    /// The key does not open this.
    Forbidden,
    /// The request may come from a page of somebody else.
    Csrf,
    /// The server is not called by this name.
    WrongHost,
    /// There is nothing here, or nothing for this caller.
    NotFound,
    /// There is something here, and it is not done with this method.
    WrongMethod,
    /// It does not fit how things stand now.
    Conflict,
    /// The request is larger than it may be.
    TooLarge,
    /// The body is not in a form that is taken here.
    Unsupported,
    /// The request cannot be understood.
    Invalid,
    /// There were too many requests.
    RateLimited,
    /// It took longer than it may.
    Timeout,
    /// It cannot be done now.
    Unavailable,
    /// There is no room left to record it.
    StorageFull,
    /// A defect of ours.
    Internal,
}

impl ApiErrorCode {
    /// The status of the answer.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Unauthenticated => 401,
            Self::Forbidden | Self::Csrf => 403,
            Self::WrongHost => 421,
            Self::NotFound => 404,
            Self::WrongMethod => 405,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::Unsupported => 415,
            Self::Invalid => 422,
            Self::RateLimited => 429,
            Self::Timeout => 408,
            Self::Unavailable => 503,
            Self::StorageFull => 507,
            Self::Internal => 500,
        }
    }
}

/// Why a request is not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ApiError {
    /// For programs.
    pub(crate) code: ApiErrorCode,
    /// For people: what happened.
    pub(crate) message: String,
    /// For people: what to do.
    pub(crate) hint: Option<String>,
    /// When it may be tried again, in seconds.
    #[serde(skip)]
    pub(crate) retry_after: Option<u64>,
}

/// What the answer to a refused request holds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ApiErrorBody {
    /// Why.
    pub(crate) error: ApiError,
}

impl ApiError {
    /// What happened.
    pub(crate) fn new(code: ApiErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, retry_after: None }
    }

    /// What to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// There is no such thing for this caller.
    pub(crate) fn not_found(what: &str, id: &str) -> Self {
        Self::new(ApiErrorCode::NotFound, format!("there is no {what} `{id}`"))
    }

    /// The request cannot be understood.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ApiErrorCode::Invalid, message)
    }

    /// It does not fit how things stand.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(ApiErrorCode::Conflict, message)
    }
}

impl From<Store> for ApiError {
    fn from(error: Store) -> Self {
        let code = match &error {
            Store::Unknown { .. } => ApiErrorCode::NotFound,
            Store::Ambiguous { .. } | Store::Unstorable { .. } => ApiErrorCode::Invalid,
            Store::HeadMoved { .. }
            | Store::SessionExists { .. }
            | Store::NotWaiting { .. }
            | Store::Repeated { .. }
            | Store::Handled { .. }
            | Store::IdentityTaken { .. }
            | Store::TokenGone { .. }
            | Store::JobMoved { .. }
            | Store::Fenced { .. }
            | Store::WorkspaceLocked { .. }
            | Store::HookNameTaken { .. }
            | Store::HookVersion { .. }
            | Store::HookDeleted { .. }
            | Store::HooksMatched { .. }
            | Store::HooksPending { .. }
            | Store::InvocationMoved { .. }
            | Store::Busy { .. } => ApiErrorCode::Conflict,
            Store::Locked { .. } | Store::IntakeBusy { .. } => ApiErrorCode::Unavailable,
            Store::DiskFull { .. } => ApiErrorCode::StorageFull,
            Store::File { .. }
            | Store::Read { .. }
            | Store::Upgrade { .. }
            | Store::FromTheFuture { .. }
            | Store::Unreadable { .. }
            | Store::Artifact { .. }
            | Store::OutcomeUnknown { .. }
            | Store::Lost { .. }
            | Store::NothingLost { .. }
            | Store::ReadOnly { .. }
            | Store::NeedsUpgrade { .. }
            | Store::Broken { .. } => ApiErrorCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Runtime> for ApiError {
    fn from(error: Runtime) -> Self {
        let code = match error {
            Runtime::Ledger(error) => return error.into(),
            Runtime::Definition(_) | Runtime::Model(_) => ApiErrorCode::Invalid,
            Runtime::Ended { .. } | Runtime::Diverged { .. } | Runtime::Untrusted { .. } => {
                ApiErrorCode::Conflict
            }
            Runtime::Unready(_) | Runtime::Workspace { .. } => ApiErrorCode::Unavailable,
            Runtime::Denied(_) => ApiErrorCode::Forbidden,
            Runtime::Halted(_) => ApiErrorCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let code = match fault.blame() {
            Blame::Caller => ApiErrorCode::Invalid,
            Blame::Agent => ApiErrorCode::Conflict,
            Blame::Machine => ApiErrorCode::Unavailable,
            Blame::Access => ApiErrorCode::Forbidden,
            Blame::Us | Blame::Reader => ApiErrorCode::Internal,
        };
        let (message, hint) = fault.into_parts();
        Self { code, message, hint, retry_after: None }
    }
}
