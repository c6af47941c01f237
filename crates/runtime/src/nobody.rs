//! A model for runs that are only to end.
//!
//! Must never: answer.

use agentry_model::{Answer, Model, Question};
use agentry_protocol::message::{FailureKind, ModelFailure};

/// Asks nobody.
pub(crate) struct Nobody;

impl Model for Nobody {
    fn ask(&self, _: &Question<'_>) -> Result<Answer, ModelFailure> {
        Err(ModelFailure::new(FailureKind::Interrupted, "the run is being cancelled"))
    }
}
