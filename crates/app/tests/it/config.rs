//! `agentry config show`: four layers, and which of them made each value.

use crate::story::Story;

const PROJECT: &str = "
    --- agentry.toml
    [agent]
    model = \"from-the-project\"
    persona = \"calm\"

    [agent.args]
    house = \"north\"

    [limits]
    steps = 10

    [skills]
    roots = [\"shared/skills\"]
    ";

fn with_user_settings(story: &Story) {
    let directory = story.home(".config/agentry");
    std::fs::create_dir_all(&directory).expect("it can be made");
    let text =
        "[agent]\nmodel = \"from-the-user\"\nname = \"mine\"\n\n[limits]\nsteps = 5\ncalls = 7\n";
    std::fs::write(directory.join("agentry.toml"), text).expect("it can be written");
}

#[test]
fn nothing_set_is_said_so() {
    insta::assert_snapshot!(Story::new("").run("config show"), @"
    exit 0
    --- stdout
    # nothing is set; the built-in values apply
    ");
}

#[test]
fn a_later_layer_wins_value_by_value() {
    let story = Story::new(PROJECT).with("AGENTRY_AGENT_PERSONA", "from-the-environment");
    with_user_settings(&story);
    insta::assert_snapshot!(story.run("config show --origin -c limits.steps=3"), @r#"
    exit 0
    --- stdout
    agent.args.house = "north"  # agentry.toml:6:9
    agent.model = "from-the-project"  # agentry.toml:2:9
    agent.name = "mine"  # [tmp]/home/.config/agentry/agentry.toml:3:8
    agent.persona = "from-the-environment"  # environment AGENTRY_AGENT_PERSONA
    limits.calls = 7  # [tmp]/home/.config/agentry/agentry.toml:7:9
    limits.steps = 3  # flag -c limits.steps=3
    skills.roots = ["shared/skills"]  # agentry.toml:12:9
    "#);
    insta::assert_snapshot!(story.run("config show"), @r#"
    exit 0
    --- stdout
    agent.args.house = "north"
    agent.model = "from-the-project"
    agent.name = "mine"
    agent.persona = "from-the-environment"
    limits.calls = 7
    limits.steps = 10
    skills.roots = ["shared/skills"]
    "#);
    insta::assert_snapshot!(story.run("config show --format json -c agent.args.house=south"), @r#"
    exit 0
    --- stdout
    {
      "agent.args.house": {
        "value": "south",
        "origin": "flag -c agent.args.house=south"
      },
      "agent.model": {
        "value": "from-the-project",
        "origin": "agentry.toml:2:9"
      },
      "agent.name": {
        "value": "mine",
        "origin": "[tmp]/home/.config/agentry/agentry.toml:3:8"
      },
      "agent.persona": {
        "value": "from-the-environment",
        "origin": "environment AGENTRY_AGENT_PERSONA"
      },
      "limits.calls": {
        "value": 7,
        "origin": "[tmp]/home/.config/agentry/agentry.toml:7:9"
      },
      "limits.steps": {
        "value": 10,
        "origin": "agentry.toml:9:9"
      },
      "skills.roots": {
        "value": [
          "shared/skills"
        ],
        "origin": "agentry.toml:12:9"
      }
    }
    "#);
}

#[test]
fn a_mistake_in_any_layer_is_shown_at_its_place() {
    let story = Story::new("\n--- agentry.toml\n[agent]\nmodle = \"x\"\n")
        .with("AGENTRY_AGENT_MODLE", "x")
        .with("AGENTRY_LIMITS_STEPS", "many");
    insta::assert_snapshot!(story.run("config show -c agent.nmae=x -c nonsense"), @r#"
    exit 1
    --- stdout
    # nothing is set; the built-in values apply
    --- stderr
    error[E0301]: the field `modle` is not known here
     --> agentry.toml:2:1
      |
    2 | modle = "x"
      | ^^^^^
      |
      = help: did you mean `model`?

    warning[E0904]: AGENTRY_AGENT_MODLE is set but has no meaning
    --> environment AGENTRY_AGENT_MODLE
     = help: did you mean `AGENTRY_AGENT_MODEL`?

    error[E0303]: `steps` must be a whole number, but is text
     --> environment AGENTRY_LIMITS_STEPS:1:16
      |
    1 | limits.steps = "many"
      |                ^^^^^^

    error[E0301]: the field `nmae` is not known here
     --> flag -c agent.nmae=x:1:7
      |
    1 | agent.nmae = "x"
      |       ^^^^
      |
      = help: did you mean `name`?

    error[E0905]: `nonsense` has no `=`
     --> flag -c nonsense:1:1
      |
    1 | nonsense
      | ^^^^^^^^
      |
      = help: write -c agent.model=some-model
    "#);
}

#[test]
fn settings_reach_the_agent_with_their_origin() {
    let story = Story::new(PROJECT);
    story.write("\n--- agent.yml\nname: a\n--- AGENT.md\nHi.\n");
    with_user_settings(&story);
    let agent = story.json("show agent --format json");
    insta::assert_snapshot!(agent["models"]["candidates"], @r#"[{"value":"from-the-project","origin":"agentry.toml:2:9"}]"#);
    insta::assert_snapshot!(agent["values"]["args"], @r#"{"house":{"value":"north","origin":"agentry.toml:6:9"}}"#);
}

#[test]
fn a_project_may_not_name_a_skill_root_outside_of_itself() {
    let story = Story::new(
        "\n--- p/agentry.toml\n[skills]\nroots = [\"../elsewhere\", \"~/x\", \"gone\"]\n",
    );
    story.file("elsewhere/s/SKILL.md", b"---\nname: s\ndescription: Does s.\n---\nDo.\n");
    insta::assert_snapshot!(story.run("check p"), @r#"
    exit 0
    --- stdout
    warning[E0902]: the skill root `../elsewhere` lies outside of the project, which a project may not name
     --> p/agentry.toml:2:10
      |
    2 | roots = ["../elsewhere", "~/x", "gone"]
      |          ^^^^^^^^^^^^^^
      |
      = help: name it in your own settings

    warning[E0902]: the skill root `~/x` lies outside of the project, which a project may not name
     --> p/agentry.toml:2:26
      |
    2 | roots = ["../elsewhere", "~/x", "gone"]
      |                          ^^^^^
      |
      = help: name it in your own settings

    warning[E0902]: the skill root `gone` does not exist
     --> p/agentry.toml:2:33
      |
    2 | roots = ["../elsewhere", "~/x", "gone"]
      |                                 ^^^^^^
      |
      = help: create it, or change the setting

    checked 0 agents, 0 skills, 0 tasks: 3 warnings
    "#);
}

#[test]
fn a_skill_root_that_is_a_link_does_not_lead_out_of_the_project() {
    let story = Story::new("\n--- p/agentry.toml\n[skills]\nroot = \"lib\"\n");
    story.file("elsewhere/s/SKILL.md", b"---\nname: s\ndescription: Does s.\n---\nDo.\n");
    std::os::unix::fs::symlink(story.path("elsewhere"), story.path("p/lib")).expect("it can");
    let ran = story.run("check p");
    assert!(ran.contains("the skill root `lib` lies outside of the project"), "{ran}");
    assert!(ran.contains("checked 0 agents, 0 skills, 0 tasks"), "{ran}");
}

#[test]
fn the_user_may_name_a_skill_root_anywhere() {
    let story = Story::new("\n--- p/agent.yml\nname: p\n--- p/AGENT.md\nHi.\n");
    let directory = story.home(".config/agentry");
    std::fs::create_dir_all(&directory).expect("it can be made");
    std::fs::create_dir_all(story.home("lib/s")).expect("it can be made");
    std::fs::write(directory.join("agentry.toml"), "[skills]\nroot = \"~/lib\"\n").expect("it can");
    let skill = "---\nname: s\ndescription: Does s.\n---\nDo.\n";
    std::fs::write(story.home("lib/s/SKILL.md"), skill).expect("it can be written");
    insta::assert_snapshot!(story.run("check p"), @"
    exit 0
    --- stdout
    checked 1 agent, 0 skills, 0 tasks: no findings
    ");
}

#[test]
fn the_rules_may_stand_in_another_file_of_the_project() {
    let story = Story::new(
        "
        --- p/agentry.toml
        [rules]
        root = \"docs/rules.md\"
        --- p/docs/rules.md
        Run the tests.
        --- p/agent.yml
        name: p
        --- p/AGENT.md
        Hi.
        ",
    );
    insta::assert_snapshot!(story.run("show prompt p --raw"), @"
    exit 0
    --- stdout
    Hi.

    Run the tests.
    ");
    story.file("outside.md", b"secret");
    story.file("p/agentry.toml", b"[rules]\nroot = \"../outside.md\"\n");
    insta::assert_snapshot!(story.findings("check p"), @"E0902 p/agentry.toml:2:8 warning the rules file `../outside.md` is not there");
}
