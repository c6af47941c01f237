//! Repairs that fail, step by step.

use super::*;
use crate::protect::names::ProtectedNames;
use crate::protect::rooted_path::WritableRoot;
use crate::protect::walk::WalkBounds;

/// A root and its baseline before the call.
struct Scene {
    dir: tempfile::TempDir,
    roots: Vec<WritableRoot>,
    names: ProtectedNames,
    bounds: WalkBounds,
    known: BTreeMap<RootedPath, BaselineEntry>,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let roots = WritableRoot::open_all(&[root]).unwrap();
        let (names, bounds, known) =
            (ProtectedNames::default(), WalkBounds::default(), BTreeMap::new());
        Self { dir, roots, names, bounds, known }
    }

    fn quarantine(&self) -> PathBuf {
        self.dir.path().join("quarantine")
    }

    fn check<'a>(&'a self, quarantine: &'a Path) -> GuardCheck<'a> {
        let task = WalkTask {
            roots: &self.roots,
            names: &self.names,
            git: GitAccess::Read,
            whole_repositories: false,
            bounds: &self.bounds,
            explicit: &[],
            beginnings: &[],
            secrets: &[],
            since: Some((0, 0)),
        };
        GuardCheck {
            task,
            known: &self.known,
            directories: None,
            repair: Repair::new(&self.roots, quarantine, HashSet::new()),
            violations: Vec::new(),
            unlisted: 0,
            given_up: BTreeMap::new(),
            is_unsafe: false,
            races: 0,
        }
    }

    /// Returns a protected directory; the root stands for it.
    fn directory(&self) -> BaselineEntry {
        let status = dir::status_of(&self.roots[0].dir).unwrap();
        BaselineEntry { role: ProtectionRole::Protected, status, content: SavedContent::Nothing }
    }
}

fn place(path: &str) -> RootedPath {
    RootedPath { root: 0, path: path.into() }
}

fn moved() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "moved")
}

#[test]
fn only_so_many_races_are_waited_for() {
    let scene = Scene::new();
    let quarantine = scene.quarantine();
    let mut check = scene.check(&quarantine);
    assert!(!check.is_race(&io::Error::other("full")));
    for _ in 0..REPAIR_RACES_MAX {
        assert!(check.is_race(&moved()));
    }
    assert!(!check.is_race(&moved()));
    assert_eq!(check.races, REPAIR_RACES_MAX);
}

#[test]
fn a_place_that_was_moved_meanwhile_is_not_given_up() {
    let scene = Scene::new();
    let quarantine = scene.quarantine();
    let mut check = scene.check(&quarantine);
    for outcome in [Err(moved()), Ok((None, Err(moved())))] {
        assert!(!check.tell(&place(".envrc"), ViolationKind::Changed, outcome));
        assert_eq!(check.violations, []);
    }
    // The quarantined entry is reported at once.
    let outcome = Ok((Some(PathBuf::from("/q/0001")), Err(moved())));
    assert!(!check.tell(&place(".envrc"), ViolationKind::Changed, outcome));
    assert_eq!(check.violations.len(), 1);
    assert_eq!((check.violations[0].restored, &check.violations[0].problem), (true, &None));
    assert!(check.given_up.is_empty() && !check.is_unsafe);
}

#[test]
fn a_place_that_cannot_be_put_right_is_given_up_and_unsafe_if_something_is_left_there() {
    let scene = Scene::new();
    let quarantine = scene.quarantine();
    let mut check = scene.check(&quarantine);
    let full = || io::Error::other("full");
    assert!(check.tell(&place("a"), ViolationKind::Changed, Ok((None, Ok(())))));
    assert!(!check.tell(&place("b"), ViolationKind::Changed, Ok((None, Err(full())))));
    assert!(!check.is_unsafe);
    assert!(!check.tell(&place("c"), ViolationKind::Changed, Err(full())));
    assert!(check.is_unsafe);
    let given_up: Vec<&RootedPath> = check.given_up.keys().collect();
    assert_eq!(given_up, [&place("b"), &place("c")]);
    let restored: Vec<bool> = check.violations.iter().map(|it| it.restored).collect();
    assert_eq!(restored, [true, false, false]);
}

#[test]
fn violations_beyond_the_list_are_counted_and_judged_alike() {
    let scene = Scene::new();
    let quarantine = scene.quarantine();
    let mut check = scene.check(&quarantine);
    for _ in 0..VIOLATIONS_LISTED_MAX {
        assert!(check.tell(&place("a"), ViolationKind::Planted, Ok((None, Ok(())))));
    }
    assert_eq!(check.unlisted, 0);
    assert!(check.tell(&place("b"), ViolationKind::Planted, Ok((None, Ok(())))));
    assert!(!check.tell(&place("c"), ViolationKind::Planted, Err(io::Error::other("full"))));
    assert_eq!((check.violations.len(), check.unlisted), (VIOLATIONS_LISTED_MAX, 2));
    assert!(check.given_up.contains_key(&place("c")) && check.is_unsafe);
}

#[test]
fn a_directory_that_was_moved_before_it_could_be_made_again_waits_for_the_next_round() {
    let scene = Scene::new();
    let quarantine = scene.quarantine();
    let mut check = scene.check(&quarantine);
    let (mut round, known) = (CheckRound::default(), scene.directory());
    let place = place(".husky");
    let now = Some(known.status.clone());
    check.make_again(&mut round, &ChangedPath { place: &place, known: &known, now });
    assert!(round.is_settled(&place) && round.remade.is_none() && round.acted);
    assert_eq!((check.violations.len(), check.races), (0, 1));
}

#[test]
fn a_known_directory_that_cannot_be_looked_at_stops_the_check() {
    let mut scene = Scene::new();
    // No file name can contain this byte.
    scene.known.insert(place("a\0b"), scene.directory());
    let quarantine = scene.quarantine();
    scene.check(&quarantine).open_directories().unwrap_err();
}
