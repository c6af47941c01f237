//! A copy of the definition files, for trying a change before it is written.
//!
//! Must never: write. Changes are made to the copy.

use std::path::{Path, PathBuf};

use agentry_agentfile::access;
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::FileTree;

use crate::definitions::path_target::{project_directory, unreadable};
use crate::definitions::project_error::ProjectError;
use crate::definitions::project_loader::read_home;
use crate::definitions::tree_reader;

/// The files of a project and of the user's home.
#[derive(Clone)]
pub struct DefinitionOverlay {
    /// The project's directory.
    pub directory: PathBuf,
    /// The files of the project.
    pub project: FileTree,
    // The home and its files, unless it is the project itself.
    home: Option<(PathBuf, FileTree)>,
}

impl DefinitionOverlay {
    /// Reads the files of a project and of the user's home.
    pub fn read(path: &Path, home: Option<&Path>) -> Result<Self, ProjectError> {
        let (directory, label) = project_directory(path)?;
        let project = tree_reader::read_project(&directory, &label);
        let project = project.map_err(|error| unreadable(path, error))?;
        let is_project = |home: &&Path| directory.canonicalize().ok() == home.canonicalize().ok();
        let home = home.filter(|home| !is_project(home));
        let home = home
            .and_then(|home| Some((home.to_owned(), read_home(home, &mut Findings::default())?)));
        Ok(Self { directory, project, home })
    }

    /// Returns the files of the home.
    pub fn home_tree(&self) -> Option<&FileTree> {
        self.home.as_ref().map(|(_, tree)| tree)
    }

    /// Returns both trees, the project's first.
    pub fn both(&self) -> Vec<&FileTree> {
        std::iter::once(&self.project).chain(self.home_tree()).collect()
    }

    /// Finds a policy file: its path on disk, its path in its tree, and true if it is in the home.
    pub fn place_of(&self, shown: &str) -> Option<(PathBuf, String, bool)> {
        let home = self.home.iter().map(|(root, tree)| (root, tree, true));
        let mut trees = std::iter::once((&self.directory, &self.project, false)).chain(home);
        trees.find_map(|(root, tree, is_home)| {
            let directory = access::directory();
            let mut paths = tree.below(&directory).map(|(path, _)| path);
            let path = paths.find(|path| tree.display_path(path) == shown)?;
            Some((root.join(path), path.to_owned(), is_home))
        })
    }

    /// Returns the tree of the home or the project, for changes.
    pub fn tree_mut(&mut self, is_home: bool) -> &mut FileTree {
        match (&mut self.home, is_home) {
            (Some((_, tree)), true) => tree,
            (Some(_) | None, _) => &mut self.project,
        }
    }
}
