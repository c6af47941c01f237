//! Files that must stay hidden: by their names at any depth, and by other names of the same file.
//!
//! Must never: leave a file out because a scan could not be finished.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::dir::{self, DirectoryReader, FileId, Kind};
use super::rooted_path::WritableRoot;
use super::secret_name::SecretName;
use super::walk::{self, WalkBounds};
use crate::limits::{HARD_LINKS_MS_MAX, HIDDEN_ENTRIES_MAX};

/// Finds the files that the entries hide below some directories.
pub(crate) fn find(roots: &[PathBuf], entries: &[String]) -> io::Result<Vec<PathBuf>> {
    let secrets = SecretName::all(entries);
    search(roots, &secrets, HashSet::new())
}

/// Finds every name of files below some directories.
fn names_of(roots: &[PathBuf], ids: HashSet<FileId>) -> io::Result<Vec<PathBuf>> {
    if ids.is_empty() { Ok(Vec::new()) } else { search(roots, &[], ids) }
}

fn search(
    roots: &[PathBuf],
    secrets: &[SecretName],
    ids: HashSet<FileId>,
) -> io::Result<Vec<PathBuf>> {
    let roots = WritableRoot::open_all(roots)?;
    let survey = walk::search(&roots, &WalkBounds::default(), secrets, ids)?;
    match survey.incomplete {
        None => Ok(survey.secrets),
        Some(reason) => Err(io::Error::other(format!(
            "not every file could be looked at for hidden ones: {reason}"
        ))),
    }
}

/// A short-lived cache of hard-linked files in hidden directories that no call can write.
///
/// A call cannot link a file that is hidden from it, so only a person can add such a name. A scan
/// for each call would visit the whole profile of a browser each time.
#[derive(Debug, Default)]
pub(crate) struct HardLinkCache {
    looks: Mutex<BTreeMap<PathBuf, HardLinkScan>>,
}

#[derive(Debug)]
struct HardLinkScan {
    at: Instant,
    ids: Arc<HashSet<FileId>>,
}

impl HardLinkCache {
    /// Returns the files below a path with more than one name, at most `HARD_LINKS_MS_MAX` old.
    fn below(&self, path: &Path, now: Instant) -> io::Result<Arc<HashSet<FileId>>> {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let age_max = Duration::from_millis(HARD_LINKS_MS_MAX);
        looks.retain(|_, look| now.saturating_duration_since(look.at) < age_max);
        if let Some(look) = looks.get(path) {
            return Ok(look.ids.clone());
        }
        let mut ids = HashSet::new();
        shared_files(path, false, &mut ids)?;
        let ids = Arc::new(ids);
        looks.insert(path.to_owned(), HardLinkScan { at: now, ids: ids.clone() });
        Ok(ids)
    }

    /// Finds the other names of hidden files that have several.
    pub(crate) fn other_names(
        &self,
        hidden: &[PathBuf],
        roots: &[PathBuf],
    ) -> io::Result<Vec<PathBuf>> {
        let mut ids = HashSet::new();
        let now = Instant::now();
        for path in hidden {
            if roots.iter().any(|root| path.starts_with(root)) {
                shared_files(path, true, &mut ids)?;
            } else {
                ids.extend(self.below(path, now)?.iter());
            }
        }
        let mut names = names_of(roots, ids)?;
        names.retain(|path| !hidden.iter().any(|one| path.starts_with(one)));
        Ok(names)
    }
}

