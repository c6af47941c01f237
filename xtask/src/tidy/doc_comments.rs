//! Doc comments: the first words of their summaries, and words that name nothing.
//!
//! Must never: judge more than the first word; grammar is for people.

use crate::tidy::{
    rust_text::words,
    tree::{SourceTree, numbered},
};

/// A summary that begins with one of these has a clause for a subject.
const OPENERS: [&str; 11] =
    ["What", "Who", "Whom", "Whose", "Whoever", "Whether", "How", "Why", "Where", "Which", "Those"];

const VAGUE: [&str; 6] = ["somebody", "nobody", "something", "whoever", "whatever", "anybody"];

/// Counts of the doc comments and comments of product code.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct ProseCounts {
    pub(crate) summaries: usize,
    /// Summaries that begin with a clause: `(path, line)`.
    pub(crate) clauses: Vec<(String, usize)>,
    /// Words that name nothing: `(path, line)`.
    pub(crate) vague: Vec<(String, usize)>,
}

pub(crate) fn prose(tree: &SourceTree) -> ProseCounts {
    let mut prose = ProseCounts::default();
    for file in tree.rust_files().filter(|file| file.is_source() && !file.is_test()) {
        let mut was_doc = false;
        for (line, text) in numbered(&file.rust.comments).take(file.product_line_count()) {
            let text = text.trim_start();
            let doc = text.strip_prefix("///");
            if let Some(summary) = doc.filter(|_| !was_doc) {
                prose.summaries += 1;
                if opens_with_a_clause(summary) {
                    prose.clauses.push((file.path.clone(), line));
                }
            }
            was_doc = doc.is_some();
            let vague = words(text).into_iter().filter(|(_, word)| is_vague(word));
            prose.vague.extend(vague.map(|_| (file.path.clone(), line)));
        }
    }
    prose
}

fn opens_with_a_clause(summary: &str) -> bool {
    let summary = summary.trim_start();
    let first = words(summary).first().map_or("", |(_, word)| word);
    OPENERS.contains(&first) || summary.starts_with("The same")
}

fn is_vague(word: &str) -> bool {
    VAGUE.iter().any(|vague| word.eq_ignore_ascii_case(vague))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[test]
    fn summaries_are_counted_once_per_block() {
        let code =
            "/// Whether it is open.\n/// Who knows.\nfn a() {}\n/// Returns it.\nfn b() {}\n";
        let prose = prose(&fixture::tree(&[("crates/a/src/x.rs", code)]));
        assert_eq!(prose.summaries, 2);
        assert_eq!(prose.clauses, [("crates/a/src/x.rs".to_owned(), 1)]);
    }

    #[test]
    fn vague_words_are_found_in_comments_only() {
        let code = "// Somebody waits.\nlet nobody = \"whatever\";\n";
        let prose = prose(&fixture::tree(&[("crates/a/src/x.rs", code)]));
        assert_eq!(prose.vague, [("crates/a/src/x.rs".to_owned(), 1)]);
    }
}
