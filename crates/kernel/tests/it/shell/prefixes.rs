//! What a rule for the beginning of a command lets run unasked: two lists of commands, one of each kind.

use super::harmless::is_allowed;

fn lines(text: &'static str) -> Vec<(Vec<&'static str>, String)> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parts = lines.map(|line| line.split_once('\t').expect("a tab after the rules"));
    parts.map(|(rules, command)| (rules.split(';').collect(), command.replace('⏎', "\n"))).collect()
}

#[test]
fn no_command_that_executes_or_writes_runs_unasked_under_a_rule_for_its_beginning() {
    let corpus = lines(include_str!("corpus/unsafe.txt"));
    assert!(corpus.len() >= 1_000, "{} commands", corpus.len());
    let wrong: Vec<String> = corpus
        .iter()
        .filter_map(|(rules, command)| {
            let (by_rule, by_prefix) = is_allowed(rules, command);
            (by_rule || by_prefix)
                .then(|| format!("{by_rule:5} {by_prefix:5} {}\t{command:?}", rules.join(";")))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), corpus.len(), wrong.join("\n"));
}

#[test]
fn a_harmless_command_runs_unasked_under_a_rule_for_its_beginning() {
    let corpus = lines(include_str!("corpus/harmless.txt"));
    assert!(corpus.len() >= 400, "{} commands", corpus.len());
    let wrong: Vec<String> = corpus
        .iter()
        .filter(|(rules, command)| !is_allowed(rules, command).0)
        .map(|(rules, command)| format!("{}\t{command:?}", rules.join(";")))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), corpus.len(), wrong.join("\n"));
}
