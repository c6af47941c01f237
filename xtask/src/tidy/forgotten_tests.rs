//! No test file is forgotten: each below `tests/it` is declared by the module above it.
//!
//! A crate has one test binary, so an undeclared file never runs.
//!
//! Must never: trip over folders without Rust, such as snapshots and fixtures.

use std::collections::BTreeSet;

use crate::tidy::{
    TidyFinding,
    rust_text::names_after,
    tree::{SourceTree, TreeFile},
};

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut forgotten = BTreeSet::new();
    for file in tree.rust_files() {
        if let Some((top, within)) = test_binary(file) {
            forgotten.extend(undeclared(tree, top, within));
        }
    }
    forgotten
        .into_iter()
        .map(|UndeclaredTest { path, parent, module }| {
            TidyFinding::new(
                &path,
                1,
                "no test binary knows this file, so its tests never run",
                format!("Write `mod {module};` in {parent}"),
            )
        })
        .collect()
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct UndeclaredTest {
    path: String,
    parent: String,
    module: String,
}

/// Returns `crates/app/tests/it` and `story/login.rs` for a file of that test binary.
fn test_binary(file: &TreeFile) -> Option<(&str, &str)> {
    let within = file.path_in_room().strip_prefix("tests/it/")?;
    let top = file.path.strip_suffix(within)?.strip_suffix('/')?;
    Some((top, within))
}

/// Returns each step from the top to the file that is not declared by the step above it.
fn undeclared(tree: &SourceTree, top: &str, within: &str) -> Vec<UndeclaredTest> {
    let module_path = within.strip_suffix(".rs").unwrap_or(within);
    let module_path = module_path.strip_suffix("/mod").unwrap_or(module_path);
    if module_path == "main" {
        return Vec::new();
    }
    let mut missing = Vec::new();
    let mut parents = vec![format!("{top}/main.rs")];
    let mut folder = top.to_owned();
    for module in module_path.split('/') {
        let declared = parents
            .iter()
            .filter_map(|parent| tree.file(parent))
            .any(|parent| declares(parent, module));
        folder = format!("{folder}/{module}");
        let homes = vec![format!("{folder}.rs"), format!("{folder}/mod.rs")];
        if !declared {
            let path = homes.iter().find(|home| tree.file(home).is_some()).unwrap_or(&folder);
            missing.push(UndeclaredTest {
                path: path.clone(),
                parent: parents.swap_remove(0),
                module: module.to_owned(),
            });
        }
        parents = homes;
    }
    missing
}

fn declares(parent: &TreeFile, module: &str) -> bool {
    parent.code_lines().any(|(_, line)| {
        names_after(line, &["mod"]).iter().any(|&(_, name)| name == module)
            && line.trim_end().ends_with(';')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[test]
    fn declared_files_and_folders_are_fine() {
        fixture::check(
            check,
            &[
                ("crates/app/tests/it/main.rs", "mod check;\nmod story;\nmod tale;\n"),
                ("crates/app/tests/it/check.rs", ""),
                ("crates/app/tests/it/story.rs", "mod login;\n"),
                ("crates/app/tests/it/story/login.rs", ""),
                ("crates/app/tests/it/tale/mod.rs", "mod end;\n"),
                ("crates/app/tests/it/tale/end.rs", ""),
                ("crates/app/tests/it/snapshots/check.snap", ""),
            ],
            &[],
        );
    }

    #[test]
    fn a_forgotten_file_is_found() {
        fixture::check(
            check,
            &[
                ("crates/app/tests/it/main.rs", "// mod check;\nmod checks;\n"),
                ("crates/app/tests/it/check.rs", ""),
            ],
            &["crates/app/tests/it/check.rs:1: \
               no test binary knows this file, so its tests never run"],
        );
    }

    #[test]
    fn a_forgotten_folder_is_found_once() {
        fixture::check(
            check,
            &[
                ("crates/app/tests/it/main.rs", ""),
                ("crates/app/tests/it/story/mod.rs", "mod a;\nmod b;\n"),
                ("crates/app/tests/it/story/a.rs", ""),
                ("crates/app/tests/it/story/b.rs", ""),
            ],
            &["crates/app/tests/it/story/mod.rs:1: \
               no test binary knows this file, so its tests never run"],
        );
    }

    #[test]
    fn a_test_binary_without_main_runs_nothing() {
        fixture::check(
            check,
            &[("crates/app/tests/it/check.rs", "")],
            &["crates/app/tests/it/check.rs:1: \
               no test binary knows this file, so its tests never run"],
        );
    }
}
