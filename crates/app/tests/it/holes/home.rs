//! Holes of the attack review: the home of commands (X3), copies (X6), temporary files (X10), pipes (X24).

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::{ALLOW_ALL, bash, named_project, run, script};
use crate::story::Story;

const TOKEN: &str = "ghp_0123456789abcdefghij";

/// Puts a program where every later Python of the same home runs it: it writes the secret down.
const PLANT: &str = "d=$(/usr/bin/python3 -m site --user-site); mkdir -p $d; \
     echo 'import os; open(os.path.expanduser(\"~/l\"), \"w\").write(os.environ.get(\"GH\", \"\")[::-1])' \
     > $d/usercustomize.py; ls $d > planted";

/// A user whose commands get a secret in the variable `GH`.
fn story_with_secret(more: &str) -> Story {
    with_secret(Story::new(""), more)
}

fn with_secret(story: Story, more: &str) -> Story {
    let story = story.with("TOK", TOKEN);
    let settings =
        format!("{more}[secrets.github]\nfor = [\"tool:bash\"]\nas = \"GH\"\nenv = \"TOK\"\n");
    fs::create_dir_all(story.home(".config/agentry")).expect("it can be made");
    fs::write(story.home(".config/agentry/agentry.toml"), settings).expect("it can be written");
    story
}

