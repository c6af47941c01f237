//! Hostile input: a diagnostic with a place, soon, and never a panic.

use std::fmt::Write;

use crate::reading::{Given, given};

fn yml(text: impl Into<Vec<u8>>) -> Given {
    given("--- AGENT.md\nWork.").bytes("agent.yml", text)
}

/// More is wrong than is kept; this is how the list begins, and how many findings are not shown.
#[track_caller]
fn check_many(given: &Given, first: &str, not_shown: usize) {
    let (_, findings) = given.read();
    assert_eq!(crate::reading::lines(&findings)[0], first);
    assert_eq!(findings.not_shown().map(|(_, more)| more).sum::<usize>(), not_shown);
    assert!(findings.len() <= 200);
}

#[test]
fn a_bomb_of_aliases_is_not_expanded() {
    let mut text = String::from("name: a\nmetadata:\n  a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (name, before) in ["b", "c", "d", "e", "f", "g", "h", "i"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f", "g", "h"])
    {
        let aliases = vec![format!("*{before}"); 9].join(", ");
        writeln!(text, "  {name}: &{name} [{aliases}]").unwrap();
    }
    let (_, findings) = yml(text).read();
    let lines = crate::reading::lines(&findings);
    assert_eq!(lines.len(), 81);
    assert!(lines.iter().all(|line| line.starts_with("E0202 error agent.yml:")), "{lines:?}");
    assert_eq!(lines[0], "E0202 error agent.yml:3:6");
}

#[test]
fn nesting_without_end_is_cut_off() {
    yml(format!("name: {}", "[".repeat(20_000))).check("E0205 error agent.yml:1:39");
    yml(format!("name: {}", "{a: ".repeat(20_000))).check("E0205 error agent.yml:1:131");
    yml(format!("name: {}{}", "[".repeat(20_000), "]".repeat(20_000)))
        .check("E0205 error agent.yml:1:39");
    yml(format!("name:\n  {}x", "- ".repeat(20_000))).check("E0205 error agent.yml:2:65");
    yml(format!("{}x", "? ".repeat(20_000))).check("E0205 error agent.yml:1:65");
    let depth_32 = format!("name: a\nmetadata: {{x: {}{}}}\n", "[".repeat(30), "]".repeat(30));
    yml(depth_32).check("");
}

#[test]
fn values_without_end_are_cut_off() {
    let items = "x, ".repeat(60_000);
    yml(format!("name: a\nmetadata: {{x: [{items}]}}\n")).check("E0206 error agent.yml:2:150004");
    given("--- context/system_prompt.md\nWork.")
        .bytes("context/soul.json", format!("{{\"soul\": [{}0]}}", "0,".repeat(60_000)))
        .check("E0206 error context/soul.json:1:100007");
    given("")
        .bytes("agentry.toml", format!("[agent.args]\nx = [{}0]", "0,".repeat(60_000)))
        .check("E0206 error agentry.toml:2:100000");
}

#[test]
fn json_that_nests_too_deep_is_cut_off() {
    for depth in [33, 100, 200, 600, 100_000] {
        given("--- context/system_prompt.md\nWork.")
            .bytes("context/soul.json", "[".repeat(depth) + &"]".repeat(depth))
            .check("E0205 error context/soul.json:1:33");
    }
    given("")
        .bytes(".mcp.json", format!("{{\"x\": \"{}\\\"{}\"}}", "[".repeat(99), "{".repeat(99)))
        .check("E0302 warning .mcp.json:1:1");
}

#[test]
fn toml_that_nests_too_deep_is_cut_off() {
    given("")
        .bytes("agentry.toml", format!("agent.args.x = {}", "[".repeat(20_000)))
        .check("E0211 error agentry.toml:1:96\nE0211 error agentry.toml:1:20016");
    given("")
        .bytes("agentry.toml", format!("agent.args{} = 1", ".a".repeat(20_000)))
        .check("E0211 error agentry.toml:1:1");
    given("")
        .bytes("agentry.toml", format!("[agent.args{}]\n", ".a".repeat(20_000)))
        .check("E0211 error agentry.toml:1:1");
    given("")
        .bytes("agentry.toml", format!("agent.args{} = 1", ".a".repeat(40)))
        .check("E0205 error agentry.toml:1:72");
}

#[test]
fn garbage_is_reported_where_it_begins() {
    yml("\u{feff}\u{feff}name: a\n").check("");
    yml("@\n").check("E0201 error agent.yml:1:1");
    yml("name: a\n\u{7}\n").check("E0201 error agent.yml:2:1");
    yml("name: \"a\n").check("E0201 error agent.yml:2:1");
    given("").bytes("agentry.toml", "= 1").check("E0211 error agentry.toml:1:1");
    given("").bytes("agentry.toml", "a = \"\\q\"").check("E0211 error agentry.toml:1:7");
    given("").bytes(".mcp.json", "\u{feff}\u{feff}{}").check("E0210 error .mcp.json:1:1");
}

