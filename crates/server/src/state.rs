//! The state that all route handlers share.
//!
//! Must never: hold a value that only one route needs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentry_runtime::Host;
use agentry_runtime::channel::Adapter;
use agentry_runtime::definitions::definition_cache::DefinitionCache;

use super::auth::Authenticator;
use super::hub::StreamHub;
use super::request_guard::RequestGuard;

/// The shared state of the HTTP server.
pub struct ServerState {
    /// The host of the runtime, with the ledger.
    pub parts: Arc<Host>,
    /// The definitions, read again when their files change.
    pub definition_cache: Arc<DefinitionCache>,
    /// The adapter processes of the channels, by channel name.
    pub adapters: BTreeMap<String, Arc<Adapter>>,
    /// The directory of the definitions.
    pub project: PathBuf,
    /// The start time of the server, in milliseconds since 1970.
    pub started: u64,
    /// The checks of each request: host, origin, key and rate limit.
    pub front: RequestGuard,
    /// The lookup of keys.
    pub keys: Authenticator,
    /// The hub of all event streams.
    pub hub: Arc<StreamHub>,
}
