//! Reads the programs of the agents of a project, from each agent's own directory.
//!
//! Must never: return a result that depends on the path by which an agent was reached.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentry_agentfile::agent::Agent;
use agentry_agentfile::file_tree::FileTree;
use agentry_agentfile::library::Library;
use agentry_agentfile::trust::{self, TrustError, TrustManifest};
use agentry_protocol::ContentHash;

/// The file trees of a project and of the user's home.
pub(crate) struct ProjectTrees<'a> {
    pub(crate) project: &'a FileTree,
    pub(crate) home: Option<&'a FileTree>,
    /// The path of the home.
    pub(crate) home_path: Option<&'a Path>,
}

/// Returns the programs of each agent, by its id.
pub(crate) fn manifests(
    library: &Library,
    trees: &ProjectTrees<'_>,
) -> BTreeMap<String, Result<TrustManifest, TrustError>> {
    library.agents.iter().map(|(id, agent)| (id.clone(), of_agent(agent, trees))).collect()
}

fn of_agent(agent: &Agent, trees: &ProjectTrees<'_>) -> Result<TrustManifest, TrustError> {
    if !trust::brings_programs(agent) {
        return trust::manifest(&FileTree::default(), agent);
    }
    let (tree, directory) = match (agent.directory.strip_prefix("~/"), trees.home_path) {
        (Some(below), Some(home)) => (trees.home, home.join(below)),
        (Some(_) | None, _) if agent.directory.is_empty() => (Some(trees.project), ".".into()),
        (Some(_) | None, _) => (Some(trees.project), PathBuf::from(&agent.directory)),
    };
    let manifest = crate::definitions::trust::read(&directory, agent)?;
    match tree.and_then(|tree| differs(tree, agent, &manifest)) {
        // The agent was loaded from another version of this file.
        Some(path) => Err(TrustError::Changed { path }),
        None => Ok(manifest),
    }
}

/// Returns the first file that changed since the agent was loaded.
fn differs(tree: &FileTree, agent: &Agent, manifest: &TrustManifest) -> Option<String> {
    let root = tree.display_path("");
    let below = agent.directory.strip_prefix(root.trim_end_matches('/')).unwrap_or("");
    let below = below.trim_matches('/');
    let at = |path: &str| match below {
        "" => path.to_owned(),
        below => format!("{below}/{path}"),
    };
    let is_other = |(path, hash): &(&String, &ContentHash)| {
        tree.file(&at(path)).is_some_and(|file| file.hash != **hash)
    };
    manifest.files.iter().find(is_other).map(|(path, _)| path.clone())
}
