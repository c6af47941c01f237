//! `data/` and `memory/`: facts, lorebook and the diary.
//!
//! Must never: read a diary page into the prompt; it only lists the pages.

use serde_json::Value;

use crate::agent::DiaryPage;
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::file_tree::FileTree;
use crate::node::Kind;
use crate::source::{SourcedValue, Span};
use crate::yaml;

/// The accepted content of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueShape {
    /// A map of names and values.
    Map,
    /// Any value.
    Any,
}

/// Reads a YAML file of values.
pub(crate) fn yaml_value(
    tree: &FileTree,
    path: &str,
    shape: ValueShape,
    findings: &mut Findings,
) -> Option<SourcedValue<Value>> {
    let source = tree.text(path, findings)?;
    let node = yaml::parse(&source, Span::new(0, source.text.len()), findings)?;
    let fits = match node.kind {
        Kind::Null => return None,
        Kind::Map(_) => true,
        Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => shape == ValueShape::Any,
    };
    if !fits {
        let text =
            FindingText::new(format!("expected a map of names and values, found {}", node.noun()));
        findings.at(
            DiagnosticCode::NotAMapping,
            &source,
            node.span,
            text.help("write `name: value` lines"),
        );
        return None;
    }
    Some(SourcedValue::new(node.to_value(), source.origin(node.span)))
}

/// Returns the pages of the diary, oldest first.
pub(crate) fn diary(tree: &FileTree, findings: &mut Findings) -> Vec<DiaryPage> {
    let mut pages = Vec::new();
    for (name, file) in tree.files_in("memory") {
        let path = format!("memory/{name}");
        let day = name.strip_suffix(".md").filter(|day| is_day(day));
        match day {
            Some(day) => pages.push(DiaryPage {
                day: day.to_owned(),
                file: tree.display_path(&path),
                bytes: usize::try_from(file.length).unwrap_or(usize::MAX),
            }),
            None if ["MEMORY.md", "README.md", ".gitkeep"].contains(&name) => {}
            None => {
                let text = FindingText::new(format!("`{name}` is not a page of the diary"))
                    .help("name it by its day, such as 2026-01-31.md, or move it elsewhere");
                findings.about(DiagnosticCode::DiaryName, tree.display_path(&path), text);
            }
        }
    }
    pages
}

fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let digits =
        |part: &str, length| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
    let within = |part: &str, most: u8| part.parse::<u8>().is_ok_and(|n| (1..=most).contains(&n));
    digits(year, 4) && digits(month, 2) && digits(day, 2) && within(month, 12) && within(day, 31)
}
