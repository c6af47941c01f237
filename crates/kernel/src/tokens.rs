//! Counts the tokens of texts for which no provider has reported a count.
//!
//! Small texts are estimated. Texts that fill a large part of a window are counted with a
//! tokenizer, whose table costs some time and memory on first use. It matches no provider exactly
//! but all nearly; an estimate by characters can be a third too low for code.
//!
//! Must never: be used for billing, which relies on the provider's own count.

use agentry_protocol::message::{Message, Usage};

use crate::limits::{ESTIMATE_TOKENS_MAX, ESTIMATE_WINDOW_PARTS_MIN};

/// The tokens of every message beside its text.
const MESSAGE_TOKENS: u64 = 4;
/// The approximate tokens of an image; providers count its size in pixels, not in bytes.
const IMAGE_TOKENS: u64 = 1_600;

/// The precision of a token count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCounter {
    /// Estimated by characters.
    Rough,
    /// Counted with the tokenizer.
    Exact,
}

impl TokenCounter {
    /// Returns the counter for a text of about so many tokens, given the size of the window.
    pub fn fitting(about: u64, window: u64) -> Self {
        let small = ESTIMATE_TOKENS_MAX.min(window / ESTIMATE_WINDOW_PARTS_MIN);
        if about <= small { Self::Rough } else { Self::Exact }
    }

    /// Counts the tokens of a text.
    pub fn of_text(self, text: &str) -> u64 {
        match self {
            Self::Rough => estimate(text) as u64,
            Self::Exact => tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len() as u64,
        }
    }

    /// Counts the tokens of these messages.
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

/// Counts the tokens of these texts together, precisely if they fill a large part of the window.
pub fn of_texts(texts: &[&str], window: u64) -> u64 {
    let scale = TokenCounter::fitting(texts.iter().map(|text| estimate(text) as u64).sum(), window);
    texts.iter().map(|text| scale.of_text(text)).sum()
}

/// Estimates the tokens of a text: four ASCII characters to one, any other character one.
pub fn estimate(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other
}

/// Estimates the tokens of these messages.
pub fn of_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    TokenCounter::Rough.of_messages(messages)
}

/// Returns the tokens that a turn adds to its branch, from the usage of its first and last reply.
pub fn of_turn(first: Option<Usage>, last: Option<Usage>, messages: &[Message]) -> u64 {
    let counted = |usage: Option<Usage>| usage.filter(|usage| !usage.estimated);
    let (Some(first), Some(last)) = (counted(first), counted(last)) else {
        return of_messages(messages);
    };
    // The first request already contains the turn's input, with all that was there before.
    let is_asked = |message: &&Message| !matches!(message, Message::Assistant { .. });
    let asked = of_messages(messages.iter().take_while(is_asked));
    let grown = last.input_tokens.saturating_sub(first.input_tokens);
    asked.saturating_add(grown).saturating_add(last.output_tokens)
}
