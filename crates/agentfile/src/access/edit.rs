//! Edits of one policy in the text of its file: finds it, enables or disables it.
//!
//! Must never: change anything of a file but whether one policy is enabled.

use super::{Policy, read};
use crate::diagnostic::Findings;
use crate::json;
use crate::node::{Kind, MapEntry, Node};
use crate::source::{Origin, SourceText, Span};
use crate::yaml;

/// Returns the text of one policy, as it stands in its file.
pub fn text_of<'a>(source: &'a SourceText, name: &str) -> Option<&'a str> {
    let tree = tree(source)?;
    let span = policy(&tree, name)?.span;
    // From the beginning of its line, so that all its lines have the same indentation.
    let line = source.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let before = source.text[line..span.start].trim_start_matches([' ', '-']);
    let start = if before.is_empty() { line } else { span.start };
    Some(source.text[start..span.end].trim_end())
}

/// Returns the text with one policy enabled or disabled. `None` if that would change anything else.
pub fn with_policy_switched(source: &SourceText, name: &str, enabled: bool) -> Option<String> {
    let tree = tree(source)?;
    let policy = policy(&tree, name)?;
    let text = match policy.pair("enabled") {
        Some(pair) => replaced(source, pair, enabled),
        None => inserted(source, policy, enabled)?,
    };
    is_only_switched(source, &text, name, enabled).then_some(text)
}

fn tree(source: &SourceText) -> Option<Node> {
    let mut findings = Findings::default();
    if source.file.ends_with(".json") {
        json::parse(source, &mut findings)
    } else {
        yaml::parse(source, Span::new(0, source.text.len()), &mut findings)
    }
}

fn policy<'a>(tree: &'a Node, name: &str) -> Option<&'a Node> {
    let list = tree.pair("policies").map_or(tree, |pair| &pair.value);
    let is_named = |node: &&Node| {
        node.pair("name").is_some_and(|pair| pair.value.kind == Kind::Text(name.to_owned()))
    };
    match &list.kind {
        Kind::List(items) => items.iter().find(is_named),
        Kind::Map(_) => Some(list).filter(is_named),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
    }
}

fn replaced(source: &SourceText, pair: &MapEntry, enabled: bool) -> String {
    let span = pair.value.span;
    format!("{}{enabled}{}", &source.text[..span.start], &source.text[span.end..])
}

/// Inserts the field after the name, which every policy has.
fn inserted(source: &SourceText, policy: &Node, enabled: bool) -> Option<String> {
    let text = &source.text;
    let pair = policy.pair("name")?;
    let end = pair.value.span.end;
    if text[policy.span.start..].starts_with('{') {
        let quote = if source.file.ends_with(".json") { "\"" } else { "" };
        return Some(format!("{}, {quote}enabled{quote}: {enabled}{}", &text[..end], &text[end..]));
    }
    let line = text[..pair.key_span.start].rfind('\n').map_or(0, |at| at + 1);
    let indent = " ".repeat(text[line..pair.key_span.start].chars().count());
    let stop = text[end..].find('\n').map_or(text.len(), |at| end + at);
    let (before, after) = text.split_at(stop);
    // The line break of the file, `\n` or `\r\n`.
    let (before, line_break) = match before.strip_suffix('\r') {
        Some(before) => (before, "\r\n"),
        None => (before, "\n"),
    };
    let after = if line_break == "\r\n" { format!("\r{after}") } else { after.to_owned() };
    Some(format!("{before}{line_break}{indent}enabled: {enabled}{after}"))
}

/// True if the new text differs from the old one only in the switch of the one policy.
fn is_only_switched(source: &SourceText, text: &str, name: &str, enabled: bool) -> bool {
    let mut findings = Findings::default();
    let mut before = read::parse(source, &mut findings);
    let after = read::parse(&SourceText::new(source.file.clone(), text), &mut findings);
    for policy in before.iter_mut().filter(|policy| &*policy.name.value == name) {
        policy.enabled = enabled;
    }
    let placeless = |policies: Vec<Policy>| policies.into_iter().map(without_places);
    !findings.has_errors() && placeless(before).eq(placeless(after))
}

fn without_places(mut policy: Policy) -> Policy {
    let nowhere = || Origin::named("");
    policy.name.origin = nowhere();
    policy.examples.iter_mut().for_each(|example| example.origin = nowhere());
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, (name, enabled): (&str, bool), expected: &str) {
        let source = SourceText::new(file, text);
        assert_eq!(with_policy_switched(&source, name, enabled).as_deref(), Some(expected));
    }

    #[test]
    fn the_word_is_changed_where_it_stands_and_nothing_else() {
        check(
            "a.yml",
            "# all\n- name: a   # first\n  effect: deny\n  enabled:   true  # for now\n- {name: b, effect: deny}\n",
            ("a", false),
            "# all\n- name: a   # first\n  effect: deny\n  enabled:   false  # for now\n- {name: b, effect: deny}\n",
        );
    }

    #[test]
    fn a_policy_that_does_not_say_gets_a_line_after_its_name() {
        check(
            "a.yml",
            "policies:\n  - effect: deny # why\n    name: a # x\n\n    priority: 3\n",
            ("a", false),
            "policies:\n  - effect: deny # why\n    name: a # x\n    enabled: false\n\n    priority: 3\n",
        );
        check(
            "a.yml",
            "effect: deny\nname: a",
            ("a", false),
            "effect: deny\nname: a\nenabled: false",
        );
        check(
            "a.yml",
            "- name: a\r\n  effect: deny\r\n",
            ("a", false),
            "- name: a\r\n  enabled: false\r\n  effect: deny\r\n",
        );
    }

    #[test]
    fn a_policy_in_braces_stays_on_its_line() {
        check(
            "a.yml",
            "- {effect: deny, name: a}\n",
            ("a", false),
            "- {effect: deny, name: a, enabled: false}\n",
        );
        check(
            "a.json",
            "[{\"name\": \"a\", \"effect\": \"deny\"}]",
            ("a", false),
            "[{\"name\": \"a\", \"enabled\": false, \"effect\": \"deny\"}]",
        );
    }

    #[test]
    fn what_cannot_be_read_is_not_changed() {
        let source = SourceText::new("a.yml", "- name: a\n  effect: maybe\n");
        assert_eq!(with_policy_switched(&source, "a", false), None);
        let source = SourceText::new("a.yml", "- name: a\n  effect: deny\n");
        assert_eq!(with_policy_switched(&source, "b", false), None);
    }

    #[test]
    fn the_text_of_a_policy_is_cut_out_with_its_comments() {
        let source =
            SourceText::new("a.yml", "- name: a # x\n  effect: deny\n- name: b\n  effect: deny\n");
        assert_eq!(text_of(&source, "a"), Some("- name: a # x\n  effect: deny"));
        assert_eq!(text_of(&source, "b"), Some("- name: b\n  effect: deny"));
        assert_eq!(text_of(&source, "c"), None);
    }
}
