//! Reads access policies apart from the project that they belong to.
//!
//! Must never: add policies of another place.

use std::path::Path;

use agentry_agentfile::access;
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::{FileContent, FileTree, FileTreeEntry};
use agentry_runtime::definitions::path_target::shown;
use agentry_runtime::definitions::policies::lint_policies;
use agentry_runtime::definitions::tree_reader;

use crate::cli_context::host_tool_names;
use crate::fault::{Blame, Fault};

/// Reads the policies of a file, of a directory of such files, or of a project, and no others.
pub(super) fn read_policy_files(path: &Path) -> Result<(access::PolicySet, Findings), Fault> {
    let cannot = |error: std::io::Error| {
        Fault::new(Blame::Caller, format!("cannot read {}: {error}", path.display()))
            .hint("name an existing file or directory that you may read")
    };
    let mut findings = Findings::default();
    let metadata = std::fs::metadata(path).map_err(cannot)?;
    let rules = if metadata.is_file() {
        let mut tree = FileTree::new("");
        let bytes = std::fs::read(path).map_err(cannot)?;
        tree.insert(shown(path), FileTreeEntry::File(FileContent::new(bytes, false)));
        access::read_directory(&tree, &mut findings)
    } else {
        let project = tree_reader::read_project(path, &shown(path)).map_err(cannot)?;
        match project.below(&access::directory()).next() {
            Some(_) => access::read(&[&project], &mut findings),
            None => {
                let tree = tree_reader::read_whole(path, &shown(path)).map_err(cannot)?;
                access::read_directory(&tree, &mut findings)
            }
        }
    };
    lint_policies(&rules, &host_tool_names(), &mut findings);
    Ok((rules, findings))
}
