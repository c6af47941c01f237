//! The end of a step: the exit of its turn, with an explanation for a person.
//!
//! Must never: begin a turn.

use agentry_kernel::turn::Turn;

use crate::error::Error;
use crate::turn::runner::ActiveRun;
use crate::turn::session::{SessionLoop, TurnExit};

/// The reason why a turn left the loop, with an explanation for a person.
pub(crate) type StepExit = (TurnExit, Option<String>);

/// Drives a turn until it leaves the loop, and adds its requests to the count of the run.
pub(crate) fn finish(
    mut session: SessionLoop<'_>,
    turn: &mut Turn,
    underway: &mut ActiveRun,
) -> Result<StepExit, Error> {
    let left = session.drive(turn)?;
    underway.asked += u64::from(turn.steps());
    Ok((left, turn.failure_text()))
}
