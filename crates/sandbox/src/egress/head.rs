//! The head of a request: parsed strictly, and written anew for the server.
//!
//! Every ambiguous head is an error here: a request is passed on only in the form in which it was
//! checked.
//!
//! Must never: pass on a header for a proxy, or a second statement of a body's length.

use super::body::BodyFraming;
use super::domain::EgressHost;
use super::rules::HTTP_PORT;
use crate::limits::EGRESS_HEADERS_MAX;

/// Headers that concern one hop only; the framing of the body is written anew.
const HOP_HEADERS: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A host and a port as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpAuthority {
    pub(crate) host: Vec<u8>,
    /// None if no port was written.
    pub(crate) port: Option<u16>,
}

/// The target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestTarget {
    /// A tunnel to a host.
    Tunnel(HttpAuthority),
    /// A path at a named host.
    Absolute(HttpAuthority, String),
    /// A path at the host of this connection.
    Origin(String),
}

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestHead {
    pub(crate) method: String,
    pub(crate) target: RequestTarget,
    pub(crate) body: BodyFraming,
    minor_version: u8,
    host_header: Option<HttpAuthority>,
    expects_continue: bool,
    headers: Vec<(String, Vec<u8>)>,
}

/// Returns the length of the head; None if it is incomplete. Accepts one kind of line end only.
pub(crate) fn end(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    let mut line_start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|it| bytes.get(it));
        match byte {
            b'\n' if before != Some(&b'\r') => return Err("a line ends without a return"),
            b'\n' if at == line_start + 1 => return Ok(Some(at + 1)),
            b'\n' => line_start = at + 1,
            _ if before == Some(&b'\r') => return Err("a return stands alone"),
            _ => {}
        }
    }
    Ok(None)
}

impl RequestHead {
    /// Parses a whole head.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut room = [httparse::EMPTY_HEADER; EGRESS_HEADERS_MAX];
        let mut request = httparse::Request::new(&mut room);
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(count)) if count == bytes.len() => {}
            Ok(_) => return Err("the head is not whole"),
            Err(httparse::Error::TooManyHeaders) => return Err("there are too many headers"),
            Err(_) => return Err("the head is malformed"),
        }
        let (Some(method), Some(path), Some(minor_version)) =
            (request.method, request.path, request.version)
        else {
            return Err("the head is not whole");
        };
        let headers = Headers(request.headers);
        let host_header = match headers.at_most_one("host")? {
            Some(value) => Some(HttpAuthority::parse(value)?),
            None if minor_version == 0 => None,
            None => return Err("the Host header is missing"),
        };
        let expects_continue = match headers.at_most_one("expect")? {
            None => false,
            Some(value) if value.eq_ignore_ascii_case(b"100-continue") => true,
            Some(_) => return Err("the Expect header is unknown"),
        };
        let body = headers.body(minor_version)?;
        let target = target(method, path)?;
        if matches!(target, RequestTarget::Tunnel(_))
            && (body != BodyFraming::Length(0) || expects_continue)
        {
            return Err("a CONNECT has no body");
        }
        Ok(Self {
            method: method.to_owned(),
            target,
            body,
            minor_version,
            host_header,
            expects_continue,
            headers: headers.to_pass_on(),
        })
    }

    /// Returns true if the Host header names this host; a tunnel's may leave out the port.
    pub(crate) fn agrees(&self, host: &EgressHost, port: u16) -> bool {
        let Some(header) = &self.host_header else { return true };
        let default = match self.target {
            RequestTarget::Tunnel(_) => port,
            RequestTarget::Absolute(..) | RequestTarget::Origin(_) => HTTP_PORT,
        };
        EgressHost::parse(&header.host).as_ref() == Ok(host)
            && header.port.unwrap_or(default) == port
    }

    /// Returns the head for the server, with the checked parts only.
    pub(crate) fn written(&self, path: &str, host: &EgressHost, port: u16) -> Vec<u8> {
        let mut text = format!("{} {path} HTTP/1.{}\r\n", self.method, self.minor_version);
        match port {
            HTTP_PORT => text += &format!("Host: {host}\r\n"),
            port => text += &format!("Host: {host}:{port}\r\n"),
        }
        let mut bytes = text.into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        match &self.body {
            // A missing length and a length of zero are the same; some servers insist on it.
            BodyFraming::Length(0) if !matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") => {
            }
            BodyFraming::Length(length) => {
                bytes.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
            }
            BodyFraming::Chunks(_) => bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            BodyFraming::UntilClosed => {}
        }
        if self.expects_continue {
            bytes.extend_from_slice(b"Expect: 100-continue\r\n");
        }
        bytes.extend_from_slice(b"Connection: close\r\n\r\n");
        bytes
    }
}

