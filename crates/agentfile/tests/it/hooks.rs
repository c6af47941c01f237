//! `hooks` of agent.yml: gates, programs of their own, and what may not be said of them.

use agentry_agentfile::agent::HookSwitch;
use agentry_protocol::ContentHash;
use agentry_protocol::hook::{HookErrorPolicy, HookMoment, HookSpec};

use crate::reading::{agent, check, given};

fn with_hooks(hooks: &str) -> String {
    format!(
        "--- agent.yml\nname: a\nhooks:\n{hooks}--- AGENT.md\nWork.\n--- hooks/guard +x\n#!/bin/sh\n--- hooks/plain\nx\n"
    )
}

#[track_caller]
fn check_hooks(hooks: &str, expected: &str) {
    check(&with_hooks(hooks), expected);
}

fn specs(fixture: &str) -> Vec<HookSpec> {
    let hooks = agent(fixture, "agent").powers.hooks.into_iter();
    hooks
        .filter_map(|hook| match hook.switch {
            HookSwitch::On(spec) => Some(spec),
            HookSwitch::Off => None,
        })
        .collect()
}

#[test]
fn a_gate_says_all_that_it_is() {
    let fixture = with_hooks(
        "  PreToolUse:
    - matcher: bash|write_file
      run: hooks/guard
      args: [--hard]
      on_error: ask
      timeout_ms: 5000
    - { command: ./hooks/guard, timeout: 10 }
  before_inference: { run: hooks/guard, on_error: allow }
",
    );
    let hash = ContentHash::of(b"#!/bin/sh\n");
    let first = HookSpec {
        moment: HookMoment::PreToolUse,
        program: "hooks/guard".to_owned(),
        args: vec!["--hard".to_owned()],
        hash: hash.clone(),
        matcher: Some("bash|write_file".to_owned()),
        on_error: HookErrorPolicy::Ask,
        timeout_ms: 5000,
    };
    let second = HookSpec {
        args: Vec::new(),
        matcher: None,
        on_error: HookErrorPolicy::Deny,
        timeout_ms: 10_000,
        ..first.clone()
    };
    let shaping = HookSpec {
        moment: HookMoment::BeforeInference,
        on_error: HookErrorPolicy::Allow,
        timeout_ms: 30_000,
        ..second.clone()
    };
    assert_eq!(specs(&fixture), [shaping, first, second]);
    let origins: Vec<String> = agent(&fixture, "agent")
        .powers
        .hooks
        .iter()
        .map(|hook| format!("{} {}", hook.moment, hook.origin))
        .collect();
    assert_eq!(
        origins,
        [
            "before_inference agent.yml:10:21",
            "PreToolUse agent.yml:4:7",
            "PreToolUse agent.yml:9:7",
        ]
    );
}

#[test]
fn true_means_the_program_of_that_name() {
    for moment in HookMoment::ALL {
        let fixture = format!(
            "--- agent.yml\nname: a\nhooks: {{ {moment}: true }}\n--- AGENT.md\nWork.\n--- hooks/{moment} +x\nx\n"
        );
        let specs = specs(&fixture);
        assert_eq!(specs[0].program, format!("hooks/{moment}"));
        assert_eq!(specs[0].moment, moment);
        let usual = if moment.is_gate() { HookErrorPolicy::Deny } else { HookErrorPolicy::Allow };
        assert_eq!(specs[0].on_error, usual);
    }
}

#[test]
fn a_star_as_matcher_means_every_tool() {
    let fixture = with_hooks("  PostToolUse: { matcher: '*', run: hooks/guard }\n");
    assert_eq!(specs(&fixture)[0].matcher, None);
}

#[test]
fn an_empty_list_switches_off() {
    let hooks = agent(&with_hooks("  Stop: []\n"), "agent").powers.hooks;
    assert_eq!((hooks[0].moment, &hooks[0].switch), (HookMoment::Stop, &HookSwitch::Off));
}

#[test]
fn every_program_of_a_list_must_be_able_to_run() {
    check_hooks(
        "  PreToolUse:
    - { run: hooks/guard }
    - { run: hooks/lost }
    - { run: hooks/plain }
    - { run: ../guard }
    - { command: /bin/true }
    - {}
  Stop: true
",
        "
        E0434 error agent.yml:5:14
        E0435 error agent.yml:6:14
        E0434 error agent.yml:7:14
        E0434 error agent.yml:8:18
        E0434 error agent.yml:9:7
        E0434 error agent.yml:10:9
        ",
    );
}

