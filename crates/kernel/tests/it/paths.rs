//! What rules say about a path: the place that it leads to counts, not how it is written.

use agentry_agentfile::approval_rule::ApprovalRule;
use agentry_kernel::approval::{JudgedPath, RulePatterns, decide_at};
use agentry_protocol::call_facts::{CallFacts, ResolvedPath};
use agentry_protocol::verdict::Verdict;
use serde_json::{Value, json};

use crate::approval::rules;

const WORKSPACE: &str = "/people/me/work";

fn inside(path: &str) -> ResolvedPath {
    ResolvedPath::Inside { path: path.to_owned(), folds_case: false }
}

/// What the rules say about a call whose path the host followed to a place, or not.
fn judge(rules: &[ApprovalRule], tool: &str, args: &Value, place: Option<ResolvedPath>) -> Verdict {
    let paths = place.map(|place| ("path".to_owned(), place)).into_iter().collect();
    let facts = CallFacts { paths, ..CallFacts::default() };
    let path = JudgedPath::of(tool, args, &facts, WORKSPACE);
    decide_at(&RulePatterns::default(), rules, tool, args, path.as_ref()).verdict
}

fn write(list: &Value, path: &str, place: Option<ResolvedPath>) -> Verdict {
    judge(&rules(list.clone()), "write_file", &json!({"path": path, "content": ""}), place)
}

fn allow(matcher: Value) -> Value {
    json!([{"subject": "write_file", "allow": true, "when": {"path": matcher}}])
}

/// Asks about what matches, and lets everything else be written.
fn ask(matcher: Value) -> Value {
    json!([
        {"subject": "write_file", "allow": false, "when": {"path": matcher}},
        {"subject": "write_file", "allow": true},
    ])
}

#[test]
fn a_rule_that_allows_looks_at_the_place_however_the_path_is_written() {
    let docs = allow(json!({"startsWith": "docs/"}));
    for (path, expected) in [
        ("docs/a", Verdict::Allow),
        ("./docs//a", Verdict::Allow),
        ("x/../docs/a", Verdict::Allow),
        ("/people/me/work/docs/a", Verdict::Allow),
        ("docs/../package.json", Verdict::Ask),
        ("docs/../../work/docs/a", Verdict::Ask),
        ("/people/me/work2/docs/a", Verdict::Ask),
        ("/docs/a", Verdict::Ask),
        ("docs/a\0", Verdict::Ask),
        ("DOCS/a", Verdict::Ask),
    ] {
        assert_eq!(write(&docs, path, None), expected, "{path}");
    }
    // What the host found counts, whatever the text says.
    assert_eq!(write(&docs, "docs/up/a", Some(inside("a"))), Verdict::Ask);
    assert_eq!(write(&docs, "link/a", Some(inside("docs/a"))), Verdict::Allow);
    let unclear = ResolvedPath::Unclear { why: "it leads out".to_owned() };
    assert_eq!(write(&docs, "docs/a", Some(unclear)), Verdict::Ask);
}

#[test]
fn a_rule_that_asks_is_not_passed_by_another_spelling() {
    for rule in ["src/", "./src/", "/people/me/work/src/"] {
        let src = ask(json!({"startsWith": rule}));
        for path in ["src/a", "./src/a", "x/../src/a", "/people/me/work/src/a", "src/./a"] {
            assert_eq!(write(&src, path, None), Verdict::Ask, "{rule} {path}");
        }
        assert_eq!(write(&src, "link/a", Some(inside("src/a"))), Verdict::Ask, "{rule}");
        assert_eq!(write(&src, "docs/a", Some(inside("docs/a"))), Verdict::Allow, "{rule}");
        let unclear = ResolvedPath::Unclear { why: "it leads out".to_owned() };
        assert_eq!(write(&src, "docs/a", Some(unclear)), Verdict::Ask, "{rule}");
    }
    for matcher in [
        json!({"equals": "src/a"}),
        json!({"in": ["x", "./src/a"]}),
        json!({"matches": "^src/"}),
        json!({"contains": "work/src"}),
        json!({"anyOf": [{"equals": "y"}, {"startsWith": "src"}]}),
    ] {
        assert_eq!(
            write(&ask(matcher.clone()), "l", Some(inside("src/a"))),
            Verdict::Ask,
            "{matcher}"
        );
    }
}

#[test]
fn a_rule_that_asks_about_the_workspace_itself_knows_all_its_spellings() {
    for rule in [".", "./", WORKSPACE, "/people/me/work/"] {
        let list = rules(json!([
            {"subject": "bash", "allow": false, "when": {"cwd": {"equals": rule}}},
            {"subject": "bash", "allow": true},
        ]));
        let args = json!({"command": "ls", "cwd": "x/.."});
        let facts = CallFacts {
            paths: [("cwd".to_owned(), inside("."))].into_iter().collect(),
            ..CallFacts::default()
        };
        let path = JudgedPath::of("bash", &args, &facts, WORKSPACE);
        let decision = decide_at(&RulePatterns::default(), &list, "bash", &args, path.as_ref());
        assert_eq!(decision.verdict, Verdict::Ask, "{rule}");
    }
}

