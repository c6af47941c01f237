//! Every way out of the workspace that a path can try.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::Bench;

/// A workspace full of ways out.
fn bench() -> Bench {
    let bench = Bench::with(&[("inside/a.txt", "inside")]);
    bench.link(bench.outside.join("secret.txt"), "file-link");
    bench.link("../outside/secret.txt", "relative-link");
    bench.link(&bench.outside, "dir-link");
    bench.link("../outside", "inside-dir-link");
    bench.link(bench.outside.join("new.txt"), "dangling-link");
    bench.link("../../outside", "inside/up");
    bench.link("dir-link", "link-to-link");
    bench
}

const WAYS_OUT: &[&str] = &[
    "../outside/secret.txt",
    "inside/../../outside/secret.txt",
    "./inside/.././../outside/secret.txt",
    "file-link",
    "relative-link",
    "dir-link/secret.txt",
    "inside-dir-link/secret.txt",
    "inside/up/secret.txt",
    "link-to-link/secret.txt",
    "dangling-link",
    "/etc/passwd",
    "/",
];

fn message(path: &str) -> String {
    format!(
        "`{path}` leads out of the workspace. Use a path inside of it; links may not be absolute."
    )
}

#[test]
fn no_path_that_leads_out_is_read_written_or_edited() {
    let bench = bench();
    for path in WAYS_OUT {
        let inputs: [(&str, Value); 3] = [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "overwritten"})),
            ("edit_file", json!({"path": path, "old_string": "secret", "new_string": "x"})),
        ];
        for (tool, input) in inputs {
            if (*path, tool) == ("/", "write_file") || (*path, tool) == ("/", "edit_file") {
                continue;
            }
            assert_eq!(bench.refused(tool, input), message(path), "{tool}");
        }
    }
    assert_eq!(fs::read_to_string(bench.outside.join("secret.txt")).unwrap(), "secret");
    assert!(!bench.outside.join("new.txt").exists());
    assert_eq!(fs::read_dir(&bench.outside).unwrap().count(), 1);
}

#[test]
fn no_preview_shows_what_lies_outside() {
    let bench = bench();
    for path in WAYS_OUT {
        assert_eq!(bench.preview("write_file", json!({"path": path, "content": "x"})), None);
        let input = json!({"path": path, "old_string": "secret", "new_string": "x"});
        assert_eq!(bench.preview("edit_file", input), None);
    }
}

#[test]
fn no_directory_is_made_outside() {
    let bench = bench();
    for path in ["dir-link/new/a.txt", "../outside/new/a.txt", "inside-dir-link/new/a.txt"] {
        bench.refused("write_file", json!({"path": path, "content": ""}));
    }
    assert!(!bench.outside.join("new").exists());
}

#[test]
fn no_search_goes_outside() {
    let bench = bench();
    for path in ["..", "../outside", "dir-link", "inside-dir-link", "inside/up", "/etc"] {
        bench.refused("glob", json!({"pattern": "**", "path": path}));
        bench.refused("grep", json!({"pattern": "secret", "path": path}));
    }
    bench.refused("grep", json!({"pattern": "secret", "path": "file-link"}));
    // Links that are met on the way are not followed.
    assert_eq!(bench.done("glob", json!({"pattern": "**"})), "inside/a.txt");
    assert_eq!(bench.done("grep", json!({"pattern": "secret"})), "Nothing matches `secret`.");
    for pattern in ["../outside/*", "/etc/*", "inside/../../outside/*"] {
        bench.failed("glob", json!({"pattern": pattern}));
    }
}

#[test]
fn a_sibling_whose_name_begins_like_the_workspace_is_outside() {
    let bench = bench();
    let sibling = bench.root.with_file_name("work2");
    fs::create_dir(&sibling).unwrap();
    fs::write(sibling.join("a.txt"), "secret").unwrap();
    bench.refused("read_file", json!({"path": sibling.join("a.txt")}));
    bench.refused("bash", json!({"command": "pwd", "cwd": sibling}));
}

#[test]
fn no_shell_starts_outside_unless_that_is_allowed() {
    let mut bench = bench();
    for cwd in ["..", "dir-link", "inside/up", "/", "/etc"] {
        assert_eq!(bench.refused("bash", json!({"command": "pwd", "cwd": cwd})), message(cwd));
    }
    bench.bounds.shell_any_cwd = true;
    assert_eq!(bench.done("bash", json!({"command": "pwd", "cwd": "/"})), "/\n");
    let outside = bench.outside.canonicalize().unwrap();
    let text = bench.done("bash", json!({"command": "pwd -P", "cwd": "../outside"}));
    assert_eq!(text.trim_end(), outside.to_str().unwrap());
}

#[test]
fn a_directory_that_is_swapped_for_a_link_meanwhile_leads_nowhere() {
    let bench = bench();
    fs::create_dir(bench.root.join("swap")).unwrap();
    fs::write(bench.root.join("swap/secret.txt"), "harmless").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let [here, link] = ["swap", "dir-link"].map(|name| bench.root.join(name));
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &here, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for _ in 0..300 {
            let read = bench.run("read_file", json!({"path": "swap/secret.txt"}));
            assert!(!read.text.ends_with("secret"), "{}", read.text);
            bench.run("write_file", json!({"path": "swap/secret.txt", "content": "harmless"}));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(bench.outside.join("secret.txt")).unwrap(), "secret");
    assert_eq!(fs::read_dir(&bench.outside).unwrap().count(), 1);
}

#[test]
fn the_workspace_is_held_by_its_handle_whatever_its_name_becomes() {
    let bench = Bench::with(&[("a.txt", "mine")]);
    fs::rename(&bench.root, bench.root.with_file_name("moved")).unwrap();
    fs::create_dir(&bench.root).unwrap();
    fs::write(bench.root.join("a.txt"), "not mine").unwrap();
    assert_eq!(bench.done("read_file", json!({"path": "a.txt"})), "[lines 1-1 of 1]\nmine");
    assert_eq!(bench.done("bash", json!({"command": "cat a.txt"})), "mine");
}

#[test]
fn a_link_to_nothing_inside_is_named() {
    let bench = Bench::with(&[]);
    bench.link("nowhere", "link");
    let expected = "`link` is a link to something that is not there.";
    assert_eq!(bench.failed("read_file", json!({"path": "link"})), expected);
    assert_eq!(bench.failed("write_file", json!({"path": "link", "content": ""})), expected);
}

#[test]
fn a_path_with_a_zero_byte_is_a_failure() {
    let bench = Bench::with(&[]);
    bench.failed("read_file", json!({"path": "a\0b"}));
    bench.failed("write_file", json!({"path": "a\0b", "content": ""}));
}

#[test]
fn a_workspace_that_is_no_directory_is_not_opened() {
    let bench = Bench::with(&[("a.txt", "")]);
    for path in ["a.txt", "missing"] {
        let error = agentry_tools::Workspace::open(bench.root.join(path)).unwrap_err();
        assert!(matches!(error, agentry_tools::Error::NoWorkspace { .. }));
    }
}
