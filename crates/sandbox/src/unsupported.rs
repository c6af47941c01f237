//! The backend of a system without a known sandbox: opens no level, so no command runs.
//!
//! Must never: run anything.

use std::sync::Arc;

use agentry_protocol::confinement::{Attestation, Confinement, ConfinementLevel};
use serde_json::Value;

use crate::backend::{Backend, SandboxJob, SandboxSetup, SpawnJob};
use crate::cancel::CancelToken;
use crate::process::{Error, ProcessOutcome};
use crate::sandboxed_child::SandboxedChild;
use crate::service::SandboxedService;

const NONE: &str = "this system has no sandbox that Agentry knows";

/// A backend that no value exists of.
pub(crate) enum UnsupportedBackend {}

impl Backend for UnsupportedBackend {
    fn open_level(_: &SandboxSetup, _: ConfinementLevel) -> Result<(Self, Attestation), String> {
        Err(NONE.to_owned())
    }

    fn level(&self) -> ConfinementLevel {
        match *self {}
    }

    fn run(&self, _: &SandboxJob<'_>, _: &CancelToken) -> Result<ProcessOutcome, Error> {
        match *self {}
    }

    fn spawn(self: &Arc<Self>, _: SpawnJob, _: &CancelToken) -> Result<SandboxedChild, Error> {
        match **self {}
    }

    fn serve(&self, _: &str, _: Value, _: &Confinement) -> Result<SandboxedService, Error> {
        match *self {}
    }
}

pub mod launcher {
    //! The sandbox roles of this binary on other systems: none, as there is no sandbox.
    //!
    //! Must never: run anything.

    pub use crate::role::{RoleFn, RoleTable, VERB};

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn serve(_: RoleTable) -> std::io::Result<()> {
        Err(std::io::Error::other(super::NONE))
    }
}
