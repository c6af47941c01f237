//! A request to a provider, as it is sent or compared with a recording.
//!
//! Must never: be sent from here; `http` sends it.

use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

/// A request to send.
#[derive(Clone, Debug)]
pub(crate) struct ProviderRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ProviderRequest {
    /// Returns the host, for messages.
    pub(crate) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}
