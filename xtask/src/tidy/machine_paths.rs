//! No file names a path of one person's machine, or a registry that others may not reach.
//!
//! The words are put together from parts, so that this file does not find itself.
//!
//! Must never: look into the change log, lock files or licenses; they quote the world as it was.

use crate::tidy::{
    TidyFinding,
    tree::{SourceTree, TreeFile, numbered},
};

const MACHINE_FOLDERS: [&str; 3] = ["home", "root", "work"];
const REGISTRY_HOSTS: [(&str, &str); 4] =
    [("crates", "io"), ("pypi", "org"), ("registry.npmjs", "org"), ("deb.debian", "org")];

/// The characters that may precede an absolute path; after any other it is part of a longer one.
const BEFORE_A_PATH: &str = " \t\"'`(=:/[,<|>;{@!";

/// Lets a line of Rust name a home directory, as a test of paths must.
const ALLOWED_MARK: &str = "tidy-allow";

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    tree.files.iter().filter(|file| !is_exempt(file)).flat_map(findings).collect()
}

fn is_exempt(file: &TreeFile) -> bool {
    let name = file.name();
    name == "Cargo.lock" || name.starts_with("CHANGELOG") || name.starts_with("LICENSE")
}

fn findings(file: &TreeFile) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (number, line) in numbered(&file.text) {
        for folder in MACHINE_FOLDERS {
            let path = format!("/{folder}/");
            if names_path(line, &path) && !is_allowed(file, folder, line) {
                findings.push(TidyFinding::new(
                    &file.path,
                    number,
                    format!("the line names {path}, a place on one machine"),
                    "Use a relative path, or a name such as `<dir>`",
                ));
            }
        }
        for (name, domain) in REGISTRY_HOSTS {
            let host = format!("{name}.{domain}");
            if line.contains(&host) {
                findings.push(TidyFinding::new(
                    &file.path,
                    number,
                    format!("the line names the registry {host}"),
                    "Leave the registry to the tool's own configuration",
                ));
            }
        }
    }
    findings
}

fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        line[..at].chars().next_back().is_none_or(|before| BEFORE_A_PATH.contains(before))
    })
}

fn is_allowed(file: &TreeFile, folder: &str, line: &str) -> bool {
    file.is_rust() && folder == "home" && line.contains(ALLOWED_MARK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[test]
    fn a_machine_path_is_found_in_any_text() {
        for folder in MACHINE_FOLDERS {
            let text = format!("fine\nsee `/{folder}/me/notes` there\n");
            fixture::check(
                check,
                &[("docs/guide/start.md", &text), ("CHANGELOG.md", &text), ("LICENSE-MIT", &text)],
                &[&format!(
                    "docs/guide/start.md:2: the line names /{folder}/, a place on one machine"
                )],
            );
        }
    }

    #[test]
    fn a_part_of_a_longer_path_is_fine() {
        let text = format!("cd target/{0}/x; cd ./{0}/; cd $DIR/{0}/y; cd ~/{0}/z", "work");
        fixture::check(check, &[("docs/a.md", &text)], &[]);
    }

    #[test]
    fn a_test_may_name_a_home_if_it_says_so() {
        let line = |folder: &str| format!("check(\"/{folder}/me\"); // tidy-allow: needs a path\n");
        fixture::check(
            check,
            &[
                ("crates/tools/src/read.rs", &line("home")),
                ("docs/a.md", &line("home")),
                ("crates/tools/src/write.rs", &line("root")),
            ],
            &[
                "docs/a.md:1: the line names /home/, a place on one machine", // tidy-allow
                &format!(
                    "crates/tools/src/write.rs:1: the line names /{}/, a place on one machine",
                    "root"
                ),
            ],
        );
    }

    #[test]
    fn a_registry_is_found() {
        for (name, domain) in REGISTRY_HOSTS {
            let text = format!("url = \"https://{name}.{domain}/simple\"\n");
            fixture::check(
                check,
                &[("docs/a.toml", &text), ("Cargo.lock", &text)],
                &[&format!("docs/a.toml:1: the line names the registry {name}.{domain}")],
            );
        }
    }
}
