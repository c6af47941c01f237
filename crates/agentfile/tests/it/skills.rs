//! Agent Skills: the specification, our extensions, and what is forgiven.

use crate::reading::{Given, check, given};

/// A skill in the folder `sums` with this front matter; its first line is line 2.
fn skill(front: &str) -> Given {
    given("").bytes(".agentry/skills/sums/SKILL.md", format!("---\n{front}---\nAdd.\n"))
}

/// What is wrong with it, with our extensions and by the specification, as `E0502 1:7` or `-`.
#[track_caller]
fn check_both(front: &str, extended: &str, spec: &str) {
    let found = |given: Given| {
        let (_, findings) = given.read();
        let sorted = findings.sorted();
        let words = sorted
            .iter()
            .map(|one| format!("{} {} {}:{}", one.code, one.severity, one.line, one.column));
        words.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(found(skill(front)), extended, "extended");
    assert_eq!(found(skill(front).spec()), spec, "spec");
}

#[test]
fn the_least_skill_is_a_name_and_a_description() {
    check_both("name: sums\ndescription: Adds.\n", "", "");
}

#[test]
fn each_departure_is_a_warning_here_and_an_error_by_the_specification() {
    let name = |name: &str| format!("name: {name}\ndescription: Adds.\n");
    check_both(&name("suns"), "E0501 warning 2:7", "E0501 error 2:7");
    for misformed in ["Sums", "-sums", "sums-", "su--ms", "su_ms", "su ms", "su.ms", "'sums!'"] {
        check_both(
            &name(misformed),
            "E0501 warning 2:7, E0502 warning 2:7",
            "E0501 error 2:7, E0502 error 2:7",
        );
    }
    check_both(
        &name("\"\""),
        "E0501 warning 2:7, E0502 warning 2:7",
        "E0501 error 2:7, E0502 error 2:7",
    );
}

#[test]
fn each_code_of_a_skill_at_its_place() {
    let long = "x".repeat(65);
    let front = format!(
        "name: {long}\ndescription: {}\ncompatibility: {}\nmetadata:\n  n: [1]\nallowed-tools:\n  - Read\n",
        "d".repeat(1025),
        "c".repeat(501),
    );
    skill(&front).check(
        "
        E0501 warning .agentry/skills/sums/SKILL.md:2:7
        E0503 warning .agentry/skills/sums/SKILL.md:2:7
        E0504 warning .agentry/skills/sums/SKILL.md:3:14
        E0506 warning .agentry/skills/sums/SKILL.md:4:16
        E0507 warning .agentry/skills/sums/SKILL.md:6:6
        E0509 warning .agentry/skills/sums/SKILL.md:8:3
        ",
    );
    skill("name: Sums\ndescription: ''\n").check(
        "
        E0501 warning .agentry/skills/sums/SKILL.md:2:7
        E0502 warning .agentry/skills/sums/SKILL.md:2:7
        E0505 error .agentry/skills/sums/SKILL.md:3:14
        ",
    );
    skill("name: sums\ndescription: Adds.\nversion: 1\n")
        .spec()
        .check("E0508 error .agentry/skills/sums/SKILL.md:4:1");
}

#[test]
fn a_name_has_at_most_64_characters() {
    let named = |length: usize| {
        let name = "é".repeat(length);
        given("").bytes(
            &format!(".agentry/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: Adds.\n---\n"),
        )
    };
    named(64).check("");
    let path = format!(".agentry/skills/{}/SKILL.md", "é".repeat(65));
    named(65).check(&format!("E0503 warning {path}:2:7"));
}

#[test]
fn a_description_has_1_to_1024_characters() {
    let described = |length: usize| format!("name: sums\ndescription: {}\n", "ä".repeat(length));
    check_both(&described(1), "", "");
    check_both(&described(1024), "", "");
    check_both(&described(1025), "E0504 warning 3:14", "E0504 error 3:14");
    for nothing in ["\"\"", "'  '", "", "~"] {
        let front = format!("name: sums\ndescription: {nothing}\n");
        let column = if nothing.is_empty() { 12 } else { 14 };
        let expected = format!("E0505 error 3:{column}");
        check_both(&front, &expected, &expected);
    }
    check_both("name: sums\n", "E0302 error 2:1", "E0302 error 2:1");
    check_both("name: sums\ndescription: [a]\n", "E0303 error 3:14", "E0303 error 3:14");
}

#[test]
fn names_are_compared_after_nfkc() {
    // Full-width letters and a ligature are what they stand for.
    check_both("name: ｓｕｍｓ\ndescription: Adds.\n", "", "");
    check("--- .agentry/skills/ﬁx/SKILL.md\n---\nname: fix\ndescription: Mends.\n---\n", "");
}

#[test]
fn a_missing_name_is_the_folders() {
    check_both("description: Adds.\n", "E0302 warning 2:1", "E0302 error 2:1");
    let (library, _) = skill("description: Adds.\n").read();
    assert_eq!(library.skills["sums"].name.value, "sums");
}

#[test]
fn plain_values_are_text() {
    check_both(
        "name: sums\ndescription: 12\nlicense: 2.0\nmetadata: {version: 1.0, on: true}\n",
        "",
        "",
    );
    let (library, _) = skill("name: sums\ndescription: 12\nmetadata: {version: 1.0}\n").read();
    let skill = &library.skills["sums"];
    assert_eq!(skill.description.value, "12");
    assert_eq!(skill.about["metadata"]["version"], "1.0");
}

#[test]
fn a_compatibility_note_has_1_to_500_characters() {
    let noted = |note: &str| format!("name: sums\ndescription: Adds.\ncompatibility: {note}\n");
    check_both(&noted(&"é".repeat(500)), "", "");
    check_both(&noted(&"é".repeat(501)), "E0506 warning 4:16", "E0506 error 4:16");
    check_both(&noted("''"), "E0506 warning 4:16", "E0506 error 4:16");
}

#[test]
fn metadata_maps_names_to_plain_values() {
    let with = |metadata: &str| format!("name: sums\ndescription: Adds.\nmetadata: {metadata}\n");
    check_both(&with("{a: {b: c}}"), "E0507 warning 4:15", "E0507 error 4:15");
    check_both(&with("[a]"), "E0507 warning 4:11", "E0507 error 4:11");
    check_both(&with("text"), "E0507 warning 4:11", "E0507 error 4:11");
}

#[test]
fn allowed_tools_is_one_text_with_spaces() {
    let with = |tools: &str| format!("name: sums\ndescription: Adds.\nallowed-tools: {tools}\n");
    check_both(&with("Bash(git:*) Read"), "", "");
    check_both(&with("[Read]"), "E0509 warning 4:16", "E0509 error 4:16");
    let words = |tools: &str| skill(&with(tools)).read().0.skills["sums"].allowed_tools.join("|");
    assert_eq!(words("Bash(git add:*)  Read"), "Bash(git add:*)|Read");
    assert_eq!(words("[\"Bash(jq:*)\", Read]"), "Bash(jq:*)|Read");
}

#[test]
fn a_field_of_ours_is_not_in_the_specification_and_an_unknown_one_is_nowhere() {
    check_both("name: sums\ndescription: Adds.\ntools: [Read]\n", "", "E0508 error 4:1");
    check_both(
        "name: sums\ndescription: Adds.\nversion: 1\n",
        "E0301 warning 4:1",
        "E0508 error 4:1",
    );
}

#[test]
fn a_colon_in_a_plain_value_is_forgiven_here_and_broken_yaml_by_the_specification() {
    skill("name: sums\ndescription: Adds: quickly\n")
        .check("E0212 warning .agentry/skills/sums/SKILL.md:3:14");
    check_both(
        "name: sums\ndescription: Use when: the user adds\nlicense: Mine: all\n",
        "E0212 warning 3:14, E0212 warning 4:10",
        "E0201 error 3:22",
    );
    let (library, _) = skill("name: sums\ndescription: Adds: é\n  and more\n").read();
    assert_eq!(library.skills["sums"].description.value, "Adds: é and more");
}

#[test]
fn yaml_that_is_broken_otherwise_is_not_forgiven() {
    check_both("name: sums\ndescription: [a\n", "E0201 error 3:14", "E0201 error 3:14");
    check_both(
        "name: sums\ndescription: a: b\nlicense: [a\n",
        "E0201 error 3:15",
        "E0201 error 3:15",
    );
}

#[test]
fn a_long_body_is_named_at_its_beginning() {
    let with_lines = |lines: usize| {
        let body = "Add.\n".repeat(lines);
        given("").bytes(
            ".agentry/skills/sums/SKILL.md",
            format!("---\nname: sums\ndescription: Adds.\n---\n\n{body}"),
        )
    };
    with_lines(500).check("");
    with_lines(501).check("E0510 warning .agentry/skills/sums/SKILL.md:6:1");
}

#[test]
fn a_skill_refers_to_what_exists() {
    skill(
        "name: sums
description: Adds.
tools: [inherit, Raed]
skills: [times]
tasks: [tally]
tool_approvals: {rules: [{tool: Write, allow: true, when: {p: {matches: '['}}}]}
",
    )
    .check(
        "
        E0401 error .agentry/skills/sums/SKILL.md:4:18
        E0421 error .agentry/skills/sums/SKILL.md:5:10
        E0422 error .agentry/skills/sums/SKILL.md:6:9
        E0442 error .agentry/skills/sums/SKILL.md:7:73
        ",
    );
}

#[test]
fn a_skill_whose_limits_cannot_be_read_does_not_load_without_them() {
    // `tools: Read` was taken out and the skill loaded with every tool.
    let (library, _) = skill("name: sums\ndescription: Adds.\ntools: Read\n").read();
    assert!(library.skills.is_empty());
    assert_eq!(library.broken_skills["sums"], ".agentry/skills/sums/SKILL.md");
    skill("name: sums\ndescription: Adds.\ntools: Read\n")
        .check("E0304 error .agentry/skills/sums/SKILL.md:4:8");
}

#[test]
fn a_skill_is_found_under_either_spelling_and_in_every_root() {
    let (library, findings) = given(
        "
        --- .agentry/skills/a/skill.md
        ---
        name: a
        description: x
        ---
        --- .claude/skills/b/SKILL.md
        ---
        name: b
        description: x
        ---
        --- .agents/skills/c/SKILL.md
        ---
        name: c
        description: x
        ---
        --- tools/d/SKILL.md
        ---
        name: d
        description: x
        ---
        ",
    )
    .home("--- .claude/skills/e/SKILL.md\n---\nname: e\ndescription: x\n---\n")
    .skill_root("more", "--- f/g/SKILL.md\n---\nname: g\ndescription: x\n---\n")
    .read();
    assert!(findings.is_empty());
    assert_eq!(library.skills.keys().collect::<Vec<_>>(), ["a", "b", "c", "d", "e", "f/g"]);
}

#[test]
fn what_lies_beside_a_skill_is_listed_and_hashed() {
    let (library, _) = skill("name: sums\ndescription: Adds.\n")
        .bytes(".agentry/skills/sums/scripts/add.py", "1 + 1")
        .read();
    let (other, _) = skill("name: sums\ndescription: Adds.\n").read();
    assert_eq!(library.skills["sums"].resources, ["scripts/add.py"]);
    assert_ne!(library.skills["sums"].hash, other.skills["sums"].hash);
}
