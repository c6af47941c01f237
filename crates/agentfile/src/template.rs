//! Checks that the variables of a Liquid template exist.
//!
//! A light scan of the tags when the agent is read: exact places, no rendering. The kernel
//! (`template`) parses and renders templates, in a confined process.
//!
//! Must never: run a template.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings, suggestion};
use crate::source::{SourceText, Span};

/// The variables that a template may use, as far as they are known when the agent is read.
pub struct TemplateVariables<'a> {
    /// The names below `facts.`.
    pub facts: TemplateFacts<'a>,
    /// The names below `args.`.
    pub args: BTreeSet<&'a str>,
}

/// The known content of `data/facts.yml`.
#[derive(Clone, Copy, Debug)]
pub enum TemplateFacts<'a> {
    /// There is no such file.
    None,
    /// The facts of the file.
    Some(&'a Value),
    /// The file is present and does not load; any fact may exist.
    Unknown,
}

const ROOTS: [&str; 7] = ["agent", "user", "conversation", "turn", "persona", "facts", "args"];
const FIELDS: [(&str, &[&str]); 5] = [
    ("agent", &["name", "description"]),
    ("user", &["name"]),
    ("conversation", &["id"]),
    ("turn", &["id"]),
    ("persona", &["name"]),
];
/// Roots whose values change from turn to turn or session to session.
const MOMENTARY: [&str; 2] = ["turn", "conversation"];
const KEYWORDS: [&str; 20] = [
    "and", "or", "not", "contains", "in", "true", "false", "nil", "null", "empty", "blank",
    "reversed", "limit", "offset", "cols", "with", "as", "by", "range", "else",
];

/// Adds a finding for each variable that does not exist or that changes from turn to turn.
pub fn check(source: &SourceText, variables: &TemplateVariables<'_>, findings: &mut Findings) {
    let tags = tags(&source.text);
    let mut local: BTreeSet<&str> = ["forloop", "tablerow", "tablerowloop"].into();
    for tag in &tags {
        local.extend(tag.defines(&source.text));
    }
    for tag in &tags {
        for (at, path) in tag.variables(&source.text) {
            if !local.contains(root_of(path)) {
                check_one(source, at, path, variables, findings);
            }
        }
    }
}

/// True if a template uses a value that changes from turn to turn or session to session.
pub fn uses_changing_values(text: &str) -> bool {
    let variables = tags(text).into_iter().flat_map(|tag| tag.variables(text));
    variables.into_iter().any(|(_, path)| MOMENTARY.contains(&root_of(path)))
}

fn root_of(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

fn check_one(
    source: &SourceText,
    at: usize,
    path: &str,
    variables: &TemplateVariables<'_>,
    findings: &mut Findings,
) {
    let parts: Vec<&str> = path.split('.').collect();
    let root = parts[0];
    let span = Span::new(at, at + path.len());
    let mut unknown = |help: &dyn Fn() -> String| {
        findings.at_with(DiagnosticCode::UnknownVariable, source, span, || {
            FindingText::new(format!("`{path}` does not exist, so it renders as nothing"))
                .help(help())
        });
    };
    if !ROOTS.contains(&root) {
        return unknown(&|| suggestion(root, &ROOTS));
    }
    let field = parts.get(1).copied();
    if let Some((_, fields)) = FIELDS.iter().find(|(name, _)| *name == root) {
        match field {
            Some(field) if !fields.contains(&field) => {
                return unknown(&|| suggestion(field, fields));
            }
            Some(_) | None => {}
        }
    }
    if root == "facts" {
        let pointer: String = parts[1..].iter().map(|part| format!("/{part}")).collect();
        let known = match variables.facts {
            TemplateFacts::None => false,
            TemplateFacts::Some(facts) => facts.pointer(&pointer).is_some(),
            TemplateFacts::Unknown => true,
        };
        if !known {
            return unknown(&|| "add it to data/facts.yml".to_owned());
        }
    }
    if let Some(field) = field.filter(|field| root == "args" && !variables.args.contains(field)) {
        return unknown(&|| {
            format!("set `args.{field}` below [agent] in agentry.toml, or `init --arg {field}=…`")
        });
    }
    if MOMENTARY.contains(&root) {
        let text = FindingText::new(format!("`{path}` changes, and with it all of the prompt that follows"))
            .help("providers bill a changed beginning again; keep the template the same from turn to turn");
        findings.at(DiagnosticCode::PerTurnVariable, source, span, text);
    }
}

/// One `{{ … }}` or `{% … %}`, as the range of its inside.
struct Tag {
    start: usize,
    end: usize,
    is_output: bool,
}

fn tags(text: &str) -> Vec<Tag> {
    let mut tags: Vec<Tag> = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|found| at + found) {
        let (is_output, close) = match text.as_bytes().get(open + 1) {
            Some(b'{') => (true, "}}"),
            Some(b'%') => (false, "%}"),
            _ => {
                at = open + 1;
                continue;
            }
        };
        let start = open + 2;
        let Some(end) = text[start..].find(close).map(|found| start + found) else { break };
        let tag = Tag { start, end, is_output };
        at = end + 2;
        // The text between these tags is skipped.
        if let name @ ("raw" | "comment") = tag.name(text) {
            let ending = format!("end{name}");
            while let Some(found) = text[at..].find("{%").map(|found| at + found) {
                let inside = text[found + 2..].trim_start_matches(['-', ' ', '\t', '\n']);
                at = text[found..].find("%}").map_or(text.len(), |close| found + close + 2);
                if inside.starts_with(&ending) {
                    break;
                }
            }
            continue;
        }
        tags.push(tag);
    }
    tags
}

