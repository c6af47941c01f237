//! Limits live in `limits.rs` of their crate, where they can be read on one page.
//!
//! Must never: know the limits themselves.

use crate::tidy::{TidyFinding, rust_text::names_after, tree::SourceTree};

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        if !file.is_source() || file.name() == "limits.rs" {
            continue;
        }
        for (number, line) in file.product_code_lines() {
            for (_, name) in names_after(line, &["const"]) {
                if name.ends_with("_MAX") {
                    findings.push(TidyFinding::new(
                        &file.path,
                        number,
                        format!("the limit {name} stands outside limits.rs"),
                        "Move it to `limits.rs` of the crate, with its unit in its name",
                    ));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[test]
    fn a_limit_elsewhere_is_found() {
        fixture::check(
            check,
            &[("crates/kernel/src/turn.rs", "\npub const TURN_STEPS_MAX: u32 = 200;\n")],
            &["crates/kernel/src/turn.rs:2: the limit TURN_STEPS_MAX stands outside limits.rs"],
        );
    }

    #[test]
    fn limits_and_tests_are_fine() {
        let limit = "const TURN_STEPS_MAX: u32 = 200;\n";
        let in_tests = format!("#[cfg(test)]\nmod tests {{\n    {limit}}}\n");
        fixture::check(
            check,
            &[
                ("crates/kernel/src/limits.rs", limit),
                ("crates/kernel/src/turn/limits.rs", limit),
                ("crates/kernel/tests/it/main.rs", limit),
                ("crates/kernel/src/turn.rs", &in_tests),
                ("crates/kernel/src/route.rs", "const MAX_TRIES: u32 = u32::MAX;\n"),
            ],
            &[],
        );
    }
}
