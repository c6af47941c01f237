//! The public interface of the store: it names no type of the database below it.
//!
//! Must never: look at private fields, or at what only the store itself can name.

use std::collections::BTreeSet;

use crate::tidy::{
    TidyFinding,
    rust_text::words,
    tree::{SourceTree, TreeFile},
};

const STORE: &str = "store";
const DATABASE: &str = "rusqlite";

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let files: Vec<(&TreeFile, String)> = tree
        .rust_files()
        .filter(|file| file.is_source() && !file.is_test() && file.room() == Some(STORE))
        .map(|file| {
            let lines: Vec<&str> = file.product_code_lines().map(|(_, line)| line).collect();
            (file, lines.join("\n"))
        })
        .collect();
    let types: BTreeSet<&str> = files.iter().flat_map(|(_, code)| public_types(code)).collect();
    files.iter().flat_map(|(file, code)| findings_of(file, code, &types)).collect()
}

fn findings_of(file: &TreeFile, code: &str, types: &BTreeSet<&str>) -> Vec<TidyFinding> {
    let names = database_names(code);
    let interfaces = public_interfaces(code).into_iter().chain(public_impls(code, types));
    let leaks = interfaces.flat_map(|(start, text)| {
        let found = words(text).into_iter().filter(|(_, word)| names.contains(word));
        found.map(move |(at, word)| (start + at, word)).collect::<Vec<_>>()
    });
    let finding = |(at, word): (usize, &str)| {
        let line = code[..at].matches('\n').count() + 1;
        let problem = format!("the public interface of {STORE} names `{word}` of {DATABASE}");
        TidyFinding::new(&file.path, line, problem, "Hide it behind a type of the store")
    };
    leaks.map(finding).collect()
}

/// Returns the crate of the database, and the types that a file imports from it.
fn database_names(code: &str) -> BTreeSet<&str> {
    let imports = code.match_indices("use ").filter_map(|(at, _)| {
        let import = &code[at + "use ".len()..];
        let import = &import[..import.find(';')?];
        import.trim_start_matches("::").starts_with(DATABASE).then_some(import)
    });
    let types = imports.flat_map(words).map(|(_, word)| word);
    types.filter(|word| word.starts_with(char::is_uppercase)).chain([DATABASE]).collect()
}

/// Returns the types that a file declares as public.
fn public_types(code: &str) -> Vec<&str> {
    let next = |declaration: &str| code.match_indices(declaration).map(|(at, _)| at).collect();
    let declarations = ["pub struct ", "pub enum "].map(|text| (text, next(text)));
    let names = declarations.into_iter().flat_map(|(text, places): (_, Vec<usize>)| {
        places.into_iter().filter_map(|at| words(&code[at + text.len()..]).first().copied())
    });
    names.map(|(_, name)| name).collect()
}

/// Returns the parts of the code that a public item shows, each with its offset.
fn public_interfaces(code: &str) -> Vec<(usize, &str)> {
    let items = code.match_indices("pub ").filter(|(at, _)| {
        code[..*at]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric() && before != '_')
    });
    let shown = |(at, _): (usize, &str)| {
        let item = &code[at..];
        let keyword = words(&item["pub ".len()..]).first().map(|(_, word)| *word);
        let length = match keyword {
            Some("enum" | "trait") => length_of_body(item),
            Some("fn" | "const" | "async" | "unsafe" | "static" | "type" | "use" | "mod") => {
                length_up_to(item, &['{', ';'])
            }
            Some("struct") => length_up_to(item, &['{', ';', '(']),
            _ => length_up_to(item, &[',', '}', ')']),
        };
        (at, &item[..length])
    };
    items.map(shown).collect()
}

/// Returns the heads of the implementations of traits for public types.
fn public_impls<'c>(code: &'c str, types: &BTreeSet<&str>) -> Vec<(usize, &'c str)> {
    let heads = code.match_indices("\nimpl").map(|(at, _)| {
        let head = &code[at + 1..];
        (at + 1, &head[..length_up_to(head, &['{'])])
    });
    let is_public = |(_, head): &(usize, &str)| {
        let target = head.split(" for ").nth(1).and_then(|target| words(target).first().copied());
        target.is_some_and(|(_, name)| types.contains(name))
    };
    heads.filter(is_public).collect()
}

/// Returns the length of the code before one of the characters, outside of brackets.
fn length_up_to(code: &str, ends: &[char]) -> usize {
    let mut depth = 0_i32;
    for (at, char) in code.char_indices() {
        if depth == 0 && ends.contains(&char) {
            return at;
        }
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns the length of an item with its body in braces.
fn length_of_body(code: &str) -> usize {
    let start = length_up_to(code, &['{']);
    let body = code.get(start + 1..).unwrap_or_default();
    start + 1 + length_up_to(body, &['}'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[track_caller]
    fn check_code(code: &str, expected: &[&str]) {
        fixture::check(check, &[("crates/store/src/x.rs", code)], expected);
    }

    #[test]
    fn a_type_of_the_database_in_the_public_interface_is_found() {
        let leak = |line: usize, word: &str| {
            format!(
                "crates/store/src/x.rs:{line}: the public interface of store names `{word}` of \
                 rusqlite"
            )
        };
        let code = "use rusqlite::{Connection, Row};\n\
            pub fn a(sql: &Connection) {}\n\
            pub struct B {\n    pub row: Row,\n}\n\
            pub enum C {\n    Failed { source: rusqlite::Error },\n}\n\
            impl From<rusqlite::Error> for C {}\n\
            pub use rusqlite::Rows;\n";
        // The items of a file come first, then its implementations.
        let expected = [
            leak(2, "Connection"),
            leak(4, "Row"),
            leak(7, "rusqlite"),
            leak(10, "rusqlite"),
            leak(10, "Rows"),
            leak(9, "rusqlite"),
        ];
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check_code(code, &expected);
    }

    #[test]
    fn what_only_the_store_can_name_may_use_the_database() {
        check_code(
            "use rusqlite::Connection;\n\
             pub struct Tail {\n    sql: Connection,\n    pub(crate) other: Connection,\n}\n\
             pub(crate) fn read(sql: &Connection) {}\n\
             pub fn all() -> u8 {\n    Connection::open()\n}\n\
             pub(crate) enum Private { Sql(rusqlite::Error) }\n\
             impl From<rusqlite::Error> for Private {}\n",
            &[],
        );
        fixture::check(
            check,
            &[("crates/other/src/x.rs", "pub fn a(sql: rusqlite::Connection) {}")],
            &[],
        );
    }
}
