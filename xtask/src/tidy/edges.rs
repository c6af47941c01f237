//! The allowed dependencies between our crates, and the outside crates that are refused in some.
//!
//! The table is the one of ARCHITECTURE.md; a new edge is a decision, and changes both.
//!
//! Must never: look at dependencies of dependencies; only at our own manifests.

use serde_json::Value;

use crate::tidy::{
    PURE_ROOMS, TidyFinding,
    tree::{SourceTree, numbered},
};

pub(crate) struct WorkspaceCrate {
    pub(crate) room: String,
    pub(crate) dependencies: Vec<Dependency>,
}

pub(crate) struct Dependency {
    pub(crate) name: String,
    /// True for a dependency of the shipped code, not only of tests and build scripts.
    pub(crate) normal: bool,
}

/// The crates of ours that each crate may use. The order is the one of the architecture: upwards.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("protocol", &[]),
    ("bthread", &[]),
    ("agentfile", &["protocol"]),
    ("kernel", &["protocol", "bthread", "agentfile"]),
    ("store", &["protocol"]),
    ("sandbox", &["protocol"]),
    ("local", &["protocol"]),
    ("model", &["protocol", "local"]),
    ("tools", &["protocol", "sandbox"]),
    (
        "runtime",
        &["protocol", "bthread", "agentfile", "kernel", "store", "sandbox", "model", "tools"],
    ),
    (
        "frontend",
        &["protocol", "agentfile", "kernel", "store", "sandbox", "model", "tools", "runtime"],
    ),
    (
        "server",
        &["protocol", "agentfile", "kernel", "store", "model", "tools", "runtime", "frontend"],
    ),
    (
        "chat",
        &[
            "protocol",
            "agentfile",
            "kernel",
            "store",
            "sandbox",
            "model",
            "tools",
            "runtime",
            "frontend",
        ],
    ),
    (
        "app",
        &[
            "protocol",
            "agentfile",
            "kernel",
            "store",
            "sandbox",
            "model",
            "tools",
            "runtime",
            "frontend",
            "server",
            "chat",
        ],
    ),
    ("xtask", &[]),
];

const IMPURE_CRATES: [&str; 7] =
    ["tokio", "reqwest", "rusqlite", "axum", "rand", "cap-std", "git2"];

