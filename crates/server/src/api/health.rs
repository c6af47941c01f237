//! Health of the server: sandbox, providers, channels, queue, ledger, process and event hooks.
//!
//! Must never: report a component as healthy that could not be examined.

use agentry_agentfile::manifest::config::ProviderKind;
use agentry_frontend::bootstrap::clock_trouble;
use agentry_frontend::channels::limits;
use agentry_kernel::model_choice::{SelectableProvider, ServedModels};
use agentry_model::LOCAL;
use agentry_protocol::token::TokenScope;
use agentry_runtime::Enforcer;
use agentry_runtime::definitions::definition_cache::DefinitionSnapshot;
use agentry_store::{EventHookStatus, Ledger};
use schemars::JsonSchema;
use serde::Serialize;

use super::metrics;
use super::models::PLAYED;
use super::resource_usage::{ledger_bytes, process_usage};
use crate::api_error::ApiError;
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess};
use crate::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::Owner(TokenScope::Read);
    vec![
        ApiRoute::get("/api/health", read, "Health of the server", health),
        ApiRoute::raw(
            "/metrics",
            read,
            "Counters for Prometheus",
            "text/plain; version=0.0.4",
            metrics::text,
        ),
    ]
}

/// Health of the server.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerHealth {
    /// ok; or degraded if there are problems.
    pub(crate) status: &'static str,
    /// Problems, in words.
    pub(crate) problems: Vec<String>,
    /// Degraded protections and other warnings, in words.
    pub(crate) warnings: Vec<String>,
    /// Sandbox for the processes of agents.
    pub(crate) sandbox: SandboxHealth,
    /// Providers of models.
    pub(crate) providers: Vec<ProviderHealth>,
    /// Message channels.
    pub(crate) channels: Vec<ChannelHealth>,
    /// Numbers of runs and messages that are running or waiting.
    pub(crate) queue: QueueHealth,
    /// Ledger of this home.
    pub(crate) ledger: LedgerHealth,
    /// The server's process.
    pub(crate) process: ProcessHealth,
    /// Event hooks.
    pub(crate) hooks: HookHealth,
}

/// The sandbox for the processes of agents.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SandboxHealth {
    /// ns, bwrap, seatbelt or landlock; off if the operator disabled it; missing if unavailable.
    pub(crate) level: String,
    /// Release of the kernel, if the sandbox was tested.
    pub(crate) kernel: Option<String>,
    /// Results of the escape tests, and the strength of the limits.
    pub(crate) checks: Vec<SandboxCheck>,
}

/// An escape test, or a limit.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SandboxCheck {
    /// Name of the check.
    pub(crate) name: String,
    /// True if the escape was blocked, or the kernel enforces the limit.
    pub(crate) ok: bool,
    /// Result, in words.
    pub(crate) detail: String,
}

/// A provider of models.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderHealth {
    /// Name of the provider in the settings.
    pub(crate) name: String,
    /// Protocol of the provider.
    pub(crate) kind: String,
    /// True if requests can be sent to it.
    pub(crate) configured: bool,
    /// Number of models that it is known to have.
    pub(crate) models: usize,
    /// Reason why no requests can be sent to it; null if they can.
    pub(crate) problem: Option<String>,
}

/// A message channel.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChannelHealth {
    /// Name of the channel.
    pub(crate) name: String,
    /// True if its program runs and does not report a lost connection.
    pub(crate) connected: bool,
    /// Time of the last event, in milliseconds since 1970.
    pub(crate) last_event_at: Option<u64>,
    /// Last error.
    pub(crate) error: Option<String>,
    /// Number of restarts of its program.
    pub(crate) restarts: u64,
    /// Time of the next restart of its program, in milliseconds since 1970.
    pub(crate) next_try_at: Option<u64>,
    /// Number of its lines that were rejected.
    pub(crate) refused: u64,
    /// Number of its events that the filters dropped.
    pub(crate) filtered: u64,
}

/// Numbers of runs and messages.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueHealth {
    /// Running runs.
    pub(crate) running: u64,
    /// Runs that wait for an approval.
    pub(crate) paused: u64,
    /// Messages that wait for a turn.
    pub(crate) waiting: u64,
    /// Answers that are not delivered yet.
    pub(crate) undelivered: u64,
    /// Most turns that run at the same time.
    pub(crate) running_max: usize,
}

