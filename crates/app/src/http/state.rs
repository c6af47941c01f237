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
pub(crate) struct ServerState {
    /// The host of the runtime, with the ledger.
    pub(crate) parts: Arc<Host>,
    /// The definitions, read again when their files change.
    pub(crate) reception: Arc<DefinitionCache>,
    /// The adapter processes of the channels, by channel name.
    pub(crate) adapters: BTreeMap<String, Arc<Adapter>>,
    /// The directory of the definitions.
    pub(crate) project: PathBuf,
    /// The start time of the server, in milliseconds since 1970.
    pub(crate) started: u64,
    /// The checks of each request: host, origin, key and rate limit.
    pub(crate) front: RequestGuard,
    /// The lookup of keys.
    pub(crate) keys: Authenticator,
    /// The hub of all event streams.
    pub(crate) hub: Arc<StreamHub>,
}
