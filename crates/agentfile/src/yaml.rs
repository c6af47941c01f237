//! Parses YAML text into a `Node`.
//!
//! A plain subset: one document, no anchors, aliases or tags, no key twice, a limited depth and
//! number of values. Scalars follow the YAML 1.2 core schema, so `no` is a word and not a boolean.
//!
//! Must never: expand aliases or tags, or stop at the first defect if more can be found.

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle};
use serde_json::Number;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::limits::{NODE_DEPTH_MAX, NODES_MAX};
use crate::node::{Kind, MapEntry, Node};
use crate::source::{SourceText, Span};

/// Parses the part of a source that is YAML. Defects go to the findings; `None` if no tree can be
/// used.
pub fn parse(source: &SourceText, within: Span, findings: &mut Findings) -> Option<Node> {
    let mut quiet = Findings::default();
    let tree = NodeBuilder::new(source, within.start, &mut quiet).build(source.slice(within));
    findings.append(quiet);
    tree
}

/// Like `parse`, but accepts the most common mistake in front matter: a top-level value with a
/// colon that should have been quoted. Each accepted value is a warning.
pub fn parse_forgiving(source: &SourceText, within: Span, findings: &mut Findings) -> Option<Node> {
    let text = source.slice(within);
    let mut first = Findings::default();
    if let Some(tree) = NodeBuilder::new(source, within.start, &mut first).build(text) {
        findings.append(first);
        return Some(tree);
    }
    let masked = mask_values_with_colons(text);
    let mut second = Findings::default();
    let tree = if masked.values.is_empty() {
        None
    } else {
        NodeBuilder::new(source, within.start, &mut second).build(&masked.text)
    };
    let Some(mut tree) = tree else {
        findings.append(first);
        return None;
    };
    findings.append(second);
    if let Kind::Map(pairs) = &mut tree.kind {
        for pair in pairs {
            let at = pair.value.span.start - within.start;
            if masked.values.binary_search(&at).is_ok() {
                // Folded as YAML folds a plain value that continues on the next line.
                let lines = source.slice(pair.value.span).lines().map(str::trim);
                let text = lines.collect::<Vec<_>>().join(" ");
                findings.at(
                    DiagnosticCode::QuotedForYou,
                    source,
                    pair.value.span,
                    FindingText::new(format!(
                        "the value of `{}` has a colon and no quotes",
                        pair.key
                    ))
                    .help("put the value in double quotes"),
                );
                pair.value.kind = Kind::Text(text);
            }
        }
    }
    Some(tree)
}

struct MaskedYaml {
    text: String,
    // Offsets of the values that were masked, in order.
    values: Vec<usize>,
}

/// Returns the place of a tab in an indentation; the parser stops before or behind the tab.
fn tab_near(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    let before = text[..at].trim_end_matches('\t').len();
    if before < at {
        return before;
    }
    let mut starts = text[at..].match_indices('\n').map(|(found, _)| at + found + 1);
    let is_tabbed = |start: &usize| text[*start..].trim_start_matches(' ').starts_with('\t');
    let line = starts.find(is_tabbed).unwrap_or(at);
    line + text[line..].find('\t').filter(|_| line != at).unwrap_or_default()
}

/// Replaces such values by an equal number of `x`, so that all places stay the same.
fn mask_values_with_colons(text: &str) -> MaskedYaml {
    let mut masked = MaskedYaml { text: String::with_capacity(text.len()), values: Vec::new() };
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        let value_at = content.find(": ").map(|colon| {
            colon + 2 + content[colon + 2..].len() - content[colon + 2..].trim_start().len()
        });
        match value_at {
            Some(at) if is_top_level_key(&content[..at]) && wants_quotes(&content[at..]) => {
                masked.values.push(masked.text.len() + at);
                masked.text.push_str(&content[..at]);
                masked.text.extend(std::iter::repeat_n('x', content.len() - at));
                masked.text.push_str(&line[content.len()..]);
            }
            _ => masked.text.push_str(line),
        }
    }
    masked
}

