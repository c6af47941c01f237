//! The state of one adapter program, which its threads share: process, health and pending sends.
//!
//! Must never: start a process, or confirm a send that the program did not confirm.

use std::collections::HashMap;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentry_protocol::intake::DeliveryError;
use rustix::process::{Pid, Signal, kill_process_group};

use super::adapter_log::{self, AdapterLog};
use super::adapter_protocol::{self, AckKind, AdapterIdentity, AdapterLineError, AdapterMessage};
use super::clock::{Latch, WaitClock};
use super::config::AdapterConfig;
use super::{
    AdapterHealth, ChannelCapabilities, InboundAcceptance, InboundSink, OutgoingChunk, SentChunk,
    filter,
};
use crate::limits::{ADAPTER_HEALTHY_MS, ADAPTER_RESTART_MS, ADAPTER_RESTART_MS_MAX};
use crate::redact::TextEdges;

/// The state that the threads of one adapter share.
pub(super) struct AdapterContext {
    pub(super) config: AdapterConfig,
    pub(super) sink: Arc<dyn InboundSink>,
    pub(super) clock: Arc<dyn WaitClock>,
    /// Set when the program shall end.
    pub(super) stop: Arc<Latch>,
    /// Set when its process has ended for good.
    pub(super) ended: Arc<Latch>,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) health: AdapterHealth,
    pub(super) complaints: AdapterLog,
    pub(super) capabilities: ChannelCapabilities,
    /// Chunks that were sent to the program and not answered, by id.
    pub(super) waiting: HashMap<String, Arc<PendingSend>>,
    /// The current process; None between two processes.
    now: Option<CurrentProcess>,
    /// The number of processes so far.
    lives: u64,
    /// The number of processes in a row that did not stay connected.
    failures: u32,
    /// The start of the present connection, in milliseconds since 1970; None without one.
    healthy_since: Option<u64>,
}

/// The current process. It is not reaped while it is kept here, so that its id stays its own.
struct CurrentProcess {
    group: Pid,
    lines: SyncSender<String>,
}

/// A sender that waits for the answer to one chunk.
#[derive(Default)]
pub(super) struct PendingSend {
    pub(super) bell: Arc<Latch>,
    pub(super) answer: Mutex<Option<Result<SentChunk, DeliveryError>>>,
}

