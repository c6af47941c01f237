//! Creates HTTP clients: certificates, proxies, time limits, no redirects.
//!
//! A client for plain http loads no certificates: reading them costs more than many requests.
//!
//! Must never: read the environment, or send a request to this machine through a proxy.

use agentry_protocol::message::{FailureKind, ModelFailure};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, NoProxy, Url};

use super::{HttpError, HttpSettings, Proxy};
use crate::http_failure::causes;

/// The addresses of this machine.
const OWN_MACHINE: &str = "localhost,127.0.0.0/8,::1";

const USER_AGENT: &str = concat!("agentry/", env!("CARGO_PKG_VERSION"));

/// Checks that the proxies are addresses.
pub(super) fn check(proxy: &Proxy) -> Result<(), HttpError> {
    proxies(proxy).map(drop)
}

/// True if the connection to this address needs certificates.
pub(super) fn needs_tls(url: &Url, proxy: &Proxy) -> bool {
    url.scheme() == "https" || proxy.http.as_deref().is_some_and(|to| to.starts_with("https:"))
}

pub(super) fn build(settings: &HttpSettings, tls: bool) -> Result<Client, ModelFailure> {
    let failed = |why: String| ModelFailure::new(FailureKind::Connection, why);
    let mut builder = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .no_gzip()
        .no_brotli()
        .user_agent(USER_AGENT)
        .connect_timeout(settings.timing.connect);
    builder = if tls {
        builder.tls_certs_merge(roots().map_err(|error| failed(causes(&error)))?)
    } else {
        builder.tls_certs_only([])
    };
    for proxy in proxies(&settings.proxy).map_err(|error| failed(error.to_string()))? {
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| failed(format!("requests cannot be sent: {}", causes(&error))))
}

/// Returns the built-in certificates, in addition to those of the machine, which may have none.
fn roots() -> reqwest::Result<Vec<Certificate>> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|der| Certificate::from_der(der)).collect()
}

fn proxies(proxy: &Proxy) -> Result<Vec<reqwest::Proxy>, HttpError> {
    let direct = match proxy.no_proxy.as_deref().map(str::trim) {
        Some(hosts) if !hosts.is_empty() => format!("{hosts},{OWN_MACHINE}"),
        Some(_) | None => OWN_MACHINE.to_owned(),
    };
    let mut all = Vec::new();
    for (value, variable) in [(&proxy.https, "HTTPS_PROXY"), (&proxy.http, "HTTP_PROXY")] {
        let Some(value) = value.as_deref().map(str::trim).filter(|value| !value.is_empty()) else {
            continue;
        };
        let known = match value.split_once("://") {
            Some((scheme, _)) => matches!(scheme, "http" | "https"),
            None => true,
        };
        let made = match variable {
            "HTTPS_PROXY" => reqwest::Proxy::https(value),
            _ => reqwest::Proxy::http(value),
        };
        match made {
            Ok(made) if known => all.push(made.no_proxy(NoProxy::from_string(&direct))),
            // The error would show the address, and with it a password.
            Ok(_) | Err(_) => return Err(HttpError::Proxy { variable }),
        }
    }
    Ok(all)
}
