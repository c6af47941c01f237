//! The answer of a server on its way back; the connection ends after one answer.
//!
//! Must never: let a second answer pass on one connection, or a connection become another protocol.

use super::body::BodyFraming;
use super::head::{is_for_one_hop, length_of, named_by_connection};
use crate::limits::{EGRESS_HEAD_BYTES_MAX, EGRESS_HEADERS_MAX};

/// The state of an answer while it is relayed.
#[derive(Debug)]
pub(crate) struct ResponseRelay {
    /// True if the request is one that is answered without a body.
    bodiless: bool,
    /// The beginning of an incomplete head.
    held: Vec<u8>,
    /// The framing of the body; present after the head has passed.
    body: Option<BodyFraming>,
}

impl ResponseRelay {
    /// Returns the state for the answer to a request of that method.
    pub(crate) fn for_method(method: &str) -> Self {
        Self { bodiless: method == "HEAD", held: Vec::new(), body: None }
    }

    /// Returns true if the answer is complete.
    pub(crate) fn is_over(&self) -> bool {
        self.body.as_ref().is_some_and(BodyFraming::is_over)
    }

    /// Returns true if a final head has passed; interim answers do not count.
    pub(crate) fn has_begun(&self) -> bool {
        self.body.is_some()
    }

    /// Reads bytes of the server, and appends the bytes for the process to `out`.
    pub(crate) fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
        let Some(body) = &mut self.body else {
            self.held.extend_from_slice(bytes);
            return self.pass_head(out);
        };
        let count = body.take(bytes)?;
        out.extend_from_slice(&bytes[..count]);
        Ok(())
    }

    fn pass_head(&mut self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        loop {
            let mut room = [httparse::EMPTY_HEADER; EGRESS_HEADERS_MAX];
            let mut response = httparse::Response::new(&mut room);
            let length = match response.parse(&self.held) {
                Ok(httparse::Status::Complete(length)) => length,
                Ok(httparse::Status::Partial) if self.held.len() < EGRESS_HEAD_BYTES_MAX => {
                    return Ok(());
                }
                Ok(httparse::Status::Partial) => return Err("the head of the answer is too long"),
                Err(_) => return Err("the answer is not HTTP"),
            };
            match response.code {
                Some(101) => return Err("the server wants to speak another protocol"),
                Some(100..=199) => out.extend(self.held.drain(..length)),
                Some(_) | None => {
                    let mut body = body(&response, self.bodiless)?;
                    write_head(&response, out);
                    let rest = self.held.split_off(length);
                    let count = body.take(&rest)?;
                    out.extend_from_slice(&rest[..count]);
                    self.body = Some(body);
                    return Ok(());
                }
            }
        }
    }
}

fn body(
    response: &httparse::Response<'_, '_>,
    bodiless: bool,
) -> Result<BodyFraming, &'static str> {
    if bodiless || matches!(response.code, Some(204 | 304)) {
        return Ok(BodyFraming::Length(0));
    }
    let all = |name: &'static str| {
        response.headers.iter().filter(move |it| it.name.eq_ignore_ascii_case(name))
    };
    if let Some(encoding) = all("transfer-encoding").next_back() {
        let last = encoding.value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
        let chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
        return Ok(if chunked { BodyFraming::chunked() } else { BodyFraming::UntilClosed });
    }
    let mut lengths = all("content-length").map(|it| length_of(it.value));
    let Some(first) = lengths.next().transpose()? else { return Ok(BodyFraming::UntilClosed) };
    if lengths.any(|other| other != Ok(first)) {
        return Err("the answer has two lengths");
    }
    Ok(BodyFraming::Length(first))
}

/// Writes the head without the headers of this hop; keeps the framing of the body.
fn write_head(response: &httparse::Response<'_, '_>, out: &mut Vec<u8>) {
    let version = response.version.unwrap_or(1);
    let code = response.code.unwrap_or_default();
    let reason = response.reason.unwrap_or_default();
    out.extend_from_slice(format!("HTTP/1.{version} {code:03} {reason}\r\n").as_bytes());
    let named = named_by_connection(response.headers);
    let is_encoded =
        response.headers.iter().any(|it| it.name.eq_ignore_ascii_case("transfer-encoding"));
    for header in response.headers.iter() {
        let name = header.name.to_ascii_lowercase();
        let stays = match name.as_str() {
            "transfer-encoding" | "trailer" => true,
            "content-length" => !is_encoded,
            name => !is_for_one_hop(name) && !named.iter().any(|it| it.eq_ignore_ascii_case(name)),
        };
        if stays {
            out.extend_from_slice(header.name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(header.value);
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(b"Connection: close\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(method: &str, answer: &str) -> Result<(String, bool), &'static str> {
        let (mut whole, mut pieces) =
            (ResponseRelay::for_method(method), ResponseRelay::for_method(method));
        let (mut at_once, mut by_bytes) = (Vec::new(), Vec::new());
        whole.pass(answer.as_bytes(), &mut at_once)?;
        for byte in answer.bytes() {
            pieces.pass(&[byte], &mut by_bytes)?;
        }
        assert_eq!(at_once, by_bytes);
        Ok((String::from_utf8(at_once).unwrap(), whole.is_over()))
    }

    #[test]
    fn the_first_answer_passes_and_nothing_after_it() {
        assert_eq!(
            passed(
                "POST",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\
                 Connection: keep-alive, X-Own\r\nX-Own: 1\r\nKeep-Alive: 5\r\nA: b\r\n\r\nokmore"
            ),
            Ok((
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\n\
                 Connection: close\r\n\r\nok"
                    .to_owned(),
                true
            ))
        );
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nmore";
        assert!(passed("GET", chunked).unwrap().0.ends_with("2\r\nok\r\n0\r\n\r\n"));
        let unbounded = passed("GET", "HTTP/1.0 200 OK\r\n\r\nall of it").unwrap();
        assert!(unbounded.0.ends_with("all of it") && !unbounded.1);
        for (method, head) in [("HEAD", "200 OK"), ("GET", "304 Not Modified")] {
            let answer = format!("HTTP/1.1 {head}\r\nContent-Length: 5\r\n\r\nxxxxx");
            let (text, over) = passed(method, &answer).unwrap();
            assert!(text.ends_with("\r\n\r\n") && over, "{text}");
        }
    }

    #[test]
    fn what_is_no_answer_does_not_pass() {
        for answer in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothing",
        ] {
            assert!(passed("GET", answer).is_err(), "{answer}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(EGRESS_HEAD_BYTES_MAX));
        assert!(
            ResponseRelay::for_method("GET").pass(endless.as_bytes(), &mut Vec::new()).is_err()
        );
    }
}
