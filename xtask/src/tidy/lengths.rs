//! Files and structs stay small. Functions are clippy's (`too_many_lines`).
//!
//! Must never: count tests as product, or be loosened for one file; split the file.

use crate::{
    limits::{FORM_FIELDS_MAX, SOURCE_LINES_MAX, STRUCT_FIELDS_MAX, TEST_FILE_LINES_MAX},
    tidy::{
        TidyFinding,
        rust_text::names_after,
        tree::{SourceTree, TreeFile},
    },
};

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        if file.is_test() {
            findings.extend(long_test_file(file));
        } else if file.is_source() {
            findings.extend(long_source_file(file));
            findings.extend(wide_structs(file));
        }
    }
    findings
}

fn long_test_file(file: &TreeFile) -> Option<TidyFinding> {
    let lines = file.text.lines().count();
    (lines > TEST_FILE_LINES_MAX).then(|| {
        TidyFinding::new(
            &file.path,
            TEST_FILE_LINES_MAX + 1,
            format!("the test file has {lines} lines"),
            format!("Keep it under {}: one file per feature or story", TEST_FILE_LINES_MAX + 1),
        )
    })
}

fn long_source_file(file: &TreeFile) -> Option<TidyFinding> {
    let lines = file.product_line_count();
    (lines > SOURCE_LINES_MAX).then(|| {
        TidyFinding::new(
            &file.path,
            SOURCE_LINES_MAX + 1,
            format!("the file has {lines} lines, tests apart"),
            format!("Find the seam and move one concern out; under {}", SOURCE_LINES_MAX + 1),
        )
    })
}

fn wide_structs(file: &TreeFile) -> Vec<TidyFinding> {
    let code = &file.rust.code;
    let mut findings = Vec::new();
    let fields_max =
        if file.path.contains("/manifest/") { FORM_FIELDS_MAX } else { STRUCT_FIELDS_MAX };
    let mut line_start = 0;
    for (number, line) in file.product_code_lines() {
        for (_, name) in names_after(line, &["struct"]) {
            let fields = field_count(code.get(line_start..).unwrap_or_default());
            if fields > fields_max {
                findings.push(TidyFinding::new(
                    &file.path,
                    number,
                    format!("the struct {name} has {fields} fields"),
                    format!("Group those that travel together; at most {fields_max} fields"),
                ));
            }
        }
        line_start += line.len() + 1;
    }
    findings
}

/// Counts the colons between a name and its type in the first struct of the code; there are none
/// in a unit or tuple struct, which ends with a semicolon before any brace opens.
fn field_count(code: &str) -> usize {
    let Some(opening) = code.find(['{', ';']).filter(|&at| code[at..].starts_with('{')) else {
        return 0;
    };
    let mut depth = 0_usize;
    let mut count = 0;
    let body: Vec<char> = code[opening..].chars().collect();
    for (at, &char) in body.iter().enumerate() {
        match char {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            // A path has two of them side by side.
            ':' if depth == 1 && body[at - 1] != ':' && body.get(at + 1) != Some(&':') => {
                count += 1;
            }
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[test]
    fn a_long_source_file_is_found() {
        let (long, short) = ("x();\n".repeat(500), "x();\n".repeat(499));
        fixture::check(
            check,
            &[("crates/kernel/src/long.rs", &long), ("xtask/src/short.rs", &short)],
            &["crates/kernel/src/long.rs:500: the file has 500 lines, tests apart"],
        );
    }

    #[test]
    fn tests_at_the_end_do_not_count() {
        let text =
            format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{}}}\n", "    x();\n".repeat(600));
        fixture::check(check, &[("crates/kernel/src/lib.rs", &text)], &[]);
    }

    #[test]
    fn a_long_test_file_is_found() {
        let (long, short) = ("x();\n".repeat(800), "x();\n".repeat(799));
        fixture::check(
            check,
            &[("crates/app/tests/it/long.rs", &long), ("crates/app/tests/it/short.rs", &short)],
            &["crates/app/tests/it/long.rs:800: the test file has 800 lines"],
        );
    }

    #[test]
    fn a_struct_with_thirteen_fields_is_found() {
        let fields = |count: usize| -> String {
            (0..count)
                .map(|n| format!("    /// A: b.\n    pub f{n}: std::vec::Vec<u8>,\n"))
                .collect()
        };
        let text = format!(
            "struct Fine<T: Clone> {{\n{}}}\nstruct Pair(u8, u8);\nstruct Wide {{\n{}}}\n",
            fields(12),
            fields(13)
        );
        fixture::check(
            check,
            &[("crates/kernel/src/lib.rs", &text)],
            &["crates/kernel/src/lib.rs:28: the struct Wide has 13 fields"],
        );
    }

    #[test]
    fn attributes_and_inner_braces_are_no_fields() {
        assert_eq!(field_count("struct A { #[serde(a::b: c)] x: [u8; { 1 }], y: fn(z: u8), }"), 2);
        assert_eq!(field_count("struct A; fn b() { c: d }"), 0);
    }
}
