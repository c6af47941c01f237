//! `agentry init` from a bundled profile or blank: what is written, committed and refused.

use crate::story::Story;

#[test]
fn the_default_profile_is_written_committed_and_checked() {
    let story = Story::new("");
    insta::assert_snapshot!(story.run("init helper"), @"
    exit 0
    --- stdout
    created helper from default-assistant
    note[E0410]: `memory_search` is left out: this host does not have it
      --> helper/agent.yml:13:7
       |
    13 |     - memory_search
       |       ^^^^^^^^^^^^^

    note[E0410]: `memory_store` is left out: this host does not have it
      --> helper/agent.yml:14:7
       |
    14 |     - memory_store
       |       ^^^^^^^^^^^^

    note[E0410]: `web_search` is left out: it needs a search service, and none is configured
      --> helper/agent.yml:15:7
       |
    15 |     - web_search
       |       ^^^^^^^^^^

    next: edit helper/AGENT.md, then `agentry check helper` and `agentry show prompt helper`
    ");
    insta::assert_snapshot!(story.tree("helper"), @"
    AGENT.md
    SOUL.md
    USER.md
    agent.yml
    agentry.toml
    prompts/system.md.liquid
    ");
    insta::assert_snapshot!(story.read("helper/agentry.toml"), @r#"
    [agent]
    profile_source = "default-assistant"
    "#);
}

#[test]
fn the_history_is_one_commit_on_main_and_nothing_is_left_over() {
    let story = Story::new("");
    story.out("init helper");
    let log = story.git("helper", &["log", "--format=%an <%ae> %s"]);
    insta::assert_snapshot!(log, @"Agentry <agentry@localhost> Create the agent from the profile default-assistant");
    assert_eq!(story.git("helper", &["branch", "--show-current"]), "main");
    assert_eq!(story.git("helper", &["status", "--short"]), "");
}

#[test]
fn a_commit_is_by_the_user_that_git_knows() {
    let story = Story::new("");
    let settings = "[user]\n\tname = Ada\n\temail = ada@example.com\n";
    std::fs::write(story.home(".gitconfig"), settings).expect("it can be written");
    story.out("init helper --blank");
    assert_eq!(story.git("helper", &["log", "--format=%an <%ae>"]), "Ada <ada@example.com>");
}

#[test]
fn the_coder_has_skills_and_a_persona() {
    let story = Story::new("");
    insta::assert_snapshot!(story.run("init helper --profile coder"), @"
    exit 0
    --- stdout
    created helper from coder
    note[E0410]: `git_status` is left out: this host does not have it
      --> helper/agent.yml:20:7
       |
    20 |     - git_status
       |       ^^^^^^^^^^

    note[E0410]: `git_diff` is left out: this host does not have it
      --> helper/agent.yml:21:7
       |
    21 |     - git_diff
       |       ^^^^^^^^

    note[E0410]: `git_log` is left out: this host does not have it
      --> helper/agent.yml:22:7
       |
    22 |     - git_log
       |       ^^^^^^^

    note[E0410]: `git_show` is left out: this host does not have it
      --> helper/agent.yml:23:7
       |
    23 |     - git_show
       |       ^^^^^^^^

    note[E0410]: `git_commit` is left out: this host does not have it
      --> helper/agent.yml:24:7
       |
    24 |     - git_commit
       |       ^^^^^^^^^^

    next: edit helper/AGENT.md, then `agentry check helper` and `agentry show prompt helper`
    ");
    insta::assert_snapshot!(story.tree("helper"), @"
    AGENT.md
    SOUL.md
    agent.yml
    agentry.toml
    personas/reviewer/SOUL.md
    prompts/system.md.liquid
    skills/careful-edit/SKILL.md
    skills/fix-a-bug/SKILL.md
    ");
}

#[test]
fn the_mac_assistant_says_what_this_machine_lacks() {
    let story = Story::new("");
    let ran = story.ran_in("", "init helper --profile mac-assistant");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    insta::assert_snapshot!(story.tree("helper"), @"
    AGENT.md
    SOUL.md
    agent.yml
    agentry.toml
    prompts/system.md.liquid
    ");
}

#[test]
fn every_profile_passes_a_strict_check_with_notes_at_most() {
    let story = Story::new("");
    for profile in ["default-assistant", "coder", "mac-assistant"] {
        story.out(&format!("init {profile} --profile {profile}"));
        story.out(&format!("check --strict {profile}"));
        let findings = story.json(&format!("check --strict --format json {profile}"));
        let severities: Vec<_> =
            findings.as_array().expect("an array").iter().map(|one| &one["severity"]).collect();
        assert!(severities.iter().all(|severity| **severity == "note"), "{profile}: {findings}");
    }
}

#[test]
fn a_blank_agent_has_only_what_is_required() {
    let story = Story::new("");
    insta::assert_snapshot!(story.run("init helper --blank"), @"
    exit 0
    --- stdout
    created helper from blank
    next: edit helper/AGENT.md, then `agentry check helper` and `agentry show prompt helper`
    ");
    insta::assert_snapshot!(story.tree("helper"), @"
    AGENT.md
    agent.yml
    agentry.toml
    ");
    insta::assert_snapshot!(story.read("helper/agent.yml"), @r#"name: "helper""#);
    insta::assert_snapshot!(story.read("helper/AGENT.md"), @"Answer briefly and truthfully. Say so when you do not know.");
    insta::assert_snapshot!(story.run("check --strict helper"), @"
    exit 0
    --- stdout
    checked 1 agent, 0 skills, 0 tasks: no findings
    ");
}

#[test]
fn a_blank_agent_in_the_current_directory_has_its_name() {
    let story = Story::new("");
    std::fs::create_dir(story.path("helper")).expect("it can be made");
    insta::assert_snapshot!(story.run_in("helper", "init . --blank"), @"
    exit 0
    --- stdout
    created . from blank
    next: edit ./AGENT.md, then `agentry check .` and `agentry show prompt .`
    ");
    insta::assert_snapshot!(story.read("helper/agent.yml"), @r#"name: "helper""#);
}

#[test]
fn an_arg_is_kept_in_the_settings_and_reaches_the_template() {
    let story = Story::new("");
    story.out("init helper --blank --arg house=north --arg 'motto=say \"hi\", \\o/'");
    insta::assert_snapshot!(story.read("helper/agentry.toml"), @r#"
    [agent]
    profile_source = "blank"

    [agent.args]
    house = "north"
    motto = "say \"hi\", \\o/"
    "#);
    story.file("helper/prompts/system.md.liquid", b"House {{ args.house }}: {{ args.motto }}\n");
    insta::assert_snapshot!(story.run("check --strict helper"), @"
    exit 0
    --- stdout
    checked 1 agent, 0 skills, 0 tasks: no findings
    ");
    insta::assert_snapshot!(story.run("show prompt helper --raw"), @r#"
    exit 0
    --- stdout
    Answer briefly and truthfully. Say so when you do not know.

    House north: say "hi", \o/
    "#);
}

#[test]
fn an_arg_without_a_key_and_a_value_is_refused() {
    let story = Story::new("");
    insta::assert_snapshot!(story.run("init helper --blank --arg house"), @"
    exit 2
    --- stderr
    error: `--arg house` is not KEY=VALUE
     help: write --arg tone=friendly; keys have letters, digits, `_` and `-`
    ");
    insta::assert_snapshot!(story.run("init helper --blank --arg 'a b=c'"), @"
    exit 2
    --- stderr
    error: `--arg a b=c` is not KEY=VALUE
     help: write --arg tone=friendly; keys have letters, digits, `_` and `-`
    ");
    assert_eq!(story.tree(""), "");
}

#[test]
fn a_directory_that_holds_something_is_left_alone() {
    let story = Story::new(
        "
        --- full/notes.txt
        mine
        --- file
        not a directory
        ",
    );
    insta::assert_snapshot!(story.run("init full"), @"
    exit 2
    --- stderr
    error: full is not empty
     help: name a new directory; nothing was written
    ");
    insta::assert_snapshot!(story.run("init file"), @"
    exit 2
    --- stderr
    error: file cannot be used: Not a directory (os error 20)
     help: name a new directory; nothing was written
    ");
    insta::assert_snapshot!(story.tree(""), @"
    file
    full/notes.txt
    ");
    assert!(!story.path("full/.git").exists());
}

#[test]
fn an_empty_directory_may_be_used() {
    let story = Story::new("");
    std::fs::create_dir(story.path("empty")).expect("it can be made");
    story.out("init empty --profile coder");
}

#[test]
fn an_agent_has_one_beginning() {
    let story = Story::new("");
    insta::assert_snapshot!(story.run("init helper --profile coder --blank"), @"
    exit 2
    --- stderr
    error: the argument '--profile <PROFILE>' cannot be used with '--blank'

    Usage: agentry init --profile <PROFILE> <DIR>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(story.run("init helper --blank --from elsewhere"), @"
    exit 2
    --- stderr
    error: the argument '--blank' cannot be used with '--from <URL|PATH>'

    Usage: agentry init --blank <DIR>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(story.run("init helper --profile poet"), @"
    exit 2
    --- stderr
    error: invalid value 'poet' for '--profile <PROFILE>'
      [possible values: default-assistant, coder, mac-assistant]

    For more information, try '--help'.
    ");
    assert_eq!(story.tree(""), "");
}
