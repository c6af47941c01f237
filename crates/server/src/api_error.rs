//! API errors, in one form for all routes: a code for programs, a message and a hint for people.
//!
//! Must never: reveal internals to an unknown caller, or blame the caller for a bug of ours.

use agentry_frontend::fault::{Blame, Fault};
use agentry_runtime::Error as RuntimeError;
use agentry_runtime::commands::{CommandError, CommandErrorKind};
use agentry_store::{Error as StoreError, ErrorClass};
use schemars::JsonSchema;
use serde::Serialize;

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
        let code = match error.class() {
            ErrorClass::NotFound => ApiErrorCode::NotFound,
            ErrorClass::Ambiguous | ErrorClass::Unstorable => ApiErrorCode::Invalid,
            ErrorClass::Conflict | ErrorClass::Stale => ApiErrorCode::Conflict,
            ErrorClass::InUse | ErrorClass::Unavailable => ApiErrorCode::Unavailable,
            ErrorClass::StorageFull => ApiErrorCode::StorageFull,
            ErrorClass::NothingToDo
            | ErrorClass::Damaged
            | ErrorClass::Unsuitable
            | ErrorClass::Backend => ApiErrorCode::Internal,
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

impl From<CommandError> for ApiError {
    fn from(error: CommandError) -> Self {
        let (hint, kind) = (error.hint(), error.kind());
        let code = match (error, kind) {
            (CommandError::Ledger(error), _) => return error.into(),
            (error, CommandErrorKind::Invalid) => Self::invalid(error.to_string()),
            (error, CommandErrorKind::NotFound) => {
                Self::new(ApiErrorCode::NotFound, error.to_string())
            }
            (error, CommandErrorKind::Conflict) => Self::conflict(error.to_string()),
            (error, CommandErrorKind::Forbidden) => {
                Self::new(ApiErrorCode::Forbidden, error.to_string())
            }
            (error, CommandErrorKind::Ledger) => {
                Self::new(ApiErrorCode::Internal, error.to_string())
            }
        };
        Self { hint, ..code }
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use agentry_protocol::inbound::EventId;
    use agentry_protocol::{
        AgentId, ApprovalId, EventHookId, InvocationId, JobId, SessionId, SessionKey, TokenId,
    };
    use agentry_store::{AppendOutcome, BackendError, IntakeHolder, Loss};

    use super::*;
    use agentry_frontend::bootstrap::store_fault;

    fn text() -> String {
        "x".to_owned()
    }

    fn path() -> PathBuf {
        PathBuf::from("ledger.sqlite3")
    }

    fn session() -> SessionId {
        SessionId::new("ses_1")
    }

    fn event() -> EventId {
        EventId::of("tg", "1").unwrap()
    }

    fn job() -> JobId {
        JobId::new("job_1")
    }

    fn hook() -> EventHookId {
        EventHookId::new("hook_1")
    }

    fn invocation() -> InvocationId {
        InvocationId::new("inv_1")
    }

    fn errors_of_the_caller() -> Vec<(StoreError, ApiErrorCode)> {
        vec![
            (StoreError::Unknown { what: "run", text: text() }, ApiErrorCode::NotFound),
            (
                StoreError::Ambiguous { what: "run", text: text(), found: Vec::new() },
                ApiErrorCode::Invalid,
            ),
            (
                StoreError::NotWaiting { approval: ApprovalId::new("apr_1"), status: None },
                ApiErrorCode::Conflict,
            ),
            (
                StoreError::Busy { session: session(), pid: None, since: None },
                ApiErrorCode::Conflict,
            ),
            (
                StoreError::IntakeBusy { pid: None, since: None, taker: IntakeHolder::Once },
                ApiErrorCode::Unavailable,
            ),
            (
                StoreError::SessionExists {
                    key: SessionKey::new("k"),
                    agent: AgentId::new("agt_1"),
                    session: session(),
                },
                ApiErrorCode::Conflict,
            ),
            (StoreError::Repeated { event: event(), seq: 1 }, ApiErrorCode::Conflict),
            (
                StoreError::IdentityTaken { channel: text(), identifier: text(), entity: text() },
                ApiErrorCode::Conflict,
            ),
            (StoreError::NothingLost { path: path() }, ApiErrorCode::Internal),
            (StoreError::TokenGone { token: TokenId::new("tok_1") }, ApiErrorCode::Conflict),
            (StoreError::JobMoved { job: job(), state: None }, ApiErrorCode::Conflict),
            (
                StoreError::WorkspaceLocked { workspace: text(), holder: job() },
                ApiErrorCode::Conflict,
            ),
            (StoreError::HookNameTaken { name: text(), hook: hook() }, ApiErrorCode::Conflict),
            (
                StoreError::HookVersion { hook: hook(), version: 3, expected: 2 },
                ApiErrorCode::Conflict,
            ),
            (StoreError::HookDeleted { hook: hook() }, ApiErrorCode::Conflict),
        ]
    }

    fn errors_of_ours() -> Vec<(StoreError, ApiErrorCode)> {
        vec![
            (StoreError::Unstorable { why: text() }, ApiErrorCode::Invalid),
            (
                StoreError::HeadMoved {
                    session: session(),
                    expected: None,
                    head: None,
                    under_way: None,
                },
                ApiErrorCode::Conflict,
            ),
            (StoreError::Handled { event: event(), status: None }, ApiErrorCode::Conflict),
            (StoreError::Fenced { job: job(), fence: None, current: 0 }, ApiErrorCode::Conflict),
            (StoreError::HooksMatched { event: event(), is_settled: None }, ApiErrorCode::Conflict),
            (
                StoreError::HooksPending { event: event(), invocation: invocation() },
                ApiErrorCode::Conflict,
            ),
            (
                StoreError::InvocationMoved { invocation: invocation(), status: None },
                ApiErrorCode::Conflict,
            ),
        ]
    }

    fn errors_of_the_machine() -> Vec<(StoreError, ApiErrorCode)> {
        vec![
            (
                StoreError::File {
                    path: path(),
                    doing: "read",
                    source: std::io::Error::other("x"),
                },
                ApiErrorCode::Internal,
            ),
            (
                StoreError::Read { path: path(), source: BackendError::new("x") },
                ApiErrorCode::Internal,
            ),
            (StoreError::Upgrade { path: path(), why: text() }, ApiErrorCode::Internal),
            (
                StoreError::FromTheFuture { path: path(), what: "layout", found: 2, known: 1 },
                ApiErrorCode::Internal,
            ),
            (StoreError::Unreadable { path: path(), seq: 1, why: text() }, ApiErrorCode::Internal),
            (StoreError::Artifact { path: path(), why: "is missing" }, ApiErrorCode::Internal),
            (StoreError::Locked { path: path() }, ApiErrorCode::Unavailable),
            (
                StoreError::DiskFull { path: path(), outcome: AppendOutcome::NothingWritten },
                ApiErrorCode::StorageFull,
            ),
            (StoreError::OutcomeUnknown { path: path(), cause: text() }, ApiErrorCode::Internal),
            (
                StoreError::Lost { path: path(), loss: Loss { last: 1, known: 2, hash: text() } },
                ApiErrorCode::Internal,
            ),
            (StoreError::ReadOnly { path: path() }, ApiErrorCode::Internal),
            (StoreError::NeedsUpgrade { path: path() }, ApiErrorCode::Internal),
            (StoreError::Broken { path: path(), broken: Vec::new() }, ApiErrorCode::Internal),
        ]
    }

    #[test]
    fn each_error_of_the_store_has_its_exit_code_and_its_http_code() {
        let groups = [
            (2, errors_of_the_caller as fn() -> _),
            (70, errors_of_ours),
            (1, errors_of_the_machine),
        ];
        for (exit_code, errors) in groups {
            // Both mappings consume the error, so each gets a list of its own.
            for ((failed, code), (refused, _)) in errors().into_iter().zip(errors()) {
                let (name, text) = (format!("{failed:?}"), failed.to_string());
                let fault = store_fault(failed);
                assert_eq!((fault.code(), fault.plain()), (exit_code, text.clone()), "{name}");
                assert_eq!(ApiError::from(refused), ApiError::new(code, text), "{name}");
            }
        }
    }
}
