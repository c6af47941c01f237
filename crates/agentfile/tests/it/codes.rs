//! Every code has a fixture in this suite that yields it.

use std::collections::BTreeSet;

use agentry_agentfile::diagnostic_code::DiagnosticCode;
use regex::Regex;

/// Codes that need a real directory, which the tests of `app` have, and those that the kernel finds.
const ELSEWHERE: [&str; 6] = ["E0108", "E1012", "E1013", "E1014", "E1015", "E1016"];

const SUITE: [(&str, &str); 21] = [
    ("access", include_str!("access.rs")),
    ("agent_program", include_str!("agent_program.rs")),
    ("channels", include_str!("channels.rs")),
    ("codes", ""),
    ("config", include_str!("config.rs")),
    ("custom_tools", include_str!("custom_tools.rs")),
    ("documented", include_str!("documented.rs")),
    ("event_hooks", include_str!("event_hooks.rs")),
    ("examples", include_str!("examples.rs")),
    ("hooks", include_str!("hooks.rs")),
    ("hostile", include_str!("hostile.rs")),
    ("independence", include_str!("independence.rs")),
    ("packs", include_str!("packs.rs")),
    ("policies", include_str!("policies.rs")),
    ("properties", include_str!("properties.rs")),
    ("sandbox", include_str!("sandbox.rs")),
    ("skills", include_str!("skills.rs")),
    ("tasks", include_str!("tasks.rs")),
    ("templates", include_str!("templates.rs")),
    ("texts", include_str!("texts.rs")),
    ("trust", include_str!("trust.rs")),
];

#[test]
fn every_code_is_expected_somewhere_in_this_suite() {
    // `check` is exact, so what a test expects was really found.
    let expectation = Regex::new(r"(E\d{4}) (?:error|warning|note) .+?:\d+:\d+").unwrap();
    let found = SUITE.iter().flat_map(|(_, text)| expectation.captures_iter(text));
    let expected: BTreeSet<String> = found.map(|one| one[1].to_owned()).collect();
    let all = DiagnosticCode::ALL.iter().map(|code| code.as_str());
    let untested: Vec<&str> =
        all.filter(|code| !expected.contains(*code) && !ELSEWHERE.contains(code)).collect();
    assert_eq!(untested, [""; 0], "each of these needs a fixture");
}

#[test]
fn the_suite_above_is_the_whole_suite() {
    let declared = include_str!("main.rs").lines().filter_map(|line| line.strip_prefix("mod "));
    let declared: Vec<&str> =
        declared.map(|name| name.trim_end_matches(';')).filter(|name| *name != "reading").collect();
    assert_eq!(declared, SUITE.map(|(name, _)| name));
}

#[test]
fn a_code_is_found_by_its_printed_form() {
    for code in DiagnosticCode::ALL {
        assert_eq!(DiagnosticCode::parse(&code.as_str().to_lowercase()), Some(*code));
        assert!(code.title().ends_with('.'), "{code}");
    }
    assert_eq!(DiagnosticCode::parse("E9999"), None);
}
