//! The network access of a sandbox: a proxy that reaches the hosts of the rules, and no others.
//!
//! One listener serves HTTP CONNECT, requests that name their host, and SOCKS5 with names. A name
//! is checked, resolved once, each of its addresses is checked, and then it is connected. On port
//! 443 the TLS greeting must name the same host, on port 80 the single request must. Each
//! connection leaves one record; its `refused` is a reason of the rules, or begins with `malformed
//! request:`, with `not reached:`, or, if an allowed connection was cut off later, with `closed:`.
//!
//! Must never: pass on unchecked bytes, or outlive its sandbox. An allowed host can leak data.

mod body;
mod connect;
mod connection;
mod domain;
mod head;
mod http;
mod relay;
mod response;
mod rules;
mod socks;
mod timed_stream;
mod tls;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use agentry_protocol::confinement::Connection;
use rustix::event::{PollFd, PollFlags};

pub use rules::{EgressLimits, EgressRuleError, EgressRules};

use crate::cancel::{CancelListener, CancelToken};
use crate::limits::{EGRESS_PAUSE_MS, EGRESS_STACK_BYTES};
use connection::{ConnectionAttempt, ProxyConnection};
use relay::TransferBudget;
use timed_stream::{TimedStream, WaitError, wait};

/// Returns the addresses of a host at a port.
pub type Resolver = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// Takes the record of a connection when it has ended.
pub type ConnectionRecorder = Arc<dyn Fn(Connection) + Send + Sync>;

/// Returns the resolver of the system.
pub fn system() -> Resolver {
    Arc::new(|host, port| (host, port).to_socket_addrs().map(Iterator::collect))
}

/// A running proxy; dropping it closes every connection and waits until each is recorded.
#[derive(Debug)]
pub struct Egress {
    stop: CancelToken,
    listener_thread: Option<JoinHandle<()>>,
}

impl Egress {
    /// Serves the listener until dropped; do not drop it while holding a lock that `tell` needs.
    pub fn start(
        listener: TcpListener,
        rules: EgressRules,
        resolve: Resolver,
        tell: ConnectionRecorder,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let stop = CancelToken::new();
        let shared = Arc::new(EgressContext {
            stop: Arc::new(stop.listen()?),
            lookups: Arc::new(AtomicUsize::new(0)),
            sent: TransferBudget::new(rules.caps.bytes),
            received: TransferBudget::new(rules.caps.bytes),
            rules,
            resolve,
            tell,
        });
        let listener_thread =
            thread("egress").spawn(move || serve_connections(&listener, &shared))?;
        Ok(Self { stop, listener_thread: Some(listener_thread) })
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(listener_thread) = self.listener_thread.take() {
            join(listener_thread);
        }
    }
}

/// Waits for the end of a thread. A panic there has been reported by its thread.
fn join(thread: JoinHandle<()>) {
    thread.join().ok();
}

/// The parts of a proxy but for its listener: most programs make no connection, so it starts late.
#[cfg(target_os = "linux")]
pub(crate) struct EgressSetup {
    pub(crate) rules: EgressRules,
    pub(crate) resolve: Resolver,
    pub(crate) tell: ConnectionRecorder,
}

#[cfg(target_os = "linux")]
impl EgressSetup {
    /// Starts the proxy.
    pub(crate) fn start(&self, listener: TcpListener) -> io::Result<Egress> {
        Egress::start(listener, self.rules.clone(), self.resolve.clone(), self.tell.clone())
    }
}

/// The shared state of all connections of one sandbox.
struct EgressContext {
    rules: EgressRules,
    resolve: Resolver,
    tell: ConnectionRecorder,
    stop: Arc<CancelListener>,
    lookups: Arc<AtomicUsize>,
    sent: TransferBudget,
    received: TransferBudget,
}

fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned()).stack_size(EGRESS_STACK_BYTES)
}

fn serve_connections(listener: &TcpListener, shared: &Arc<EgressContext>) {
    let mut visits: Vec<JoinHandle<()>> = Vec::new();
    let caps = shared.rules.caps;
    let mut accepted = 0;
    while let Some(stream) = next_visitor(listener, shared) {
        accepted += 1;
        visits.retain(|visit| !visit.is_finished());
        let mut attempt = ConnectionAttempt::new(shared.tell.clone());
        if accepted > caps.connections {
            attempt.refuse(format!(
                "the {} connections of this sandbox are used up",
                caps.connections
            ));
            // No further connection is accepted, and the listener closes: no flood of records.
            break;
        }
        if visits.len() >= caps.connections_at_once {
            attempt.refuse(format!("there are {} connections already", caps.connections_at_once));
            continue;
        }
        let shared = shared.clone();
        // If the system has no thread left, the attempt is dropped, and its drop records it.
        visits.extend(thread("egress visit").spawn(move || welcome(&shared, stream, attempt)));
    }
    visits.into_iter().for_each(join);
}

fn next_visitor(listener: &TcpListener, shared: &EgressContext) -> Option<TcpStream> {
    // The wait for a connection is long; the request to stop wakes it.
    let soon = |milliseconds| Instant::now() + Duration::from_millis(milliseconds);
    loop {
        let watched = PollFd::new(listener, PollFlags::IN);
        match wait(&shared.stop, [watched], soon(u64::from(u32::MAX))) {
            Ok(()) => {}
            Err(WaitError::Late) => continue,
            Err(WaitError::Stopped | WaitError::Gone(_)) => return None,
        }
        match listener.accept() {
            Ok((stream, _)) => return Some(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Mostly there are no descriptors left; the pause prevents a busy loop.
            Err(_) => match wait(&shared.stop, [], soon(EGRESS_PAUSE_MS)) {
                Ok(()) | Err(WaitError::Late) => {}
                Err(WaitError::Stopped | WaitError::Gone(_)) => return None,
            },
        }
    }
}

fn welcome(shared: &EgressContext, stream: TcpStream, mut attempt: ConnectionAttempt) {
    match TimedStream::new(stream, shared.stop.clone()) {
        Ok(client) => ProxyConnection { shared, client: &client, attempt }.serve(),
        Err(error) => attempt.refuse(format!("closed: {error}")),
    }
}
