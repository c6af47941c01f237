//! A turn that sums up others: what it asks, what it adds, and how it can end; and what turns weigh.

use std::collections::BTreeMap;

use agentry_kernel::moves::Move;
use agentry_kernel::turn::Turn;
use agentry_protocol::CallId;
use agentry_protocol::TurnId;
use agentry_protocol::context::{CompactionPlan, CompactionReason, ContextUpdate};
use agentry_protocol::event::{Ending, Event, Mode, TurnPlan};
use agentry_protocol::message::{FailureKind, Message, ModelFailure, ModelReply, Usage};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use serde_json::json;

use crate::turn_prefix::charter;

fn plan(compaction: Option<CompactionPlan>) -> TurnPlan {
    TurnPlan {
        parent: None,
        parent_hash: None,
        history_from: None,
        pruned: Default::default(),
        compaction: compaction.map(Box::new),
        step: 0,
        prompt: "Sum up.".to_owned(),
        images: Vec::new(),
        charter: json!({}),
        standing: BTreeMap::new(),
        shaping: Default::default(),
    }
}

fn summing() -> Turn {
    let compaction = CompactionPlan {
        reason: CompactionReason::Window,
        focus: None,
        summarized_through: TurnId::from_number(3),
        first_kept: Some(TurnId::from_number(4)),
        tokens_before: 9_000,
        tokens_kept: 2_000,
    };
    let charter = charter(Mode::Autonomous).for_compaction();
    let (turn, moves) =
        Turn::begin(charter, &plan(Some(compaction)), Vec::new()).expect("it begins");
    assert!(matches!(moves.as_slice(), [Move::AskModel { step: 1, .. }]), "{moves:?}");
    assert!(turn.request().tools.is_empty());
    assert_eq!(turn.request().messages.len(), 1);
    turn
}

/// How the turn ends when it is told this.
fn end(turn: &mut Turn, event: &Event) -> (Ending, Vec<Message>, ContextUpdate) {
    let moves = turn.tell(event).expect("it goes on");
    let ended = moves.into_iter().find_map(|one| match one {
        Move::EndTurn { ending, messages, context, .. } => Some((ending, messages, *context)),
        Move::AskModel { .. }
        | Move::Propose { .. }
        | Move::AskApproval(_)
        | Move::RunCall { .. }
        | Move::Refuse { .. }
        | Move::StopCall { .. }
        | Move::RunCheck { .. }
        | Move::RunHook { .. }
        | Move::CountIteration { .. } => None,
    });
    ended.expect("it is over")
}

fn replied(reply: ModelReply) -> Event {
    Event::ModelReplied { step: 1, reply, facts: Vec::new() }
}

#[test]
fn a_compaction_adds_its_text_and_says_what_it_stands_for() {
    let reply = ModelReply { text: " What was. ".to_owned(), ..ModelReply::default() };
    let (ending, messages, context) = end(&mut summing(), &replied(reply));
    assert_eq!(ending, Ending::Done);
    let [Message::User { content, .. }] = messages.as_slice() else { panic!("{messages:?}") };
    assert!(content.ends_with("\n\nWhat was."), "{content}");
    let one = context.compaction.expect("there is a text");
    assert_eq!(one.summary, "What was.");
    assert_eq!(one.summarized_through, TurnId::from_number(3));
    assert_eq!(one.first_kept, Some(TurnId::from_number(4)));
    assert_eq!(one.tokens_before, 9_000);
    assert!((2_001..2_100).contains(&one.tokens_after), "{}", one.tokens_after);
}

#[test]
fn a_compaction_without_a_text_adds_nothing() {
    let call = ToolCall {
        id: CallId::from_number(1),
        tool: ToolName::canonical("bash"),
        // The agent itself would not even be asked about it.
        input: json!({ "command": "echo hi" }),
    };
    let calls =
        ModelReply { calls: vec![call], text: "First I look.".to_owned(), ..ModelReply::default() };
    let blank = ModelReply { text: " \n".to_owned(), ..ModelReply::default() };
    let failure = ModelFailure::new(FailureKind::ContextOverflow, "too long");
    let failed = Event::ModelFailed { step: 1, failure };
    for (event, expected) in [
        (replied(blank), Ending::Failed),
        (replied(calls), Ending::Failed),
        (failed, Ending::ModelFailed),
        (Event::CancelReceived {}, Ending::Cancelled),
    ] {
        let mut turn = summing();
        let (ending, messages, context) = end(&mut turn, &event);
        assert_eq!((ending, messages, context), (expected, Vec::new(), ContextUpdate::default()));
        let wrote_none = turn.failure_text().is_some_and(|why| why.contains("wrote no summary"));
        assert_eq!(wrote_none, expected == Ending::Failed);
    }
}

#[test]
fn what_a_turn_weighs_is_what_the_provider_counted() {
    let usage = |input_tokens, estimated| Usage {
        input_tokens,
        output_tokens: 50,
        estimated,
        ..Usage::default()
    };
    for (estimated, expected) in [(false, Some(50 + 6)), (true, None)] {
        let (mut turn, _) =
            Turn::begin(charter(Mode::Supervised), &plan(None), Vec::new()).unwrap();
        let usage = usage(1_000, estimated);
        let reply = ModelReply { text: "Done.".to_owned(), usage, ..ModelReply::default() };
        let (ending, _, context) = end(&mut turn, &replied(reply));
        assert_eq!((ending, context.tokens), (Ending::Done, expected));
    }
}