impl Tag {
    fn inside<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.end]
    }

    fn name<'a>(&self, text: &'a str) -> &'a str {
        if self.is_output {
            return "";
        }
        let inside = self.inside(text).trim_start_matches('-').trim_start();
        inside.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
    }

    /// Returns the name that the tag assigns.
    fn defines<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self.name(text) {
            "assign" | "capture" | "for" | "tablerow" | "increment" | "decrement" => {
                self.words(text).nth(1).map(|(_, word)| word)
            }
            _ => None,
        }
    }

    /// Returns the variables that the tag reads, with their places.
    fn variables<'a>(&self, text: &'a str) -> Vec<(usize, &'a str)> {
        let name = self.name(text);
        let skip = match name {
            "" => 0,
            "assign" | "for" | "tablerow" => 2,
            "if" | "unless" | "elsif" | "case" | "when" | "cycle" | "echo" => 1,
            _ => return Vec::new(),
        };
        let bytes = text.as_bytes();
        self.words(text)
            .skip(skip)
            .filter(|(at, word)| {
                let before = text[self.start..*at].trim_end().as_bytes().last();
                let after = bytes.get(at + word.len());
                let is_filter = before == Some(&b'|');
                let is_named = after == Some(&b':');
                !is_filter && !is_named && !KEYWORDS.contains(word)
            })
            .collect()
    }

    /// Returns the dotted words outside of quotes, with their places.
    fn words<'a>(&self, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let (inside, base) = (self.inside(text), self.start);
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < inside.len() {
                let rest = &inside[at..];
                let first = rest.chars().next()?;
                if first == '"' || first == '\'' {
                    at += rest[1..].find(first).map_or(rest.len(), |close| close + 2);
                } else if first.is_ascii_alphabetic() || first == '_' {
                    let length = rest
                        .find(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c))
                        .unwrap_or(rest.len());
                    let word = rest[..length].trim_end_matches(['.', '-']);
                    let found = (base + at, word);
                    at += length.max(1);
                    return Some(found);
                } else if first.is_ascii_digit() {
                    at += rest
                        .find(|c: char| !c.is_ascii_alphanumeric() && c != '.')
                        .unwrap_or(rest.len());
                } else {
                    at += first.len_utf8();
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(text: &str, expected: &[&str]) {
        let facts = serde_json::json!({ "city": "Bern", "deep": { "er": 1 } });
        let variables =
            TemplateVariables { facts: TemplateFacts::Some(&facts), args: ["tone"].into() };
        let mut findings = Findings::default();
        check(&SourceText::new("t", text), &variables, &mut findings);
        let found: Vec<String> = findings
            .sorted()
            .iter()
            .map(|one| format!("{} {}:{}", one.code, one.line, one.column))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_documented_variables_exist() {
        check_text(
            "{{ agent.name }} {{ agent.description }} {{ user.name }} {{ persona.name }}",
            &[],
        );
        check_text("{{ facts.city }} {{ facts.deep.er }} {{ args.tone }}", &[]);
    }

    #[test]
    fn others_are_named_with_their_place() {
        check_text("a\n{{ agent.nam }}", &["E0702 2:4"]);
        check_text(
            "{{ facts.town }}{{ args.mood }}{{ date }}",
            &["E0702 1:4", "E0702 1:20", "E0702 1:35"],
        );
        check_text("{% if user.nick %}x{% endif %}", &["E0702 1:7"]);
    }

    #[test]
    fn what_changes_with_the_turn_is_named() {
        check_text("{{ turn.id }} {{ conversation.id }}", &["E0704 1:4", "E0704 1:18"]);
    }

    #[test]
    fn names_given_in_the_template_and_filters_are_no_variables() {
        check_text(
            "{% assign x = user.name | default: \"you\" | upcase %}{{ x | append: '!' }}",
            &[],
        );
        check_text(
            "{% for i in facts.deep limit: 2 %}{{ i }} {{ forloop.index }}{% endfor %}",
            &[],
        );
        check_text("{% capture y %}{{ user.name }}{% endcapture %}{{ y }}", &[]);
    }

    #[test]
    fn raw_and_comment_are_not_looked_at() {
        check_text(
            "{% raw %}{{ nothing }}{% endraw %}{% comment %}{{ no }}{% endcomment %}{{ nope }}",
            &["E0702 1:75"],
        );
    }

    #[test]
    fn an_open_tag_is_left_to_the_parser() {
        check_text("{{ agent.name", &[]);
        check_text("{% if", &[]);
        check_text("{", &[]);
    }
}
