//! `cargo xtask tidy`: the house rules that no compiler checks, applied to the tree.
//!
//! Each rule is one file in `tidy/`, a function from the tree to its findings.
//!
//! Must never: change a file, or report a finding without a remedy.

mod blobs;
mod code_shape;
mod counts;
mod cycles;
mod decisions;
mod doc_comments;
mod edges;
mod error_pages;
mod event_pages;
#[cfg(test)]
mod fixture;
mod forgotten_tests;
mod headers;
mod lengths;
mod limits;
mod machine_paths;
mod module_edges;
mod names;
mod pictures;
mod public_sql;
mod rust_text;
mod tree;
mod type_names;
mod words;

use std::{fmt, path::Path};

use crate::{child, failure::CommandFailure, tidy::tree::SourceTree};

/// The crates that decide: they get clock, files and environment as values.
const PURE_ROOMS: [&str; 4] = ["protocol", "bthread", "agentfile", "kernel"];

/// One broken rule: file and line, the problem, the remedy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TidyFinding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

impl TidyFinding {
    pub(crate) fn new(
        path: &str,
        line: usize,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> TidyFinding {
        TidyFinding { path: path.into(), line, problem: problem.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TidyFinding { path, line, problem, remedy } = self;
        write!(formatter, "{path}:{line}: {problem}. {remedy}.")
    }
}

pub(crate) fn run(root: &Path) -> Result<(), CommandFailure> {
    let tree = SourceTree::read(root)?;
    for count in counts::counts(&tree) {
        println!("{:>5} of {:>5}  {}", count.count, count.budget, count.name);
    }
    println!("{:>5}           doc summaries in all", doc_comments::prose(&tree).summaries);
    let findings = findings(root)?;
    if findings.is_empty() {
        println!("The tree is tidy.");
        return Ok(());
    }
    for finding in &findings {
        println!("{finding}");
    }
    Err(CommandFailure::new(match findings.len() {
        1 => "The tree is not tidy: mend the one line above.".to_owned(),
        count => format!("The tree is not tidy: mend the {count} lines above."),
    }))
}

fn findings(root: &Path) -> Result<Vec<TidyFinding>, CommandFailure> {
    let tree = SourceTree::read(root)?;
    let packages = edges::packages(&child::metadata(root)?);
    let mut findings = edges::check(&tree, &packages);
    for check in CHECKS {
        findings.extend(check(&tree));
    }
    findings.sort();
    Ok(findings)
}

const CHECKS: &[fn(&SourceTree) -> Vec<TidyFinding>] = &[
    blobs::check,
    counts::check,
    decisions::check,
    error_pages::check,
    event_pages::check,
    forgotten_tests::check,
    headers::check,
    lengths::check,
    limits::check,
    machine_paths::check,
    module_edges::check,
    names::check,
    pictures::check,
    public_sql::check,
    words::check,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let root = crate::root().expect("xtask lies in the repository");
        let findings = findings(&root).unwrap_or_else(|failure| panic!("{failure}"));
        let lines: Vec<String> = findings.iter().map(TidyFinding::to_string).collect();
        assert!(lines.is_empty(), "the tree is not tidy:\n{}", lines.join("\n"));
    }

    #[test]
    fn a_finding_says_where_what_and_what_instead() {
        let finding = TidyFinding::new("a/b.rs", 7, "this is wrong", "Do that instead");
        assert_eq!(finding.to_string(), "a/b.rs:7: this is wrong. Do that instead.");
    }
}