impl HttpAuthority {
    /// Parses `host` or `host:port`.
    fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let (host, port) = match text.iter().rposition(|byte| *byte == b':') {
            // The colons of an address in brackets.
            Some(_) if text.ends_with(b"]") => (text, None),
            Some(at) => (&text[..at], Some(port(&text[at + 1..])?)),
            None => (text, None),
        };
        if host.contains(&b':') && !host.starts_with(b"[") {
            return Err("an address with colons stands in brackets");
        }
        Ok(Self { host: host.to_vec(), port })
    }
}

fn port(text: &[u8]) -> Result<u16, &'static str> {
    let digits = std::str::from_utf8(text).ok().filter(|it| it.bytes().all(|b| b.is_ascii_digit()));
    match digits.and_then(|it| it.parse().ok()) {
        Some(1..) if text.len() > 5 => Err("the port is malformed"),
        Some(port @ 1..) => Ok(port),
        Some(0) | None => Err("the port is malformed"),
    }
}

fn target(method: &str, path: &str) -> Result<RequestTarget, &'static str> {
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) || path.contains('#') {
        return Err("the address is malformed");
    }
    if method == "CONNECT" {
        let authority = HttpAuthority::parse(path.as_bytes())?;
        authority.port.ok_or("a CONNECT names a port")?;
        return Ok(RequestTarget::Tunnel(authority));
    }
    if path.starts_with('/') {
        return Ok(RequestTarget::Origin(path.to_owned()));
    }
    let (scheme, rest) = path.split_once("://").ok_or("the address is not absolute")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err("only http is asked for in this way; everything else goes through CONNECT");
    }
    let cut = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(cut);
    let path = if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") };
    Ok(RequestTarget::Absolute(HttpAuthority::parse(authority.as_bytes())?, path))
}

/// The headers as they were received.
struct Headers<'a>(&'a [httparse::Header<'a>]);

impl<'a> Headers<'a> {
    fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter(move |it| it.name.eq_ignore_ascii_case(name)).map(|it| it.value)
    }

    fn at_most_one(&self, name: &str) -> Result<Option<&'a [u8]>, &'static str> {
        let mut all = self.all(name);
        let first = all.next();
        if all.next().is_some() {
            Err("a header comes twice that may come once")
        } else {
            Ok(first)
        }
    }

    fn body(&self, minor_version: u8) -> Result<BodyFraming, &'static str> {
        let length = self.at_most_one("content-length")?;
        match (length, self.at_most_one("transfer-encoding")?) {
            (Some(_), Some(_)) => Err("the body has two ends: a length and an encoding"),
            (None, Some(_)) if minor_version == 0 => Err("HTTP/1.0 has no transfer encoding"),
            (None, Some(value)) if value.eq_ignore_ascii_case(b"chunked") => {
                Ok(BodyFraming::chunked())
            }
            (None, Some(_)) => Err("the transfer encoding is unknown"),
            (Some(value), None) => length_of(value).map(BodyFraming::Length),
            (None, None) => Ok(BodyFraming::Length(0)),
        }
    }

    fn to_pass_on(&self) -> Vec<(String, Vec<u8>)> {
        let named = named_by_connection(self.0);
        let stays = |it: &&httparse::Header<'_>| {
            !is_for_one_hop(it.name) && !named.iter().any(|name| name.eq_ignore_ascii_case(it.name))
        };
        self.0.iter().filter(stays).map(|it| (it.name.to_owned(), it.value.to_vec())).collect()
    }
}

