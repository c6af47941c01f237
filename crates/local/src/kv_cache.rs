//! The tokens of each conversation in each sequence of the context.
//!
//! Must never: list a token that was not evaluated.

use std::collections::HashMap;

use agentry_protocol::message::RawToolCall;
use serde_json::Value;

/// A token of the model, by its number.
pub(crate) type ModelToken = i32;

/// All sequences of a context.
pub(crate) struct Sequences {
    held: Vec<Sequence>,
    clock: u64,
}

/// The tokens of one conversation.
#[derive(Default)]
pub(crate) struct Sequence {
    session: String,
    /// The evaluated tokens, in order.
    pub(crate) tokens: Vec<ModelToken>,
    /// The tokens that the model wrote for each message; the text alone may give other tokens.
    said: HashMap<String, Vec<ModelToken>>,
    used: u64,
}

impl Sequences {
    pub(crate) fn new(count: u32) -> Self {
        Self { held: (0..count).map(|_| Sequence::default()).collect(), clock: 0 }
    }

    /// Returns the slot of a session: its own, an unused one, or the least recently used, emptied.
    ///
    /// The flag is true if the old tokens must be removed from the context.
    pub(crate) fn claim(&mut self, session: &str) -> (usize, bool) {
        self.clock += 1;
        let clock = self.clock;
        let own = self.held.iter().position(|held| held.used > 0 && held.session == session);
        let (slot, emptied) = own.map_or_else(
            || {
                let oldest = self.held.iter().enumerate().min_by_key(|(_, held)| held.used);
                (oldest.expect("there is at least one sequence").0, true)
            },
            |slot| (slot, false),
        );
        let held = &mut self.held[slot];
        if emptied {
            *held = Sequence { session: session.to_owned(), ..Sequence::default() };
        }
        held.used = clock;
        (slot, emptied)
    }

    pub(crate) fn get(&mut self, slot: usize) -> &mut Sequence {
        &mut self.held[slot]
    }

    /// Returns the sequence with the longest common prefix, and its length; prefers `slot`.
    pub(crate) fn longest_prefix(&self, slot: usize, prompt: &[ModelToken]) -> (usize, usize) {
        let common = |held: &Sequence| {
            held.tokens.iter().zip(prompt).take_while(|(held, new)| held == new).count()
        };
        let own = (slot, common(&self.held[slot]));
        self.held.iter().enumerate().fold(own, |best, (other, held)| {
            let length = common(held);
            if length > best.1 { (other, length) } else { best }
        })
    }

    /// Empties the least recently used sequence except this one; None if all others are empty.
    pub(crate) fn evict(&mut self, slot: usize) -> Option<usize> {
        let oldest = self
            .held
            .iter()
            .enumerate()
            .filter(|(other, held)| *other != slot && !held.tokens.is_empty())
            .min_by_key(|(_, held)| held.used)?
            .0;
        self.held[oldest] = Sequence::default();
        Some(oldest)
    }
}

impl Sequence {
    /// Returns the tokens of a message that the model wrote here, or None.
    pub(crate) fn recall(&self, key: &str) -> Option<&[ModelToken]> {
        self.said.get(key).map(Vec::as_slice)
    }

    /// Stores the tokens of a message that the model wrote.
    pub(crate) fn remember(&mut self, key: String, tokens: Vec<ModelToken>) {
        self.said.insert(key, tokens);
    }
}

/// Returns the key of a written message: its position, its text and its calls.
pub(crate) fn message_key(message: usize, text: &str, calls: &[RawToolCall]) -> String {
    let mut key = format!("{message}\n{}", text.trim());
    for call in calls {
        key.push_str("\n\0");
        key.push_str(&call.name);
        sorted(&call.input, &mut key);
    }
    key
}

/// Writes JSON with sorted keys, since a ledger may have changed their order.
fn sorted(value: &Value, to: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            to.push('{');
            for (name, field) in fields {
                to.push_str(&Value::from(name.as_str()).to_string());
                sorted(field, to);
            }
            to.push('}');
        }
        Value::Array(items) => {
            to.push('[');
            for item in items {
                sorted(item, to);
                to.push(',');
            }
            to.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            to.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_session_keeps_its_sequence_and_the_oldest_gives_way() {
        let mut sequences = Sequences::new(2);
        assert_eq!(sequences.claim("a"), (0, true));
        assert_eq!(sequences.claim("b"), (1, true));
        sequences.get(0).tokens = vec![1, 2];
        assert_eq!(sequences.claim("a"), (0, false));
        assert_eq!(sequences.claim("c"), (1, true), "b was unused for longest");
        assert_eq!(sequences.get(0).tokens, [1, 2]);
        assert_eq!(sequences.claim("b"), (0, true));
        assert!(sequences.get(0).tokens.is_empty());
    }

    #[test]
    fn the_longest_common_beginning_is_found_in_any_sequence() {
        let mut sequences = Sequences::new(2);
        sequences.claim("a");
        sequences.claim("b");
        sequences.get(0).tokens = vec![1, 2, 3, 4];
        sequences.get(1).tokens = vec![1, 2, 9];
        assert_eq!(sequences.longest_prefix(1, &[1, 2, 9, 9]), (1, 3));
        assert_eq!(sequences.longest_prefix(1, &[1, 2, 3, 9]), (0, 3));
        assert_eq!(sequences.longest_prefix(1, &[1, 2, 7]), (1, 2), "its own before others");
        assert_eq!(sequences.longest_prefix(1, &[7]), (1, 0));
    }

    #[test]
    fn eviction_spares_the_one_that_needs_room() {
        let mut sequences = Sequences::new(2);
        sequences.claim("a");
        sequences.claim("b");
        sequences.get(0).tokens = vec![1];
        sequences.get(1).tokens = vec![2];
        assert_eq!(sequences.evict(0), Some(1));
        assert_eq!(sequences.evict(0), None);
    }

    #[test]
    fn a_message_is_told_by_its_place_words_and_calls() {
        let call = |input| [RawToolCall { name: "a".into(), input }];
        let one = message_key(1, "x ", &call(json!({"a": 1, "b": [{"c": 1, "d": 2}]})));
        let same = message_key(1, "x", &call(json!({"b": [{"d": 2, "c": 1}], "a": 1})));
        assert_eq!(one, same);
        assert_ne!(one, message_key(2, "x", &call(json!({"a": 1, "b": [{"c": 1, "d": 2}]}))));
        assert_ne!(one, message_key(1, "x", &call(json!({"a": 1, "b": []}))));
    }
}
