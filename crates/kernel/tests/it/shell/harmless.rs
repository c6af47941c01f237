//! The table of harmless options: every row by its own examples, both ways of allowing by a beginning, and what holds
//! for any mixture of options.

use agentry_agentfile::approval_rule::ApprovalRule;
use agentry_kernel::approval::decide;
use agentry_kernel::shell::harmless::{HarmlessRow, Operands, OptionStyle, rows};
use agentry_kernel::shell::{AllowlistMatch, check_allowlist, read};
use agentry_protocol::verdict::Verdict;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

/// Rules that allow commands with these beginnings.
fn rules(starts: &[&str]) -> Vec<ApprovalRule> {
    let one = |(at, start): (usize, &&str)| {
        json!({
            "subject": "bash", "allow": true, "when": {"command": {"startsWith": start}},
            "origin": format!("AGENT.md:{}:1", at + 1),
        })
    };
    let list: Vec<_> = starts.iter().enumerate().map(one).collect();
    serde_json::from_value(json!(list)).expect("rules")
}

/// Whether the commands with these beginnings let a text run unasked: by approval rules, and by a list of prefixes.
pub(super) fn is_allowed(starts: &[&str], command: &str) -> (bool, bool) {
    let rules = rules(starts);
    let opinion = decide(&rules, "bash", &json!({"command": command}));
    let words: Vec<&str> = starts.iter().map(|start| start.trim()).collect();
    (
        opinion.verdict == Verdict::Allow,
        check_allowlist(&read(command), &words) == AllowlistMatch::Inside,
    )
}

/// The name of a row that an example is about.
fn name_of(row: &HarmlessRow, example: &str) -> &'static str {
    let fits = |name: &&&'static str| {
        example.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    row.names.iter().filter(fits).max_by_key(|name| name.len()).copied().unwrap_or(row.names[0])
}

