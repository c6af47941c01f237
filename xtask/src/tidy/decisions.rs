//! Decisions are numbered without gaps and short enough to be read.
//!
//! Must never: judge what was decided.

use crate::{
    limits::DECISION_LINES_MAX,
    tidy::{TidyFinding, tree::SourceTree},
};

const FOLDER: &str = "docs/decisions/";

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let mut expected = 1;
    let mut pages: Vec<_> =
        tree.files.iter().filter(|file| file.path.starts_with(FOLDER)).collect();
    pages.sort_by_key(|page| &page.path);
    for page in pages {
        let path = &page.path;
        match number(page.name()) {
            None => findings.push(TidyFinding::new(
                path,
                1,
                "a decision is named by its number and title",
                format!("Name it `{expected:04}-some-title.md`, or keep it outside {FOLDER}"),
            )),
            Some(number) if number != expected => {
                findings.push(TidyFinding::new(
                    path,
                    1,
                    format!("the next decision has the number {expected:04}, not {number:04}"),
                    "Number the decisions from 0001, each once and without gaps",
                ));
                expected = number + 1;
            }
            Some(_) => expected += 1,
        }
        let lines = page.text.lines().count();
        if lines > DECISION_LINES_MAX {
            findings.push(TidyFinding::new(
                path,
                DECISION_LINES_MAX + 1,
                format!("the decision has {lines} lines"),
                format!(
                    "Say context, decision and consequence in at most {DECISION_LINES_MAX} lines"
                ),
            ));
        }
    }
    findings
}

/// Returns 7 for `0007-some-title.md`.
fn number(name: &str) -> Option<usize> {
    let (digits, title) = name.strip_suffix(".md")?.split_once('-')?;
    let is_number = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || title.is_empty() {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[test]
    fn decisions_in_a_row_are_fine() {
        fixture::check(
            check,
            &[("docs/decisions/0002-b.md", "b\n"), ("docs/decisions/0001-a.md", "a\n")],
            &[],
        );
    }

    #[test]
    fn a_gap_a_double_and_a_nameless_one_are_found() {
        fixture::check(
            check,
            &[
                ("docs/decisions/0001-a.md", ""),
                ("docs/decisions/0003-b.md", ""),
                ("docs/decisions/0003-c.md", ""),
                ("docs/decisions/0004-d.md", ""),
                ("docs/decisions/five.md", ""),
            ],
            &[
                "docs/decisions/0003-b.md:1: the next decision has the number 0002, not 0003",
                "docs/decisions/0003-c.md:1: the next decision has the number 0004, not 0003",
                "docs/decisions/five.md:1: a decision is named by its number and title",
            ],
        );
    }

    #[test]
    fn a_long_decision_is_found() {
        let (long, short) = ("line\n".repeat(21), "line\n".repeat(20));
        fixture::check(
            check,
            &[("docs/decisions/0001-long.md", &long), ("docs/decisions/0002-short.md", &short)],
            &["docs/decisions/0001-long.md:21: the decision has 21 lines"],
        );
    }
}
