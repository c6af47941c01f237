//! Connects to an allowed host: resolves it once, checks every address, then connects.
//!
//! Must never: resolve a name twice, or connect to an address that was not checked.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, connect, sockopt};

use super::domain::EgressHost;
use super::timed_stream::{TimedStream, WaitError, wait};
use super::{EgressContext, Resolver};
use crate::limits::{EGRESS_STACK_BYTES, EGRESS_TRIES_MAX};

/// The reason why a host was not reached.
#[derive(Debug)]
pub(crate) enum ReachError {
    /// The rules refuse it.
    Refused(String),
    /// The name could not be resolved.
    Unresolved(String),
    /// No address accepted a connection; this is the last one's error.
    Unconnected(io::Error),
    /// The sandbox has ended.
    Stopped,
}

/// Connects to a host that the rules admit.
pub(crate) fn reach(
    shared: &EgressContext,
    host: &EgressHost,
    port: u16,
) -> Result<TimedStream, ReachError> {
    shared.rules.admit(host, port).map_err(ReachError::Refused)?;
    let answers = match host {
        EgressHost::Address(address) => vec![SocketAddr::new(*address, port)],
        EgressHost::Name(name) => resolved(shared, name, port)?,
    };
    shared.rules.check_addresses(port, &answers).map_err(ReachError::Refused)?;
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for answer in answers.into_iter().take(EGRESS_TRIES_MAX) {
        match connected(shared, answer) {
            Ok(wire) => return Ok(wire),
            Err(WaitError::Stopped) => return Err(ReachError::Stopped),
            Err(WaitError::Late) => last = io::ErrorKind::TimedOut.into(),
            Err(WaitError::Gone(error)) => last = error,
        }
    }
    Err(ReachError::Unconnected(last))
}

/// Resolves a name in a thread of its own: the system's resolver cannot be interrupted.
fn resolved(shared: &EgressContext, name: &str, port: u16) -> Result<Vec<SocketAddr>, ReachError> {
    let unresolved = |error: io::Error| ReachError::Unresolved(error.to_string());
    let lookup = DnsLookup::new(shared)?;
    let (done, writer) = io::pipe().map_err(unresolved)?;
    let (resolve, asked): (Resolver, String) = (shared.resolve.clone(), name.to_owned());
    let thread = std::thread::Builder::new()
        .name("egress lookup".to_owned())
        .stack_size(EGRESS_STACK_BYTES)
        .spawn(move || {
            let answers = resolve(&asked, port);
            drop((writer, lookup));
            answers
        })
        .map_err(unresolved)?;
    let until = Instant::now() + shared.rules.caps.resolve_time;
    match wait(&shared.stop, [PollFd::new(&done, PollFlags::IN)], until) {
        Ok(()) => {}
        Err(WaitError::Stopped) => return Err(ReachError::Stopped),
        Err(WaitError::Late) => return Err(unresolved(io::ErrorKind::TimedOut.into())),
        Err(WaitError::Gone(error)) => return Err(unresolved(error)),
    }
    match thread.join() {
        Ok(Ok(answers)) if answers.is_empty() => {
            Err(ReachError::Unresolved("it has no address".to_owned()))
        }
        Ok(answers) => answers.map_err(unresolved),
        // The resolver panicked.
        Err(_) => Err(ReachError::Unresolved("the lookup broke off".to_owned())),
    }
}

/// A running lookup. It may outlive its connection, so lookups have a count of their own.
struct DnsLookup(Arc<AtomicUsize>);

impl DnsLookup {
    fn new(shared: &EgressContext) -> Result<Self, ReachError> {
        let lookup = Self(shared.lookups.clone());
        let most = shared.rules.caps.connections_at_once;
        if lookup.0.fetch_add(1, Ordering::SeqCst) >= most {
            return Err(ReachError::Unresolved(format!(
                "{most} names are being asked for already"
            )));
        }
        Ok(lookup)
    }
}

impl Drop for DnsLookup {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn connected(shared: &EgressContext, address: SocketAddr) -> Result<TimedStream, WaitError> {
    let gone = |errno: Errno| WaitError::Gone(errno.into());
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = unconnected(family).map_err(gone)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            let until = Instant::now() + shared.rules.caps.connect_time;
            wait(&shared.stop, [PollFd::new(&socket, PollFlags::OUT)], until)?;
            sockopt::socket_error(&socket).map_err(gone)?.map_err(gone)?;
        }
        Err(errno) => return Err(gone(errno)),
    }
    TimedStream::new(TcpStream::from(socket), shared.stop.clone()).map_err(WaitError::Gone)
}

/// Returns a socket that does not block and is not inherited.
#[cfg(target_os = "linux")]
fn unconnected(family: AddressFamily) -> Result<OwnedFd, Errno> {
    use rustix::net::{SocketFlags, socket_with};
    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

/// Returns a socket that does not block and is not inherited.
#[cfg(not(target_os = "linux"))]
fn unconnected(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}