/// Returns the headers that the Connection header declares as concerning this hop only.
pub(crate) fn named_by_connection(headers: &[httparse::Header<'_>]) -> Vec<String> {
    let values = headers.iter().filter(|it| it.name.eq_ignore_ascii_case("connection"));
    let names = values.flat_map(|it| it.value.split(|byte| *byte == b','));
    names.map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned()).collect()
}

/// Returns true if a header concerns this hop only.
pub(crate) fn is_for_one_hop(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HOP_HEADERS.contains(&name.as_str()) || name.starts_with("proxy-")
}

/// Parses a length: digits and nothing else.
pub(crate) fn length_of(value: &[u8]) -> Result<u64, &'static str> {
    let text = std::str::from_utf8(value).ok();
    text.filter(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|it| it.parse().ok())
        .ok_or("the length of the body is malformed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(head: &str) -> Result<RequestHead, &'static str> {
        let end = end(head.as_bytes())?.ok_or("not whole")?;
        RequestHead::parse(&head.as_bytes()[..end])
    }

    #[test]
    fn a_request_is_written_anew_without_what_is_for_the_proxy() {
        let head = parsed(
            "POST HTTP://Ok.Test?q HTTP/1.1\r\nhost: ok.test:80\r\nA: 1\r\nProxy-Authorization: x\r\n\
             proxy-connection: keep-alive\r\nConnection: keep-alive, X-Own , upgrade\r\nx-own: 1\r\n\
             Upgrade: websocket\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: b\r\nCookie: a=b\r\n\
             Content-Length: 4\r\nExpect: 100-continue\r\n\r\n",
        )
        .unwrap();
        let RequestTarget::Absolute(authority, path) = &head.target else { panic!("{head:?}") };
        let host = EgressHost::parse(&authority.host).unwrap();
        assert!(head.agrees(&host, 80) && !head.agrees(&host, 81));
        assert_eq!(head.body, BodyFraming::Length(4));
        assert_eq!(
            String::from_utf8(head.written(path, &host, 80)).unwrap(),
            "POST /?q HTTP/1.1\r\nHost: ok.test\r\nA: 1\r\nCookie: a=b\r\nContent-Length: 4\r\n\
             Expect: 100-continue\r\nConnection: close\r\n\r\n"
        );
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_an_error() {
        for head in [
            "GET http://a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n",
            "GET http://a/ HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n Host: a\r\n\r\n",
            "GET http://a/ HTTP/1.1\nHost: a\n\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: 1\nY: 2\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: 1\0\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nX\0: 1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nExpect: something\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a/#b HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a/ü HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a:0/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a:/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a:+80/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a:65536/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://::1/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a/ HTTP/2.0\r\nHost: a\r\n\r\n",
            "GET  http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n",
            "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n",
            "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            "\r\nGET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            assert!(parsed(head).is_err(), "{head:?}");
        }
        let many = "A: b\r\n".repeat(EGRESS_HEADERS_MAX);
        assert!(parsed(&format!("GET http://a/ HTTP/1.1\r\nHost: a\r\n{many}\r\n")).is_err());
    }

    #[test]
    fn the_host_header_must_say_the_same() {
        let head = |line: &str, header: &str| parsed(&format!("{line}\r\nHost: {header}\r\n\r\n"));
        let name = EgressHost::Name("a.test".to_owned());
        let get = "GET http://a.test/ HTTP/1.1";
        for header in ["a.test", "A.test.", "a.test:80"] {
            assert!(head(get, header).unwrap().agrees(&name, 80), "{header}");
        }
        for header in ["b.test", "a.test:81", "a.test.evil", "a.test@b", "", "127.0.0.1"] {
            assert!(!head(get, header).is_ok_and(|it| it.agrees(&name, 80)), "{header}");
        }
        let connect = "CONNECT a.test:443 HTTP/1.1";
        for (header, agrees) in [("a.test:443", true), ("a.test", true), ("a.test:80", false)] {
            assert_eq!(head(connect, header).unwrap().agrees(&name, 443), agrees, "{header}");
        }
        let v6 = head("CONNECT [::1]:443 HTTP/1.1", "[::1]").unwrap();
        assert!(v6.agrees(&EgressHost::parse(b"[::1]").unwrap(), 443));
    }
}