fn is_top_level_key(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .trim_end()
            .trim_end_matches(':')
            .chars()
            .all(|c| c.is_alphanumeric() || "-_".contains(c))
}

fn wants_quotes(value: &str) -> bool {
    let plain =
        !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#', '%', '@', '`']);
    plain && (value.contains(": ") || value.ends_with(':'))
}

enum YamlFrame {
    List {
        start: usize,
        items: Vec<Node>,
    },
    Map {
        start: usize,
        pairs: Vec<MapEntry>,
        seen: HashMap<String, Span>,
        key: Option<(String, Span)>,
    },
}

struct NodeBuilder<'a> {
    source: &'a SourceText,
    offset: usize,
    findings: &'a mut Findings,
    stack: Vec<YamlFrame>,
    root: Option<Node>,
    nodes: usize,
    usable: bool,
}

/// The end of parsing; the finding is added already.
struct YamlParseError;

impl<'a> NodeBuilder<'a> {
    fn new(source: &'a SourceText, offset: usize, findings: &'a mut Findings) -> Self {
        Self { source, offset, findings, stack: vec![], root: None, nodes: 0, usable: true }
    }

    fn build(mut self, text: &str) -> Option<Node> {
        let options = granit_parser::options! {
            emit_anchor_events: true,
            emit_unresolved_aliases: true,
            disallow_directives: true,
            flow_nesting_limit: NODE_DEPTH_MAX,
        };
        let mut documents = 0;
        for next in Parser::new_from_str_with_options(text, options) {
            let (event, span) = match next {
                Ok(next) => next,
                Err(error) => {
                    let at = error.marker().byte_offset().unwrap_or(text.len());
                    let at = if error.info().contains("tab") { tab_near(text, at) } else { at };
                    let place = Span::new(at, at + 1);
                    match error.kind() {
                        ErrorKind::RecursionLimitExceeded => self.refuse_depth(place),
                        _ => self.refuse(DiagnosticCode::YamlSyntax, place, error.info(), None),
                    }
                    return None;
                }
            };
            let start = span.start.byte_offset().unwrap_or_default();
            let place = Span::new(start, span.end.byte_offset().unwrap_or(start));
            if let Some(tag) = span.tag_span() {
                let at = tag.start.byte_offset().unwrap_or_default();
                let place = Span::new(at, tag.end.byte_offset().unwrap_or(at));
                let help = "write the plain value; quotes make anything text";
                self.refuse(DiagnosticCode::YamlTag, place, "a YAML tag stands here", Some(help));
            }
            if let Event::DocumentStart(..) = event {
                documents += 1;
                if documents > 1 {
                    let help = "keep one document in a file";
                    self.refuse(
                        DiagnosticCode::SeveralDocuments,
                        place,
                        "a second document begins",
                        Some(help),
                    );
                    return None;
                }
            }
            if self.take(event, place).is_err() {
                return None;
            }
        }
        let empty = Node { span: Span::new(self.offset, self.offset), kind: Kind::Null };
        self.usable.then(|| self.root.unwrap_or(empty))
    }

    fn refuse(
        &mut self,
        code: DiagnosticCode,
        place: Span,
        message: impl Into<String>,
        help: Option<&str>,
    ) {
        self.usable = false;
        let text = FindingText::new(message);
        let text = match help {
            Some(help) => text.help(help),
            None => text,
        };
        self.findings.at(code, self.source, place.shifted(self.offset), text);
    }

    fn refuse_depth(&mut self, place: Span) {
        let help = format!("at most {NODE_DEPTH_MAX} levels are read");
        self.refuse(DiagnosticCode::TooDeep, place, "this nests too deep", Some(&help));
    }

