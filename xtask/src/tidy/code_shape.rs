//! Shapes of code that hide their meaning: tuple parameters, and values made only to be dropped.
//!
//! Must never: look at tests, or at closures; a closure's tuple is often not its own choice.

use crate::tidy::tree::{SourceTree, TreeFile};

/// A line of product code.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct CodeLine {
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// Returns the functions that take a tuple, by pattern or by type.
pub(crate) fn tuple_parameters(tree: &SourceTree) -> Vec<CodeLine> {
    in_source(tree, |code| {
        let starts = code.match_indices("fn ").filter(|(at, _)| {
            code[..*at].chars().next_back().is_none_or(|char| char.is_whitespace() || char == '(')
        });
        starts.filter(|(at, _)| takes_a_tuple(&code[*at..])).map(|(at, _)| at).collect()
    })
}

/// Returns the statements that discard an error with `.unwrap_or_default();`.
pub(crate) fn discarded_errors(tree: &SourceTree) -> Vec<CodeLine> {
    const CALL: &str = ".unwrap_or_default();";
    in_source(tree, |code| {
        let ends = code.match_indices(CALL);
        ends.filter(|(at, _)| is_statement_of_its_own(&code[..*at])).map(|(at, _)| at).collect()
    })
}

/// Finds offsets in the product code of each source file.
fn in_source(tree: &SourceTree, find: impl Fn(&str) -> Vec<usize>) -> Vec<CodeLine> {
    let files = tree.rust_files().filter(|file| file.is_source());
    files.flat_map(|file| lines_of(file, &find)).collect()
}

fn lines_of(file: &TreeFile, find: &impl Fn(&str) -> Vec<usize>) -> Vec<CodeLine> {
    let lines: Vec<&str> = file.product_code_lines().map(|(_, line)| line).collect();
    let code = lines.join("\n");
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    let offsets = find(&code).into_iter();
    offsets.map(|at| CodeLine { path: file.path.clone(), line: line(at) }).collect()
}

fn takes_a_tuple(code: &str) -> bool {
    let Some(parameters) = parameters(code) else { return false };
    parameters.into_iter().any(|parameter| {
        let (pattern, kind) = parameter.split_once(':').unwrap_or((parameter, ""));
        let kind = kind.trim_start_matches(['&', ' ']).trim_start_matches("mut ");
        let is_tuple = |text: &str| text.trim().starts_with('(') && text.contains(',');
        is_tuple(pattern) || is_tuple(kind)
    })
}

/// Returns the parameters of the function whose `fn` starts the text.
fn parameters(code: &str) -> Option<Vec<&str>> {
    let mut depth = 0_i32;
    let mut angles = 0_i32;
    let mut start = None;
    let mut parameters = Vec::new();
    let mut before = ' ';
    for (at, char) in code.char_indices() {
        match char {
            '<' => angles += 1,
            '>' if before != '-' => angles -= 1,
            '(' | '[' | '{' => {
                if start.is_none() && angles == 0 {
                    if char != '(' {
                        return None;
                    }
                    start = Some(at + 1);
                }
                depth += 1;
            }
            ')' | ']' | '}' => {
                depth -= 1;
                if let Some(from) = start
                    && depth == 0
                {
                    parameters.push(&code[from..at]);
                    return Some(parameters);
                }
            }
            ',' if depth == 1 && angles == 0 => {
                if let Some(from) = start {
                    parameters.push(&code[from..at]);
                    start = Some(at + 1);
                }
            }
            _ => {}
        }
        before = char;
    }
    None
}

/// Returns true if no `let`, assignment or `return` before it takes the value.
fn is_statement_of_its_own(before: &str) -> bool {
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, char) in before.char_indices().rev() {
        match char {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' => depth -= 1,
            ';' if depth == 0 => {
                start = at + 1;
                break;
            }
            _ => {}
        }
        if depth < 0 || depth == 0 && char == '}' {
            start = at + 1;
            break;
        }
    }
    let statement = before[start..].trim_start();
    !statement.starts_with("let ") && !statement.starts_with("return ") && !assigns(statement)
}

fn assigns(statement: &str) -> bool {
    statement.contains(" = ") || statement.contains(" += ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[track_caller]
    fn check(find: fn(&SourceTree) -> Vec<CodeLine>, code: &str, expected: &[usize]) {
        let found = find(&fixture::tree(&[("crates/a/src/x.rs", code)]));
        assert_eq!(found.iter().map(|one| one.line).collect::<Vec<_>>(), expected, "{code}");
    }

    #[test]
    fn functions_that_take_a_tuple_are_found() {
        check(tuple_parameters, "fn a(host: &Host, (x, y): (X, Y)) {}", &[1]);
        check(tuple_parameters, "\npub fn a<T: Into<(u8, u8)>>(\n    pair: &(X, Y),\n) {}", &[2]);
        check(
            tuple_parameters,
            "fn a(x: Vec<(X, Y)>, f: impl Fn(u8, u8), g: fn(X, Y)) -> (X, Y) {}",
            &[],
        );
        check(tuple_parameters, "fn a() { b.map(|(x, y): (X, Y)| x) }", &[]);
    }

    #[test]
    fn values_that_are_made_to_be_dropped_are_found() {
        check(discarded_errors, "fn a() {\n    send().unwrap_or_default();\n}", &[2]);
        check(
            discarded_errors,
            "fn a() {\n    b(|x| { c; });\n    send()\n        .unwrap_or_default();\n}",
            &[4],
        );
        check(
            discarded_errors,
            "fn a() {\n    let x = send().unwrap_or_default();\n    x = y().unwrap_or_default();\n}",
            &[],
        );
        check(discarded_errors, "fn a() -> u8 {\n    return b().unwrap_or_default();\n}", &[]);
    }
}
