//! Renamed parents, and what stands in their place.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A root with a repository in a subdirectory.
fn nested() -> Scene {
    let scene = Scene::new();
    scene.write("sub/.git/config", "[core]\n\tbare = false\n");
    scene.write("sub/.git/hooks/pre-commit", "mine");
    scene.write("sub/code.rs", "fn main() {}");
    scene
}

#[test]
fn a_repository_that_was_swapped_is_put_back() {
    for git in [GitAccess::Read, GitAccess::Write] {
        let scene = nested();
        let mut guard = scene.guard(git);
        let violations = scene.call(&mut guard, || {
            fs::rename(scene.at("sub/.git"), scene.at("sub/x")).unwrap();
            scene.write("sub/.git/hooks/pre-commit", "planted");
        });
        assert_eq!(told(&violations, &scene.root()), one("sub/.git", "moved"));
        assert_eq!(violations[0].what, ViolationKind::Moved { to: scene.at("sub/x") });
        assert_eq!(scene.read("sub/.git/hooks/pre-commit"), "mine");
        assert!(!scene.is_there("sub/x"));
        let taken = scene.quarantine().join("0001/.git/hooks/pre-commit");
        assert_eq!(fs::read_to_string(taken).unwrap(), "planted");
        scene.is_at_rest(&mut guard);
    }
}

#[test]
fn a_parent_that_was_swapped_is_put_back() {
    for git in [GitAccess::Read, GitAccess::Write] {
        let scene = nested();
        let mut guard = scene.guard(git);
        let violations = scene.call(&mut guard, || {
            fs::rename(scene.at("sub"), scene.at("x")).unwrap();
            scene.write("sub/.git/hooks/pre-commit", "planted");
        });
        assert_eq!(told(&violations, &scene.root()), one("sub", "moved"));
        assert_eq!(scene.read("sub/.git/hooks/pre-commit"), "mine");
        assert_eq!(scene.read("sub/code.rs"), "fn main() {}");
        assert!(!scene.is_there("x"));
        scene.is_at_rest(&mut guard);
    }
}

#[test]
fn a_parent_inside_of_what_replaced_it_is_put_back() {
    let scene = nested();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        fs::rename(scene.at("sub"), scene.at("x")).unwrap();
        scene.write("sub/.git/hooks/pre-commit", "planted");
        fs::rename(scene.at("x"), scene.at("sub/x")).unwrap();
    });
    assert_eq!(told(&violations, &scene.root()), one("sub", "moved"));
    assert_eq!(scene.read("sub/.git/hooks/pre-commit"), "mine");
    assert!(!scene.is_there("sub/x"));
    scene.is_at_rest(&mut guard);
}

#[test]
fn a_link_in_the_place_of_a_parent_is_taken() {
    let scene = nested();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        fs::rename(scene.at("sub"), scene.at("x")).unwrap();
        symlink("x", scene.at("sub")).unwrap();
    });
    assert_eq!(told(&violations, &scene.root()), one("sub", "moved"));
    assert!(scene.at("sub").symlink_metadata().unwrap().is_dir());
    assert!(!scene.is_there("x"));
    scene.is_at_rest(&mut guard);
}

#[test]
fn a_link_where_a_parent_was_removed_is_taken_and_the_file_made_again() {
    let scene = Scene::new();
    scene.write("sub/.envrc", "mine");
    scene.write("other/.envrc.txt", "theirs");
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        fs::remove_dir_all(scene.at("sub")).unwrap();
        symlink("other", scene.at("sub")).unwrap();
    });
    let expected: Vec<_> = [("sub", "changed"), ("sub/.envrc", "removed")]
        .iter()
        .flat_map(|(path, what)| one(path, what))
        .collect();
    assert_eq!(told(&violations, &scene.root()), expected);
    assert_eq!(scene.read("sub/.envrc"), "mine");
    assert!(!scene.is_there("other/.envrc"));
    scene.is_at_rest(&mut guard);
}