impl AdapterContext {
    /// Returns the state of an adapter that has no process yet.
    pub(super) fn new(
        config: AdapterConfig,
        sink: Arc<dyn InboundSink>,
        clock: Arc<dyn WaitClock>,
    ) -> Self {
        let (stop, ended, state) = (Arc::default(), Arc::default(), Mutex::default());
        Self { config, sink, clock, stop, ended, state }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signals the group of the present process. An error means that the group is empty, which is
    /// the goal.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(now) = &self.state().now {
            kill_process_group(now.group, signal).ok();
        }
    }

    /// Registers a new process and returns its number. If a stop is pending, it is applied.
    pub(super) fn begin(&self, group: Pid, lines: SyncSender<String>) -> u64 {
        let now_ms = self.clock.now_ms();
        let mut state = self.state();
        state.now = Some(CurrentProcess { group, lines });
        state.lives += 1;
        state.health.connected = true;
        state.health.next_try_ms = None;
        state.health.restarts = state.lives - 1;
        state.healthy_since = Some(now_ms);
        let life = state.lives;
        drop(state);
        if self.stop.is_set() {
            self.signal(Signal::TERM);
        }
        life
    }

    pub(super) fn is_current(&self, life: u64) -> bool {
        self.state().lives == life && !self.stop.is_set()
    }

    /// Kills the rest of the process group, before the ended process is reaped.
    pub(super) fn end_group(&self) {
        self.signal(Signal::KILL);
        self.state().now = None;
    }

    /// Fails all pending sends of the process that ended, for the given reason.
    pub(super) fn end(&self, why: &str) {
        let now_ms = self.clock.now_ms();
        let mut state = self.state();
        state.lose_health(now_ms);
        state.failures = state.failures.saturating_add(1);
        let last = state.complaints.last().map(|last| format!(": {last}")).unwrap_or_default();
        state.health.error = Some(format!("{why}{last}"));
        for (_, waiting) in state.waiting.drain() {
            let message = "the channel's program ended before it confirmed the message";
            waiting.answer(Err(DeliveryError::Unknown { message: message.to_owned() }));
        }
    }

    /// Waits before the next start; returns false if the adapter is stopping.
    pub(super) fn back_off(&self) -> bool {
        let now_ms = self.clock.now_ms();
        let wait = {
            let mut state = self.state();
            let wait = wait_before(state.failures);
            state.health.next_try_ms = Some(now_ms.saturating_add(wait));
            wait
        };
        !self.clock.wait(wait, &self.stop)
    }

    pub(super) fn complain(&self, line: &str, ends: TextEdges) {
        let line = adapter_log::redacted_line(&self.config.redactor, line, ends);
        self.state().complaints.add(&line);
    }

    /// Handles a line of the program and sends the answer back to it.
    pub(super) fn hear(&self, line: Result<&[u8], &str>, number: u64, lines: &SyncSender<String>) {
        let own = AdapterIdentity {
            channel: &self.config.channel,
            account_id: self.config.account_id.as_deref(),
            peer_kind: self.config.peer_kind,
        };
        let said = match line {
            Ok(line) => adapter_protocol::read(line, &own, self.clock.now_ms()),
            Err(why) => Err(AdapterLineError { event_id: None, why: why.to_owned() }),
        };
        let answer = match said {
            Ok(AdapterMessage::Event(inbound)) => Some(self.take(*inbound)),
            Ok(other) => {
                self.note(other);
                None
            }
            Err(unread) => Some(Err(unread)),
        };
        let answer = match answer {
            None => return,
            Some(Ok(line)) => line,
            Some(Err(unread)) => {
                let why = format!("line {number} was refused: {}", unread.why);
                self.complain(&why, TextEdges::Whole);
                self.state().health.refused += 1;
                adapter_protocol::refused(number, &unread)
            }
        };
        send_if_open(lines, answer);
    }

    fn take(
        &self,
        inbound: agentry_protocol::inbound::Inbound,
    ) -> Result<String, AdapterLineError> {
        let id = inbound.event_id.clone();
        if !filter::lets_in(&self.config.filters, &inbound) {
            self.state().health.filtered += 1;
            return Ok(adapter_protocol::ack(&id, AckKind::Filtered));
        }
        let taken = self.sink.take(inbound);
        let acked = match taken {
            Ok(InboundAcceptance::New) => AckKind::New,
            Ok(InboundAcceptance::Repeated) => AckKind::Repeated,
            Err(refused) => {
                return Err(AdapterLineError { event_id: Some(id.to_string()), why: refused.why });
            }
        };
        let now_ms = self.clock.now_ms();
        self.state().health.last_event_at = Some(now_ms);
        Ok(adapter_protocol::ack(&id, acked))
    }

    fn note(&self, said: AdapterMessage) {
        let now_ms = self.clock.now_ms();
        let kept =
            |text: &str| adapter_log::redacted_line(&self.config.redactor, text, TextEdges::Whole);
        match said {
            AdapterMessage::Health { connected: true, error } => {
                let mut state = self.state();
                state.health.connected = true;
                state.health.error = error.as_deref().map(kept);
                state.healthy_since.get_or_insert(now_ms);
            }
            AdapterMessage::Health { connected: false, error } => {
                let mut state = self.state();
                state.lose_health(now_ms);
                state.health.error = error.as_deref().map(kept);
            }
            AdapterMessage::Capabilities(capabilities) => self.state().capabilities = capabilities,
            AdapterMessage::Sent { id, message_id } => {
                self.answer(&id, Ok(SentChunk { message_id }))
            }
            AdapterMessage::Failed { id, error } => self.answer(&id, Err(redacted(error, kept))),
            AdapterMessage::Log { level, message } => {
                self.complain(&format!("{level}: {message}"), TextEdges::Whole);
            }
            AdapterMessage::Event(_) => {}
        }
    }

    /// An answer without a waiting sender is dropped: the chunk is sent again under its id.
    fn answer(&self, id: &str, answer: Result<SentChunk, DeliveryError>) {
        if let Some(waiting) = self.state().waiting.get(id) {
            waiting.answer(answer);
        }
    }

    /// Queues a chunk for the program; returns the place of its answer.
    pub(super) fn hand_over(
        &self,
        outgoing: &OutgoingChunk,
    ) -> Result<Arc<PendingSend>, DeliveryError> {
        let channel = &self.config.channel;
        let cut_off = |what: &str| DeliveryError::Network {
            message: format!("the program of the channel `{channel}` {what}"),
        };
        let mut state = self.state();
        let Some(now) = &state.now else { return Err(cut_off("does not run")) };
        if state.waiting.contains_key(&outgoing.id) {
            let message = format!("`{}` is being sent already", outgoing.id);
            return Err(DeliveryError::Unknown { message });
        }
        now.lines.try_send(adapter_protocol::send(outgoing)).map_err(|error| match error {
            TrySendError::Full(_) => cut_off("does not read its input"),
            TrySendError::Disconnected(_) => cut_off("has closed its input"),
        })?;
        let waiting = Arc::new(PendingSend::default());
        state.waiting.insert(outgoing.id.clone(), Arc::clone(&waiting));
        Ok(waiting)
    }
}

impl State {
    fn lose_health(&mut self, now_ms: u64) {
        self.health.connected = false;
        let since = self.healthy_since.take();
        if since.is_some_and(|since| now_ms.saturating_sub(since) >= ADAPTER_HEALTHY_MS) {
            self.failures = 0;
        }
    }
}

impl PendingSend {
    fn answer(&self, answer: Result<SentChunk, DeliveryError>) {
        let mut slot = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert(answer);
        self.bell.set();
    }
}

/// Returns the wait before the next start after this many failures, in milliseconds.
fn wait_before(failures: u32) -> u64 {
    let doublings = failures.saturating_sub(1).min(u64::BITS - 1);
    ADAPTER_RESTART_MS.saturating_mul(1 << doublings).min(ADAPTER_RESTART_MS_MAX)
}

fn redacted(error: DeliveryError, kept: impl Fn(&str) -> String) -> DeliveryError {
    match error {
        DeliveryError::RateLimited { retry_after_ms } => {
            DeliveryError::RateLimited { retry_after_ms }
        }
        DeliveryError::PermissionDenied { reason } => {
            DeliveryError::PermissionDenied { reason: kept(&reason) }
        }
        DeliveryError::NotFound { target } => DeliveryError::NotFound { target: kept(&target) },
        DeliveryError::ContentRejected { reason } => {
            DeliveryError::ContentRejected { reason: kept(&reason) }
        }
        DeliveryError::Network { message } => DeliveryError::Network { message: kept(&message) },
        DeliveryError::Unknown { message } => DeliveryError::Unknown { message: kept(&message) },
    }
}

/// Sends a line to the program. A program that has ended has closed its queue, and reads no answer.
fn send_if_open(lines: &SyncSender<String>, answer: String) {
    lines.send(answer).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_the_one_before_up_to_a_minute() {
        let waits: Vec<u64> = (1..=8).map(wait_before).collect();
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(wait_before(u32::MAX), 60_000);
    }
}
