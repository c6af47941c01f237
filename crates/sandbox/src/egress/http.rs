//! HTTP between a process and the proxy: CONNECT, and requests that name their host.
//!
//! One connection carries one request or one tunnel. Each is checked before the server sees it.
//!
//! Must never: pass on unparsed bytes, or bytes after the announced end of a request.

use std::time::Instant;

use super::connect::{ReachError, reach};
use super::connection::{ProxyConnection, UpstreamServer};
use super::domain::EgressHost;
use super::head::{self, HttpAuthority, RequestHead, RequestTarget};
use super::relay::{RelayLeg, RelayMode, relay};
use super::response::ResponseRelay;
use super::rules::{HTTP_PORT, TLS_PORT};
use super::timed_stream::WaitError;
use super::tls;
use crate::limits::EGRESS_BUFFER_BYTES;

const BAD_REQUEST: &str = "400 Bad Request";
const FORBIDDEN: &str = "403 Forbidden";
const BAD_GATEWAY: &str = "502 Bad Gateway";

impl ProxyConnection<'_> {
    /// Serves one request, of which the first bytes are read already.
    pub(crate) fn serve_http(&mut self, first: Vec<u8>) {
        let Some((head, rest)) = self.read_head(first) else { return };
        match head.target.clone() {
            RequestTarget::Tunnel(authority) => {
                let Some(server) = self.server(&head, &authority) else { return };
                let welcome = b"HTTP/1.1 200 Connection established\r\n\r\n";
                if self.write(welcome) {
                    self.tunnel(&server, rest);
                }
            }
            RequestTarget::Absolute(authority, path) => {
                let Some(server) = self.server(&head, &authority) else { return };
                self.forward(&server, &head, &path, &rest);
            }
            RequestTarget::Origin(_) => {
                self.malformed("this is a proxy, and the address names no host")
            }
        }
    }

    /// Relays the allowed bytes of a tunnel, which depend on its port.
    pub(crate) fn tunnel(&mut self, server: &UpstreamServer, early: Vec<u8>) {
        let beginning = match server.port {
            HTTP_PORT => return self.http_in_tunnel(server, early),
            TLS_PORT => {
                match tls::greeting(self.client, early, &server.host, &self.shared.rules.caps) {
                    Ok(greeting) => greeting,
                    Err(tls::TlsGreetingError::Refused(why)) => return self.attempt.refuse(why),
                    Err(tls::TlsGreetingError::Cut(cut)) => return self.cut(&cut),
                }
            }
            _ => early,
        };
        let sent = &self.shared.sent;
        let mut out = RelayLeg::new(self.client, &server.wire, RelayMode::Everything, sent);
        let begun = out.begin(&beginning);
        self.carry(server, out, RelayMode::Everything, begun);
    }

    /// Serves a tunnel to a port of plain HTTP: its single request must be for its host.
    fn http_in_tunnel(&mut self, server: &UpstreamServer, early: Vec<u8>) {
        let Some((head, rest)) = self.read_head(early) else { return };
        let RequestTarget::Origin(path) = head.target.clone() else {
            return self.malformed("a tunnel is for one host, and the address names one again");
        };
        if !head.agrees(&server.host, server.port) {
            return self.malformed("the Host header names another host");
        }
        self.forward(server, &head, &path, &rest);
    }

    /// Relays one request and its answer.
    fn forward(&mut self, server: &UpstreamServer, head: &RequestHead, path: &str, rest: &[u8]) {
        let passing = RelayMode::Request(head.body.clone());
        let mut out = RelayLeg::new(self.client, &server.wire, passing, &self.shared.sent);
        let begun =
            out.begin(&head.written(path, &server.host, server.port)).and_then(|()| out.take(rest));
        let answer = RelayMode::Answer(ResponseRelay::for_method(&head.method));
        if let Some(why) = self.carry(server, out, answer, begun) {
            let text = format!("closed by sandbox: {}: {why}\n", self.attempt);
            self.answer(BAD_GATEWAY, &text);
        }
    }

    /// Relays both ways; returns the reason if that broke off before the process received a byte.
    fn carry(
        &mut self,
        server: &UpstreamServer,
        mut out: RelayLeg<'_>,
        passing: RelayMode,
        begun: Result<(), String>,
    ) -> Option<String> {
        let mut back = RelayLeg::new(&server.wire, self.client, passing, &self.shared.received);
        let idle = self.shared.rules.caps.idle;
        let carried = begun.and_then(|()| relay(&mut out, &mut back, idle));
        self.attempt.carried(out.carried, back.carried);
        let why = carried.err()?;
        self.attempt.refuse(format!("closed: {why}"));
        (back.carried == 0).then_some(why)
    }

    /// Reads a head; answers and records a malformed one, and returns None.
    fn read_head(&mut self, mut read: Vec<u8>) -> Option<(RequestHead, Vec<u8>)> {
        let caps = self.shared.rules.caps;
        let until = Instant::now() + caps.head_time;
        let mut buffer = [0; EGRESS_BUFFER_BYTES];
        loop {
            match head::end(&read) {
                Ok(Some(end)) => {
                    let rest = read.split_off(end);
                    return match RequestHead::parse(&read) {
                        Ok(head) => Some((head, rest)),
                        Err(why) => self.malformed_none(why),
                    };
                }
                Err(why) => return self.malformed_none(why),
                Ok(None) => {}
            }
            let room = caps.head_bytes.saturating_sub(read.len()).min(buffer.len());
            if room == 0 {
                return self.malformed_none("the head is too long");
            }
            match self.client.read(&mut buffer[..room], until) {
                Ok(0) => return self.malformed_none("the head is not whole"),
                Ok(count) => read.extend_from_slice(&buffer[..count]),
                Err(WaitError::Late) => return self.malformed_none("the head took too long"),
                Err(cut) => {
                    self.cut(&cut);
                    return None;
                }
            }
        }
    }

    /// Connects to the host; answers and records a refusal or a failure, and returns None.
    fn server(&mut self, head: &RequestHead, authority: &HttpAuthority) -> Option<UpstreamServer> {
        let port = authority.port.unwrap_or(HTTP_PORT);
        self.attempt.record_target(&authority.host, port);
        let host = match EgressHost::parse(&authority.host) {
            Ok(host) => host,
            Err(why) => return self.denied(why.to_owned()),
        };
        if !head.agrees(&host, port) {
            return self.malformed_none("the Host header names another host");
        }
        match reach(self.shared, &host, port) {
            Ok(wire) => Some(UpstreamServer { host, port, wire }),
            Err(ReachError::Refused(why)) => self.denied(why),
            Err(ReachError::Unresolved(why)) => self.not_reached(&why),
            Err(ReachError::Unconnected(error)) => self.not_reached(&error.to_string()),
            Err(ReachError::Stopped) => {
                self.cut(&WaitError::Stopped);
                None
            }
        }
    }

    fn denied<T>(&mut self, why: String) -> Option<T> {
        let text = format!("denied by sandbox: {}: {why}\n", self.attempt);
        self.attempt.refuse(why);
        self.answer(FORBIDDEN, &text);
        None
    }

    fn not_reached<T>(&mut self, why: &str) -> Option<T> {
        let text = format!("not reached: {}: {why}\n", self.attempt);
        self.attempt.refuse(format!("not reached: {why}"));
        self.answer(BAD_GATEWAY, &text);
        None
    }

    fn malformed(&mut self, why: &str) {
        self.attempt.refuse(format!("malformed request: {why}"));
        self.answer(BAD_REQUEST, &format!("denied by sandbox: malformed request: {why}\n"));
    }

    fn malformed_none<T>(&mut self, why: &str) -> Option<T> {
        self.malformed(why);
        None
    }

    fn answer(&mut self, status: &str, text: &str) {
        let denied = if status == BAD_GATEWAY { "" } else { "X-Denied-By: sandbox\r\n" };
        let length = text.len();
        self.write(
            format!(
                "HTTP/1.1 {status}\r\n{denied}Content-Type: text/plain; charset=utf-8\r\n\
                 Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
            )
            .as_bytes(),
        );
    }
}
