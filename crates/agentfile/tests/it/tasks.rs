//! Tasks: chains of steps, inputs, and what they refer to.

use crate::reading::{check, check_clean, given};

/// A task whose TASK.md has this front matter; its first line is line 2.
#[track_caller]
fn check_front(front: &str, expected: &str) {
    given("").bytes("TASK.md", format!("---\n{front}---\nGo.\n")).check(expected);
}

#[test]
fn a_task_needs_a_name() {
    check_front("name: t\n", "");
    check_front("description: x\n", "E0302 error TASK.md:2:1");
    check_front("name: [t]\n", "E0303 error TASK.md:2:7");
    check_front("name: t\nid: t\n", "E0301 warning TASK.md:3:1");
}

#[test]
fn next_stays_in_the_directory_and_names_another_step() {
    for (next, code) in [
        ("../x.md", "E0601"),
        ("..", "E0601"),
        ("sub/x.md", "E0601"),
        ("/etc/passwd", "E0601"),
        ("..\\x.md", "E0601"),
        ("''", "E0601"),
        ("lost.md", "E0602"),
        ("TASK.md", "E0604"),
        ("./TASK.md", "E0604"),
    ] {
        check_front(&format!("name: t\nnext: {next}\n"), &format!("{code} error TASK.md:3:7"));
    }
    check_front("name: t\nnext: [a.md]\n", "E0303 error TASK.md:3:7");
}

#[test]
fn each_wrong_way_on_is_told_where_it_stands() {
    check(
        "
        --- .agentry/tasks/out/TASK.md
        ---
        name: t
        next: ../loop/two.md
        ---
        --- .agentry/tasks/gap/TASK.md
        ---
        name: t
        next: tow.md
        ---
        --- .agentry/tasks/gap/two.md
        ---
        ---
        --- .agentry/tasks/back/TASK.md
        ---
        name: t
        next: two.md
        ---
        --- .agentry/tasks/back/two.md
        ---
        next: TASK.md
        description: x
        ---
        --- .agentry/tasks/loop/TASK.md
        ---
        name: t
        next: two.md
        ---
        --- .agentry/tasks/loop/two.md
        ---
        next: three.md
        ---
        --- .agentry/tasks/loop/three.md
        ---
        next: ./two.md
        ---
        --- .agentry/tasks/self/TASK.md
        ---
        name: t
        next: two.md
        ---
        --- .agentry/tasks/self/two.md
        ---
        next: two.md
        ---
        ",
        "
        E0604 error .agentry/tasks/back/two.md:2:7
        E0602 error .agentry/tasks/gap/TASK.md:3:7
        E0603 error .agentry/tasks/loop/three.md:2:7
        E0601 error .agentry/tasks/out/TASK.md:3:7
        E0603 error .agentry/tasks/self/two.md:2:7
        ",
    );
}

#[test]
fn a_chain_is_read_in_order_and_what_it_does_not_reach_is_named() {
    let given = given(
        "
        --- TASK.md
        ---
        name: Release
        agent: agent
        next: test.md
        ---
        Build.
        --- test.md
        ---
        name: Test
        next: ship.md
        tools: [Bash]
        ---
        Test.
        --- ship.md
        ---
        description: Goes out.
        ---
        Ship.
        --- README.md
        About.
        --- old.md
        Old.
        --- AGENT.md
        ---
        name: a
        ---
        ",
    );
    given.check("E0608 warning AGENT.md:1:1\nE0608 warning old.md:1:1");
    let (library, _) = given.read();
    let steps: Vec<String> = library.tasks["agent"]
        .steps
        .iter()
        .map(|step| format!("{} {} {}", step.file, step.name, step.body.value))
        .collect();
    assert_eq!(steps, ["TASK.md Release Build.", "test.md Test Test.", "ship.md ship Ship."]);
}

#[test]
fn a_task_has_at_most_200_steps() {
    let chain = |steps: usize| {
        let mut given = given("").bytes("TASK.md", "---\nname: t\nnext: 2.md\n---\n");
        for at in 2..=steps {
            let next = if at < steps { format!("next: {}.md\n", at + 1) } else { String::new() };
            given = given.bytes(&format!("{at}.md"), format!("---\nname: s\n{next}---\n"));
        }
        given
    };
    chain(200).check("");
    chain(201).check("E0610 error 200.md:3:7");
}

#[test]
fn a_step_begins_with_front_matter_and_has_no_inputs() {
    check(
        "
        --- TASK.md
        ---
        name: t
        next: two.md
        ---
        --- two.md
        ---
        inputs:
          - {name: x, description: y}
        next: three.md
        ---
        --- three.md
        Go on.
        ",
        "
        E0207 error three.md:1:1
        E0605 error two.md:2:1
        ",
    );
}

