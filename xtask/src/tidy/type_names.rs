//! Names of types: unique, nouns, and each term of the glossary defined once.
//!
//! Must never: look at tests; a fixture may have any name.

use std::collections::BTreeMap;

use crate::tidy::{
    rust_text::{names_after, words},
    tree::{SourceTree, TreeFile},
};

const KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "union", "type"];

/// Every crate may have these; the module tells them apart.
const SHARED: [&str; 5] = ["Error", "Options", "State", "Kind", "Args"];

/// Nouns that end like participles.
const NOUNS: [&str; 10] = [
    "Building", "Ceiling", "Ending", "Finding", "Heading", "Red", "Ruling", "Setting", "String",
    "Thing",
];

/// Participles that do not end in `ed` or `ing`.
const IRREGULAR: [&str; 62] = [
    "Begun",
    "Born",
    "Bound",
    "Brought",
    "Broken",
    "Built",
    "Bought",
    "Caught",
    "Chosen",
    "Come",
    "Dealt",
    "Done",
    "Drawn",
    "Driven",
    "Fallen",
    "Felt",
    "Found",
    "Forgotten",
    "Frozen",
    "Given",
    "Gone",
    "Grown",
    "Heard",
    "Held",
    "Hidden",
    "Kept",
    "Known",
    "Laid",
    "Left",
    "Lent",
    "Lost",
    "Made",
    "Meant",
    "Met",
    "Paid",
    "Put",
    "Risen",
    "Said",
    "Seen",
    "Sent",
    "Set",
    "Shown",
    "Shut",
    "Sold",
    "Sought",
    "Spent",
    "Split",
    "Spoken",
    "Stolen",
    "Stuck",
    "Taken",
    "Taught",
    "Thought",
    "Thrown",
    "Told",
    "Torn",
    "Understood",
    "Withdrawn",
    "Withheld",
    "Won",
    "Written",
    "Wrought",
];

const GLOSSARY: &str = "docs/glossary.md";

/// The definition of a type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TypeDefinition {
    pub(crate) name: String,
    pub(crate) room: String,
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// Returns every type that product code defines, sorted by name.
pub(crate) fn definitions(tree: &SourceTree) -> Vec<TypeDefinition> {
    let mut all = Vec::new();
    for file in tree.rust_files().filter(|file| file.is_source()) {
        let mut add = |line: usize, name: &str| {
            all.push(TypeDefinition {
                name: name.to_owned(),
                room: file.room().unwrap_or_default().to_owned(),
                path: file.path.clone(),
                line,
            });
        };
        for (line, code) in file.product_code_lines() {
            for (keyword, name) in names_after(code, &KEYWORDS) {
                // An indented `type` belongs to a trait or its implementation.
                let is_associated = keyword == "type" && code.starts_with(' ');
                if name.starts_with(char::is_uppercase) && !is_associated {
                    add(line, name);
                }
            }
        }
        for (line, name) in names_from_macros(file) {
            add(line, name);
        }
    }
    all.sort();
    all
}

/// Returns the types that macros of the file define there: the first name in each of their calls.
fn names_from_macros(file: &TreeFile) -> Vec<(usize, &str)> {
    let lines: Vec<(usize, &str)> = file.product_code_lines().collect();
    let macros = macros_of_types(&lines);
    let mut names = Vec::new();
    for (at, (_, code)) in lines.iter().enumerate() {
        let called = code.split_once('!').map_or("", |(name, _)| name);
        if !macros.contains(&called) {
            continue;
        }
        let call = lines[at..].iter().take_while(|(_, code)| !code.starts_with(')'));
        let name = call.into_iter().find_map(|(line, code)| {
            let mut words = words(code).into_iter().map(|(_, word)| word);
            words.find(|word| word.starts_with(char::is_uppercase)).map(|word| (*line, word))
        });
        names.extend(name);
    }
    names
}

/// Returns the macros of the file that define a type with a name from their arguments.
fn macros_of_types<'file>(lines: &[(usize, &'file str)]) -> Vec<&'file str> {
    let mut macros: Vec<&str> = Vec::new();
    let mut current = "";
    for (_, code) in lines {
        if let Some((_, name)) = names_after(&code.replace('!', " "), &["macro_rules"]).first() {
            current = &code[code.find(name).unwrap_or_default()..][..name.len()];
        } else if *code == "}" {
            current = "";
        }
        let defines = KEYWORDS.iter().any(|keyword| code.contains(&format!("{keyword} $")));
        let passes_on = macros.iter().any(|name| code.contains(&format!("{name}!(")));
        if !current.is_empty() && (defines || passes_on) {
            macros.push(current);
        }
    }
    macros
}

/// Returns names that one crate defines more than once, with their places.
pub(crate) fn shared_in_room(definitions: &[TypeDefinition]) -> Vec<Vec<&TypeDefinition>> {
    shared_by(definitions, |one| (one.room.clone(), one.name.clone()))
}

/// Returns names that the workspace defines more than once.
pub(crate) fn shared_in_workspace(definitions: &[TypeDefinition]) -> Vec<Vec<&TypeDefinition>> {
    shared_by(definitions, |one| (String::new(), one.name.clone()))
}