#[test]
fn a_name_of_a_megabyte_is_reported_in_few_words() {
    let long = "x".repeat(1_000_000);
    let (_, findings) = yml(format!("name: a\n{long}: 1\ntools: {{allow: [b]}}\n")).read();
    assert_eq!(crate::reading::lines(&findings)[0], "E0201 error agent.yml:2:1");
    for one in findings.sorted() {
        assert!(one.message.len() < 3_000, "{}", one.message.len());
        assert!(one.help.as_deref().unwrap_or_default().len() < 3_000);
    }
    yml(format!("name: a\ntools: {{allow: [\"{long}\"]}}\n")).check("E0401 error agent.yml:2:17");
    yml(format!("name: {long}\n")).check("");
}

#[test]
fn a_thousand_of_the_same_defect_are_counted_and_a_hundred_kept() {
    let fields: String = (0..20_000).map(|at| format!("field{at}: 1\n")).collect();
    check_many(&yml(format!("name: a\n{fields}")), "E0301 error agent.yml:2:1", 19_900);
    let pairs: String = (0..20_000).map(|_| "k: 1, ".to_owned()).collect();
    check_many(
        &yml(format!("name: a\nmetadata: {{{pairs}}}\n")),
        "E0204 error agent.yml:2:18",
        19_899,
    );
}

#[test]
fn long_lists_of_names_on_one_line_are_read_soon() {
    let names =
        |prefix: &str| -> String { (0..40_000).map(|at| format!("{prefix}{at}, ")).collect() };
    check_many(
        &yml(format!("name: a\ntools: {{allow: [{}]}}\n", names("tool"))),
        "E0401 error agent.yml:2:17",
        39_900,
    );
    check_many(
        &yml(format!("name: a\ntools: {{custom: [{}]}}\n", names("tool"))),
        "E0403 error agent.yml:2:18",
        39_900,
    );
    yml(format!("name: a\nmodel: {{prefer: [{}]}}\n", names("m"))).check("");
    let front = format!("---\nname: a\ntools: [{}]\nskills: []\n---\n", names("fs/t"));
    given("--- .mcp.json\n{\"mcpServers\": {\"fs\": {\"command\": \"x\"}}}")
        .bytes("AGENT.md", front)
        .check("");
}

#[test]
fn long_lists_of_rules_are_read_soon() {
    let rules: String = (0..4_500)
        .map(|at| format!("    - {{tool: t{at}, allow: true, when: {{a: {{matches: '('}}}}}}\n"))
        .collect();
    let front = format!("---\nname: a\ntool_approvals:\n  rules:\n{rules}---\n");
    check_many(&given("").bytes("AGENT.md", front), "E0441 error AGENT.md:5:14", 4_601);
}

#[test]
fn costly_regular_expressions_are_compiled_soon() {
    let rules: String = (0..4_500)
        .map(|at| {
            format!(
                "    - {{tool: bash, allow: true, when: {{a: {{matches: '\\w{{99}}{at}'}}}}}}\n"
            )
        })
        .collect();
    let front = format!("---\nname: a\ntool_approvals:\n  rules:\n{rules}---\n");
    check_many(&given("").bytes("AGENT.md", front), "E0442 error AGENT.md:5:53", 101);
}

#[test]
fn a_template_of_a_megabyte_on_one_line_is_read_soon() {
    let text = "{{a.b}}".repeat(140_000);
    check_many(
        &given("--- agent.yml\nname: a\n--- AGENT.md\nWork.")
            .bytes("prompts/system.md.liquid", text),
        "E0702 warning prompts/system.md.liquid:1:3",
        139_900,
    );
    let open = "{% raw %}".repeat(100_000);
    given("--- agent.yml\nname: a\n--- AGENT.md\nWork.")
        .bytes("prompts/system.md.liquid", open)
        .check("");
}

#[test]
fn a_thousand_forgiven_lines_are_read_soon() {
    let lines: String = (0..20_000).map(|at| format!("f{at}: a: b\n")).collect();
    let given = given("").bytes("SKILL.md", format!("---\n{lines}---\n"));
    // The one error is kept, whatever number of warnings came before it.
    check_many(&given, "E0302 error SKILL.md:2:1", 39_902);
}

#[test]
fn a_task_full_of_uses_is_read_soon() {
    let inputs: String =
        (0..9_000).map(|at| format!("  - {{name: i{at}, description: x}}\n")).collect();
    let uses: String = (0..40_000).map(|at| format!("{{{{input.j{at}}}}}")).collect();
    let given = given("").bytes("TASK.md", format!("---\nname: t\ninputs:\n{inputs}---\n{uses}\n"));
    check_many(&given, "E0607 error TASK.md:9005:9", 39_900);
}

#[test]
fn settings_with_thousands_of_providers_are_read_soon() {
    let providers: String =
        (0..12_000).map(|at| format!("[providers.p{at}]\npriority = 1\n")).collect();
    check_many(
        &given("").bytes("agentry.toml", providers),
        "E0901 warning agentry.toml:2:12",
        11_900,
    );
}
