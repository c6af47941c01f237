//! Files that other programs or Agentry itself obey are not planted, whatever hides them (X1, X2, X13, X14, X25).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{ALLOW_ALL, bash, hidden, project, run, script, write};
use crate::story::{Ran, Story};

/// A shell program that makes `directory` a repository whose configuration makes git run a program.
fn planted_repository(story: &Story, directory: &str) -> String {
    let out = story.path("OUT");
    format!(
        "mkdir -p {directory}/.git/objects {directory}/.git/refs; \
         echo 'ref: refs/heads/m' > {directory}/.git/HEAD; \
         printf '[core]\\nrepositoryformatversion=0\\nfsmonitor=touch {};\\n' > {directory}/.git/config",
        out.display()
    )
}

/// Lets git visit a directory on the host; nothing that was planted may run.
fn visit(story: &Story, directory: &str) {
    let directory = story.path(directory);
    if directory.is_dir() {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "status"]).current_dir(directory);
        drop(git.env("HOME", story.home("")).output().expect("git runs"));
    }
    assert!(!story.path("OUT").exists(), "a planted program ran on the host");
}

fn there(story: &Story, path: &str) -> bool {
    story.path(path).symlink_metadata().is_ok()
}

/// Waits until a running command has made a file.
fn wait_for(story: &Story, path: &str) {
    let until = Instant::now() + Duration::from_secs(120);
    while !there(story, path) {
        assert!(Instant::now() < until, "{path} was never made");
        std::thread::yield_now();
    }
}

#[test]
fn a_flood_of_protected_names_hides_no_repository() {
    Story::for_each_user("", |story| {
        project(&story, "w", ALLOW_ALL);
        let flood = "python3 -c \"\nimport os\nfor i in range(10050): os.makedirs(f'd{i}'); open(f'd{i}/.envrc','w')\"; ";
        let attack = format!("{flood}{}", planted_repository(&story, "z"));
        script(&story, &[bash(&hidden(&attack)), bash("rm -rf d*")]);
        run(&story, "w", "");
        assert!(!there(&story, "w/z/.git"));
        visit(&story, "w/z");
    });
}

#[test]
fn depth_hides_no_repository() {
    Story::for_each_user("", |story| {
        project(&story, "v", ALLOW_ALL);
        let deep = "p=a; for i in $(seq 131); do p=$p/a; done";
        let plant = format!(
            "{deep}; mkdir -p $p/x; cd $p; {}; echo e > x/.envrc",
            planted_repository(&story, "x")
        );
        let lift = format!("{deep}; mv $p/x x");
        script(&story, &[bash(&hidden(&plant)), bash(&hidden(&lift)), bash("rm -rf a")]);
        run(&story, "v", "");
        assert!(!there(&story, "v/x/.git") && !there(&story, "v/x/.envrc"));
        visit(&story, "v/x");
    });
}

#[test]
fn a_deep_workspace_of_the_owner_works() {
    Story::for_each_user("", |story| {
        project(&story, "w", ALLOW_ALL);
        let deep: String = std::iter::repeat_n("d/", 200).collect();
        fs::create_dir_all(story.path("w").join(&deep)).expect("the tree can be made");
        script(&story, &[bash("touch made")]);
        let ran = run(&story, "w", "");
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(there(&story, "w/made"));
    });
}

#[test]
fn a_second_run_does_not_bring_back_what_the_first_planted() {
    Story::for_each_user("", |story| {
        project(&story, "u", ALLOW_ALL);
        for gate in ["planted", "first", "second"] {
            story.gate(&format!("u/{gate}"));
        }
        // The first run plants, then waits; the second begins meanwhile and ends last.
        script(&story, &[bash(&hidden("echo evil > .envrc; cat first > /dev/null"))]);
        fs::rename(story.path("x.jsonl"), story.path("first.jsonl")).expect("it can be renamed");
        let first = story.talk("run -C u --model scripted:first.jsonl go");
        // The gate opens when the command waits for it, and that is after it planted: hold it open by another command.
        script(&story, &[bash("cat planted > /dev/null; cat second > /dev/null")]);
        wait_for(&story, "u/.envrc");
        let second = story.talk("run -C u --model scripted:x.jsonl go");
        story.open_gate("u/planted", "go");
        story.open_gate("u/first", "go");
        let first = first.end();
        story.open_gate("u/second", "go");
        let second = second.end();
        assert!(!there(&story, "u/.envrc"), "{}\n{}", first.err, second.err);
    });
}

