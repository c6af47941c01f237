//! Approval rules: what each matcher says, which rule decides, and what the shell makes of them.

use agentry_agentfile::approval_rule::{ApprovalRule, ExpectedVerdict, RuleKind};
use agentry_kernel::approval::{RulePatterns, decide, decide_task, decide_with, try_examples};
use agentry_protocol::verdict::Verdict;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Rules on lines 1, 2, 3 … of one file.
pub(crate) fn rules(list: Value) -> Vec<ApprovalRule> {
    let list = list.as_array().cloned().unwrap_or_default();
    let one = |(at, mut rule): (usize, Value)| {
        rule["origin"] = json!(format!("AGENT.md:{}:1", at + 1));
        serde_json::from_value(rule).expect("the rule is written right")
    };
    list.into_iter().enumerate().map(one).collect()
}

fn only(matcher: Value) -> Vec<ApprovalRule> {
    rules(json!([{"subject": "t", "allow": true, "when": {"a": matcher}}]))
}

#[track_caller]
fn check(matcher: Value, value: Value, expected: bool) {
    let rules = only(matcher.clone());
    let verdict = decide(&rules, "t", &json!({"a": value})).verdict;
    assert_eq!(verdict == Verdict::Allow, expected, "{matcher} on {value}");
}

/// Verdict, the line of the rule, and the reason.
fn shell(list: Value, command: &str) -> String {
    let rules = rules(list);
    let opinion = decide(&rules, "bash", &json!({"command": command}));
    let line = opinion.rule.map_or("-".to_owned(), |rule| rule.origin.line.to_string());
    format!("{} {line} {}", opinion.verdict, opinion.why)
}

#[track_caller]
fn check_shell(list: Value, command: &str, expected: Verdict) {
    let rules = rules(list);
    let opinion = decide(&rules, "bash", &json!({"command": command}));
    assert_eq!(opinion.verdict, expected, "{command}: {}", opinion.why);
}

#[test]
fn equals_compares_scalars_and_numbers_as_json_does() {
    for (wanted, value, expected) in [
        (json!("x"), json!("x"), true),
        (json!("x"), json!("xy"), false),
        (json!(1), json!(1.0), true),
        (json!(1.5), json!(1.5), true),
        (json!(1), json!("1"), false),
        (json!(-1), json!(u64::MAX), false),
        (json!(u64::MAX), json!(u64::MAX), true),
        (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0), false),
        (json!(null), json!(null), true),
        (json!(null), json!(false), false),
        (json!(true), json!(true), true),
    ] {
        check(json!({"equals": wanted}), value, expected);
    }
}

#[test]
fn in_is_any_of_the_values_also_lists_and_maps() {
    let wanted = json!({"in": ["a", 2, [1], {"x": 1, "y": 2}]});
    for (value, expected) in [
        (json!("a"), true),
        (json!(2.0), true),
        (json!([1.0]), true),
        (json!({"y": 2, "x": 1.0}), true),
        (json!({"x": 1}), false),
        (json!("b"), false),
        (json!([1, 1]), false),
    ] {
        check(wanted.clone(), value, expected);
    }
    check(json!({"in": []}), json!("a"), false);
}

#[test]
fn text_matchers_look_at_text_only() {
    check(json!({"startsWith": "src/"}), json!("src/a.rs"), true);
    check(json!({"startsWith": "src/"}), json!("a/src/"), false);
    check(json!({"startsWith": "1"}), json!(12), false);
    check(json!({"matches": "^a+$"}), json!("aaa"), true);
    check(json!({"matches": "b"}), json!("abc"), true);
    check(json!({"matches": "^b"}), json!("abc"), false);
    check(json!({"matches": "1"}), json!(1), false);
    check(json!({"matches": "1"}), json!(["1"]), false);
}

#[test]
fn an_expression_that_does_not_compile_never_matches() {
    check(json!({"matches": "("}), json!("("), false);
    check(json!({"matches": "(?:a{1000}){1000}"}), json!("a"), false);
}