/// The ledger.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LedgerHealth {
    /// Sequence number of the last entry.
    pub(crate) last_seq: u64,
    /// Size of the ledger's files, in bytes.
    pub(crate) bytes: u64,
    /// Directory of this home.
    pub(crate) home: String,
}

/// The server's process.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessHealth {
    /// Start time, in milliseconds since 1970.
    pub(crate) started_at: u64,
    /// Resident memory in bytes; null if the system does not report it.
    pub(crate) rss_bytes: Option<u64>,
    /// Number of open event streams.
    pub(crate) streams: u64,
    /// Number of threads; null if the system does not report it.
    pub(crate) threads: Option<u64>,
}

/// Event hooks.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HookHealth {
    /// Number of enabled hooks.
    pub(crate) enabled: u64,
    /// Number of enabled hooks that failed last, or are paused after failures.
    pub(crate) failing: u64,
}

fn health(site: &ServerState, _: ApiRequest<NoParams>) -> Result<ServerHealth, ApiError> {
    let mut problems = Vec::new();
    let sandbox = sandbox(&site.parts.enforcer, &mut problems);
    let mut warnings = soft_limits(&site.parts.enforcer);
    warnings.extend(clock_trouble(&site.parts.ledger));
    let definite = site.definition_cache.read();
    problems.extend(site.definition_cache.held());
    let running_max = match &definite {
        Ok(definite) => limits(&definite.loaded.library.settings.config.queue).running,
        Err(error) => {
            problems.push(format!("cannot use the definitions: {error}"));
            0
        }
    };
    let providers = providers(site, definite.as_ref().ok());
    if !providers.iter().any(|one| one.configured) {
        problems
            .push("no model provider is available; `agentry models` shows the reasons".to_owned());
    }
    let channels = channels(site, &mut problems);
    let hooks = hooks(&site.parts.ledger)?;
    if hooks.failing > 0 {
        problems.push(format!("failing event hooks: {}", hooks.failing));
    }
    Ok(ServerHealth {
        status: if problems.is_empty() { "ok" } else { "degraded" },
        problems,
        warnings,
        sandbox,
        providers,
        channels,
        queue: queue(&site.parts.ledger, running_max)?,
        ledger: ledger(&site.parts.ledger)?,
        process: process(site),
        hooks,
    })
}

fn sandbox(enforcer: &Enforcer, problems: &mut Vec<String>) -> SandboxHealth {
    let (level, kernel, checks) = match (enforcer, enforcer.attestation()) {
        (Enforcer::Off, _) => {
            problems.push("the sandbox is disabled".to_owned());
            ("off".to_owned(), None, Vec::new())
        }
        (Enforcer::Missing(why), _) => {
            problems.push(format!("no sandbox is available: {why}"));
            let detail = why.clone();
            let check = SandboxCheck { name: "sandbox".to_owned(), ok: false, detail };
            ("missing".to_owned(), None, vec![check])
        }
        (Enforcer::Sandbox(_), None) => ("missing".to_owned(), None, Vec::new()),
        (Enforcer::Sandbox(_), Some(found)) => {
            let open = found.escapes.iter().filter(|escape| !escape.stopped);
            problems.extend(open.map(|escape| format!("escape not blocked: {}", escape.attempt)));
            let escapes = found.escapes.iter().map(|escape| SandboxCheck {
                name: escape.attempt.clone(),
                ok: escape.stopped,
                detail: escape.answer.clone(),
            });
            let limits = found.limits.iter().map(|limit| SandboxCheck {
                name: format!("{} limit", limit.limit),
                ok: limit.hard,
                detail: limit.by.clone(),
            });
            let checks = escapes.chain(limits).collect();
            (found.level.to_string(), Some(found.kernel.clone()), checks)
        }
    };
    SandboxHealth { level, kernel, checks }
}

/// Returns a warning for each limit that is polled, not enforced by the kernel.
fn soft_limits(enforcer: &Enforcer) -> Vec<String> {
    let found = enforcer.attestation().map(|found| found.limits.as_slice()).unwrap_or_default();
    let soft = found.iter().filter(|one| !one.hard);
    let words = |limit: &str, by: &str| {
        format!("the limit of {limit} is polled and may be exceeded briefly: {by}")
    };
    soft.map(|one| words(&one.limit, &one.by)).collect()
}

