//! Finding files and lines.

use std::fs;

use agentry_protocol::tool_call::OutcomeStatus;
use serde_json::json;

use crate::Bench;

fn tree() -> Bench {
    Bench::with(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        (".hidden/h.rs", "needle"),
        (".git/config.rs", "needle"),
        ("a.rs", "one\nneedle here\nthree\n"),
        ("b.txt", "Needle\n"),
        ("keep.log", "needle"),
        ("skip.log", "needle"),
        ("src/.gitignore", "made.rs\n"),
        ("src/deep/c.rs", "needle\nneedle\n"),
        ("src/made.rs", "needle"),
        ("target/x.rs", "needle"),
    ])
}

#[test]
fn a_pattern_finds_files_in_one_order() {
    let bench = tree();
    let glob = |pattern| bench.done("glob", json!({"pattern": pattern}));
    assert_eq!(glob("**/*.rs"), "a.rs\nsrc/deep/c.rs");
    assert_eq!(glob("*.rs"), "a.rs");
    assert_eq!(glob("./*.rs"), "a.rs");
    assert_eq!(glob("**"), "a.rs\nb.txt\nkeep.log\nsrc/deep/c.rs");
    assert_eq!(glob("{a,b}.*"), "a.rs\nb.txt");
    assert_eq!(glob("nothing"), "No file matches `nothing`.");
}

#[test]
fn a_pattern_counts_from_the_directory_that_is_given() {
    let bench = tree();
    let glob = |path| bench.done("glob", json!({"pattern": "deep/*.rs", "path": path}));
    assert_eq!(glob("src"), "src/deep/c.rs");
    assert_eq!(glob("./src/"), "src/deep/c.rs");
    assert_eq!(glob(bench.workspace.path().join("src").to_str().unwrap()), "src/deep/c.rs");
}

#[test]
fn hidden_files_are_found_when_they_are_named() {
    let bench = tree();
    assert_eq!(bench.done("glob", json!({"pattern": ".hidden/*"})), ".hidden/h.rs");
    assert_eq!(bench.done("glob", json!({"pattern": "*", "path": ".hidden"})), ".hidden/h.rs");
    let git = bench.done("glob", json!({"pattern": ".git/*"}));
    assert_eq!(git, "No file matches `.git/*`.");
}

#[test]
fn a_directory_that_is_ignored_is_searched_when_it_is_named() {
    let bench = tree();
    assert_eq!(bench.done("glob", json!({"pattern": "*", "path": "target"})), "target/x.rs");
    assert_eq!(
        bench.done("grep", json!({"pattern": "needle", "path": "skip.log"})),
        "skip.log:1:needle"
    );
}

#[test]
fn a_wrong_pattern_is_a_failure_with_its_reason() {
    let bench = tree();
    assert_eq!(
        bench.failed("glob", json!({"pattern": "a[b"})),
        "The pattern `a[b` is wrong: unclosed character class; missing ']'."
    );
    let text = bench.failed("grep", json!({"pattern": "a(b"}));
    assert!(
        text.starts_with("The pattern is wrong: ") && text.contains("unclosed group"),
        "{text}"
    );
    let text = bench.failed("grep", json!({"pattern": "(a{1000}){1000}"}));
    assert!(text.starts_with("The pattern is wrong: "), "{text}");
}

#[test]
fn lines_are_found_with_path_and_number() {
    let bench = tree();
    assert_eq!(
        bench.done("grep", json!({"pattern": "need.e"})),
        "a.rs:2:needle here\nkeep.log:1:needle\nsrc/deep/c.rs:1:needle\nsrc/deep/c.rs:2:needle"
    );
    assert_eq!(
        bench.done("grep", json!({"pattern": "needle", "ignore_case": true, "glob": "*.txt"})),
        "b.txt:1:Needle"
    );
    assert_eq!(
        bench.done("grep", json!({"pattern": "needle", "glob": "src/**/*.rs", "max_results": 9})),
        "src/deep/c.rs:1:needle\nsrc/deep/c.rs:2:needle"
    );
    assert_eq!(
        bench.done("grep", json!({"pattern": "needle", "path": "src", "glob": "deep/*"})),
        "src/deep/c.rs:1:needle\nsrc/deep/c.rs:2:needle"
    );
    assert_eq!(bench.done("grep", json!({"pattern": "absent"})), "Nothing matches `absent`.");
}

#[test]
fn lines_around_a_match_are_shown_on_request() {
    let bench = Bench::with(&[("a", "1\n2\nx\n4\n5\n6\n7\nx\n")]);
    assert_eq!(
        bench.done("grep", json!({"pattern": "x", "context": 1})),
        "a-2-2\na:3:x\na-4-4\n--\na-7-7\na:8:x"
    );
}

