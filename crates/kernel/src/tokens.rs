//! A rough count of tokens, where no provider counted.
//!
//! Must never: be used for billing; the provider's own count is the one that is paid.

use agentry_protocol::message::{Message, Usage};

/// What every message costs beside its words.
const MESSAGE_TOKENS: u64 = 4;
/// What a picture costs, about; providers count by its size on the screen and not by its bytes.
const IMAGE_TOKENS: u64 = 1_600;

/// About how many tokens a text has: four plain characters to one, any other character one.
pub fn estimate(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other
}

/// About how many tokens these messages have.
pub fn of_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    messages.into_iter().map(of_message).sum()
}

/// How many tokens a turn adds to its branch, by what its first and its last reply say was spent.
pub fn of_turn(first: Option<Usage>, last: Option<Usage>, messages: &[Message]) -> u64 {
    let counted = |usage: Option<Usage>| usage.filter(|usage| !usage.estimated);
    let (Some(first), Some(last)) = (counted(first), counted(last)) else {
        return of_messages(messages);
    };
    // What was asked stands in the first request already, with all that was there before.
    let is_asked = |message: &&Message| !matches!(message, Message::Assistant { .. });
    let asked = of_messages(messages.iter().take_while(is_asked));
    let grown = last.input_tokens.saturating_sub(first.input_tokens);
    asked.saturating_add(grown).saturating_add(last.output_tokens)
}

fn of_message(message: &Message) -> u64 {
    let words = match message {
        Message::User { content, images } => of_text(content) + IMAGE_TOKENS * images.len() as u64,
        Message::Assistant { content, thinking, calls, sealed } => {
            let calls = calls.iter().map(|call| {
                MESSAGE_TOKENS + of_text(call.tool.as_str()) + of_text(&call.input.to_string())
            });
            let sealed = sealed.iter().flat_map(|sealed| &sealed.items);
            let sealed = sealed.map(|item| of_text(&item.to_string()));
            of_text(content) + of_text(thinking) + calls.sum::<u64>() + sealed.sum::<u64>()
        }
        Message::Tool { content, .. } => of_text(content),
    };
    MESSAGE_TOKENS + words
}

fn of_text(text: &str) -> u64 {
    estimate(text) as u64
}
