//! Where planted things go.

use std::os::unix::fs::MetadataExt as _;

use super::*;

#[test]
fn nothing_is_written_over_and_names_are_kept() {
    let scene = Scene::new();
    fs::create_dir(scene.quarantine()).unwrap();
    fs::create_dir(scene.quarantine().join("0007")).unwrap();
    fs::write(scene.quarantine().join("0008"), "not ours").unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    for (round, number) in [(1, "0009"), (2, "0010")] {
        let violations = scene.call(&mut guard, || {
            scene.write(".envrc", &format!("round {round}"));
        });
        let taken = scene.quarantine().join(number).join(".envrc");
        assert_eq!(violations[0].quarantined.as_ref(), Some(&taken));
        assert_eq!(fs::read_to_string(taken).unwrap(), format!("round {round}"));
    }
    assert_eq!(fs::read_to_string(scene.quarantine().join("0008")).unwrap(), "not ours");
    assert_eq!(mode(&scene.quarantine()), 0o700);
}

#[test]
fn what_is_taken_cannot_be_executed() {
    let scene = Scene::new();
    let mut guard = scene.guard(GitAccess::Read);
    scene.call(&mut guard, || {
        set_mode(&scene.write(".git/hooks/pre-commit", "x"), 0o4755);
        set_mode(&scene.write(".git/secret", "x"), 0o111);
        set_mode(&scene.at(".git/hooks"), 0o555);
        set_mode(&scene.write(".envrc", "x"), 0o777);
    });
    let quarantine = scene.quarantine();
    assert_eq!(mode(&quarantine.join("0001/.envrc")), 0o666);
    assert_eq!(mode(&quarantine.join("0002/.git/hooks/pre-commit")), 0o644);
    assert_eq!(mode(&quarantine.join("0002/.git/secret")), 0);
    assert_eq!(mode(&quarantine.join("0002/.git/hooks")), 0o700);
}

#[test]
fn a_file_with_another_name_in_the_root_is_copied() {
    let scene = Scene::new();
    scene.write("tool", "mine");
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        fs::create_dir(scene.at(".husky")).unwrap();
        fs::hard_link(scene.at("tool"), scene.at(".husky/pre-commit")).unwrap();
        fs::hard_link(scene.at("tool"), scene.at(".envrc")).unwrap();
    });
    assert_eq!(violations.len(), 2);
    fs::write(scene.at("tool"), "theirs").unwrap();
    for taken in ["0001/.envrc", "0002/.husky/pre-commit"] {
        let taken = scene.quarantine().join(taken);
        assert_eq!(fs::read_to_string(&taken).unwrap(), "mine");
        assert_eq!(taken.metadata().unwrap().nlink(), 1);
    }
    assert_eq!(scene.at("tool").metadata().unwrap().nlink(), 1);
}

#[test]
fn a_quarantine_on_another_file_system_gets_a_copy() {
    let scene = Scene::new();
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
    let dev = |path: &Path| path.metadata().unwrap().dev();
    if dev(other.path()) == dev(&scene.root()) {
        return;
    }
    let quarantine = other.path().join("quarantine");
    let mut guard = scene.guard(GitAccess::Read);
    let mark = guard.begin().unwrap();
    set_mode(&scene.write(".git/hooks/pre-commit", "planted"), 0o755);
    make_fifo(&scene.at(".git/hooks/fifo"));
    std::os::unix::fs::symlink("/etc/passwd", scene.at(".git/link")).unwrap();
    // Sparse, and far too long to be copied.
    fs::File::create(scene.write(".husky/large", "")).unwrap().set_len(1 << 40).unwrap();
    let violations = guard.check(&mark, &quarantine).unwrap().violations;
    assert!(violations.iter().all(|it| it.restored), "{violations:?}");
    let hook = quarantine.join("0001/.git/hooks/pre-commit");
    assert_eq!((fs::read_to_string(&hook).unwrap(), mode(&hook)), ("planted".into(), 0o644));
    assert!(quarantine.join("0001/.git/link").symlink_metadata().unwrap().is_symlink());
    assert!(!scene.is_there("agentry-quarantined-0001"));
    assert!(!quarantine.join("0002").exists());
    // What cannot be copied stays, but under a name that means nothing.
    assert_eq!(violations[1].quarantined, Some(scene.at("agentry-quarantined-0002")));
    assert!(!scene.is_there(".git") && !scene.is_there(".husky"));
    assert_eq!(mode(&scene.at("agentry-quarantined-0002")), 0o700);
}

#[test]
fn a_quarantine_that_cannot_be_used_is_told_and_tried_again() {
    let scene = Scene::new();
    fs::write(scene.quarantine(), "a file").unwrap();
    let mut guard = scene.guard(GitAccess::Read);
    let checked = scene.whole_call(&mut guard, || {
        scene.write(".envrc", "planted");
    });
    for checked in [checked, guard.check_again(&scene.quarantine()).unwrap()] {
        let violations = checked.violations;
        assert_eq!(told(&violations, &scene.root()), [(".envrc".to_owned(), "planted", false)]);
        assert!(violations[0].to_string().contains("cannot be used"), "{}", violations[0]);
        assert!(checked.incomplete.unwrap().contains("could not be taken away"));
        guard.begin().unwrap_err();
    }
    fs::remove_file(scene.quarantine()).unwrap();
    let violations = guard.check_again(&scene.quarantine()).unwrap().violations;
    assert_eq!(told(&violations, &scene.root()), one(".envrc", "planted"));
    scene.is_at_rest(&mut guard);
}

#[test]
fn a_quarantine_in_a_root_is_refused() {
    let scene = Scene::new();
    let mut guard = scene.guard(GitAccess::Read);
    let mark = guard.begin().unwrap();
    let error = guard.check(&mark, &scene.at("quarantine")).unwrap_err();
    assert!(error.to_string().contains("lies in a writable root"), "{error}");
}

#[test]
fn a_quarantine_in_one_of_several_roots_is_refused() {
    let scene = Scene::new();
    let second = scene.dir.path().canonicalize().unwrap().join("second");
    fs::create_dir(&second).unwrap();
    let roots = [scene.root(), second.clone()];
    let mut guard =
        ProtectionGuard::scan(&roots, Protection::default(), WalkBounds::default()).unwrap();
    let mark = guard.begin().unwrap();
    let error = guard.check(&mark, &second.join("quarantine")).unwrap_err();
    assert!(error.to_string().contains("lies in a writable root"), "{error}");
}
