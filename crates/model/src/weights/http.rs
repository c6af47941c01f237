//! Requests files over HTTP, with few and visible redirects.
//!
//! Must never: send a token to another host than its own, leave https for http, or wait forever.

use std::cell::Cell;
use std::error::Error as _;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use reqwest::blocking::{Client, Response};
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::redirect::Policy;
use reqwest::{Certificate, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};

use super::failure::{PullError, disk};
use crate::limits::{
    CERTIFICATES_BYTES_MAX, PULL_CONNECT_MS_MAX, PULL_IDLE_MS_MAX, PULL_REDIRECTS_MAX,
};

/// An HTTP client for one source.
pub(super) struct DownloadClient {
    client: Client,
    /// The name of the source, for messages.
    pub(super) place: &'static str,
    bearer: Option<(Url, SecretString)>,
    /// True if the source ever gave content; a source that never did is not asked again.
    heard: Cell<bool>,
}

/// A successful answer.
pub(super) struct DownloadResponse {
    /// The answer, 200 or 206.
    pub(super) response: Response,
    /// The address after all redirects.
    pub(super) url: Url,
    /// The headers of all answers, redirects included, the last first.
    pub(super) on_the_way: Vec<HeaderMap>,
}

/// The reason why a request failed.
pub(super) enum DownloadError {
    /// No answer, or one that asks for a later retry.
    Unreachable(String),
    /// An answer with a status that refuses the file.
    Refused(StatusCode),
    /// An invalid address, or a redirect that is not followed.
    Address(String),
}

impl DownloadClient {
    /// Creates a client without a token for this address, which trusts these additional roots.
    pub(super) fn new(
        place: &'static str,
        base: &Url,
        roots: Option<&Path>,
    ) -> Result<Self, PullError> {
        let idle = Duration::from_millis(PULL_IDLE_MS_MAX);
        let mut certificates: Vec<Certificate> = webpki_root_certs::TLS_SERVER_ROOT_CERTS
            .iter()
            .filter_map(|der| Certificate::from_der(der).ok())
            .collect();
        if let Some(path) = roots {
            certificates.extend(own_roots(path)?);
        }
        let builder = Client::builder();
        // Proxies are for remote hosts; this machine needs none to reach itself.
        let builder = if is_this_machine(base) { builder.no_proxy() } else { builder };
        let client = builder
            .user_agent(concat!("agentry/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_millis(PULL_CONNECT_MS_MAX))
            .timeout(idle)
            .redirect(Policy::none())
            .no_gzip()
            .no_brotli()
            .tls_certs_merge(certificates)
            .build()
            .map_err(|error| PullError::Setting {
                setting: "the HTTP client".to_owned(),
                why: reason(&error),
            })?;
        Ok(Self { client, place, bearer: None, heard: Cell::new(false) })
    }

    /// Adds a token that is only for the host of this address.
    pub(super) fn with_token(mut self, host: &Url, token: Option<&SecretString>) -> Self {
        self.bearer = token.map(|token| (host.clone(), token.clone()));
        self
    }

    /// True if the source has ever given content.
    pub(super) fn was_heard(&self) -> bool {
        self.heard.get()
    }

    /// Sends a request, and follows a few redirects.
    pub(super) fn get(
        &self,
        url: &Url,
        headers: &[(HeaderName, String)],
    ) -> Result<DownloadResponse, DownloadError> {
        let mut url = url.clone();
        let mut on_the_way = Vec::new();
        for _ in 0..=PULL_REDIRECTS_MAX {
            let response = self.ask(&url, headers)?;
            let status = response.status();
            on_the_way.insert(0, response.headers().clone());
            if status == StatusCode::OK || status == StatusCode::PARTIAL_CONTENT {
                self.heard.set(true);
                return Ok(DownloadResponse { response, url, on_the_way });
            }
            if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
                url = next(&url, response.headers())?;
                continue;
            }
            if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                return Err(DownloadError::Unreachable(format!("it answers {status}")));
            }
            return Err(DownloadError::Refused(status));
        }
        Err(DownloadError::Address(format!("more than {PULL_REDIRECTS_MAX} redirects")))
    }

