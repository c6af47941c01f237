//! Activity statistics, per time span.
//!
//! Must never: omit a span without activity.

use std::ops::RangeInclusive;

use agentry_store::{ActivityBucket, Error, Ledger};
use schemars::JsonSchema;
use serde::Serialize;

use crate::limits::STATS_HOURS_MAX;

/// Milliseconds per hour.
const HOUR_MS: u64 = 60 * 60 * 1_000;

/// Activity per time span.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Length of a span, in milliseconds.
    pub bucket_ms: u64,
    /// Spans, oldest first, including those without activity.
    pub buckets: Vec<StatsBucket>,
}

/// Activity in a time span.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatsBucket {
    /// Start time, in milliseconds since 1970.
    pub t: u64,
    /// Number of turns that ended.
    pub turns: u64,
    /// Number of runs that failed.
    pub failed: u64,
    /// Number of tool calls.
    pub calls: u64,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Known part of the cost, in US dollars.
    pub cost_usd: f64,
    /// Number of ledger entries.
    pub events: u64,
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

impl Stats {
    /// Reads the activity of these hours up to now.
    pub fn read(ledger: &Ledger, hours: u64) -> Result<Self, Error> {
        let hours = hours.clamp(1, STATS_HOURS_MAX);
        let (now, bucket_ms) = (ledger.now(), span_ms(hours));
        let since = now.saturating_sub(hours * HOUR_MS) / bucket_ms * bucket_ms;
        let found = ledger.buckets(since, bucket_ms)?;
        Ok(Self { bucket_ms, buckets: filled(&found, since..=now, bucket_ms) })
    }
}

/// Converts billionths of a US dollar to dollars.
#[expect(
    clippy::cast_precision_loss,
    reason = "the rounding matters only above nine million dollars"
)]
pub fn usd(nano: u64) -> f64 {
    nano as f64 / 1e9
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
fn filled(found: &[ActivityBucket], times: RangeInclusive<u64>, span: u64) -> Vec<StatsBucket> {
    let mut found = found.iter().copied().peekable();
    let mut all = Vec::new();
    let mut begin = *times.start();
    while begin <= *times.end() {
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
        let all = filled(&[busy], 100..=399, 100);
        let turns: Vec<(u64, u64)> = all.iter().map(|one| (one.t, one.turns)).collect();
        assert_eq!(turns, [(100, 0), (200, 3), (300, 0)]);
    }
}
