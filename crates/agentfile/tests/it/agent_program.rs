//! Agent programs: `agent.yml` and what stands beside it.

use crate::reading::{agent, check, check_clean, given};

/// An agent program with this `agent.yml`.
#[track_caller]
fn check_yml(yml: &str, expected: &str) {
    given("--- AGENT.md\nWork.").bytes("agent.yml", yml).check(expected);
}

#[test]
fn a_field_that_is_not_known_is_an_error() {
    check_yml("name: a\ncapabilites:\n  self_modify: true\n", "E0301 error agent.yml:2:1");
    check_yml("name: a\nmodel: {defualt: x1}\n", "E0301 error agent.yml:2:9");
}

#[test]
fn a_required_field_is_missed_at_the_beginning_of_the_map() {
    check_yml("description: x\n", "E0302 error agent.yml:1:1");
    check_yml("# comment\n\n\ndescription: x\n", "E0302 error agent.yml:4:1");
    check_yml("{}\n", "E0302 error agent.yml:1:1");
}

#[test]
fn a_value_of_the_wrong_type_is_found_at_the_value() {
    check_yml("name: 12\n", "E0303 error agent.yml:1:7");
    check_yml("name: a\nmodel: claude-4\n", "E0303 error agent.yml:2:8");
    check_yml("name: a\ntools:\n  allow: bash\n", "E0303 error agent.yml:3:10");
    check_yml("name: a\ntools:\n  allow: [bash, 3]\n", "E0303 error agent.yml:3:17");
    check_yml("name: a\ncapabilities: {self_modify: yes}\n", "E0303 error agent.yml:2:29");
    check_yml("name: a\nmetadata: x\n", "E0303 error agent.yml:2:11");
}

#[test]
fn a_value_out_of_its_set_or_range_is_found_at_the_value() {
    check_yml("name: a\npersonas: {router: random}\n", "E0304 error agent.yml:2:20");
    check_yml("name: \"\"\n", "E0305 error agent.yml:1:7");
}

#[test]
fn defects_of_one_file_are_all_found() {
    check_yml(
        "nam: a\nmodel: [x]\ntools: {allow: [bash, bsh]}\nhooks: {before_inference: 1}\n",
        "
        E0301 error agent.yml:1:1
        E0302 error agent.yml:1:1
        E0303 error agent.yml:2:8
        E0401 error agent.yml:3:23
        E0303 error agent.yml:4:27
        ",
    );
}

#[test]
fn what_depends_on_a_value_that_was_taken_out_is_not_reported_too() {
    check(
        "
        --- agent.yml
        name: a
        tools: {custom: fortune}
        personas: {available: coder}
        hooks: {before_inference: always}
        --- AGENT.md
        Work.
        --- tools/fortune.yml
        name: fortune
        description: x
        --- personas/coder/SOUL.md
        Terse.
        --- hooks/before_inference +x
        #!/bin/sh
        ",
        "
        E0303 error agent.yml:2:17
        E0303 error agent.yml:3:23
        E0303 error agent.yml:4:27
        ",
    );
}

#[test]
fn a_model_is_given_by_its_full_name() {
    check_yml(
        "name: a\nmodel:\n  default: gpt-4.1\n  prefer:\n    - claude\n    - gpt-4.1\n",
        "E0451 warning agent.yml:5:7",
    );
    check_yml("name: a\nmodel: {default: claude}\n", "E0451 warning agent.yml:2:18");
}

#[test]
fn models_are_tried_in_order_preferred_then_default_then_the_settings() {
    let agent = agent(
        "
        --- agent.yml
        name: a
        model: {default: m-2, prefer: [m-3, m-2, m-1]}
        --- AGENT.md
        ---
        allowed_models: [m-9]
        temperature: 1
        max_tokens: 1e3
        ---
        Work.
        --- agentry.toml
        [agent]
        model = \"m-0\"
        ",
        "agent",
    );
    let candidates: Vec<String> = agent
        .models
        .candidates
        .iter()
        .map(|model| format!("{} {}", model.value, model.origin))
        .collect();
    assert_eq!(
        candidates,
        ["m-3 agent.yml:2:32", "m-2 agent.yml:2:37", "m-1 agent.yml:2:42", "m-0 agentry.toml:2:9"]
    );
    assert_eq!(agent.models.allowed[0].value, "m-9");
    assert_eq!(agent.models.max_tokens.unwrap().value, 1000);
}