#[test]
fn several_levels_that_were_shuffled_come_back() {
    let scene = Scene::new();
    scene.write("a/b/.git/hooks/h", "inner");
    scene.write("a/.envrc", "outer");
    scene.write("a/b/c/.vscode/tasks.json", "tasks");
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        fs::rename(scene.at("a/b/c"), scene.at("c2")).unwrap();
        fs::rename(scene.at("a/b"), scene.at("b2")).unwrap();
        fs::rename(scene.at("a"), scene.at("b2/a2")).unwrap();
        scene.write("a/b/.git/hooks/h", "planted");
        scene.write("a/b/c/.vscode/tasks.json", "planted");
    });
    assert!(violations.iter().all(|it| it.restored), "{violations:?}");
    assert_eq!(scene.read("a/b/.git/hooks/h"), "inner");
    assert_eq!(scene.read("a/.envrc"), "outer");
    assert_eq!(scene.read("a/b/c/.vscode/tasks.json"), "tasks");
    assert_eq!(fs::read_dir(scene.root()).unwrap().count(), 1);
    scene.is_at_rest(&mut guard);
}

#[test]
fn a_parent_that_was_hidden_in_a_repository_is_found() {
    let scene = nested();
    scene.write(".git/config", "[core]\n\tbare = false\n");
    let mut guard = scene.guard(GitAccess::Write);
    let violations = scene.call(&mut guard, || {
        fs::rename(scene.at("sub"), scene.at(".git/x")).unwrap();
    });
    assert_eq!(told(&violations, &scene.root()), one("sub", "moved"));
    assert_eq!(scene.read("sub/.git/hooks/pre-commit"), "mine");
}

#[test]
fn a_repository_that_is_gone_is_told_loudly() {
    let scene = nested();
    let mut guard = scene.guard(GitAccess::Write);
    let away = scene.dir.path().join("away");
    let violations = scene.call(&mut guard, || {
        fs::rename(scene.at("sub/.git"), &away).unwrap();
        scene.write("sub/.git/hooks/pre-commit", "planted");
    });
    let expected = vec![("sub/.git".to_owned(), "removed", false)];
    assert_eq!(told(&violations, &scene.root()), expected);
    assert!(violations[0].to_string().contains("NOT put right"));
    assert!(violations[0].quarantined.is_some());
    assert!(!scene.is_there("sub/.git"));
}

/// The guard once gave up the place of a lost repository with everything in it, and took its files for planted.
#[test]
fn a_repository_that_the_person_brought_back_is_theirs() {
    let scene = nested();
    let mut guard = scene.guard(GitAccess::Write);
    let away = scene.dir.path().join("away");
    let violations = scene.call(&mut guard, || fs::rename(scene.at("sub/.git"), &away).unwrap());
    assert_eq!(told(&violations, &scene.root()), [("sub/.git".to_owned(), "removed", false)]);
    fs::rename(&away, scene.at("sub/.git")).unwrap();
    scene.is_at_rest(&mut guard);
    assert_eq!(scene.read("sub/.git/hooks/pre-commit"), "mine");
}

#[test]
fn a_file_between_roots_is_found_in_the_other_root() {
    let scene = nested();
    let second = scene.dir.path().canonicalize().unwrap().join("second");
    fs::create_dir(&second).unwrap();
    let roots = [scene.root(), second.clone()];
    let mut guard =
        ProtectionGuard::scan(&roots, Protection::default(), WalkBounds::default()).unwrap();
    let violations =
        scene.call(&mut guard, || fs::rename(scene.at("sub"), second.join("sub")).unwrap());
    assert_eq!(violations[0].what, ViolationKind::Moved { to: second.join("sub") });
    assert_eq!(scene.read("sub/.git/hooks/pre-commit"), "mine");
}

#[test]
fn a_directory_that_was_hidden_in_what_replaced_another_is_not_taken_with_it() {
    let scene = Scene::new();
    set_mode(&scene.write("one/.git/hooks/h", "one"), 0o755);
    set_mode(&scene.write("two/.git/hooks/h", "two"), 0o755);
    let mut guard = scene.guard(GitAccess::Write);
    let violations = scene.call(&mut guard, || {
        fs::rename(scene.at("one"), scene.at("x")).unwrap();
        fs::create_dir(scene.at("one")).unwrap();
        fs::rename(scene.at("two"), scene.at("one/two")).unwrap();
        scene.write("two/.git/hooks/h", "planted");
    });
    assert!(violations.iter().all(|it| it.restored), "{violations:?}");
    for (path, text) in [("one/.git/hooks/h", "one"), ("two/.git/hooks/h", "two")] {
        assert_eq!((scene.read(path).as_str(), mode(&scene.at(path))), (text, 0o755));
    }
    scene.is_at_rest(&mut guard);
}

