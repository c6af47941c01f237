//! Why a request is not done, in one form for all routes: a code for programs, words for people.
//!
//! Must never: tell a stranger what is inside, or call a defect of ours a mistake of the caller.

use agentry_runtime::Error as RuntimeError;
use agentry_store::Error as StoreError;
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

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Unknown { .. } => ApiErrorCode::NotFound,
            StoreError::Ambiguous { .. } | StoreError::Unstorable { .. } => ApiErrorCode::Invalid,
            StoreError::HeadMoved { .. }
            | StoreError::SessionExists { .. }
            | StoreError::NotWaiting { .. }
            | StoreError::Repeated { .. }
            | StoreError::Handled { .. }
            | StoreError::IdentityTaken { .. }
            | StoreError::TokenGone { .. }
            | StoreError::JobMoved { .. }
            | StoreError::Fenced { .. }
            | StoreError::WorkspaceLocked { .. }
            | StoreError::HookNameTaken { .. }
            | StoreError::HookVersion { .. }
            | StoreError::HookDeleted { .. }
            | StoreError::HooksMatched { .. }
            | StoreError::HooksPending { .. }
            | StoreError::InvocationMoved { .. }
            | StoreError::Busy { .. } => ApiErrorCode::Conflict,
            StoreError::Locked { .. } | StoreError::IntakeBusy { .. } => ApiErrorCode::Unavailable,
            StoreError::DiskFull { .. } => ApiErrorCode::StorageFull,
            StoreError::File { .. }
            | StoreError::Read { .. }
            | StoreError::Upgrade { .. }
            | StoreError::FromTheFuture { .. }
            | StoreError::Unreadable { .. }
            | StoreError::Artifact { .. }
            | StoreError::OutcomeUnknown { .. }
            | StoreError::Lost { .. }
            | StoreError::NothingLost { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::NeedsUpgrade { .. }
            | StoreError::Broken { .. } => ApiErrorCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RuntimeError> for ApiError {
    fn from(error: RuntimeError) -> Self {
        let code = match error {
            RuntimeError::Ledger(error) => return error.into(),
            RuntimeError::Definition(_) | RuntimeError::Model(_) => ApiErrorCode::Invalid,
            RuntimeError::Ended { .. }
            | RuntimeError::Diverged { .. }
            | RuntimeError::Untrusted { .. } => ApiErrorCode::Conflict,
            RuntimeError::Unready(_) | RuntimeError::Workspace { .. } => ApiErrorCode::Unavailable,
            RuntimeError::Denied(_) => ApiErrorCode::Forbidden,
            RuntimeError::Halted(_) => ApiErrorCode::Internal,
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
