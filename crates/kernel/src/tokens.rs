//! How many tokens a text has, where no provider counted.
//!
//! What is small is estimated. What is a large part of a model's window is counted with a tokenizer, whose
//! table takes some time and memory the first time it is needed. No provider counts exactly as it does, and
//! all are near it; an estimate by letters can be a third too low for code.
//!
//! Must never: be used for billing; the provider's own count is the one that is paid.

use agentry_protocol::message::{Message, Usage};

use crate::limits::{ESTIMATE_TOKENS_MAX, ESTIMATE_WINDOW_PARTS_MIN};

/// What every message costs beside its words.
const MESSAGE_TOKENS: u64 = 4;
/// What a picture costs, about; providers count by its size on the screen and not by its bytes.
const IMAGE_TOKENS: u64 = 1_600;

/// How texts are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCounter {
    /// By their letters.
    Rough,
    /// With the tokenizer.
    Exact,
}

impl TokenCounter {
    /// The one that does for what has about so many tokens beside a window.
    pub fn fitting(about: u64, window: u64) -> Self {
        let small = ESTIMATE_TOKENS_MAX.min(window / ESTIMATE_WINDOW_PARTS_MIN);
        if about <= small { Self::Rough } else { Self::Exact }
    }

    /// How many tokens a text has.
    pub fn of_text(self, text: &str) -> u64 {
        match self {
            Self::Rough => estimate(text) as u64,
            Self::Exact => tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len() as u64,
        }
    }

    /// How many tokens these messages have.
    pub fn of_messages<'a>(self, messages: impl IntoIterator<Item = &'a Message>) -> u64 {
        messages.into_iter().map(|message| self.of_message(message)).sum()
    }

    fn of_message(self, message: &Message) -> u64 {
        let words = match message {
            Message::User { content, images } => {
                self.of_text(content) + IMAGE_TOKENS * images.len() as u64
            }
            Message::Assistant { content, thinking, calls, sealed } => {
                let calls = calls.iter().map(|call| {
                    let (tool, input) = (call.tool.as_str(), call.input.to_string());
                    MESSAGE_TOKENS + self.of_text(tool) + self.of_text(&input)
                });
                let sealed = sealed.iter().flat_map(|sealed| &sealed.items);
                let sealed = sealed.map(|item| self.of_text(&item.to_string()));
                let said = self.of_text(content) + self.of_text(thinking);
                said + calls.sum::<u64>() + sealed.sum::<u64>()
            }
            Message::Tool { content, .. } => self.of_text(content),
        };
        MESSAGE_TOKENS + words
    }
}

/// How many tokens these texts have together, as exactly as a part of this window needs it.
pub fn of_texts(texts: &[&str], window: u64) -> u64 {
    let scale = TokenCounter::fitting(texts.iter().map(|text| estimate(text) as u64).sum(), window);
    texts.iter().map(|text| scale.of_text(text)).sum()
}

/// About how many tokens a text has: four plain characters to one, any other character one.
pub fn estimate(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other
}

/// About how many tokens these messages have.
pub fn of_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    TokenCounter::Rough.of_messages(messages)
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
