//! A flag that one thread raises and others wait for.
//!
//! Must never: be lowered again. A new piece of work gets a new flag.

use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A request to stop, seen by every clone at once.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    shared: Arc<CancelState>,
}

#[derive(Debug, Default)]
struct CancelState {
    raised: AtomicBool,
    /// Weak references: a waiter that is gone costs nothing.
    listeners: Mutex<Vec<Weak<WakePipe>>>,
    changed: Condvar,
}

/// Becomes readable when the flag is raised, so that a waiter in `poll` wakes at once.
#[derive(Debug)]
pub(crate) struct CancelListener {
    pipe: Arc<WakePipe>,
}

/// Both ends live as long as each other: waking a waiter that just leaves hits no closed pipe.
#[derive(Debug)]
struct WakePipe {
    reader: PipeReader,
    writer: PipeWriter,
}

impl AsFd for CancelListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.reader.as_fd()
    }
}

impl CancelToken {
    /// Returns a flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag and wakes all waiters.
    pub fn stop(&self) {
        self.shared.raised.store(true, Ordering::SeqCst);
        let mut listeners = self.listeners();
        self.shared.changed.notify_all();
        for listener in listeners.drain(..).filter_map(|listener| listener.upgrade()) {
            wake(&listener);
        }
    }

    /// Waits until the flag is raised or the time is over; returns true if the flag is raised.
    pub fn wait(&self, time: Duration) -> bool {
        // `stop` takes the same lock before it wakes waiters: no wake-up is missed.
        let waited =
            self.shared.changed.wait_timeout_while(self.listeners(), time, |_| !self.is_stopped());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        self.is_stopped()
    }

    /// Returns true if the flag is raised.
    pub fn is_stopped(&self) -> bool {
        self.shared.raised.load(Ordering::SeqCst)
    }

    pub(crate) fn listen(&self) -> std::io::Result<CancelListener> {
        let (reader, writer) = std::io::pipe()?;
        let pipe = Arc::new(WakePipe { reader, writer });
        let mut listeners = self.listeners();
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(&pipe));
        drop(listeners);
        // Raised between the caller's last check and now: the list was already woken.
        if self.is_stopped() {
            wake(&pipe);
        }
        Ok(CancelListener { pipe })
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Weak<WakePipe>>> {
        self.shared.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(pipe: &WakePipe) {
    // The pipe is ours, empty and open at both ends: one byte always fits.
    (&pipe.writer).write_all(&[1]).expect("an empty pipe takes a byte");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clone_sees_that_the_flag_is_raised() {
        let stop = CancelToken::new();
        let clone = stop.clone();
        assert!(!clone.is_stopped());
        stop.stop();
        assert!(clone.is_stopped());
    }

    #[test]
    fn who_waits_is_woken_when_the_flag_is_raised() {
        let stop = CancelToken::new();
        assert!(!stop.wait(Duration::ZERO));
        let clone = stop.clone();
        let waiter = std::thread::spawn(move || clone.wait(Duration::from_secs(600)));
        stop.stop();
        assert!(waiter.join().unwrap());
    }

    #[test]
    fn a_listener_that_is_gone_is_forgotten() {
        let stop = CancelToken::new();
        for _ in 0..100 {
            drop(stop.listen().unwrap());
        }
        assert!(stop.listeners().len() <= 1);
    }

    #[test]
    fn who_listens_after_the_flag_was_raised_is_woken_too() {
        use std::io::Read as _;
        let stop = CancelToken::new();
        stop.stop();
        let mut byte = [0];
        (&stop.listen().unwrap().pipe.reader).read_exact(&mut byte).unwrap();
    }

    #[test]
    fn a_listener_may_leave_while_it_is_woken() {
        for _ in 0..2_000 {
            let stop = CancelToken::new();
            let listener = stop.listen().unwrap();
            let leaving = std::thread::spawn(move || drop(listener));
            stop.stop();
            leaving.join().unwrap();
        }
    }
}
