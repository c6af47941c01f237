//! What was done, in spans of time.
//!
//! Must never: leave out a span because nothing happened in it.

use agentry_protocol::token::TokenScope;
use agentry_store::ActivityBucket;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::usd;
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiRoute, RouteAccess};
use crate::http::state::ServerState;
use crate::limits::STATS_HOURS_MAX;

/// How many milliseconds an hour has.
const HOUR_MS: u64 = 60 * 60 * 1_000;
/// The hours that are shown unless somebody says otherwise.
const STATS_HOURS: u64 = 24;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let words = "What was done, in spans of time";
    vec![ApiRoute::get("/api/stats", RouteAccess::Owner(TokenScope::Read), words, stats)]
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
    pub(crate) buckets: Vec<StatsBucket>,
}

/// What was done in a span of time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatsBucket {
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

/// How long a span is, so that there are neither too many nor too few.
fn span_ms(hours: u64) -> u64 {
    match hours {
        ..=2 => HOUR_MS / 60,
        3..=48 => HOUR_MS / 2,
        _ => 6 * HOUR_MS,
    }
}

/// The spans with those in which nothing happened.
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
