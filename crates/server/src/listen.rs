//! The address that the server listens on, and its requirements.
//!
//! Must never: listen on a public address without encryption, except with `--behind-proxy`.

use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_frontend::fault::{Blame, Fault};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

pub use super::proxy::ProxyNetwork;
use super::proxy::TrustedProxies;
use super::rate_limit::RateLimiter;
use super::request_guard::RequestGuard;

/// The default address.
const USUAL: &str = "127.0.0.1:3000";
/// The environment variable for the address; the flag has priority.
const VARIABLE: &str = "AGENTRY_LISTEN";

/// The options of the server's address.
#[derive(Clone, Debug, Default)]
pub struct ListenOptions {
    /// The address to listen on; None for that of `AGENTRY_LISTEN`, or else 127.0.0.1:3000.
    pub listen: Option<String>,
    /// Further host names of the server.
    pub host: Vec<String>,
    /// The file of the TLS certificate (PEM).
    pub tls_cert: Option<PathBuf>,
    /// The file of its private key (PEM).
    pub tls_key: Option<PathBuf>,
    /// True if a proxy in front terminates TLS.
    pub behind_proxy: bool,
    /// The addresses and networks whose X-Forwarded-For is trusted; loopback if there are none.
    pub trusted_proxy: Vec<ProxyNetwork>,
    /// True if no key is required; on loopback addresses only.
    pub insecure_loopback: bool,
}

/// A bound socket, with TLS if there is a certificate.
pub struct ListenSocket {
    pub(super) listener: TcpListener,
    pub(super) tls: Option<TlsAcceptor>,
}

/// A bound server: its socket, and the rules for its requests.
pub struct BoundServer {
    place: ListenSocket,
    /// The URL for people.
    pub url: String,
    /// The checks of each request.
    pub front: RequestGuard,
}

impl BoundServer {
    /// Splits into the checks of requests and the socket.
    pub fn into_parts(self) -> (RequestGuard, ListenSocket) {
        (self.front, self.place)
    }
}

impl ListenOptions {
    /// Checks the options and binds the socket.
    pub fn bind(&self, variable: impl Fn(&str) -> Option<String>) -> Result<BoundServer, Fault> {
        let said = self.listen.clone().or_else(|| variable(VARIABLE));
        let text = said.unwrap_or_else(|| USUAL.to_owned());
        let address = resolved(&text)?;
        self.check(address)?;
        let listener = TcpListener::bind(address).map_err(|error| {
            Fault::new(Blame::Machine, format!("cannot listen on {address}: {error}"))
                .hint("another server may use this address; choose another with --listen")
        })?;
        let bound = listener.local_addr().map_err(|error| {
            Fault::new(Blame::Machine, format!("cannot read the bound address: {error}"))
        })?;
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Some(acceptor(cert, key)?),
            _ => None,
        };
        let is_encrypted = tls.is_some() || self.behind_proxy;
        let hosts = self.hosts(bound);
        let scheme = if is_encrypted { "https" } else { "http" };
        let prefix = if is_encrypted { "__Host-" } else { "" };
        let url = match self.host.first() {
            Some(host) if self.behind_proxy => format!("{scheme}://{host}"),
            Some(host) => format!("{scheme}://{host}:{}", bound.port()),
            None => format!("{scheme}://{bound}"),
        };
        let front = RequestGuard {
            hosts,
            is_insecure: self.insecure_loopback,
            is_encrypted,
            cookie: format!("{prefix}agentry-{}", bound.port()),
            proxies: self.behind_proxy.then(|| TrustedProxies::new(&self.trusted_proxy)),
            rates: RateLimiter::default(),
        };
        Ok(BoundServer { place: ListenSocket { listener, tls }, url, front })
    }

    fn check(&self, address: SocketAddr) -> Result<(), Fault> {
        let wrong = |text: String, hint: &str| Err(Fault::new(Blame::Caller, text).hint(hint));
        if address.ip().is_loopback() {
            return if self.behind_proxy && self.insecure_loopback {
                wrong(
                    "behind a proxy all requests come from this machine, so a key is required"
                        .to_owned(),
                    "leave out --insecure-loopback",
                )
            } else {
                Ok(())
            };
        }
        if self.insecure_loopback {
            return wrong(
                format!("{address} is reachable from other machines, so a key is required"),
                "leave out --insecure-loopback, or listen on 127.0.0.1",
            );
        }
        if self.tls_cert.is_none() && !self.behind_proxy {
            return wrong(
                format!("{address} is reachable from other machines without encryption"),
                "set --tls-cert and --tls-key, or --behind-proxy and --host NAME",
            );
        }
        if address.ip().is_unspecified() && self.host.is_empty() {
            return wrong(
                format!("{address} means all addresses, so the server's host name is unknown"),
                "set it with --host NAME",
            );
        }
        Ok(())
    }

    fn hosts(&self, bound: SocketAddr) -> Vec<String> {
        let own = match bound.ip() {
            ip if ip.is_loopback() => {
                ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec()
            }
            ip if ip.is_unspecified() => Vec::new(),
            IpAddr::V4(ip) => vec![ip.to_string()],
            IpAddr::V6(ip) => vec![format!("[{ip}]")],
        };
        let with_port = own.iter().chain(&self.host).map(|name| format!("{name}:{}", bound.port()));
        let mut hosts: Vec<String> = with_port.collect();
        let is_usual = [80, 443].contains(&bound.port()) || self.behind_proxy;
        hosts.extend(self.host.iter().filter(|_| is_usual).cloned());
        hosts
    }
}

