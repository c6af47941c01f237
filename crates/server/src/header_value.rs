//! Values of the headers of a request.
//!
//! Must never: choose among several values of one header.

use axum::http::HeaderMap;

/// Returns the value of a header that occurs exactly once and is text.
pub(crate) fn single_header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut all = headers.get_all(name).into_iter();
    let first = all.next().filter(|_| all.next().is_none())?;
    first.to_str().ok()
}