#[test]
fn contains_is_a_part_of_a_text_or_a_member_of_a_list() {
    check(json!({"contains": "b"}), json!("abc"), true);
    check(json!({"contains": "b"}), json!(["a", "b"]), true);
    check(json!({"contains": "b"}), json!(["abc"]), false);
    check(json!({"contains": 1}), json!([1.0]), true);
    check(json!({"contains": 1}), json!("1"), false);
    check(json!({"contains": "a"}), json!({"a": 1}), false);
    check(json!({"containsAll": ["a", "c"]}), json!("abc"), true);
    check(json!({"containsAll": ["a", "d"]}), json!("abc"), false);
    check(json!({"containsAll": ["a", 1]}), json!([1, "a", 2]), true);
    check(json!({"containsAll": []}), json!(7), false);
}

#[test]
fn any_of_and_all_of_nest_on_the_same_value() {
    let nested = json!({"allOf": [
        {"startsWith": "src/"},
        {"anyOf": [{"contains": ".rs"}, {"matches": "\\.md$"}]},
    ]});
    check(nested.clone(), json!("src/a.rs"), true);
    check(nested.clone(), json!("src/a.md"), true);
    check(nested.clone(), json!("src/a.txt"), false);
    check(nested, json!("a.rs"), false);
}

#[test]
fn a_rule_with_a_missing_argument_does_not_match() {
    for matcher in [json!({"equals": null}), json!({"anyOf": [{"equals": null}]})] {
        let rules = only(matcher);
        for args in [json!({}), json!({"b": null}), json!([]), json!(null), json!("a")] {
            assert_eq!(decide(&rules, "t", &args).verdict, Verdict::Ask, "{args}");
        }
    }
}

#[test]
fn all_conditions_of_a_rule_must_hold() {
    let rules = rules(json!([
        {"subject": "t", "allow": true, "when": {"a": {"equals": 1}, "b": {"equals": 2}}},
    ]));
    assert_eq!(decide(&rules, "t", &json!({"a": 1, "b": 2})).verdict, Verdict::Allow);
    assert_eq!(decide(&rules, "t", &json!({"a": 1})).verdict, Verdict::Ask);
    assert_eq!(decide(&rules, "t", &json!({"a": 1, "b": 3})).verdict, Verdict::Ask);
}

#[test]
fn the_first_rule_that_matches_decides_and_false_stops_later_ones() {
    let rules = rules(json!([
        {"subject": "other", "allow": true},
        {"subject": "t", "allow": false, "when": {"a": {"equals": 1}}},
        {"subject": "t", "allow": true},
        {"subject": "t", "allow": false},
    ]));
    let asked = decide(&rules, "t", &json!({"a": 1}));
    assert_eq!((asked.verdict, asked.rule.map(|rule| rule.origin.line)), (Verdict::Ask, Some(2)));
    assert_eq!(asked.why, "a rule asks about `t` when `a` equals 1");
    let allowed = decide(&rules, "t", &json!({"a": 2}));
    let line = allowed.rule.map(|rule| rule.origin.line);
    assert_eq!((allowed.verdict, line), (Verdict::Allow, Some(3)));
    assert_eq!(allowed.why, "a rule allows every `t`");
}

#[test]
fn what_no_rule_matches_is_asked() {
    let nothing = decide(&[], "t", &json!({"a": 1}));
    assert_eq!((nothing.verdict, nothing.rule), (Verdict::Ask, None));
}

#[test]
fn a_reason_is_never_longer_than_a_person_reads() {
    let rules = only(json!({"startsWith": "é".repeat(5_000)}));
    let why = decide(&rules, "t", &json!({"a": "é".repeat(5_000)})).why;
    assert_eq!(why.chars().count(), agentry_kernel::limits::WHY_CHARS_MAX + 1);
}

fn git() -> Value {
    json!([{"subject": "bash", "allow": true, "when": {"command": {"startsWith": "git "}}}])
}

#[test]
fn a_rule_for_a_beginning_allows_a_plain_command() {
    assert_eq!(
        shell(git(), "git status"),
        "allow 1 a rule allows `bash` when `command` starts with \"git \""
    );
    check_shell(git(), "git log --oneline", Verdict::Allow);
    check_shell(git(), "ls", Verdict::Ask);
    check_shell(git(), "gitk", Verdict::Ask);
}

