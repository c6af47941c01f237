//! A model for runs that are about to be cancelled.
//!
//! Must never: answer.

use agentry_model::{Model, ModelAnswer, ModelQuery};
use agentry_protocol::message::{FailureKind, ModelFailure};

/// A model that fails every request.
pub(crate) struct CancelledModel;

impl Model for CancelledModel {
    fn ask(&self, _: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure> {
        Err(ModelFailure::new(FailureKind::Interrupted, "the run is being cancelled"))
    }
}
