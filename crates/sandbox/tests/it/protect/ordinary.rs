//! What an ordinary user can close to itself, and what nobody may read.

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::*;

const NOBODY: u32 = 65534;

fn as_ordinary_user(test: impl FnOnce(&Scene) + Send) {
    as_ordinary_user_of(Scene::new(), test);
}

/// Runs a test as an ordinary user. Root becomes one in a thread of its own, and gives the scene away before, but not
/// the files in it.
fn as_ordinary_user_of(scene: Scene, test: impl FnOnce(&Scene) + Send) {
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        for path in [scene.dir.path(), &scene.root()] {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    std::thread::scope(|scope| {
        let become_and_test = || {
            if is_root {
                let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(gid, gid, gid).unwrap();
                set_thread_res_uid(uid, uid, uid).unwrap();
            }
            test(&scene);
        };
        scope.spawn(become_and_test).join().unwrap();
    });
}

#[test]
fn a_file_that_may_not_be_read_is_known_by_its_status() {
    as_ordinary_user(|scene| {
        set_mode(&scene.write(".envrc", "mine"), 0);
        let mut guard = scene.guard(GitAccess::Read);
        scene.is_at_rest(&mut guard);
        let violations = scene.call(&mut guard, || {
            set_mode(&scene.at(".envrc"), 0o600);
            scene.write(".envrc", "theirs");
            set_mode(&scene.at(".envrc"), 0);
        });
        assert_eq!(told(&violations, &scene.root()), [(".envrc".to_owned(), "changed", false)]);
        assert!(violations[0].quarantined.is_some());
    });
}

#[test]
fn a_closed_directory_in_the_place_of_another_does_not_stop_the_check() {
    as_ordinary_user(|scene| {
        scene.write("sub/.vscode/tasks.json", "mine");
        let mut guard = scene.guard(GitAccess::Read);
        let violations = scene.call(&mut guard, || {
            fs::rename(scene.at("sub"), scene.at("x")).unwrap();
            fs::create_dir(scene.at("sub")).unwrap();
            set_mode(&scene.at("sub"), 0);
        });
        assert_eq!(told(&violations, &scene.root()), one("sub", "moved"));
        assert_eq!(scene.read("sub/.vscode/tasks.json"), "mine");
    });
}

#[test]
fn a_directory_that_an_earlier_call_closed_is_looked_into_by_the_check_of_a_later_one() {
    as_ordinary_user(|scene| {
        let mut guard = scene.guard(GitAccess::Read);
        let _first = guard.begin().unwrap();
        scene.write("dark/.envrc", "planted");
        set_mode(&scene.at("dark"), 0);
        scene.wait_for_the_clock();
        let second = guard.begin().unwrap();
        let violations = guard.check(&second, &scene.quarantine()).unwrap().violations;
        assert_eq!(told(&violations, &scene.root()), one("dark/.envrc", "planted"));
    });
}

#[test]
fn a_root_that_a_call_closed_is_opened_again() {
    as_ordinary_user(|scene| {
        scene.write(".envrc", "mine");
        let mut guard = scene.guard(GitAccess::Read);
        for closed in [0, 0o400, 0o300] {
            let violations = scene.call(&mut guard, || {
                scene.write(".envrc", "theirs");
                set_mode(&scene.root(), closed);
            });
            assert_eq!(told(&violations, &scene.root()), one(".envrc", "changed"));
            assert_eq!(mode(&scene.root()) & 0o700, 0o700);
        }
    });
}

#[test]
fn a_directory_that_can_be_listed_but_not_passed_is_looked_into() {
    as_ordinary_user(|scene| {
        let mut guard = scene.guard(GitAccess::Read);
        let violations = scene.call(&mut guard, || {
            scene.write("dark/inner/.envrc", "planted");
            set_mode(&scene.at("dark/inner"), 0o600);
        });
        assert_eq!(told(&violations, &scene.root()), one("dark/inner/.envrc", "planted"));
    });
}

#[test]
fn a_directory_of_the_person_that_may_be_passed_but_not_read_lets_no_call_begin() {
    as_ordinary_user(|scene| {
        for (closed, is_refused) in [(0, false), (0o200, false), (0o300, true), (0o100, true)] {
            fs::create_dir_all(scene.at("mine")).unwrap();
            set_mode(&scene.at("mine"), closed);
            scene.wait_for_the_clock();
            let mut guard = scene.guard(GitAccess::Read);
            assert_eq!(guard.begin().is_err(), is_refused, "{closed:o}");
            assert_eq!(mode(&scene.at("mine")), closed);
        }
    });
}

#[test]
fn a_planted_file_of_somebody_else_is_taken() {
    let scene = Scene::new();
    set_mode(&scene.write("file", "mine"), 0o644);
    as_ordinary_user_of(scene, |scene| {
        let mut guard = scene.guard(GitAccess::Read);
        let violations = scene.call(&mut guard, || {
            fs::rename(scene.at("file"), scene.at(".envrc")).unwrap();
        });
        assert_eq!(told(&violations, &scene.root()), one(".envrc", "planted"));
    });
}

#[test]
fn what_may_not_be_copied_to_a_quarantine_on_another_file_system_is_told() {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
    set_mode(other.path(), 0o777);
    as_ordinary_user(|scene| {
        let dev = |path: &Path| path.metadata().unwrap().dev();
        if dev(other.path()) == dev(&scene.root()) {
            return;
        }
        let quarantine = other.path().join("quarantine");
        let mut guard = scene.guard(GitAccess::Read);
        let mark = guard.begin().unwrap();
        set_mode(&scene.write(".envrc", "planted"), 0);
        let checked = guard.check(&mark, &quarantine).unwrap();
        let expected = [(".envrc".to_owned(), "planted", false)];
        assert_eq!(told(&checked.violations, &scene.root()), expected);
        assert!(checked.incomplete.is_some());
        // It has lost its name at least.
        assert!(!scene.is_there(".envrc"));
    });
}