fn runs(story: &Story, directory: &str, command: &str) {
    script(story, &[bash(command)]);
    let ran = run(story, directory, "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

fn sends(story: &Story, how: &str, command: &str) {
    script(story, &[bash(command)]);
    let ran = story.ran_in("", &format!("send --model scripted:x.jsonl {how} go"));
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

#[test]
fn code_that_another_project_left_in_its_home_does_not_run_beside_a_secret() {
    Story::for_each_user("", |story| {
        let story = with_secret(story, "");
        for directory in ["evil", "mine"] {
            named_project(&story, directory, "coder", ALLOW_ALL);
        }
        runs(&story, "evil", PLANT);
        assert_eq!(story.read("evil/planted"), "usercustomize.py\n");
        runs(&story, "mine", "/usr/bin/python3 -c 1; ls -A ~ > seen");
        assert_eq!(story.read("mine/seen"), "");
        runs(&story, "evil", "cat ~/l > loot; ls -A ~ > seen");
        assert_eq!(
            (story.read("evil/loot"), story.read("evil/seen")),
            (String::new(), String::new())
        );
    });
}

#[test]
fn a_home_lasts_as_long_as_its_run_and_nothing_of_it_is_left() {
    let story = story_with_secret("");
    named_project(&story, "mine", "coder", ALLOW_ALL);
    script(&story, &[bash("echo kept > ~/x"), bash("cat ~/x > seen; echo $HOME >> seen")]);
    let ran = run(&story, "mine", "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(story.read("mine/seen"), "kept\n/run/home\n");
    let homes = story.home(".local/state/agentry/run-homes");
    assert_eq!(fs::read_dir(homes).expect("they were there").count(), 0);
}

/// Casey is a friend who may run commands, without any credential.
fn with_friend(story: &Story) {
    named_project(story, ".", "coder", ALLOW_ALL);
    let policy = b"
policies:
  - name: friends
    match: { principal: { relationship: friend } }
    effect: allow
    permissions: { tools: [bash], credentials: [] }
    session: { key: \"friend:{principal.name}\" }
    priority: 50
";
    story.file(".agentry/access/friends.yml", policy);
    story.out("entities add --name Casey --relationship friend --identity telegram:42");
}

#[test]
fn a_friend_does_not_read_the_secret_of_the_owner_through_a_home() {
    for settings in ["", "[sandbox.home]\npersist = \"project\"\n"] {
        Story::for_each_user("", |story| {
            let story = with_secret(story, settings);
            with_friend(&story);
            sends(&story, "--channel telegram --from 42 --id m1", PLANT);
            assert_eq!(story.read("planted"), "usercustomize.py\n");
            let look =
                "/usr/bin/python3 -c 1; test -n \"$GH\" && echo secret > seen; ls -A ~ >> seen";
            sends(&story, "--id o1", look);
            assert_eq!(story.read("seen"), "secret\n");
            sends(&story, "--channel telegram --from 42 --id m2", "cat ~/l > loot; true");
            assert_eq!(story.read("loot"), "");
        });
    }
}

#[test]
fn a_home_that_the_owner_wants_kept_is_kept_for_one_project_only() {
    let story = story_with_secret("[sandbox.home]\npersist = \"project\"\n");
    for directory in ["mine", "other"] {
        named_project(&story, directory, "coder", ALLOW_ALL);
    }
    symlink(story.path("mine"), story.path("link")).expect("links can be made");
    runs(&story, "mine", "echo kept > ~/x");
    runs(&story, "link", "cat ~/x > seen");
    assert_eq!(story.read("mine/seen"), "kept\n");
    runs(&story, "other", "ls -A ~ > seen");
    assert_eq!(story.read("other/seen"), "");
    let homes = fs::read_dir(story.home(".local/state/agentry/persistent-homes"));
    let modes: Vec<u32> = homes
        .expect("they are there")
        .map(|home| home.expect("it can be read").metadata().expect("it is there").mode() & 0o777)
        .collect();
    assert_eq!(modes, [0o700, 0o700]);
}

#[test]
fn a_project_cannot_ask_for_a_home_that_persists() {
    let story = story_with_secret("");
    named_project(&story, "mine", "coder", ALLOW_ALL);
    story.file("mine/agentry.toml", b"[sandbox.home]\npersist = \"project\"\n");
    let findings = story.findings("check mine");
    assert!(findings.contains("E0906"), "{findings}");
    assert!(findings.contains("the project may not let the home of commands persist"));
    runs(&story, "mine", "echo kept > ~/x");
    runs(&story, "mine", "ls -A ~ > seen");
    assert_eq!(story.read("mine/seen"), "");
}

#[test]
fn doctor_names_the_homes_of_earlier_versions() {
    let story = Story::new("");
    fs::create_dir_all(story.home(".local/state/agentry/homes/coder")).expect("it can be made");
    let ran = story.ran_in("", "doctor");
    assert!(ran.out.contains("Old directories"), "{}", ran.out);
    assert!(ran.out.contains("/.local/state/agentry/homes\n"), "{}", ran.out);
    assert!(story.home(".local/state/agentry/homes/coder").is_dir());
}

#[test]
fn a_copy_has_no_set_user_bit_no_other_owner_and_no_repository_inside() {
    let story = Story::new(
        "
        --- source/agent.yml
        name: source
        --- source/AGENT.md
        Be brief.
        --- source/tool +x
        #!/bin/sh
        --- source/sub/.git/config
        [core]
        fsmonitor = touch ran
        --- source/module/.git
        gitdir: ../sub/.git
        --- source/bare/HEAD
        ref: refs/heads/main
        --- source/bare/objects/x
        --- source/bare/refs/x
        ",
    );
    let tool = story.path("source/tool");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&tool, Some(65534), Some(65534)).expect("root may");
    }
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o6755)).expect("it can be set");
    story.gate("source/pipe");
    let ran = story.ran_in("", "init copy --from source");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for left_out in ["sub/.git", "module/.git", "bare", "pipe"] {
        assert!(
            ran.err.contains(&format!("source/{left_out} was not copied: it is ")),
            "{}",
            ran.err
        );
    }
    let facts = fs::metadata(story.path("copy/tool")).expect("it was copied");
    assert_eq!(facts.mode() & 0o7777 & !0o022, 0o755);
    assert_eq!(facts.uid(), rustix::process::geteuid().as_raw());
    assert_eq!(story.tree("copy"), "AGENT.md\nagent.yml\nagentry.toml\ntool");
}

#[test]
fn a_clone_has_no_link_that_leads_out_and_no_repository_inside() {
    let story = Story::new(
        "
        --- source/agent.yml
        name: source
        --- source/AGENT.md
        Be brief.
        --- source/bare/HEAD
        ref: refs/heads/main
        --- source/bare/config
        [core]
        fsmonitor = touch ran
        --- source/bare/objects/x
        x
        --- source/bare/refs/x
        x
        ",
    );
    symlink("/etc/passwd", story.path("source/out")).expect("links can be made");
    symlink("AGENT.md", story.path("source/within")).expect("links can be made");
    story.git("source", &["init", "--quiet"]);
    story.git("source", &["add", "."]);
    story.git("source", &["commit", "--quiet", "-m", "Begin"]);
    let ran = story.ran_in("", "init copy --from source");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("copy/bare was not copied"), "{}", ran.err);
    assert!(ran.err.contains("copy/out was not copied"), "{}", ran.err);
    assert!(
        !story.path("copy/bare").exists() && story.path("copy/out").symlink_metadata().is_err()
    );
    assert!(story.path("copy/within").is_file());
    assert_eq!(story.git("copy", &["status", "--short"]), "");
}

