//! Text for the model: a text that is too long is cut in the middle and marked.
//!
//! Must never: cut without a mark.

use agentry_sandbox::HeadTailBuffer;

use crate::limits::{NEAR_CANDIDATES_MAX, NEAR_LIKENESS_MIN, NEAR_NAMES_MAX};

/// A text, with a mark that a part of it was left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TruncatedText {
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

/// Returns the beginning and the end of a text with more than `chars_max` characters.
pub(crate) fn cut_middle(text: &str, chars_max: usize) -> TruncatedText {
    let count = text.chars().count();
    if count <= chars_max {
        return TruncatedText { text: text.to_owned(), is_cut: false };
    }
    joined(text, text, count - chars_max, chars_max)
}

/// Returns the beginning of a text with more than `chars_max` characters.
pub(crate) fn cut_end(text: &str, chars_max: usize) -> TruncatedText {
    match text.char_indices().nth(chars_max) {
        None => TruncatedText { text: text.to_owned(), is_cut: false },
        Some((end, _)) => {
            let left_out = text[end..].chars().count();
            let text = format!("{}\n{}", &text[..end], mark(left_out));
            TruncatedText { text, is_cut: true }
        }
    }
}

/// Returns the output of a process as text. The buffer keeps four bytes for each shown character.
pub(crate) fn of_process(kept: &HeadTailBuffer, chars_max: usize) -> TruncatedText {
    if let Some(whole) = kept.whole() {
        return cut_middle(&String::from_utf8_lossy(&whole), chars_max);
    }
    let whole_head = whole_characters(kept.head());
    // A character that is cut in two began in the head and is not counted yet.
    let cut_in_two = usize::from(whole_head.len() < kept.head().len());
    let head = lossy(whole_head);
    let tail = kept.tail();
    let partial = tail.iter().take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    let tail = lossy(&tail[partial.min(3)..]);
    let between = usize::try_from(kept.characters_left_out()).unwrap_or(usize::MAX);
    let count = head.chars().count() + cut_in_two + between.saturating_add(tail.chars().count());
    joined(&head, &tail, count.saturating_sub(chars_max), chars_max)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Removes an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        Ok(_) | Err(_) => bytes,
    }
}

fn joined(head: &str, tail: &str, left_out: usize, chars_max: usize) -> TruncatedText {
    let head_chars = chars_max / 2;
    let tail_chars = chars_max - head_chars;
    let head_end = head.char_indices().nth(head_chars).map_or(head.len(), |(at, _)| at);
    let tail_start = match tail_chars {
        0 => tail.len(),
        wanted => tail.char_indices().rev().nth(wanted - 1).map_or(0, |(at, _)| at),
    };
    let text = format!("{}\n{}\n{}", &head[..head_end], mark(left_out), &tail[tail_start..]);
    TruncatedText { text, is_cut: true }
}

fn mark(left_out: usize) -> String {
    format!("… {left_out} characters left out …")
}

/// Returns the names that are most similar to the written one.
pub(crate) fn near<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower = written.to_lowercase();
    let mut alike: Vec<(f64, &str)> = names
        .take(NEAR_CANDIDATES_MAX)
        .map(|name| (likeness(&lower, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= NEAR_LIKENESS_MIN)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    alike.truncate(NEAR_NAMES_MAX);
    alike.into_iter().map(|(_, name)| format!("`{name}`")).collect()
}

/// Returns the similarity by common beginnings, or by the letters that differ.
fn likeness(written: &str, name: &str) -> f64 {
    strsim::jaro_winkler(written, name).max(strsim::normalized_damerau_levenshtein(written, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_as_long_as_the_limit_is_whole() {
        assert_eq!(cut_middle("äöüß", 4), TruncatedText { text: "äöüß".to_owned(), is_cut: false });
        assert_eq!(cut_end("äöüß", 4), TruncatedText { text: "äöüß".to_owned(), is_cut: false });
    }

    #[test]
    fn one_character_more_is_left_out_and_counted() {
        assert_eq!(cut_middle("äöxüß", 4).text, "äö\n… 1 characters left out …\nüß");
        assert_eq!(cut_end("äöüßx", 4).text, "äöüß\n… 1 characters left out …");
    }

    #[test]
    fn a_limit_of_nothing_shows_the_mark_only() {
        assert_eq!(cut_middle("abc", 0).text, "\n… 3 characters left out …\n");
    }

    #[test]
    fn what_a_process_said_is_cut_at_whole_characters() {
        // 16 of 24 bytes are kept: the cut is inside a character on both sides.
        let mut kept = HeadTailBuffer::with_bytes_max(16);
        kept.push("€€€€€€€€".as_bytes());
        assert_eq!(of_process(&kept, 4).text, "€€\n… 4 characters left out …\n€€");
    }

    #[test]
    fn only_names_that_are_alike_are_near() {
        let names = ["read_file", "write_file", "grep"];
        assert_eq!(near("readfile", names.into_iter()), ["`read_file`", "`write_file`"]);
        assert!(near("xyz", names.into_iter()).is_empty());
    }
}
