//! What every route has at hand.
//!
//! Must never: hold what only one route needs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentry_runtime::Host;
use agentry_runtime::channel::Adapter;

use super::auth::Authenticator;
use super::hub::StreamHub;
use super::request_guard::RequestGuard;
use crate::definition_cache::DefinitionCache;

/// What every route has at hand.
pub(crate) struct ServerState {
    /// The parts of the runtime; the ledger among them.
    pub(crate) parts: Arc<Host>,
    /// The definitions, as of a moment ago.
    pub(crate) reception: Arc<DefinitionCache>,
    /// The channels' programs, by name.
    pub(crate) adapters: BTreeMap<String, Arc<Adapter>>,
    /// The directory of the definitions.
    pub(crate) project: PathBuf,
    /// When the server began, in milliseconds since 1970.
    pub(crate) started: u64,
    /// How it is reached.
    pub(crate) front: RequestGuard,
    /// Who may come in.
    pub(crate) keys: Authenticator,
    /// What goes out as it happens.
    pub(crate) hub: Arc<StreamHub>,
}
