//! One connection of a process to the proxy, from its first byte to its record.
//!
//! Must never: end without exactly one record.

use std::fmt;
use std::time::Instant;

use agentry_protocol::confinement::Connection;

use super::domain::EgressHost;
use super::timed_stream::{TimedStream, WaitError};
use super::{ConnectionRecorder, EgressContext};
use crate::limits::{EGRESS_BUFFER_BYTES, HOST_BYTES_MAX};

/// The first byte of SOCKS, version 5.
const SOCKS: u8 = 5;

/// A connection of a process to the proxy.
pub(crate) struct ProxyConnection<'a> {
    pub(crate) shared: &'a EgressContext,
    pub(crate) client: &'a TimedStream,
    pub(crate) attempt: ConnectionAttempt,
}

/// A connected server, and the host and port that were requested.
pub(crate) struct UpstreamServer {
    pub(crate) host: EgressHost,
    pub(crate) port: u16,
    pub(crate) wire: TimedStream,
}

impl ProxyConnection<'_> {
    /// Detects the protocol, and serves it.
    pub(crate) fn serve(mut self) {
        let mut buffer = [0; EGRESS_BUFFER_BYTES];
        let room = self.shared.rules.caps.head_bytes.min(buffer.len());
        let until = Instant::now() + self.shared.rules.caps.head_time;
        match self.client.read(&mut buffer[..room], until) {
            Ok(0) | Err(WaitError::Late) => self.attempt.refuse("nothing was asked for".to_owned()),
            Ok(count) if buffer.first() == Some(&SOCKS) => {
                self.serve_socks(buffer[..count].to_vec(), until);
            }
            Ok(count) => self.serve_http(buffer[..count].to_vec()),
            Err(cut) => self.cut(&cut),
        }
        // First the record: a client that sees the end of the connection finds it recorded.
        drop(self.attempt);
        self.client.shutdown();
    }

    /// Sends bytes of the proxy's own; returns true if they were received.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        let until = Instant::now() + self.shared.rules.caps.head_time;
        match self.client.write_all(bytes, until) {
            Ok(()) => true,
            Err(cut) => {
                self.cut(&cut);
                false
            }
        }
    }

    /// Records that the connection broke off before any byte was relayed.
    pub(crate) fn cut(&mut self, cut: &WaitError) {
        self.attempt.refuse(match cut {
            WaitError::Stopped => "closed: the sandbox ended".to_owned(),
            WaitError::Late => "closed: the process took too long".to_owned(),
            WaitError::Gone(error) => format!("closed: {error}"),
        });
    }
}

/// The record of a connection, reported when it is dropped.
pub(crate) struct ConnectionAttempt {
    connection: Connection,
    /// True if bytes may have passed; otherwise the record says refused in any case.
    let_through: bool,
    tell: ConnectionRecorder,
}

impl ConnectionAttempt {
    pub(crate) fn new(tell: ConnectionRecorder) -> Self {
        let host = String::new();
        let connection = Connection { host, port: 0, refused: None, bytes_out: 0, bytes_in: 0 };
        Self { connection, let_through: false, tell }
    }

    /// Records the requested host and port, in characters that harm no reader.
    pub(crate) fn record_target(&mut self, host: &[u8], port: u16) {
        let shown = host.get(..HOST_BYTES_MAX).unwrap_or(host);
        self.connection.host = shown.escape_ascii().to_string();
        self.connection.port = port;
    }

    /// Records the reason of a refusal; the first reason is kept.
    pub(crate) fn refuse(&mut self, why: String) {
        self.connection.refused.get_or_insert(why);
    }

    /// Records that the connection was allowed, and the bytes in each direction.
    pub(crate) fn carried(&mut self, out: u64, back: u64) {
        self.let_through = true;
        self.connection.bytes_out += out;
        self.connection.bytes_in += back;
    }
}

impl fmt::Display for ConnectionAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.connection.host, self.connection.port)
    }
}

impl Drop for ConnectionAttempt {
    fn drop(&mut self) {
        if !self.let_through {
            self.refuse("closed: the proxy could not serve it".to_owned());
        }
        (self.tell)(self.connection.clone());
    }
}
