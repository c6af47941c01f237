//! Walks over the files below a directory, in a fixed order, without files that git would ignore.
//!
//! Directories are opened below the handle of the workspace and links are not followed. Ignore
//! rules are those of `.gitignore` and `.ignore` from the workspace down, not from above it.
//!
//! Must never: visit more entries than allowed, or continue after a stop.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::limits::{IGNORE_FILE_BYTES_MAX, SEARCH_DEPTH_MAX};
use crate::tool::ToolContext;
use crate::workspace::{Error, Workspace};

/// The options of a walk.
pub(crate) struct WalkOptions<'a> {
    /// The directory, below the workspace.
    pub(crate) root: &'a Path,
    /// True if names that begin with a dot are visited too.
    pub(crate) hidden: bool,
}

/// The reason why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    /// All files were visited.
    Complete,
    /// The visitor ended the walk.
    Enough,
    /// The limit of entries or of depth was reached.
    Entries,
    /// The time limit was reached.
    Time,
    /// The call was stopped.
    Stopped,
}

impl WalkEnd {
    /// Returns a note for the model; None if all files were visited.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Self::Complete => None,
            Self::Enough => Some("there are more results"),
            Self::Entries => Some("too many files, not all were looked at"),
            Self::Time => Some("the time was over before all files were looked at"),
            Self::Stopped => Some("stopped before all files were looked at"),
        }
    }
}

enum WalkEntry {
    Directory(WalkDirectory),
    File(PathBuf),
}

/// A directory to visit: its path below the workspace, its depth below the root of the walk, and
/// the rules of the directories above it.
struct WalkDirectory {
    path: PathBuf,
    depth: usize,
    ignores: Rc<IgnoreRules>,
}

/// Calls the visitor for each file, with its path below the workspace.
pub(crate) fn files(
    walk: &WalkOptions<'_>,
    context: &ToolContext<'_>,
    visit: &mut dyn FnMut(&Path) -> ControlFlow<()>,
) -> Result<WalkEnd, Error> {
    let workspace = context.workspace;
    // The root must exist; a directory that vanishes during the walk is no error.
    drop(workspace.open_real_dir(walk.root)?);
    let root = without_dot(walk.root);
    let deadline = Instant::now() + Duration::from_millis(context.bounds.search_ms);
    let mut left = context.bounds.search_entries;
    let ignores = IgnoreRules::above(workspace, &root);
    let mut stack = vec![WalkEntry::Directory(WalkDirectory { path: root, depth: 0, ignores })];
    while let Some(entry) = stack.pop() {
        if context.stop.is_stopped() {
            return Ok(WalkEnd::Stopped);
        }
        if Instant::now() >= deadline {
            return Ok(WalkEnd::Time);
        }
        match entry {
            WalkEntry::File(path) => {
                if visit(&path).is_break() {
                    return Ok(WalkEnd::Enough);
                }
            }
            WalkEntry::Directory(directory) if directory.depth < SEARCH_DEPTH_MAX => {
                let (entries, is_all) = list(walk, workspace, directory, &mut left);
                stack.extend(entries.into_iter().rev());
                if !is_all {
                    return finish(stack, visit);
                }
            }
            WalkEntry::Directory(_) => return Ok(WalkEnd::Entries),
        }
    }
    Ok(WalkEnd::Complete)
}

/// Visits the files that were listed before the limit of entries was reached, and no more.
fn finish(
    stack: Vec<WalkEntry>,
    visit: &mut dyn FnMut(&Path) -> ControlFlow<()>,
) -> Result<WalkEnd, Error> {
    for entry in stack.into_iter().rev() {
        if let WalkEntry::File(path) = entry
            && visit(&path).is_break()
        {
            break;
        }
    }
    Ok(WalkEnd::Entries)
}

/// Lists a directory by name; returns true if the list is complete.
fn list(
    walk: &WalkOptions<'_>,
    workspace: &Workspace,
    directory: WalkDirectory,
    left: &mut usize,
) -> (Vec<WalkEntry>, bool) {
    let WalkDirectory { path, depth, ignores } = directory;
    let ignores = IgnoreRules::below(workspace, &path, ignores);
    let here = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
    let Ok(entries) = workspace.dir().read_dir(here) else { return (Vec::new(), true) };
    let mut found = Vec::new();
    let mut is_all = true;
    for entry in entries.flatten() {
        if *left == 0 {
            is_all = false;
            break;
        }
        *left -= 1;
        let name = entry.file_name();
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        let Ok(kind) = entry.file_type() else { continue };
        let path = path.join(&name);
        if name == ".git" || (is_hidden && !walk.hidden) || ignores.ignore(&path, kind.is_dir()) {
            continue;
        }
        if kind.is_dir() {
            let ignores = Rc::clone(&ignores);
            let directory = WalkDirectory { path, depth: depth + 1, ignores };
            found.push((name, WalkEntry::Directory(directory)));
        } else if kind.is_file() {
            found.push((name, WalkEntry::File(path)));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    (found.into_iter().map(|(_, entry)| entry).collect(), is_all)
}

fn without_dot(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}

/// The rules of one directory, with those above it.
struct IgnoreRules {
    above: Option<Rc<IgnoreRules>>,
    rules: Vec<Gitignore>,
}

impl IgnoreRules {
    /// Reads the rules of every directory above this one, from the workspace down.
    fn above(workspace: &Workspace, path: &Path) -> Rc<Self> {
        let none = Rc::new(Self { above: None, rules: Vec::new() });
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        above.into_iter().fold(none, |rules, path| Self::below(workspace, path, rules))
    }

    fn below(workspace: &Workspace, path: &Path, above: Rc<Self>) -> Rc<Self> {
        let rules: Vec<Gitignore> = [".ignore", ".gitignore"]
            .into_iter()
            .filter_map(|name| rules(workspace, path, name))
            .collect();
        if rules.is_empty() { above } else { Rc::new(Self { above: Some(above), rules }) }
    }

    /// Returns true if a path is ignored: the nearest matching rule decides.
    fn ignore(&self, path: &Path, is_dir: bool) -> bool {
        let path = rooted(path);
        let mut level = Some(self);
        while let Some(ignores) = level {
            for rules in &ignores.rules {
                let matched = rules.matched(&path, is_dir);
                if !matched.is_none() {
                    return matched.is_ignore();
                }
            }
            level = ignores.above.as_deref();
        }
        false
    }
}

fn rules(workspace: &Workspace, path: &Path, name: &str) -> Option<Gitignore> {
    let (file, _) = workspace.open_file(&path.join(name)).ok()?;
    let mut text = Vec::new();
    file.take(IGNORE_FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(rooted(path));
    for line in String::from_utf8_lossy(&text).lines() {
        add_rule(&mut builder, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Adds a line of an ignore file. A line that is not a pattern ignores nothing, as in git.
fn add_rule(rules: &mut GitignoreBuilder, line: &str) {
    rules.add_line(None, line).ok();
}

/// Prefixes a path with a root, since the matcher requires one.
fn rooted(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}
