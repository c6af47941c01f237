//! The allowed imports between the directories of a crate, from the lowest to the highest.
//!
//! A crate of many parts has layers as the workspace has; the table is the drawing of
//! ARCHITECTURE.md, and a new edge changes both.
//!
//! Must never: look at single files; only at the modules below the root of a crate.

use std::collections::BTreeSet;

use crate::tidy::{
    TidyFinding,
    cycles::{SiblingImports, sibling_imports},
    tree::{SourceTree, TreeFile},
};

/// A directory of a crate and the directories that it may import from.
struct ModuleRow {
    module: &'static str,
    may_use: &'static [&'static str],
}

const fn row(module: &'static str, may_use: &'static [&'static str]) -> ModuleRow {
    ModuleRow { module, may_use }
}

/// The crate whose directories are layers, and the file that shows its modules.
const LAYERED: &str = "runtime";
const ROOT: &str = "crates/runtime/src/lib.rs";

/// Single files at the root that every directory may use; each uses no directory but those named.
const SHARED: [ModuleRow; 7] = [
    row("canonical_json", &[]),
    row("environment", &[]),
    row("error", &[]),
    row("intake_entries", &[]),
    row("limits", &[]),
    row("run_request", &[]),
    row("spawn", &[]),
];

/// The directories of the runtime, upwards.
const DIRECTORIES: [ModuleRow; 14] = [
    row("redact", &[]),
    row("secret_store", &["redact"]),
    row("providers", &["redact"]),
    row("channel", &["redact"]),
    row("definitions", &["redact"]),
    row("host", &["redact", "definitions"]),
    row("programs", &["redact", "definitions", "host"]),
    row("tool_sources", &["definitions", "host", "programs"]),
    row("outbound", &["channel", "definitions", "host"]),
    row("inbound", &["redact", "channel", "definitions", "host", "programs"]),
    row("report", &["redact", "definitions", "inbound"]),
    row("commands", &["redact", "host", "inbound"]),
    row("turn", &["redact", "definitions", "host", "programs", "inbound", "outbound"]),
    row("dispatch", &["channel", "definitions", "host", "programs", "inbound", "outbound", "turn"]),
];

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let files: Vec<&TreeFile> = tree
        .rust_files()
        .filter(|file| file.is_source() && !file.is_test() && file.room() == Some(LAYERED))
        .collect();
    let imports = sibling_imports(&files).remove(&Vec::new()).unwrap_or_default();
    let modules: BTreeSet<String> = files.iter().filter_map(|file| top_module(file)).collect();
    let rows: Vec<&ModuleRow> = SHARED.iter().chain(&DIRECTORIES).collect();
    modules.iter().flat_map(|module| findings_of(module, &imports, &rows)).collect()
}

/// Returns the module of a file below the root; None for the root itself.
fn top_module(file: &TreeFile) -> Option<String> {
    let path = file.path_in_room().trim_start_matches("src/");
    let name = path.split('/').next().unwrap_or(path).trim_end_matches(".rs");
    (name != "lib").then(|| name.to_owned())
}

fn findings_of(module: &str, imports: &SiblingImports, rows: &[&ModuleRow]) -> Vec<TidyFinding> {
    let Some(row) = rows.iter().find(|row| row.module == module) else {
        return vec![TidyFinding::new(
            ROOT,
            1,
            format!("`{LAYERED}` has no directory `{module}`"),
            "Put the module into a directory that is there, or name it in ARCHITECTURE.md and in \
             xtask/src/tidy/module_edges.rs",
        )];
    };
    let shared = |name: &str| SHARED.iter().any(|row| row.module == name);
    let used = imports.get(module).into_iter().flatten();
    let refused = used.filter(|to| !shared(to) && !row.may_use.contains(&to.as_str()));
    refused
        .map(|to| {
            TidyFinding::new(
                ROOT,
                1,
                format!("`{LAYERED}::{module}` may not use `{LAYERED}::{to}`"),
                "Move the shared type below both, or hand it in; a new edge is a decision and \
                 changes xtask/src/tidy/module_edges.rs and ARCHITECTURE.md",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[track_caller]
    fn check_files(files: &[(&str, &str)], expected: &[&str]) {
        let found = check(&fixture::tree(files));
        let found: Vec<&str> = found.iter().map(|finding| finding.problem.as_str()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_import_goes_downwards_only() {
        let turn = ("crates/runtime/src/turn/run.rs", "use crate::host::Host;");
        let host = ("crates/runtime/src/host.rs", "use crate::limits::A_MAX;");
        check_files(&[turn, host], &[]);
        let host = ("crates/runtime/src/host/a.rs", "use crate::turn::run::Run;");
        check_files(&[turn, host], &["`runtime::host` may not use `runtime::turn`"]);
    }

    #[test]
    fn a_module_without_a_row_is_refused() {
        let other = ("crates/runtime/src/other.rs", "");
        check_files(&[other], &["`runtime` has no directory `other`"]);
        check_files(&[("crates/store/src/other.rs", "use crate::turn::T;")], &[]);
    }
}
