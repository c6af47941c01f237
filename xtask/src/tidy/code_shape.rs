//! Shapes of code that hide their meaning: tuple parameters, a `match` on a bool, and errors that
//! are turned into a value only to be dropped.
//!
//! Must never: look at tests, or at closures; a closure's tuple is often not its own choice.

use std::collections::BTreeSet;

use crate::tidy::{
    rust_text::words,
    tree::{SourceTree, TreeFile},
};

/// A line of product code.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct CodeLine {
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// Returns the functions that take a tuple, by pattern, by type or by an alias of a type.
pub(crate) fn tuple_parameters(tree: &SourceTree) -> Vec<CodeLine> {
    let aliases = tuple_aliases(tree);
    in_source(tree, |code| {
        let starts = code.match_indices("fn ").filter(|(at, _)| {
            code[..*at].chars().next_back().is_none_or(|char| char.is_whitespace() || char == '(')
        });
        starts.filter(|(at, _)| takes_a_tuple(&code[*at..], &aliases)).map(|(at, _)| at).collect()
    })
}

/// Returns each `match` with an arm for `true` or `false`; clippy misses those with a guard.
pub(crate) fn bool_matches(tree: &SourceTree) -> Vec<CodeLine> {
    in_source(tree, |code| {
        let matches = words(code).into_iter().filter(|(_, word)| *word == "match");
        matches
            .filter(|(at, _)| has_bool_arm(&code[at + "match".len()..]))
            .map(|(at, _)| at)
            .collect()
    })
}

/// Returns the places that discard an error with `.unwrap_or_default()`: as a statement, or at the
/// end of a function that returns nothing.
pub(crate) fn defaults_of_errors(tree: &SourceTree) -> Vec<CodeLine> {
    const CALL: &str = ".unwrap_or_default()";
    in_source(tree, |code| {
        let calls = code.match_indices(CALL).filter(|(at, _)| {
            let after = code[at + CALL.len()..].trim_start();
            after.starts_with(';') && is_statement_of_its_own(&code[..*at])
                || after.starts_with('}') && ends_a_function_without_result(&code[..*at])
        });
        calls.map(|(at, _)| at).collect()
    })
}

/// Returns the statements that discard an error with `.ok();`.
pub(crate) fn ignored_errors(tree: &SourceTree) -> Vec<CodeLine> {
    in_source(tree, |code| {
        let calls = code.match_indices(".ok();");
        calls.filter(|(at, _)| is_statement_of_its_own(&code[..*at])).map(|(at, _)| at).collect()
    })
}

/// Finds offsets in the product code of each source file.
fn in_source(tree: &SourceTree, find: impl Fn(&str) -> Vec<usize>) -> Vec<CodeLine> {
    let files = tree.rust_files().filter(|file| file.is_source());
    files.flat_map(|file| lines_of(file, &find)).collect()
}

fn lines_of(file: &TreeFile, find: &impl Fn(&str) -> Vec<usize>) -> Vec<CodeLine> {
    let code = product_code(file);
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    let offsets = find(&code).into_iter();
    offsets.map(|at| CodeLine { path: file.path.clone(), line: line(at) }).collect()
}

fn product_code(file: &TreeFile) -> String {
    let lines: Vec<&str> = file.product_code_lines().map(|(_, line)| line).collect();
    lines.join("\n")
}

/// Returns the names of aliases such as `type Pair = (A, B);`, associated types apart.
fn tuple_aliases(tree: &SourceTree) -> BTreeSet<String> {
    let mut aliases = BTreeSet::new();
    for file in tree.rust_files().filter(|file| file.is_source()) {
        let code = product_code(file);
        for (at, _) in code.match_indices("type ") {
            let line = code[..at].rsplit('\n').next().unwrap_or_default();
            let Some((head, kind)) = code[at + "type ".len()..].split_once('=') else { continue };
            let kind = kind.split(';').next().unwrap_or_default();
            let name = words(head).first().map_or("", |(_, name)| name);
            if !line.starts_with(' ') && is_tuple(kind) {
                aliases.insert(name.to_owned());
            }
        }
    }
    aliases
}

fn takes_a_tuple(code: &str, aliases: &BTreeSet<String>) -> bool {
    let parameters = function_head(code).map(|head| head.parameters);
    parameters.into_iter().flatten().any(|parameter| {
        let (pattern, kind) = parameter.split_once(':').unwrap_or((parameter, ""));
        let kind = without_reference(kind);
        let path = kind.split('<').next().unwrap_or_default();
        let name = path.rsplit("::").next().unwrap_or_default().trim();
        is_tuple(without_reference(pattern)) || is_tuple(kind) || aliases.contains(name)
    })
}

