//! A system that has no sandbox we know: nothing is opened, so nothing runs.
//!
//! Must never: run anything.

use agentry_protocol::confinement::{Attestation, Confinement, Level};
use serde_json::Value;

use crate::asked::Served;
use crate::child::{Error, Finished};
use crate::stop::Stop;
use crate::system::{Backend, Job, Setup};

const NONE: &str = "this system has no sandbox that Agentry knows";

/// There is never one of these.
pub(crate) enum Elsewhere {}

impl Backend for Elsewhere {
    fn open_level(_: &Setup, _: Level) -> Result<(Self, Attestation), String> {
        Err(NONE.to_owned())
    }

    fn level(&self) -> Level {
        match *self {}
    }

    fn run(&self, _: &Job<'_>, _: &Stop) -> Result<Finished, Error> {
        match *self {}
    }

    fn serve(&self, _: &str, _: Value, _: &Confinement) -> Result<Served, Error> {
        match *self {}
    }
}

pub mod inside {
    //! What this binary does in a sandbox of other systems: nothing, as there is none.
    //!
    //! Must never: run anything.

    pub use crate::role::{Role, Roles, VERB};

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn serve(_: Roles) -> std::io::Result<()> {
        Err(std::io::Error::other(super::NONE))
    }
}