/// Returns the packages of the workspace, from `cargo metadata --no-deps`.
pub(crate) fn packages(metadata: &Value) -> Vec<WorkspaceCrate> {
    list(&metadata["packages"])
        .map(|package| WorkspaceCrate {
            room: room(text(&package["name"])).to_owned(),
            dependencies: list(&package["dependencies"])
                .map(|dependency| Dependency {
                    name: text(&dependency["name"]).to_owned(),
                    normal: dependency["kind"].is_null(),
                })
                .collect(),
        })
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the folder of a package: `kernel` for `agentry-kernel`, `app` for the binary `agentry`.
fn room(package: &str) -> &str {
    match package.strip_prefix("agentry") {
        Some("") => "app",
        Some(rest) => rest.strip_prefix('-').unwrap_or(package),
        None => package,
    }
}

pub(crate) fn check(tree: &SourceTree, packages: &[WorkspaceCrate]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for package in packages {
        let manifest = manifest_path(&package.room);
        let Some((_, may_use)) = MAY_USE.iter().find(|(room, _)| *room == package.room) else {
            findings.push(TidyFinding::new(
                &manifest,
                1,
                format!("the architecture has no room `{}`", package.room),
                "Name it in ARCHITECTURE.md and in the table of xtask/src/tidy/edges.rs, or put \
                 the code into a room that is there",
            ));
            continue;
        };
        for dependency in &package.dependencies {
            if let Some((problem, remedy)) = objection(&package.room, may_use, dependency, packages)
            {
                let line = line_of(tree, &manifest, &dependency.name);
                findings.push(TidyFinding::new(&manifest, line, problem, remedy));
            }
        }
    }
    findings
}

fn manifest_path(room: &str) -> String {
    if room == "xtask" { "xtask/Cargo.toml".into() } else { format!("crates/{room}/Cargo.toml") }
}

fn line_of(tree: &SourceTree, manifest: &str, dependency: &str) -> usize {
    let text = tree.file(manifest).map_or("", |file| &file.text);
    numbered(text)
        .find(|(_, line)| {
            line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        })
        .map_or(1, |(number, _)| number)
}

fn objection(
    room: &str,
    may_use: &[&str],
    dependency: &Dependency,
    packages: &[WorkspaceCrate],
) -> Option<(String, String)> {
    let used = self::room(&dependency.name);
    if packages.iter().any(|package| package.room == used) {
        let problem = format!("{room} may not use {used}");
        let remedy = if may_use.is_empty() {
            format!("{room} uses none of our crates; move the code to where both are known")
        } else {
            format!("{room} may use {}; move the code, or decide on a new edge", may_use.join(", "))
        };
        return (!may_use.contains(&used)).then_some((problem, remedy));
    }
    let remedy = refusal(room, &dependency.name).filter(|_| dependency.normal)?;
    Some((format!("{room} may not use the outside crate {}", dependency.name), remedy.to_owned()))
}

/// Returns the remedy for an outside crate that is refused in a crate; None if it is allowed.
fn refusal(room: &str, outside: &str) -> Option<&'static str> {
    if PURE_ROOMS.contains(&room) && IMPURE_CRATES.contains(&outside) {
        return Some("This room is handed the world as values; do the work in runtime");
    }
    match (room, outside) {
        ("sandbox", "tokio") => Some("A sandbox is plain processes and threads; wait in runtime"),
        ("store", "rusqlite" | "tokio-postgres") => None,
        (_, "rusqlite" | "tokio-postgres") => Some("SQL lives in store; ask it through its types"),
        ("server", "axum" | "hyper") => None,
        (_, "axum" | "hyper") => {
            Some("HTTP for others lives in server; hand it what it shall show")
        }
        ("chat", "ratatui") => None,
        (_, "ratatui") => Some("Screens live in chat; hand it what it shall show"),
        ("app" | "xtask", "clap") => None,
        (_, "clap") => Some("The command line lives in app; take its values as parameters"),
        ("bthread", "serde") => None,
        ("bthread", _) => Some("The engine needs serde at most; write the few lines"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    /// Checks packages that are written `agentry-kernel: tokio, dev serde`.
    #[track_caller]
    fn check_edges(packages: &[&str], expected: &[&str]) {
        let packages: Vec<WorkspaceCrate> = packages.iter().map(|line| parse(line)).collect();
        let manifest = "[dependencies]\ntokio-util = \"1\"\ntokio.workspace = true\n";
        let tree = fixture::tree(&[("crates/kernel/Cargo.toml", manifest)]);
        let found: Vec<String> = check(&tree, &packages)
            .iter()
            .map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.problem))
            .collect();
        assert_eq!(found, expected);
    }

    fn parse(line: &str) -> WorkspaceCrate {
        let (name, dependencies) = line.split_once(':').expect("name, then dependencies");
        let dependencies = dependencies
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(|name| Dependency {
                name: name.trim_start_matches("dev ").to_owned(),
                normal: !name.starts_with("dev "),
            })
            .collect();
        WorkspaceCrate { room: room(name).to_owned(), dependencies }
    }

    #[test]
    fn the_edges_of_the_table_are_fine() {
        check_edges(
            &[
                "agentry-protocol: serde",
                "agentry-bthread: serde, dev proptest",
                "agentry-agentfile: agentry-protocol, regex",
                "agentry-kernel: agentry-protocol, agentry-bthread, agentry-agentfile, dev tokio",
                "agentry-store: agentry-protocol, rusqlite, tokio-postgres",
                "agentry-server: agentry-kernel, agentry-frontend, axum, tokio",
                "agentry: agentry-kernel, agentry-server, agentry-chat, clap",
                "xtask: serde_json",
            ],
            &[],
        );
    }

    #[test]
    fn an_edge_that_is_not_in_the_table_is_found() {
        check_edges(
            &[
                "agentry-protocol: agentry-agentfile",
                "agentry-agentfile: ",
                "agentry-store: agentry-agentfile",
                "xtask: agentry-protocol",
            ],
            &[
                "crates/protocol/Cargo.toml:1: protocol may not use agentfile",
                "crates/store/Cargo.toml:1: store may not use agentfile",
                "xtask/Cargo.toml:1: xtask may not use protocol",
            ],
        );
    }

    #[test]
    fn nobody_uses_the_app_not_even_in_tests() {
        check_edges(
            &["agentry: ", "agentry-runtime: dev agentry"],
            &["crates/runtime/Cargo.toml:1: runtime may not use app"],
        );
    }

    #[test]
    fn an_outside_crate_in_the_wrong_room_is_found_at_its_line() {
        check_edges(
            &[
                "agentry-kernel: tokio",
                "agentry-sandbox: tokio",
                "agentry-runtime: rusqlite, axum",
                "agentry-bthread: regex",
                "agentry-server: clap",
                "agentry-chat: axum",
                "agentry: ratatui",
            ],
            &[
                "crates/kernel/Cargo.toml:3: kernel may not use the outside crate tokio",
                "crates/sandbox/Cargo.toml:1: sandbox may not use the outside crate tokio",
                "crates/runtime/Cargo.toml:1: runtime may not use the outside crate rusqlite",
                "crates/runtime/Cargo.toml:1: runtime may not use the outside crate axum",
                "crates/bthread/Cargo.toml:1: bthread may not use the outside crate regex",
                "crates/server/Cargo.toml:1: server may not use the outside crate clap",
                "crates/chat/Cargo.toml:1: chat may not use the outside crate axum",
                "crates/app/Cargo.toml:1: app may not use the outside crate ratatui",
            ],
        );
    }

    #[test]
    fn a_crate_without_a_room_is_found() {
        check_edges(
            &["agentry-attic: "],
            &["crates/attic/Cargo.toml:1: the architecture has no room `attic`"],
        );
    }

    #[test]
    fn the_output_of_cargo_is_understood() {
        let metadata = serde_json::json!({ "packages": [{ "name": "agentry-kernel", "dependencies": [
            { "name": "agentry-protocol", "kind": null },
            { "name": "insta", "kind": "dev" },
        ]}]});
        let packages = packages(&metadata);
        let [kernel] = packages.as_slice() else { panic!("there is one package") };
        let dependencies: Vec<(&str, bool)> =
            kernel.dependencies.iter().map(|it| (it.name.as_str(), it.normal)).collect();
        assert_eq!(kernel.room, "kernel");
        assert_eq!(dependencies, [("agentry-protocol", true), ("insta", false)]);
    }
}
