//! Examples of approval rules: how they are written, and where a failing one is reported.

use agentry_agentfile::approval_rule::{ApprovalRule, ExampleDefect, ExpectedVerdict, RuleKind};

use crate::reading::{agent, check, check_clean, given};

/// Every example fails; the message says which it is.
fn all_fail(kind: RuleKind, rules: &[ApprovalRule]) -> Vec<ExampleDefect> {
    let mut defects = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        for (example, one) in rule.examples.iter().enumerate() {
            let message = format!("{kind:?} {:?} {}", one.expected, one.args);
            defects.push(ExampleDefect { rule: at, example, message });
        }
    }
    defects
}

const BUILDER: &str = "
--- .agentry/agents/builder/AGENT.md
---
name: Builder
tools: [Bash, Read]
tool_approvals:
  rules:
    - tool: Bash
      allow: true
      when: {command: {startsWith: 'git '}}
      examples:
        allow:
          - git status
          - {command: git log, timeout_ms: 5}
        ask:
          - git status; ls
    - tool: Read
      allow: true
      examples:
        ask: [{path: .env}]
---
";

#[test]
fn examples_are_maps_of_arguments_and_for_the_shell_also_commands() {
    check_clean(BUILDER);
    let rules = agent(BUILDER, "builder").powers.tool_rules;
    let told = |rule: &ApprovalRule| -> Vec<String> {
        let line = |one: &agentry_agentfile::approval_rule::ApprovalExample| {
            format!("{:?} {} {}", one.expected, one.args, one.origin.line)
        };
        rule.examples.iter().map(line).collect()
    };
    assert_eq!(
        told(&rules[0]),
        [
            r#"Allow {"command":"git status"} 11"#,
            r#"Allow {"command":"git log","timeout_ms":5} 12"#,
            r#"Ask {"command":"git status; ls"} 14"#,
        ]
    );
    assert_eq!(rules[1].examples[0].expected, ExpectedVerdict::Ask);
}

#[test]
fn a_failing_example_is_reported_where_it_stands() {
    given(BUILDER).try_examples(all_fail).check(
        "E0444 error .agentry/agents/builder/AGENT.md:11:13
         E0444 error .agentry/agents/builder/AGENT.md:12:13
         E0444 error .agentry/agents/builder/AGENT.md:14:13
         E0444 error .agentry/agents/builder/AGENT.md:18:15",
    );
}

#[test]
fn what_has_a_failing_example_does_not_load() {
    let skill = "
--- .agentry/skills/look/SKILL.md
---
name: look
description: Looks.
tool_approvals:
  rules: [{tool: Read, allow: true, examples: {allow: [{path: a}]}}]
---
Look.
";
    let (library, _) = given(skill).try_examples(all_fail).read();
    assert!(library.skills.is_empty() && library.broken_skills.contains_key("look"));
    let (library, _) = given(skill).read();
    assert!(library.skills.contains_key("look"));
    let (library, _) = given(BUILDER).try_examples(all_fail).read();
    assert!(library.agents.is_empty());
}

#[test]
fn rules_for_tasks_have_examples_too() {
    let fixture = "
--- .agentry/tasks/release/TASK.md
---
name: Release
---
Go.
--- .agentry/agents/builder/AGENT.md
---
name: Builder
task_approvals:
  rules: [{task: release, allow: true, examples: {allow: [{version: '1'}]}}]
---
";
    check_clean(fixture);
    given(fixture)
        .try_examples(all_fail)
        .check("E0444 error .agentry/agents/builder/AGENT.md:4:59");
}

#[test]
fn the_shape_of_examples_is_checked() {
    for (examples, expected) in [
        ("[git status]", "E0303 error AGENT.md:5:47"),
        ("{allow: git status}", "E0303 error AGENT.md:5:55"),
        ("{allow: [7]}", "E0303 error AGENT.md:5:56"),
        ("{deny: [{path: a}]}", "E0301 error AGENT.md:5:48"),
        ("{allow: [ls]}", "E0303 error AGENT.md:5:56"),
    ] {
        let fixture = format!(
            "
--- .agentry/agents/builder/AGENT.md
---
name: Builder
tools: [Read]
tool_approvals:
  rules: [{{tool: Read, allow: true, examples: {examples}}}]
---
"
        );
        check(&fixture, &expected.replace("AGENT.md", ".agentry/agents/builder/AGENT.md"));
    }
}

#[test]
fn examples_are_not_tried_with_rules_that_cannot_be_evaluated() {
    let fixture = BUILDER.replace("{startsWith: 'git '}", "{matches: '('}");
    given(&fixture)
        .try_examples(all_fail)
        .check("E0442 error .agentry/agents/builder/AGENT.md:8:33");
}
