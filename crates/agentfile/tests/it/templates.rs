//! Templates: which variables they use, and what a try of them said.

use agentry_agentfile::diagnostic_code::DiagnosticCode;
use agentry_agentfile::library::TemplateDefect;

use crate::reading::{check, given};

const PROGRAM: &str = "
    --- agent.yml
    name: a
    personas: {available: [coder]}
    --- AGENT.md
    Work.
    --- personas/coder/system.md.liquid
    Code.
    --- data/facts.yml
    city: Bern
    deep: {er: 1}
    --- agentry.toml
    [agent.args]
    tone = \"dry\"
";

#[test]
fn a_variable_must_exist() {
    given(PROGRAM)
        .bytes(
            "prompts/system.md.liquid",
            "é {{ facts.city }} {{ facts.deep.er }} {{ args.tone }}\n{{ facts.town }} {{ args.mood }} {{ usr.name }}\n",
        )
        .bytes("personas/coder/system.md.liquid", "{% if persona.nam %}x{% endif %}")
        .check(
            "
            E0702 warning personas/coder/system.md.liquid:1:7
            E0702 warning prompts/system.md.liquid:2:4
            E0702 warning prompts/system.md.liquid:2:21
            E0702 warning prompts/system.md.liquid:2:37
            ",
        );
}

#[test]
fn a_variable_of_the_moment_is_named() {
    given(PROGRAM)
        .bytes("prompts/system.md.liquid", "{{ agent.name }}\n{{ turn.id }} {{ conversation.id }}")
        .check(
            "
            E0704 warning prompts/system.md.liquid:2:4
            E0704 warning prompts/system.md.liquid:2:18
            ",
        );
}

#[test]
fn what_a_try_of_a_template_says_is_put_at_its_place() {
    let defect = |code, line, column| TemplateDefect {
        file: "prompts/system.md.liquid".to_owned(),
        code,
        line,
        column,
        message: "no".to_owned(),
        help: "mend it".to_owned(),
    };
    let text = "é {{ agent.name }}\n{% for i in (1..9) %}{% endfor %}";
    for (code, line, column, expected) in [
        (DiagnosticCode::TemplateSyntax, 1, 3, "E0701 error prompts/system.md.liquid:1:3"),
        (DiagnosticCode::TemplateBudget, 2, 1, "E0703 error prompts/system.md.liquid:2:1"),
        (DiagnosticCode::TemplateFails, 1, 1, "E0705 error prompts/system.md.liquid:1:1"),
        // Columns and lines that do not exist are brought back into the text.
        (DiagnosticCode::TemplateSyntax, 1, 99, "E0701 error prompts/system.md.liquid:1:19"),
        (DiagnosticCode::TemplateSyntax, 9, 1, "E0701 error prompts/system.md.liquid:2:34"),
    ] {
        given(PROGRAM)
            .bytes("prompts/system.md.liquid", text)
            .defect(defect(code, line, column))
            .check(expected);
    }
}

#[test]
fn an_agent_whose_template_does_not_render_does_not_load() {
    let defect = TemplateDefect {
        file: "prompts/system.md.liquid".to_owned(),
        code: DiagnosticCode::TemplateFails,
        line: 1,
        column: 1,
        message: "no".to_owned(),
        help: "mend it".to_owned(),
    };
    let (library, _) = given(PROGRAM).bytes("prompts/system.md.liquid", "x").defect(defect).read();
    assert_eq!(library.broken_agents["agent"], "agent.yml");
}

#[test]
fn broken_facts_do_not_hide_a_wrong_variable_nor_make_one() {
    check(
        "
        --- agent.yml
        name: a
        --- AGENT.md
        Work.
        --- data/facts.yml
        city: [Bern
        --- prompts/system.md.liquid
        {{ facts.city }} {{ usr.name }}
        ",
        "
        E0201 error data/facts.yml:1:7
        E0702 warning prompts/system.md.liquid:1:21
        ",
    );
}
