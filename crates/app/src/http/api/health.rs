//! How the server is: what confines, who can be asked, which channels are there, what waits, what was done.
//!
//! Must never: say that all is well because something could not be looked at.

use agentry_agentfile::manifest::config::ProviderKind;
use agentry_kernel::model_choice::{SelectableProvider, ServedModels};
use agentry_model::LOCAL;
use agentry_protocol::token::TokenScope;
use agentry_runtime::Enforcer;
use agentry_store::{EventHookStatus, Ledger};
use schemars::JsonSchema;
use serde::Serialize;

use super::metrics;
use super::models::PLAYED;
use crate::bootstrap::clock_trouble;
use crate::channels::limits;
use crate::definition_cache::DefinitionSnapshot;
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiRoute, NoParams, RouteAccess};
use crate::http::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::Owner(TokenScope::Read);
    vec![
        ApiRoute::get("/api/health", read, "How the server is", health),
        ApiRoute::raw(
            "/metrics",
            read,
            "Counters for Prometheus",
            "text/plain; version=0.0.4",
            metrics::text,
        ),
    ]
}

/// How the server is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerHealth {
    /// ok, or degraded if there are problems.
    pub(crate) status: &'static str,
    /// What is not as it should be, in words.
    pub(crate) problems: Vec<String>,
    /// What works, and holds less than it could, in words.
    pub(crate) warnings: Vec<String>,
    /// What confines the processes of agents.
    pub(crate) sandbox: SandboxHealth,
    /// Who serves models.
    pub(crate) providers: Vec<ProviderHealth>,
    /// Where messages come in.
    pub(crate) channels: Vec<ChannelHealth>,
    /// What runs and waits.
    pub(crate) queue: QueueHealth,
    /// The record.
    pub(crate) ledger: LedgerHealth,
    /// The process.
    pub(crate) process: ProcessHealth,
    /// Hooks that look at events.
    pub(crate) hooks: HookHealth,
}

/// What confines the processes of agents.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SandboxHealth {
    /// ns, bwrap, seatbelt or landlock; off if the operator wants none; missing if there is none.
    pub(crate) level: String,
    /// The release of the kernel, if a sandbox was tried.
    pub(crate) kernel: Option<String>,
    /// What was tried, and what limits are worth.
    pub(crate) checks: Vec<SandboxCheck>,
}

/// Something that was tried.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SandboxCheck {
    /// What.
    pub(crate) name: String,
    /// Whether it is as it should be.
    pub(crate) ok: bool,
    /// What came of it.
    pub(crate) detail: String,
}

/// Who serves models.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderHealth {
    /// Its name in the settings.
    pub(crate) name: String,
    /// What it speaks.
    pub(crate) kind: String,
    /// Whether it can be asked.
    pub(crate) configured: bool,
    /// How many models it is known to have.
    pub(crate) models: usize,
    /// Why it cannot be asked.
    pub(crate) problem: Option<String>,
}

/// A channel.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChannelHealth {
    /// Its name.
    pub(crate) name: String,
    /// Whether its program runs and does not say that it is cut off.
    pub(crate) connected: bool,
    /// When something came in last, in milliseconds since 1970.
    pub(crate) last_event_at: Option<u64>,
    /// What went wrong last.
    pub(crate) error: Option<String>,
    /// How often its program was started again.
    pub(crate) restarts: u64,
    /// When its program is started again.
    pub(crate) next_try_at: Option<u64>,
    /// How many of its lines were refused.
    pub(crate) refused: u64,
    /// How many of its events the filters kept out.
    pub(crate) filtered: u64,
}

/// What runs and waits.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueHealth {
    /// Runs under way.
    pub(crate) running: u64,
    /// Runs that wait for a person.
    pub(crate) paused: u64,
    /// Messages that wait.
    pub(crate) waiting: u64,
    /// Answers that are to be sent.
    pub(crate) undelivered: u64,
    /// How many turns run at once at most.
    pub(crate) running_max: usize,
}

/// The record.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LedgerHealth {
    /// The last entry.
    pub(crate) last_seq: u64,
    /// How large its file is.
    pub(crate) bytes: u64,
    /// Where it is.
    pub(crate) home: String,
}

/// The process.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessHealth {
    /// When it began, in milliseconds since 1970.
    pub(crate) started_at: u64,
    /// How much memory it has; null where the system does not say.
    pub(crate) rss_bytes: Option<u64>,
    /// How many streams of events it has open.
    pub(crate) streams: u64,
    /// How many threads it has; null where the system does not say.
    pub(crate) threads: Option<u64>,
}

/// Hooks that look at events.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HookHealth {
    /// How many are set off.
    pub(crate) enabled: u64,
    /// How many of them failed last, or are left alone for a while because they did.
    pub(crate) failing: u64,
}

