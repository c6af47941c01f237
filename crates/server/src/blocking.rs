//! Runs work that waits for a disk beside the asynchronous tasks.
//!
//! Must never: let a panic of the work reach the connection.

use super::api_error::{ApiError, ApiErrorCode};

/// Runs blocking work on the thread pool; a panic becomes an internal error.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let broke = |_| {
        ApiError::new(ApiErrorCode::Internal, "the request handler crashed; see the server's log")
    };
    tokio::task::spawn_blocking(work).await.map_err(broke)?
}
