//! Replays a recorded run with the present program and files, and reports where they differ.
//!
//! Must never: perform a move, ask a model or write.

use agentry_kernel::prompt::TemplateIds;
use agentry_protocol::RunId;
use agentry_protocol::event::{Event, Permit};
use agentry_store::Ledger;

use crate::definitions::Definitions;
use crate::definitions::plan;
use crate::error::Error;
use crate::host::tool_registry::ToolRegistry;
use crate::host::tool_source::ToolScope;
use crate::run_request::RunSettings;
use crate::turn::charter;
use crate::turn::turn_rebuild;

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayReport {
    /// Every move is equal.
    Identical {
        /// The number of moves.
        moves: u64,
    },
    /// The first difference.
    Different {
        /// The number of equal moves before it.
        moves: u64,
        /// The recorded move at the difference.
        recorded: String,
        /// The move that would be chosen now.
        today: String,
    },
}

/// Replays all turns of a run with the present definitions and tools.
pub fn replay(
    ledger: &Ledger,
    run: &RunId,
    definitions: &Definitions,
    tools: &ToolRegistry,
) -> Result<ReplayReport, Error> {
    let run_plan = plan::recorded(ledger, run)?;
    let task = plan::task(definitions, &run_plan)?;
    let mut moves = 0;
    for row in ledger.turns_of_run(run)? {
        let record = turn_rebuild::record(ledger, &row.id)?;
        let session = row.session.as_ref().map(|session| session.as_str());
        let moment = TemplateIds { session, turn: Some(row.id.as_str()) };
        let at = row.step as usize;
        let agent = &run_plan.steps.get(at).map_or(&run_plan.agent, |step| &step.agent);
        // The access decision is part of the record; `access replay` tests it.
        let bounds = turn_rebuild::bounds(&record)?;
        let shaping = record.plan.shaping.clone();
        let terms = RunSettings { bounds, shaping, ..plan::terms(&run_plan, at) };
        let step = task.map(|task| (task, at));
        let scope = ToolScope { definitions, agent: definitions.agent(agent)?, step };
        let charter = charter::of_scope(&scope, tools, &terms, &moment)?;
        let charter = match &record.plan.compaction {
            Some(_) => charter.for_compaction(),
            None => charter,
        };
        let played = turn_rebuild::play(ledger, &record, charter, is_same_move)?;
        moves += played.moves;
        if let Some(difference) = played.difference {
            let recorded = turn_rebuild::event_json(difference.recorded.as_ref());
            let today = turn_rebuild::event_json(difference.chosen.as_ref());
            return Ok(ReplayReport::Different { moves, recorded, today });
        }
    }
    Ok(ReplayReport::Identical { moves })
}

/// Compares two moves. A rule on another line is the same rule. Another confinement changes the
/// effect of a call, not the choice to make it.
fn is_same_move(recorded: &Event, chosen: &Event) -> bool {
    match (recorded, chosen) {
        (
            Event::CallStarted { call, by, .. },
            Event::CallStarted { call: other, by: today, .. },
        ) => {
            let by_rules = matches!((by, today), (Permit::Rule { .. }, Permit::Rule { .. }));
            call == other && (by_rules || by == today)
        }
        (
            Event::CallProposed { call, ruling },
            Event::CallProposed { call: other, ruling: today },
        ) => call == other && ruling.verdict == today.verdict,
        (Event::ApprovalAsked(one), Event::ApprovalAsked(other)) => {
            one.id == other.id && one.digest == other.digest
        }
        (recorded, chosen) => turn_rebuild::is_recorded(recorded, chosen),
    }
}