#[test]
fn every_row_has_examples_that_come_out_as_written() {
    let mut wrong = Vec::new();
    for row in rows() {
        assert!(!row.allowed.is_empty() && !row.asked.is_empty(), "{:?}", row.names);
        let examples = row.allowed.iter().map(|one| (one, true));
        for (example, expected) in examples.chain(row.asked.iter().map(|one| (one, false))) {
            // Subcommands are tried under the rule for the whole program.
            let program = example.split(' ').next().expect("a program");
            let named = name_of(row, example);
            let is_start = |start: &&str| format!("{example} ").starts_with(&format!("{start} "));
            for start in [program, named].into_iter().filter(is_start) {
                if is_allowed(&[start], example) != (expected, expected) {
                    wrong.push(format!("{start}: {example}: {:?}", is_allowed(&[start], example)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_option_of_the_table_is_allowed_by_itself() {
    let mut wrong = Vec::new();
    for row in rows().filter(|row| row.needs.is_empty()) {
        for (option, command) in options(row) {
            if is_allowed(&[row.names[0]], &command) != (true, true) {
                wrong.push(format!("{option}: {command}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn nothing_shortened_is_in_the_table() {
    let mut wrong = Vec::new();
    for row in rows() {
        let listed: Vec<&str> = row.long.split_whitespace().collect();
        let bare = |entry: &str| entry.trim_end_matches(['[', '=', ']']).to_owned();
        for name in listed.iter().map(|entry| bare(entry)).filter(|name| name.len() > 4) {
            let short = &name[..name.len() - 1];
            let command = format!("{} {short}", row.names[0]);
            let is_listed = listed.iter().any(|entry| bare(entry) == short);
            if short.starts_with("--") && !is_listed && is_allowed(&[row.names[0]], &command).0 {
                wrong.push(command);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_option_or_subcommand_that_nobody_knows_is_asked_under_every_name() {
    for name in rows().flat_map(|row| row.names) {
        for unknown in
            ["--frobnicate", "--frobnicate=x", "-\u{e4}", "--help --frobnicate", "$X", "*"]
        {
            let command = format!("{name} {unknown}");
            assert!(!is_allowed(&[name], &command).0, "{command}");
            assert!(!is_allowed(&[name], &command).1, "{command}");
        }
    }
}

#[test]
fn no_name_has_two_rows() {
    let mut names: Vec<&str> = rows().flat_map(|row| row.names).copied().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Each option of a row with a command that has only it.
fn options(row: &HarmlessRow) -> Vec<(String, String)> {
    let name = row.names[0];
    let mut found = Vec::new();
    // What follows these is a command of its own.
    let runs = ["-exec", "-execdir", "-ok", "-okdir"];
    for entry in row.long.split_whitespace().filter(|entry| !runs.contains(entry)) {
        let bare = entry.trim_end_matches(['[', '=', ']']);
        let value = if entry.ends_with(']') || !entry.ends_with('=') { "" } else { "=1" };
        found.push((entry.to_owned(), format!("{name} {bare}{value}")));
    }
    let mut letters = row.short.chars().peekable();
    while let Some(letter) = letters.next() {
        let letter = if letter == '#' { '3' } else { letter };
        let takes = std::iter::from_fn(|| letters.next_if_eq(&':')).count();
        let value = if takes > 0 { "1" } else { "" };
        if row.style != OptionStyle::Words || takes > 0 {
            found.push((letter.to_string(), format!("{name} -{letter}{value}")));
        }
    }
    found
}

/// Words that no row has as an option.
const STRANGE: &[&str] = &[
    "--frob",
    "--frob=x",
    "--o=F",
    "-\u{e4}",
    "-\u{fc}x",
    "--exec-frob",
    "-$X",
    "$X",
    "*",
    "--=x",
];

fn table() -> Vec<&'static HarmlessRow> {
    let has_options = |row: &&'static HarmlessRow| !row.long.is_empty() && row.needs.is_empty();
    rows().filter(has_options).filter(|row| row.operands != Operands::Program).collect()
}

/// Every option of a row together with every example that is asked.
#[test]
fn an_example_that_is_asked_is_asked_behind_every_option() {
    for row in table() {
        let name = row.names[0];
        let asked = row.asked.iter().filter_map(|one| one.strip_prefix(name)?.strip_prefix(' '));
        // Letters without a dash are options only as the first word.
        let asked = asked.filter(|one| row.style != OptionStyle::Bundle || one.starts_with('-'));
        for example in asked {
            for (_, command) in options(row) {
                let command = format!("{command} {example}");
                assert_eq!(is_allowed(&[name], &command), (false, false), "{command}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn a_mixture_with_a_strange_option_is_asked(
        row in select(table()), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        strange in select(STRANGE), at in any::<prop::sample::Index>(),
    ) {
        let name = row.names[0];
        let all: Vec<String> = options(row).into_iter().map(|(_, command)| command[name.len() + 1..].to_owned()).collect();
        let mut words: Vec<String> = picks.iter().map(|pick| all[pick.index(all.len())].clone()).collect();
        let harmless = format!("{name} {}", words.join(" "));
        prop_assert_eq!(is_allowed(&[name], &harmless), (true, true), "{}", harmless);
        words.insert(at.index(words.len() + 1), (*strange).to_owned());
        let command = format!("{name} {}", words.join(" "));
        prop_assert_eq!(is_allowed(&[name], &command), (false, false), "{}", command);
    }

    #[test]
    fn one_option_more_never_makes_an_asked_command_allowed(
        row in select(rows().collect::<Vec<_>>()), example in any::<prop::sample::Index>(),
        more in "-{1,2}[a-zA-Z]{1,6}(=[a-z]{0,3})?",
    ) {
        let command = row.asked[example.index(row.asked.len())];
        let name = name_of(row, command);
        let more = format!("{command} {more}");
        prop_assert_eq!(is_allowed(&[name], &more), (false, false), "{}", more);
    }
}
