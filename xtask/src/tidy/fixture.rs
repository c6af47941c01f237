//! A tree from a few strings, for the tests of the rules.
//!
//! Must never: be compiled into the command itself, or read a file.

use crate::tidy::{
    TidyFinding,
    tree::{SourceTree, TreeFile},
};

pub(crate) fn tree(files: &[(&str, &str)]) -> SourceTree {
    let file = |&(path, text): &(&str, &str)| {
        let bytes = text.len().try_into().expect("a fixture is small");
        TreeFile::new(path, bytes, text.to_owned())
    };
    SourceTree { files: files.iter().map(file).collect() }
}

/// Checks that the rule finds exactly these places, written `path:line: problem`.
#[track_caller]
pub(crate) fn check(
    rule: fn(&SourceTree) -> Vec<TidyFinding>,
    files: &[(&str, &str)],
    expected: &[&str],
) {
    let found: Vec<String> = rule(&tree(files))
        .into_iter()
        .map(|TidyFinding { path, line, problem, remedy }| {
            assert!(!remedy.is_empty(), "{path}:{line}: {problem}: a finding says what to do");
            format!("{path}:{line}: {problem}")
        })
        .collect();
    assert_eq!(found, expected);
}
