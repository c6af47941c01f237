//! The resolver of this process: it gives an executor the live things that a host prepared.
//!
//! It knows the placement, variables, workspace and directory of one assignment, and refuses every
//! other reference, so that a changed assignment reaches nothing.
//!
//! Must never: resolve a reference that the host did not prepare for this work.

use std::path::{Path, PathBuf};

use agentry_protocol::{ContentHash, WorkspaceReference};
use agentry_tools::{FetchRules, Workspace};
use secrecy::SecretString;

use super::{AssignmentResolver, VariableReference};
use crate::host::Host;
use crate::host::enforcer::{Placement, ResolvedPlacement, TurnSandbox};

/// The live things for one assignment.
pub(crate) struct HostResolver<'a> {
    pub(crate) host: &'a Host,
    pub(crate) placement: &'a ResolvedPlacement,
    pub(crate) variables: &'a [VariableReference],
    /// The workspace of a tool call; None for a job.
    pub(crate) workspace: Option<&'a Workspace>,
    /// The directory of an agent's program; None for other work.
    pub(crate) directory: Option<TrustedDirectory<'a>>,
}

/// An agent's directory, with the hash of the files in it that the owner must trust.
#[derive(Clone, Copy)]
pub(crate) struct TrustedDirectory<'a> {
    pub(crate) path: &'a Path,
    pub(crate) hash: &'a ContentHash,
}

impl AssignmentResolver for HostResolver<'_> {
    fn sandbox(&self, placement: &Placement) -> TurnSandbox {
        if *placement == **self.placement.value() {
            return self.placement.sandbox().clone();
        }
        TurnSandbox::Missing("the placement is not the one that was prepared for it".into())
    }

    fn workspace_directory(&self, reference: &WorkspaceReference) -> Result<PathBuf, String> {
        Ok(PathBuf::from(reference.as_str()))
    }

    fn workspace(&self, reference: &WorkspaceReference) -> Result<&Workspace, String> {
        let is_named = |workspace: &&Workspace| reference_of(workspace.path()) == *reference;
        let workspace = self.workspace.filter(is_named);
        workspace.ok_or_else(|| format!("the workspace {reference} is not open for it"))
    }

    fn agent_directory(&self, tree: &ContentHash) -> Result<&Path, String> {
        let directory = self.directory.filter(|directory| directory.hash == tree);
        let path = directory.map(|directory| directory.path);
        path.ok_or_else(|| "the files of its agent are not on this machine".to_owned())
    }

    fn variable(&self, variable: &VariableReference) -> Result<SecretString, String> {
        let value = self.variables.contains(variable).then(|| self.host.variable(variable));
        value.flatten().ok_or_else(|| format!("its variable {} has no value", variable.name()))
    }

    fn fetch_rules(&self) -> &FetchRules {
        &self.host.fetch
    }
}

/// Returns the reference to a directory of this machine.
pub(crate) fn reference_of(directory: &Path) -> WorkspaceReference {
    WorkspaceReference::new(directory.display().to_string())
}
