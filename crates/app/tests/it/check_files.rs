//! `agentry check` on what should not be there: links, pipes, huge files, bytes that are not text.

use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::story::Story;

const AGENT: &str = "
    --- a/agent.yml
    name: a
    --- a/AGENT.md
    Hi.
    ";

#[test]
fn a_link_out_of_the_root_is_not_followed() {
    let story = Story::new(AGENT);
    story.file("secret.md", b"do not read this");
    symlink("../secret.md", story.path("a/SOUL.md")).expect("links can be made");
    insta::assert_snapshot!(story.run("check a"), @"
    exit 1
    --- stdout
    error[E0104]: this link leads out of the directory, so it is not followed
    --> a/SOUL.md
     = help: copy what it points to, or link to something inside

    checked 1 agent, 0 skills, 0 tasks: 1 error
    ");
    let said = story.run("show prompt a");
    assert!(!said.contains("do not read this"), "{said}");
}

#[test]
fn a_directory_link_out_of_the_root_is_not_followed() {
    let story = Story::new(AGENT);
    story.file("elsewhere/s/SKILL.md", b"---\nname: s\ndescription: Does s.\n---\nDo.\n");
    symlink("../elsewhere", story.path("a/skills")).expect("links can be made");
    insta::assert_snapshot!(story.run("check a"), @"
    exit 1
    --- stdout
    error[E0104]: this link leads out of the directory, so it is not followed
    --> a/skills
     = help: copy what it points to, or link to something inside

    checked 1 agent, 0 skills, 0 tasks: 1 error
    ");
}

#[test]
fn a_link_inside_of_the_root_is_followed() {
    let story = Story::new(AGENT);
    story.file("a/data/voice.md", b"Calm.\n");
    symlink("data/voice.md", story.path("a/SOUL.md")).expect("links can be made");
    insta::assert_snapshot!(story.run("show prompt a --raw"), @"
    exit 0
    --- stdout
    Hi.

    Calm.
    ");
}

#[test]
fn a_link_to_nothing_is_named() {
    let story = Story::new(AGENT);
    symlink("nowhere", story.path("a/USER.md")).expect("links can be made");
    insta::assert_snapshot!(story.run("check a"), @"
    exit 1
    --- stdout
    error[E0105]: this is there but cannot be read: the link points to nothing
    --> a/USER.md
     = help: make sure that it exists and that you may read it

    checked 1 agent, 0 skills, 0 tasks: 1 error
    ");
}

#[test]
fn links_that_lead_round_in_a_circle_end() {
    let story = Story::new(AGENT);
    story.file("a/skills/s/SKILL.md", b"---\nname: s\ndescription: Does s.\n---\nDo.\n");
    symlink("..", story.path("a/skills/s/again")).expect("links can be made");
    symlink("loop", story.path("a/skills/loop")).expect("links can be made");
    insta::assert_snapshot!(story.run("check a"), @"
    exit 1
    --- stdout
    error[E0105]: this is there but cannot be read: the link leads to itself
    --> a/skills/loop
     = help: make sure that it exists and that you may read it

    checked 1 agent, 0 skills, 0 tasks: 1 error
    ");
}

#[test]
fn a_pipe_in_the_place_of_a_file_does_not_hang() {
    let story = Story::new(AGENT);
    let path = story.path("a/SOUL.md");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("pipes can be made");
    insta::assert_snapshot!(story.run("check a"), @"
    exit 1
    --- stdout
    error[E0109]: this is a pipe, a socket or a device
    --> a/SOUL.md
     = help: put a regular file here

    checked 1 agent, 0 skills, 0 tasks: 1 error
    ");
    insta::assert_snapshot!(story.run("show prompt a"), @"
    exit 1
    --- stderr
    error: the agent `a` (a/agent.yml) does not load:
      a/SOUL.md:1:1 E0109 this is a pipe, a socket or a device
     help: `agentry check` shows all its errors
    ");
}

#[test]
fn a_huge_file_is_refused_by_its_size() {
    let story = Story::new(AGENT);
    story.file("a/SOUL.md", &vec![b'x'; 2 * 1024 * 1024]);
    insta::assert_snapshot!(story.run("check a"), @"
    exit 1
    --- stdout
    error[E0102]: the file has 2097152 bytes
    --> a/SOUL.md
     = help: a definition has at most 1048576 bytes

    checked 1 agent, 0 skills, 0 tasks: 1 error
    ");
}

#[test]
fn bytes_that_are_not_text_have_a_place() {
    let story = Story::new(AGENT);
    story.file("a/SOUL.md", b"good\nbad \xff\n");
    story.file("a/USER.md", b"NUL \0 here");
    insta::assert_snapshot!(story.run("check a"), @"
    exit 1
    --- stdout
    error[E0101]: the bytes from here on are not UTF-8
     --> a/SOUL.md:2:5
      |
    2 | bad 
      |     ^
      |
      = help: save the file as UTF-8

    error[E0103]: a NUL byte stands here
     --> a/USER.md:1:5
      |
    1 | NUL ␀ here
      |     ^
      |
      = help: remove it; definitions are plain text

    checked 1 agent, 0 skills, 0 tasks: 2 errors
    ");
}

#[test]
fn a_byte_order_mark_and_carriage_returns_do_no_harm() {
    let story = Story::new("");
    story.file("agent.yml", b"\xef\xbb\xbfname: a\r\ntols: 1\r\n");
    story.file("AGENT.md", b"\xef\xbb\xbfHi.\r\nBye.\r\n");
    insta::assert_snapshot!(story.findings("check"), @"E0301 agent.yml:2:1 error the field `tols` is not known here");
}

#[test]
fn hostile_yaml_has_a_line() {
    let story = Story::new("\n--- AGENT.md\nHi.\n");
    let deep = format!("name: a\nmetadata: {}{}\n", "[".repeat(50_000), "]".repeat(50_000));
    let bomb = "name: a\nx: &x [1, 2]\ny: [*x, *x]\n";
    let tag = "name: !!python/object:os.system a\n";
    let twice = "name: a\nname: b\n";
    let mut said = Vec::new();
    for text in [deep.as_str(), bomb, tag, twice] {
        story.file("agent.yml", text.as_bytes());
        said.push(story.findings("check"));
    }
    insta::assert_snapshot!(said.join("\n"), @"
    E0205 agent.yml:2:43 error this nests too deep
    E0202 agent.yml:2:4 error a YAML anchor or alias stands here
    E0202 agent.yml:3:5 error a YAML anchor or alias stands here
    E0202 agent.yml:3:9 error a YAML anchor or alias stands here
    E0203 agent.yml:1:7 error a YAML tag stands here
    E0204 agent.yml:2:1 error `name` stands here again; it was first on line 1
    ");
}

#[test]
fn other_files_of_a_project_are_none_of_its_business() {
    let story = Story::new(
        "
        --- AGENT.md
        ---
        name: a
        ---
        Hi.
        --- node_modules/x/SKILL.md
        broken
        --- target/SKILL.md
        broken
        --- .git/AGENT.md
        broken
        --- src/lib.rs
        fn main() {}
        ",
    );
    insta::assert_snapshot!(story.run("check"), @"
    exit 0
    --- stdout
    checked 1 agent, 0 skills, 0 tasks: no findings
    ");
}

#[test]
fn a_name_that_is_nearly_one_that_is_read_is_named() {
    let story = Story::new(
        "
        --- a/agent.yml
        name: a
        --- a/AGENT.md
        Hi.
        --- a/Soul.md
        Kind.
        --- a/hook/before_inference +x
        exit 0
        --- a/persona/p/SOUL.md
        P.
        --- a/notes/task.md
        Mine.
        --- b/agent.yaml
        name: b
        --- c/.agentry/agent/x/AGENT.md
        Hi.
        --- c/.agentry/skills/y/Skill.md
        Hi.
        ",
    );
    let found = |path: &str| -> Vec<String> {
        let found = story.json(&format!("check {path} --format json"));
        let found = found.as_array().expect("it is an array").iter();
        found.map(|one| format!("{} {} {}", one["code"], one["file"], one["help"])).collect()
    };
    insta::assert_snapshot!(found("a").join("\n"), @r#"
    "E0112" "a/Soul.md" "did you mean `SOUL.md`?"
    "E0112" "a/hook" "did you mean `hooks`?"
    "E0112" "a/persona" "did you mean `personas`?"
    "#);
    insta::assert_snapshot!(found("b").join("\n"), @r#"
    "E0108" "b" "create an agent with `agentry init`, or name another directory"
    "E0112" "b/agent.yaml" "did you mean `agent.yml`?"
    "#);
    insta::assert_snapshot!(found("c").join("\n"), @r#"
    "E0108" "c" "create an agent with `agentry init`, or name another directory"
    "E0112" "c/.agentry/agent" "did you mean `agents`?"
    "E0112" "c/.agentry/skills/y/Skill.md" "did you mean `SKILL.md`?"
    "#);
}