#[test]
fn a_rule_for_a_beginning_carries_nothing_behind_it() {
    for command in [
        "git status; rm -rf x",
        "git status && rm -rf x",
        "git status || rm -rf x",
        "git status | sh",
        "git status & rm -rf x",
        "git status\nrm -rf x",
        "git $(rm -rf x)",
        "git `rm -rf x`",
        "git diff <(rm -rf x)",
        "git log > /etc/passwd",
        "git log >> notes.txt",
        "git status; $(rm -rf x)",
        "git status; eval rm",
        "git $(",
        "git \"$X\"; $Y",
        "git status; (rm x)",
        "git status; f() { rm x; }; f",
        "git $X",
    ] {
        check_shell(git(), command, Verdict::Ask);
        let anywhere = json!([
            {"subject": "bash", "allow": true, "when": {"command": {"matches": "git"}}},
        ]);
        check_shell(anywhere, command, Verdict::Ask);
    }
    for command in [
        "sudo git status",
        "GIT_PAGER=evil git log",
        "env GIT_PAGER=evil git log",
        "bash -c 'git status; rm -rf x'",
        "'git status' x",
        "git -c core.pager=evil log",
    ] {
        check_shell(git(), command, Verdict::Ask);
    }
    let why = shell(git(), "git status; rm -rf x");
    let expected = "ask 1 a rule matches the text, but no rule allows its part `rm -rf x`, \
                    so it needs approval";
    assert_eq!(why, expected);
}

#[test]
fn an_option_that_makes_more_of_a_program_must_be_named_by_the_rule() {
    let rule =
        |matcher: Value| json!([{"subject": "bash", "allow": true, "when": {"command": matcher}}]);
    let edit = "sed -i s/a/b/ notes.txt";
    check_shell(rule(json!({"startsWith": "sed "})), "sed s/a/b/ notes.txt", Verdict::Allow);
    check_shell(rule(json!({"startsWith": "sed "})), edit, Verdict::Ask);
    check_shell(rule(json!({"startsWith": "sed -i "})), edit, Verdict::Allow);
    check_shell(rule(json!({"matches": "^sed -i [a-z/]+ [a-z.]+$"})), edit, Verdict::Allow);
    check_shell(rule(json!({"matches": "^find "})), "find . -name x", Verdict::Allow);
    check_shell(rule(json!({"matches": "^find "})), "find . -delete", Verdict::Ask);
    let why = shell(rule(json!({"startsWith": "sed "})), edit);
    let expected = "ask 1 a rule matches the text, but `-i` makes more of `sed -i s/a/b/ notes.txt` than \
                    the rule names, so it needs approval";
    assert_eq!(why, expected);
}

#[test]
fn several_commands_go_ahead_if_each_may() {
    check_shell(git(), "git add . && git status", Verdict::Allow);
    let two = json!([
        {"subject": "bash", "allow": true, "when": {"command": {"startsWith": "git "}}},
        {"subject": "bash", "allow": true, "when": {"command": {"matches": "^(ls|wc)( |$)"}}},
    ]);
    check_shell(two.clone(), "git log | wc -l", Verdict::Allow);
    check_shell(two, "git log | tee x", Verdict::Ask);
}

#[test]
fn a_rule_that_asks_is_found_behind_any_other_command() {
    let list = json!([
        {"subject": "bash", "allow": false, "when": {"command": {"startsWith": "git push"}}},
        {"subject": "bash", "allow": true},
    ]);
    check_shell(list.clone(), "git status", Verdict::Allow);
    check_shell(list.clone(), "git push", Verdict::Ask);
    check_shell(list.clone(), "git status; git push", Verdict::Ask);
    check_shell(list.clone(), "git status && git  push", Verdict::Ask);
    check_shell(list.clone(), "git log > notes.txt", Verdict::Allow);
    // It cannot be told what these run.
    check_shell(list.clone(), "git status; $X", Verdict::Ask);
    check_shell(list, "git $X", Verdict::Ask);
}

#[test]
fn a_rule_that_names_the_whole_text_means_that_text() {
    let text = "cargo fmt && cargo test > out.txt";
    for matcher in [json!({"equals": text}), json!({"in": ["x", text]})] {
        let list = json!([{"subject": "bash", "allow": true, "when": {"command": matcher}}]);
        check_shell(list.clone(), text, Verdict::Allow);
        check_shell(list, &format!("{text}; ls"), Verdict::Ask);
    }
}

#[test]
fn a_rule_without_a_look_at_the_command_allows_any() {
    let all = json!([{"subject": "bash", "allow": true}]);
    check_shell(all, "eval \"$X\"; ls > x", Verdict::Allow);
}

