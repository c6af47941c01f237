//! Reading and writing files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::Bench;

fn lines(count: u64) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[test]
fn a_file_is_read_with_the_number_of_its_lines() {
    let bench = Bench::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "one\r\ntwo"), ("c.txt", "")]);
    assert_eq!(bench.done("read_file", json!({"path": "a.txt"})), "[lines 1-2 of 2]\none\ntwo\n");
    assert_eq!(bench.done("read_file", json!({"path": "b.txt"})), "[lines 1-2 of 2]\none\r\ntwo");
    assert_eq!(bench.done("read_file", json!({"path": "c.txt"})), "[empty file]");
}

#[test]
fn a_range_of_lines_counts_from_one_and_includes_its_end() {
    let bench = Bench::with(&[("a.txt", &lines(9))]);
    let read = |from, to| {
        bench.done("read_file", json!({"path": "a.txt", "start_line": from, "end_line": to}))
    };
    assert_eq!(read(2, 3), "[lines 2-3 of 9]\nline 2\nline 3\n");
    assert_eq!(read(9, 9), "[lines 9-9 of 9]\nline 9\n");
    assert_eq!(read(8, 99), "[lines 8-9 of 9]\nline 8\nline 9\n");
}

#[test]
fn a_range_that_is_not_there_is_a_failure() {
    let bench = Bench::with(&[("a.txt", &lines(9))]);
    assert_eq!(
        bench.failed("read_file", json!({"path": "a.txt", "start_line": 10})),
        "`a.txt` has 9 lines; start_line 10 is past the end."
    );
    assert_eq!(
        bench.failed("read_file", json!({"path": "a.txt", "start_line": 3, "end_line": 2})),
        "The range is empty: start_line 3 comes after end_line 2."
    );
}

#[test]
fn a_text_as_long_as_the_limit_is_read_whole_and_one_byte_more_is_cut() {
    let mut bench = Bench::with(&[("a.txt", "aaaa\nbbbb\ncccc\n")]);
    bench.bounds.read_bytes = 15;
    let outcome = bench.run("read_file", json!({"path": "a.txt"}));
    assert_eq!(outcome.text, "[lines 1-3 of 3]\naaaa\nbbbb\ncccc\n");
    assert!(!outcome.measured.truncated);
    bench.bounds.read_bytes = 14;
    let outcome = bench.run("read_file", json!({"path": "a.txt"}));
    assert_eq!(outcome.text, "[lines 1-2 of 3; cut, read on with start_line 3]\naaaa\nbbbb\n");
    assert!(outcome.measured.truncated);
}