/// Removes `&`, `&mut` and `&'a mut` before a type or a pattern.
fn without_reference(text: &str) -> &str {
    let mut text = text.trim_start();
    while let Some(rest) = text.strip_prefix('&') {
        text = rest.trim_start();
        if let Some(rest) = text.strip_prefix('\'') {
            text = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest).trim_start();
        }
        text = text.strip_prefix("mut ").unwrap_or(text).trim_start();
    }
    text
}

/// Returns true for `(a, b)`, but not for `(dyn Fn(a, b))`.
fn is_tuple(text: &str) -> bool {
    let text = text.trim();
    let mut depth = 0_i32;
    let mut before = ' ';
    text.starts_with('(')
        && text.chars().any(|char| {
            match char {
                '(' | '[' | '{' | '<' => depth += 1,
                '>' if before == '-' => {}
                ')' | ']' | '}' | '>' => depth -= 1,
                _ => {}
            }
            before = char;
            char == ',' && depth == 1
        })
}

/// The head of a function, from its `fn` to the end of its parameters.
struct FunctionHead<'a> {
    parameters: Vec<&'a str>,
    end: usize,
}

/// Reads the function whose `fn` starts the text.
fn function_head(code: &str) -> Option<FunctionHead<'_>> {
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
                    return Some(FunctionHead { parameters, end: at + 1 });
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

