//! Decodes the tokens of an answer: bytes to text, thinking apart from the answer; text that may be
//! a call is held back.
//!
//! Must never: emit half a character or half a mark.

use crate::request::GenerationDelta;

const THOUGHT_OPENS: &str = "<think>";
const THOUGHT_CLOSES: &str = "</think>";
const FENCE: &str = "```";

/// The answer so far, and the text that is held back.
pub(crate) struct TextDecoder {
    /// The mark that opens a call; None if no calls are expected.
    call_opens: Option<String>,
    /// Bytes that are not a whole character yet.
    bytes: Vec<u8>,
    /// Text that may be the beginning of a mark.
    pending: String,
    pub(crate) text: String,
    pub(crate) thinking: String,
    thinks: bool,
    /// True if following spaces are dropped.
    skips: bool,
    shown: usize,
    /// True if a call was opened.
    pub(crate) opened: bool,
}

impl TextDecoder {
    pub(crate) fn new(call_opens: Option<String>) -> Self {
        Self {
            call_opens: call_opens.filter(|mark| !mark.is_empty()),
            bytes: Vec::new(),
            pending: String::new(),
            text: String::new(),
            thinking: String::new(),
            thinks: false,
            skips: false,
            shown: 0,
            opened: false,
        }
    }

    /// Appends the bytes of one token and emits the text that is certain.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        holds_calls: bool,
        hear: &mut dyn FnMut(GenerationDelta),
    ) {
        self.bytes.extend_from_slice(bytes);
        self.decode();
        self.sort(hear);
        let end = if holds_calls { self.sure() } else { self.text.len() };
        self.show(end, hear);
    }

    /// Emits the rest.
    pub(crate) fn finish(&mut self, hear: &mut dyn FnMut(GenerationDelta)) {
        if !self.bytes.is_empty() {
            self.pending.push_str(&String::from_utf8_lossy(&self.bytes));
            self.bytes.clear();
        }
        let rest = std::mem::take(&mut self.pending);
        if self.thinks {
            self.think(&rest, hear);
        } else {
            self.text.push_str(&rest);
        }
        self.show(self.text.len(), hear);
    }

    /// Returns true if a fence or an object was just closed, which may be a call.
    pub(crate) fn may_be_call(&self) -> bool {
        let text = self.text.trim_end();
        let fences = text.matches(FENCE).count();
        (fences > 0 && fences.is_multiple_of(2) && text.ends_with(FENCE))
            || (self.text.trim_start().starts_with('{') && text.ends_with('}'))
    }

    fn decode(&mut self) {
        loop {
            match std::str::from_utf8(&self.bytes) {
                Ok(text) => {
                    self.pending.push_str(text);
                    self.bytes.clear();
                    return;
                }
                Err(error) => {
                    let (valid, rest) = self.bytes.split_at(error.valid_up_to());
                    self.pending.push_str(&String::from_utf8_lossy(valid));
                    let Some(wrong) = error.error_len() else {
                        self.bytes = rest.to_vec();
                        return;
                    };
                    self.pending.push('\u{fffd}');
                    self.bytes = rest[wrong..].to_vec();
                }
            }
        }
    }

    fn sort(&mut self, hear: &mut dyn FnMut(GenerationDelta)) {
        loop {
            if self.skips {
                self.pending = self.pending.trim_start().to_owned();
                self.skips = self.pending.is_empty();
            }
            if self.thinks {
                let Some((thought, rest)) = self.pending.split_once(THOUGHT_CLOSES) else { break };
                let (thought, rest) = (thought.to_owned(), rest.to_owned());
                self.think(&thought, hear);
                self.pending = rest;
                self.thinks = false;
                self.skips = true;
            } else if self.text.trim().is_empty()
                && let Some(rest) = self.pending.trim_start().strip_prefix(THOUGHT_OPENS)
            {
                self.pending = rest.to_owned();
                self.thinks = true;
                self.skips = true;
            } else {
                break;
            }
        }
        if !self.thinks
            && let Some(mark) = &self.call_opens
            && let Some((before, _)) = self.pending.split_once(mark.as_str())
        {
            self.text.push_str(before);
            self.pending.clear();
            self.opened = true;
            return;
        }
        let sure = self.pending.len() - self.half_a_mark();
        let sure: String = self.pending.drain(..sure).collect();
        if self.thinks {
            self.think(&sure, hear);
        } else {
            self.text.push_str(&sure);
        }
    }

    fn think(&mut self, thought: &str, hear: &mut dyn FnMut(GenerationDelta)) {
        if !thought.is_empty() {
            self.thinking.push_str(thought);
            hear(GenerationDelta::Thinking(thought.to_owned()));
        }
    }

    /// Returns the number of bytes at the end that may be the beginning of a mark.
    fn half_a_mark(&self) -> usize {
        let marks = [THOUGHT_OPENS, THOUGHT_CLOSES, FENCE];
        let marks = marks.into_iter().chain(self.call_opens.as_deref());
        marks
            .filter(|mark| !self.pending.ends_with(mark))
            .flat_map(|mark| (1..mark.len()).rev().filter_map(|length| mark.get(..length)))
            .filter(|half| self.pending.ends_with(half))
            .map(str::len)
            .max()
            .unwrap_or(0)
    }

    /// Returns the end of the text that is no call; an open fence or a leading object may be one.
    fn sure(&self) -> usize {
        if self.text.trim_start().starts_with('{') {
            return self.shown;
        }
        let mut fences = self.text.match_indices(FENCE).map(|(at, _)| at);
        let mut open = None;
        while let Some(at) = fences.next() {
            open = fences.next().is_none().then_some(at);
        }
        open.unwrap_or(self.text.len()).max(self.shown)
    }

    fn show(&mut self, end: usize, hear: &mut dyn FnMut(GenerationDelta)) {
        if end > self.shown {
            hear(GenerationDelta::Text(self.text[self.shown..end].to_owned()));
            self.shown = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the emitted text of an answer that is split into pieces of every size.
    #[track_caller]
    fn check(said: &str, shown: &str, thought: &str, opened: bool) {
        for size in 1..=said.len() {
            let mut stream = TextDecoder::new(Some("<tool_call>".into()));
            let mut pieces = Vec::new();
            for bytes in said.as_bytes().chunks(size) {
                if !stream.opened {
                    stream.push(bytes, true, &mut |piece| pieces.push(piece));
                }
            }
            stream.finish(&mut |piece| pieces.push(piece));
            let (mut text, mut thinking) = (String::new(), String::new());
            for piece in pieces {
                match piece {
                    GenerationDelta::Text(more) => text += &more,
                    GenerationDelta::Thinking(more) => thinking += &more,
                    GenerationDelta::CallName { .. } | GenerationDelta::CallArguments { .. } => {
                        panic!("no call")
                    }
                }
            }
            assert_eq!((text.as_str(), thinking.as_str()), (shown, thought), "in pieces of {size}");
            assert_eq!(stream.opened, opened, "in pieces of {size}");
        }
    }

    #[test]
    fn text_is_shown_whole_whatever_its_pieces() {
        check("Grüße 👋 <b>x</b> ``a``", "Grüße 👋 <b>x</b> ``a``", "", false);
        check("a ```sh\nls\n``` b", "a ```sh\nls\n``` b", "", false);
        check("{\"a\": 1}", "{\"a\": 1}", "", false);
    }

    #[test]
    fn thoughts_are_no_answer() {
        check("<think>\nhm</think>\n\nYes", "Yes", "hm", false);
        check("<think>never ends", "", "never ends", false);
        check("See <think> there", "See <think> there", "", false);
    }

    #[test]
    fn a_call_ends_the_text() {
        check("I look.\n<tool_call>", "I look.\n", "", true);
        check("<think>x</think><tool_call>", "", "x", true);
    }

    #[test]
    fn an_open_fence_is_held_back_until_it_closes() {
        let mut stream = TextDecoder::new(Some("<tool_call>".into()));
        let mut pieces = Vec::new();
        let mut hear = |piece| pieces.push(piece);
        stream.push(b"So:\n```json\n{\"name\"", true, &mut hear);
        stream.push(b": 1}\n", true, &mut hear);
        assert!(!stream.may_be_call());
        stream.push(b"``", true, &mut hear);
        stream.push(b"`", true, &mut hear);
        assert!(stream.may_be_call(), "a fence is whole without a line after it");
        let GenerationDelta::Text(first) = &pieces[0] else { panic!("text comes first") };
        assert_eq!(first, "So:\n");
    }

    #[test]
    fn wrong_bytes_become_a_replacement() {
        let mut stream = TextDecoder::new(None);
        stream.push(&[b'a', 0xff, b'b', 0xc3], false, &mut |_| {});
        stream.finish(&mut |_| {});
        assert_eq!(stream.text, "a\u{fffd}b\u{fffd}");
    }
}