#[test]
fn somebody_who_goes_on_during_the_check_reaches_nothing_outside() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let scene = nested();
    let outside = scene.dir.path().canonicalize().unwrap().join("outside");
    fs::create_dir_all(outside.join(".git/hooks")).unwrap();
    fs::write(outside.join(".git/hooks/pre-commit"), "outside").unwrap();
    fs::write(outside.join(".envrc"), "outside").unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    let mark = guard.begin().unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // Any of it may fail, because somebody else is at it too.
                fs::rename(scene.at("sub"), scene.at("x")).ok();
                symlink(&outside, scene.at("sub")).ok();
                fs::remove_file(scene.at("sub")).ok();
                fs::create_dir_all(scene.at("sub/.git/hooks")).ok();
                fs::write(scene.at("sub/.git/hooks/pre-commit"), "planted").ok();
                fs::rename(scene.at("sub"), scene.at("y")).ok();
                symlink(&outside, scene.at("sub")).ok();
                fs::remove_dir_all(scene.at("y")).ok();
                fs::remove_file(scene.at("sub")).ok();
                fs::rename(scene.at("x"), scene.at("sub")).ok();
            }
        });
        for _ in 0..50 {
            // What it says does not matter here, and an error is an answer too.
            guard.check(&mark, &scene.quarantine()).ok();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(outside.join(".git/hooks/pre-commit")).unwrap(), "outside");
    assert_eq!(fs::read_to_string(outside.join(".envrc")).unwrap(), "outside");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
    assert_eq!(fs::read_dir(outside.join(".git/hooks")).unwrap().count(), 1);
}

/// Another call in the same workspace may still move things while this one is checked. What is protected must never be
/// given up for that, or be taken for planted where it has got a protected name.
#[test]
fn a_directory_that_is_moved_during_the_check_is_put_back() {
    let scene = Scene::new();
    scene.write("agents/a/AGENT.md", "calm");
    scene.write("sub/.envrc", "mine");
    fs::create_dir(scene.at("deep")).unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    let moves = [["agents", "sub"], ["sub", "deep/.GIT"], ["deep/.GIT", "deep/x"]];
    for _ in 0..20 {
        let (mark, other) = (guard.begin().unwrap(), guard.begin().unwrap());
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..200 {
                    for [from, to] in moves {
                        // What is not there, or is in the way, stays.
                        drop(fs::rename(scene.at(from), scene.at(to)));
                    }
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            guard.check(&mark, &scene.quarantine()).unwrap();
            is_over.store(true, Ordering::Relaxed);
        });
        // The call that moved has ended as well now, and is checked.
        let checked = guard.check(&other, &scene.quarantine()).unwrap();
        assert_eq!(checked.incomplete, None, "{:?}", checked.violations);
        assert_eq!(scene.read("agents/a/AGENT.md"), "calm", "{:?}", checked.violations);
        assert_eq!(scene.read("sub/.envrc"), "mine");
        assert!(!scene.is_there("deep/.GIT"));
    }
}

#[test]
fn a_call_that_begins_while_another_runs_cannot_write_what_that_one_moved() {
    let scene = Scene::new();
    scene.write("agents/a/AGENT.md", "calm");
    let mut guard = scene.guard(GitAccess::Read);
    let first = guard.begin().unwrap();
    fs::rename(scene.at("agents"), scene.at("x")).unwrap();
    let second = guard.begin().unwrap();
    let mounts = guard.mounts();
    assert!(mounts.contains(&scene.at("x/a/AGENT.md")), "{mounts:?}");
    for mark in [first, second] {
        guard.check(&mark, &scene.quarantine()).unwrap();
    }
    assert_eq!(scene.read("agents/a/AGENT.md"), "calm");
    scene.is_at_rest(&mut guard);
    assert!(!guard.mounts().contains(&scene.at("x/a/AGENT.md")));
}
