//! What is kept of protected files, and what is said where something could not be kept.

use super::*;

/// The longest file whose content is kept.
const KEPT_FILE_BYTES: u64 = 1024 * 1024;
/// The number of such files that are kept.
const KEPT_FILES: u64 = 32;

/// Makes a file of zeros that takes no room.
fn make_sparse(scene: &Scene, path: &str, bytes: u64) {
    fs::File::create(scene.write(path, "")).unwrap().set_len(bytes).unwrap();
}

#[test]
fn files_are_put_back_as_long_as_there_is_room_to_keep_them() {
    let scene = Scene::new();
    for number in 0..=KEPT_FILES {
        make_sparse(&scene, &format!(".vscode/{number:02}"), KEPT_FILE_BYTES);
    }
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        scene.write(".vscode/31", "theirs");
        scene.write(".vscode/32", "theirs");
    });
    let expected =
        [(".vscode/31".to_owned(), "changed", true), (".vscode/32".to_owned(), "changed", false)];
    assert_eq!(told(&violations, &scene.root()), expected);
    assert_eq!(scene.at(".vscode/31").metadata().unwrap().len(), KEPT_FILE_BYTES);
    assert!(violations[1].problem.as_ref().unwrap().contains("too large"));
}

#[test]
fn a_right_to_execute_a_file_too_large_to_be_kept_is_a_change() {
    let scene = Scene::new();
    make_sparse(&scene, ".envrc", KEPT_FILE_BYTES + 1);
    set_mode(&scene.at(".envrc"), 0o644);
    let mut guard = scene.guard(GitAccess::Read);
    scene.is_at_rest(&mut guard);
    let violations = scene.call(&mut guard, || set_mode(&scene.at(".envrc"), 0o755));
    assert_eq!(told(&violations, &scene.root()), [(".envrc".to_owned(), "changed", false)]);
}

#[test]
fn a_directory_that_comes_back_without_one_of_its_files_says_which() {
    let scene = Scene::new();
    make_sparse(&scene, ".husky/large", KEPT_FILE_BYTES + 1);
    scene.write(".husky/small", "mine");
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || fs::remove_dir_all(scene.at(".husky")).unwrap());
    assert_eq!(told(&violations, &scene.root()), [(".husky".to_owned(), "removed", false)]);
    assert!(violations[0].problem.as_ref().unwrap().contains("\".husky/large\": "));
    assert_eq!(scene.read(".husky/small"), "mine");
}

#[test]
fn a_fifo_of_the_person_stays_and_another_one_is_a_change() {
    let scene = Scene::new();
    make_fifo(&scene.at(".envrc"));
    let mut guard = scene.guard(GitAccess::Read);
    scene.is_at_rest(&mut guard);
    let violations = scene.call(&mut guard, || {
        make_fifo(&scene.at("other"));
        fs::rename(scene.at("other"), scene.at(".envrc")).unwrap();
    });
    assert_eq!(told(&violations, &scene.root()), [(".envrc".to_owned(), "changed", false)]);
}

#[test]
fn a_planted_directory_is_told_once_however_much_is_in_it() {
    let scene = Scene::new();
    let mut guard = scene.guard(GitAccess::Read);
    let violations = scene.call(&mut guard, || {
        for number in 0..1_100 {
            scene.write(&format!(".vscode/{number}"), "");
        }
    });
    assert_eq!(told(&violations, &scene.root()), one(".vscode", "planted"));
}
