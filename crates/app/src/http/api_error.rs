//! API errors, in one form for all routes: a code for programs, a message and a hint for people.
//!
//! Must never: reveal internals to an unknown caller, or blame the caller for a bug of ours.

use agentry_runtime::Error as RuntimeError;
use agentry_store::Error as StoreError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::fault::{Blame, Fault};

/// The kind of an API error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApiErrorCode {
    /// The request has no key, or an unknown key.
    Unauthenticated,
    /// The key lacks the required scope, or only the owner may do this.
    Forbidden,
    /// The request may come from a web page of another site.
    Csrf,
    /// The `Host` header names another server.
    WrongHost,
    /// The resource does not exist, or this caller may not see it.
    NotFound,
    /// The route does not support this HTTP method.
    WrongMethod,
    /// The request conflicts with the current state.
    Conflict,
    /// The request is larger than the limit.
    TooLarge,
    /// The encoding or content type of the body is not supported.
    Unsupported,
    /// The path, query or body is invalid.
    Invalid,
    /// Too many requests; the header `Retry-After` says when to try again.
    RateLimited,
    /// The request did not arrive in time.
    Timeout,
    /// Temporarily unavailable; try again later.
    Unavailable,
    /// The disk has no space left for the ledger.
    StorageFull,
    /// A bug in the server; its log has the details.
    Internal,
}

impl ApiErrorCode {
    /// Returns the HTTP status for this code.
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

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ApiError {
    /// The kind of the error, for programs.
    pub(crate) code: ApiErrorCode,
    /// A description of the error, for people.
    pub(crate) message: String,
    /// A suggestion what to do about it, for people.
    pub(crate) hint: Option<String>,
    /// Seconds until a retry may succeed; sent as the header `Retry-After`.
    #[serde(skip)]
    pub(crate) retry_after: Option<u64>,
}

/// The body of an error response.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ApiErrorBody {
    /// The error.
    pub(crate) error: ApiError,
}

impl ApiError {
    /// Creates an error with a message that names what failed.
    pub(crate) fn new(code: ApiErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, retry_after: None }
    }

    /// Adds a hint: what the caller can do about the error.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns an error for a resource that does not exist or that the caller may not see.
    pub(crate) fn not_found(what: &str, id: &str) -> Self {
        Self::new(ApiErrorCode::NotFound, format!("there is no {what} `{id}`"))
    }

    /// Returns an error for an invalid request.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ApiErrorCode::Invalid, message)
    }

    /// Returns an error for a request that conflicts with the current state.
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
