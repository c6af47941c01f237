//! Adds a name to the text of `agent.yml`: the same text with a tool of the agent's own listed.
//!
//! Must never: change anything of a file but that one list.

use crate::diagnostic::Findings;
use crate::manifest::agent_yml::AgentYml;
use crate::node::{Kind, MapEntry, Node};
use crate::schema::{self, FileKind, ManifestFile};
use crate::source::{SourceText, Span};
use crate::yaml;

/// Returns the text with a tool under `tools.custom`. `None` if that would change anything else.
pub fn with_custom_tool(source: &SourceText, name: &str) -> Option<String> {
    let tree = tree(source)?;
    let text = match tree.pair("tools") {
        None => {
            let text = source.text.trim_end();
            format!("{text}\n\ntools:\n  custom:\n    - {name}\n")
        }
        Some(tools) => with_list(source, tools, name)?,
    };
    is_only_added(source, &text, name).then_some(text)
}

/// Returns the text with the name in the list below `tools`; the list may not exist yet.
fn with_list(source: &SourceText, tools: &MapEntry, name: &str) -> Option<String> {
    match &tools.value.kind {
        Kind::Null => Some(put(source, tools, &format!("{{custom: [{name}]}}"))),
        Kind::Map(pairs) => match (tools.value.pair("custom"), pairs.first()) {
            (Some(custom), _) => with_name(source, custom, name),
            (None, Some(first)) if is_flow(source, &tools.value, '{') => {
                Some(inserted(source, first.key_span.start, &format!("custom: [{name}], ")))
            }
            (None, Some(first)) => {
                let (line, indent) = line_of(source, first.key_span.start)?;
                Some(inserted(source, line, &format!("{indent}custom: [{name}]\n")))
            }
            (None, None) => {
                Some(inserted(source, tools.value.span.start + 1, &format!("custom: [{name}]")))
            }
        },
        Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => None,
    }
}

/// Returns the text with the name at the end of the list.
fn with_name(source: &SourceText, custom: &MapEntry, name: &str) -> Option<String> {
    match &custom.value.kind {
        Kind::List(items) => match items.last() {
            None => Some(inserted(source, custom.value.span.start + 1, name)),
            Some(last) if is_flow(source, &custom.value, '[') => {
                Some(inserted(source, last.span.end, &format!(", {name}")))
            }
            Some(last) => {
                let line = source.text[..last.span.start].rfind('\n').map_or(0, |at| at + 1);
                let indent = source.text[line..last.span.start].strip_suffix("- ")?;
                let end = source.text[last.span.end..].find('\n');
                let end = end.map_or(source.text.len(), |at| last.span.end + at);
                Some(inserted(source, end, &format!("\n{indent}- {name}")))
            }
        },
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => None,
    }
}

/// Replaces an empty value.
fn put(source: &SourceText, pair: &MapEntry, value: &str) -> String {
    let span = pair.value.span;
    if source.slice(span).trim().is_empty() {
        // Directly behind the name and its colon.
        inserted(source, pair.key_span.end + 1, &format!(" {value}"))
    } else {
        format!("{}{value}{}", &source.text[..span.start], &source.text[span.end..])
    }
}

fn is_flow(source: &SourceText, node: &Node, opening: char) -> bool {
    source.slice(node.span).starts_with(opening)
}

/// Returns the beginning of a line and its indentation; `None` if other text stands before `at`.
fn line_of(source: &SourceText, at: usize) -> Option<(usize, &str)> {
    let line = source.text[..at].rfind('\n').map_or(0, |at| at + 1);
    let indent = &source.text[line..at];
    indent.trim().is_empty().then_some((line, indent))
}

fn inserted(source: &SourceText, at: usize, what: &str) -> String {
    format!("{}{what}{}", &source.text[..at], &source.text[at..])
}

fn tree(source: &SourceText) -> Option<Node> {
    yaml::parse(source, Span::new(0, source.text.len()), &mut Findings::default())
}

/// True if the new text differs from the old one only in this added name.
fn is_only_added(source: &SourceText, text: &str, name: &str) -> bool {
    let (Some(before), Some(after)) =
        (read(source), read(&SourceText::new(source.file.clone(), text)))
    else {
        return false;
    };
    let mut wanted = before;
    wanted.tools.get_or_insert_default().custom.push(name.to_owned());
    wanted == after
}

fn read(source: &SourceText) -> Option<AgentYml> {
    let mut findings = Findings::default();
    let doc: ManifestFile<AgentYml> =
        schema::read(FileKind::AgentYml, source, tree(source)?, &mut findings)?;
    (!findings.has_errors()).then_some(doc.manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_added_and_all_else_stays_as_it_is() {
        for (before, after) in [
            ("name: x\n", "name: x\n\ntools:\n  custom:\n    - new\n"),
            ("name: x\ntools:\n", "name: x\ntools: {custom: [new]}\n"),
            ("name: x\ntools: {}\n", "name: x\ntools: {custom: [new]}\n"),
            (
                "name: x\ntools: {allow: [bash]}\n",
                "name: x\ntools: {custom: [new], allow: [bash]}\n",
            ),
            (
                "name: x # who\ntools:\n  # the host's\n  allow:\n    - bash\nhooks: {}\n",
                "name: x # who\ntools:\n  # the host's\n  custom: [new]\n  allow:\n    - bash\nhooks: {}\n",
            ),
            ("name: x\ntools:\n  custom: []\n", "name: x\ntools:\n  custom: [new]\n"),
            (
                "name: x\ntools:\n  custom: [a] # own\n",
                "name: x\ntools:\n  custom: [a, new] # own\n",
            ),
            (
                "name: x\ntools:\n  custom:\n    - a # one\n    - 'b'\n\nhooks: {}\n",
                "name: x\ntools:\n  custom:\n    - a # one\n    - 'b'\n    - new\n\nhooks: {}\n",
            ),
            ("name: x\ntools:\n  custom:\n  - a", "name: x\ntools:\n  custom:\n  - a\n  - new"),
        ] {
            let source = SourceText::new("agent.yml", before);
            assert_eq!(with_custom_tool(&source, "new").as_deref(), Some(after), "{before}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_not_done() {
        for before in [
            "",
            "name: [",
            "name: x\ntools: 3\n",
            "name: x\ntools:\n  custom:\n",
            "tools: {custom: []}\n",
        ] {
            let source = SourceText::new("agent.yml", before);
            assert_eq!(with_custom_tool(&source, "new"), None, "{before}");
        }
    }
}