/// Returns true if the `match` before this text has an arm that begins with `true` or `false`.
fn has_bool_arm(code: &str) -> bool {
    let mut depth = 0_i32;
    let mut is_inside = false;
    let mut begins_an_arm = false;
    for (at, char) in code.char_indices() {
        match char {
            '(' | '[' | '{' => {
                is_inside |= char == '{' && depth == 0;
                depth += 1;
                begins_an_arm = is_inside && depth == 1;
            }
            ')' | ']' | '}' => {
                depth -= 1;
                if depth <= 0 && is_inside || depth < 0 {
                    return false;
                }
                begins_an_arm = is_inside && depth == 1 && char == '}';
            }
            ',' => begins_an_arm = is_inside && depth == 1,
            char if char.is_whitespace() => {}
            _ if begins_an_arm => {
                begins_an_arm = false;
                if is_bool_pattern(&code[at..]) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

fn is_bool_pattern(arm: &str) -> bool {
    let rest = arm.strip_prefix("true").or_else(|| arm.strip_prefix("false"));
    let rest = rest.map_or("", str::trim_start);
    rest.starts_with("=>") || rest.starts_with("if ")
}

/// Returns true if no `let`, assignment, `return` or `break` before it takes the value.
fn is_statement_of_its_own(before: &str) -> bool {
    let statement = statement(before);
    let takes = ["let", "return", "break"];
    let first = words(&statement).first().map_or("", |(_, word)| word).to_owned();
    !takes.contains(&first.as_str()) && !assigns(&statement)
}

/// Returns the beginning of the statement that ends here, without what stands in its brackets.
fn statement(before: &str) -> String {
    let mut depth = 0_i32;
    let mut kept = Vec::new();
    for (at, char) in before.char_indices().rev() {
        match char {
            ')' | ']' => depth += 1,
            '}' => {
                // A block ends a statement, unless its value is used on.
                let next = before[at + 1..].trim_start();
                if depth == 0 && !next.starts_with(['.', '?']) && !next.starts_with("else") {
                    break;
                }
                depth += 1;
            }
            '(' | '[' | '{' => {
                depth -= 1;
                if depth < 0 {
                    break;
                }
            }
            ';' if depth == 0 => break,
            char if depth == 0 => kept.push(char),
            _ => {}
        }
    }
    kept.into_iter().rev().collect::<String>().trim_start().to_owned()
}

/// Returns true for `=`, `+=` and the like, but not for a comparison.
fn assigns(statement: &str) -> bool {
    let chars: Vec<char> = statement.chars().collect();
    (0..chars.len()).any(|at| {
        let near = |at: Option<usize>| at.and_then(|at| chars.get(at)).copied().unwrap_or(' ');
        chars[at] == '='
            && !"=!<>".contains(near(at.checked_sub(1)))
            && !"=>".contains(near(Some(at + 1)))
    })
}

/// Returns true if the block that is open here is the body of a function without a result.
fn ends_a_function_without_result(before: &str) -> bool {
    let mut depth = 0_i32;
    let opening = before.char_indices().rev().find(|(_, char)| {
        match char {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    let Some((at, '{')) = opening else { return false };
    let Some(start) = before[..at].rfind("fn ") else { return false };
    let head = &before[start..at];
    function_head(head).is_some_and(|FunctionHead { end, .. }| {
        let result = head[end..].split("where").next().unwrap_or_default();
        !result.contains("->") && !head[end..].contains(['{', '}', ';'])
    })
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
        check(tuple_parameters, "fn a(pair: (X, Y)) {}\nfn b(mut pair: (X, Y)) {}", &[1, 2]);
        check(tuple_parameters, "fn a<'a>(pair: &'a mut (X, Y)) {}", &[1]);
        check(tuple_parameters, "fn a(#[cfg(x)] pair: (X, Y)) {}", &[1]);
        check(tuple_parameters, "fn a(&(x, y): &(X, Y)) {}", &[1]);
        check(
            tuple_parameters,
            "fn a(x: Vec<(X, Y)>, f: impl Fn(u8, u8), g: fn(X, Y)) -> (X, Y) {}",
            &[],
        );
        check(tuple_parameters, "fn a(f: &(dyn Fn(X, Y) + Send), g: &mut (dyn At<X, Y>)) {}", &[]);
        check(tuple_parameters, "fn a() { b.map(|(x, y): (X, Y)| x) }", &[]);
    }

    #[test]
    fn another_name_for_a_tuple_is_a_tuple() {
        let alias = "pub(crate) type Pair<'a> = (\n    &'a X,\n    Y,\n);\n";
        check(tuple_parameters, &format!("{alias}fn a(pair: &super::Pair<'_>) {{}}"), &[5]);
        check(tuple_parameters, &format!("{alias}fn a(pairs: &[Pair<'_>]) {{}}"), &[]);
        check(tuple_parameters, "type List = Vec<(X, Y)>;\nfn a(list: List) {}", &[]);
        let associated = "trait A {\n    type Item = (X, Y);\n}\nfn a(item: Item) {}";
        check(tuple_parameters, associated, &[]);
    }

    #[test]
    fn a_match_on_a_bool_is_found_with_and_without_a_guard() {
        check(bool_matches, "fn a() {\n    match b { true => c, false => d }\n}", &[2]);
        check(bool_matches, "match b(|x| { x }) {\n    false if c => d,\n    _ => e,\n}", &[1]);
        check(bool_matches, "match b {\n    x if y => { z }\n    true => d,\n}", &[1]);
        check(bool_matches, "match b { Some(true) => c, Some(false) | None => d }", &[]);
        check(bool_matches, "match b { (true, _) => c, _ => if d { true } else { false } }", &[]);
        check(bool_matches, "match b { A => true, B => false }\nlet c = matches!(d, true);", &[]);
    }

    #[test]
    fn values_that_are_made_to_be_dropped_are_found() {
        check(defaults_of_errors, "fn a() {\n    send().unwrap_or_default();\n}", &[2]);
        check(
            defaults_of_errors,
            "fn a() {\n    b(|x| { c; });\n    send()\n        .unwrap_or_default();\n}",
            &[4],
        );
        check(
            defaults_of_errors,
            "fn a() {\n    let x = send().unwrap_or_default();\n    x = y().unwrap_or_default();\n}",
            &[],
        );
        check(defaults_of_errors, "fn a() {\n    x =\n        y().unwrap_or_default();\n}", &[]);
        check(defaults_of_errors, "fn a() -> u8 {\n    return b().unwrap_or_default();\n}", &[]);
        check(
            defaults_of_errors,
            "fn a() {\n    let x = if b { c } else { d }.e().unwrap_or_default();\n}",
            &[],
        );
    }

    #[test]
    fn an_assignment_before_or_inside_does_not_hide_a_dropped_error() {
        check(
            defaults_of_errors,
            "fn a() {\n    if let Some(b) = c {\n        d();\n    }\n    e().unwrap_or_default();\n}",
            &[5],
        );
        check(
            defaults_of_errors,
            "fn a() {\n    b.map(|x| {\n        let y = x;\n        y\n    })\n    .unwrap_or_default();\n}",
            &[6],
        );
        check(defaults_of_errors, "fn a() {\n    f(b == c).unwrap_or_default();\n}", &[2]);
    }

    #[test]
    fn a_dropped_error_at_the_end_of_a_function_is_found() {
        check(defaults_of_errors, "fn a(x: [u8; 2]) {\n    send().unwrap_or_default()\n}", &[2]);
        check(
            defaults_of_errors,
            "fn a<F>(f: F) where F: Fn() -> u8 {\n    send().unwrap_or_default()\n}",
            &[2],
        );
        check(defaults_of_errors, "fn a() -> (X, Y) {\n    b().unwrap_or_default()\n}", &[]);
        check(defaults_of_errors, "fn a() {\n    b(|c| { c.unwrap_or_default() });\n}", &[]);
    }

    #[test]
    fn errors_that_are_ignored_are_found() {
        check(ignored_errors, "fn a() {\n    send().ok();\n    let x = send().ok();\n}", &[2]);
        check(ignored_errors, "fn a() {\n    x = b().ok();\n    return c().ok();\n}", &[]);
    }
}
