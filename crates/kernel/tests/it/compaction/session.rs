//! A session for tests: turns with sizes, compactions, and calls with long outputs.

use agentry_kernel::compaction::{BranchTurn, Kind, SummaryPlan};
use agentry_protocol::context::Compaction;
use agentry_protocol::message::Message;
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use agentry_protocol::{CallId, TurnId};
use serde_json::json;

#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) id: TurnId,
    pub(super) compaction: Option<Compaction>,
    pub(super) under_way: bool,
    pub(super) tokens: Option<u64>,
    pub(super) messages: Vec<Message>,
}

pub(super) fn id(number: u32) -> TurnId {
    TurnId::from_number(u128::from(number))
}

pub(super) fn call_id(number: u32) -> CallId {
    CallId::from_number(u128::from(number))
}

/// A turn without calls that a provider counted as so many tokens.
pub(super) fn turn(number: u32, tokens: u64) -> Turn {
    let messages = vec![Message::user(format!("q{number}")), says(&format!("a{number}"), &[])];
    Turn { id: id(number), compaction: None, under_way: false, tokens: Some(tokens), messages }
}

/// A turn with calls; nobody counted it.
pub(super) fn turn_with_calls(number: u32, outputs: &[(u32, usize)]) -> Turn {
    let mut messages = vec![Message::user(format!("q{number}"))];
    for (call, chars) in outputs {
        messages.push(says("", &[*call]));
        messages.push(output(*call, *chars));
    }
    messages.push(says(&format!("a{number}"), &[]));
    Turn { tokens: None, messages, ..turn(number, 0) }
}

pub(super) fn says(text: &str, calls: &[u32]) -> Message {
    let call = |number: &u32| ToolCall {
        id: call_id(*number),
        tool: ToolName::canonical("bash"),
        input: json!({ "command": format!("c{number}") }),
    };
    Message::Assistant {
        content: text.to_owned(),
        thinking: String::new(),
        calls: calls.iter().map(call).collect(),
        sealed: None,
    }
}

pub(super) fn output(call: u32, chars: usize) -> Message {
    // Four letters are a token for the tokenizer too.
    let mut content = format!("{call}:{}", " the".repeat(chars.div_ceil(4)));
    content.truncate(chars);
    Message::Tool { call: call_id(call), content, ok: true }
}

/// The compaction turn that a plan leads to.
pub(super) fn compacted(number: u32, plan: &SummaryPlan, summary: &str) -> Turn {
    let compaction = Compaction {
        summary: summary.to_owned(),
        summarized_through: plan.summarized_through.clone(),
        first_kept: plan.first_kept.clone(),
        tokens_before: plan.tokens_before,
        tokens_after: plan.tokens_before / 2,
    };
    Turn { compaction: Some(compaction), messages: Vec::new(), ..turn(number, 0) }
}

pub(super) fn compaction(number: u32, through: u32, first_kept: u32, summary: &str) -> Turn {
    let compaction = Compaction {
        summary: summary.to_owned(),
        summarized_through: id(through),
        first_kept: Some(id(first_kept)),
        tokens_before: 100,
        tokens_after: 50,
    };
    Turn { compaction: Some(compaction), messages: Vec::new(), ..turn(number, 0) }
}

pub(super) fn view(turns: &[Turn]) -> Vec<BranchTurn<'_>> {
    turns
        .iter()
        .map(|turn| BranchTurn {
            id: &turn.id,
            kind: match &turn.compaction {
                Some(compaction) => Kind::Compaction(compaction),
                None if turn.under_way => Kind::UnderWay,
                None => Kind::Normal,
            },
            tokens: turn.tokens,
            messages: &turn.messages,
        })
        .collect()
}

/// What messages say, in short.
pub(super) fn words(messages: &[Message]) -> String {
    let one = |message: &Message| match message {
        Message::User { content, .. } => {
            content.replace("[Summary of the earlier turns of this session]\n\n", "summary ")
        }
        Message::Assistant { content, calls, .. } if calls.is_empty() => content.clone(),
        Message::Assistant { .. } => "call".to_owned(),
        Message::Tool { content, .. } => content.split(':').next().unwrap_or_default().to_owned(),
    };
    messages.iter().map(one).collect::<Vec<_>>().join(" | ")
}
