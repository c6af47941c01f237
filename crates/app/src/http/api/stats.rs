//! Activity statistics, per time span.
//!
//! Must never: omit a span without activity.

use agentry_protocol::token::TokenScope;
use agentry_store::ActivityBucket;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::usd;
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiRoute, RouteAccess};
use crate::http::state::ServerState;
use crate::limits::STATS_HOURS_MAX;

/// Milliseconds per hour.
const HOUR_MS: u64 = 60 * 60 * 1_000;
/// The default number of hours.
const STATS_HOURS: u64 = 24;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let words = "Activity per time span";
    vec![ApiRoute::get("/api/stats", RouteAccess::Owner(TokenScope::Read), words, stats)]
}

/// Time range of the statistics.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct StatsQuery {
    /// Number of hours up to now. Default: 24.
    hours: Option<u64>,
}

/// Activity per time span.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stats {
    /// Length of a span, in milliseconds.
    pub(crate) bucket_ms: u64,
    /// Spans, oldest first, including those without activity.
    pub(crate) buckets: Vec<StatsBucket>,
}

/// Activity in a time span.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatsBucket {
    /// Start time, in milliseconds since 1970.
    pub(crate) t: u64,
    /// Number of turns that ended.
    pub(crate) turns: u64,
    /// Number of runs that failed.
    pub(crate) failed: u64,
    /// Number of tool calls.
    pub(crate) calls: u64,
    /// Input tokens.
    pub(crate) input_tokens: u64,
    /// Output tokens.
    pub(crate) output_tokens: u64,
    /// Known part of the cost, in US dollars.
    pub(crate) cost_usd: f64,
    /// Number of ledger entries.
    pub(crate) events: u64,
}

impl From<ActivityBucket> for StatsBucket {
    fn from(bucket: ActivityBucket) -> Self {
        Self {
            t: bucket.begin,
            turns: bucket.turns,
            failed: bucket.failed,
            calls: bucket.calls,
            input_tokens: bucket.input_tokens,
            output_tokens: bucket.output_tokens,
            cost_usd: usd(bucket.nano_usd),
            events: bucket.entries,
        }
    }
}

fn stats(site: &ServerState, asked: ApiRequest<StatsQuery>) -> Result<Stats, ApiError> {
    let hours = asked.query.hours.unwrap_or(STATS_HOURS).clamp(1, STATS_HOURS_MAX);
    let ledger = &site.parts.ledger;
    let (now, bucket_ms) = (ledger.now(), span_ms(hours));
    let since = now.saturating_sub(hours * HOUR_MS) / bucket_ms * bucket_ms;
    let found = ledger.buckets(since, bucket_ms)?;
    Ok(Stats { bucket_ms, buckets: filled(&found, (since, now), bucket_ms) })
}

/// Returns the length of a span for a range, so that there are neither too many nor too few.
fn span_ms(hours: u64) -> u64 {
    match hours {
        ..=2 => HOUR_MS / 60,
        3..=48 => HOUR_MS / 2,
        _ => 6 * HOUR_MS,
    }
}

/// Returns the spans, with empty ones where there was no activity.
fn filled(found: &[ActivityBucket], (since, now): (u64, u64), span: u64) -> Vec<StatsBucket> {
    let mut found = found.iter().copied().peekable();
    let mut all = Vec::new();
    let mut begin = since;
    while begin <= now {
        while found.next_if(|bucket| bucket.begin < begin).is_some() {}
        let empty = ActivityBucket { begin, ..ActivityBucket::default() };
        all.push(found.next_if(|bucket| bucket.begin == begin).unwrap_or(empty).into());
        begin += span;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_without_anything_are_there_too() {
        let busy = ActivityBucket { begin: 200, turns: 3, ..ActivityBucket::default() };
        let all = filled(&[busy], (100, 399), 100);
        let turns: Vec<(u64, u64)> = all.iter().map(|one| (one.t, one.turns)).collect();
        assert_eq!(turns, [(100, 0), (200, 3), (300, 0)]);
    }
}
