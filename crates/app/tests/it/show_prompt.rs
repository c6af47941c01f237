//! `agentry show prompt`: the sections in order, byte for byte the same wherever they are read.

use serde_json::Value;

use crate::story::Story;

const HELPER: &str = "
    --- helper/agent.yml
    name: helper
    description: Helps
    tools: { allow: [read_file, load_skill] }
    personas: { available: [dry, odd] }
    --- helper/AGENT.md
    Be helpful.
    --- helper/SOUL.md
    Warm.
    --- helper/USER.md
    ---
    name: Ada
    ---
    Ada likes tea.
    --- helper/prompts/system.md.liquid
    You are {{ agent.name }}{% if persona.name %} as {{ persona.name }}{% endif %}, talking with {{ user.name }}.
    --- helper/personas/dry/SOUL.md
    Dry.
    --- helper/personas/odd/system.md.liquid
    Odd {{ agent.name }}.
    --- helper/skills/tea.md
    Boil water first.
    --- helper/skills/brew/SKILL.md
    ---
    name: brew
    description: Brews <b>& pours</b>. Use for tea.
    ---
    Pour slowly.
    ";

fn sections(prompt: &Value) -> Vec<(String, String)> {
    let text = |section: &Value, key: &str| section[key].as_str().unwrap_or_default().to_owned();
    let all = prompt["sections"].as_array().expect("a prompt has sections").iter();
    all.map(|section| (text(section, "name"), text(section, "text"))).collect()
}