#[test]
fn the_texts_of_a_rule_may_be_written_in_full_or_with_a_dot() {
    for matcher in [
        json!({"startsWith": "./docs/"}),
        json!({"startsWith": "/people/me/work/docs/"}),
        json!({"equals": "././docs/a"}),
        json!({"in": ["/people/me/work/docs/a"]}),
        json!({"allOf": [{"startsWith": "./"}, {"matches": "^docs/"}]}),
    ] {
        assert_eq!(write(&allow(matcher.clone()), "docs/a", None), Verdict::Allow, "{matcher}");
        assert_eq!(write(&allow(matcher.clone()), "src/a", None), Verdict::Ask, "{matcher}");
    }
}

#[test]
fn where_case_does_not_count_a_rule_that_asks_does_not_look_at_it() {
    let folds = |path: &str| ResolvedPath::Inside { path: path.to_owned(), folds_case: true };
    assert_eq!(write(&ask(json!({"startsWith": "Src/"})), "x", Some(folds("src/a"))), Verdict::Ask);
    assert_eq!(write(&ask(json!({"matches": "^SRC/"})), "x", Some(folds("src/a"))), Verdict::Ask);
    assert_eq!(
        write(&ask(json!({"startsWith": "Src/"})), "x", Some(inside("src/a"))),
        Verdict::Allow
    );
    assert_eq!(
        write(&allow(json!({"startsWith": "Docs/"})), "x", Some(folds("docs/a"))),
        Verdict::Ask
    );
}

#[test]
fn a_search_from_above_comes_to_what_a_rule_asks_about() {
    let list = rules(json!([
        {"subject": "grep", "allow": false, "when": {"path": {"startsWith": "src/secret/"}}},
        {"subject": "grep", "allow": true},
    ]));
    for (args, expected) in [
        (json!({"pattern": "x"}), Verdict::Ask),
        (json!({"pattern": "x", "path": "."}), Verdict::Ask),
        (json!({"pattern": "x", "path": "src"}), Verdict::Ask),
        (json!({"pattern": "x", "path": "src/secret"}), Verdict::Ask),
        (json!({"pattern": "x", "path": "docs"}), Verdict::Allow),
    ] {
        assert_eq!(judge(&list, "grep", &args, None), expected, "{args}");
    }
    // A rule that allows wants the path to be said.
    let list = rules(
        json!([{"subject": "grep", "allow": true, "when": {"path": {"startsWith": "docs/"}}}]),
    );
    assert_eq!(judge(&list, "grep", &json!({"pattern": "x"}), None), Verdict::Ask);
    assert_eq!(
        judge(&list, "grep", &json!({"pattern": "x", "path": "docs/"}), None),
        Verdict::Allow
    );
}

#[test]
fn a_search_is_allowed_only_where_the_rule_allows_it() {
    let allow = |matcher: Value| {
        rules(json!([{"subject": "grep", "allow": true, "when": {"path": matcher}}]))
    };
    let docs = allow(json!({"startsWith": "docs/"}));
    assert_eq!(judge(&docs, "grep", &json!({"path": "src"}), None), Verdict::Ask);
    // A file is no directory, even if the rule writes a slash behind it.
    assert_eq!(write(&self::allow(json!({"equals": "docs/"})), "docs", None), Verdict::Ask);
    assert_eq!(
        judge(&allow(json!({"equals": "docs/"})), "grep", &json!({"path": "docs"}), None),
        Verdict::Allow
    );
}

#[test]
fn a_search_from_above_comes_to_what_any_kind_of_condition_names() {
    let judged = |matcher: &Value, path: &str| {
        let list = rules(json!([
            {"subject": "grep", "allow": false, "when": {"path": matcher}},
            {"subject": "grep", "allow": true},
        ]));
        judge(&list, "grep", &json!({"pattern": "x", "path": path}), None)
    };
    let secret = json!({"startsWith": "src/secret/"});
    for (matcher, path, expected) in [
        (secret.clone(), "src/se", Verdict::Allow),
        (json!({"equals": "src/secret/key"}), "src", Verdict::Ask),
        (json!({"equals": "src/secret/key"}), "docs", Verdict::Allow),
        (json!({"equals": 7}), "src", Verdict::Allow),
        (json!({"in": ["docs/a", "src/secret/key"]}), "src", Verdict::Ask),
        (json!({"in": ["docs/a", "src/secret/key"]}), "lib", Verdict::Allow),
        (json!({"anyOf": [{"equals": "docs/a"}, secret]}), "src", Verdict::Ask),
        (json!({"allOf": [{"equals": "docs/a"}, secret]}), "src", Verdict::Allow),
        (json!({"contains": "secret"}), ".", Verdict::Ask),
        (json!({"contains": "secret"}), "src", Verdict::Allow),
        // A directory may be named with a slash behind it, and the workspace in three ways.
        (json!({"equals": "src/"}), "src", Verdict::Ask),
        (json!({"equals": "./"}), ".", Verdict::Ask),
        (json!({"equals": WORKSPACE}), "./", Verdict::Ask),
    ] {
        assert_eq!(judged(&matcher, path), expected, "{matcher} {path}");
    }
}

