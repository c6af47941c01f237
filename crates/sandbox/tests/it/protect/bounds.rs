//! A look ends, and says when it did not see everything.

use std::time::Duration;

use super::*;

fn bounded(scene: &Scene, bounds: WalkBounds) -> Guard {
    Guard::look(&[scene.root()], Protection::default(), bounds).unwrap()
}

#[test]
fn too_many_entries_are_told_and_what_was_known_stays_protected() {
    let scene = Scene::new();
    scene.write(".envrc", "mine");
    scene.write("z/.envrc", "mine");
    let bounds = WalkBounds { entries: 200, ..WalkBounds::default() };
    let mut guard = bounded(&scene, bounds);
    assert_eq!(guard.incomplete(), None);
    let checked = scene.whole_call(&mut guard, || {
        for number in 0..300 {
            scene.write(&format!("many/{number}"), "");
            scene.write(&format!("z/{number}"), "");
        }
        scene.write("z/.envrc", "theirs");
    });
    let reason = checked.incomplete.unwrap();
    assert!(reason.contains("200 entries"), "{reason}");
    assert_eq!(told(&checked.violations, &scene.root()), one("z/.envrc", "changed"));
    assert_eq!(scene.read("z/.envrc"), "mine");
    // The flood is still there: the next call may not profit from it.
    let mark = guard.begin().unwrap();
    assert!(guard.incomplete().is_some());
    assert!(guard.mounts().contains(&scene.at("z/.envrc")), "{:?}", guard.mounts());
    guard.check(&mark, &scene.quarantine()).unwrap();
}

#[test]
fn too_little_time_is_told() {
    let scene = Scene::new();
    scene.write("a/b/c", "");
    let guard = bounded(&scene, WalkBounds { time: Duration::ZERO, ..WalkBounds::default() });
    assert!(guard.incomplete().unwrap().contains("the look ended"));
}

#[test]
fn too_deep_is_told() {
    let scene = Scene::new();
    scene.write("a/b/c/.envrc", "");
    scene.write("z/.envrc", "");
    let guard = bounded(&scene, WalkBounds { depth: 2, ..WalkBounds::default() });
    assert!(guard.incomplete().unwrap().contains("more than 2 directories deep"));
    assert_eq!(guard.mounts(), [scene.at("z/.envrc")]);
}

#[test]
fn what_is_older_than_the_call_is_fine_if_the_look_before_it_was_cut() {
    let scene = Scene::new();
    for number in 0..100 {
        scene.write(&number.to_string(), "");
    }
    scene.write("sub/.envrc", "old");
    let bounds = WalkBounds { entries: 50, ..WalkBounds::default() };
    let mut guard = bounded(&scene, bounds);
    assert_eq!(guard.mounts(), Vec::<PathBuf>::new());
    scene.wait_for_the_clock();
    let mark = guard.begin().unwrap();
    for number in 0..100 {
        fs::remove_file(scene.at(&number.to_string())).unwrap();
    }
    scene.write("sub/.mcp.json", "new");
    let checked = guard.check(&mark, &scene.quarantine()).unwrap();
    assert_eq!(told(&checked.violations, &scene.root()), one("sub/.mcp.json", "planted"));
    assert_eq!(scene.read("sub/.envrc"), "old");
    assert_eq!(guard.mounts(), [scene.at("sub/.envrc")]);
}

#[test]
fn a_flood_of_planted_names_is_taken() {
    let scene = Scene::new();
    let mut guard = scene.guard(Git::Read);
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
    let guard = bounded(&scene, WalkBounds { watched: 10, ..WalkBounds::default() });
    assert!(
        guard.incomplete().unwrap().contains("protected directories hold more than 10 entries")
    );
    assert_eq!(guard.mounts(), [scene.at(".idea")]);
}

#[test]
fn a_file_too_large_to_be_kept_is_told_as_lost() {
    let scene = Scene::new();
    let large = vec![b'x'; 1024 * 1024 + 1];
    fs::write(scene.at(".envrc"), &large).unwrap();
    let mut guard = scene.guard(Git::Read);
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
    let mut guard = scene.guard(Git::Read);
    let violations = scene.call(&mut guard, || {
        scene.write("dark/.git/hooks/pre-commit", "x");
        set_mode(&scene.at("dark/.git"), 0);
        set_mode(&scene.at("dark"), 0o300);
    });
    assert_eq!(told(&violations, &scene.root()), one("dark/.git", "planted"));
    assert_eq!(mode(&scene.at("mine")), 0);
}
