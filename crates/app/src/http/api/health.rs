//! How the server is: what confines, who can be asked, which channels are there, what waits, what was done.
//!
//! Must never: say that all is well because something could not be looked at.

use agentry_agentfile::manifest::config::ProviderKind;
use agentry_kernel::models::{Offer, Serving};
use agentry_model::LOCAL;
use agentry_protocol::ContentHash;
use agentry_protocol::token::Scope;
use agentry_runtime::Enforcer;
use agentry_store::{Bucket, EventHookStatus, Ledger};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metrics;
use crate::channels::limits;
use crate::http::refusal::Refusal;
use crate::http::site::Site;
use crate::http::table::{Answer, Asked, Need, Nothing, Route};
use crate::limits::STATS_HOURS_MAX;
use crate::reception::Definite;

/// How many milliseconds an hour has.
const HOUR_MS: u64 = 60 * 60 * 1_000;
/// How many billionths a dollar has.
const NANO: f64 = 1e9;
/// The hours that are shown unless somebody says otherwise.
const STATS_HOURS: u64 = 24;
/// How many hexadecimal digits a hash has.
const HASH_DIGITS: usize = 64;
const HASH_PREFIX: &str = "blake3:";

pub(crate) fn routes() -> Vec<Route> {
    let read = Need::Owner(Scope::Read);
    vec![
        Route::get("/api/health", read, "How the server is", health),
        Route::get("/api/stats", read, "What was done, in spans of time", stats),
        Route::raw(
            "/metrics",
            read,
            "Counters for Prometheus",
            "text/plain; version=0.0.4",
            metrics::text,
        ),
        Route::raw(
            "/api/artifacts/{hash}",
            read,
            "A file that the record keeps, as a download",
            "application/octet-stream",
            artifact,
        ),
    ]
}

/// How the server is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Health {
    /// ok, or degraded if there are problems.
    pub(crate) status: &'static str,
    /// What is not as it should be, in words.
    pub(crate) problems: Vec<String>,
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
    pub(crate) checks: Vec<Check>,
}

/// Something that was tried.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Check {
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

/// How far back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct StatsQuery {
    /// So many hours; a day, if nothing is said.
    hours: Option<u64>,
}

/// What was done, in spans of time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stats {
    /// How long each span is.
    pub(crate) bucket_ms: u64,
    /// The spans, the oldest first; those in which nothing happened too.
    pub(crate) buckets: Vec<Spent>,
}

/// What was done in a span of time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spent {
    /// When it begins, in milliseconds since 1970.
    pub(crate) t: u64,
    /// Turns that ended.
    pub(crate) turns: u64,
    /// Runs that did not do what they should.
    pub(crate) failed: u64,
    /// Calls that were made.
    pub(crate) calls: u64,
    /// Tokens that models read.
    pub(crate) input_tokens: u64,
    /// Tokens that models wrote.
    pub(crate) output_tokens: u64,
    /// What is known of the cost.
    pub(crate) cost_usd: f64,
    /// Entries that were written.
    pub(crate) events: u64,
}

impl From<Bucket> for Spent {
    #[expect(clippy::cast_precision_loss, reason = "a cost is shown, not reckoned with")]
    fn from(bucket: Bucket) -> Self {
        Self {
            t: bucket.begin,
            turns: bucket.turns,
            failed: bucket.failed,
            calls: bucket.calls,
            input_tokens: bucket.input_tokens,
            output_tokens: bucket.output_tokens,
            cost_usd: bucket.nano_usd as f64 / NANO,
            events: bucket.entries,
        }
    }
}

