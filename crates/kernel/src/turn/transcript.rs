//! The transcript of a turn: all messages exchanged with its model, in order, and their hash.
//!
//! It only grows, so each request begins with the bytes of the one before, and hashing costs only
//! the new part. The bytes of a request are one line of JSON for the fixed part (model, settings,
//! system prompt, tools) and one line for each message.
//!
//! Must never: change or drop a message.

use std::sync::Arc;

use agentry_protocol::message::{Message, ModelRequest};
use agentry_protocol::{ContentHash, ContentHasher};

use crate::charter::Charter;

/// The messages between a turn and its model.
#[derive(Clone, Debug)]
pub struct TurnTranscript {
    messages: Vec<Arc<Message>>,
    // The index of the first message of this turn.
    own_from: usize,
    hasher: ContentHasher,
    bytes: u64,
}

impl TurnTranscript {
    /// Creates a transcript with the messages of earlier turns.
    pub fn new(charter: &Charter, history: Vec<Message>) -> Self {
        let mut talk = Self {
            messages: Vec::with_capacity(history.len() + 1),
            own_from: history.len(),
            hasher: ContentHasher::default(),
            bytes: 0,
        };
        talk.hash(&line(&talk.request(charter)));
        for message in history {
            talk.say(message);
        }
        talk
    }

    /// Appends a message.
    pub fn say(&mut self, message: Message) {
        self.hash(&line(&message));
        self.messages.push(Arc::new(message));
    }

    /// Returns the whole request.
    pub fn request(&self, charter: &Charter) -> ModelRequest {
        ModelRequest {
            model: charter.model.to_string(),
            temperature: charter.temperature,
            max_tokens: charter.max_tokens,
            system: charter.system.clone(),
            tools: charter.tools.clone(),
            messages: self.messages.clone(),
        }
    }

    /// Returns the hash and the length in bytes of the whole request.
    pub fn digest(&self) -> (ContentHash, u64) {
        (self.hasher.finish(), self.bytes)
    }

    /// Returns the messages that this turn added.
    pub fn own(&self) -> Vec<Message> {
        self.messages[self.own_from..].iter().map(|message| Message::clone(message)).collect()
    }

    fn hash(&mut self, line: &[u8]) {
        self.bytes += line.len() as u64;
        self.hasher.piece(line);
    }
}

/// Returns the bytes of a request, as they are hashed.
pub fn bytes(request: &ModelRequest) -> Vec<u8> {
    let head = ModelRequest { messages: Vec::new(), ..request.clone() };
    let mut bytes = line(&head);
    for message in &request.messages {
        bytes.extend(line(&**message));
    }
    bytes
}

fn line(value: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("messages and requests are plain JSON");
    line.push(b'\n');
    line
}