fn shared_by(
    definitions: &[TypeDefinition],
    key: impl Fn(&TypeDefinition) -> (String, String),
) -> Vec<Vec<&TypeDefinition>> {
    let mut groups: BTreeMap<(String, String), Vec<&TypeDefinition>> = BTreeMap::new();
    for one in definitions.iter().filter(|one| !SHARED.contains(&&*one.name)) {
        groups.entry(key(one)).or_default().push(one);
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// Returns types whose whole name is a participle.
pub(crate) fn participles(definitions: &[TypeDefinition]) -> Vec<&TypeDefinition> {
    definitions.iter().filter(|one| is_participle(&one.name)).collect()
}

fn is_participle(name: &str) -> bool {
    let is_one_word = !name.chars().skip(1).any(char::is_uppercase);
    let ends = name.ends_with("ed") || name.ends_with("ing");
    is_one_word && !NOUNS.contains(&name) && (ends || IRREGULAR.contains(&name))
}

/// Returns the glossary's types that are not defined exactly once, with their number.
pub(crate) fn glossary_types(
    tree: &SourceTree,
    definitions: &[TypeDefinition],
) -> Vec<(String, usize)> {
    let text = tree.file(GLOSSARY).map_or("", |file| &file.text);
    let mut wrong: Vec<(String, usize)> = types_of_glossary(text)
        .map(|name| {
            let count = definitions.iter().filter(|one| one.name == name).count();
            (name.to_owned(), count)
        })
        .filter(|(_, count)| *count != 1)
        .collect();
    wrong.sort();
    wrong.dedup();
    wrong
}

/// Returns the second column of each row with a bold term: `| **Term** | `Type` | … |`.
fn types_of_glossary(text: &str) -> impl Iterator<Item = &str> {
    let rows = text.lines().filter(|line| line.starts_with("| **"));
    let cells = rows.filter_map(|line| line.split('|').nth(2));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    fn defined(files: &[(&str, &str)]) -> Vec<TypeDefinition> {
        definitions(&fixture::tree(files))
    }

    #[test]
    fn a_name_that_is_defined_twice_in_a_crate_is_found() {
        let all = defined(&[
            ("crates/a/src/x.rs", "pub struct Place;\nenum Kind {}\n"),
            ("crates/a/src/y.rs", "struct Place {}\nenum Kind {}\n"),
            ("crates/b/src/z.rs", "trait Place {}\n"),
        ]);
        let names = |groups: Vec<Vec<&TypeDefinition>>| -> Vec<(String, usize)> {
            groups.iter().map(|group| (group[0].name.clone(), group.len())).collect()
        };
        assert_eq!(names(shared_in_room(&all)), [("Place".to_owned(), 2)]);
        assert_eq!(names(shared_in_workspace(&all)), [("Place".to_owned(), 3)]);
    }

    #[test]
    fn tests_and_associated_types_do_not_count() {
        let all = defined(&[
            (
                "crates/a/src/x.rs",
                "trait A {\n    type Item;\n}\n#[cfg(test)]\nmod tests {\n    struct B;\n}\n",
            ),
            ("crates/a/tests/it/main.rs", "struct C;"),
        ]);
        assert_eq!(all.iter().map(|one| &*one.name).collect::<Vec<_>>(), ["A"]);
    }

    #[test]
    fn a_type_that_a_macro_defines_counts() {
        let code = "macro_rules! id {\n    ($name:ident) => {\n        pub struct $name(String);\n    };\n}\n\
                    macro_rules! record {\n    ($name:ident) => {\n        id!($name);\n    };\n}\n\
                    macro_rules! other {\n    ($a:expr) => {\n        $a\n    };\n}\n\
                    id!(AgentId);\nrecord!(\n    /// The id of a Run.\n    RunId,\n    \"run\"\n);\n\
                    other!(Nothing);\n";
        let all = defined(&[("crates/a/src/id.rs", code)]);
        let names: Vec<(&str, usize)> = all.iter().map(|one| (&*one.name, one.line)).collect();
        assert_eq!(names, [("AgentId", 16), ("RunId", 19)]);
    }

    #[test]
    fn participles_are_found_and_nouns_are_not() {
        for name in ["Asked", "Looking", "Said", "Known", "Left", "Hidden", "Broken"] {
            assert!(is_participle(name), "{name}");
        }
        for name in ["Ruling", "Ending", "AskedAgain", "Session", "NeedApproval"] {
            assert!(!is_participle(name), "{name}");
        }
    }

    #[test]
    fn a_type_of_the_glossary_is_defined_once() {
        let tree = fixture::tree(&[
            (
                "docs/glossary.md",
                "| **Turn** | `Turn` | one |\n| **Pack** | – | `two` |\n| **Gone** | `Gone`, `Desk` | |\n",
            ),
            ("crates/a/src/x.rs", "struct Turn;\nstruct Desk;\n"),
            ("crates/b/src/x.rs", "struct Desk;\n"),
        ]);
        let wrong = glossary_types(&tree, &definitions(&tree));
        assert_eq!(wrong, [("Desk".to_owned(), 2), ("Gone".to_owned(), 0)]);
    }
}
