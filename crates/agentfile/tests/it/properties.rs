//! Whatever the bytes: no panic, and every finding has a place that exists.

use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::front_matter::{FrontMatterSplit, split};
use agentry_agentfile::node::{Kind, Node};
use agentry_agentfile::source::{SourceText, Span};
use agentry_agentfile::yaml;
use proptest::prelude::*;

use crate::reading::given;

/// Each file that is read as text, and the rest of a directory that makes it be read.
const FILES: [(&str, &str); 14] = [
    ("agent.yml", "--- AGENT.md\nWork."),
    ("AGENT.md", ""),
    ("AGENT.md", "--- agent.yml\nname: a"),
    ("SKILL.md", ""),
    ("TASK.md", "--- two.md\n---\nname: x\n---"),
    ("two.md", "--- TASK.md\n---\nname: x\nnext: two.md\n---"),
    ("context/tool-access.json", "--- context/system_prompt.md\nWork."),
    ("context/soul.json", "--- context/system_prompt.md\nWork."),
    ("agentry.toml", "--- AGENT.md\n---\nname: a\n---"),
    (".mcp.json", "--- AGENT.md\n---\nname: a\ntools: [x/y]\n---"),
    ("data/facts.yml", "--- agent.yml\nname: a\n--- AGENT.md\nWork."),
    ("USER.md", "--- agent.yml\nname: a\n--- AGENT.md\nWork."),
    ("prompts/system.md.liquid", "--- agent.yml\nname: a\n--- AGENT.md\nWork."),
    ("tools/x.yml", "--- agent.yml\nname: a\ntools: {custom: [x]}\n--- AGENT.md\n--- tools/x +x\n"),
];

/// Reads the bytes as each of the files. Every place must be in the text it speaks of.
fn check_places(bytes: &[u8]) {
    for (path, rest) in FILES {
        let (_, findings) = given(rest).bytes(path, bytes).read();
        for one in findings.sorted() {
            assert!(one.line >= 1 && one.column >= 1, "{one:?}");
            let Some(source) = findings.source(&one.file) else {
                assert_eq!((one.line, one.column), (1, 1), "{one:?}");
                continue;
            };
            let lines: Vec<&str> = source.text.split('\n').collect();
            assert!(one.line <= lines.len(), "{one:?} of {} lines", lines.len());
            let width = lines[one.line - 1].chars().count();
            assert!(one.column <= width + 1, "{one:?} of {width} characters");
            assert_eq!(
                source.position(source.offset(one.line, one.column)),
                (one.line, one.column)
            );
        }
    }
}

/// Pieces that mean something in one of the languages, in any order.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("---\n"),
        Just("name: a\n"),
        Just("name"),
        Just(": "),
        Just("\n"),
        Just("  "),
        Just("- "),
        Just("["),
        Just("]"),
        Just("{"),
        Just("}"),
        Just("\""),
        Just("'"),
        Just(","),
        Just("&a "),
        Just("*a"),
        Just("!!str "),
        Just("? "),
        Just("|\n"),
        Just("> "),
        Just("# "),
        Just("%"),
        Just("é"),
        Just("\u{feff}"),
        Just("\r"),
        Just("\t"),
        Just("tools: "),
        Just("inherit"),
        Just("bash"),
        Just("description: a: b\n"),
        Just("next: two.md\n"),
        Just("\"tools\": {"),
        Just("\"a\": 1e9"),
        Just("[agent]\n"),
        Just("model = "),
        Just("[[mcp.servers]]\n"),
        Just("{{ "),
        Just(" }}"),
        Just("{% raw %}"),
        Just("{%- if "),
        Just("facts.x"),
        Just("input.x"),
        Just("0x"),
        Just("1."),
        Just("tool_approvals: {rules: [{tool: bash, allow: true, when: {a: {matches: "),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