#[test]
fn tasks_have_no_shell() {
    let rules = rules(json!([
        {"subject": "bash", "allow": true, "when": {"command": {"startsWith": "a"}}},
    ]));
    let inputs = json!({"command": "a; b"});
    assert_eq!(decide_task(&rules, "bash", &inputs).verdict, Verdict::Allow);
}

fn with_examples(list: Value, allow: Value, ask: Value) -> Vec<ApprovalRule> {
    let mut rules = rules(list);
    let example = |expected, args: &Value| agentry_agentfile::approval_rule::ApprovalExample {
        expected,
        args: args.clone(),
        origin: agentry_agentfile::source::Origin::named("built-in"),
    };
    let each = |list: &Value, expected| -> Vec<_> {
        list.as_array().into_iter().flatten().map(|args| example(expected, args)).collect()
    };
    let last = rules.last_mut().expect("there is a rule");
    last.examples = each(&allow, ExpectedVerdict::Allow);
    last.examples.extend(each(&ask, ExpectedVerdict::Ask));
    rules
}

fn defects(rules: &[ApprovalRule]) -> Vec<String> {
    let one = |defect: agentry_agentfile::approval_rule::ExampleDefect| {
        format!("{}/{}: {}", defect.rule, defect.example, defect.message)
    };
    try_examples(RuleKind::Tool, rules).into_iter().map(one).collect()
}

#[test]
fn examples_are_tried_with_all_rules_in_order() {
    let list = json!([
        {"subject": "bash", "allow": false, "when": {"command": {"startsWith": "git push"}}},
        {"subject": "bash", "allow": true, "when": {"command": {"startsWith": "git "}}},
    ]);
    let good = with_examples(
        list.clone(),
        json!([{"command": "git status"}]),
        json!([{"command": "git push"}, {"command": "git status; ls"}, {"command": "ls"}]),
    );
    assert_eq!(defects(&good), [""; 0]);
    let bad = with_examples(
        list,
        json!([{"command": "git push"}, {"command": "git log"}]),
        json!([{"command": "git log"}]),
    );
    assert_eq!(
        defects(&bad),
        [
            "1/0: it must be allowed, but needs approval: \
             a rule asks about `bash` when `command` starts with \"git push\"",
            "1/2: it must need approval, but is allowed: \
             a rule allows `bash` when `command` starts with \"git \"",
        ]
    );
}

#[test]
fn an_example_must_go_ahead_by_the_rule_that_has_it() {
    let list = json!([
        {"subject": "t", "allow": true, "when": {"a": {"equals": 1}}},
        {"subject": "t", "allow": true, "when": {"a": {"in": [1, 2]}}},
    ]);
    let rules = with_examples(list, json!([{"a": 1}, {"a": 2}]), json!([]));
    let expected = ["1/0: the rule at AGENT.md:1:1 allows it, not this one"];
    assert_eq!(defects(&rules), expected);
}

/// The matchers once more, as plainly as they can be said.
fn plainly(matcher: &Value, value: &Value) -> bool {
    let (key, wanted) = matcher.as_object().and_then(|map| map.iter().next()).expect("one key");
    let list = || wanted.as_array().expect("a list");
    let equal = |a: &Value, b: &Value| match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    };
    let has = |part: &Value| match (value, part) {
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (Value::Array(items), part) => items.iter().any(|item| equal(item, part)),
        _ => false,
    };
    match key.as_str() {
        "equals" => equal(wanted, value),
        "in" => list().iter().any(|one| equal(one, value)),
        "startsWith" => match (value, wanted) {
            (Value::String(text), Value::String(start)) => text.find(start.as_str()) == Some(0),
            _ => false,
        },
        // The expressions below are letters only.
        "matches" => matches!(value, Value::String(_)) && has(wanted),
        "contains" => has(wanted),
        "containsAll" => (value.is_string() || value.is_array()) && list().iter().all(has),
        "anyOf" => list().iter().any(|one| plainly(one, value)),
        "allOf" => !list().iter().any(|one| !plainly(one, value)),
        other => panic!("{other} is no matcher"),
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[ab]{0,3}".prop_map(Value::from),
        (-2..3_i64).prop_map(Value::from),
        (-2..3_i64).prop_map(|whole| json!(whole as f64)),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![3 => scalar(), 1 => prop::collection::vec(scalar(), 0..4).prop_map(Value::from)]
}

