//! Counters in the text form of Prometheus.
//!
//! Must never: hold a word of what was said, or a name that a stranger chose.

use std::fmt::Write as _;

use agentry_runtime::Enforcer;

use super::health::{ledger_bytes, process_usage};
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiResponse};
use crate::http::state::ServerState;

/// The type of the answer.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4";
/// How many milliseconds a second has.
const SECOND_MS: u64 = 1_000;

/// All counters.
pub(super) fn text(site: &ServerState, _: ApiRequest) -> Result<ApiResponse, ApiError> {
    let ledger = &site.parts.ledger;
    let mut page = MetricsWriter::default();
    page.one("agentry_start_time_seconds", "When the server began.", site.started / SECOND_MS);
    page.one("agentry_ledger_last_seq", "The last entry of the ledger.", ledger.last_seq()?);
    page.one("agentry_ledger_bytes", "How large the ledger is.", ledger_bytes(ledger));
    let (rss, threads) = process_usage();
    if let Some(rss) = rss {
        page.one("agentry_process_resident_bytes", "Memory of the server.", rss);
    }
    if let Some(threads) = threads {
        page.one("agentry_process_threads", "Threads of the server.", threads);
    }
    page.one("agentry_streams", "Streams that are open.", site.hub.listeners() as u64);
    page.one(
        "agentry_streams_dropped",
        "Streams that were ended because nobody read them fast enough.",
        site.hub.dropped(),
    );
    page.one(
        "agentry_wrong_keys",
        "Wrong keys, codes and signatures since the server began.",
        site.front.rates.wrong_keys(),
    );
    let confined = match &site.parts.enforcer {
        Enforcer::Sandbox(_) => 1,
        Enforcer::Off | Enforcer::Missing(_) => 0,
    };
    page.one("agentry_sandbox_up", "Whether there is a sandbox.", confined);
    page.many(
        ("agentry_inbounds", "status", "What came in and is not done, by how far it is."),
        ledger.inbound_counts()?,
    );
    page.many(("agentry_runs", "status", "Runs by how they stand."), ledger.run_counts()?);
    page.one(
        "agentry_approvals_waiting",
        "Questions that wait for a person.",
        ledger.approvals_waiting()?.len() as u64,
    );
    let health = || site.adapters.iter().map(|(name, adapter)| (name.clone(), adapter.health()));
    page.many(
        ("agentry_channel_up", "channel", "Whether a channel is connected."),
        health().map(|(name, health)| (name, u64::from(health.connected))),
    );
    page.many(
        ("agentry_channel_restarts", "channel", "How often a channel's program was restarted."),
        health().map(|(name, health)| (name, health.restarts)),
    );
    let body = page.text.into_bytes();
    Ok(ApiResponse { status: 200, content_type: CONTENT_TYPE, body, headers: Vec::new() })
}

/// The text so far. All are gauges: the ledger may be another after a restart.
#[derive(Default)]
struct MetricsWriter {
    text: String,
}

impl MetricsWriter {
    fn head(&mut self, name: &str, help: &str) {
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} gauge")
            .expect("a string takes all");
    }

    /// A number.
    fn one(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help);
        writeln!(self.text, "{name} {value}").expect("a string takes all");
    }

    /// Numbers that a label tells apart.
    fn many(
        &mut self,
        (name, label, help): (&str, &str, &str),
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        self.head(name, help);
        for (of, value) in values {
            let of = escaped(&of);
            writeln!(self.text, "{name}{{{label}=\"{of}\"}} {value}").expect("a string takes all");
        }
    }
}

/// The value of a label: a backslash, a quote and a line's end are written so that they end nothing.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_ends_only_where_it_ends() {
        let mut page = MetricsWriter::default();
        page.many(("agentry_x", "of", "Words."), [("a\"b\\c\nd".to_owned(), 3)]);
        page.one("agentry_y", "Words.", 4);
        assert_eq!(
            page.text,
            "# HELP agentry_x Words.\n# TYPE agentry_x gauge\nagentry_x{of=\"a\\\"b\\\\c\\nd\"} 3\n\
             # HELP agentry_y Words.\n# TYPE agentry_y gauge\nagentry_y 4\n"
        );
    }
}
