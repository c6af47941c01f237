//! The route of activity statistics.
//!
//! Must never: read more than the time range that was asked for.

use agentry_protocol::token::TokenScope;
use agentry_runtime::report::activity::Stats;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api_error::ApiError;
use crate::route::{ApiRequest, ApiRoute, RouteAccess};
use crate::state::ServerState;

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

fn stats(site: &ServerState, asked: ApiRequest<StatsQuery>) -> Result<Stats, ApiError> {
    Ok(Stats::read(&site.parts.ledger, asked.query.hours.unwrap_or(STATS_HOURS))?)
}