fn health(site: &Site, _: Asked<Nothing>) -> Result<Health, Refusal> {
    let mut problems = Vec::new();
    let sandbox = sandbox(&site.parts.enforcer, &mut problems);
    let definite = site.reception.read();
    let running_max = match &definite {
        Ok(definite) => limits(&definite.loaded.library.settings.config.queue).running,
        Err(error) => {
            problems.push(format!("the definitions cannot be used: {error}"));
            0
        }
    };
    let providers = providers(site, definite.as_ref().ok());
    if !site.reception.servings().is_empty() && !providers.iter().any(|one| one.configured) {
        problems.push("no provider of models can be asked".to_owned());
    }
    let channels = channels(site, &mut problems);
    let hooks = hooks(&site.parts.ledger)?;
    if hooks.failing > 0 {
        problems.push(format!("{} event hooks fail", hooks.failing));
    }
    Ok(Health {
        status: if problems.is_empty() { "ok" } else { "degraded" },
        problems,
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
            let check = Check { name: "sandbox".to_owned(), ok: false, detail };
            ("missing".to_owned(), None, vec![check])
        }
        (Enforcer::Sandbox(_), None) => ("missing".to_owned(), None, Vec::new()),
        (Enforcer::Sandbox(_), Some(found)) => {
            let escapes = found.escapes.iter().map(|escape| Check {
                name: escape.attempt.clone(),
                ok: escape.stopped,
                detail: escape.answer.clone(),
            });
            let limits = found.limits.iter().map(|limit| Check {
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

fn providers(site: &Site, definite: Option<&Definite>) -> Vec<ProviderHealth> {
    let kind = |serving: &Serving| {
        let config = definite.map(|definite| &definite.loaded.library.settings.config);
        let said = config.and_then(|config| config.providers.get(&serving.id)?.kind);
        said.map_or_else(|| serving.id.clone(), kind_word)
    };
    let servings = site.reception.servings().iter();
    servings
        .map(|serving| ProviderHealth {
            name: serving.id.clone(),
            kind: kind(serving),
            configured: serving.ready.is_ok(),
            models: match &serving.models {
                Offer::Listed(models) => models.len(),
                Offer::Any => serving.catalogue.len(),
            },
            problem: serving.ready.as_ref().err().cloned(),
        })
        .collect()
}

fn kind_word(kind: ProviderKind) -> String {
    match kind {
        ProviderKind::Anthropic => "anthropic",
        ProviderKind::Openai => "openai",
        ProviderKind::OpenaiChat => "openai_chat",
        ProviderKind::Ollama => "ollama",
        ProviderKind::Gemini => "gemini",
        ProviderKind::Local => LOCAL,
        ProviderKind::Scripted => "scripted",
    }
    .to_owned()
}

fn channels(site: &Site, problems: &mut Vec<String>) -> Vec<ChannelHealth> {
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

fn queue(ledger: &Ledger, running_max: usize) -> Result<QueueHealth, Refusal> {
    let (runs, inbounds) = (ledger.run_counts()?, ledger.inbound_counts()?);
    Ok(QueueHealth {
        running: sum(&runs, &["running"]),
        paused: sum(&runs, &["paused_for_approval"]),
        waiting: sum(&inbounds, &["received", "hooked", "waiting", "steering"]),
        undelivered: sum(&inbounds, &["undelivered"]),
        running_max,
    })
}

fn ledger(ledger: &Ledger) -> Result<LedgerHealth, Refusal> {
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

fn process(site: &Site) -> ProcessHealth {
    let (rss_bytes, threads) = measured();
    let (started_at, streams) = (site.started, site.hub.listeners() as u64);
    ProcessHealth { started_at, rss_bytes, streams, threads }
}

/// The memory and the threads of this process, as far as the system says.
pub(super) fn measured() -> (Option<u64>, Option<u64>) {
    const KIBIBYTE: u64 = 1024;
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    (number("VmRSS:").map(|kibibytes| kibibytes * KIBIBYTE), number("Threads:"))
}

fn hooks(ledger: &Ledger) -> Result<HookHealth, Refusal> {
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

fn stats(site: &Site, asked: Asked<StatsQuery>) -> Result<Stats, Refusal> {
    let hours = asked.query.hours.unwrap_or(STATS_HOURS).clamp(1, STATS_HOURS_MAX);
    let ledger = &site.parts.ledger;
    let (now, bucket_ms) = (ledger.now(), span_ms(hours));
    let since = now.saturating_sub(hours * HOUR_MS) / bucket_ms * bucket_ms;
    let found = ledger.buckets(since, bucket_ms)?;
    Ok(Stats { bucket_ms, buckets: filled(&found, (since, now), bucket_ms) })
}

/// How long a span is, so that there are neither too many nor too few.
fn span_ms(hours: u64) -> u64 {
    match hours {
        ..=2 => HOUR_MS / 60,
        3..=48 => HOUR_MS / 2,
        _ => 6 * HOUR_MS,
    }
}

/// The spans with those in which nothing happened.
fn filled(found: &[Bucket], (since, now): (u64, u64), span: u64) -> Vec<Spent> {
    let mut found = found.iter().copied().peekable();
    let mut all = Vec::new();
    let mut begin = since;
    while begin <= now {
        while found.next_if(|bucket| bucket.begin < begin).is_some() {}
        let empty = Bucket { begin, ..Bucket::default() };
        all.push(found.next_if(|bucket| bucket.begin == begin).unwrap_or(empty).into());
        begin += span;
    }
    all
}

fn artifact(site: &Site, asked: Asked) -> Result<Answer, Refusal> {
    let text = asked.part(0);
    let unknown = || Refusal::not_found("artifact", text);
    let ledger = &site.parts.ledger;
    let hash = hash_of(text).filter(|hash| ledger.keeps(hash)).ok_or_else(unknown)?;
    let body = ledger.kept_file(&hash)?;
    let name = hash.as_str().replace(':', "-");
    let disposition = format!("attachment; filename=\"{name}\"");
    Ok(Answer {
        status: 200,
        content_type: "application/octet-stream",
        body,
        headers: vec![("content-disposition", disposition)],
    })
}

/// The hash that a text is, with or without the name of its kind.
fn hash_of(text: &str) -> Option<ContentHash> {
    let digits = text.strip_prefix(HASH_PREFIX).unwrap_or(text);
    let fits = digits.len() == HASH_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let hash = format!("{HASH_PREFIX}{digits}");
    fits.then(|| serde_json::from_value(hash.into()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_without_anything_are_there_too() {
        let busy = Bucket { begin: 200, turns: 3, ..Bucket::default() };
        let all = filled(&[busy], (100, 399), 100);
        let turns: Vec<(u64, u64)> = all.iter().map(|one| (one.t, one.turns)).collect();
        assert_eq!(turns, [(100, 0), (200, 3), (300, 0)]);
    }

    #[test]
    fn only_a_hash_names_an_artifact() {
        let digits = "0123456789abcdef".repeat(4);
        let hash = format!("blake3:{digits}");
        assert_eq!(hash_of(&hash).map(|hash| hash.to_string()), Some(hash.clone()));
        assert_eq!(hash_of(&digits), hash_of(&hash));
        let upper = digits.to_uppercase();
        for wrong in ["", "..", "../../etc/passwd", &digits[1..], &upper] {
            assert_eq!(hash_of(wrong), None, "{wrong}");
        }
    }
}
