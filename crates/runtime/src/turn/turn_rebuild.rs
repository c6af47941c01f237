//! Rebuilds a turn from the ledger.
//!
//! The turn begins again with its recorded charter, receives the recorded inputs in their order,
//! and must choose the recorded moves. If it does not, the run cannot continue.
//!
//! Must never: perform a move, or write.

use std::collections::BTreeSet;

use agentry_kernel::charter::Charter;
use agentry_kernel::moves::{EventRole, Move, role};
use agentry_kernel::turn::Turn;
use agentry_protocol::access::Bounds;
use agentry_protocol::confinement::ConfinementLevel;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::{Event, TurnPlan};
use agentry_protocol::hook::TurnShape;
use agentry_protocol::message::Message;
use agentry_protocol::{RunId, TurnId};
use agentry_store::{EntryFilter, Ledger};

use crate::error::Error;
use crate::limits::TURN_ENTRIES_MAX;
use crate::turn::history;
use crate::turn::session::halted;

/// The recorded plan, history and entries of a turn.
pub(crate) struct TurnRecord {
    pub(crate) plan: TurnPlan,
    pub(crate) history: Vec<Message>,
    /// The entries after the one that began it.
    pub(crate) entries: Vec<Envelope>,
}

/// Reads the record of a turn from the ledger.
pub(crate) fn record(ledger: &Ledger, turn: &TurnId) -> Result<TurnRecord, Error> {
    let filter = EntryFilter { turn: Some(turn.clone()), ..EntryFilter::default() };
    let mut entries = ledger.read_from(0, &filter, TURN_ENTRIES_MAX)?.into_iter();
    let plan = entries.find_map(|envelope| {
        if let Event::TurnStarted(plan) = envelope.event { Some(*plan) } else { None }
    });
    let plan = plan.ok_or_else(|| Error::Halted(format!("{turn} has no start in the ledger")))?;
    let history = history::as_given(ledger, &plan)?;
    Ok(TurnRecord { plan, history, entries: entries.collect() })
}

/// Returns the charter that a turn began with.
pub(crate) fn charter(plan: &TurnPlan) -> Result<Charter, Error> {
    serde_json::from_value(plan.charter.clone()).map_err(|error| {
        Error::Halted(format!("the turn was recorded by another version of agentry: {error}"))
    })
}

/// Returns the access bounds of a turn's sender; None if it has none.
pub(crate) fn bounds(record: &TurnRecord) -> Result<Option<Bounds>, Error> {
    let recorded = record.plan.charter.pointer("/authority/bounds").cloned();
    serde_json::from_value(recorded.unwrap_or_default()).map_err(|error| {
        Error::Halted(format!("the turn was recorded by another version of agentry: {error}"))
    })
}

/// A difference between the recorded and the chosen moves.
pub(crate) struct ReplayDifference {
    pub(crate) recorded: Option<Event>,
    pub(crate) chosen: Option<Event>,
}

/// The result of playing a record.
pub(crate) struct PlaybackOutcome {
    pub(crate) turn: Turn,
    pub(crate) moves: u64,
    pub(crate) taken: BTreeSet<u64>,
    pub(crate) difference: Option<ReplayDifference>,
}

/// Plays a record to a turn with this charter; stops at the first difference.
pub(crate) fn play(
    ledger: &Ledger,
    record: &TurnRecord,
    charter: Charter,
    same: fn(&Event, &Event) -> bool,
) -> Result<PlaybackOutcome, Error> {
    let (turn, moves) =
        Turn::begin(charter, &record.plan, record.history.clone()).map_err(halted)?;
    let mut played = PlaybackOutcome { turn, moves: 0, taken: BTreeSet::new(), difference: None };
    let mut chosen: std::collections::VecDeque<Event> = moves.iter().map(Move::event).collect();
    for envelope in &record.entries {
        let (told, time) = match role(&envelope.event) {
            EventRole::Other => continue,
            EventRole::Chosen => {
                let next = chosen.pop_front();
                if next.as_ref().is_some_and(|next| same(&envelope.event, next)) {
                    played.moves += 1;
                    continue;
                }
                let recorded = Some(envelope.event.clone());
                played.difference = Some(ReplayDifference { recorded, chosen: next });
                return Ok(played);
            }
            EventRole::Told => (envelope.event.clone(), None),
            EventRole::Pointer(input) => {
                played.taken.insert(input);
                let entry = ledger.entry(input)?;
                let entry =
                    entry.ok_or_else(|| Error::Halted(format!("entry {input} is missing")))?;
                (entry.event, Some(entry.time))
            }
        };
        if let Some(next) = chosen.pop_front() {
            played.difference = Some(ReplayDifference { recorded: None, chosen: Some(next) });
            return Ok(played);
        }
        let moves = match time {
            Some(time) => played.turn.tell_at(&told, time),
            None => played.turn.tell(&told),
        };
        let moves = moves.map_err(halted)?;
        chosen.extend(moves.iter().map(Move::event));
    }
    if let Some(next) = chosen.pop_front() {
        played.difference = Some(ReplayDifference { recorded: None, chosen: Some(next) });
    }
    Ok(played)
}

/// A turn that continues where it was left.
pub(crate) struct RebuiltTurn {
    pub(crate) turn: Turn,
    /// The sequence numbers of the inputs that the turn received.
    pub(crate) taken: BTreeSet<u64>,
    /// The changes that the hooks before the turn made.
    pub(crate) shaping: TurnShape,
}

/// Rebuilds a turn of a run for resuming; fails if its moves differ from the record.
pub(crate) fn rebuild(
    ledger: &Ledger,
    run: &RunId,
    turn: &TurnId,
    level: ConfinementLevel,
) -> Result<RebuiltTurn, Error> {
    let record = record(ledger, turn)?;
    let charter = charter(&record.plan)?;
    check_level(&charter, level)?;
    let played = play(ledger, &record, charter, is_recorded)?;
    match played.difference {
        None => {
            let PlaybackOutcome { turn, taken, .. } = played;
            Ok(RebuiltTurn { turn, taken, shaping: record.plan.shaping })
        }
        Some(difference) => Err(Error::Diverged {
            run: run.clone(),
            recorded: event_json(difference.recorded.as_ref()),
            chosen: event_json(difference.chosen.as_ref()),
        }),
    }
}

/// True if a move equals the recorded one; older records of an ending lack the context.
pub(crate) fn is_recorded(recorded: &Event, chosen: &Event) -> bool {
    if let Event::TurnEnded { context: said, .. } = recorded
        && said.is_empty()
        && let Event::TurnEnded { .. } = chosen
    {
        let mut chosen = chosen.clone();
        if let Event::TurnEnded { context, .. } = &mut chosen {
            context.clone_from(said);
        }
        return *recorded == chosen;
    }
    recorded == chosen
}

/// Checks that the present sandbox level is at least that of the turn's beginning.
fn check_level(charter: &Charter, today: ConfinementLevel) -> Result<(), Error> {
    let begun = charter.confinement().level;
    if today <= begun {
        return Ok(());
    }
    Err(Error::Definition(format!(
        "the turn began under `{begun}`, and only `{today}` is available now; restore the sandbox, \
         or cancel the run and start a new one"
    )))
}

/// Returns a move as JSON in one line.
pub(crate) fn event_json(event: Option<&Event>) -> String {
    match event {
        Some(event) => serde_json::to_string(event).unwrap_or_else(|error| error.to_string()),
        None => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests;
