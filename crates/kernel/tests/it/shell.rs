//! The shell reader, its allowlist and the danger guard, by examples and by properties.
//!
//! Must never: run any of the commands it shows.

mod allowlist;
mod facts;
mod guard;
mod harmless;
mod prefixes;
mod properties;
mod words;
mod wrappers;

use agentry_kernel::danger::{self, GuardDirectories};

const PLACE: GuardDirectories<'static> =
    GuardDirectories { workspace: "/people/dev/project", home: Some("/people/dev") };

/// The examples: what is expected, and the command.
fn corpus() -> Vec<(&'static str, String)> {
    let lines = include_str!("shell/corpus.txt").lines();
    let examples = lines.filter(|line| !line.is_empty() && !line.starts_with("# "));
    let parts = examples.map(|line| line.split_once('\t').expect("a tab after what is expected"));
    parts.map(|(expected, command)| (expected, command.replace('⏎', "\n"))).collect()
}

#[test]
fn every_example_is_judged_as_written() {
    let corpus = corpus();
    assert!(corpus.len() > 200, "{} examples", corpus.len());
    let mut wrong = Vec::new();
    for (expected, command) in corpus {
        let danger = danger::of_command(&command, &PLACE);
        if expected != if danger.is_some() { "danger" } else { "pass" } {
            wrong.push(format!("{expected} expected: {command:?} {danger:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
