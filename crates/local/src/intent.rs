//! Classifies a user message: does it need a tool, or only an answer?
//!
//! Small models begin every answer like a call once tools are described to them. So the model is
//! asked first, without the tools, in a separate conversation whose beginning stays in the context.
//!
//! Must never: report that no tool is needed directly after a call.

use std::sync::Arc;

use agentry_protocol::message::{Message, ModelRequest};

use crate::engine::Engine;
use crate::error::LocalError;
use crate::limits::SORTED_CHARS_MAX;
use crate::request::{GenerationRequest, ToolChoice};

const SYSTEM: &str = "You sort requests. Reply with one word. Reply `tool` if files, folders, commands, programs \
    or web pages must be read, searched, changed or run. Reply `talk` if you can answer from what you know.";
/// The session of the classification; no other session has this name.
const SESSION: &str = "\0sort";
const TALK: &str = "talk";

/// The examples before the question.
const SHOWN: [(&str, &str); 6] = [
    ("Hi there!", TALK),
    ("What is in the folder src?", "tool"),
    ("Who wrote Hamlet?", TALK),
    ("Make a file a.txt that says one.", "tool"),
    ("What is a pointer?", TALK),
    ("Is the server up?", "tool"),
];

impl Engine {
    /// Returns true if a request that has no steps yet can be answered without a tool.
    pub fn needs_no_tool(
        &self,
        request: &ModelRequest,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool, LocalError> {
        let Some(Message::User { content, .. }) = request.messages.last().map(AsRef::as_ref) else {
            return Ok(false);
        };
        // A long message almost always needs tools.
        if request.tools.is_empty() || content.chars().count() > SORTED_CHARS_MAX {
            return Ok(false);
        }
        let said = |text: &str| Message::Assistant {
            content: text.to_owned(),
            thinking: String::new(),
            calls: Vec::new(),
            sealed: None,
        };
        let shown = SHOWN.iter().flat_map(|(user, word)| [Message::user(*user), said(word)]);
        let messages = shown.chain([Message::user(content)]).map(Arc::new).collect();
        let request = ModelRequest {
            model: request.model.clone(),
            temperature: None,
            max_tokens: Some(2),
            system: Arc::from(SYSTEM),
            tools: Arc::from([]),
            messages,
        };
        let ask = GenerationRequest {
            request: &request,
            session: SESSION,
            hear: &|_| {},
            go_on,
            choice: ToolChoice::Answer,
            seed: 0,
        };
        let word = self.answer(&ask)?.text;
        Ok(word.trim().to_ascii_lowercase().starts_with(TALK))
    }
}
