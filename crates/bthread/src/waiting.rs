//! The report on a waiting program: blocked requests, deferred events, the waits of each thread.
//!
//! Must never: change the program, or leave out a blocking thread.

use std::{
    fmt::{self, Display},
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::{
    bid::{Pattern, ProgramEvent},
    halt::{A_GUARD, Halt},
    program::Program,
    step::Lane,
    thread::{Thread, ThreadName},
};

/// A request that is blocked now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockedRequest<E> {
    /// The requested event.
    pub event: E,
    /// The requesting thread.
    pub requested_by: ThreadName,
    /// The blocking threads, the most urgent first.
    pub blocked_by: Vec<ThreadName>,
}

/// An offered event that is blocked now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeferredEvent<E> {
    /// The offered event.
    pub event: E,
    /// The lane in which it waits.
    pub lane: Lane,
    /// The blocking threads, the most urgent first.
    pub blocked_by: Vec<ThreadName>,
}

/// The events for which one thread waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadWait<E: ProgramEvent> {
    /// The name of the thread.
    pub thread: ThreadName,
    /// The events on which it would move.
    pub patterns: Vec<Pattern<E>>,
}

/// The reasons why a program waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitReport<E: ProgramEvent> {
    /// The halt of the program; None while it can run.
    pub halted: Option<Halt>,
    /// Requests that a thread blocks.
    pub blocked: Vec<BlockedRequest<E>>,
    /// Offered events that a thread blocks.
    pub deferred: Vec<DeferredEvent<E>>,
    /// Offered events on which no thread moved, or would move now.
    pub unheard: Vec<E>,
    /// Threads with at least one wait.
    pub waits: Vec<ThreadWait<E>>,
    // True if an event can be chosen now.
    can_step: bool,
}

impl<T: Thread> Program<T> {
    /// Reports why the program waits. If a guard panics meanwhile, the report holds only that halt.
    pub fn waiting(&self) -> WaitReport<T::Event> {
        catch_unwind(AssertUnwindSafe(|| self.look_around())).unwrap_or_else(|panic| WaitReport {
            halted: self.halted.clone().or_else(|| {
                Some(Halt::panicked(ThreadName::Borrowed(A_GUARD), None, panic.as_ref()))
            }),
            blocked: Vec::new(),
            deferred: Vec::new(),
            unheard: self.unheard.clone(),
            waits: Vec::new(),
            can_step: false,
        })
    }

    fn look_around(&self) -> WaitReport<T::Event> {
        let name = |position: usize| self.live()[position].thread.name();
        let blockers = |event: &T::Event| self.blockers(event).map(name).collect::<Vec<_>>();
        let mut report = WaitReport {
            halted: self.halted.clone(),
            blocked: Vec::new(),
            deferred: Vec::new(),
            unheard: self.unheard.clone(),
            waits: Vec::new(),
            can_step: false,
        };
        for live in self.live() {
            for event in &live.bid.requests {
                let blocked_by = blockers(event);
                if blocked_by.is_empty() {
                    report.can_step = true;
                    continue;
                }
                let requested_by = live.thread.name();
                report.blocked.push(BlockedRequest {
                    event: event.clone(),
                    requested_by,
                    blocked_by,
                });
            }
            if !live.bid.waits.is_empty() {
                let patterns = live.bid.waits.clone();
                report.waits.push(ThreadWait { thread: live.thread.name(), patterns });
            }
        }
        for lane in [Lane::Urgent, Lane::Normal] {
            for event in self.queue(lane) {
                let blocked_by = blockers(event);
                if !blocked_by.is_empty() {
                    report.deferred.push(DeferredEvent { event: event.clone(), lane, blocked_by });
                } else if self.is_heard(event) {
                    report.can_step = true;
                } else {
                    report.unheard.push(event.clone());
                }
            }
        }
        report.can_step &= !self.is_halted();
        report
    }
}

impl<E: ProgramEvent> WaitReport<E> {
    /// Returns true if a thread requests an event, and no request or offered event can be chosen.
    pub fn is_deadlock(&self) -> bool {
        self.halted.is_none() && !self.can_step && !self.blocked.is_empty()
    }
}

impl<E: ProgramEvent> Display for WaitReport<E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(halt) = &self.halted {
            writeln!(out, "Halted: {halt}.")?;
        }
        if self.is_deadlock() {
            writeln!(
                out,
                "Deadlock: every request is blocked and nothing offered can be delivered."
            )?;
        }
        for BlockedRequest { event, requested_by, blocked_by } in &self.blocked {
            writeln!(
                out,
                "{event:?}, requested by {requested_by}, is blocked by {}.",
                blocked_by.join(", ")
            )?;
        }
        for DeferredEvent { event, lane, blocked_by } in &self.deferred {
            let lane = match lane {
                Lane::Urgent => "urgently ",
                Lane::Normal => "",
            };
            writeln!(
                out,
                "{event:?}, {lane}offered from outside, is blocked by {}.",
                blocked_by.join(", ")
            )?;
        }
        for event in &self.unheard {
            writeln!(out, "{event:?}, offered from outside, concerns nobody.")?;
        }
        for ThreadWait { thread, patterns } in &self.waits {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            writeln!(out, "{thread} waits for {}.", patterns.join(", or "))?;
        }
        Ok(())
    }
}
