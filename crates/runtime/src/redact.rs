//! Removes the values of secrets from texts before they are recorded or read.
//!
//! Known values are found exactly: plain, backwards, base64, base32, percent-encoded, hexadecimal,
//! escaped, as entities, in UTF-16, with signs between the letters, and in dumps of `xxd`,
//! `hexdump` and `od`; also in streams, and in halves beside a cut in the text. Values that are
//! changed in other ways are not found; see `docs/guide/secrets.md`.
//!
//! Must never: hold more of a stream than could become a value, or print the values it searches.

mod dump;
mod form;
pub(crate) mod redaction;
pub mod secrets;
mod view;

use std::fmt;
use std::rc::Rc;

use secrecy::SecretString;

use crate::limits::SECRET_BLANK_BYTES_MAX;
use dump::ByteOrder;
use form::{Needles, SecretForms, TextSide};
use view::TextView;

/// The mark at a place where our code cut a text.
const CUT_MARK: &str = "…";

/// Finds values and replaces them by `[secret <name>]`.
#[derive(Default)]
pub struct Redactor {
    forms: Option<SecretForms>,
    /// The names of the values, by index.
    names: Vec<String>,
}

/// A text without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedText {
    /// The text with all values replaced.
    pub text: String,
    /// The number of places that were replaced.
    pub count: u64,
}

/// Tells if a text was cut at its beginning or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEdges {
    /// The text is complete.
    Whole,
    /// Text may be missing at both ends.
    Cut,
}

/// A place in a text that holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SecretMatch {
    start: usize,
    end: usize,
    name: usize,
    /// True if the next byte, which is still missing, may belong to the match.
    grows: bool,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Creates a redactor of named values. Of two names for one value the first counts.
    pub fn new(values: impl IntoIterator<Item = (String, SecretString)>) -> Self {
        let (names, values): (Vec<_>, Vec<_>) = values.into_iter().unzip();
        let forms = SecretForms::of(&values);
        Self { forms, names }
    }

    /// Redacts a whole text and counts the replaced places.
    pub fn text(&self, text: &str, ends: TextEdges) -> RedactedText {
        let Some(forms) = &self.forms else {
            return RedactedText { text: text.to_owned(), count: 0 };
        };
        let bytes = text.as_bytes();
        let mut finds = find(forms, bytes);
        for edge in edges(text, ends) {
            finds.extend(before_cut(forms, bytes, edge.0));
            finds.extend(after_cut(forms, bytes, edge.1));
        }
        let finds = merged(finds);
        if finds.is_empty() {
            return RedactedText { text: text.to_owned(), count: 0 };
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for one in &finds {
            out.extend_from_slice(&bytes[at..one.start]);
            out.extend_from_slice(self.mark(one).as_bytes());
            at = one.end;
        }
        out.extend_from_slice(&bytes[at..]);
        let count = finds.len() as u64;
        RedactedText { text: String::from_utf8_lossy(&out).into_owned(), count }
    }

    /// Redacts a whole text.
    pub fn hide(&self, text: &str) -> String {
        self.text(text, TextEdges::Whole).text
    }

    /// Returns a redactor for a text that arrives in pieces.
    pub fn stream(&self) -> RedactionStream<'_> {
        RedactionStream { redactor: self, held: Vec::new(), covered: 0, count: 0 }
    }

    fn mark(&self, find: &SecretMatch) -> String {
        format!("[secret {}]", self.names.get(find.name).map_or("", String::as_str))
    }
}

/// Redacts a text in pieces. A possible beginning of a value is held for the next piece.
pub struct RedactionStream<'a> {
    redactor: &'a Redactor,
    held: Vec<u8>,
    /// The number of held bytes that belong to a value that was replaced already.
    covered: usize,
    count: u64,
}

impl RedactionStream<'_> {
    /// Adds a piece; returns the text that cannot become a value any more.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        match &self.redactor.forms {
            Some(forms) => {
                let finds = find(forms, &self.held);
                // A value whose last byte may still be missing is held as a whole.
                let growing = finds.iter().filter(|one| one.grows).map(|one| one.start);
                let until = growing.fold(undecided(forms, &self.held), usize::min);
                self.settle(finds, until)
            }
            None => std::mem::take(&mut self.held),
        }
    }

    /// Ends the stream; returns the rest.
    pub fn finish(&mut self) -> Vec<u8> {
        match &self.redactor.forms {
            Some(forms) => self.settle(find(forms, &self.held), self.held.len()),
            None => std::mem::take(&mut self.held),
        }
    }

    /// Returns the number of places replaced so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the redacted text before `until`, and holds the rest.
    fn settle(&mut self, finds: Vec<SecretMatch>, until: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut at = self.covered;
        for one in merged(finds).iter().take_while(|one| one.start < until) {
            if one.start >= at {
                out.extend_from_slice(&self.held[at..one.start]);
                out.extend_from_slice(self.redactor.mark(one).as_bytes());
                self.count += 1;
            }
            at = at.max(one.end);
        }
        if at < until {
            out.extend_from_slice(&self.held[at..until]);
        }
        self.covered = at.saturating_sub(until);
        self.held.drain(..until);
        out
    }
}

/// Returns all places that hold a value, in any order.
fn find(forms: &SecretForms, text: &[u8]) -> Vec<SecretMatch> {
    let mut finds = Vec::new();
    for (view, needles) in sights(forms, text) {
        for found in needles.find_in(&view.bytes) {
            let (first, last) = (view.span(found.start), view.span(found.end - 1));
            if last.1 - first.0 > view.reach(found.end - found.start) {
                continue;
            }
            let needle = &needles.all[found.needle];
            let neighbour = |at: Option<usize>| {
                at.and_then(|at| text.get(at)).is_some_and(|byte| form::is_base64(*byte))
            };
            let before = usize::from(needle.before && neighbour(first.0.checked_sub(1)));
            let after = usize::from(needle.after && neighbour(Some(last.1)));
            let grows = needle.after && last.1 == text.len();
            let (start, end) = (first.0 - before, last.1 + after);
            finds.push(SecretMatch { start, end, name: needle.name, grows });
        }
    }
    finds
}

