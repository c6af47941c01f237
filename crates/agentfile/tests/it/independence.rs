//! One broken thing hides no other and keeps no other from loading.

use crate::reading::{check, given};

#[test]
fn every_broken_file_of_a_program_is_reported() {
    check(
        "
        --- agent.yml
        name: [a
        --- AGENT.md
        ---
        temperature: hot
        tools: [Bsh]
        ---
        Work.
        --- USER.md
        ---
        name: 1
        ---
        --- SOUL.md
        --- data/facts.yml
        x: *y
        --- data/lorebook.yml
        a: 1
        a: 2
        --- memory/today.md
        --- context/tool-access.json
        {,}
        --- prompts/system.md.liquid
        {{ nobody }}
        --- skills/x/SKILL.md
        Adds.
        --- .mcp.json
        [
        --- agentry.toml
        agent = 1
        ",
        "
        E0210 error .mcp.json:1:1
        E0303 error AGENT.md:2:14
        E0401 error AGENT.md:3:9
        E0111 warning SOUL.md:1:1
        E0303 error USER.md:2:7
        E0201 error agent.yml:1:7
        E0303 error agentry.toml:1:9
        E0210 error context/tool-access.json:1:2
        E0202 error data/facts.yml:1:4
        E0204 error data/lorebook.yml:2:1
        E0802 warning memory/today.md:1:1
        E0702 warning prompts/system.md.liquid:1:4
        E0207 error skills/x/SKILL.md:1:1
        ",
    );
}

const TWO_AGENTS: &str = "
    --- .agentry/agents/good/AGENT.md
    ---
    name: good
    skills: [inherit]
    ---
    --- .agentry/agents/bad/AGENT.md
    ---
    name: [bad
    ---
    --- .agentry/agents/worse/agent.yml
    name: worse
    --- .agentry/skills/fine/SKILL.md
    ---
    name: fine
    description: Does.
    ---
    --- .agentry/skills/poor/SKILL.md
    ---
    name: poor
    ---
    --- .agentry/tasks/fine/TASK.md
    ---
    name: fine
    agent: good
    ---
    --- .agentry/tasks/poor/TASK.md
    ---
    name: poor
    next: lost.md
    ---
";

#[test]
fn a_broken_definition_is_listed_as_broken_and_the_others_load() {
    let (library, _) = given(TWO_AGENTS).read();
    let names = |map: &std::collections::BTreeMap<String, String>| {
        map.iter().map(|(id, file)| format!("{id} {file}")).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(library.agents.keys().collect::<Vec<_>>(), ["good"]);
    assert_eq!(library.skills.keys().collect::<Vec<_>>(), ["fine"]);
    assert_eq!(library.tasks.keys().collect::<Vec<_>>(), ["fine"]);
    assert_eq!(
        names(&library.broken_agents),
        "bad .agentry/agents/bad/AGENT.md, worse .agentry/agents/worse/agent.yml"
    );
    assert_eq!(names(&library.broken_skills), "poor .agentry/skills/poor/SKILL.md");
    assert_eq!(names(&library.broken_tasks), "poor .agentry/tasks/poor/TASK.md");
    let skills: Vec<&str> =
        library.agents["good"].skills.iter().map(|skill| skill.value.as_str()).collect();
    assert_eq!(skills, ["fine"]);
}

#[test]
fn whoever_refers_to_something_broken_is_told_so() {
    given(TWO_AGENTS)
        .bytes(
            ".agentry/agents/leader/AGENT.md",
            "---\nname: l\nskills: [fine, poor]\ntasks: [fine, poor]\n---\n",
        )
        .bytes(".agentry/tasks/x/TASK.md", "---\nname: x\nagent: bad\nskills: [poor]\n---\n")
        .bytes(".agentry/skills/z/SKILL.md", "---\nname: z\ndescription: D.\ntasks: [poor]\n---\n")
        .bytes("agentry.toml", "[agent]\ndefault = \"worse\"\n")
        .check(
            "
            E0201 error .agentry/agents/bad/AGENT.md:2:7
            E0428 error .agentry/agents/leader/AGENT.md:3:16
            E0428 error .agentry/agents/leader/AGENT.md:4:15
            E0110 error .agentry/agents/worse/AGENT.md:1:1
            E0302 error .agentry/skills/poor/SKILL.md:2:1
            E0428 error .agentry/skills/z/SKILL.md:4:9
            E0602 error .agentry/tasks/poor/TASK.md:3:7
            E0428 error .agentry/tasks/x/TASK.md:3:8
            E0428 error .agentry/tasks/x/TASK.md:4:10
            E0428 error agentry.toml:2:11
            ",
        );
}

#[test]
fn a_broken_list_of_servers_does_not_make_its_servers_unknown() {
    check(
        "
        --- .mcp.json
        {\"mcpServers\": {\"github\": {\"command\": 1}}}
        --- AGENT.md
        ---
        name: a
        tools: [github/issues]
        ---
        ",
        "
        E0303 error .mcp.json:1:39
        E0428 error AGENT.md:3:9
        ",
    );
}

#[test]
fn a_broken_task_file_does_not_hide_its_steps() {
    check(
        "
        --- TASK.md
        ---
        description: no name
        next: two.md
        ---
        --- two.md
        ---
        next: three.md
        tools: 5
        ---
        --- three.md
        ---
        a: [
        ---
        ",
        "
        E0302 error TASK.md:2:1
        E0201 error three.md:2:4
        E0303 error two.md:3:8
        ",
    );
}

#[test]
fn an_error_beyond_the_findings_that_are_kept_is_one_all_the_same() {
    // A hundred unknown fields are warnings; they pushed the error out and the agent loaded.
    let fields: String = (0..150).map(|at| format!("x{at}: 1\n")).collect();
    let given =
        given("").bytes("AGENT.md", format!("---\nname: a\n{fields}tools: [Bsh]\n---\nWork.\n"));
    let (library, findings) = given.read();
    assert_eq!(findings.len(), 100);
    assert_eq!(findings.not_shown().collect::<Vec<_>>(), [("AGENT.md", 51)]);
    assert!(findings.has_errors());
    assert!(findings.has_errors_in("AGENT.md"));
    assert!(library.agents.is_empty());
    assert_eq!(library.broken_agents["agent"], "AGENT.md");
}