    fn ask(&self, url: &Url, headers: &[(HeaderName, String)]) -> Result<Response, DownloadError> {
        // A compressed answer could not be resumed in the middle.
        let mut request = self.client.get(url.clone()).header(ACCEPT_ENCODING, "identity");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some((host, token)) = &self.bearer
            && host.origin() == url.origin()
        {
            let value = format!("Bearer {}", token.expose_secret());
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| DownloadError::Address("the token is no header value".to_owned()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        request.send().map_err(|error| DownloadError::Unreachable(reason(&error)))
    }
}

impl DownloadError {
    /// Turns the failure into an error about a source and the requested file.
    pub(super) fn into_error(self, place: &str, what: &str) -> PullError {
        let place = place.to_owned();
        match self {
            Self::Unreachable(why) => PullError::Unreachable { place, why },
            Self::Refused(status) => {
                PullError::NotOffered { place, why: format!("it answers {status} for {what}") }
            }
            Self::Address(why) => PullError::NotOffered { place, why: format!("{what}: {why}") },
        }
    }
}

/// Returns the target of a redirect, if it may be followed.
fn next(from: &Url, headers: &HeaderMap) -> Result<Url, DownloadError> {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let location =
        location.ok_or_else(|| DownloadError::Address("a redirect to nowhere".to_owned()))?;
    let to = from.join(location);
    let to = to.map_err(|_| DownloadError::Address("a redirect to no address".to_owned()))?;
    check_redirect(from, &to).map_err(DownloadError::Address)?;
    Ok(to)
}

/// Checks that an address may redirect to another: never from https to http.
pub(super) fn check_redirect(from: &Url, to: &Url) -> Result<(), String> {
    let host = to.host_str().unwrap_or("nowhere");
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => Ok(()),
        ("https", "http") => Err(format!("it leads from https to plain http at {host}")),
        (_, other) => Err(format!("it leads to a {other} address")),
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn own_roots(path: &Path) -> Result<Vec<Certificate>, PullError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(disk(path))?;
    file.take(CERTIFICATES_BYTES_MAX).read_to_end(&mut bytes).map_err(disk(path))?;
    Certificate::from_pem_bundle(&bytes).map_err(|error| PullError::Setting {
        setting: path.display().to_string(),
        why: reason(&error),
    })
}

/// Returns the reason without the address, which may hold a password.
pub(super) fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        let seconds =
            if error.is_connect() { PULL_CONNECT_MS_MAX / 1_000 } else { PULL_IDLE_MS_MAX / 1_000 };
        return format!("no answer within {seconds} s");
    }
    let mut deepest = error.source();
    while let Some(next) = deepest.and_then(|one| one.source()) {
        deepest = Some(next);
    }
    deepest.map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_leads_from_https_to_less() {
        let lead = |from: &str, to: &str| {
            check_redirect(&Url::parse(from).unwrap(), &Url::parse(to).unwrap())
        };
        assert!(lead("https://a.test/x", "https://b.test/y").is_ok());
        assert!(lead("http://a.test/x", "https://b.test/y").is_ok());
        assert!(lead("http://a.test/x", "http://b.test/y").is_ok());
        let error = lead("https://a.test/x", "http://a.test/y").unwrap_err();
        assert_eq!(error, "it leads from https to plain http at a.test");
        assert!(lead("http://a.test/x", "file:///etc/passwd").is_err());
    }

    #[test]
    fn this_machine_is_told_from_others() {
        for (url, expected) in [
            ("http://127.0.0.1:1/x", true),
            ("http://[::1]:1/x", true),
            ("http://localhost/x", true),
            ("http://localhost.test/x", false),
            ("http://10.0.0.1/x", false),
        ] {
            assert_eq!(is_this_machine(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