/// YAML as a person would write it: keys that are known and not, values of every kind.
fn structured() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("a".to_owned()),
        Just("inherit".to_owned()),
        Just("bash".to_owned()),
        Just("12".to_owned()),
        Just("-1.5".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("\"q: r\"".to_owned()),
        "[a-zé/*_.-]{1,8}".prop_map(|word| format!("'{word}'")),
    ];
    let value = scalar.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec((key(), inner), 0..4).prop_map(|pairs| {
                let pairs = pairs.iter().map(|(key, value)| format!("{key}: {value}"));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }),
        ]
    });
    prop::collection::vec((key(), value), 0..8)
        .prop_map(|pairs| pairs.iter().map(|(key, value)| format!("{key}: {value}\n")).collect())
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "name",
        "description",
        "model",
        "default",
        "prefer",
        "tools",
        "allow",
        "custom",
        "personas",
        "available",
        "router",
        "hooks",
        "before_inference",
        "capabilities",
        "self_modify",
        "metadata",
        "tool_approvals",
        "task_approvals",
        "rules",
        "tool",
        "task",
        "when",
        "equals",
        "anyOf",
        "matches",
        "skills",
        "tasks",
        "inputs",
        "next",
        "agent",
        "temperature",
        "max_tokens",
        "allowed-tools",
        "nam",
        "parameters",
        "type",
        "license",
        "compatibility",
        "version",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_as_any_file_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check_places(&bytes);
    }

    #[test]
    fn pieces_of_every_language_as_any_file_are_read_without_a_panic(bytes in pieces()) {
        check_places(&bytes);
    }

    #[test]
    fn structured_yaml_as_any_file_is_read_without_a_panic(text in structured()) {
        check_places(text.as_bytes());
        check_places(format!("---\n{text}---\nBody {{{{input.x}}}} {{{{ facts.y }}}}.\n").as_bytes());
    }

    #[test]
    fn the_parts_of_a_markdown_file_cover_all_of_it(text in "(---)?[ \t]?\n?([a-z: \né-]{0,20}\n){0,4}(---\n)?[a-z\n]{0,20}") {
        let source = SourceText::new("a.md", text.as_str());
        match split(&source) {
            FrontMatterSplit::Body(body) => prop_assert_eq!(body, Span::new(0, text.len())),
            FrontMatterSplit::HeadAndBody { head, body } => {
                let opening = source.slice(Span::new(0, head.start));
                let closing = source.slice(Span::new(head.end, body.start));
                prop_assert_eq!(opening.trim_end(), "---");
                prop_assert_eq!(closing.trim_end(), "---");
                prop_assert_eq!(body.end, text.len());
                prop_assert!(source.slice(head).lines().all(|line| line.trim_end() != "---"));
            }
            FrontMatterSplit::Open(marker) => {
                prop_assert_eq!(source.slice(marker), "---");
                prop_assert!(text.lines().skip(1).all(|line| line.trim_end() != "---"));
            }
        }
    }

    #[test]
    fn what_is_forgiven_stands_exactly_where_it_was_written(
        values in prop::collection::vec("[a-zé]{1,6}: [a-zäß]{1,6}( [a-z]{1,4})?", 1..6),
    ) {
        let text: String =
            values.iter().enumerate().map(|(at, value)| format!("k{at}: {value}\n")).collect();
        let source = SourceText::new("a.md", format!("---\n{text}---\n"));
        let mut findings = Findings::default();
        let within = Span::new(4, 4 + text.len());
        let tree = yaml::parse_forgiving(&source, within, &mut findings).unwrap();
        prop_assert_eq!(findings.len(), values.len());
        for (at, value) in values.iter().enumerate() {
            let pair = tree.pair(&format!("k{at}")).unwrap();
            prop_assert_eq!(source.slice(pair.value.span), value);
            prop_assert_eq!(&pair.value.kind, &Kind::Text(value.clone()));
            prop_assert_eq!(source.position(pair.key_span.start), (at + 2, 1));
        }
    }

    #[test]
    fn every_value_of_a_tree_lies_within_its_parent(text in structured()) {
        let source = SourceText::new("a.yml", text.as_str());
        let within = Span::new(0, text.len());
        if let Some(tree) = yaml::parse(&source, within, &mut Findings::default()) {
            check_spans(&tree, within);
        }
    }
}

fn check_spans(node: &Node, within: Span) {
    let Span { start, end } = node.span;
    assert!(within.start <= start && start <= end && end <= within.end, "{node:?} in {within:?}");
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| check_spans(item, node.span)),
        Kind::Map(pairs) => pairs.iter().for_each(|pair| check_spans(&pair.value, node.span)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
    }
}

#[test]
fn inputs_that_once_mattered_are_read_without_a_panic() {
    for bytes in [
        &b"---"[..],
        b"---\n---",
        b"---\n\xef\xbb\xbf---\n",
        b"{",
        b"{{",
        b"{% raw %}{%",
        b"{{ '",
        b"a: |\n",
        b"? \n",
        b": \n",
        b"- - - a",
        b"\"\\ud800\"",
        b"{\"a\": \"\\ud800\"}",
        b"\r\r\n\n",
        b"a: b: c: d",
    ] {
        check_places(bytes);
    }
}