#[test]
fn a_link_out_of_the_directory_is_not_a_program() {
    use agentry_agentfile::file_tree::{FileTreeEntry, ReadRefusal};
    given("--- agent.yml\nname: a\nhooks: {Stop: true}\n--- AGENT.md\nWork.\n")
        .entry("hooks/Stop", FileTreeEntry::Refused(ReadRefusal::LinkLeavesRoot))
        .check("E0434 error agent.yml:2:15\nE0104 error hooks/Stop:1:1");
}

#[test]
fn what_a_moment_does_not_have_is_found_at_its_line() {
    check_hooks(
        "  before_inference:
    run: hooks/guard
    on_error: deny
  on_conversation_start: { run: hooks/guard, on_error: ask }
  after_tool_call: { run: hooks/guard, matcher: bash }
  Stop:
    - run: hooks/guard
      matcher: bash
  SessionStart:
    run: hooks/guard
    command: hooks/guard
    timeout: 1
    timeout_ms: 1000
",
        "
        E0437 error agent.yml:5:15
        E0437 error agent.yml:6:56
        E0437 error agent.yml:10:16
        E0437 error agent.yml:13:14
        E0437 error agent.yml:14:14
        ",
    );
}

#[test]
fn a_matcher_is_a_linear_expression() {
    check_hooks(
        "  PreToolUse:
    - { run: hooks/guard, matcher: '(' }
    - { run: hooks/guard, matcher: '(?!bash).*' }
    - { run: hooks/guard, matcher: 'a)(b' }
    - { run: hooks/guard, matcher: '(?x)a # b' }
    - { run: hooks/guard, matcher: 'a{9999}{9999}' }
    - { run: hooks/guard, matcher: 'mcp__.*|bash' }
",
        "
        E0442 error agent.yml:4:36
        E0442 error agent.yml:5:36
        E0442 error agent.yml:6:36
        E0442 error agent.yml:7:36
        E0442 error agent.yml:8:36
        ",
    );
}

#[test]
fn the_shape_of_a_hook_is_found_at_its_line() {
    check_hooks(
        "  PreToolUse:
    - { run: hooks/guard, matchr: bash }
    - { run: hooks/guard, on_error: maybe }
    - { run: hooks/guard, timeout_ms: 300001 }
    - { run: hooks/guard, timeout_ms: 0 }
    - { run: hooks/guard, args: --hard }
  Stop: { run: hooks/guard, wait: 1 }
  PreCompact: always
  PreToolUsed: true
",
        "
        E0301 error agent.yml:4:27
        E0304 error agent.yml:5:37
        E0305 error agent.yml:6:39
        E0305 error agent.yml:7:39
        E0303 error agent.yml:8:33
        E0301 error agent.yml:9:29
        E0303 error agent.yml:10:15
        E0301 error agent.yml:11:3
        ",
    );
}

#[test]
fn words_name_all_that_may_stand_there() {
    let (_, findings) = given(&with_hooks("  Stop: always\n")).read();
    let words: Vec<&str> = findings.sorted().iter().map(|one| one.message.as_str()).collect();
    assert_eq!(words, ["`Stop` must be true or false or a map or a list, but is text"]);
}

#[test]
fn there_is_an_end_to_hooks() {
    let entry = "    - { run: hooks/guard }\n";
    let hooks = format!("  PreToolUse:\n{}", entry.repeat(65));
    check_hooks(&hooks, "E0305 error agent.yml:68:7");
}

#[test]
fn a_program_that_nobody_names_is_reported_for_every_moment() {
    check(
        "
        --- agent.yml
        name: a
        hooks: { Stop: { run: hooks/SessionEnd } }
        --- AGENT.md
        Work.
        --- hooks/PreToolUse +x
        x
        --- hooks/PreTolUse +x
        x
        --- hooks/SessionEnd +x
        x
        --- hooks/helper +x
        x
        ",
        "
        E0436 warning hooks/PreTolUse:1:1
        E0436 warning hooks/PreToolUse:1:1
        ",
    );
}
