//! A Markdown definition: its YAML head and its body.
//!
//! Must never: change the body beyond trimming the blank lines around it.

use crate::diagnostic::{Code, Findings, Text};
use crate::file_tree::FileTree;
use crate::front_matter::{Parts, split};
use crate::node::Node;
use crate::source::{Source, Sourced, Span};
use crate::yaml;

/// A Markdown file in its two parts.
#[derive(Clone, Debug)]
pub struct Markdown {
    /// The text.
    pub source: Source,
    /// The YAML head, if there is one.
    pub head: Option<Node>,
    /// The body without the blank lines around it.
    pub body: Sourced<String>,
}

/// How much the head is forgiven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The YAML must be right.
    Exact,
    /// A colon in an unquoted value is forgiven with a warning.
    Forgiving,
}

/// Reads a Markdown file. `None` if it is not there or its head is broken; then a finding says so.
pub fn read(
    tree: &FileTree,
    path: &str,
    reading: Reading,
    findings: &mut Findings,
) -> Option<Markdown> {
    let source = tree.text(path, findings)?;
    let (head, body) = match split(&source) {
        Parts::Body(body) => (None, body),
        Parts::HeadAndBody { head, body } => {
            let node = match reading {
                Reading::Exact => yaml::parse(&source, head, findings)?,
                Reading::Forgiving => yaml::parse_forgiving(&source, head, findings)?,
            };
            (Some(node), body)
        }
        Parts::Open(span) => {
            let text = Text::new("the front matter that begins here is not closed")
                .help("end it with a line `---`");
            findings.at(Code::FrontMatterOpen, &source, span, text);
            return None;
        }
    };
    let text = source.slice(body);
    let blank = text.len() - text.trim_start().len();
    let start = if text.trim().is_empty() { body.start } else { body.start + blank };
    let origin = source.origin(Span::new(start, body.end));
    let body = Sourced::new(text.trim().to_owned(), origin);
    Some(Markdown { source, head, body })
}

/// The whole text of a file that has no head, without the blank lines around it.
pub fn plain(tree: &FileTree, path: &str, findings: &mut Findings) -> Option<Sourced<String>> {
    let source = tree.text(path, findings)?;
    let text = source.text.trim().to_owned();
    if text.is_empty() {
        let words = Text::new("the file says nothing").help("write something, or remove the file");
        findings.at(Code::EmptyFile, &source, Span::default(), words);
    }
    Some(Sourced::new(text, source.origin(Span::default())))
}
