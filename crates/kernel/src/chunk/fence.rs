//! Finds the code fences of a Markdown text, and the lines that close and reopen them.
//!
//! Must never: treat text as a fence that a Markdown parser does not.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

/// A fenced block of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CodeFence {
    /// The first byte of its first line.
    pub(super) start: usize,
    /// The first byte of the code.
    pub(super) body: usize,
    /// The byte after its last character.
    pub(super) end: usize,
    /// The line that opens it again.
    pub(super) open: String,
    /// The line that closes it.
    pub(super) close: String,
}

impl CodeFence {
    /// Returns true if it can be cut with at least one character in each piece.
    pub(super) fn fits(&self, limit: usize) -> bool {
        let first_line = self.open.chars().count().max(self.body - self.start);
        first_line + self.close.chars().count() < limit
    }
}

/// Returns all fences of a text, in order.
pub(super) fn fences(text: &str) -> Vec<CodeFence> {
    let mut all = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        if let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) = event {
            all.extend(fence(text, range.start, range.end));
        }
    }
    all
}

fn fence(text: &str, start: usize, end: usize) -> Option<CodeFence> {
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let start = start + (text[start..].len() - text[start..].trim_start_matches([' ', '\t']).len());
    let sign = text[start..].chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    let rest = text[start..].trim_start_matches(sign);
    let ticks = &text[start..text.len() - rest.len()];
    let newline = start + text[start..].find('\n')?;
    let info = text[start + ticks.len()..newline].trim();
    // A list marker is on the first line only; the code below it is indented.
    let prefix: String = text[line..start]
        .chars()
        .map(|sign| if sign == '>' || sign.is_whitespace() { sign } else { ' ' })
        .collect();
    let body = newline + 1;
    let end = text[..end].trim_end().len();
    (body < end).then(|| CodeFence {
        start: line,
        body,
        end,
        open: format!("{prefix}{ticks}{info}\n"),
        close: format!("\n{prefix}{ticks}"),
    })
}