fn matcher() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        scalar().prop_map(|one| json!({"equals": one})),
        prop::collection::vec(scalar(), 0..4).prop_map(|list| json!({"in": list})),
        "[ab]{0,2}".prop_map(|text| json!({"startsWith": text})),
        "[ab]{0,2}".prop_map(|text| json!({"matches": text})),
        scalar().prop_map(|one| json!({"contains": one})),
        prop::collection::vec(scalar(), 0..3).prop_map(|list| json!({"containsAll": list})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let list = prop::collection::vec(inner, 1..4);
        (list, any::<bool>()).prop_map(|(list, any)| {
            if any { json!({"anyOf": list}) } else { json!({"allOf": list}) }
        })
    })
}

fn rule_list() -> impl Strategy<Value = Value> {
    let rule = (any::<bool>(), prop::option::of(matcher()), any::<bool>()).prop_map(
        |(allow, matcher, bash)| {
            let (subject, argument) = if bash { ("bash", "command") } else { ("t", "a") };
            match matcher {
                Some(matcher) => {
                    json!({"subject": subject, "allow": allow, "when": {argument: matcher}})
                }
                None => json!({"subject": subject, "allow": allow}),
            }
        },
    );
    prop::collection::vec(rule, 0..5).prop_map(Value::from)
}

fn command() -> impl Strategy<Value = String> {
    let word = prop_oneof!["[ab]{1,3}", Just("$(b)".to_owned()), Just("> a".to_owned())];
    let between = prop_oneof![Just(" "), Just("; "), Just(" && "), Just(" | "), Just("\n")];
    prop::collection::vec((word, between), 1..4).prop_map(|words| {
        let text: String = words.into_iter().map(|(word, between)| word + between).collect();
        text.trim_end_matches([' ', ';', '&', '|', '\n']).to_owned()
    })
}

proptest! {
    #[test]
    fn matchers_do_what_they_say(matcher in matcher(), value in value()) {
        let rules = only(matcher.clone());
        let verdict = decide(&rules, "t", &json!({"a": value})).verdict;
        prop_assert_eq!(verdict == Verdict::Allow, plainly(&matcher, &value));
    }

    #[test]
    fn a_missing_key_never_matches(matcher in matcher(), value in value()) {
        let rules = only(matcher);
        prop_assert_eq!(decide(&rules, "t", &json!({"b": value})).verdict, Verdict::Ask);
    }

    #[test]
    fn a_rule_that_asks_put_first_never_widens(
        list in rule_list(), matcher in prop::option::of(matcher()), value in value(),
        command in command(),
    ) {
        let mut when = serde_json::Map::new();
        when.extend(matcher.clone().map(|matcher| ("command".to_owned(), matcher)));
        let mut more = vec![json!({"subject": "bash", "allow": false, "when": when})];
        let mut when = serde_json::Map::new();
        when.extend(matcher.map(|matcher| ("a".to_owned(), matcher)));
        more.push(json!({"subject": "t", "allow": false, "when": when}));
        more.extend(list.as_array().cloned().unwrap_or_default());
        let (before, after) = (rules(list), rules(json!(more)));
        for (tool, args) in [("t", json!({"a": value})), ("bash", json!({"command": command}))] {
            let (before, after) = (decide(&before, tool, &args), decide(&after, tool, &args));
            prop_assert!(after.verdict >= before.verdict, "{args}: {} {}", before.why, after.why);
        }
    }

    #[test]
    fn compiled_expressions_change_nothing(list in rule_list(), value in value()) {
        let rules = rules(list);
        let patterns = RulePatterns::of(&rules);
        let args = json!({"a": value});
        prop_assert_eq!(decide(&rules, "t", &args), decide_with(&patterns, &rules, "t", &args));
    }
}

fn by_matcher(matcher: Value, command: &str) -> Verdict {
    let list = json!([{"subject": "bash", "allow": true, "when": {"command": matcher}}]);
    decide(&rules(list), "bash", &json!({"command": command})).verdict
}

#[track_caller]
fn check_cover(matcher: Value, allowed: &[&str], asked: &[&str]) {
    for command in allowed {
        assert_eq!(by_matcher(matcher.clone(), command), Verdict::Allow, "{matcher}: {command}");
    }
    for command in asked {
        assert_eq!(by_matcher(matcher.clone(), command), Verdict::Ask, "{matcher}: {command}");
    }
}

