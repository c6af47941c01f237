//! A look ends, and says when it did not see everything.

use std::time::Duration;

use super::*;

fn bounded(scene: &Scene, bounds: WalkBounds) -> ProtectionGuard {
    ProtectionGuard::scan(&[scene.root()], Protection::default(), bounds).unwrap()
}

#[test]
fn a_call_does_not_begin_where_not_everything_can_be_looked_at() {
    let scene = Scene::new();
    for number in 0..11 {
        scene.write(&format!("a{number}/b"), "");
    }
    for bounds in [
        WalkBounds { entries: 10, ..WalkBounds::default() },
        WalkBounds { time: Duration::ZERO, ..WalkBounds::default() },
    ] {
        let mut guard = bounded(&scene, bounds);
        assert!(guard.incomplete().unwrap().contains("the look ended"));
        let refused = guard.begin().unwrap_err().to_string();
        assert!(refused.contains("not every file could be looked at"), "{refused}");
    }
}

#[test]
fn what_a_call_made_too_much_of_is_taken_as_a_whole() {
    let scene = Scene::new();
    scene.write("mine/.envrc", "mine");
    let bounds = WalkBounds { entries: 200, ..WalkBounds::default() };
    let mut guard = bounded(&scene, bounds);
    let checked = scene.whole_call(&mut guard, || {
        for number in 0..300 {
            scene.write(&format!("mine/many/{number}"), "");
        }
        scene.write("mine/many/z/.git/config", "theirs");
        scene.write("mine/.envrc", "theirs");
    });
    assert_eq!(checked.incomplete, None);
    let told = told(&checked.violations, &scene.root());
    assert_eq!(told, [one("mine/.envrc", "changed"), one("mine/many", "planted")].concat());
    assert_eq!(scene.read("mine/.envrc"), "mine");
    assert!(!scene.is_there("mine/many"));
}

#[test]
fn after_a_check_that_was_not_finished_no_call_begins() {
    let scene = Scene::new();
    let mut guard = bounded(&scene, WalkBounds { entries: 200, ..WalkBounds::default() });
    let checked = scene.whole_call(&mut guard, || {
        // Right in the root, so that there is no directory that could be taken.
        for number in 0..300 {
            scene.write(&number.to_string(), "");
        }
    });
    assert!(checked.incomplete.unwrap().contains("200 entries"));
    guard.begin().unwrap_err();
}

#[test]
fn depth_hides_nothing_and_costs_no_handles() {
    let scene = Scene::new();
    let levels = 3_000;
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        make_deep(&scene.root(), &vec!["d"; levels], &["x/.git/config", ".envrc"]);
    });
    assert_eq!(violations.len(), 2);
    assert!(violations.iter().all(|it| it.restored));
    // A person's own tree may be as deep.
    scene.is_at_rest(&mut guard);
}

/// Makes a chain of directories, deeper than any path can name, with files at its end.
fn make_deep(root: &Path, names: &[&str], files: &[&str]) {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut dir = rustix::fs::open(root, flags, Mode::empty()).unwrap();
    for name in names {
        mkdirat(&dir, *name, Mode::from_raw_mode(0o755)).unwrap();
        dir = openat(&dir, *name, flags, Mode::empty()).unwrap();
    }
    for file in files {
        let mut parts: Vec<&str> = file.split('/').collect();
        let name = parts.pop().unwrap();
        let mut inner = openat(&dir, ".", flags, Mode::empty()).unwrap();
        for part in parts {
            mkdirat(&inner, part, Mode::from_raw_mode(0o755)).unwrap();
            inner = openat(&inner, part, flags, Mode::empty()).unwrap();
        }
        let flags = OFlags::WRONLY | OFlags::CREATE;
        openat(&inner, name, flags, Mode::from_raw_mode(0o644)).unwrap();
    }
}

