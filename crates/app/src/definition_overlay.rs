//! The files of a project and of the user's home, to try a change before it is written.
//!
//! Must never: write. What is tried is a copy.

use std::path::{Path, PathBuf};

use agentry_agentfile::access;
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::FileTree;
use agentry_runtime::tree_reader;

use crate::cli_context::{CliContext, project_directory, read_home, unreadable};
use crate::fault::Fault;

/// What a project and the user's home hold.
#[derive(Clone)]
pub(crate) struct DefinitionOverlay {
    /// The project's directory.
    pub(crate) directory: PathBuf,
    /// What it holds.
    pub(crate) project: FileTree,
    // The home and what it holds, unless it is the project itself.
    home: Option<(PathBuf, FileTree)>,
}

impl CliContext {
    /// Reads the files of a project and of the user's home.
    pub(crate) fn trees(&self, path: &Path) -> Result<DefinitionOverlay, Fault> {
        let (directory, label) = project_directory(path)?;
        let project = tree_reader::read_project(&directory, &label);
        let project = project.map_err(|error| unreadable(path, &error))?;
        let is_project =
            |home: &&PathBuf| directory.canonicalize().ok() == home.canonicalize().ok();
        let home = self.environment.home.as_ref().filter(|home| !is_project(home));
        let home =
            home.and_then(|home| Some((home.clone(), read_home(home, &mut Findings::default())?)));
        Ok(DefinitionOverlay { directory, project, home })
    }
}

impl DefinitionOverlay {
    /// The tree of the home.
    pub(crate) fn home_tree(&self) -> Option<&FileTree> {
        self.home.as_ref().map(|(_, tree)| tree)
    }

    /// Both trees, the project's first.
    pub(crate) fn both(&self) -> Vec<&FileTree> {
        std::iter::once(&self.project).chain(self.home_tree()).collect()
    }

    /// Where a file of policies lies: on disk, below its tree, and whether that is the home's.
    pub(crate) fn place_of(&self, shown: &str) -> Option<(PathBuf, String, bool)> {
        let home = self.home.iter().map(|(root, tree)| (root, tree, true));
        let mut trees = std::iter::once((&self.directory, &self.project, false)).chain(home);
        trees.find_map(|(root, tree, is_home)| {
            let directory = access::directory();
            let mut paths = tree.below(&directory).map(|(path, _)| path);
            let path = paths.find(|path| tree.display_path(path) == shown)?;
            Some((root.join(path), path.to_owned(), is_home))
        })
    }

    /// The home's tree or the project's, to change it.
    pub(crate) fn tree_mut(&mut self, is_home: bool) -> &mut FileTree {
        match (&mut self.home, is_home) {
            (Some((_, tree)), true) => tree,
            (Some(_) | None, _) => &mut self.project,
        }
    }
}