#[test]
fn inputs_are_named_once_by_identifiers_and_described() {
    check_front(
        "name: t
inputs:
  - {name: topic, description: x, default: y}
  - {name: topic, description: x}
  - {name: two words, description: x}
  - {name: 2nd, description: x}
  - {name: a-b_c, description: x}
",
        "
        E0606 error TASK.md:5:12
        E0609 error TASK.md:6:12
        E0609 error TASK.md:7:12
        ",
    );
    check_front(
        "name: t
inputs:
  - {name: topic}
  - {description: x}
  - {name: b, description: x, default: 3}
  - {name: c, description: x, requird: true}
",
        "
        E0302 error TASK.md:4:5
        E0302 error TASK.md:5:5
        E0303 error TASK.md:6:40
        E0301 error TASK.md:7:31
        ",
    );
}

#[test]
fn a_step_uses_only_inputs_that_the_task_has() {
    check(
        "
        --- TASK.md
        ---
        name: t
        inputs:
          - {name: topic, description: x}
        next: two.md
        ---
        Write on {{input.topic}} and {{ input.tpoic }}.
        --- two.md
        ---
        ---
        é {{input.length}} {{ other }}
        ",
        "
        E0607 error TASK.md:7:39
        E0607 error two.md:3:11
        ",
    );
}

#[test]
fn an_input_that_is_broken_is_not_also_unknown() {
    given("")
        .bytes("TASK.md", "---\nname: t\ninputs: [{name: x}]\n---\nOn {{input.x}}.\n")
        .check("E0302 error TASK.md:3:10");
}

#[test]
fn a_task_refers_to_what_exists() {
    check(
        "
        --- .agentry/tasks/t/TASK.md
        ---
        name: t
        agent: nobody
        tools: [Bsh]
        skills: [x]
        tasks: [t, u]
        next: two.md
        ---
        --- .agentry/tasks/t/two.md
        ---
        agent: nobody
        tool_approvals: {rules: [{tool: Bash, allow: true, when: {a: {equals: {}}}}]}
        task_approvals: {rules: [{task: u, allow: true}]}
        ---
        ",
        "
        E0423 error .agentry/tasks/t/TASK.md:3:8
        E0401 error .agentry/tasks/t/TASK.md:4:9
        E0421 error .agentry/tasks/t/TASK.md:5:10
        E0428 error .agentry/tasks/t/TASK.md:6:9
        E0422 error .agentry/tasks/t/TASK.md:6:12
        E0423 error .agentry/tasks/t/two.md:2:8
        E0303 error .agentry/tasks/t/two.md:3:71
        E0441 error .agentry/tasks/t/two.md:4:33
        ",
    );
    check(
        "
        --- .agentry/tasks/t/TASK.md
        ---
        name: t
        agent: nobody
        tools: [Bsh]
        skills: [x]
        tasks: [t, u]
        next: two.md
        ---
        --- .agentry/tasks/t/two.md
        ---
        agent: nobody
        tools: []
        tool_approvals: {rules: [{tool: Bash, allow: true}]}
        task_approvals: {rules: [{task: u, allow: true}]}
        ---
        ",
        "
        E0423 error .agentry/tasks/t/TASK.md:3:8
        E0401 error .agentry/tasks/t/TASK.md:4:9
        E0421 error .agentry/tasks/t/TASK.md:5:10
        E0422 error .agentry/tasks/t/TASK.md:6:12
        E0423 error .agentry/tasks/t/two.md:2:8
        E0441 error .agentry/tasks/t/two.md:4:33
        E0441 error .agentry/tasks/t/two.md:5:33
        ",
    );
}

#[test]
fn a_task_that_refers_to_nothing_real_does_not_load() {
    let (library, _) = given(
        "
        --- .agentry/agents/a/AGENT.md
        ---
        name: a
        ---
        --- .agentry/tasks/t/TASK.md
        ---
        name: t
        agent: nobody
        ---
        ",
    )
    .read();
    assert!(library.tasks.is_empty());
    assert_eq!(library.broken_tasks["t"], ".agentry/tasks/t/TASK.md");
    assert!(library.agents["a"].tasks.is_empty());
}

#[test]
fn tasks_may_name_each_other() {
    check_clean(
        "
        --- .agentry/tasks/a/TASK.md
        ---
        name: a
        tasks: [b]
        ---
        --- .agentry/tasks/b/TASK.md
        ---
        name: b
        tasks: [inherit, a]
        task_approvals:
          default: approve
          rules:
            - {task: a, allow: true, when: {topic: {equals: x}}}
        ---
        ",
    );
}
