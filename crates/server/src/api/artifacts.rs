//! Downloads of artifacts: files that the ledger keeps by hash.
//!
//! Must never: serve a file whose name is not its own hash.

use agentry_protocol::ContentHash;
use agentry_protocol::token::TokenScope;

use crate::api_error::ApiError;
use crate::route::{ApiRequest, ApiResponse, ApiRoute, RouteAccess};
use crate::state::ServerState;

/// The content type of every artifact, so that a browser never renders it.
const CONTENT_TYPE: &str = "application/octet-stream";
/// The number of hexadecimal digits of a hash.
const HASH_DIGITS: usize = 64;
const HASH_PREFIX: &str = "blake3:";

pub(crate) fn routes() -> Vec<ApiRoute> {
    let words = "Download of a file that the ledger keeps";
    let read = RouteAccess::Owner(TokenScope::Read);
    vec![ApiRoute::raw("/api/artifacts/{hash}", read, words, CONTENT_TYPE, artifact)]
}

fn artifact(site: &ServerState, asked: ApiRequest) -> Result<ApiResponse, ApiError> {
    let text = asked.part(0);
    let unknown = || ApiError::not_found("artifact", text);
    let ledger = &site.parts.ledger;
    let hash = hash_of(text).filter(|hash| ledger.keeps(hash)).ok_or_else(unknown)?;
    let body = ledger.kept_file(&hash)?;
    let name = hash.as_str().replace(':', "-");
    let disposition = format!("attachment; filename=\"{name}\"");
    Ok(ApiResponse {
        status: 200,
        content_type: CONTENT_TYPE,
        body,
        headers: vec![("content-disposition", disposition)],
    })
}

/// Parses a hash, with or without its prefix.
fn hash_of(text: &str) -> Option<ContentHash> {
    let digits = text.strip_prefix(HASH_PREFIX).unwrap_or(text);
    let fits = digits.len() == HASH_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let hash = format!("{HASH_PREFIX}{digits}");
    fits.then(|| serde_json::from_value(hash.into()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hash_names_an_artifact() {
        let digits = "0123456789abcdef".repeat(4);
        let hash = format!("blake3:{digits}");
        assert_eq!(hash_of(&hash).map(|hash| hash.to_string()), Some(hash.clone()));
        assert_eq!(hash_of(&digits), hash_of(&hash));
        let upper = digits.to_uppercase();
        for wrong in ["", "..", "../../etc/passwd", &digits[1..], &upper] {
            assert_eq!(hash_of(wrong), None, "{wrong}");
        }
    }
}