#[test]
fn something_of_the_person_under_a_very_long_path_lets_no_call_begin() {
    let name = "d".repeat(200);
    let names = vec![name.as_str(); 100];
    let mine = Scene::new();
    make_deep(&mine.root(), &names, &[".envrc"]);
    let mut guard = mine.guard(GitAccess::Read);
    assert!(guard.incomplete().unwrap().contains("too many levels below"));
    guard.begin().unwrap_err();
    // What a call made there is taken.
    let scene = Scene::new();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || make_deep(&scene.root(), &names, &[".envrc"]));
    assert_eq!(violations.len(), 1);
    assert!(violations[0].restored);
    scene.is_at_rest(&mut guard);
}

#[test]
fn as_much_as_the_bounds_say_is_looked_at() {
    let scene = Scene::new();
    scene.write(".git/worktrees/w/config.worktree", "mine");
    // The directory itself, and the worktree in it.
    let bounds = WalkBounds { entries: 2, ..WalkBounds::default() };
    let protection = Protection { git: GitAccess::Write, ..Protection::default() };
    let guard = ProtectionGuard::scan(&[scene.root()], protection, bounds).unwrap();
    assert_eq!(guard.incomplete(), None);
    assert_eq!(guard.mounts(), [scene.at(".git/worktrees/w/config.worktree")]);

    let scene = Scene::new();
    scene.write("sub/.envrc", "mine");
    let guard = bounded(&scene, WalkBounds { entries: 2, ..WalkBounds::default() });
    assert_eq!(guard.incomplete(), None);
    assert_eq!(guard.mounts(), [scene.at("sub/.envrc")]);

    let scene = Scene::new();
    for number in 0..10 {
        scene.write(&format!(".idea/{number}"), "");
    }
    let guard = bounded(&scene, WalkBounds { watched: 10, ..WalkBounds::default() });
    assert_eq!(guard.incomplete(), None);

    let scene = Scene::new();
    scene.write(".idea/inner/file", "");
    let bounds = WalkBounds { depth: 2, ..WalkBounds::default() };
    assert_eq!(bounded(&scene, bounds.clone()).incomplete(), None);
    scene.write(".idea/inner/deep/file", "");
    assert!(bounded(&scene, bounds).incomplete().unwrap().contains("more than 2 directories"));
}

#[test]
fn a_flood_of_planted_names_is_taken() {
    let scene = Scene::new();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        for number in 0..500 {
            scene.write(&format!("{number}/.envrc"), "x");
        }
    });
    assert_eq!(violations.len(), 500);
    assert!(violations.iter().all(|it| it.restored));
}

#[test]
fn more_in_a_protected_directory_than_is_watched_is_told() {
    let scene = Scene::new();
    for number in 0..11 {
        scene.write(&format!(".idea/{number}"), "");
    }
    let mut guard = bounded(&scene, WalkBounds { watched: 10, ..WalkBounds::default() });
    assert!(
        guard.incomplete().unwrap().contains("protected directories hold more than 10 entries")
    );
    assert_eq!(guard.mounts(), [scene.at(".idea")]);
    guard.begin().unwrap_err();
}

#[test]
fn a_file_too_large_to_be_kept_is_told_as_lost() {
    let scene = Scene::new();
    let large = vec![b'x'; 1024 * 1024 + 1];
    fs::write(scene.at(".envrc"), &large).unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    scene.is_at_rest(&mut guard);
    let violations = scene.call(&mut guard, || {
        scene.write(".envrc", "theirs");
    });
    assert_eq!(told(&violations, &scene.root()), [(".envrc".to_owned(), "changed", false)]);
    assert!(violations[0].problem.as_ref().unwrap().contains("too large"));
    assert!(violations[0].quarantined.is_some());
}

#[test]
fn a_directory_that_was_made_unreadable_is_looked_into() {
    let scene = Scene::new();
    scene.write("mine/code.rs", "");
    set_mode(&scene.at("mine"), 0);
    scene.wait_for_the_clock();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        scene.write("dark/.git/hooks/pre-commit", "x");
        set_mode(&scene.at("dark/.git"), 0);
        set_mode(&scene.at("dark"), 0o300);
    });
    assert_eq!(told(&violations, &scene.root()), one("dark/.git", "planted"));
    assert_eq!(mode(&scene.at("mine")), 0);
}