#[test]
fn a_persona_must_be_there_and_say_something() {
    check(
        "
        --- agent.yml
        name: a
        personas:
          default: writr
          available: [coder, writer, coder, ../x, empty]
        --- AGENT.md
        Work.
        --- personas/coder/SOUL.md
        Terse.
        --- personas/empty/notes.txt
        x
        --- personas/idle/SOUL.md
        x
        ",
        "
        E0431 error agent.yml:3:12
        E0431 error agent.yml:4:22
        E0411 warning agent.yml:4:30
        E0431 error agent.yml:4:37
        E0433 error agent.yml:4:43
        E0432 warning personas/idle:1:1
        ",
    );
}

#[test]
fn a_null_persona_is_the_root_soul() {
    let agent = agent(
        "
        --- agent.yml
        name: a
        personas: {default: null, available: [coder]}
        --- AGENT.md
        Work.
        --- SOUL.md
        Warm.
        --- personas/coder/system.md.liquid
        Code for {{ user.name }}.
        ",
        "agent",
    );
    assert!(agent.personas.default.is_none());
    assert!(agent.personas.available[0].soul.is_none());
    assert_eq!(agent.texts.soul.unwrap().value, "Warm.");
}

#[test]
fn a_hook_that_is_on_must_be_able_to_run() {
    check(
        "
        --- agent.yml
        name: a
        hooks:
          on_conversation_start: true
          before_inference: true
        --- AGENT.md
        Work.
        --- hooks/before_inference
        #!/bin/sh
        --- hooks/after_tool_call +x
        #!/bin/sh
        --- hooks/before_inferense +x
        #!/bin/sh
        --- hooks/lib.py
        # shared
        ",
        "
        E0434 error agent.yml:3:26
        E0435 error agent.yml:4:21
        E0436 warning hooks/after_tool_call:1:1
        E0436 warning hooks/before_inferense:1:1
        ",
    );
}

#[test]
fn a_hook_that_is_off_may_be_anything() {
    check_clean(
        "
        --- agent.yml
        name: a
        hooks: {before_inference: false, after_tool_call: false}
        --- AGENT.md
        Work.
        --- hooks/before_inference
        #!/bin/sh
        ",
    );
}

#[test]
fn facts_are_a_map_and_the_lorebook_is_anything() {
    let rest = "
        --- agent.yml
        name: a
        --- AGENT.md
        Work.
    ";
    given(rest).bytes("data/facts.yml", "- a\n").check("E0209 error data/facts.yml:1:1");
    given(rest).bytes("data/facts.yml", "# none yet\n").check("");
    given(rest).bytes("data/lorebook.yml", "- a\n- {b: c}\n").check("");
    given(rest).bytes("data/lorebook.yml", "a: *b\n").check("E0202 error data/lorebook.yml:1:4");
}

#[test]
fn a_page_of_the_diary_is_named_by_its_day() {
    check(
        "
        --- agent.yml
        name: a
        --- AGENT.md
        Work.
        --- memory/2026-01-31.md
        x
        --- memory/2026-13-01.md
        x
        --- memory/notes.md
        x
        --- memory/README.md
        x
        ",
        "
        E0802 warning memory/2026-13-01.md:1:1
        E0802 warning memory/notes.md:1:1
        ",
    );
}

#[test]
fn the_user_is_named_by_text() {
    let of =
        |user: &str| given("--- agent.yml\nname: a\n--- AGENT.md\nWork.").bytes("USER.md", user);
    of("---\nname: 12\n---\nTall.\n").check("E0303 error USER.md:2:7");
    of("---\n- Ada\n---\nTall.\n").check("E0209 error USER.md:2:1");
    let agent = of("---\nname: Ada\n---\nTall.\n").agent("agent");
    assert_eq!(agent.texts.user_name.unwrap().origin.to_string(), "USER.md:2:7");
    assert_eq!(agent.texts.user.unwrap().value, "Tall.");
}

