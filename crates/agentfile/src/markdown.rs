//! A Markdown definition: its YAML head and its body.
//!
//! Must never: change the body beyond trimming the blank lines around it.

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::file_tree::FileTree;
use crate::front_matter::{FrontMatterSplit, split};
use crate::node::Node;
use crate::source::{SourceText, SourcedValue, Span};
use crate::yaml;

/// The two parts of a Markdown file.
#[derive(Clone, Debug)]
pub struct MarkdownFile {
    /// The text.
    pub source: SourceText,
    /// The YAML head, if there is one.
    pub head: Option<Node>,
    /// The body without the blank lines around it.
    pub body: SourcedValue<String>,
}

/// The strictness for the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontMatterStrictness {
    /// The YAML must be right.
    Exact,
    /// A colon in an unquoted value is forgiven with a warning.
    Forgiving,
}

/// Reads a Markdown file. `None`, with a finding, if it is missing or its head is broken.
pub fn read(
    tree: &FileTree,
    path: &str,
    reading: FrontMatterStrictness,
    findings: &mut Findings,
) -> Option<MarkdownFile> {
    let source = tree.text(path, findings)?;
    let (head, body) = match split(&source) {
        FrontMatterSplit::Body(body) => (None, body),
        FrontMatterSplit::HeadAndBody { head, body } => {
            let node = match reading {
                FrontMatterStrictness::Exact => yaml::parse(&source, head, findings)?,
                FrontMatterStrictness::Forgiving => yaml::parse_forgiving(&source, head, findings)?,
            };
            (Some(node), body)
        }
        FrontMatterSplit::Open(span) => {
            let text = FindingText::new("the front matter that begins here is not closed")
                .help("end it with a line `---`");
            findings.at(DiagnosticCode::FrontMatterOpen, &source, span, text);
            return None;
        }
    };
    let text = source.slice(body);
    let blank = text.len() - text.trim_start().len();
    let start = if text.trim().is_empty() { body.start } else { body.start + blank };
    let origin = source.origin(Span::new(start, body.end));
    let body = SourcedValue::new(text.trim().to_owned(), origin);
    Some(MarkdownFile { source, head, body })
}

/// Returns the whole text of a file that has no head, without the blank lines around it.
pub fn plain(tree: &FileTree, path: &str, findings: &mut Findings) -> Option<SourcedValue<String>> {
    let source = tree.text(path, findings)?;
    let text = source.text.trim().to_owned();
    if text.is_empty() {
        let words =
            FindingText::new("the file says nothing").help("write something, or remove the file");
        findings.at(DiagnosticCode::EmptyFile, &source, Span::default(), words);
    }
    Some(SourcedValue::new(text, source.origin(Span::default())))
}
