//! Templates: exact places of mistakes, and hostile ones that cost only themselves.

use crate::story::Story;

const TWO_AGENTS: &str = "
    --- bad/agent.yml
    name: bad
    --- bad/AGENT.md
    Hi.
    --- good/agent.yml
    name: good
    --- good/AGENT.md
    Hi.
    --- good/prompts/system.md.liquid
    You are {{ agent.name }}.
    ";

/// What is found with one template; another agent of the project must still render.
#[track_caller]
fn findings(template: &str) -> String {
    let story = Story::new(TWO_AGENTS);
    story.file("bad/prompts/system.md.liquid", template.as_bytes());
    let findings = story.findings("check");
    assert_eq!(story.out("show prompt --agent good --raw"), "Hi.\n\nYou are good.");
    findings
}

/// The codes of what is found with one template, where the words depend on the machine.
#[track_caller]
fn codes(template: &str) -> String {
    let findings = findings(template);
    let codes: Vec<&str> =
        findings.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    codes.join(" ")
}

#[test]
fn a_syntax_error_has_its_line_and_column() {
    let story = Story::new(TWO_AGENTS);
    story.file("bad/prompts/system.md.liquid", b"You are\n  {{ agent. }}\n");
    insta::assert_snapshot!(story.run("check bad"), @"
    exit 1
    --- stdout
    error[E0701]: the template does not parse: expected Identifier
     --> bad/prompts/system.md.liquid:2:12
      |
    2 |   {{ agent. }}
      |            ^
      |
      = help: the guide's page on agents lists the tags, filters and variables

    checked 1 agent, 0 skills, 0 tasks: 1 error
    ");
    insta::assert_snapshot!(findings("a\nb {{ agent.name | shout }}"), @"E0701 bad/prompts/system.md.liquid:2:19 error the template does not parse: unknown filter `shout`");
    insta::assert_snapshot!(findings("a\n{% foo %}"), @"E0701 bad/prompts/system.md.liquid:2:4 error the template does not parse: unknown tag `foo`");
    insta::assert_snapshot!(findings("a\n{% if true %}\nb\n"), @"E0701 bad/prompts/system.md.liquid:3:2 error the template does not parse: unclosed block. {% endif %} tag expected");
}

#[test]
fn a_template_that_fails_says_why_and_where() {
    insta::assert_snapshot!(findings("a\n  {{ 10 | divided_by: 0 }}"), @"E0705 bad/prompts/system.md.liquid:2:11 error the template does not render: invalid argument: can't divide by zero, in the filter `divided_by`");
}

#[test]
fn nothing_can_be_included() {
    insta::assert_snapshot!(findings("{% include 'AGENT.md' %}"), @"E0701 bad/prompts/system.md.liquid:1:4 error the template does not parse: unknown tag `include`");
    insta::assert_snapshot!(findings("{% render '../../etc/passwd' %}"), @"E0701 bad/prompts/system.md.liquid:1:4 error the template does not parse: unknown tag `render`");
}

#[test]
fn an_endless_loop_ends() {
    insta::assert_snapshot!(findings("a\n{% for i in (1..100000000) %}{% endfor %}"), @"E0703 bad/prompts/system.md.liquid:2:1 error the template exceeds its budget: more than 256 MiB of memory, or it nests too deep");
    let nested = "{% for i in (1..999) %}{% for j in (1..999) %}{% for k in (1..999) %}x\
                  {% endfor %}{% endfor %}{% endfor %}";
    insta::assert_snapshot!(findings(nested), @"E0703 bad/prompts/system.md.liquid:1:1 error the template exceeds its budget: more than 100000 steps");
    let empty = "{% for i in (1..999) %}{% for j in (1..999) %}{% endfor %}{% endfor %}";
    insta::assert_snapshot!(findings(empty), @"E0703 bad/prompts/system.md.liquid:1:1 error the template exceeds its budget: more than 100000 steps");
    insta::assert_snapshot!(findings("{% for i in (1..9223372036854775807) %}{% endfor %}"), @"E0703 bad/prompts/system.md.liquid:1:1 error the template exceeds its budget: more than 256 MiB of memory");
}

#[test]
fn doubling_a_text_ends() {
    let assign = "{% assign s = 'aaaaaaaaaaaaaaaa' %}{% for i in (1..60) %}\
                  {% assign s = s | append: s %}{% endfor %}";
    insta::assert_snapshot!(findings(assign), @"E0703 bad/prompts/system.md.liquid:1:36 error the template exceeds its budget: more than 256 MiB of memory, or it nests too deep");
    let capture = "{% capture s %}aaaaaaaaaaaaaaaa{% endcapture %}{% for i in (1..60) %}\
                   {% capture s %}{{ s }}{{ s }}{% endcapture %}{% endfor %}";
    insta::assert_snapshot!(findings(capture), @"E0703 bad/prompts/system.md.liquid:1:48 error the template exceeds its budget: more than 256 MiB of memory, or it nests too deep");
    let list = "{% assign a = 'a,b' | split: ',' %}{% for i in (1..60) %}\
                {% assign a = a | concat: a %}{% endfor %}";
    insta::assert_snapshot!(findings(list), @"E0703 bad/prompts/system.md.liquid:1:36 error the template exceeds its budget: more than 256 MiB of memory, or it nests too deep");
}

#[test]
fn too_much_output_ends() {
    let bomb = format!("{{% for i in (1..9000) %}}{}{{% endfor %}}", "x".repeat(100));
    insta::assert_snapshot!(findings(&bomb), @"E0703 bad/prompts/system.md.liquid:1:1 error the template exceeds its budget: more than 262144 bytes of text");
}

#[test]
fn deep_nesting_takes_only_the_template_process_down() {
    const LOCAL: &str = "{% assign a = 1 %}";
    let open = "{% if true %}".repeat(80_000);
    assert_eq!(codes(&open), "E0703");
    let closed = format!("{}{}", "{% if true %}".repeat(10_000), "{% endif %}".repeat(10_000));
    assert_eq!(codes(&closed), "E0703");
    let index = format!("{LOCAL}{{{{ a{}{} }}}}", "[a".repeat(10_000), "]".repeat(10_000));
    assert_eq!(codes(&index), "E0703");
    let unclosed = format!("{LOCAL}{{{{ a{}", "[a".repeat(10_000));
    assert!(["E0701", "E0703"].contains(&codes(&unclosed).as_str()), "{}", codes(&unclosed));
}

#[test]
fn every_persona_and_every_agent_is_tried_after_a_hostile_one() {
    let story = Story::new(TWO_AGENTS);
    story.file("bad/agent.yml", b"name: bad\npersonas: { available: [p, q] }\n");
    story.file("bad/prompts/system.md.liquid", "{% if true %}".repeat(10_000).as_bytes());
    story.file("bad/personas/p/system.md.liquid", b"{% nope %}");
    story.file("bad/personas/q/system.md.liquid", b"fine");
    story.file("good/prompts/system.md.liquid", b"{{ agent.name | nope }}");
    insta::assert_snapshot!(story.findings("check"), @"
    E0701 bad/personas/p/system.md.liquid:1:4 error the template does not parse: unknown tag `nope`
    E0703 bad/prompts/system.md.liquid:1:1 error the template exceeds its budget: more than 256 MiB of memory, or it nests too deep
    E0701 good/prompts/system.md.liquid:1:17 error the template does not parse: unknown filter `nope`
    ");
}

#[test]
fn a_broken_agent_yml_does_not_hide_a_broken_template() {
    let story = Story::new(
        "
        --- a/agent.yml
        nam: a
        --- a/AGENT.md
        Hi.
        --- a/prompts/system.md.liquid
        Hello {{ user.name
        --- a/personas/p/system.md.liquid
        {% shout %}
        ",
    );
    let found = story.json("check a --format json");
    let found: Vec<String> = found
        .as_array()
        .expect("it is an array")
        .iter()
        .map(|one| format!("{} {}:{}", one["code"], one["file"], one["line"]).replace('"', ""))
        .collect();
    insta::assert_snapshot!(found.join("\n"), @"
    E0301 a/agent.yml:1
    E0302 a/agent.yml:1
    E0432 a/personas/p:1
    E0701 a/personas/p/system.md.liquid:1
    E0701 a/prompts/system.md.liquid:1
    ");
}
