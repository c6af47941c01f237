//! No attic words and no versions in the names of types and modules.
//!
//! Must never: look at names we do not choose, such as those of fields on a wire.

use crate::tidy::{TidyFinding, rust_text::names_after, tree::SourceTree};

const KEYWORDS: [&str; 6] = ["struct", "enum", "trait", "type", "union", "mod"];

/// Filler words: they do not say what the thing is.
const ATTIC_WORDS: [&str; 10] =
    ["manager", "helper", "util", "utils", "common", "misc", "data", "info", "base", "impl"];

/// The crate in which the helper is a process and a term of the glossary.
const HELPERS_ROOM: &str = "crates/sandbox/";

/// Words of age; versions are values, upgraded when they are read, so code knows only today's.
const AGE_WORDS: [&str; 2] = ["new", "legacy"];

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust_files().filter(|file| file.room().is_some()) {
        for (number, line) in file.code_lines() {
            for (keyword, name) in names_after(line, &KEYWORDS) {
                let words = if keyword == "mod" { snake_words(name) } else { camel_words(name) };
                for word in words {
                    if file.path.starts_with(HELPERS_ROOM) && word == "helper" {
                        continue;
                    }
                    if let Some(remedy) = remedy(&word) {
                        findings.push(TidyFinding::new(
                            &file.path,
                            number,
                            format!("the name `{keyword} {name}` holds the word `{word}`"),
                            remedy,
                        ));
                    }
                }
            }
        }
    }
    findings
}

fn remedy(word: &str) -> Option<&'static str> {
    if ATTIC_WORDS.contains(&word) {
        return Some("Name what the thing is, with a word of docs/glossary.md");
    }
    (AGE_WORDS.contains(&word) || is_version(word))
        .then_some("Rename the thing itself; a version is a value, not a part of a name")
}

/// Returns true for `v2`, but not for `utf8`.
fn is_version(word: &str) -> bool {
    word.strip_prefix('v').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn snake_words(name: &str) -> Vec<String> {
    name.split('_').map(str::to_lowercase).collect()
}

/// Splits `HTTPInfo` into `http` and `info`; digits belong to the word before them.
fn camel_words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, char) in chars.iter().enumerate() {
        let follows_small = at > 0 && !chars[at - 1].is_uppercase();
        let starts_small = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        if char.is_uppercase() && at > 0 && (follows_small || starts_small) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(char.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[track_caller]
    fn check_line(line: &str, word: Option<&str>) {
        let found = check(&fixture::tree(&[("crates/kernel/src/lib.rs", line)]));
        let expected = word.map(|word| format!("holds the word `{word}`"));
        match (found.as_slice(), expected) {
            ([], None) => {}
            ([one], Some(end)) => assert!(one.problem.ends_with(&end), "{one}"),
            (found, expected) => panic!("{line}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn attic_words_are_found() {
        check_line("pub struct SessionManager;", Some("manager"));
        check_line("enum InfoKind {}", Some("info"));
        check_line("trait HTTPInfo {}", Some("info"));
        check_line("type Data = u8;", Some("data"));
        check_line("pub(crate) mod test_utils;", Some("utils"));
        check_line("struct LedgerImpl<T> {", Some("impl"));
    }

    #[test]
    fn versions_and_ages_are_found() {
        check_line("struct EventV2;", Some("v2"));
        check_line("mod compact_v1 {", Some("v1"));
        check_line("struct NewSession;", Some("new"));
        check_line("mod legacy;", Some("legacy"));
    }

    #[test]
    fn words_within_words_are_fine() {
        check_line("struct Metadata;", None);
        check_line("struct Database; struct Base64; struct Information; mod base64;", None);
        check_line("struct Utf8; enum Newline {} struct Vault; mod commons;", None);
    }

    #[test]
    fn only_definitions_in_code_count() {
        check_line("use outside::InfoManager; // struct Data", None);
        check_line("let text = \"struct Data\";", None);
        check_line("impl Data for X { fn new() {} }", None);
    }
}
