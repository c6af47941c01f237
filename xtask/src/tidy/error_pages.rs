//! Every error code has a page, and every page has a code.
//!
//! Must never: know which codes there are; `diagnostic_code.rs` of agentfile is the list.

use std::collections::BTreeMap;

use crate::tidy::{
    TidyFinding,
    rust_text::words,
    tree::{SourceTree, TreeFile, numbered},
};

const CODES: &str = "crates/agentfile/src/diagnostic_code.rs";
const FOLDER: &str = "docs/errors/";

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let codes = tree.file(CODES).map(codes).unwrap_or_default();
    let pages: BTreeMap<&str, &TreeFile> = tree.files.iter().filter_map(page).collect();
    let mut findings = Vec::new();
    for (code, line) in &codes {
        if !pages.contains_key(code) {
            findings.push(TidyFinding::new(
                CODES,
                *line,
                format!("the code {code} has no page"),
                format!("Write {FOLDER}{code}.md: what it means, an example, how to mend it"),
            ));
        }
    }
    for (code, page) in pages {
        if !codes.contains_key(code) {
            findings.push(TidyFinding::new(
                &page.path,
                1,
                format!("the page is of {code}, which is no code"),
                format!("Add the code to {CODES}, or delete the page"),
            ));
        }
        if !has_title(page, code) {
            findings.push(TidyFinding::new(
                &page.path,
                1,
                "the first line is not the title of the page",
                format!("Start with `# {code}: ` and a title"),
            ));
        }
    }
    findings
}

/// Returns the codes in the list with the line of their first mention. They appear in names and
/// strings, so the plain text is searched, up to the tests.
fn codes(file: &TreeFile) -> BTreeMap<&str, usize> {
    let mut codes = BTreeMap::new();
    for (number, line) in numbered(&file.text).take(file.product_line_count()) {
        for (_, word) in words(line) {
            if is_code(word) {
                codes.entry(word).or_insert(number);
            }
        }
    }
    codes
}

fn page(file: &TreeFile) -> Option<(&str, &TreeFile)> {
    let code = file.path.strip_prefix(FOLDER)?.strip_suffix(".md")?;
    is_code(code).then_some((code, file))
}

fn is_code(word: &str) -> bool {
    word.strip_prefix('E')
        .is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn has_title(page: &TreeFile, code: &str) -> bool {
    page.text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("# ")?.strip_prefix(code)?.strip_prefix(": "))
        .is_some_and(|title| !title.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[test]
    fn each_code_with_its_page_is_fine() {
        fixture::check(
            check,
            &[
                (CODES, "pub enum Code { E0001 }\nconst TEXT: &str = \"E0002\";\n"),
                ("docs/errors/E0001.md", "# E0001: one\n"),
                ("docs/errors/E0002.md", "# E0002: two\n"),
                ("docs/errors/README.md", "All errors.\n"),
            ],
            &[],
        );
    }

    #[test]
    fn a_code_without_page_and_a_page_without_code_are_found() {
        fixture::check(
            check,
            &[(CODES, "enum Code {\n    E0001,\n}\n"), ("docs/errors/E0002.md", "# E0002: two\n")],
            &[
                "crates/agentfile/src/diagnostic_code.rs:2: the code E0001 has no page",
                "docs/errors/E0002.md:1: the page is of E0002, which is no code",
            ],
        );
    }

    #[test]
    fn a_page_with_another_title_is_found() {
        for title in ["# E0002: two", "# E0001", "# E0001: ", "E0001: one", ""] {
            fixture::check(
                check,
                &[(CODES, "E0001"), ("docs/errors/E0001.md", title)],
                &["docs/errors/E0001.md:1: the first line is not the title of the page"],
            );
        }
    }
}
