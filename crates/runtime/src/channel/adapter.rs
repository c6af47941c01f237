//! A channel's adapter program: started, supervised, restarted and stopped.
//!
//! One thread starts it and waits for its end; three more carry its output, its error lines and its
//! input. While the sink blocks, no more output is read, so that the program waits too.
//!
//! Must never: leave a process of the program behind, or report a message as sent too early.

use std::sync::{Arc, PoisonError};
use std::thread;

use agentry_protocol::intake::DeliveryError;
use rustix::process::Signal;

use super::adapter_context::AdapterContext;
use super::clock::WaitClock;
use super::config::{AdapterConfig, LinkPolicy, StartError};
use super::{
    AdapterHealth, ChannelCapabilities, ChannelSender, InboundSink, OutgoingChunk, SentChunk,
    process,
};
use crate::limits::{ADAPTER_ANSWER_MS_MAX, ADAPTER_END_MS_MAX};

/// A running adapter program; dropping it stops the program.
pub struct Adapter {
    shared: Arc<AdapterContext>,
}

impl Adapter {
    /// Starts the program. Its events go to the sink.
    pub fn start(
        config: AdapterConfig,
        sink: Arc<dyn InboundSink>,
        clock: Arc<dyn WaitClock>,
    ) -> Result<Self, StartError> {
        let child = process::spawn(&config)?;
        let channel = config.channel.clone();
        let shared = Arc::new(AdapterContext::new(config, sink, clock));
        let first = process::register_process(&shared, child);
        let supervised = Arc::clone(&shared);
        let thread = thread::Builder::new().name(format!("channel {channel}"));
        let spawned = thread.spawn(move || process::supervise(&supervised, first));
        spawned.map_err(|error| {
            shared.end_group();
            StartError::Thread { channel, error }
        })?;
        Ok(Self { shared })
    }

    /// Returns the present health of the adapter.
    pub fn health(&self) -> AdapterHealth {
        let state = self.shared.state();
        AdapterHealth { complaints: state.complaints.all(), ..state.health.clone() }
    }

    /// Returns the channel's policy for links in answers.
    pub fn links(&self) -> &LinkPolicy {
        &self.shared.config.links
    }

    /// Returns the channel's capabilities: from the settings, else as the program declared them.
    pub fn capabilities(&self) -> ChannelCapabilities {
        let config = &self.shared.config;
        let said = self.shared.state().capabilities.clone();
        ChannelCapabilities {
            text_limit: config.text_limit.or(said.text_limit),
            markdown_flavor: config.markdown.or(said.markdown_flavor),
            ..said
        }
    }

    /// Sends one chunk, and waits until the program confirms it, at most `ADAPTER_ANSWER_MS_MAX`.
    pub fn send(&self, outgoing: &OutgoingChunk) -> Result<SentChunk, DeliveryError> {
        let waiting = self.shared.hand_over(outgoing)?;
        self.shared.clock.wait(ADAPTER_ANSWER_MS_MAX, &waiting.bell);
        self.shared.state().waiting.remove(&outgoing.id);
        let answer = waiting.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer.unwrap_or_else(|| {
            Err(DeliveryError::Unknown {
                message: format!(
                    "the program of the channel `{}` did not confirm the message within \
                     {ADAPTER_ANSWER_MS_MAX} ms",
                    self.shared.config.channel
                ),
            })
        })
    }

    /// Stops the program with all its processes: a request first, a kill if that fails.
    pub fn stop(&self) {
        let shared = &self.shared;
        shared.stop.set();
        shared.signal(Signal::TERM);
        if !shared.clock.wait(ADAPTER_END_MS_MAX, &shared.ended) {
            shared.signal(Signal::KILL);
            shared.clock.wait(ADAPTER_END_MS_MAX, &shared.ended);
        }
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        if !self.shared.stop.is_set() {
            self.stop();
        }
    }
}

impl ChannelSender for Adapter {
    fn send(&self, outgoing: &OutgoingChunk) -> Result<SentChunk, DeliveryError> {
        Adapter::send(self, outgoing)
    }
}