#[test]
fn the_sections_their_sizes_and_their_text_are_shown() {
    let story = Story::new(HELPER);
    insta::assert_snapshot!(story.run("show prompt helper"), @"
    exit 0
    --- stdout
    prompt of helper
      section          bytes  tokens  stable  source
      instructions        11       3  yes     helper/AGENT.md
      soul                 5       2  yes     helper/SOUL.md
      user                14       4  yes     helper/USER.md
      template            33       9  yes     helper/prompts/system.md.liquid
      tools              116      29  yes     built
      skills             254      64  yes     helper/skills/brew/SKILL.md, helper/skills/tea.md
      rules                -       -  -       no AGENTS.md
      hook output          -       -  -       no hook ran
      sum                433     111
      stable beginning: 443 bytes, blake3:4b3d7314d9eb74aa456374235c1438a8424567731da1d56a71bdd02bffb5df5d

    ──── instructions
    Be helpful.

    ──── soul
    Warm.

    ──── user
    Ada likes tea.

    ──── template
    You are helper, talking with Ada.

    ──── tools
    # Tools

    - read_file: Read a file, or a range of its lines.
    - load_skill: Load the full text of a skill by its name.

    ──── skills
    # Skills

    ## tea

    Boil water first.

    Load one of these in full with load_skill when its description fits.
    <available_skills>
    <skill><name>brew</name><description>Brews &lt;b&gt;&amp; pours&lt;/b&gt;. Use for tea.</description></skill>
    </available_skills>
    ");
}

#[test]
fn raw_is_the_text_and_nothing_else() {
    let story = Story::new(HELPER);
    let raw = story.out("show prompt helper --raw");
    let json = story.json("show prompt helper --format json");
    assert_eq!(raw.trim_end_matches('\n'), json["text"].as_str().expect("it has a text"));
    insta::assert_snapshot!(story.run("show prompt helper --raw --format json"), @"
    exit 2
    --- stderr
    error: the argument '--raw' cannot be used with '--format <FORMAT>'

    Usage: agentry show prompt --raw <DIR>

    For more information, try '--help'.
    ");
}

#[test]
fn the_bytes_are_the_same_over_runs_and_places() {
    let (one, two) = (Story::new(HELPER), Story::new(HELPER));
    std::fs::create_dir_all(two.path("deep/below")).expect("it can be made");
    std::fs::rename(two.path("helper"), two.path("deep/below/helper")).expect("it can be moved");
    for command in ["show prompt .", "show prompt --raw", "show prompt --format json"] {
        let first = one.run_in("helper", command);
        assert_eq!(first, one.run_in("helper", command));
        assert_eq!(first, two.run_in("deep/below/helper", command));
    }
}

#[test]
fn a_change_of_the_user_moves_nothing_before_it() {
    let story = Story::new(HELPER);
    let before = sections(&story.json("show prompt helper --format json"));
    story.file("helper/USER.md", b"---\nname: Bo\n---\nBo likes coffee.\n");
    let after = sections(&story.json("show prompt helper --format json"));
    let changed: Vec<&str> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after)
        .map(|(before, _)| before.0.as_str())
        .collect();
    assert_eq!(changed, ["user", "template"]);
    assert_eq!(before[..2], after[..2]);
}

#[test]
fn a_persona_replaces_the_soul_and_falls_back_to_the_root() {
    let story = Story::new(HELPER);
    let of = |persona: &str| {
        sections(&story.json(&format!("show prompt helper --format json {persona}")))
    };
    let soul_and_template = |all: &[(String, String)]| (all[1].1.clone(), all[3].1.clone());
    let texts =
        [of(""), of("--persona dry"), of("--persona odd")].map(|all| soul_and_template(&all));
    insta::assert_debug_snapshot!(texts, @r#"
    [
        (
            "Warm.",
            "You are helper, talking with Ada.",
        ),
        (
            "Dry.",
            "You are helper as dry, talking with Ada.",
        ),
        (
            "Warm.",
            "Odd helper.",
        ),
    ]
    "#);
    insta::assert_snapshot!(story.run("show prompt helper --persona drry"), @"
    exit 2
    --- stderr
    error: the agent `helper` has no persona `drry`
     help: did you mean `dry`?
    ");
}

#[test]
fn the_settings_may_choose_the_persona() {
    let story = Story::new(HELPER);
    assert_eq!(
        story.out("show prompt helper --persona dry"),
        story.out("show prompt helper -c agent.persona=dry"),
    );
}

#[test]
fn the_layers_of_a_context_folder_are_the_same_sections() {
    let story = Story::new(
        "
        --- c/context/system_prompt.md
        Be careful.
        --- c/context/soul.json
        { \"soul\": { \"name\": \"Ayati\", \"personality\": [\"patient\"] }, \"voice\": { \"never_do\": [\"pretend\"] } }
        --- c/context/user_profile.json
        { \"name\": \"Ada\", \"languages\": [\"English\"] }
        ",
    );
    insta::assert_snapshot!(story.run("show prompt c"), @"
    exit 0
    --- stdout
    prompt of c
      section          bytes  tokens  stable  source
      instructions        11       3  yes     c/context/system_prompt.md
      soul                86      22  yes     c/context/soul.json
      user                47      12  yes     c/context/user_profile.json
      template             -       -  -       no template
      tools              386      97  yes     built
      skills               -       -  -       no skills
      rules                -       -  -       no AGENTS.md
      hook output          -       -  -       no hook ran
      sum                530     134
      stable beginning: 536 bytes, blake3:bf477fe6586b46aecf611ae59822d97b059befcb84ce5e591e5aed26e9d96a09

    ──── instructions
    Be careful.

    ──── soul
    # Soul
    - soul:
      - name: Ayati
      - personality: patient
    - voice:
      - never do: pretend

    ──── user
    # User Profile
    - name: Ada
    - languages: English

    ──── tools
    # Tools

    - read_file: Read a file, or a range of its lines.
    - write_file: Create or replace a file.
    - edit_file: Replace an exact piece of text in a file.
    - glob: Find files by name pattern.
    - grep: Search file contents with a regular expression.
    - bash: Run a shell command in the sandbox.
    - web_fetch: Fetch a web page as text.
    - load_skill: Load the full text of a skill by its name.
    ");
}

#[test]
fn the_stable_beginning_ends_where_the_turn_begins() {
    let story = Story::new(HELPER);
    let stable = |prompt: &Value| (prompt["stable_bytes"].clone(), prompt["stable_hash"].clone());
    let whole = story.json("show prompt helper --format json");
    assert_eq!(whole["stable_bytes"], whole["text"].as_str().expect("a text").len());

    story.file("helper/prompts/system.md.liquid", b"Turn {{ turn.id }}.\n");
    let first = story.json("show prompt helper --format json");
    assert_eq!(first["sections"][3]["stable"], false);
    let beginning = "Be helpful.\n\nWarm.\n\nAda likes tea.";
    assert_eq!(first["stable_bytes"], beginning.len());
    insta::assert_snapshot!(story.findings("check helper"), @"E0704 helper/prompts/system.md.liquid:1:9 warning `turn.id` changes, and with it all of the prompt that follows");

    // Only what belongs to the turn changes, so the beginning stays as it is.
    story.file("helper/prompts/system.md.liquid", b"This is turn {{ turn.id }} of many.\n");
    let second = story.json("show prompt helper --format json");
    assert_ne!(first["text"], second["text"]);
    assert_eq!(stable(&first), stable(&second));
    assert_ne!(stable(&first), stable(&whole));
}

#[test]
fn the_rules_of_the_workspace_are_a_section() {
    let story = Story::new(HELPER);
    story.file("helper/AGENTS.md", b"Run the tests.\n");
    let prompt = story.json("show prompt helper --format json");
    insta::assert_snapshot!(prompt["sections"][6], @r#"{"name":"rules","source":"helper/AGENTS.md","stable":true,"left_out":null,"bytes":14,"tokens":4,"text":"Run the tests."}"#);
}

#[test]
fn a_variable_that_does_not_exist_is_nothing_and_is_warned_about() {
    let story = Story::new(HELPER);
    story
        .file("helper/prompts/system.md.liquid", b"[{{ facts.nope }}{{ agent.nmae }}{{ nope }}]\n");
    insta::assert_snapshot!(story.findings("check helper"), @"
    E0702 helper/prompts/system.md.liquid:1:5 warning `facts.nope` does not exist, so it renders as nothing
    E0702 helper/prompts/system.md.liquid:1:21 warning `agent.nmae` does not exist, so it renders as nothing
    E0702 helper/prompts/system.md.liquid:1:37 warning `nope` does not exist, so it renders as nothing
    ");
    assert_eq!(sections(&story.json("show prompt helper --format json"))[3].1, "[]");
}
