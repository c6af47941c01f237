//! `agentry check`: how findings look to people and programs, what is read, and the exit codes.

use crate::story::Story;

const TWO_AGENTS: &str = "
    --- good/agent.yml
    name: good
    --- good/AGENT.md
    Be good.
    --- bad/agent.yml
    name: bad
    description: Has two things wrong with it
    tols: []
    personas:
      router: sometimes
    --- bad/AGENT.md
    Be good.
    ";

const PACK: &str = "
    --- p/.agentry/agents/a/AGENT.md
    ---
    name: A
    skills: [x, nope]
    ---
    Do.
    --- p/.agentry/skills/x/SKILL.md
    ---
    name: x
    description: Does x. Use for x.
    skills: [y]
    tools: [Reed]
    ---
    Do x.
    --- p/.agentry/skills/y/SKILL.md
    ---
    name: yy
    description: Does y. Use for y.
    ---
    Do y.
    --- p/.agentry/tasks/t/TASK.md
    ---
    name: T
    skills: [y]
    ---
    Do t.
    ";

#[test]
fn one_broken_agent_is_shown_and_does_not_hide_the_good_one() {
    let story = Story::new(TWO_AGENTS);
    insta::assert_snapshot!(story.run("check"), @"
    exit 1
    --- stdout
    error[E0301]: the field `tols` is not known here
     --> bad/agent.yml:3:1
      |
    3 | tols: []
      | ^^^^
      |
      = help: did you mean `tools`?

    error[E0304]: `router` has a value that is not allowed
     --> bad/agent.yml:5:11
      |
    5 |   router: sometimes
      |           ^^^^^^^^^
      |
      = help: write `auto` or `explicit` or `hook`

    checked 2 agents, 0 skills, 0 tasks: 2 errors
    ");
    insta::assert_snapshot!(story.run("check good"), @"
    exit 0
    --- stdout
    checked 1 agent, 0 skills, 0 tasks: no findings
    ");
}

#[test]
fn json_is_one_array_of_objects_with_seven_fields() {
    let story = Story::new(TWO_AGENTS);
    insta::assert_snapshot!(story.run("check --format json"), @r#"
    exit 1
    --- stdout
    [
      {
        "code": "E0301",
        "severity": "error",
        "file": "bad/agent.yml",
        "line": 3,
        "column": 1,
        "message": "the field `tols` is not known here",
        "help": "did you mean `tools`?"
      },
      {
        "code": "E0304",
        "severity": "error",
        "file": "bad/agent.yml",
        "line": 5,
        "column": 11,
        "message": "`router` has a value that is not allowed",
        "help": "write `auto` or `explicit` or `hook`"
      }
    ]
    "#);
    insta::assert_snapshot!(story.run("check good --format json"), @"
    exit 0
    --- stdout
    []
    ");
}

#[test]
fn json_says_null_where_there_is_no_help() {
    let story =
        Story::new("\n--- agent.yml\nname: a\ntools: { allow: [web_search] }\n--- AGENT.md\nHi.\n");
    insta::assert_snapshot!(story.run("check --format json"), @r#"
    exit 0
    --- stdout
    [
      {
        "code": "E0410",
        "severity": "note",
        "file": "agent.yml",
        "line": 2,
        "column": 18,
        "message": "`web_search` is left out: it needs a search service, and none is configured",
        "help": null
      }
    ]
    "#);
}

#[test]
fn strict_makes_errors_of_warnings() {
    let story = Story::new(
        "
        --- agent.yml
        name: a
        tools:
          allow: [read_file, read_file]
        --- AGENT.md
        Hi.
        ",
    );
    insta::assert_snapshot!(story.run("check"), @"
    exit 0
    --- stdout
    warning[E0411]: `read_file` is listed twice
     --> agent.yml:3:22
      |
    3 |   allow: [read_file, read_file]
      |                      ^^^^^^^^^
      |
      = help: remove one of the two

    checked 1 agent, 0 skills, 0 tasks: 1 warning
    ");
    insta::assert_snapshot!(story.run("check --strict"), @"
    exit 1
    --- stdout
    error[E0411]: `read_file` is listed twice
     --> agent.yml:3:22
      |
    3 |   allow: [read_file, read_file]
      |                      ^^^^^^^^^
      |
      = help: remove one of the two

    checked 1 agent, 0 skills, 0 tasks: 1 error
    ");
}

#[test]
fn skills_are_read_forgivingly_or_by_the_specification() {
    let story = Story::new(
        "
        --- s/Big/SKILL.md
        ---
        name: Big
        description: Does: big things
        tools: [Read]
        ---
        Do.
        ",
    );
    insta::assert_snapshot!(story.run("check s --skills extended"), @"
    exit 0
    --- stdout
    warning[E0502]: the name `Big` has upper-case letters
     --> s/Big/SKILL.md:2:7
      |
    2 | name: Big
      |       ^^^
      |
      = help: use lower-case letters, digits and single hyphens between them

    warning[E0212]: the value of `description` has a colon and no quotes
     --> s/Big/SKILL.md:3:14
      |
    3 | description: Does: big things
      |              ^^^^^^^^^^^^^^^^
      |
      = help: put the value in double quotes

    checked 0 agents, 1 skill, 0 tasks: 2 warnings
    ");
    insta::assert_snapshot!(story.run("check s --skills spec"), @"
    exit 1
    --- stdout
    error[E0201]: mapping values are not allowed in this context
     --> s/Big/SKILL.md:3:18
      |
    3 | description: Does: big things
      |                  ^

    checked 0 agents, 1 skill, 0 tasks: 1 error
    ");
    insta::assert_snapshot!(story.run("check s --skills loose"), @"
    exit 2
    --- stderr
    error: invalid value 'loose' for '--skills <SKILLS>'
      [possible values: spec, extended]

    For more information, try '--help'.
    ");
}

#[test]
fn several_paths_are_checked_at_once() {
    let story = Story::new(TWO_AGENTS);
    story.write(PACK);
    insta::assert_snapshot!(story.findings("check good bad p"), @"
    E0301 bad/agent.yml:3:1 error the field `tols` is not known here
    E0304 bad/agent.yml:5:11 error `router` has a value that is not allowed
    E0428 p/.agentry/agents/a/AGENT.md:3:10 error the skill `x` does not load
    E0421 p/.agentry/agents/a/AGENT.md:3:13 error no skill has the id `nope`
    E0401 p/.agentry/skills/x/SKILL.md:5:9 error no tool is called `Reed`
    E0501 p/.agentry/skills/y/SKILL.md:2:7 warning the skill is called `yy` but its directory `y`
    ");
    insta::assert_snapshot!(story.run("check good good"), @"
    exit 0
    --- stdout
    checked 2 agents, 0 skills, 0 tasks: no findings
    ");
}

#[test]
fn one_file_stands_for_its_directory() {
    let story = Story::new(
        "
        --- lone/SKILL.md
        ---
        name: other
        description: Does x. Use for x.
        ---
        Do.
        ",
    );
    insta::assert_snapshot!(story.run("check lone/SKILL.md"), @"
    exit 0
    --- stdout
    warning[E0501]: the skill is called `other` but its directory `lone`
     --> lone/SKILL.md:2:7
      |
    2 | name: other
      |       ^^^^^
      |
      = help: make them equal

    checked 0 agents, 1 skill, 0 tasks: 1 warning
    ");
    insta::assert_snapshot!(story.run_in("lone", "check SKILL.md"), @"
    exit 0
    --- stdout
    warning[E0501]: the skill is called `other` but its directory `lone`
     --> SKILL.md:2:7
      |
    2 | name: other
      |       ^^^^^
      |
      = help: make them equal

    checked 0 agents, 1 skill, 0 tasks: 1 warning
    ");
}

#[test]
fn a_part_of_a_pack_has_only_its_own_findings_and_knows_its_neighbours() {
    let story = Story::new(PACK);
    insta::assert_snapshot!(story.run("check p/.agentry/skills/x"), @"
    exit 1
    --- stdout
    error[E0401]: no tool is called `Reed`
     --> p/.agentry/skills/x/SKILL.md:5:9
      |
    5 | tools: [Reed]
      |         ^^^^
      |
      = help: did you mean `Read`?; a tool of an agent program needs tools/Reed.yml

    checked 0 agents, 1 skill, 0 tasks: 1 error
    ");
    insta::assert_snapshot!(story.run("check p/.agentry/skills/y/SKILL.md"), @"
    exit 0
    --- stdout
    warning[E0501]: the skill is called `yy` but its directory `y`
     --> p/.agentry/skills/y/SKILL.md:2:7
      |
    2 | name: yy
      |       ^^
      |
      = help: make them equal

    checked 0 agents, 1 skill, 0 tasks: 1 warning
    ");
    insta::assert_snapshot!(story.run("check p/.agentry/tasks/t"), @"
    exit 0
    --- stdout
    checked 0 agents, 0 skills, 1 task: no findings
    ");
    insta::assert_snapshot!(story.findings("check p/.agentry/agents"), @"
    E0428 p/.agentry/agents/a/AGENT.md:3:10 error the skill `x` does not load
    E0421 p/.agentry/agents/a/AGENT.md:3:13 error no skill has the id `nope`
    ");
    insta::assert_snapshot!(story.findings("check p/.agentry"), @"
    E0428 p/.agentry/agents/a/AGENT.md:3:10 error the skill `x` does not load
    E0421 p/.agentry/agents/a/AGENT.md:3:13 error no skill has the id `nope`
    E0401 p/.agentry/skills/x/SKILL.md:5:9 error no tool is called `Reed`
    E0501 p/.agentry/skills/y/SKILL.md:2:7 warning the skill is called `yy` but its directory `y`
    ");
}

#[test]
fn a_part_of_a_pack_can_be_checked_from_inside() {
    let story = Story::new(PACK);
    insta::assert_snapshot!(story.run_in("p/.agentry/skills/y", "check"), @"
    exit 0
    --- stdout
    warning[E0501]: the skill is called `yy` but its directory `y`
     --> ../../../.agentry/skills/y/SKILL.md:2:7
      |
    2 | name: yy
      |       ^^
      |
      = help: make them equal

    checked 0 agents, 1 skill, 0 tasks: 1 warning
    ");
    insta::assert_snapshot!(story.run_in("p/.agentry/skills", "check y"), @"
    exit 0
    --- stdout
    warning[E0501]: the skill is called `yy` but its directory `y`
     --> ../../.agentry/skills/y/SKILL.md:2:7
      |
    2 | name: yy
      |       ^^
      |
      = help: make them equal

    checked 0 agents, 1 skill, 0 tasks: 1 warning
    ");
    let full = story.path("p/.agentry/skills/y").display().to_string();
    insta::assert_snapshot!(story.run(&format!("check {full}")), @"
    exit 0
    --- stdout
    warning[E0501]: the skill is called `yy` but its directory `y`
     --> [tmp]/work/p/.agentry/skills/y/SKILL.md:2:7
      |
    2 | name: yy
      |       ^^
      |
      = help: make them equal

    checked 0 agents, 1 skill, 0 tasks: 1 warning
    ");
}

#[test]
fn the_users_own_packs_are_known_in_every_project() {
    let story = Story::new(
        "
        --- p/.agentry/agents/a/AGENT.md
        ---
        name: A
        skills: [mine, theirs]
        ---
        Do.
        ",
    );
    for (pack, id) in [(".agentry", "mine"), (".nanobot", "theirs")] {
        let directory = story.home(&format!("{pack}/skills/{id}"));
        std::fs::create_dir_all(&directory).expect("it can be made");
        let text = format!("---\nname: {id}\ndescription: Does {id}.\n---\nDo.\n");
        std::fs::write(directory.join("SKILL.md"), text).expect("it can be written");
    }
    insta::assert_snapshot!(story.run("check p"), @"
    exit 0
    --- stdout
    checked 1 agent, 0 skills, 0 tasks: no findings
    ");
}

#[test]
fn a_defect_in_the_users_own_packs_is_not_the_projects() {
    let story = Story::new("--- p/agent.yml\nname: P\n--- p/AGENT.md\nHello.\n");
    let skill = story.home(".claude/skills/mine/SKILL.md");
    std::fs::create_dir_all(skill.parent().expect("it lies below")).expect("it can be made");
    std::fs::write(&skill, "---\nname: mine\n---\n").expect("it can be written");
    insta::assert_snapshot!(story.run("check p"), @"
    exit 0
    --- stdout
    your own packs have 1 finding; `agentry check ~` shows them
    checked 1 agent, 0 skills, 0 tasks: no findings
    ");
    assert!(story.run("check ../home").contains("E0302"));
}

#[test]
fn where_nothing_is_there_is_a_finding() {
    let story = Story::new("\n--- src/notes.txt\nmine\n");
    insta::assert_snapshot!(story.run("check"), @"
    exit 1
    --- stdout
    error[E0108]: no agent, skill, task or setting was found here
    --> .
     = help: create an agent with `agentry init`, or name another directory

    checked 0 agents, 0 skills, 0 tasks: 1 error
    ");
    insta::assert_snapshot!(story.run("check src --format json"), @r#"
    exit 1
    --- stdout
    [
      {
        "code": "E0108",
        "severity": "error",
        "file": "src",
        "line": 1,
        "column": 1,
        "message": "no agent, skill, task or setting was found here",
        "help": "create an agent with `agentry init`, or name another directory"
      }
    ]
    "#);
}

#[test]
fn a_wrong_command_is_exit_2() {
    let story = Story::new("");
    insta::assert_snapshot!(story.run("check nowhere"), @"
    exit 2
    --- stderr
    error: cannot read nowhere: No such file or directory (os error 2)
     help: name an existing directory or file that you may read
    ");
    insta::assert_snapshot!(story.run("check --no-such-flag"), @"
    exit 2
    --- stderr
    error: unexpected argument '--no-such-flag' found

      tip: to pass '--no-such-flag' as a value, use '-- --no-such-flag'

    Usage: agentry check [OPTIONS] [PATHS]...

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(story.run("check --format xml"), @"
    exit 2
    --- stderr
    error: invalid value 'xml' for '--format <FORMAT>'
      [possible values: text, json]

    For more information, try '--help'.
    ");
}

#[test]
fn a_mark_stands_on_whole_characters() {
    let story = Story::new("\n--- agent.yml\nname: a\n--- AGENT.md\nHi.\n");
    story.file("prompts/system.md.liquid", "größer {{ ü }}\n".as_bytes());
    insta::assert_snapshot!(story.run("check"), @"
    exit 1
    --- stdout
    error[E0701]: the template does not parse: expected Value
     --> prompts/system.md.liquid:1:9
      |
    1 | größer {{ ü }}
      |         ^
      |
      = help: the guide's page on agents lists the tags, filters and variables

    checked 1 agent, 0 skills, 0 tasks: 1 error
    ");
}

#[test]
fn text_from_a_file_cannot_steer_the_terminal() {
    let story = Story::new("\n--- agent.yml\n\"na\\e[2Jme\": a\n--- AGENT.md\nHi.\n");
    let said = story.run("check");
    assert!(!said.contains('\u{1b}'), "{said}");
    insta::assert_snapshot!(story.findings("check").escape_debug(), @r"E0301 agent.yml:1:1 error the field `na\u{1b}[2Jme` is not known here\nE0302 agent.yml:1:1 error the field `name` is missing");
}

#[test]
fn a_hundred_findings_of_a_file_are_enough() {
    let story = Story::new("\n--- AGENT.md\nHi.\n");
    let fields: String = (0..130).map(|at| format!("field{at}: 1\n")).collect();
    story.file("agent.yml", format!("name: a\n{fields}").as_bytes());
    let said = story.run("check");
    let last: Vec<&str> = said.lines().rev().take(3).collect();
    insta::assert_snapshot!(last.join("\n"), @"
    checked 1 agent, 0 skills, 0 tasks: 100 errors

    agent.yml: 30 more findings are not shown
    ");
}

#[test]
fn of_a_line_without_end_only_the_part_around_the_mark_is_shown() {
    let story = Story::new("\n--- agent.yml\nname: a\n--- AGENT.md\nHi.\n");
    let long = format!("{}{{{{ nope }}}}{}", "x ".repeat(40_000), "y ".repeat(40_000));
    story.file("prompts/system.md.liquid", long.as_bytes());
    insta::assert_snapshot!(story.run("check"), @"
    exit 0
    --- stdout
    warning[E0702]: `nope` does not exist, so it renders as nothing
     --> prompts/system.md.liquid:1:80004
      |
     ::: 
    1 | ...x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x {{ nope }}y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y ...
      |                                                                   ^^^^
      |
      = help: known here: agent, args, conversation, facts, persona, turn, user

    checked 1 agent, 0 skills, 0 tasks: 1 warning
    ");
}

#[test]
fn an_error_behind_a_hundred_warnings_is_still_one() {
    let story = Story::new("\n--- agent.yml\nname: a\n--- AGENT.md\nHi.\n");
    let warnings: String = (0..120).map(|at| format!("{{{{ nope{at} }}}}\n")).collect();
    story.file("prompts/system.md.liquid", format!("{warnings}{{% if").as_bytes());
    assert_eq!(story.ran_in("", "check").code, Some(1));
    assert_eq!(story.ran_in("", "check --format json").code, Some(1));
    assert_eq!(story.ran_in("", "show prompt").code, Some(1));
}