/// Collects the files at a path that have more than one name. Of a directory outside of the visible
/// roots only the first entries are visited: it may be the whole profile of a browser.
fn shared_files(path: &Path, is_inside: bool, ids: &mut HashSet<FileId>) -> io::Result<()> {
    let mut left = HIDDEN_ENTRIES_MAX;
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let name = dir::c_name(path.as_os_str())?;
        let Some(status) = dir::status(rustix::fs::CWD, &name).ok().flatten() else { continue };
        match status.kind {
            Kind::File if status.links > 1 => drop(ids.insert(status.id)),
            Kind::Directory => {
                let Ok(handle) = dir::open_dir(rustix::fs::CWD, &name) else { continue };
                let Some(names) = DirectoryReader::new().names(&handle, left)? else {
                    if is_inside {
                        return Err(io::Error::other(format!(
                            "{path:?} is hidden and has more than {HIDDEN_ENTRIES_MAX} entries"
                        )));
                    }
                    return Ok(());
                };
                left -= names.len();
                let below = |name: std::ffi::CString| path.join(&*name.to_string_lossy());
                waiting.extend(names.into_iter().map(below));
            }
            Kind::File | Kind::Link | Kind::Other => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_hard_link_to_a_hidden_file_elsewhere_is_found_within_seconds() {
        let directory = tempfile::tempdir().expect("there is room");
        let (home, work) = (directory.path().join("home"), directory.path().join("work"));
        for path in [&home, &work] {
            fs::create_dir(path).expect("it is new");
        }
        fs::write(home.join("key"), "secret").expect("it is written");
        let cache = HardLinkCache::default();
        let first = Instant::now();
        assert!(cache.below(&home, first).expect("it is read").is_empty());
        fs::hard_link(home.join("key"), work.join("copy")).expect("it is linked");
        // The cached scan makes calls fast.
        assert!(cache.below(&home, first).expect("it is read").is_empty());
        let later = first + Duration::from_millis(HARD_LINKS_MS_MAX);
        assert_eq!(cache.below(&home, later).expect("it is read").len(), 1);
        let names = cache.other_names(&[home], std::slice::from_ref(&work)).expect("it is read");
        assert_eq!(names, [work.join("copy")]);
    }

    #[test]
    fn a_hard_link_to_a_hidden_file_of_the_workspace_is_found_at_once() {
        let directory = tempfile::tempdir().expect("there is room");
        let work = directory.path().to_owned();
        let (hidden, copy) = (work.join(".env"), work.join("copy"));
        fs::write(&hidden, "secret").expect("it is written");
        let cache = HardLinkCache::default();
        let names = || {
            let hidden = std::slice::from_ref(&hidden);
            cache.other_names(hidden, std::slice::from_ref(&work)).expect("it is read")
        };
        assert_eq!(names(), Vec::<PathBuf>::new());
        fs::hard_link(&hidden, &copy).expect("it is linked");
        assert_eq!(names(), [copy]);
    }

    #[test]
    fn names_at_any_depth_are_found_below_the_outermost_directories() {
        let entries = ["/w/**/.env", "/w/sub/**/.env", "/x/**/key*", "/plain", "/w*"];
        let entries = entries.map(str::to_owned);
        assert_eq!(SecretName::roots(&entries), [Path::new("/w"), Path::new("/x")]);
        let names = SecretName::all(&entries);
        assert_eq!(names.len(), 3);
        for (name, expected) in [(".env", true), (".envrc", true), ("x.env", false), ("", false)] {
            assert_eq!(names[0].may_match(name.as_bytes()), expected, "{name}");
        }
        assert!(names[2].may_match(b"key") && names[2].may_match(b"keys"));

        let directory = tempfile::tempdir().expect("there is room");
        let root = directory.path().canonicalize().expect("it is there");
        for path in ["sub/deep", "agent/prompts", "skill/scripts"] {
            fs::create_dir_all(root.join(path)).expect("it is new");
        }
        // Definitions of agents and skills are not hidden.
        for path in ["agent/AGENT.md", "skill/SKILL.md", "sub/.envrc", "sub/monkey"] {
            fs::write(root.join(path), "").expect("it is written");
        }
        let expected =
            [".env", "agent/prompts/.env", "skill/scripts/.env", "sub/deep/.env", "sub/deep/keys"];
        for path in expected {
            fs::write(root.join(path), "").expect("it is written");
        }
        let text = root.to_str().expect("it is text");
        let entries = [format!("{text}/**/.env"), format!("{text}/**/key*")];
        let mut found = find(std::slice::from_ref(&root), &entries).expect("it is read");
        found.sort();
        assert_eq!(found, expected.map(|path| root.join(path)));
    }

    #[test]
    fn a_hard_link_into_a_hidden_directory_is_the_only_name_to_be_hidden() {
        let directory = tempfile::tempdir().expect("there is room");
        let path = |name: &str| directory.path().join(name);
        for name in ["work", "work/.ssh", "other"] {
            fs::create_dir(path(name)).expect("it is new");
        }
        fs::write(path("work/.ssh/key"), "secret").expect("it is written");
        fs::write(path("work/.env"), "secret").expect("it is written");
        let hidden = [path("work/.env"), path("work/.ssh")];
        let roots = [path("other"), path("work")];
        let cache = HardLinkCache::default();
        let names = || cache.other_names(&hidden, &roots).expect("it is read");
        assert_eq!(names(), Vec::<PathBuf>::new());
        fs::hard_link(path("work/.ssh/key"), path("other/copy")).expect("it is linked");
        // At once, because a call can write there.
        assert_eq!(names(), [path("other/copy")]);
    }

    #[test]
    fn a_hidden_directory_that_is_too_large_is_refused_where_it_can_be_seen() {
        let directory = tempfile::tempdir().expect("there is room");
        for number in 0..=HIDDEN_ENTRIES_MAX {
            fs::File::create(directory.path().join(number.to_string())).expect("it is new");
        }
        let mut ids = HashSet::new();
        let error = shared_files(directory.path(), true, &mut ids).expect_err("it is too large");
        assert!(error.to_string().contains("is hidden and has more than"), "{error}");
        shared_files(directory.path(), false, &mut ids).expect("it is outside");
        assert!(ids.is_empty());
    }
}
