//! Import cycles: modules of a crate that reach each other through their paths.
//!
//! Only siblings count: a module and the modules below it are one thing.
//!
//! Must never: follow re-exports; a path counts as it is written.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::{
    rust_text::words,
    tree::{SourceTree, TreeFile},
};

/// A module by its path from the root of the crate: `["turn", "gate"]`.
pub(crate) type ModulePath = Vec<String>;

/// A group of sibling modules that all reach each other.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Cycle {
    pub(crate) room: String,
    /// The module above them, `::` between the parts; empty for the crate itself.
    pub(crate) parent: String,
    pub(crate) modules: Vec<String>,
}

/// Returns all import cycles of the workspace, one per strongly connected group of siblings.
pub(crate) fn cycles(tree: &SourceTree) -> Vec<Cycle> {
    let mut rooms: BTreeMap<&str, Vec<&TreeFile>> = BTreeMap::new();
    for file in tree.rust_files().filter(|file| file.is_source() && !file.is_test()) {
        rooms.entry(file.room().unwrap_or_default()).or_default().push(file);
    }
    let mut cycles: Vec<Cycle> =
        rooms.iter().flat_map(|(room, files)| cycles_of_room(room, files)).collect();
    cycles.sort();
    cycles
}

fn cycles_of_room(room: &str, files: &[&TreeFile]) -> Vec<Cycle> {
    let groups = sibling_imports(files).into_iter().flat_map(|(parent, edges)| {
        groups(&edges).into_iter().map(move |modules| (parent.join("::"), modules))
    });
    groups.map(|(parent, modules)| Cycle { room: room.to_owned(), parent, modules }).collect()
}

/// The imports between the modules below one parent: from each, all that it uses.
pub(crate) type SiblingImports = BTreeMap<String, BTreeSet<String>>;

/// Returns the imports between siblings of a crate, by the path of their parent.
pub(crate) fn sibling_imports(files: &[&TreeFile]) -> BTreeMap<ModulePath, SiblingImports> {
    let modules: BTreeSet<ModulePath> = files.iter().map(|file| module_path(file)).collect();
    let mut edges: BTreeMap<ModulePath, SiblingImports> = BTreeMap::new();
    for file in files {
        let from = module_path(file);
        let lines: Vec<&str> = file.product_code_lines().map(|(_, line)| line).collect();
        for path in paths(&lines.join("\n"), &from) {
            let to = longest_module(&modules, &path);
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            let (Some(ours), Some(theirs)) = (from.get(shared), to.get(shared)) else { continue };
            let siblings = edges.entry(from[..shared].to_vec()).or_default();
            siblings.entry(ours.clone()).or_default().insert(theirs.clone());
        }
    }
    edges
}

fn module_path(file: &TreeFile) -> ModulePath {
    let path = file.path_in_room().trim_start_matches("src/").trim_end_matches(".rs");
    match path {
        "lib" | "main" => Vec::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

fn longest_module(modules: &BTreeSet<ModulePath>, path: &[String]) -> ModulePath {
    let lengths = (0..=path.len()).rev();
    lengths
        .map(|length| path[..length].to_vec())
        .find(|path| modules.contains(path))
        .unwrap_or_default()
}

/// Returns the sets of modules that all reach each other, two or more in each.
fn groups(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        edges.keys().map(|from| (from, reachable(edges, from))).collect();
    let mut groups = BTreeSet::new();
    for (from, reached_from) in &reached {
        let group: Vec<String> = reached_from
            .iter()
            .filter(|to| reached.get(**to).is_some_and(|back| back.contains(from)))
            .map(|to| (*to).clone())
            .collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

fn reachable<'a>(
    edges: &'a BTreeMap<String, BTreeSet<String>>,
    from: &'a String,
) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(module) = waiting.pop() {
        for next in edges.get(module).into_iter().flatten() {
            if reached.insert(next) {
                waiting.push(next);
            }
        }
    }
    reached
}

/// Returns every path that begins with `crate`, `self` or `super`, from the root of the crate.
fn paths(code: &str, module: &[String]) -> Vec<ModulePath> {
    let tokens = tokens(code);
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let mut start = module.to_vec();
        let mut next = at + 1;
        let known = match tokens[at] {
            "crate" => {
                start.clear();
                true
            }
            "self" => true,
            "super" => {
                start.pop();
                while tokens.get(next) == Some(&"::") && tokens.get(next + 1) == Some(&"super") {
                    start.pop();
                    next += 2;
                }
                true
            }
            _ => false,
        };
        if known && tokens.get(next) == Some(&"::") {
            at = tree_of_paths(&tokens, next + 1, &start, &mut paths);
        } else {
            at += 1;
        }
    }
    paths
}

/// Reads `a::b`, `{a, b::c}` or `*`, and returns the index of its end.
fn tree_of_paths(
    tokens: &[&str],
    at: usize,
    start: &[String],
    paths: &mut Vec<ModulePath>,
) -> usize {
    let mut path = start.to_vec();
    let mut at = at;
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    if tokens[at] == "," || tokens[at] == "as" {
                        at += 1;
                        continue;
                    }
                    at = tree_of_paths(tokens, at, &path, paths);
                }
                return at + 1;
            }
            Some(word) if word.starts_with(|char: char| char.is_alphabetic() || char == '_') => {
                path.push((*word).to_owned());
                at += 1;
            }
            _ => {
                paths.push(path);
                return at + 1;
            }
        }
        if tokens.get(at) != Some(&"::") {
            paths.push(path);
            return at;
        }
        at += 1;
    }
}

/// Splits code into words, `::` and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for line in code.lines() {
        let mut end = 0;
        for (at, word) in words(line).into_iter().chain([(line.len(), "")]) {
            let mut rest = &line[end..at];
            while let Some(char) = rest.chars().next() {
                let length = if rest.starts_with("::") { 2 } else { char.len_utf8() };
                if !char.is_whitespace() {
                    tokens.push(&rest[..length]);
                }
                rest = &rest[length..];
            }
            if !word.is_empty() {
                tokens.push(word);
            }
            end = at + word.len();
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[(&str, &[&str])]) {
        let found = cycles(&fixture::tree(files));
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|one| (&*one.parent, one.modules.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(&str, Vec<&str>)> =
            expected.iter().map(|(parent, modules)| (*parent, modules.to_vec())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn modules_that_use_each_other_are_a_cycle() {
        let a = ("crates/x/src/a.rs", "use crate::b::B;");
        let b = ("crates/x/src/b.rs", "use crate::{c::C, d};");
        let c = ("crates/x/src/c.rs", "fn c() { crate::a::f() }");
        let d = ("crates/x/src/d.rs", "");
        check(&[a, b, c, d], &[("", &["a", "b", "c"])]);
        check(&[a, b, d], &[]);
    }

    #[test]
    fn siblings_below_a_module_count_and_their_parent_does_not() {
        let parent = ("crates/x/src/p.rs", "use self::a::A; mod a; mod b;");
        let a = ("crates/x/src/p/a.rs", "use super::{P, b::B};");
        let b = ("crates/x/src/p/b.rs", "use super::a::A; use super::super::q::Q;");
        let q = ("crates/x/src/q.rs", "use crate::p::P;");
        check(&[parent, a, b, q], &[("", &["p", "q"]), ("p", &["a", "b"])]);
    }

    #[test]
    fn tests_comments_and_texts_are_no_imports() {
        let a = ("crates/x/src/a.rs", "use crate::b::B;");
        let b = (
            "crates/x/src/b.rs",
            "// crate::a\nconst T: &str = \"crate::a::X\";\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n",
        );
        check(&[a, b], &[]);
    }
}