fn providers(site: &ServerState, definite: Option<&DefinitionSnapshot>) -> Vec<ProviderHealth> {
    let kind = |serving: &SelectableProvider| {
        let config = definite.map(|definite| &definite.loaded.library.settings.config);
        let said = config.and_then(|config| config.providers.get(&serving.id)?.kind);
        said.map_or_else(|| serving.id.clone(), kind_word)
    };
    let played = site.definition_cache.is_played().then(|| ProviderHealth {
        name: PLAYED.to_owned(),
        kind: PLAYED.to_owned(),
        configured: true,
        models: 1,
        problem: None,
    });
    let servings = site.definition_cache.servings().iter();
    let served = servings.map(|serving| ProviderHealth {
        name: serving.id.clone(),
        kind: kind(serving),
        configured: serving.ready.is_ok(),
        models: match &serving.models {
            ServedModels::Listed(models) => models.len(),
            ServedModels::Any => serving.catalogue.len(),
        },
        problem: serving.ready.as_ref().err().cloned(),
    });
    played.into_iter().chain(served).collect()
}

fn kind_word(kind: ProviderKind) -> String {
    match kind {
        ProviderKind::Anthropic => "anthropic",
        ProviderKind::Openai => "openai",
        ProviderKind::OpenaiChat => "openai_chat",
        ProviderKind::Ollama => "ollama",
        ProviderKind::Gemini => "gemini",
        ProviderKind::Local => LOCAL,
        ProviderKind::Scripted => PLAYED,
    }
    .to_owned()
}

fn channels(site: &ServerState, problems: &mut Vec<String>) -> Vec<ChannelHealth> {
    let mut all = Vec::new();
    for (name, adapter) in &site.adapters {
        let health = adapter.health();
        if !health.connected {
            let why = health.error.clone().unwrap_or_else(|| "not connected".to_owned());
            problems.push(format!("channel `{name}`: {why}"));
        }
        all.push(ChannelHealth {
            name: name.clone(),
            connected: health.connected,
            last_event_at: health.last_event_at,
            error: health.error,
            restarts: health.restarts,
            next_try_at: health.next_try_ms,
            refused: health.refused,
            filtered: health.filtered,
        });
    }
    all
}

/// Returns the sum of the counts with these names.
pub(super) fn sum(counts: &[(String, u64)], names: &[&str]) -> u64 {
    let named = counts.iter().filter(|(name, _)| names.contains(&name.as_str()));
    named.map(|(_, count)| count).sum()
}

fn queue(ledger: &Ledger, running_max: usize) -> Result<QueueHealth, ApiError> {
    let (runs, inbounds) = (ledger.run_counts()?, ledger.inbound_counts()?);
    Ok(QueueHealth {
        running: sum(&runs, &["running"]),
        paused: sum(&runs, &["paused_for_approval"]),
        waiting: sum(&inbounds, &["received", "hooked", "waiting", "steering"]),
        undelivered: sum(&inbounds, &["undelivered"]),
        running_max,
    })
}

fn ledger(ledger: &Ledger) -> Result<LedgerHealth, ApiError> {
    Ok(LedgerHealth {
        last_seq: ledger.last_seq()?,
        bytes: ledger_bytes(ledger),
        home: ledger.home().root().display().to_string(),
    })
}

fn process(site: &ServerState) -> ProcessHealth {
    let (rss_bytes, threads) = process_usage();
    let (started_at, streams) = (site.started, site.hub.subscriber_count() as u64);
    ProcessHealth { started_at, rss_bytes, streams, threads }
}

fn hooks(ledger: &Ledger) -> Result<HookHealth, ApiError> {
    let (mut enabled, mut failing) = (0, 0);
    for row in ledger.event_hooks(false)? {
        let fails = match row.status {
            EventHookStatus::Disabled => continue,
            EventHookStatus::Active => false,
            EventHookStatus::Paused | EventHookStatus::Errored => true,
        };
        enabled += 1;
        failing += u64::from(fails);
    }
    Ok(HookHealth { enabled, failing })
}
