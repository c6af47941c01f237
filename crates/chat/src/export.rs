//! Export of a session as Markdown: prompts, answers and calls.
//!
//! Must never: omit a part silently.

use std::fmt::Write as _;

use agentry_protocol::message::Message;

use super::chat_session::ChatSession;
use super::recent_turns;
use crate::limits::CHAT_CONTEXT_TURNS_MAX;

/// Returns the current session as Markdown.
pub(crate) fn markdown(talk: &ChatSession) -> Result<String, agentry_store::Error> {
    let row = talk.row()?;
    let told = recent_turns::turns(talk, CHAT_CONTEXT_TURNS_MAX)?;
    let mut text = format!("# {} with {}\n\n", talk.key, talk.agent);
    let depth = row.as_ref().map_or(0, |row| row.turns);
    if let Some(row) = row {
        let session = &row.id;
        writeln!(text, "Session {session}, {depth} turns.\n")
            .expect("writing to a string cannot fail");
    }
    let before = depth.saturating_sub(told.len() as u64);
    if before > 0 {
        writeln!(text, "The first {before} turns are not shown.\n")
            .expect("writing to a string cannot fail");
    }
    for one in &told {
        one.messages.iter().for_each(|message| write_message(&mut text, message));
    }
    Ok(text)
}

fn write_message(text: &mut String, message: &Message) {
    let written = match message {
        Message::User { content, .. } => writeln!(text, "## You\n\n{content}\n"),
        Message::Assistant { content, calls, .. } => {
            let said = if content.trim().is_empty() {
                Ok(())
            } else {
                writeln!(text, "## Agent\n\n{content}\n")
            };
            let calls = calls.iter().map(|call| {
                let input = serde_json::to_string_pretty(&call.input).unwrap_or_default();
                let fence = fence(&input);
                writeln!(text, "### Call: {}\n\n{fence}json\n{input}\n{fence}\n", call.tool)
            });
            said.and_then(|()| calls.collect())
        }
        Message::Tool { content, ok, .. } => {
            let how = if *ok { "Outcome" } else { "Outcome (failed)" };
            let fence = fence(content);
            writeln!(text, "### {how}\n\n{fence}\n{}\n{fence}\n", content.trim_end())
        }
    };
    written.expect("writing to a string cannot fail");
}

/// Returns a fence longer than any in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence("plain"), "```");
        assert_eq!(fence("a ```` b"), "`````");
    }
}