#[test]
fn a_rule_covers_a_name_without_a_slash_of_its_own() {
    let start = |text: &str| json!({"startsWith": text});
    check_cover(
        start("ls"),
        &["ls", "ls -l", "lsof"],
        &["ls/../run.sh", "ls/evil.sh", "ls/x -l", "./ls"],
    );
    check_cover(start("./run"), &["./run", "./run.sh"], &["./run/x", "./run/../x", "./run.d/x"]);
    check_cover(
        start("./scripts/"),
        &["./scripts/a", "./scripts/a/b x"],
        &["./scripts/../x", "./scripts/a/../../x", "./scripts/.."],
    );
    check_cover(
        start("cat docs/"),
        &["cat docs/a", "cat docs/a/b ../c"],
        &["cat docs/../a", "cat docs/.."],
    );
    check_cover(start("cat docs/../a"), &["cat docs/../a"], &["cat docs/../a/../b"]);
}

#[test]
fn an_expression_covers_no_more_of_a_name_than_it_fits() {
    let pattern = |text: &str| json!({"matches": text});
    check_cover(pattern("^ls"), &["ls", "ls -l"], &["ls/../run.sh", "ls/evil.sh"]);
    check_cover(pattern("^ls.*"), &["ls -l a/b"], &["ls/../run.sh"]);
    check_cover(pattern("^cat src/|^ls"), &["cat src/a", "ls"], &["ls/evil"]);
    check_cover(
        pattern(r"^\./scripts/[a-z]+\.sh( |$)"),
        &["./scripts/build.sh", "./scripts/build.sh --all"],
        &["./scripts/../x.sh", "x./scripts/a.sh"],
    );
    check_cover(pattern("x/y"), &["cat x/y"], &["./x/y"]);
    check_cover(json!({"contains": "test"}), &["cat test"], &["./x/test", "/tmp/test a"]);
}

#[test]
fn a_word_is_named_only_as_a_whole() {
    let start = |text: &str| json!({"startsWith": text});
    check_cover(start("git log --output"), &["git log --output=x"], &["git log --output-x=y"]);
    check_cover(start("git log --output="), &["git log --output=x"], &["git log --output x"]);
    check_cover(start("git log --out"), &[], &["git log --output=x", "git log --out=x --o=y"]);
    check_cover(
        start("sort -o"),
        &["sort -o a b"],
        &["sort -oa b", "sort -o a -o b", "sort -o a --o=b"],
    );
    check_cover(
        start("python3 a"),
        &["python3 a", "python3 a -c x"],
        &["python3 ab", "python3 a.py"],
    );
    check_cover(start("tar -C"), &[], &["tar -Cd -xf a"]);
    let pattern = |text: &str| json!({"matches": text});
    check_cover(
        pattern("^git .*"),
        &["git log"],
        &["git rebase -x x", "git frob", "git -c a=b log"],
    );
    check_cover(
        pattern("^python3 .*$"),
        &["python3 --version"],
        &["python3 .", "python3 a.py", "python3 *"],
    );
    check_cover(
        pattern(r"^python3 tools/a\.py"),
        &["python3 tools/a.py x"],
        &["python3 tools/b.py"],
    );
    check_cover(
        pattern("^python3 (a|b)"),
        &["python3 a", "python3 b"],
        &["python3 ab", "python3 c"],
    );
    check_cover(pattern("^sort (-o|-u) "), &["sort -o a b", "sort -u a"], &["sort -u --o=a b"]);
    check_cover(pattern("--output="), &["git log --output=x"], &["sort --output-x=y"]);
    check_cover(json!({"contains": "-o"}), &["sort -o a b"], &["sort --o=a -ob", "sort -oa"]);
    check_cover(json!({"containsAll": ["sort", "-o"]}), &["sort -o a b"], &["sort -xo a"]);
}

#[test]
fn of_several_matchers_only_those_that_hold_name_words() {
    let any = json!({"anyOf": [{"startsWith": "sort -u"}, {"startsWith": "sort -o"}, {"startsWith": "sort"}]});
    check_cover(any, &["sort -o a b", "sort -u a"], &["sort -u -o a", "sort -r -o a"]);
    let all = json!({"allOf": [{"startsWith": "git "}, {"matches": "log"}]});
    check_cover(all, &["git log", "git log -3"], &["git log --output=F", "git status"]);
    let exact = json!({"anyOf": [{"equals": "sort -o a b"}, {"startsWith": "sort"}]});
    check_cover(exact, &["sort -o a b", "sort a"], &["sort -o a c"]);
}

