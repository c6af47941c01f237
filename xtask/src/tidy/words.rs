//! Words of unfinished work, of a lost error, or of the outside world where it is not allowed.
//!
//! Must never: search strings; a fixture may spell what it likes.

use crate::tidy::{
    PURE_ROOMS, TidyFinding,
    rust_text::{is_of_word, words},
    tree::{SourceTree, TreeFile, numbered},
};

/// One rule about code: the spellings, the files where they are refused, the remedy.
struct WordRule {
    spellings: &'static [&'static str],
    applies: WordRuleScope,
    remedy: &'static str,
}

enum WordRuleScope {
    Everywhere,
    /// The crates that decide, tests apart: they get clock, files and environment as values.
    InPureRooms,
    /// All source but the crates that own tasks.
    OutsideSpawners,
}

const RULES: [WordRule; 7] = [
    WordRule {
        spellings: &["todo!", "unimplemented!"],
        applies: WordRuleScope::Everywhere,
        remedy: "Finish it, or return an error that says it is not there",
    },
    WordRule {
        spellings: &["let _ ="],
        applies: WordRuleScope::Everywhere,
        remedy: "Handle the result, return it, or log it with its cause",
    },
    WordRule {
        spellings: &["#[allow(", "#![allow("],
        applies: WordRuleScope::Everywhere,
        remedy: "Write `#[expect(…, reason = \"…\")]`: it complains once it is not needed",
    },
    WordRule {
        spellings: &["tokio::spawn"],
        applies: WordRuleScope::OutsideSpawners,
        remedy: "Spawn in runtime, server or tools/mcp, where the work has an owner",
    },
    WordRule {
        spellings: &["env::var"],
        applies: WordRuleScope::InPureRooms,
        remedy: "Take the value as a parameter; app reads the environment",
    },
    WordRule {
        spellings: &["SystemTime::now", "Instant::now"],
        applies: WordRuleScope::InPureRooms,
        remedy: "Take the time as a parameter; runtime has the clock",
    },
    WordRule {
        spellings: &["std::fs", "fs::"],
        applies: WordRuleScope::InPureRooms,
        remedy: "Take text or a `FileTree`; runtime reads the disk",
    },
];

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        findings.extend(unfinished(file));
        if file.is_rust() && file.room().is_some() {
            for rule in &RULES {
                findings.extend(broken(rule, file));
            }
        }
    }
    findings
}

fn broken(rule: &WordRule, file: &TreeFile) -> Vec<TidyFinding> {
    let lines: Box<dyn Iterator<Item = (usize, &str)>> = match rule.applies {
        WordRuleScope::Everywhere => Box::new(file.code_lines()),
        WordRuleScope::OutsideSpawners if !may_spawn(file) => Box::new(file.product_code_lines()),
        WordRuleScope::InPureRooms if is_pure(file) => Box::new(file.product_code_lines()),
        WordRuleScope::OutsideSpawners | WordRuleScope::InPureRooms => return Vec::new(),
    };
    lines
        .filter_map(|(number, line)| {
            let spelling = rule.spellings.iter().find(|spelling| holds(line, spelling))?;
            let problem = format!("`{spelling}` must not stand here");
            Some(TidyFinding::new(&file.path, number, problem, rule.remedy))
        })
        .collect()
}

fn is_pure(file: &TreeFile) -> bool {
    file.is_source() && file.room().is_some_and(|room| PURE_ROOMS.contains(&room))
}

fn may_spawn(file: &TreeFile) -> bool {
    ["crates/runtime/", "crates/server/", "crates/tools/src/mcp/", "crates/tools/src/mcp.rs"]
        .iter()
        .any(|place| file.path.starts_with(place))
}

/// Returns true if the spelling occurs, and not as the end of a longer word.
fn holds(line: &str, spelling: &str) -> bool {
    let starts_a_word = spelling.starts_with(is_of_word);
    line.match_indices(spelling).any(|(at, _)| !(starts_a_word && line[..at].ends_with(is_of_word)))
}

