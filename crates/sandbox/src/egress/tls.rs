//! The TLS greeting: it must name the requested host.
//!
//! A server that serves another name inside the encryption is not seen here.
//!
//! Must never: pass a byte on before the name was compared.

use std::io::Read;
use std::time::Instant;

use rustls::server::Acceptor;

use super::domain::EgressHost;
use super::rules::EgressLimits;
use super::timed_stream::{TimedStream, WaitError};
use crate::limits::EGRESS_BUFFER_BYTES;

/// The reason why a greeting was not passed on.
#[derive(Debug)]
pub(crate) enum TlsGreetingError {
    /// It is invalid, or names another host.
    Refused(String),
    /// It did not arrive.
    Cut(WaitError),
}

/// Reads until the greeting is complete and names the host; returns all bytes that were read.
pub(crate) fn greeting(
    client: &TimedStream,
    early: Vec<u8>,
    host: &EgressHost,
    caps: &EgressLimits,
) -> Result<Vec<u8>, TlsGreetingError> {
    let until = Instant::now() + caps.head_time;
    let mut acceptor = Acceptor::default();
    let mut read = early;
    let mut judged = 0;
    let mut buffer = [0; EGRESS_BUFFER_BYTES];
    loop {
        let mut fresh = read.get(judged..).unwrap_or_default();
        while !fresh.is_empty() {
            if is_named(&mut acceptor, &mut fresh, host).map_err(TlsGreetingError::Refused)? {
                return Ok(read);
            }
        }
        judged = read.len();
        let room = caps.head_bytes.saturating_sub(judged).min(buffer.len());
        if room == 0 {
            let most = caps.head_bytes;
            return Err(TlsGreetingError::Refused(format!(
                "the TLS greeting is longer than {most} bytes"
            )));
        }
        match client.read(&mut buffer[..room], until) {
            Ok(0) => {
                return Err(TlsGreetingError::Refused(
                    "the TLS greeting is not complete".to_owned(),
                ));
            }
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(WaitError::Late) => {
                return Err(TlsGreetingError::Refused("the TLS greeting took too long".to_owned()));
            }
            Err(cut) => return Err(TlsGreetingError::Cut(cut)),
        }
    }
}

/// Returns true if the greeting is complete and right, false if incomplete; an error if wrong.
fn is_named(acceptor: &mut Acceptor, fresh: &mut &[u8], host: &EgressHost) -> Result<bool, String> {
    let not_tls = |error: &dyn std::fmt::Display| format!("this is no TLS greeting: {error}");
    acceptor.read_tls(fresh as &mut dyn Read).map_err(|error| not_tls(&error))?;
    let Some(accepted) = acceptor.accept().map_err(|(error, _)| not_tls(&error))? else {
        return Ok(false);
    };
    match (accepted.client_hello().server_name(), host) {
        // A greeting cannot name an address.
        (None, EgressHost::Address(_)) => Ok(true),
        (None, EgressHost::Name(_)) => Err("the TLS greeting names no host".to_owned()),
        (Some(named), host) if EgressHost::parse(named.as_bytes()).as_ref() == Ok(host) => Ok(true),
        (Some(named), _) => Err(format!("the TLS greeting names another host: {named}")),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;

    use rustls::crypto::aws_lc_rs;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;
    use crate::cancel::CancelToken;

    fn hello(host: &str) -> Vec<u8> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = host.to_owned().try_into().unwrap();
        let mut bytes = Vec::new();
        ClientConnection::new(Arc::new(config), name).unwrap().write_tls(&mut bytes).unwrap();
        bytes
    }

    fn judged(bytes: &[u8], host: &str) -> Result<Vec<u8>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let client =
            TimedStream::new(stream, Arc::new(CancelToken::new().listen().unwrap())).unwrap();
        let host = EgressHost::parse(host.as_bytes()).unwrap();
        match greeting(&client, bytes.to_vec(), &host, &EgressLimits::default()) {
            Ok(read) => Ok(read),
            Err(TlsGreetingError::Refused(why)) => Err(why),
            Err(TlsGreetingError::Cut(cut)) => panic!("{cut:?}"),
        }
    }

    #[test]
    fn a_greeting_for_an_address_names_nobody() {
        let unnamed = hello("1.2.3.4");
        assert_eq!(judged(&unnamed, "1.2.3.4"), Ok(unnamed.clone()));
        assert_eq!(judged(&unnamed, "ok.test"), Err("the TLS greeting names no host".to_owned()));
        let why = "the TLS greeting names another host: ok.test";
        assert_eq!(judged(&hello("ok.test"), "1.2.3.4"), Err(why.to_owned()));
    }

    #[test]
    fn what_follows_the_greeting_is_kept() {
        let bytes = [&hello("Ok.Test")[..], b"more"].concat();
        assert_eq!(judged(&bytes, "ok.test"), Ok(bytes));
    }
}