#[test]
fn variables_for_a_command_must_be_harmless_or_named() {
    let git = json!({"matches": "git"});
    check_cover(
        git,
        &["LANG=C git log", "git log"],
        &[
            "GIT_SSH_COMMAND=x git fetch",
            "X=1 git log",
            "env LD_PRELOAD=git git log",
            "PATH=git; git log",
        ],
    );
    let named = json!({"matches": "^(GIT_PAGER=cat )?git log"});
    check_cover(named, &["git log"], &["GIT_PAGER=less git log"]);
}

#[test]
fn a_redirection_is_judged_by_its_exact_target() {
    let echo = json!({"startsWith": "echo"});
    check_cover(
        echo,
        &[
            "echo x > /dev/null",
            "echo x >&2",
            "echo x > /dev/stdout",
            "echo x 2> /dev/fd/1",
            "echo x > /dev/fd/23",
        ],
        &[
            "echo x > /dev/fd/../../self/cwd/F",
            "echo x > /dev/fd/",
            "echo x > /dev/fd/1a",
            "echo x > /dev/stdout/../F",
            "echo x > /dev/nullx",
            "echo x > /proc/self/fd/1",
            "echo x 3<F > /dev/fd/3",
            "echo x <F > /dev/stdin",
            "{ echo x > /dev/stdout; } 1<F",
            "echo x < /dev/tcp/h/1",
            "echo x < /dev/udp/h/1",
        ],
    );
    check_cover(
        json!({"startsWith": "cat"}),
        &["cat < a", "cat < a > /dev/null"],
        &["cat < a > /dev/stdout"],
    );
}

#[test]
fn lists_and_objects_are_compared_as_a_whole() {
    for (wanted, value, expected) in [
        (json!([1, 2]), json!([1, 2.0]), true),
        (json!([1, 2]), json!([1, 3]), false),
        (json!([1, 2]), json!([1]), false),
        (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), true),
        (json!({"a": 1, "b": 2}), json!({"a": 1, "b": 3}), false),
        (json!({"a": 1}), json!({"a": 1, "b": 2}), false),
        (json!({"a": 1}), json!({"b": 1}), false),
    ] {
        check(json!({"equals": wanted}), value, expected);
    }
}

#[test]
fn a_rule_is_for_one_text_if_one_of_all_its_conditions_is() {
    let both = json!({"allOf": [{"equals": "git log; ls"}, {"startsWith": "git"}]});
    assert_eq!(by_matcher(both, "git log; ls"), Verdict::Allow);
    let either = json!({"anyOf": [{"equals": "git log; rm x"}, {"startsWith": "git"}]});
    assert_eq!(by_matcher(either, "git log; ls"), Verdict::Ask);
}

#[test]
fn a_rule_that_names_a_variable_speaks_for_it() {
    let start = |text: &str| json!({"startsWith": text});
    assert_eq!(by_matcher(start("ls"), "LD_PRELOAD=./x ls"), Verdict::Ask);
    let named = json!({"anyOf": [start("LD_PRELOAD=./x"), start("LD")]});
    assert_eq!(by_matcher(named, "LD_PRELOAD=./x"), Verdict::Allow);
    assert_eq!(by_matcher(start("LD"), "LD_PRELOAD=./x"), Verdict::Ask);
    // A command line that only sets a variable runs nothing that could be hidden.
    assert_eq!(by_matcher(start("A="), "A=1"), Verdict::Allow);
}

#[test]
fn a_word_is_named_only_where_it_stands_by_itself() {
    let piece = json!({"contains": "rebase --exec-path"});
    let command = "git rebase --exec=./x 'rebase --exec-path'";
    assert_eq!(by_matcher(piece, command), Verdict::Ask);
}

#[test]
fn a_rule_that_ends_before_a_word_says_nothing_about_where_the_word_leads() {
    check_cover(json!({"startsWith": "cat "}), &["cat ../x", "cat a/b"], &[]);
    check_cover(json!({"startsWith": "cat docs/"}), &["cat docs/x"], &["cat docs/../x"]);
}
