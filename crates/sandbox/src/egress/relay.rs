//! Relays bytes both ways between a process and a server, in one thread.
//!
//! Must never: hold more than one buffer in each direction, or relay a byte that was not counted.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::body::BodyFraming;
use super::response::ResponseRelay;
use super::timed_stream::{TimedStream, WaitError, wait};
use crate::limits::EGRESS_BUFFER_BYTES;

/// The bytes that a sandbox may relay in one direction, over all its connections.
#[derive(Debug)]
pub(crate) struct TransferBudget {
    spent: AtomicU64,
    max: u64,
}

impl TransferBudget {
    pub(crate) fn new(max: u64) -> Self {
        Self { spent: AtomicU64::new(0), max }
    }

    fn spend(&self, count: u64) -> Result<(), String> {
        let more = |spent: u64| spent.checked_add(count).filter(|sum| *sum <= self.max);
        match self.spent.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more) {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("the {} bytes of this sandbox are used up", self.max)),
        }
    }
}

/// The allowed bytes of one direction.
pub(crate) enum RelayMode {
    /// All bytes, and the end of the stream.
    Everything,
    /// The body of one request.
    Request(BodyFraming),
    /// One answer.
    Answer(ResponseRelay),
}

/// One direction.
pub(crate) struct RelayLeg<'a> {
    from: &'a TimedStream,
    to: &'a TimedStream,
    passing: RelayMode,
    budget: &'a TransferBudget,
    pending: Vec<u8>,
    ended: bool,
    end_told: bool,
    /// The number of bytes that have arrived.
    pub(crate) carried: u64,
}

impl<'a> RelayLeg<'a> {
    pub(crate) fn new(
        from: &'a TimedStream,
        to: &'a TimedStream,
        passing: RelayMode,
        budget: &'a TransferBudget,
    ) -> Self {
        let ended = match &passing {
            RelayMode::Everything | RelayMode::Answer(_) => false,
            RelayMode::Request(body) => body.is_over(),
        };
        let pending = Vec::new();
        Self { from, to, passing, budget, pending, ended, end_told: false, carried: 0 }
    }

    /// Queues bytes that are ours or were checked, before all others.
    pub(crate) fn begin(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.budget.spend(bytes.len() as u64)?;
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    /// Queues bytes as if they had just been read.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let before = self.pending.len();
        match &mut self.passing {
            RelayMode::Everything => self.pending.extend_from_slice(bytes),
            RelayMode::Request(body) => {
                let count = body.take(bytes)?;
                self.pending.extend_from_slice(&bytes[..count]);
                self.ended = body.is_over();
            }
            RelayMode::Answer(answer) => {
                answer.pass(bytes, &mut self.pending)?;
                self.ended = answer.is_over();
            }
        }
        self.budget.spend((self.pending.len() - before) as u64)
    }

    fn is_done(&self) -> bool {
        self.ended && self.pending.is_empty()
    }

    fn watched(&self) -> Option<PollFd<'a>> {
        if !self.pending.is_empty() {
            Some(PollFd::from_borrowed_fd(self.to.stream.as_fd(), PollFlags::OUT))
        } else if !self.ended {
            Some(PollFd::from_borrowed_fd(self.from.stream.as_fd(), PollFlags::IN))
        } else {
            None
        }
    }

    /// Reads or writes the bytes that are ready now.
    fn step(&mut self, buffer: &mut [u8]) -> Result<RelayStep, String> {
        let step = if self.pending.is_empty() { self.fill(buffer)? } else { self.flush() };
        if self.is_done() && !self.end_told && matches!(self.passing, RelayMode::Everything) {
            self.end_told = true;
            self.end_output()?;
        }
        Ok(step)
    }

    /// Passes the end on. A side that is gone already needs none.
    fn end_output(&self) -> Result<(), String> {
        match self.to.stream.shutdown(Shutdown::Write) {
            Err(error) if error.kind() != ErrorKind::NotConnected => Err(error.to_string()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<RelayStep, String> {
        if self.ended {
            return Ok(RelayStep::Idle);
        }
        match (&self.from.stream).read(buffer) {
            Ok(0) if matches!(self.passing, RelayMode::Request(_)) => {
                Err("the body of the request ended too early".to_owned())
            }
            Ok(0) if matches!(&self.passing, RelayMode::Answer(answer) if !answer.has_begun()) => {
                Err("the server ended without an answer".to_owned())
            }
            Ok(0) => {
                self.ended = true;
                Ok(RelayStep::Progress)
            }
            Ok(count) => self.take(&buffer[..count]).map(|()| RelayStep::Progress),
            Err(error) => Ok(RelayStep::of(&error, RelayStep::SourceGone)),
        }
    }

    fn flush(&mut self) -> RelayStep {
        match (&self.to.stream).write(&self.pending) {
            Ok(0) => RelayStep::SinkGone,
            Ok(count) => {
                self.pending.drain(..count);
                self.carried += count as u64;
                RelayStep::Progress
            }
            Err(error) => RelayStep::of(&error, RelayStep::SinkGone),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RelayStep {
    Idle,
    Progress,
    SourceGone,
    SinkGone,
}

impl RelayStep {
    fn of(error: &std::io::Error, gone: Self) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => Self::Idle,
            _ => gone,
        }
    }
}

/// Relays both ways until both have ended, or the one answer is complete; an error is a cut.
pub(crate) fn relay(
    out: &mut RelayLeg<'_>,
    back: &mut RelayLeg<'_>,
    idle: Duration,
) -> Result<(), String> {
    let one_answer = matches!(back.passing, RelayMode::Answer(_));
    let mut buffer = vec![0; EGRESS_BUFFER_BYTES];
    let mut until = Instant::now() + idle;
    loop {
        let sent = out.step(&mut buffer)?;
        let received = back.step(&mut buffer)?;
        if sent == RelayStep::SinkGone {
            // The server reads no more; it may still send.
            out.pending.clear();
            out.ended = true;
        }
        if sent == RelayStep::SourceGone
            || matches!(received, RelayStep::SourceGone | RelayStep::SinkGone)
        {
            return Ok(());
        }
        if back.is_done() && (one_answer || out.is_done()) {
            return Ok(());
        }
        if sent != RelayStep::Idle || received != RelayStep::Idle {
            until = Instant::now() + idle;
            continue;
        }
        let watched = out.watched().into_iter().chain(back.watched());
        match wait(&out.from.stop, watched, until) {
            Ok(()) => {}
            Err(WaitError::Stopped) => return Ok(()),
            Err(WaitError::Late) => return Err(format!("nothing was said for {idle:?}")),
            Err(WaitError::Gone(error)) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_overspent() {
        let budget = TransferBudget::new(10);
        assert!(budget.spend(10).is_ok() && budget.spend(0).is_ok());
        assert!(budget.spend(1).is_err());
        assert!(TransferBudget::new(5).spend(u64::MAX).is_err());
        let shared = TransferBudget::new(1_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| drop(shared.spend(1))));
            }
        });
        assert_eq!(shared.spent.load(Ordering::SeqCst), 1_000);
    }
}
