//! Splits an answer into messages for a channel, in the Markdown that the channel supports.
//!
//! A text is cut between paragraphs, else after a sentence or a line, else between words. A code
//! fence that is cut is closed before the cut and opened again after it.
//!
//! Must never: make a piece longer than the limit, or lose text other than white space at a cut.

use std::ops::{Range, RangeInclusive};

use agentry_agentfile::manifest::channels::MarkdownFlavor;

mod fence;
mod markup;
mod table;

use fence::CodeFence;

/// A piece of a text, sent as one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The text of the piece, with the lines that repair a cut fence.
    pub text: String,
    /// The byte range of the original text that it contains.
    pub carries: Range<usize>,
}

/// Splits an answer into pieces as a channel shows them; `limit` is in characters.
pub fn chunks(text: &str, limit: usize, markdown: MarkdownFlavor) -> Vec<String> {
    let texts = |chunks: Vec<Chunk>| chunks.into_iter().map(|chunk| chunk.text).collect();
    match markdown {
        MarkdownFlavor::Standard => texts(split(text, limit)),
        MarkdownFlavor::Discord => texts(split(&markup::tables_as_code(text), limit)),
        MarkdownFlavor::None => texts(cut(&markup::plain(text), limit, &[])),
        MarkdownFlavor::TelegramHtml | MarkdownFlavor::SlackMrkdwn => fitted(text, limit, markdown),
    }
}

/// Splits Markdown into pieces with at most so many characters.
pub fn split(text: &str, limit: usize) -> Vec<Chunk> {
    cut(text, limit, &fence::fences(text))
}

/// Converts to other markup, which can be longer; a piece that becomes too long is cut again.
fn fitted(text: &str, limit: usize, markdown: MarkdownFlavor) -> Vec<String> {
    let mut ready = Vec::new();
    fit(text, limit.max(1), limit, markdown, &mut ready);
    ready
}

fn fit(text: &str, limit: usize, cut_at: usize, markdown: MarkdownFlavor, ready: &mut Vec<String>) {
    for chunk in split(text, cut_at) {
        let written = markup::marked_up(&chunk.text, markdown);
        let (long, written_long) = (chunk.text.chars().count(), written.chars().count());
        if written_long <= limit {
            ready.extend((written_long > 0).then_some(written));
        } else if long > 1 {
            // Slightly less than should fit, so that few rounds are needed.
            let less = (long * limit / written_long * 3 / 4).clamp(1, long - 1);
            fit(&chunk.text, limit, less, markdown, ready);
        } else {
            ready.extend(cut(&written, limit, &[]).into_iter().map(|chunk| chunk.text));
        }
    }
}

fn cut(text: &str, limit: usize, fences: &[CodeFence]) -> Vec<Chunk> {
    let limit = limit.max(1);
    let fences: Vec<&CodeFence> = fences.iter().filter(|fence| fence.fits(limit)).collect();
    let mut chunks = Vec::new();
    let mut at = beginning(text, 0);
    while at < text.len() {
        let piece = Cutter { text, limit, fences: &fences }.piece(at);
        let carried = &text[piece.carries.clone()];
        if !carried.trim().is_empty() {
            let text = [piece.open, carried, piece.close].concat();
            chunks.push(Chunk { text, carries: piece.carries });
        }
        at = piece.next;
    }
    chunks
}

/// Returns the start of a piece after a cut: behind white space, but the indentation of a line
/// stays.
fn beginning(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let blank = rest.len() - rest.trim_start().len();
    let at_line = at == 0 || text[..at].ends_with('\n');
    match rest[..blank].rfind('\n') {
        Some(newline) => at + newline + 1,
        None if at_line && blank < rest.len() => at,
        None => at + blank,
    }
}

/// The quality of a place for a cut, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BreakKind {
    /// Before a character that has another meaning at the beginning of a line.
    Sign,
    Word,
    Sentence,
    Paragraph,
}

struct ChunkSpan<'a> {
    carries: Range<usize>,
    open: &'a str,
    close: &'a str,
    next: usize,
}

struct Cutter<'a> {
    text: &'a str,
    limit: usize,
    /// Fences that can be closed and opened again within the limit.
    fences: &'a [&'a CodeFence],
}

