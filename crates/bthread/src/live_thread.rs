//! A live thread with its bid, shared between clones of a program.
//!
//! Must never: change without its bid, which is computed from the thread.

use std::hash::{Hash, Hasher};

use crate::{bid::Bid, thread::Thread};

/// A thread and its bid in the current state.
#[derive(Debug)]
pub(crate) struct LiveThread<T: Thread> {
    pub(crate) thread: T,
    pub(crate) bid: Bid<T::Event>,
}

impl<T: Thread> LiveThread<T> {
    pub(crate) fn new(thread: T) -> Self {
        LiveThread { bid: thread.bid(), thread }
    }
}

// The bid is a function of the thread, so comparing threads is enough.
impl<T: Thread> PartialEq for LiveThread<T> {
    fn eq(&self, other: &Self) -> bool {
        self.thread == other.thread
    }
}

impl<T: Thread> Eq for LiveThread<T> {}

impl<T: Thread> Hash for LiveThread<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.thread.hash(state);
    }
}
