//! Metrics in the Prometheus text format.
//!
//! Must never: contain a word of a message, or a name that an unknown sender chose.

use std::fmt::Write as _;

use agentry_runtime::Enforcer;

use super::resource_usage::{ledger_bytes, process_usage};
use crate::api_error::ApiError;
use crate::route::{ApiRequest, ApiResponse};
use crate::state::ServerState;

/// The content type of the response.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4";
/// Milliseconds per second.
const SECOND_MS: u64 = 1_000;

/// Returns all metrics.
pub(super) fn text(site: &ServerState, _: ApiRequest) -> Result<ApiResponse, ApiError> {
    let ledger = &site.parts.ledger;
    let mut page = MetricsWriter::default();
    page.one("agentry_start_time_seconds", "Start time of the server.", site.started / SECOND_MS);
    page.one(
        "agentry_ledger_last_seq",
        "Sequence number of the last ledger entry.",
        ledger.last_seq()?,
    );
    page.one("agentry_ledger_bytes", "Size of the ledger.", ledger_bytes(ledger));
    let (rss, threads) = process_usage();
    if let Some(rss) = rss {
        page.one("agentry_process_resident_bytes", "Resident memory of the server.", rss);
    }
    if let Some(threads) = threads {
        page.one("agentry_process_threads", "Threads of the server.", threads);
    }
    page.one("agentry_streams", "Open event streams.", site.hub.subscriber_count() as u64);
    page.one(
        "agentry_streams_dropped",
        "Event streams closed because the client was too slow.",
        site.hub.dropped(),
    );
    page.one(
        "agentry_wrong_keys",
        "Wrong keys, codes and signatures since the start.",
        site.front.rates.wrong_keys(),
    );
    let confined = match &site.parts.enforcer {
        Enforcer::Sandbox(_) => 1,
        Enforcer::Off | Enforcer::Missing(_) => 0,
    };
    page.one("agentry_sandbox_up", "1 if a sandbox is available.", confined);
    page.many(
        "agentry_inbounds",
        "status",
        "Unfinished inbound events by status.",
        ledger.inbound_counts()?,
    );
    page.many("agentry_runs", "status", "Runs by status.", ledger.run_counts()?);
    page.one(
        "agentry_approvals_waiting",
        "Approvals that wait for a person.",
        ledger.approvals_waiting()?.len() as u64,
    );
    let health = || site.adapters.iter().map(|(name, adapter)| (name.clone(), adapter.health()));
    page.many(
        "agentry_channel_up",
        "channel",
        "1 if the channel is connected.",
        health().map(|(name, health)| (name, u64::from(health.connected))),
    );
    page.many(
        "agentry_channel_restarts",
        "channel",
        "Restarts of the channel's program.",
        health().map(|(name, health)| (name, health.restarts)),
    );
    let body = page.text.into_bytes();
    Ok(ApiResponse { status: 200, content_type: CONTENT_TYPE, body, headers: Vec::new() })
}

/// Builds the text. All metrics are gauges: the ledger may differ after a restart.
#[derive(Default)]
struct MetricsWriter {
    text: String,
}

impl MetricsWriter {
    fn head(&mut self, name: &str, help: &str) {
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} gauge")
            .expect("writing to a string cannot fail");
    }

    /// Adds a metric with one value.
    fn one(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help);
        writeln!(self.text, "{name} {value}").expect("writing to a string cannot fail");
    }

    /// Adds a metric with one value per label.
    fn many(
        &mut self,
        name: &str,
        label: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        self.head(name, help);
        for (of, value) in values {
            let of = escaped(&of);
            writeln!(self.text, "{name}{{{label}=\"{of}\"}} {value}")
                .expect("writing to a string cannot fail");
        }
    }
}

/// Escapes a label value: backslash, quote and newline.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_ends_only_where_it_ends() {
        let mut page = MetricsWriter::default();
        page.many("agentry_x", "of", "Words.", [("a\"b\\c\nd".to_owned(), 3)]);
        page.one("agentry_y", "Words.", 4);
        assert_eq!(
            page.text,
            "# HELP agentry_x Words.\n# TYPE agentry_x gauge\nagentry_x{of=\"a\\\"b\\\\c\\nd\"} 3\n\
             # HELP agentry_y Words.\n# TYPE agentry_y gauge\nagentry_y 4\n"
        );
    }
}
