//! SOCKS, version 5 (RFC 1928): outgoing connections by name or address, without a password.
//!
//! Must never: listen for a process, relay datagrams, or resolve a name before it is allowed.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Instant;

use super::connect::{ReachError, reach};
use super::connection::{ProxyConnection, UpstreamServer};
use super::domain::EgressHost;
use super::timed_stream::WaitError;

const VERSION: u8 = 5;
const WITHOUT_PASSWORD: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const ADDRESS_4: u8 = 1;
const NAME: u8 = 3;
const ADDRESS_6: u8 = 4;

/// The reply code to a request.
#[derive(Clone, Copy)]
enum SocksReply {
    Succeeded = 0,
    Failure = 1,
    NotAllowed = 2,
    NetworkUnreachable = 3,
    HostUnreachable = 4,
    Refused = 5,
    UnknownCommand = 7,
    UnknownAddress = 8,
}

/// The reason why a request is missing.
enum SocksError {
    Answered(SocksReply, &'static str),
    Silent(&'static str),
    Cut(WaitError),
}

impl ProxyConnection<'_> {
    /// Serves one request, of which the first bytes are read already.
    pub(crate) fn serve_socks(&mut self, first: Vec<u8>, until: Instant) {
        let mut input = SocksInput { read: first, used: 0, until };
        let (host, port) = match self.request(&mut input) {
            Ok(request) => request,
            Err(SocksError::Answered(reply, why)) => return self.reply(reply, malformed(why)),
            Err(SocksError::Silent(why)) => return self.attempt.refuse(malformed(why)),
            Err(SocksError::Cut(cut)) => return self.cut(&cut),
        };
        self.attempt.record_target(&host, port);
        let host = match EgressHost::parse(&host) {
            Ok(host) => host,
            Err(why) => return self.reply(SocksReply::NotAllowed, why.to_owned()),
        };
        let wire = match reach(self.shared, &host, port) {
            Ok(wire) => wire,
            Err(ReachError::Refused(why)) => return self.reply(SocksReply::NotAllowed, why),
            Err(ReachError::Unresolved(why)) => {
                return self.reply(SocksReply::HostUnreachable, format!("not reached: {why}"));
            }
            Err(ReachError::Unconnected(error)) => {
                return self.reply(unconnected(error.kind()), format!("not reached: {error}"));
            }
            Err(ReachError::Stopped) => return self.cut(&WaitError::Stopped),
        };
        if self.write(&answer(SocksReply::Succeeded)) {
            let early = input.read.split_off(input.used);
            self.tunnel(&UpstreamServer { host, port, wire }, early);
        }
    }

    fn request(&mut self, input: &mut SocksInput) -> Result<(Vec<u8>, u16), SocksError> {
        let [_, methods] = self.exactly(input)?;
        let offered = self.next(input, usize::from(methods))?;
        if !offered.contains(&WITHOUT_PASSWORD) {
            self.write(&[VERSION, NO_METHOD]);
            return Err(SocksError::Silent("a password is offered, and none is known"));
        }
        if !self.write(&[VERSION, WITHOUT_PASSWORD]) {
            return Err(SocksError::Silent("the process is gone"));
        }
        let [version, command, _, kind] = self.exactly(input)?;
        if version != VERSION {
            return Err(SocksError::Silent("the version changed"));
        }
        let host = match kind {
            ADDRESS_4 => Ipv4Addr::from(self.exactly(input)?).to_string().into_bytes(),
            ADDRESS_6 => format!("[{}]", Ipv6Addr::from(self.exactly::<16>(input)?)).into_bytes(),
            NAME => {
                let [length] = self.exactly(input)?;
                self.next(input, usize::from(length))?
            }
            _ => {
                return Err(SocksError::Answered(
                    SocksReply::UnknownAddress,
                    "the address is unknown",
                ));
            }
        };
        let port = u16::from_be_bytes(self.exactly(input)?);
        self.attempt.record_target(&host, port);
        match (command, port) {
            (CONNECT, 1..) => Ok((host, port)),
            (CONNECT, 0) => {
                Err(SocksError::Answered(SocksReply::NotAllowed, "the port is malformed"))
            }
            _ => Err(SocksError::Answered(
                SocksReply::UnknownCommand,
                "only connections out are made",
            )),
        }
    }

    fn exactly<const COUNT: usize>(
        &mut self,
        input: &mut SocksInput,
    ) -> Result<[u8; COUNT], SocksError> {
        let bytes = self.next(input, COUNT)?;
        bytes.try_into().map_err(|_| SocksError::Silent("the request is not whole"))
    }

    fn next(&mut self, input: &mut SocksInput, count: usize) -> Result<Vec<u8>, SocksError> {
        let end = input.used + count;
        // A request is shorter than this: a greeting of 257 bytes and a request of 262.
        let mut buffer = [0; 512];
        while input.read.len() < end {
            match self.client.read(&mut buffer, input.until) {
                Ok(0) => return Err(SocksError::Silent("the request is not whole")),
                Ok(more) => input.read.extend_from_slice(&buffer[..more]),
                Err(WaitError::Late) => {
                    return Err(SocksError::Silent("the request took too long"));
                }
                Err(cut) => return Err(SocksError::Cut(cut)),
            }
        }
        let bytes = input.read[input.used..end].to_vec();
        input.used = end;
        Ok(bytes)
    }

    fn reply(&mut self, reply: SocksReply, why: String) {
        self.attempt.refuse(why);
        self.write(&answer(reply));
    }
}

/// The bytes read so far, and the number of parsed ones.
struct SocksInput {
    read: Vec<u8>,
    used: usize,
    until: Instant,
}

fn malformed(why: &str) -> String {
    format!("malformed request: {why}")
}

fn answer(reply: SocksReply) -> [u8; 10] {
    [VERSION, reply as u8, 0, ADDRESS_4, 0, 0, 0, 0, 0, 0]
}

fn unconnected(kind: ErrorKind) -> SocksReply {
    match kind {
        ErrorKind::ConnectionRefused => SocksReply::Refused,
        ErrorKind::NetworkUnreachable => SocksReply::NetworkUnreachable,
        ErrorKind::HostUnreachable | ErrorKind::TimedOut => SocksReply::HostUnreachable,
        _ => SocksReply::Failure,
    }
}