    fn take(&mut self, event: Event<'_>, place: Span) -> Result<(), YamlParseError> {
        match event {
            Event::Scalar(text, style, ..) => {
                let kind = match style {
                    ScalarStyle::Plain => plain(&text),
                    _ => Kind::Text(text.into_owned()),
                };
                self.value(Node { span: place.shifted(self.offset), kind })
            }
            Event::SequenceStart(..) => {
                self.open(YamlFrame::List { start: place.start, items: vec![] }, place)
            }
            Event::MappingStart(..) => {
                let seen = HashMap::new();
                self.open(
                    YamlFrame::Map { start: place.start, pairs: vec![], seen, key: None },
                    place,
                )
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(place),
            Event::Alias(_) | Event::UnresolvedAlias(_) | Event::Anchor(..) => {
                let help = "write the value out where it is used";
                self.refuse(
                    DiagnosticCode::YamlAlias,
                    place,
                    "a YAML anchor or alias stands here",
                    Some(help),
                );
                match event {
                    Event::Anchor(..) => Ok(()),
                    _ => self.value(Node { span: place.shifted(self.offset), kind: Kind::Null }),
                }
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, frame: YamlFrame, place: Span) -> Result<(), YamlParseError> {
        if self.stack.len() >= NODE_DEPTH_MAX {
            self.refuse_depth(place);
            return Err(YamlParseError);
        }
        self.stack.push(frame);
        Ok(())
    }

    fn close(&mut self, place: Span) -> Result<(), YamlParseError> {
        let node = match self.stack.pop() {
            Some(YamlFrame::List { start, items }) => {
                Node { span: self.span_of(start, place), kind: Kind::List(items) }
            }
            Some(YamlFrame::Map { start, pairs, .. }) => {
                Node { span: self.span_of(start, place), kind: Kind::Map(pairs) }
            }
            None => return Err(YamlParseError),
        };
        self.value(node)
    }

    fn span_of(&self, start: usize, end: Span) -> Span {
        Span::new(start, end.end).shifted(self.offset)
    }

    fn value(&mut self, node: Node) -> Result<(), YamlParseError> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            let help = format!("at most {NODES_MAX} values are read from one file");
            let place = Span::new(node.span.start - self.offset, node.span.end - self.offset);
            self.refuse(
                DiagnosticCode::TooManyNodes,
                place,
                "the file holds too many values",
                Some(&help),
            );
            return Err(YamlParseError);
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(YamlFrame::List { items, .. }) => items.push(node),
            Some(YamlFrame::Map { key: key @ None, .. }) => match key_text(self.source, &node) {
                Some(text) => *key = Some((text, node.span)),
                None => {
                    let place =
                        Span::new(node.span.start - self.offset, node.span.end - self.offset);
                    self.refuse(
                        DiagnosticCode::KeyNotText,
                        place,
                        "a key must be plain text",
                        None,
                    );
                    return Err(YamlParseError);
                }
            },
            Some(YamlFrame::Map { pairs, seen, key, .. }) => {
                let (key, key_span) = key.take().unwrap_or_default();
                if let Some(first) = seen.get(&key) {
                    let (line, _) = self.source.position(first.start);
                    let text = FindingText::new(format!(
                        "`{key}` stands here again; it was first on line {line}"
                    ))
                    .help("keep one of the two");
                    self.findings.at(DiagnosticCode::DuplicateKey, self.source, key_span, text);
                } else {
                    seen.insert(key.clone(), key_span);
                    pairs.push(MapEntry { key, key_span, value: node });
                }
            }
        }
        Ok(())
    }
}

fn key_text(source: &SourceText, node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Text(text) => Some(text.clone()),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => Some(source.slice(node.span).to_owned()),
        Kind::List(_) | Kind::Map(_) => None,
    }
}

/// Resolves a plain scalar by the YAML 1.2 core schema.
fn plain(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Kind::Null,
        "true" | "True" | "TRUE" => return Kind::Bool(true),
        "false" | "False" | "FALSE" => return Kind::Bool(false),
        _ => {}
    }
    number(text).map_or_else(|| Kind::Text(text.to_owned()), Kind::Number)
}

fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with(['-', '+']))
            .map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8)
            .ok()
            .filter(|_| !digits.starts_with(['-', '+']))
            .map(Number::from);
    }
    let numeric = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.contains(|c: char| c.is_ascii_digit())
        && unsigned.chars().all(|c| c.is_ascii_digit() || ".eE+-".contains(c));
    if !numeric {
        return None;
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Some(whole.into());
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}
