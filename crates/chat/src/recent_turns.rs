//! The last turns of a continued session.
//!
//! Must never: show a turn that is not of the session's branch.

use agentry_protocol::TurnId;
use agentry_protocol::event::{Event, TurnPlan};
use agentry_protocol::message::Message;
use agentry_protocol::tool_call::{OutcomeStatus, ToolOutcome};

use super::call::FinishedChatCall;
use super::chat_session::ChatSession;
use super::markdown;
use super::scroll::{Kind, ScrollbackBuffer};
use super::style::{DIM, StyledRow, row};
use super::turn::user_rows;
use crate::limits::CHAT_TAIL_TURNS_MAX;

/// A turn of a branch: its plan and its messages.
pub(crate) struct TranscriptTurn {
    id: TurnId,
    pub(crate) plan: Box<TurnPlan>,
    pub(crate) messages: Vec<Message>,
}

/// Returns the last turns of the session's branch, oldest first.
pub(crate) fn turns(
    talk: &ChatSession,
    limit: usize,
) -> Result<Vec<TranscriptTurn>, agentry_store::Error> {
    let ledger = talk.ledger();
    let head = talk.row()?.and_then(|row| row.head);
    let Some(head) = head else { return Ok(Vec::new()) };
    let mut told = Vec::new();
    for turn in ledger.branch(&head, limit)? {
        let started = ledger.entry(turn.started_seq)?.map(|envelope| envelope.event);
        let ended = turn.ended_seq.map(|seq| ledger.entry(seq)).transpose()?.flatten();
        let ended = ended.map(|envelope| envelope.event);
        if let (Some(Event::TurnStarted(plan)), Some(Event::TurnEnded { messages, .. })) =
            (started, ended)
        {
            told.push(TranscriptTurn { id: turn.id, plan, messages });
        }
    }
    Ok(told)
}

/// Returns the turns that the model sees: the newest compaction and the turns it keeps.
pub(crate) fn visible_turns(told: Vec<TranscriptTurn>) -> Vec<TranscriptTurn> {
    let newest = told.iter().rposition(|one| one.plan.compaction.is_some());
    let Some((at, plan)) = newest.and_then(|at| Some((at, told[at].plan.compaction.clone()?)))
    else {
        return told;
    };
    let first = plan.first_kept.and_then(|first| told.iter().position(|one| one.id == first));
    let first = first.unwrap_or(at);
    let kept = told.into_iter().enumerate().skip(first);
    let kept = kept.filter(|(place, one)| *place == at || one.plan.compaction.is_none());
    kept.map(|(_, one)| one).collect()
}

/// Adds the last turns to the scrollback.
pub(crate) fn show(
    talk: &ChatSession,
    scroll: &mut ScrollbackBuffer,
    columns: usize,
) -> Result<(), agentry_store::Error> {
    let depth = talk.row()?.map_or(0, |row| row.turns);
    let told = turns(talk, CHAT_TAIL_TURNS_MAX)?;
    let before = depth.saturating_sub(told.len() as u64);
    if before > 0 {
        scroll.note(&format!("… {before} earlier turns are not shown"), DIM, columns);
    }
    for one in told {
        if one.plan.compaction.is_some() {
            scroll.note("Earlier turns are summarized for the model from here on.", DIM, columns);
            continue;
        }
        scroll.add(Kind::User, user_rows(&one.plan.prompt, "", columns), columns);
        for rows in said(&one.messages, columns) {
            scroll.add(rows.0, rows.1, columns);
        }
        scroll.end_answer();
    }
    Ok(())
}

/// Returns the rows of the agent's messages and calls, in order. The first message is the prompt.
fn said(messages: &[Message], columns: usize) -> Vec<(Kind, Vec<StyledRow>)> {
    let mut all = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::User { content, .. } if at > 0 => {
                all.push((Kind::User, user_rows(content, "", columns)))
            }
            Message::User { .. } => {}
            Message::Assistant { content, .. } => {
                all.push((Kind::Answer, markdown::rows(content, columns)));
            }
            Message::Tool { call, content, ok } => {
                let mut calls = messages.iter().filter_map(|one| match one {
                    Message::Assistant { calls, .. } => calls.iter().find(|one| one.id == *call),
                    Message::User { .. } | Message::Tool { .. } => None,
                });
                let status = if *ok { OutcomeStatus::Done } else { OutcomeStatus::Failed };
                let outcome = ToolOutcome::new(status, content.clone());
                let rows = match calls.next() {
                    Some(call) => {
                        vec![FinishedChatCall { call: call.clone(), outcome }.folded(columns)]
                    }
                    None => vec![row(content, DIM)],
                };
                all.push((Kind::Call, rows));
            }
        }
    }
    all
}