#[test]
fn reading_on_as_told_gives_the_whole_file() {
    let text = lines(5_000);
    let mut bench = Bench::with(&[("a.txt", &text)]);
    bench.bounds.read_bytes = 10_000;
    let mut whole = String::new();
    let mut from = 1;
    loop {
        let answer = bench.done("read_file", json!({"path": "a.txt", "start_line": from}));
        let (head, rest) = answer.split_once('\n').unwrap();
        whole.push_str(rest);
        match head.split_once("read on with start_line ") {
            Some((_, next)) => from = next.trim_end_matches(']').parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(whole, text);
}

#[test]
fn a_single_line_longer_than_the_limit_is_cut_at_a_whole_character() {
    let mut bench = Bench::with(&[("a.txt", "€€€\nx\n"), ("b.txt", "€€€")]);
    bench.bounds.read_bytes = 4;
    assert_eq!(
        bench.done("read_file", json!({"path": "a.txt"})),
        "[lines 1-1 of 2; line 1 is cut, read on with start_line 2]\n€"
    );
    assert_eq!(
        bench.done("read_file", json!({"path": "b.txt"})),
        "[lines 1-1 of 1; line 1 is cut]\n€"
    );
}

#[test]
fn what_is_no_text_is_named_and_not_shown() {
    let bench = Bench::with(&[("BM.txt", "BM is no picture"), ("gz", "BZh")]);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    for (name, bytes, kind) in [
        ("a.png", png.as_slice(), "PNG image"),
        ("a.jpg", b"\xff\xd8\xff\xe0", "JPEG image"),
        ("a.webp", b"RIFF\x01\x02\x03\x04WEBPVP8 ", "WebP image"),
        ("a.pdf", b"%PDF-1.7", "PDF document"),
        ("a.bin", b"abc\0def", "binary file"),
        ("latin.txt", b"caf\xe9\n", "binary file"),
    ] {
        fs::write(bench.root.join(name), bytes).unwrap();
        let expected =
            format!("`{name}` is a {kind} of {} bytes; it is not shown as text.", bytes.len());
        assert_eq!(bench.done("read_file", json!({"path": name})), expected);
    }
    assert_eq!(
        bench.done("read_file", json!({"path": "BM.txt"})),
        "[lines 1-1 of 1]\nBM is no picture"
    );
}

#[test]
fn a_directory_or_a_pipe_is_named_and_does_not_make_us_wait() {
    let bench = Bench::with(&[("dir/a.txt", "")]);
    assert_eq!(bench.failed("read_file", json!({"path": "dir"})), "`dir` is a directory.");
    let pipe = bench.root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(
        bench.failed("read_file", json!({"path": "pipe"})),
        "`pipe` is a named pipe, not a file."
    );
    assert_eq!(
        bench.failed("write_file", json!({"path": "pipe", "content": ""})),
        "`pipe` is a named pipe, not a file."
    );
}

#[test]
fn a_file_that_is_not_there_is_answered_with_near_names() {
    let bench = Bench::with(&[("src/reader.rs", ""), ("src/writer.rs", "")]);
    assert_eq!(
        bench.failed("read_file", json!({"path": "src/raeder.rs"})),
        "There is no `src/raeder.rs`. Did you mean `reader.rs` or `writer.rs`?"
    );
    assert_eq!(bench.failed("read_file", json!({"path": "q/x"})), "There is no `q/x`.");
    assert_eq!(
        bench.failed("read_file", json!({"path": "src/reader.rs/x"})),
        "`src/reader.rs/x` is no directory, or leads through something that is none."
    );
}

#[test]
fn a_file_too_large_to_be_scanned_is_named() {
    let bench = Bench::with(&[]);
    let file = fs::File::create(bench.root.join("huge")).unwrap();
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    assert_eq!(
        bench.failed("read_file", json!({"path": "huge"})),
        "`huge` has 67108865 bytes; at most 67108864 are handled."
    );
}

#[test]
fn a_file_is_created_with_its_directories_and_replaced() {
    let bench = Bench::with(&[]);
    let write =
        |content| bench.done("write_file", json!({"path": "a/b/c.txt", "content": content}));
    assert_eq!(write("one"), "Created `a/b/c.txt` with 3 bytes.");
    assert_eq!(write("zwölf"), "Replaced `a/b/c.txt` with 6 bytes.");
    assert_eq!(bench.text("a/b/c.txt"), "zwölf");
    assert_eq!(bench.names("a/b"), ["c.txt"], "nothing temporary stays");
}

#[test]
fn an_absolute_path_below_the_workspace_is_inside() {
    let bench = Bench::with(&[("a.txt", "x")]);
    let path = bench.workspace.path().join("a.txt");
    assert_eq!(bench.done("read_file", json!({"path": path})), "[lines 1-1 of 1]\nx");
}

#[test]
fn missing_directories_are_not_created_when_the_call_says_so() {
    let bench = Bench::with(&[]);
    let input = json!({"path": "a/b.txt", "content": "", "create_dirs": false});
    assert_eq!(bench.failed("write_file", input), "There is no `a/b.txt`.");
    assert!(bench.names("").is_empty());
}

#[test]
fn a_replaced_file_keeps_its_mode_and_a_read_only_one_its_content() {
    let bench = Bench::with(&[("run.sh", "old"), ("fixed", "old")]);
    for (name, mode) in [("run.sh", 0o750), ("fixed", 0o444)] {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(bench.root.join(name), permissions).unwrap();
    }
    bench.done("write_file", json!({"path": "run.sh", "content": "new"}));
    let mode = fs::metadata(bench.root.join("run.sh")).unwrap().permissions().mode();
    assert_eq!((bench.text("run.sh").as_str(), mode & 0o7777), ("new", 0o750));
    let input = json!({"path": "fixed", "content": "new"});
    assert_eq!(bench.failed("write_file", input), "`fixed` is read-only.");
    assert_eq!(bench.text("fixed"), "old");
}

#[test]
fn a_directory_is_not_written_to() {
    let bench = Bench::with(&[("dir/a.txt", "")]);
    for path in ["dir", "dir/", ".", "new/"] {
        let text = bench.failed("write_file", json!({"path": path, "content": ""}));
        assert_eq!(text, format!("`{path}` is a directory."));
    }
}

#[test]
fn content_as_long_as_the_limit_is_written_and_one_byte_more_is_not() {
    let mut bench = Bench::with(&[]);
    bench.bounds.write_bytes = 4;
    bench.done("write_file", json!({"path": "a", "content": "1234"}));
    assert_eq!(
        bench.failed("write_file", json!({"path": "a", "content": "12345"})),
        "`a` has 5 bytes; at most 4 are handled."
    );
    assert_eq!(bench.text("a"), "1234");
}

#[test]
fn a_link_inside_the_workspace_stays_a_link_when_its_target_is_written() {
    let bench = Bench::with(&[("real/a.txt", "old")]);
    bench.link("real/a.txt", "link");
    bench.done("write_file", json!({"path": "link", "content": "new"}));
    assert_eq!(bench.text("real/a.txt"), "new");
    assert!(fs::symlink_metadata(bench.root.join("link")).unwrap().is_symlink());
}

#[test]
fn a_preview_shows_the_change_and_makes_none() {
    let bench = Bench::with(&[("a.txt", "one\ntwo\n"), ("b.bin", "\u{0}")]);
    fs::write(bench.root.join("b.bin"), [0xff]).unwrap();
    let preview =
        |path, content| bench.preview("write_file", json!({"path": path, "content": content}));
    assert_eq!(
        preview("a.txt", "one\n2\n").as_deref(),
        Some("--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    );
    assert_eq!(
        preview("new/n.txt", "x\n").as_deref(),
        Some("--- /dev/null\n+++ new/n.txt\n@@ -0,0 +1 @@\n+x\n")
    );
    assert_eq!(preview("b.bin", "xy").as_deref(), Some("`b.bin`: 1 bytes become 2 bytes."));
    assert_eq!(preview("a.txt", "one\ntwo\n"), None);
    assert_eq!((bench.text("a.txt").as_str(), bench.names("").len()), ("one\ntwo\n", 2));
}

#[test]
fn a_preview_of_a_large_change_is_cut_with_a_mark() {
    let bench = Bench::with(&[]);
    let input = json!({"path": "a.txt", "content": lines(10_000)});
    let preview = bench.preview("write_file", input).unwrap();
    let (shown, mark) = preview.rsplit_once('\n').unwrap();
    assert_eq!(shown.chars().count(), 20_000);
    assert!(mark.ends_with(" characters left out …"), "{mark}");
}