/// Finds marks of unfinished work, in comments of Rust and anywhere in a manifest.
fn unfinished(file: &TreeFile) -> Vec<TidyFinding> {
    let text = if file.is_rust() {
        &file.rust.comments
    } else if file.path.ends_with(".toml") {
        &file.text
    } else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        for (at, word) in words(line) {
            let after = &line[at + word.len()..];
            let (problem, remedy) = match word {
                "FIXME" => (
                    "the line says that something is broken",
                    "Mend it now, or write the test that shows it",
                ),
                "TODO" if !names_a_decision(after) => (
                    "unfinished work does not say what it waits for",
                    "Write `(decision NNNN)` behind the word, or finish it",
                ),
                _ => continue,
            };
            findings.push(TidyFinding::new(&file.path, number, problem, remedy));
        }
    }
    findings
}

fn names_a_decision(after: &str) -> bool {
    after.trim_start().strip_prefix("(decision ").and_then(|rest| rest.split_once(')')).is_some_and(
        |(number, _)| number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[track_caller]
    fn check_line(path: &str, line: &str, spelling: Option<&str>) {
        let expected = spelling.map(|word| format!("{path}:1: `{word}` must not stand here"));
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        fixture::check(check, &[(path, line)], &expected);
    }

    #[test]
    fn words_that_may_stand_nowhere_are_found() {
        let path = "crates/app/tests/it/main.rs";
        check_line(path, "    todo!()", Some("todo!"));
        check_line(path, "unimplemented!(\"later\")", Some("unimplemented!"));
        check_line(path, "let _ = send();", Some("let _ ="));
        check_line(path, "#[allow(dead_code)]", Some("#[allow("));
        check_line(path, "#![allow(dead_code)]", Some("#![allow("));
    }

    #[test]
    fn their_likes_are_fine() {
        let path = "crates/app/src/main.rs";
        check_line(path, "let _guard = lock();", None);
        check_line(path, "#[expect(dead_code, reason = \"soon\")]", None);
        check_line(path, "my_todo!(); let text = \"let _ = todo!()\"; // let _ =", None);
        check_line("fuzz/fuzz_targets/a.rs", "let _ = parse(text);", None);
    }

    #[test]
    fn only_some_rooms_spawn() {
        let line = "tokio::spawn(work);";
        check_line("crates/tools/src/bash.rs", line, Some("tokio::spawn"));
        check_line("crates/store/src/ledger.rs", line, Some("tokio::spawn"));
        check_line("crates/tools/src/mcp/pipe.rs", line, None);
        check_line("crates/tools/src/mcp.rs", line, None);
        check_line("crates/runtime/src/session.rs", line, None);
        check_line("crates/server/src/server.rs", line, None);
        check_line("crates/app/src/main.rs", line, Some("tokio::spawn"));
        check_line("crates/store/tests/it/main.rs", line, None);
    }

    #[test]
    fn the_deciding_rooms_do_not_ask_for_the_world() {
        let path = "crates/kernel/src/turn.rs";
        check_line(path, "let key = std::env::var(\"KEY\");", Some("env::var"));
        check_line(path, "let now = SystemTime::now();", Some("SystemTime::now"));
        check_line(path, "let now = std::time::Instant::now();", Some("Instant::now"));
        check_line(path, "use std::fs;", Some("std::fs"));
        check_line(path, "fs::read(path)", Some("fs::"));
    }

    #[test]
    fn other_rooms_and_tests_may() {
        let line = "let now = SystemTime::now(); fs::read(path); env::var(name);";
        check_line("crates/runtime/src/clock.rs", line, None);
        check_line("crates/kernel/tests/it/main.rs", line, None);
        check_line("crates/kernel/src/turn.rs", "prefs::read(my_env::variable, refs::x)", None);
        let tests = format!("#[cfg(test)]\nmod tests {{\n    {line}\n}}\n");
        check_line("crates/kernel/src/turn.rs", &tests, None);
    }

    #[test]
    fn unfinished_work_names_its_decision() {
        fixture::check(
            check,
            &[
                ("crates/app/src/a.rs", "// TODO (decision 0007): more\n// TODO(decision 0012)\n"),
                ("crates/app/src/b.rs", "let a = \"TODO\"; // TODOS are many\n// TODO: more\n"),
                ("crates/app/src/c.rs", "/* FIXME (decision 0001) */\n"),
                ("Cargo.toml", "a = 1 # TODO (decision 7)\n"),
                ("docs/a.md", "A TODO and a FIXME.\n"),
            ],
            &[
                "crates/app/src/b.rs:2: unfinished work does not say what it waits for",
                "crates/app/src/c.rs:1: the line says that something is broken",
                "Cargo.toml:1: unfinished work does not say what it waits for",
            ],
        );
    }
}
