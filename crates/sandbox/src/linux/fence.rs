//! Confines the process that is about to become the program.
use crate::spec::{Spec, Trouble};
pub(crate) fn raise(_spec: &Spec) -> Result<(), Trouble> { Ok(()) }