#[test]
fn a_call_that_was_killed_is_checked_before_the_next_one() {
    Story::for_each_user("", |story| {
        project(&story, "k", ALLOW_ALL);
        story.gate("k/never");
        script(&story, &[bash(&hidden("echo evil > .envrc; cat never"))]);
        let killed = story.talk("run -C k --model scripted:x.jsonl go");
        wait_for(&story, "k/.envrc");
        killed.kill();
        script(&story, &[bash("true"), bash("touch went-on")]);
        let ran = run(&story, "k", "");
        assert!(!there(&story, "k/.envrc"), "{}", ran.err);
        assert!(there(&story, "k/went-on"), "{}", ran.err);
    });
}

/// Files that make the workspace an agent that may do everything.
const PLANTED_AGENT: &str = "printf 'name: h\\ntools:\\n  allow: [bash]\\n' > agent.yml; \
     printf -- '---\\ntool_approvals:\\n  rules:\\n    - { tool: Bash, allow: true }\\n---\\nx\\n' > AGENT.md; \
     mkdir context; echo '{\"tools\":{\"shell\":{\"enabled\":true,\"mode\":\"full\"}}}' > context/tool-access.json";

#[test]
fn a_program_cannot_plant_an_agent() {
    Story::for_each_user("", |story| {
        let rules =
            "    - { tool: Bash, allow: true, when: { command: { startsWith: python3 } } }\n";
        project(&story, "p", rules);
        script(&story, &[bash(&hidden(PLANTED_AGENT))]);
        run(&story, "p", "--mode wiggum");
        for path in ["p/agent.yml", "p/AGENT.md", "p/context/tool-access.json"] {
            assert!(!there(&story, path), "{path}");
        }
        script(&story, &[bash("touch unasked")]);
        run(&story, "p", "");
        assert!(!there(&story, "p/unasked"));
    });
}

#[test]
fn no_part_of_a_definition_is_written_by_any_tool_also_where_it_does_not_exist() {
    Story::for_each_user("", |story| {
        story.write("--- a/agent.yml\nname: a\ntools:\n  allow: [bash, write_file]\n--- a/AGENT.md\n---\ntool_approvals:\n  rules:\n    - { tool: Bash, allow: true }\n    - { tool: Write, allow: true }\n---\nx\n--- a/context/tool-access.json\n{\"tools\":{\"shell\":{\"enabled\":true,\"mode\":\"full\"}}}\n");
        let parts = [
            "USER.md",
            "SOUL.md",
            "AGENTS.md",
            "prompts/system.md.liquid",
            "skills/x.md",
            "personas/x/SOUL.md",
            "hooks/before_inference",
            "tools/x/tool.yml",
            "sub/.nanobot/tasks/t/TASK.md",
            ".agentry/skills/s/SKILL.md",
            "sub/other/AGENT.md",
            "sub/skill/SKILL.md",
            "context/soul.json",
        ];
        for part in parts {
            let directory = part.rsplit_once('/').map_or(".", |(directory, _)| directory);
            let shell = hidden(&format!("mkdir -p {directory}; echo obey > {part}"));
            script(&story, &[write(part, "obey"), bash(&shell)]);
            run(&story, "a", "");
            assert!(!there(&story, &format!("a/{part}")), "{part}");
        }
        let Ran { out, .. } = story.ran_in("", "show prompt a");
        assert!(!out.contains("obey"), "{out}");
    });
}

