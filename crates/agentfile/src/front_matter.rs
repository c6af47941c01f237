//! Splits a Markdown file into its YAML head and its body.
//!
//! The head stands between a first line `---` and the next line `---`. All other text is body.
//!
//! Must never: parse the YAML (`yaml` does) or the Markdown.

use crate::source::{SourceText, Span};

/// The two parts of a Markdown file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontMatterSplit {
    /// The whole file is body.
    Body(Span),
    /// YAML, then body.
    HeadAndBody {
        /// The YAML between the markers.
        head: Span,
        /// The text after the head.
        body: Span,
    },
    /// The head was opened and never closed; this is the opening marker.
    Open(Span),
}

/// Finds the two parts.
pub fn split(source: &SourceText) -> FrontMatterSplit {
    let text = &*source.text;
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_marker(line)) else {
        return FrontMatterSplit::Body(Span::new(0, text.len()));
    };
    let head_start = first.len();
    let mut at = head_start;
    for line in lines {
        if is_marker(line) {
            return FrontMatterSplit::HeadAndBody {
                head: Span::new(head_start, at),
                body: Span::new(at + line.len(), text.len()),
            };
        }
        at += line.len();
    }
    FrontMatterSplit::Open(Span::new(0, first.trim_end().len()))
}

fn is_marker(line: &str) -> bool {
    line.trim_end() == "---"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: FrontMatterSplit) {
        assert_eq!(split(&SourceText::new("a.md", text)), expected);
    }

    #[test]
    fn the_head_stands_between_two_markers() {
        let head = Span::new(4, 12);
        check(
            "---\nname: a\n---\nbody",
            FrontMatterSplit::HeadAndBody { head, body: Span::new(16, 20) },
        );
    }

    #[test]
    fn an_empty_head_is_a_head() {
        check(
            "---\n---\n",
            FrontMatterSplit::HeadAndBody { head: Span::new(4, 4), body: Span::new(8, 8) },
        );
    }

    #[test]
    fn a_file_that_does_not_begin_with_a_marker_is_all_body() {
        check("# Hi\n---\n", FrontMatterSplit::Body(Span::new(0, 9)));
        check("", FrontMatterSplit::Body(Span::new(0, 0)));
    }

    #[test]
    fn an_open_head_is_told_apart() {
        check("---\nname: a\n", FrontMatterSplit::Open(Span::new(0, 3)));
    }
}