#[test]
fn what_both_files_speak_of_they_must_agree_on() {
    check(
        "
        --- agent.yml
        name: a
        description: one
        model: {default: m-1}
        tools: {allow: [bash]}
        --- AGENT.md
        ---
        name: b
        description: one
        model: m-1
        tools: [bash]
        ---
        Work.
        ",
        "
        E0426 error AGENT.md:2:7
        E0426 error AGENT.md:4:8
        E0426 error AGENT.md:5:8
        ",
    );
}

#[test]
fn rules_are_for_the_tools_that_agent_yml_gives() {
    check(
        "
        --- agent.yml
        name: a
        tools: {allow: [Read, web_search], custom: [fortune]}
        --- AGENT.md
        ---
        tool_approvals:
          rules:
            - {tool: read_file, allow: true}
            - {tool: fortune, allow: true}
            - {tool: WebSearch, allow: true}
            - {tool: bash, allow: true}
        ---
        Work.
        --- tools/fortune.yml
        name: fortune
        description: x
        --- tools/fortune +x
        #!/bin/sh
        ",
        "
        E0441 error AGENT.md:7:14
        E0410 note agent.yml:2:23
        ",
    );
}

#[test]
fn a_program_inherits_only_what_its_front_matter_says() {
    let toolset = |front: &str| {
        given("--- agent.yml\nname: a")
            .bytes("AGENT.md", format!("---\n{front}\n---\nWork.\n"))
            .toolset()
    };
    assert_eq!(toolset("temperature: 1"), "");
    assert_eq!(toolset("tools: []"), "");
    assert_eq!(toolset("tools: [Bash]"), "bash");
    assert!(toolset("tools: inherit").starts_with("read_file write_file"));
    assert!(toolset("tools: [inherit]").contains("web_fetch"));
}

#[test]
fn capabilities_bring_their_tools_and_nothing_else_does() {
    let toolset = |yml: &str| given("--- AGENT.md\nWork.").bytes("agent.yml", yml).toolset();
    assert_eq!(toolset("name: a\ncapabilities: {spawn_subagents: true}\n"), "delegate");
    assert!(toolset("name: a\ncapabilities: {self_modify: true}\n").contains("agent_commit"));
    check_yml(
        "name: a\ntools: {allow: [agent_commit, run_shortcut]}\n",
        "
        E0410 note agent.yml:2:17
        E0410 note agent.yml:2:31
        ",
    );
}

#[test]
fn an_agents_own_skills_may_name_its_own_tools() {
    check_clean(
        "
        --- agent.yml
        name: a
        tools: {custom: [fortune]}
        --- AGENT.md
        Work.
        --- tools/fortune.yml
        name: fortune
        description: x
        --- tools/fortune +x
        #!/bin/sh
        --- skills/stars/SKILL.md
        ---
        name: stars
        description: Reads stars.
        tools: [fortune]
        ---
        Look up.
        ",
    );
}

#[test]
fn two_skills_of_one_agent_cannot_share_an_id() {
    check(
        "
        --- agent.yml
        name: a
        --- AGENT.md
        Work.
        --- skills/stars.md
        Look up.
        --- skills/stars/SKILL.md
        ---
        name: stars
        description: Reads stars.
        ---
        Look up.
        ",
        "E0424 warning skills/stars/SKILL.md:1:1",
    );
}

#[test]
fn a_skill_that_is_one_file_takes_its_words_from_head_or_body() {
    let (library, _) = given(
        "
        --- agent.yml
        name: a
        --- AGENT.md
        Work.
        --- skills/plain.md
        # Plain

        Reads the stars.
        --- skills/headed.md
        ---
        name: \"Headed\"
        description: >
          Two
          lines.
        ---
        Look up.
        ",
    )
    .read();
    let words: Vec<String> = library.own_skills["agent"]
        .iter()
        .map(|skill| format!("{}: {}: {}", skill.id, skill.name.value, skill.description.value))
        .collect();
    assert_eq!(words, ["headed: Headed: Two lines.", "plain: plain: Reads the stars."]);
}
