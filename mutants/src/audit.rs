//! The parts of the product that decide, and the packages whose tests hold each of them.
//!
//! Must never: leave out a file of a part because its tests are weak.

use std::path::Path;

use crate::Error;

/// A part of the deciding code.
pub(crate) struct Audit {
    pub(crate) name: &'static str,
    /// Files, or directories with all their files, below the root.
    pub(crate) paths: &'static [&'static str],
    /// The packages whose tests are run.
    pub(crate) packages: &'static [&'static str],
    /// The tests to run, as a nextest filter.
    pub(crate) filter: &'static str,
}

pub(crate) const AUDITS: [Audit; 5] = [
    Audit {
        name: "authority",
        paths: &[
            "crates/kernel/src/authority.rs",
            "crates/kernel/src/authority",
            "crates/kernel/src/approval.rs",
            "crates/kernel/src/approval",
            "crates/kernel/src/danger.rs",
            "crates/kernel/src/danger",
        ],
        packages: &["agentry-kernel"],
        filter: "not test(turn_explore)",
    },
    Audit {
        name: "confinement",
        paths: &[
            "crates/kernel/src/confinement.rs",
            "crates/kernel/src/confinement",
            "crates/protocol/src/confinement.rs",
        ],
        packages: &["agentry-kernel", "agentry-protocol"],
        filter: "not test(turn_explore)",
    },
    Audit {
        name: "shell",
        paths: &["crates/kernel/src/shell.rs", "crates/kernel/src/shell"],
        packages: &["agentry-kernel"],
        filter: "not test(turn_explore)",
    },
    Audit {
        name: "guard",
        paths: &[
            "crates/sandbox/src/protect.rs",
            "crates/sandbox/src/protect",
            "crates/sandbox/src/watch.rs",
            "crates/sandbox/src/fs_view.rs",
            "crates/protocol/src/protected.rs",
        ],
        packages: &["agentry-sandbox", "agentry-protocol"],
        filter: "not test(/^(bombs|attacks|macos|planting)::/)",
    },
    Audit {
        name: "trust",
        paths: &["crates/agentfile/src/trust.rs", "crates/runtime/src/definitions/trust.rs"],
        packages: &["agentry-agentfile", "agentry-runtime", "agentry"],
        filter: "(package(agentry-agentfile) and test(trust)) or (package(agentry-runtime) and test(trust)) \
                 or (package(agentry) and test(/trust|programs_security|definitions/))",
    },
];

impl Audit {
    pub(crate) fn holds(&self, file: &str) -> bool {
        let covers = |path: &&str| match path.strip_suffix(".rs") {
            Some(_) => file == *path,
            None => file.strip_prefix(*path).is_some_and(|rest| rest.starts_with('/')),
        };
        self.paths.iter().any(covers)
    }

    /// Returns the files of the audit below a tree, sorted.
    pub(crate) fn files(&self, tree: &Path) -> Result<Vec<String>, Error> {
        let mut files = Vec::new();
        for path in self.paths {
            gather(tree, Path::new(path), &mut files)?;
        }
        files.sort();
        Ok(files)
    }
}

fn gather(tree: &Path, path: &Path, files: &mut Vec<String>) -> Result<(), Error> {
    let whole = tree.join(path);
    if whole.is_file() {
        if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            files.push(path.to_string_lossy().into_owned());
        }
        return Ok(());
    }
    for entry in
        std::fs::read_dir(&whole).map_err(|error| format!("{}: {error}", path.display()))?
    {
        gather(tree, &path.join(entry?.file_name()), files)?;
    }
    Ok(())
}