#[test]
fn names_that_other_programs_obey_are_not_planted() {
    Story::for_each_user("", |story| {
        project(&story, "n", ALLOW_ALL);
        let names = [
            ".exrc",
            ".nvim.lua",
            ".zed/tasks.json",
            ".mise.toml",
            "x.code-workspace",
            ".dir-locals.el",
            "lefthook.toml",
            ".windsurf/rules",
            ".kiro/hooks/x",
            "opencode.json",
            "CLAUDE.md",
            ".cursorrules",
            "sub/.nanobot/skills/s/SKILL.md",
            "vendor/x/.envrc",
            "node_modules/x/.git/config",
            "bare/HEAD",
        ];
        let made: Vec<String> = names
            .iter()
            .map(|name| {
                let directory = name.rsplit_once('/').map_or(".", |(directory, _)| directory);
                format!("mkdir -p {directory}; echo x > {name}")
            })
            .chain(["mkdir -p bare/objects bare/refs".to_owned()])
            .collect();
        let mut calls = vec![bash(&hidden(&made.join("; ")))];
        calls.extend(names.iter().map(|name| write(name, "x")));
        calls.extend(["bare/objects/x", "bare/refs/x"].map(|name| write(name, "x")));
        script(&story, &calls);
        run(&story, "n", "");
        let left: Vec<&str> =
            names.into_iter().filter(|name| there(&story, &format!("n/{name}"))).collect();
        let is_repository = there(&story, "n/bare/HEAD") && there(&story, "n/bare/refs");
        assert!(left.iter().all(|name| *name == "bare/HEAD") && !is_repository, "{left:?}");
    });
}

#[test]
fn denied_paths_are_denied_to_every_tool_before_they_exist() {
    Story::for_each_user("", |story| {
        project(&story, "m", ALLOW_ALL);
        script(
            &story,
            &[
                bash(&hidden("mkdir no; echo x > no/a; echo x > bad1")),
                write("no/b", "x"),
                write("./x/../no/c", "x"),
                write("bad2", "x"),
            ],
        );
        run(&story, "m", "-c sandbox.security.denyWrite=[\"./no\",\"./bad*\"]");
        for path in ["no/a", "no/b", "no/c", "bad1", "bad2"] {
            assert!(!there(&story, &format!("m/{path}")), "{path}");
        }
    });
}

#[test]
fn secret_files_are_hidden_at_any_depth_and_under_any_name() {
    Story::for_each_user("", |story| {
        project(
            &story,
            "s",
            "    - { tool: Bash, allow: true }\n    - { tool: Read, allow: true }\n",
        );
        story.file("s/pkg/api/.env", b"N=1\n");
        story.file("s/keys/k", b"KEY=2\n");
        fs::hard_link(story.path("s/keys/k"), story.path("s/h")).expect("the link can be made");
        fs::hard_link(story.path("s/pkg/api/.env"), story.path("s/e"))
            .expect("the link can be made");
        let read = |path: &str| json!({ "name": "Read", "input": { "path": path } });
        script(
            &story,
            &[
                bash("cat pkg/api/.env keys/k h e"),
                read("pkg/api/.env"),
                read("keys/k"),
                read("h"),
                read("e"),
            ],
        );
        let ran = run(&story, "s", "-c sandbox.security.denyRead=[\"./keys\"] --json");
        assert!(!ran.out.contains("N=1") && !ran.out.contains("KEY=2"), "{}", ran.out);
    });
}

#[test]
fn a_directory_that_cannot_be_read_hides_nothing() {
    Story::for_each_user("", |story| {
        project(&story, "d", ALLOW_ALL);
        let attack = format!(
            "mkdir dark; cd dark; {}; cd ..; chmod 000 dark/.git dark",
            planted_repository(&story, "x")
        );
        script(&story, &[bash(&hidden(&attack)), bash(&hidden("chmod -R 755 dark; true"))]);
        run(&story, "d", "");
        if there(&story, "d/dark") {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(story.path("d/dark"), mode).expect("the mode can be set");
        }
        visit(&story, "d/dark/x");
        assert!(!there(&story, "d/dark/x/.git"));
    });
}