fn resolved(text: &str) -> Result<SocketAddr, Fault> {
    let wrong = |why: String| {
        Fault::new(Blame::Caller, format!("cannot listen on `{text}`: {why}"))
            .hint("use the form 127.0.0.1:3000")
    };
    let mut found = text.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    // A name may have several addresses; prefer IPv4.
    let all: Vec<SocketAddr> = found.by_ref().collect();
    let v4 = all.iter().find(|address| address.is_ipv4()).or_else(|| all.first());
    v4.copied().ok_or_else(|| wrong("the name has no address".to_owned()))
}

fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, Fault> {
    let unread = |path: &Path, error: &dyn std::fmt::Display| {
        Fault::new(Blame::Caller, format!("cannot use {}: {error}", path.display()))
            .hint("provide a certificate and its key in PEM format")
    };
    let certs = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unread(cert, &error))?;
    let key_of = PrivateKeyDer::from_pem_file(key).map_err(|error| unread(key, &error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certs, key_of))
        .map_err(|error| unread(cert, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> ListenOptions {
        ListenOptions { listen: Some(address.to_owned()), ..ListenOptions::default() }
    }

    fn refused(options: &ListenOptions) -> String {
        options.bind(|_| None).map(|bound| bound.url).unwrap_err().plain()
    }

    #[test]
    fn an_address_that_others_reach_needs_encryption_and_a_name() {
        assert!(refused(&at("0.0.0.0:0")).contains("--tls-cert"));
        let insecure = ListenOptions { insecure_loopback: true, ..at("0.0.0.0:0") };
        assert!(refused(&insecure).contains("a key is required"));
        let both = ListenOptions {
            host: vec!["a".to_owned()],
            behind_proxy: true,
            insecure_loopback: true,
            ..at("127.0.0.1:0")
        };
        assert!(refused(&both).contains("proxy"));
        assert!(refused(&at("nowhere")).contains("127.0.0.1:3000"));
    }

    #[test]
    fn a_server_of_this_machine_is_called_by_its_own_names_only() {
        let bound = at("127.0.0.1:0").bind(|_| None).unwrap();
        let port = bound.place.listener.local_addr().unwrap().port();
        let names = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}"));
        assert_eq!(bound.front.hosts, names);
        assert_eq!(bound.front.cookie, format!("agentry-{port}"));
    }

    #[test]
    fn behind_a_proxy_the_proxys_name_counts_too() {
        let host = vec!["agents.example".to_owned()];
        let options = ListenOptions { host, behind_proxy: true, ..at("127.0.0.1:0") };
        let bound = options.bind(|_| None).unwrap();
        assert!(bound.front.is_encrypted && bound.front.cookie.starts_with("__Host-"));
        assert!(bound.front.hosts.contains(&"agents.example".to_owned()));
        assert_eq!(bound.url, "https://agents.example");
    }
}
