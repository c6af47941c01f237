//! Resolves the path of a request: a project, one of its agents, or one file.
//!
//! Must never: read a definition.

use std::path::{Path, PathBuf};

use agentry_agentfile::diagnostic::{DiagnosticCode, FindingText, Findings};
use agentry_agentfile::file_tree::FileTree;
use agentry_agentfile::library::Library;
use agentry_agentfile::{config, layout};

use crate::definitions::project_error::ProjectError;

/// The target of a path.
pub(crate) struct PathTarget {
    /// The directory to read.
    pub(crate) directory: PathBuf,
    /// The directory as shown to people.
    pub(crate) label: String,
    /// The path that findings are limited to.
    pub(crate) only: Option<String>,
    /// The requested directory, if it lies inside of a pack.
    pub(crate) inside: Option<PathBuf>,
    /// The requested file, relative to the directory.
    pub(crate) file: Option<String>,
}

impl PathTarget {
    pub(crate) fn of(path: &Path) -> Result<Self, ProjectError> {
        let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
        let asked = if metadata.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        let asked = if asked.as_os_str().is_empty() { Path::new(".") } else { asked };
        let full = asked.canonicalize().map_err(|error| unreadable(path, error))?;
        let pack = full.ancestors().find(|directory| {
            directory.file_name().is_some_and(|name| layout::PACKS.iter().any(|pack| name == *pack))
        });
        let typed = shown(asked);
        let file = (!metadata.is_dir()).then(|| path.file_name()).flatten();
        let file = file.map(|name| name.to_string_lossy().into_owned());
        let Some((project, pack)) = pack.and_then(|pack| Some((pack.parent()?, pack.file_name()?)))
        else {
            let (directory, label) = (asked.to_owned(), typed);
            let place = Self { directory, label, only: None, inside: None, file };
            let only = place.file.as_deref().and_then(|file| only_of(&place.label, "", file));
            return Ok(Self { only, ..place });
        };
        // A part of a pack is read with its neighbors, because it may refer to them.
        let pack = pack.to_string_lossy();
        let inside = full.strip_prefix(project).unwrap_or(Path::new(""));
        let label = if asked.is_relative() && !typed.contains(&*pack) {
            // The path is relative to a directory within the pack: the project lies above.
            above(&typed, inside.components().count())
        } else {
            typed.split(&*pack).next().unwrap_or_default().trim_end_matches('/').to_owned()
        };
        let below = inside.to_string_lossy().into_owned();
        let of_file = file.as_deref().and_then(|file| only_of(&label, &below, file));
        let whole = if label.is_empty() { below.clone() } else { format!("{label}/{below}") };
        let file = file.map(|file| format!("{below}/{file}"));
        let (directory, only) = (project.to_owned(), Some(of_file.unwrap_or(whole)));
        Ok(Self { directory, label, only, inside: Some(full), file })
    }

    /// Reports a requested file that belongs to no definition and so was not checked.
    pub(crate) fn check_file(&self, project: &FileTree, findings: &mut Findings) {
        let Some(file) = self.file.as_deref().filter(|file| project.get(file).is_none()) else {
            return;
        };
        let text =
            FindingText::new("this file is not part of an agent, a skill, a task or the settings")
                .help("name a definition, or the directory that contains it");
        findings.about(DiagnosticCode::NothingHere, self.shown(file), text);
    }

    /// Returns true if a path lies in the directory, with links resolved.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        match (path.canonicalize(), self.directory.canonicalize()) {
            (Ok(path), Ok(directory)) => path.starts_with(directory),
            (Err(_), _) | (_, Err(_)) => false,
        }
    }

    pub(crate) fn shown(&self, file: &str) -> String {
        if self.label.is_empty() { file.to_owned() } else { format!("{}/{file}", self.label) }
    }

    /// Returns the id of the agent whose directory was requested.
    pub(crate) fn asked_agent(&self, library: &Library) -> Option<String> {
        let wanted = self.inside.clone().or_else(|| self.directory.canonicalize().ok())?;
        let is_wanted = |directory: &str| {
            let directory = if directory.is_empty() { "." } else { directory };
            Path::new(directory).canonicalize().ok().as_deref() == Some(&*wanted)
        };
        let loaded = library.agents.values().find(|agent| is_wanted(&agent.directory));
        let broken = library.broken_agents.iter().find(|(_, file)| {
            let directory = Path::new(file.as_str()).parent().unwrap_or(Path::new(""));
            is_wanted(&directory.to_string_lossy())
        });
        loaded.map(|agent| agent.id.as_str().to_owned()).or_else(|| Some(broken?.0.clone()))
    }
}

/// Returns the project directory of a path, and its name as shown to people.
pub fn project_directory(path: &Path) -> Result<(PathBuf, String), ProjectError> {
    PathTarget::of(path).map(|place| (place.directory, place.label))
}

pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> ProjectError {
    ProjectError::Unreadable { path: path.to_owned(), source }
}

/// Returns the limit for findings: the directory of a main file, or else the file itself.
fn only_of(label: &str, below: &str, file: &str) -> Option<String> {
    let main = layout::MARKERS.contains(&file) || [config::FILE, "AGENTS.md"].contains(&file);
    let parts = [label, below, if main { "" } else { file }];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Returns the directory `levels` above a path: `a/b` and 3 is `..`.
fn above(path: &str, levels: usize) -> String {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    for _ in 0..levels {
        match parts.last() {
            None | Some(&"..") => parts.push(".."),
            Some(_) => {
                parts.pop();
            }
        }
    }
    parts.join("/")
}

/// Returns a path as people see it: without `./`, and empty for the current directory.
pub fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let text = text.strip_prefix("./").unwrap_or(&text).trim_end_matches('/');
    if text == "." { String::new() } else { text.to_owned() }
}