#[test]
fn results_are_cut_at_the_limit_and_marked() {
    let mut bench = Bench::with(&[("a", "x\nx\nx\n"), ("b", "x\n"), ("c", "")]);
    let grep = |bench: &Bench, most: u64| {
        let outcome = bench.run("grep", json!({"pattern": "x", "max_results": most}));
        (outcome.text, outcome.measured.truncated)
    };
    assert_eq!(grep(&bench, 4), ("a:1:x\na:2:x\na:3:x\nb:1:x".to_owned(), false));
    assert_eq!(
        grep(&bench, 3),
        ("a:1:x\na:2:x\na:3:x\n[cut: there are more results]".to_owned(), true)
    );
    bench.bounds.search_results = 2;
    assert_eq!(grep(&bench, 3).0, "a:1:x\na:2:x\n[cut: there are more results]");
    assert_eq!(bench.done("glob", json!({"pattern": "*"})), "a\nb\n[cut: there are more results]");
    bench.bounds.search_results = 3;
    assert_eq!(bench.done("glob", json!({"pattern": "*"})), "a\nb\nc");
}

#[test]
fn a_walk_ends_at_its_limit_of_entries_and_says_so() {
    let mut bench = Bench::with(&[("a", "x"), ("b/1", "x"), ("b/2", "x")]);
    bench.bounds.search_entries = 4;
    assert_eq!(bench.done("glob", json!({"pattern": "**"})), "a\nb/1\nb/2");
    bench.bounds.search_entries = 2;
    assert_eq!(
        bench.done("glob", json!({"pattern": "**"})),
        "a\n[cut: too many files, not all were looked at]"
    );
}

#[test]
fn a_walk_ends_when_its_time_is_over_or_it_is_stopped() {
    let mut bench = tree();
    bench.bounds.search_ms = 0;
    assert_eq!(
        bench.done("grep", json!({"pattern": "needle"})),
        "Nothing matches `needle`.\n[cut: the time was over before all files were looked at]"
    );
    bench.stop.stop();
    let outcome = bench.run("glob", json!({"pattern": "**"}));
    assert_eq!(outcome.status, OutcomeStatus::Stopped);
    assert_eq!(
        outcome.text,
        "No file matches `**`.\n[cut: stopped before all files were looked at]"
    );
}

#[test]
fn a_walk_ends_at_its_depth() {
    let bench = Bench::with(&[("a", "")]);
    let mut path = bench.root.clone();
    for _ in 0..130 {
        path.push("d");
        fs::create_dir(&path).unwrap();
    }
    assert_eq!(
        bench.done("glob", json!({"pattern": "**"})),
        "a\n[cut: too many files, not all were looked at]"
    );
}

#[test]
fn a_file_as_large_as_the_limit_is_searched_and_a_larger_one_is_named() {
    let mut bench = Bench::with(&[("a", "needle"), ("b", "needles")]);
    bench.bounds.search_file_bytes = 6;
    assert_eq!(
        bench.done("grep", json!({"pattern": "needle"})),
        "a:1:needle\n[skipped 1 file larger than 6 bytes]"
    );
}

#[test]
fn binary_files_are_passed_by() {
    let bench = Bench::with(&[("a.txt", "needle")]);
    fs::write(bench.root.join("early"), b"\0\nneedle\n").unwrap();
    // Past the first piece that is read, when lines were already found.
    let late = format!("needle\n{}\0\n", "text\n".repeat(100_000));
    fs::write(bench.root.join("late"), late).unwrap();
    assert_eq!(bench.done("grep", json!({"pattern": "needle"})), "a.txt:1:needle");
}

#[test]
fn a_long_line_is_cut() {
    let line = format!("needle{}", "ü".repeat(1_000));
    let bench = Bench::with(&[("a", &line)]);
    let expected = format!("a:1:needle{}…", "ü".repeat(294));
    assert_eq!(bench.done("grep", json!({"pattern": "needle"})), expected);
}

#[test]
fn the_whole_answer_has_a_limit() {
    let line = format!("{}\n", "x".repeat(300));
    let bench = Bench::with(&[("a", &line.repeat(200))]);
    let text = bench.done("grep", json!({"pattern": "x", "context": 20}));
    assert!(text.chars().count() < 61_000);
    assert!(text.ends_with("\n[cut: there are more results]"));
}

#[test]
fn a_search_where_nothing_is_gives_a_failure() {
    let bench = tree();
    assert_eq!(
        bench.failed("glob", json!({"pattern": "*", "path": "scr"})),
        "There is no `scr`. Did you mean `src`?"
    );
    bench.failed("grep", json!({"pattern": "x", "path": "nowhere"}));
    assert_eq!(
        bench.failed("glob", json!({"pattern": "*", "path": "a.rs"})),
        "`a.rs` is no directory, or leads through something that is none."
    );
}