#[test]
fn a_condition_on_another_argument_does_not_look_at_the_path() {
    let list =
        json!([{"subject": "write_file", "allow": true, "when": {"content": {"equals": ""}}}]);
    assert_eq!(write(&list, "anything", None), Verdict::Allow);
    let list =
        json!([{"subject": "write_file", "allow": true, "when": {"content": {"equals": "a"}}}]);
    assert_eq!(write(&list, "a", None), Verdict::Ask);
}

#[test]
fn without_a_workspace_no_absolute_path_is_inside() {
    let of = |tool: &str, args: &Value, workspace: &str| {
        JudgedPath::of(tool, args, &CallFacts::default(), workspace)
    };
    let place = |path: &str, workspace: &str| {
        let path = of("write_file", &json!({"path": path}), workspace).expect("it has a path");
        path.inside().map(str::to_owned)
    };
    assert_eq!(place("/etc/passwd", ""), None);
    assert_eq!(place("/people/me/work2/a", WORKSPACE), None);
    assert_eq!(place("/people/me/work", WORKSPACE).as_deref(), Some("."));
    assert_eq!(place("a/./b", "").as_deref(), Some("a/b"));
    // A file tool without its path has none; a search without one works on the workspace.
    assert_eq!(of("write_file", &json!({}), WORKSPACE), None);
    assert_eq!(
        of("grep", &json!({}), WORKSPACE)
            .and_then(|one| one.inside().map(str::to_owned))
            .as_deref(),
        Some(".")
    );
    // The slash of a rule is not the workspace's.
    let list = rules(allow(json!({"startsWith": "/docs/"})));
    let args = json!({"path": "docs/a", "content": ""});
    let path = of("write_file", &args, "");
    let opinion = decide_at(&RulePatterns::default(), &list, "write_file", &args, path.as_ref());
    assert_eq!(opinion.verdict, Verdict::Ask);
}

#[test]
fn a_person_is_told_where_a_path_leads_that_is_written_otherwise() {
    let note = |path: &str| {
        let args = json!({"path": path});
        JudgedPath::of("read_file", &args, &CallFacts::default(), WORKSPACE)
            .and_then(|one| one.note())
    };
    assert_eq!(note("a/b"), None);
    assert_eq!(note("a/../b").as_deref(), Some("the path is `b`"));
    assert!(note("/etc/passwd").is_some_and(|note| note.contains("is not clear")));
}

#[test]
fn a_rule_that_asks_applies_to_a_hidden_command_only_where_its_other_conditions_hold() {
    let list = rules(json!([
        {"subject": "bash", "allow": false, "when": {"command": {"startsWith": "rm"}, "cwd": {"equals": "src"}, "why": {"equals": "x"}}},
        {"subject": "bash", "allow": true},
    ]));
    for (args, expected) in [
        (json!({"command": "$X", "cwd": "src", "why": "x"}), Verdict::Ask),
        (json!({"command": "$X", "cwd": "lib", "why": "x"}), Verdict::Allow),
        (json!({"command": "$X", "cwd": "src", "why": "y"}), Verdict::Allow),
        (json!({"command": "$X", "cwd": "src"}), Verdict::Allow),
    ] {
        assert_eq!(judge(&list, "bash", &args, None), expected, "{args}");
    }
}

#[test]
fn a_rule_that_asks_names_a_directory_with_or_without_a_slash() {
    let search = |rule: &str, path: &str| {
        let list = rules(json!([
            {"subject": "grep", "allow": false, "when": {"path": {"matches": rule}}},
            {"subject": "grep", "allow": true},
        ]));
        judge(&list, "grep", &json!({"pattern": "x", "path": path}), Some(inside(path)))
    };
    assert_eq!(search("^src/$", "src"), Verdict::Ask);
    assert_eq!(search("^src$", "src"), Verdict::Ask);
    assert_eq!(search("^src/$", "lib"), Verdict::Allow);
    assert_eq!(search("^/people/me/work$", "."), Verdict::Ask);
    assert_eq!(search("^/people/me/work/$", "."), Verdict::Ask);
    assert_eq!(write(&ask(json!({"matches": "^a/$"})), "a", Some(inside("a"))), Verdict::Allow);
}
