//! Starts the channels that the operator's settings define, and the timer.
//!
//! Must never: start a program that only a project's file names.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agentry_agentfile::manifest::channels::QueueToml;
use agentry_agentfile::manifest::config::Config;
use agentry_kernel::scheduler::SchedulerLimits;
use agentry_runtime::Host;
use agentry_runtime::channel::timer::Timer;
use agentry_runtime::channel::{
    Adapter, AdapterConfig, AdapterEnvironment, InboundSink, SystemClock,
};
use agentry_runtime::inbound::receive::LedgerSink;
use agentry_runtime::redact::secrets::SecretRegistry;
use agentry_store::Ledger;

use crate::cli_context::CliContext;
use crate::fault::{Blame, Fault};

/// The running channels.
pub struct Channels {
    /// The adapters, by channel name.
    pub adapters: BTreeMap<String, Arc<Adapter>>,
    timer: Timer,
}

impl Channels {
    /// Stops the timer and all adapters.
    pub fn stop(&self) {
        self.timer.stop();
        self.adapters.values().for_each(|adapter| adapter.stop());
    }
}

/// Starts all channels. Fails if one of them cannot start.
pub fn start(
    host: &CliContext,
    parts: &Arc<Host>,
    settings: &Config,
    project: &Path,
) -> Result<Channels, Fault> {
    check_webhooks(settings, &parts.secrets)?;
    let inlet = LedgerSink { ledger: parts.ledger.clone(), redactor: parts.redactor.clone() };
    let sink: Arc<dyn InboundSink> = Arc::new(inlet);
    let clock = Arc::new(SystemClock);
    let variable = |name: &str| host.environment.variable(name);
    let around =
        AdapterEnvironment { directory: project, variable: &variable, secrets: &parts.secrets };
    let mut adapters = BTreeMap::new();
    for (name, channel) in &settings.channels {
        let started = AdapterConfig::of(name, channel, &around)
            .and_then(|config| Adapter::start(config, sink.clone(), clock.clone()));
        let adapter = started.map_err(|error| Fault::new(Blame::Caller, error.to_string()))?;
        adapters.insert(name.clone(), Arc::new(adapter));
    }
    let ledger = parts.ledger.clone();
    let timer = Timer::start(sink, clock, Arc::new(move || is_watched(&ledger)))
        .map_err(|error| Fault::new(Blame::Machine, format!("cannot start the timer: {error}")))?;
    Ok(Channels { adapters, timer })
}

/// Returns true if an enabled hook may read the timer's ticks, or if the ledger cannot tell.
fn is_watched(ledger: &Ledger) -> bool {
    ledger.event_hooks_enabled().map_or(true, |hooks| !hooks.is_empty())
}

/// Fails if a webhook names a secret without a value; else this would only show at its first call.
fn check_webhooks(settings: &Config, secrets: &SecretRegistry) -> Result<(), Fault> {
    for (source, webhook) in &settings.webhooks {
        let Some(name) = webhook.secret.as_deref() else { continue };
        if secrets.named(name).is_none() {
            let text = format!(
                "the setting `webhooks.{source}.secret` names the secret `{name}`, which has no value"
            );
            return Err(Fault::new(Blame::Caller, text)
                .hint(format!("set it with `agentry secret set {name}`")));
        }
    }
    Ok(())
}

/// Returns the limits of active and waiting turns.
pub fn limits(queue: &QueueToml) -> SchedulerLimits {
    let usual = SchedulerLimits::default();
    let or = |said: Option<u64>, usual: usize| {
        said.map_or(usual, |said| usize::try_from(said).unwrap_or(usize::MAX))
    };
    SchedulerLimits {
        running: or(queue.turns, usual.running),
        running_per_principal: or(queue.turns_per_principal, usual.running_per_principal),
        waiting: or(queue.waiting, usual.waiting),
        waiting_per_principal: or(queue.waiting, usual.waiting_per_principal),
    }
}