/// Nobody but its owner has anything of what lies below a directory, the directory itself included.
#[track_caller]
fn assert_closed(directory: &Path) {
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(facts) = path.symlink_metadata() else { continue };
        if facts.file_type().is_symlink() {
            continue;
        }
        assert_eq!(facts.mode() & 0o077, 0, "{} is {:o}", path.display(), facts.mode());
        if facts.is_dir() {
            open.extend(fs::read_dir(path).into_iter().flatten().flatten().map(|one| one.path()));
        }
    }
}

/// An agent whose hook says that it runs at one gate, and waits at another; temporary files have their own place.
fn story_with_hook() -> Story {
    let story = Story::new(
        "
        --- f/agent.yml
        name: f
        hooks:
          before_inference: true
        --- f/AGENT.md
        x
        --- f/hooks/before_inference +x
        #!/bin/sh
        cat here > /dev/null
        cat go > /dev/null
        echo '{}'
        ",
    );
    for gate in ["f/here", "f/go"] {
        story.gate(gate);
    }
    let temporary = story.path("temporary");
    fs::create_dir(&temporary).expect("it can be made");
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)).expect("it can be set");
    story.file("x.jsonl", br#"{"text":"ok"}"#);
    let story = story.with("TMPDIR", &temporary.display().to_string());
    story.out("trust f --yes");
    story
}

const RUN: &str = "run -C f --model scripted:x.jsonl 'my password is hunter2'";

fn temporary(story: &Story) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(story.path("temporary")).expect("it is there");
    entries.map(|entry| entry.expect("it can be read").path()).collect()
}

#[test]
fn while_a_hook_runs_nobody_else_reads_its_files_and_afterwards_none_is_left() {
    let story = story_with_hook();
    let talk = story.talk(RUN);
    story.open_gate("f/here", "x");
    let made = temporary(&story);
    assert!(!made.is_empty());
    made.iter().for_each(|path| assert_closed(path));
    assert_closed(&story.home(".local/state/agentry"));
    story.open_gate("f/go", "x");
    let ran = talk.end();
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(temporary(&story), [""; 0].map(std::path::PathBuf::from));
}

#[test]
fn what_a_killed_process_left_is_removed_at_the_next_start() {
    let story = story_with_hook();
    let talk = story.talk(RUN);
    story.open_gate("f/here", "x");
    let left = temporary(&story);
    assert!(!left.is_empty());
    talk.kill();
    assert!(left.iter().any(|path| path.exists()), "it was killed before it could remove them");
    let talk = story.talk(RUN);
    story.open_gate("f/here", "x");
    assert!(left.iter().all(|path| !path.exists()), "{left:?}");
    story.open_gate("f/go", "x");
    assert_eq!(talk.end().code, Some(0));
    assert_eq!(temporary(&story), [""; 0].map(std::path::PathBuf::from));
}

#[test]
fn a_pipe_is_refused_as_weights_and_not_waited_for() {
    let story = Story::new("");
    story.gate("fifo.gguf");
    let ran = story.ran_in("", "pull fifo.gguf --as x");
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("it is not a regular file"), "{}", ran.err);
}