/// Returns the first place of an incomplete value; the text's length if there is none.
fn undecided(forms: &SecretForms, text: &[u8]) -> usize {
    let mut least = text.len();
    for (view, needles) in sights(forms, text) {
        least = least.min(view.open.unwrap_or(least));
        let certain = view.certain();
        let from = certain.len().saturating_sub(needles.longest);
        let first = (from..certain.len()).find(|at| {
            let start = view.span(*at).0;
            text.len() - start <= view.reach(needles.longest)
                && needles.is_begun_with(&certain[*at..])
        });
        if let Some(at) = first {
            // The character before may carry bits of a value in base64. A character after it is not
            // awaited: such a border reveals at most four bits, and words stay whole.
            let start = view.span(at).0;
            let before = start > 0 && form::is_base64(text[start - 1]);
            least = least.min(start - usize::from(before));
        }
    }
    least
}

/// Returns the most bytes that a value may take in a text; `\u0041` takes six for one.
fn reach(bytes: usize) -> usize {
    6 * bytes + SECRET_BLANK_BYTES_MAX
}

/// Returns each view of a text, with the needles to search in it.
fn sights<'a, 't>(forms: &'a SecretForms, text: &'t [u8]) -> Vec<(Rc<TextView<'t>>, &'a Needles)> {
    let mut sights = Vec::new();
    let mut add = |view: Option<TextView<'t>>, all: &[&'a Needles]| {
        let Some(view) = view.map(Rc::new) else { return };
        let wanted = all.iter().filter(|needles| !needles.all.is_empty());
        sights.extend(wanted.map(|needles| (view.clone(), *needles)));
    };
    add(Some(view::plain(text)), &[&forms.plain, &forms.base64]);
    add(view::percent_decoded(text), &[&forms.plain, &forms.base64]);
    add(view::unescaped(text), &[&forms.plain, &forms.base64]);
    add(view::without_entities(text), &[&forms.plain, &forms.base64]);
    add(view::without_zeros(text), &[&forms.plain, &forms.base64]);
    add(view::dense(text), &[&forms.dense, &forms.base64]);
    add(Some(dump::loose(text)), &[&forms.loose]);
    add(dump::decimal(text), &[&forms.plain]);
    add(dump::octal(text), &[&forms.plain]);
    let written = dump::lines(text, ByteOrder::Written);
    let swapped = written.as_ref().and_then(|_| dump::lines(text, ByteOrder::Swapped));
    add(written, &[&forms.plain]);
    add(swapped, &[&forms.plain]);
    sights
}

/// Sorts the matches and merges those that overlap.
fn merged(mut finds: Vec<SecretMatch>) -> Vec<SecretMatch> {
    finds.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end)));
    let mut merged: Vec<SecretMatch> = Vec::new();
    for one in finds {
        match merged.last_mut() {
            Some(last) if one.start < last.end => last.end = last.end.max(one.end),
            Some(_) | None => merged.push(one),
        }
    }
    merged
}

/// Returns the places where a part of the text was cut out.
fn edges(text: &str, ends: TextEdges) -> Vec<(usize, usize)> {
    let marks = text.match_indices(CUT_MARK).map(|(at, mark)| (at, at + mark.len()));
    let own = match ends {
        TextEdges::Whole => None,
        TextEdges::Cut => Some([(0, 0), (text.len(), text.len())]),
    };
    marks.chain(own.into_iter().flatten()).collect()
}

/// Finds the beginning of a value that continues in the removed part.
fn before_cut(forms: &SecretForms, text: &[u8], edge: usize) -> Option<SecretMatch> {
    let edge = edge - usize::from(text[..edge].ends_with(b"\n"));
    let from = edge.saturating_sub(reach(forms.longest()));
    let window = &text[from..edge];
    if !forms.may_stand(window.iter().rev(), TextSide::End) {
        return None;
    }
    let found = sights(forms, window).into_iter().filter_map(|(view, needles)| {
        let shown = view.certain();
        let first = shown.len().saturating_sub(needles.longest);
        let last = (shown.len() + 1).saturating_sub(needles.edge_min);
        (first..last).find_map(|at| {
            let needle = needles.beginning_with(&shown[at..])?;
            let name = needles.all[needle].name;
            Some(SecretMatch { start: from + view.span(at).0, end: edge, name, grows: false })
        })
    });
    found.min_by_key(|one| one.start)
}

/// Finds the end of a value that began in the removed part.
fn after_cut(forms: &SecretForms, text: &[u8], edge: usize) -> Option<SecretMatch> {
    let edge = edge + usize::from(text[edge..].starts_with(b"\n"));
    let until = text.len().min(edge + reach(forms.longest()));
    let window = &text[edge..until];
    if !forms.may_stand(window.iter(), TextSide::Beginning) {
        return None;
    }
    let found = sights(forms, window).into_iter().filter_map(|(view, needles)| {
        let most = view.bytes.len().min(needles.longest);
        (needles.edge_min..=most).rev().find_map(|shown| {
            let needle = needles.ending_with(&view.bytes[..shown])?;
            let name = needles.all[needle].name;
            Some(SecretMatch {
                start: edge,
                end: edge + view.span(shown - 1).1,
                name,
                grows: false,
            })
        })
    });
    found.max_by_key(|one| one.end)
}

#[cfg(test)]
mod tests;
