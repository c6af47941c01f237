//! Every module opens with its purpose and with what it must never do.
//!
//! Must never: judge the words; a person reads them.

use crate::{
    limits::{HEADER_LINES_MAX, HEADER_LINES_MIN},
    tidy::{
        TidyFinding,
        tree::{SourceTree, TreeFile},
    },
};

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    tree.rust_files()
        .filter_map(|file| {
            let (problem, remedy) = if file.is_test() {
                of_a_test_file(file)?
            } else if file.is_source() {
                of_a_source_file(file)?
            } else {
                return None;
            };
            Some(TidyFinding::new(&file.path, 1, problem, remedy))
        })
        .collect()
}

fn of_a_test_file(file: &TreeFile) -> Option<(String, &'static str)> {
    (header(file).is_empty()).then(|| {
        ("the file has no header".to_owned(), "Start with a `//!` line: what is tested here")
    })
}

fn of_a_source_file(file: &TreeFile) -> Option<(String, &'static str)> {
    let header = header(file);
    let lines = header.len();
    if lines == 0 {
        return Some((
            "the file has no header".to_owned(),
            "Start with `//!` lines: what the module is for, then a line `Must never: …`",
        ));
    }
    if !header.join(" ").contains("Must never") {
        return Some((
            "the header does not say what the module must never do".to_owned(),
            "End the header with a line `Must never: …`",
        ));
    }
    if !(HEADER_LINES_MIN..=HEADER_LINES_MAX).contains(&lines) {
        return Some((
            format!("the header has {lines} lines"),
            "Say purpose and `Must never` in 2 to 10 lines; details go to the items",
        ));
    }
    None
}

fn header(file: &TreeFile) -> Vec<&str> {
    file.text.lines().map_while(|line| line.strip_prefix("//!")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[track_caller]
    fn check_source(header: &str, expected: &[&str]) {
        let text = format!("{header}\nfn main() {{}}\n");
        fixture::check(check, &[("crates/app/src/main.rs", &text)], expected);
    }

    #[test]
    fn purpose_and_must_never_are_fine() {
        check_source("//! Says hello.\n//!\n//! Must never: say goodbye.\n", &[]);
    }

    #[test]
    fn a_missing_header_is_found() {
        check_source("", &["crates/app/src/main.rs:1: the file has no header"]);
        check_source(
            "use std::fmt;\n//! Late. Must never: come first.",
            &["crates/app/src/main.rs:1: the file has no header"],
        );
    }

    #[test]
    fn a_header_without_must_never_is_found() {
        check_source(
            "//! Says hello.\n//! Loudly.\n",
            &["crates/app/src/main.rs:1: the header does not say what the module must never do"],
        );
    }

    #[test]
    fn a_header_of_one_line_or_of_eleven_is_found() {
        check_source(
            "//! Must never: be alone.",
            &["crates/app/src/main.rs:1: the header has 1 lines"],
        );
        check_source(
            &format!("//! Must never: go on.\n{}", "//! And on.\n".repeat(10)),
            &["crates/app/src/main.rs:1: the header has 11 lines"],
        );
    }

    #[test]
    fn a_test_file_needs_one_line() {
        fixture::check(
            check,
            &[
                ("crates/app/tests/it/one.rs", "//! What `check` prints.\n"),
                ("crates/app/tests/it/two.rs", "use super::*;\n"),
                ("crates/app/src/tests.rs", "//! The table of cases.\n"),
                ("fuzz/fuzz_targets/front.rs", "#![no_main]\n"),
            ],
            &["crates/app/tests/it/two.rs:1: the file has no header"],
        );
    }
}
