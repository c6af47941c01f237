//! Turns that are taken back, on real repositories.

use std::fs;

use super::*;

struct Place {
    root: tempfile::TempDir,
    snapshots: Snapshots,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let repository = Repository::init(root.path()).unwrap();
        let place = Self { snapshots: Snapshots::of(root.path(), "chat_1"), root };
        place.write("tracked.txt", "one\n");
        place.write(".gitignore", "target\n");
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("tracked.txt")).unwrap();
        index.write().unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let ada = Signature::now("Ada", "ada@example.com").unwrap();
        repository.commit(Some("HEAD"), &ada, &ada, "first", &tree, &[]).unwrap();
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.path().join(path)).ok()
    }

    fn turn(&self, act: impl FnOnce()) {
        self.snapshots.before().unwrap();
        act();
        self.snapshots.after().unwrap();
    }

    /// All of the repository's own that must not change, as text.
    fn own(&self) -> String {
        let git = self.root.path().join(".git");
        let index = fs::read(git.join("index")).unwrap();
        let head = fs::read_to_string(git.join("HEAD")).unwrap();
        format!("{head} {index:?}")
    }
}

#[test]
fn what_a_turn_did_to_files_is_taken_back_and_nothing_else() {
    let place = Place::new();
    place.write("mine.txt", "not committed\n");
    let own = place.own();
    place.turn(|| {
        place.write("tracked.txt", "two\n");
        place.write("mine.txt", "changed\n");
        place.write("deep/new.txt", "new\n");
        place.write("target", "ignored\n");
    });
    place.write("later.txt", "of the person\n");
    assert_eq!(place.snapshots.undo().unwrap(), ["deep/new.txt", "mine.txt", "tracked.txt"]);
    assert_eq!(place.read("tracked.txt").unwrap(), "one\n");
    assert_eq!(place.read("mine.txt").unwrap(), "not committed\n");
    assert_eq!(place.read("deep/new.txt"), None);
    assert_eq!(place.read("target").unwrap(), "ignored\n");
    assert_eq!(place.read("later.txt").unwrap(), "of the person\n");
    assert_eq!(place.own(), own);
    place.snapshots.undo().unwrap_err();
}

#[test]
fn a_file_that_was_changed_again_stays_and_is_named() {
    let place = Place::new();
    place.turn(|| {
        place.write("tracked.txt", "two\n");
        place.write("other.txt", "x\n");
    });
    place.write("tracked.txt", "three\n");
    let why = place.snapshots.undo().unwrap_err();
    assert_eq!(why, "Nothing was reverted, because these files changed again: tracked.txt");
    assert_eq!(place.read("other.txt").unwrap(), "x\n");
}

#[test]
fn turns_are_taken_back_one_after_the_other() {
    let place = Place::new();
    place.turn(|| place.write("tracked.txt", "two\n"));
    place.turn(|| place.write("tracked.txt", "three\n"));
    place.snapshots.undo().unwrap();
    assert_eq!(place.read("tracked.txt").unwrap(), "two\n");
    place.snapshots.undo().unwrap();
    assert_eq!(place.read("tracked.txt").unwrap(), "one\n");
}

#[test]
fn a_deleted_file_comes_back_and_a_link_is_not_followed() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    place.write("dir/a.txt", "a\n");
    place.turn(|| fs::remove_file(place.root.path().join("dir/a.txt")).unwrap());
    fs::remove_dir_all(place.root.path().join("dir")).unwrap();
    std::os::unix::fs::symlink(outside.path(), place.root.path().join("dir")).unwrap();
    place.snapshots.undo().unwrap_err();
    assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
    fs::remove_file(place.root.path().join("dir")).unwrap();
    place.snapshots.undo().unwrap();
    assert_eq!(place.read("dir/a.txt").unwrap(), "a\n");
}

#[test]
fn a_file_that_is_too_large_is_named() {
    let place = Place::new();
    let large = "x".repeat(usize::try_from(UNDO_FILE_BYTES_MAX).unwrap() + 1);
    place.turn(|| place.write("large.bin", &large));
    assert_eq!(
        place.snapshots.undo().unwrap_err(),
        "Too large to revert, check by hand: large.bin"
    );
}

#[test]
fn a_large_file_that_was_not_touched_is_in_nobodys_way() {
    let place = Place::new();
    place.write("large.bin", &"x".repeat(usize::try_from(UNDO_FILE_BYTES_MAX).unwrap() + 1));
    place.turn(|| place.write("tracked.txt", "two\n"));
    assert_eq!(place.snapshots.undo().unwrap(), ["tracked.txt"]);
}

#[test]
fn what_happened_after_a_turn_that_never_ended_is_not_taken_for_the_next_ones() {
    let place = Place::new();
    place.snapshots.before().unwrap();
    place.write("mine.txt", "of the person\n");
    place.turn(|| place.write("tracked.txt", "two\n"));
    assert_eq!(place.snapshots.undo().unwrap(), ["tracked.txt"]);
    assert_eq!(place.read("mine.txt").unwrap(), "of the person\n");
}

#[test]
fn a_file_that_git_stores_otherwise_comes_back_as_it_lay_there() {
    let place = Place::new();
    let repository = Repository::open(place.root.path()).unwrap();
    place.write(".gitattributes", "*.txt text eol=crlf\n");
    place.write("tracked.txt", "one\r\n");
    let mut index = repository.index().unwrap();
    index.add_path(Path::new(".gitattributes")).unwrap();
    index.add_path(Path::new("tracked.txt")).unwrap();
    index.write().unwrap();
    place.turn(|| place.write("tracked.txt", "two\r\n"));
    assert_eq!(place.snapshots.undo().unwrap(), ["tracked.txt"]);
    assert_eq!(place.read("tracked.txt").unwrap(), "one\r\n");
}

#[test]
fn without_a_repository_it_says_so() {
    let root = tempfile::tempdir().unwrap();
    let snapshots = Snapshots::of(root.path(), "x");
    snapshots.before().unwrap();
    assert!(snapshots.undo().unwrap_err().starts_with("The workspace is not a git repository"));
    assert!(diff(root.path()).unwrap_err().starts_with("The workspace is not a git repository"));
}

#[test]
fn the_diff_shows_changes_and_new_files() {
    let place = Place::new();
    place.write("tracked.txt", "two\n");
    place.write("new.txt", "n\n");
    let text = diff(place.root.path()).unwrap();
    assert!(text.contains("-one\n+two\n") && text.contains("+n\n"), "{text}");
}