impl<'a> Cutter<'a> {
    fn piece(&self, at: usize) -> ChunkSpan<'a> {
        let text = self.text;
        let fence = self.fences.iter().find(|fence| fence.start <= at && at < fence.end);
        let open = match fence {
            Some(fence) if fence.start < at => fence.open.as_str(),
            Some(_) | None => "",
        };
        let room = self.limit - open.chars().count();
        let far = after_chars(text, at, room);
        if far == text.len() {
            let end = text.trim_end().len().max(at);
            return ChunkSpan { carries: at..end, open, close: "", next: text.len() };
        }
        match fence {
            Some(fence) if fence.end > far => self.piece_of_code(at, fence, open),
            Some(fence) => self.piece_of_text(at, fence.end..=far, open),
            None => self.piece_of_text(at, at..=far, open),
        }
    }

    /// Ends at the last line that fits, or at the last character if no line fits.
    fn piece_of_code(&self, at: usize, fence: &'a CodeFence, open: &'a str) -> ChunkSpan<'a> {
        let room = self.limit - open.chars().count() - fence.close.chars().count();
        let far = after_chars(self.text, at, room);
        let body = at.max(fence.body);
        let newline = (body < far)
            .then(|| self.text.as_bytes()[body + 1..=far].iter().rposition(|byte| *byte == b'\n'))
            .flatten();
        let (end, next) = match newline {
            Some(newline) => (body + 1 + newline, body + 2 + newline),
            None => (far, far),
        };
        ChunkSpan { carries: at..end, open, close: &fence.close, next }
    }

    /// Ends at the best of these places.
    fn piece_of_text(
        &self,
        at: usize,
        places: RangeInclusive<usize>,
        open: &'a str,
    ) -> ChunkSpan<'a> {
        let text = self.text;
        let (from, far) = places.into_inner();
        let mut best: Option<(BreakKind, usize)> = None;
        let near: Vec<_> =
            self.fences.iter().filter(|fence| fence.end >= from && fence.start <= far).collect();
        let signs = text[from..].char_indices().map(|(offset, _)| from + offset);
        for place in signs.take_while(|place| *place <= far) {
            if place <= at || near.iter().any(|fence| fence.start < place && place < fence.end) {
                continue;
            }
            let is_edge = near.iter().any(|fence| fence.start == place || fence.end == place);
            let kind =
                if is_edge { Some(BreakKind::Paragraph) } else { kind_of_place(text, place) };
            if let Some(kind) = kind
                && best.is_none_or(|(best, _)| kind >= best)
            {
                best = Some((kind, place));
            }
        }
        let end = best.map_or(far, |(_, place)| place);
        let carried = at + text[at..end].trim_end().len();
        ChunkSpan { carries: at..carried, open, close: "", next: beginning(text, end) }
    }
}

/// Returns the byte position after so many characters, or the end of the text.
fn after_chars(text: &str, at: usize, count: usize) -> usize {
    text[at..].char_indices().nth(count).map_or(text.len(), |(offset, _)| at + offset)
}

/// Returns the kind of break at this byte; None if the text should not be cut here.
fn kind_of_place(text: &str, place: usize) -> Option<BreakKind> {
    const ENDS: [char; 8] = ['.', '!', '?', '…', '。', '！', '？', ':'];
    const WIDE_ENDS: [char; 3] = ['。', '！', '？'];
    const CLOSERS: [char; 8] = ['"', '\'', ')', ']', '”', '’', '»', '*'];
    let (before, after) = text.split_at(place);
    let next = after.chars().next()?;
    if next == '\n' {
        let line = after[1..].split('\n').next().unwrap_or_default();
        let is_blank = line.trim().is_empty() && after[1..].contains('\n');
        return Some(if is_blank { BreakKind::Paragraph } else { BreakKind::Sentence });
    }
    let is_end = |ends: &[char]| before.trim_end_matches(CLOSERS).ends_with(ends);
    if next.is_whitespace() {
        return Some(if begins_a_block(after.trim_start()) {
            BreakKind::Sign
        } else if is_end(&ENDS) {
            BreakKind::Sentence
        } else {
            BreakKind::Word
        });
    }
    before.ends_with(WIDE_ENDS).then_some(BreakKind::Sentence)
}

/// Returns true if a line with this beginning would be a quote, a heading, a list or the like.
fn begins_a_block(text: &str) -> bool {
    let number = text.trim_start_matches(|sign: char| sign.is_ascii_digit());
    text.starts_with(['>', '#', '-', '+', '*', '=', '|', '~'])
        || number.len() < text.len() && number.starts_with(['.', ')'])
}
