//! Tests of a guard's baseline, and helpers for the tests of its parts.

use super::*;

/// Runs a part of a test as an ordinary user. Root becomes one in a thread of its own.
#[cfg(target_os = "linux")]
pub(crate) fn as_ordinary_user(test: impl FnOnce() + Send) {
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let become_and_test = || {
        if rustix::process::geteuid().is_root() {
            let (uid, gid) = (Uid::from_raw(65534), Gid::from_raw(65534));
            set_thread_groups(&[]).unwrap();
            set_thread_res_gid(gid, gid, gid).unwrap();
            set_thread_res_uid(uid, uid, uid).unwrap();
        }
        test();
    };
    std::thread::scope(|scope| scope.spawn(become_and_test).join().unwrap());
}

/// Returns a directory with some files in it.
fn scene(files: &[&str]) -> tempfile::TempDir {
    let scene = tempfile::tempdir().unwrap();
    for file in files {
        let path = scene.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    scene
}

fn look(roots: &[PathBuf]) -> ProtectionGuard {
    ProtectionGuard::scan(roots, Protection::default(), WalkBounds::default()).unwrap()
}

fn place(path: &str) -> RootedPath {
    RootedPath { root: 0, path: path.into() }
}

#[test]
fn places_are_forgotten_when_other_roots_are_there() {
    for (before, after, is_kept) in [
        (&["a", "b"] as &[&str], &["a", "b"] as &[&str], true),
        (&["b"], &["a", "b"], false),
        (&["a", "b"], &["a"], false),
        (&["a", "b"], &["a", "c"], false),
    ] {
        let scene = scene(&[]);
        let paths = ["a", "b", "c"].map(|name| scene.path().join(name));
        let make = |names: &[&str]| {
            for name in names {
                std::fs::create_dir(scene.path().join(name)).unwrap();
            }
        };
        make(before);
        std::fs::write(scene.path().join(before[0]).join(".envrc"), "").unwrap();
        let mut guard = look(&paths);
        guard.given_up.insert(place(".mcp.json"), None);
        assert_eq!(guard.known.len(), 1);
        for name in before {
            std::fs::remove_dir_all(scene.path().join(name)).unwrap();
        }
        make(after);
        guard.open_roots().unwrap();
        assert_eq!(guard.known.len(), usize::from(is_kept), "{before:?} {after:?}");
        assert_eq!(guard.given_up.len(), usize::from(is_kept), "{before:?} {after:?}");
    }
}

#[test]
fn what_could_not_be_put_right_never_becomes_known_while_it_stands_there() {
    let scene = scene(&[".vscode/x", ".envrc", "sub/.mcp.json"]);
    let roots = [scene.path().to_owned()];
    let mut guard = look(&roots);
    let all: Vec<RootedPath> = guard.known.keys().cloned().collect();
    let left = |given_up: &str| -> Vec<RootedPath> {
        all.iter().filter(|one| !one.is_in(&place(given_up))).cloned().collect()
    };
    let id = |path: &str| Some(guard.known[&place(path)].id());
    let other = id("sub");
    for (path, given_up, expected) in [
        (".vscode", id(".vscode"), left(".vscode")),
        (".vscode/x", id(".vscode/x"), left(".vscode/x")),
        (".envrc", id(".envrc"), left(".envrc")),
        // A directory around a protected entry is only watched, not protected.
        ("sub", id("sub"), left("sub/.mcp.json")),
        // No entry was there, or it is another one by now.
        (".vscode", None, all.clone()),
        (".vscode", other, all.clone()),
        (".envrc", other, all.clone()),
    ] {
        let mut guard = look(&roots);
        guard.given_up.insert(place(path), given_up);
        guard.learn().unwrap();
        let known: Vec<RootedPath> = guard.known.keys().cloned().collect();
        assert_eq!(known, expected, "{path} {given_up:?}");
    }
    guard.given_up.clear();
}

#[test]
fn a_content_that_cannot_be_looked_for_is_an_error() {
    let scene = scene(&[".envrc"]);
    let guard = look(&[scene.path().to_owned()]);
    let status = &guard.known[&place(".envrc")].status;
    let content = |path: &str| content(&place(path), status, &guard.roots);
    assert_eq!(content(".envrc").unwrap(), SavedContent::Bytes(Vec::new()));
    assert_eq!(content("missing").unwrap(), SavedContent::Nothing);
    content(&"x".repeat(300)).unwrap_err();
}
