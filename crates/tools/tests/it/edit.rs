//! Editing: exactly the match changes, and nothing is guessed.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::Bench;

fn input(old: &str, new: &str) -> Value {
    json!({"path": "a.txt", "old_string": old, "new_string": new})
}

fn all(old: &str, new: &str) -> Value {
    json!({"path": "a.txt", "old_string": old, "new_string": new, "replace_all": true})
}

#[track_caller]
fn check(before: &str, input: Value, after: &str) {
    let bench = Bench::with(&[("a.txt", before)]);
    bench.done("edit_file", input);
    assert_eq!(bench.text("a.txt"), after);
}

#[track_caller]
fn check_fails(before: &str, input: Value, answer: &str) {
    let bench = Bench::with(&[("a.txt", before)]);
    assert_eq!(bench.failed("edit_file", input), answer);
    assert_eq!(bench.text("a.txt"), before);
}

#[test]
fn a_text_that_stands_once_is_replaced() {
    let bench = Bench::with(&[("a.txt", "one\ntwo\nthree\n")]);
    assert_eq!(
        bench.done("edit_file", input("two", "2")),
        "Replaced 1 occurrence in `a.txt` (line 2)."
    );
    assert_eq!(bench.text("a.txt"), "one\n2\nthree\n");
    assert_eq!(bench.names(""), ["a.txt"]);
}

#[test]
fn every_occurrence_is_replaced_on_request() {
    let bench = Bench::with(&[("a.txt", "x\ny\nx x\n")]);
    assert_eq!(
        bench.done("edit_file", all("x", "zz")),
        "Replaced 3 occurrences in `a.txt` (lines 1, 3, 3)."
    );
    assert_eq!(bench.text("a.txt"), "zz\ny\nzz zz\n");
}

#[test]
fn the_new_text_is_taken_as_it_is() {
    check("a b c", input("b", "$1 $& \\1 ${x}"), "a $1 $& \\1 ${x} c");
    check("a.c abc", input("a.c", "x"), "x abc");
    check("a b", input(" b", ""), "a");
}

#[test]
fn a_missing_line_end_at_the_end_stays_missing() {
    check("one\ntwo", input("one", "1"), "1\ntwo");
    check("one\ntwo\n", input("two", "2"), "one\n2\n");
}

#[test]
fn the_line_ends_of_the_file_are_kept() {
    check("one\r\ntwo\r\nthree\r\n", input("one\ntwo", "1\n2\n2b"), "1\r\n2\r\n2b\r\nthree\r\n");
    check("one\r\ntwo\r\n", input("two", "2\n3"), "one\r\n2\r\n3\r\n");
    check("one\r\ntwo\r\n", input("one\r\ntwo", "1\r\n2"), "1\r\n2\r\n");
    // In a mixed file the match decides.
    check("a\r\nb\nc\n", input("b\nc", "B\nC"), "a\r\nB\nC\n");
    check("a\r\nb\r\nc\n", input("a\nb", "A\nB"), "A\r\nB\r\nc\n");
}

#[test]
fn a_text_that_is_not_there_is_a_failure_with_a_hint() {
    check_fails(
        "one\n",
        input("two", "2"),
        "`old_string` was not found in a.txt. Read the file again and copy it exactly.",
    );
    check_fails(
        "x\n\tfn a() {\n}\n",
        input("  fn a() {\n}", "2"),
        "`old_string` was not found in a.txt. Line 2 begins like it but differs in white space or \
         in what follows. Read the file again and copy it exactly.",
    );
}

#[test]
fn a_text_that_stands_more_than_once_is_a_failure_with_its_lines() {
    check_fails(
        "x\ny\nx\n",
        input("x", "z"),
        "old_string stands 2 times in `a.txt` (lines 1, 3). Give more of the text around the one \
         you mean, or set replace_all.",
    );
    check_fails(
        "aaa",
        input("aa", "b"),
        "old_string stands 2 times in `a.txt` (lines 1, 1). Give more of the text around the one \
         you mean, or set replace_all.",
    );
    check_fails(
        &"x\n".repeat(12),
        input("x", "z"),
        "old_string stands 12 times in `a.txt` (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …). Give more \
         of the text around the one you mean, or set replace_all.",
    );
}

#[test]
fn an_edit_that_changes_nothing_is_a_failure() {
    check_fails(
        "x",
        input("x", "x"),
        "old_string and new_string are the same; there is nothing to change.",
    );
    check_fails("x", input("", "y"), "old_string is empty. To write a whole file, use write_file.");
}

#[test]
fn a_binary_or_a_missing_file_is_not_edited() {
    let bench = Bench::with(&[]);
    assert_eq!(bench.failed("edit_file", input("x", "y")), "There is no `a.txt`.");
    std::fs::write(bench.root.join("a.txt"), b"x\xff").unwrap();
    assert_eq!(
        bench.failed("edit_file", input("x", "y")),
        "`a.txt` is a binary file; only text is edited."
    );
}

#[test]
fn neither_a_file_nor_a_result_over_the_limit_is_handled() {
    let mut bench = Bench::with(&[("a.txt", "12345")]);
    bench.bounds.write_bytes = 5;
    bench.done("edit_file", input("5", "6"));
    assert_eq!(
        bench.failed("edit_file", input("6", "67")),
        "`a.txt` has 6 bytes; at most 5 are handled."
    );
    bench.bounds.write_bytes = 4;
    assert_eq!(
        bench.failed("edit_file", input("6", "7")),
        "`a.txt` has 5 bytes; at most 4 are handled."
    );
    assert_eq!(bench.text("a.txt"), "12346");
}

#[test]
fn a_preview_shows_the_change_and_makes_none() {
    let bench = Bench::with(&[("a.txt", "one\ntwo\n")]);
    assert_eq!(
        bench.preview("edit_file", input("two", "2")).as_deref(),
        Some("--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    );
    assert_eq!(bench.preview("edit_file", input("four", "4")), None);
    assert_eq!(bench.text("a.txt"), "one\ntwo\n");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_byte_outside_the_match_changes(
        before in "([abé \\t]|\n|\r\n){0,20}",
        old in "[XYZ]([abé]|\n|\r\n){0,6}[XYZ]",
        after in "([abé \\t]|\n|\r\n){0,20}",
        new in "([abc$\\\\]|\n|\r\n){0,8}",
    ) {
        // The marks X, Y and Z stand in `old` alone, so the match is unique where it is there.
        let text = format!("{before}{old}{after}");
        let bench = Bench::with(&[("a.txt", &text)]);
        let outcome = bench.run("edit_file", input(&old, &new));
        let result = bench.text("a.txt");
        if outcome.status == agentry_protocol::tool_call::OutcomeStatus::Done {
            prop_assert!(result.starts_with(&before), "{text:?} {result:?}");
            prop_assert!(result.ends_with(&after), "{text:?} {result:?}");
            let middle = &result[before.len()..result.len() - after.len()];
            prop_assert_eq!(middle.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        } else {
            prop_assert_eq!(result, text);
        }
    }
}