fn health(site: &ServerState, _: ApiRequest<NoParams>) -> Result<ServerHealth, ApiError> {
    let mut problems = Vec::new();
    let sandbox = sandbox(&site.parts.enforcer, &mut problems);
    let mut warnings = soft_limits(&site.parts.enforcer);
    warnings.extend(clock_trouble(&site.parts.ledger));
    let definite = site.reception.read();
    problems.extend(site.reception.held());
    let running_max = match &definite {
        Ok(definite) => limits(&definite.loaded.library.settings.config.queue).running,
        Err(error) => {
            problems.push(format!("the definitions cannot be used: {error}"));
            0
        }
    };
    let providers = providers(site, definite.as_ref().ok());
    if !providers.iter().any(|one| one.configured) {
        problems.push("no provider of models can be asked; `agentry models` says why".to_owned());
    }
    let channels = channels(site, &mut problems);
    let hooks = hooks(&site.parts.ledger)?;
    if hooks.failing > 0 {
        problems.push(format!("{} event hooks fail", hooks.failing));
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
            problems.push("the sandbox is switched off".to_owned());
            ("off".to_owned(), None, Vec::new())
        }
        (Enforcer::Missing(why), _) => {
            problems.push(format!("there is no sandbox: {why}"));
            let detail = why.clone();
            let check = SandboxCheck { name: "sandbox".to_owned(), ok: false, detail };
            ("missing".to_owned(), None, vec![check])
        }
        (Enforcer::Sandbox(_), None) => ("missing".to_owned(), None, Vec::new()),
        (Enforcer::Sandbox(_), Some(found)) => {
            let open = found.escapes.iter().filter(|escape| !escape.stopped);
            problems.extend(open.map(|escape| format!("the sandbox lets out: {}", escape.attempt)));
            let escapes = found.escapes.iter().map(|escape| SandboxCheck {
                name: escape.attempt.clone(),
                ok: escape.stopped,
                detail: escape.answer.clone(),
            });
            let limits = found.limits.iter().map(|limit| SandboxCheck {
                name: format!("limit of {}", limit.limit),
                ok: limit.hard,
                detail: limit.by.clone(),
            });
            let checks = escapes.chain(limits).collect();
            (found.level.to_string(), Some(found.kernel.clone()), checks)
        }
    };
    SandboxHealth { level, kernel, checks }
}

/// Limits that are watched and not held by the kernel.
fn soft_limits(enforcer: &Enforcer) -> Vec<String> {
    let found = enforcer.attestation().map(|found| found.limits.as_slice()).unwrap_or_default();
    let soft = found.iter().filter(|one| !one.hard);
    let words = |limit: &str, by: &str| {
        format!("the limit of {limit} is only watched, and can be overstepped for a moment: {by}")
    };
    soft.map(|one| words(&one.limit, &one.by)).collect()
}

fn providers(site: &ServerState, definite: Option<&DefinitionSnapshot>) -> Vec<ProviderHealth> {
    let kind = |serving: &SelectableProvider| {
        let config = definite.map(|definite| &definite.loaded.library.settings.config);
        let said = config.and_then(|config| config.providers.get(&serving.id)?.kind);
        said.map_or_else(|| serving.id.clone(), kind_word)
    };
    let played = site.reception.is_played().then(|| ProviderHealth {
        name: PLAYED.to_owned(),
        kind: PLAYED.to_owned(),
        configured: true,
        models: 1,
        problem: None,
    });
    let servings = site.reception.servings().iter();
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
            let why = health.error.clone().unwrap_or_else(|| "it is not connected".to_owned());
            problems.push(format!("the channel `{name}`: {why}"));
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

/// The sum of what is counted under some names.
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

/// How large the file of the ledger is, with what is not folded into it yet.
pub(super) fn ledger_bytes(ledger: &Ledger) -> u64 {
    let path = ledger.home().ledger();
    let beside = path.with_extension("sqlite3-wal");
    let size = |path: &std::path::Path| path.metadata().map_or(0, |metadata| metadata.len());
    size(&path) + size(&beside)
}

fn process(site: &ServerState) -> ProcessHealth {
    let (rss_bytes, threads) = process_usage();
    let (started_at, streams) = (site.started, site.hub.listeners() as u64);
    ProcessHealth { started_at, rss_bytes, streams, threads }
}

/// The memory and the threads of this process, as far as the system says.
pub(super) fn process_usage() -> (Option<u64>, Option<u64>) {
    const KIBIBYTE: u64 = 1024;
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    (number("VmRSS:").map(|kibibytes| kibibytes * KIBIBYTE), number("Threads:"))
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
