//! `agentry init --from`: a directory is copied, a repository is cloned, neither can harm.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::story::Story;

const AGENT: &str = "
    --- source/agent.yml
    name: source
    --- source/AGENT.md
    Be brief.
    --- source/notes.txt
    kept
    ";

#[test]
fn a_directory_is_copied_whole_with_its_modes() {
    let story = Story::new(AGENT);
    story.write("\n--- source/tools/run.sh +x\n#!/bin/sh\n");
    insta::assert_snapshot!(story.run("init copy --from source"), @"
    exit 0
    --- stdout
    created copy from source
    next: edit copy/AGENT.md, then `agentry check copy` and `agentry show prompt copy`
    ");
    insta::assert_snapshot!(story.tree("copy"), @"
    AGENT.md
    agent.yml
    agentry.toml
    notes.txt
    tools/run.sh
    ");
    insta::assert_snapshot!(story.read("copy/agentry.toml"), @r#"
    [agent]
    profile_source = "source"
    "#);
    insta::assert_snapshot!(story.git("copy", &["log", "--format=%s"]), @"Create the agent from source");
    assert_eq!(story.git("copy", &["status", "--short"]), "");
    let mode = story.path("copy/tools/run.sh").metadata().expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o111, 0o111);
}

#[test]
fn a_link_in_a_directory_is_left_behind_loudly() {
    let story = Story::new(AGENT);
    symlink("notes.txt", story.path("source/link.txt")).expect("links can be made");
    insta::assert_snapshot!(story.run("init copy --from source"), @"
    exit 0
    --- stdout
    created copy from source
    next: edit copy/AGENT.md, then `agentry check copy` and `agentry show prompt copy`
    --- stderr
    warning: source/link.txt was not copied: it is a link
    ");
    assert!(!story.path("copy/link.txt").exists());
}

#[test]
fn a_repository_is_cloned_with_its_history() {
    let story = Story::new(AGENT);
    story.git("source", &["init", "--quiet", "--initial-branch=trunk"]);
    story.git("source", &["add", "."]);
    story.git("source", &["commit", "--quiet", "-m", "Begin"]);
    insta::assert_snapshot!(story.run("init copy --from source --arg tone=calm"), @"
    exit 0
    --- stdout
    created copy from source
    next: edit copy/AGENT.md, then `agentry check copy` and `agentry show prompt copy`
    ");
    insta::assert_snapshot!(story.tree("copy"), @"
    AGENT.md
    agent.yml
    agentry.toml
    notes.txt
    ");
    insta::assert_snapshot!(story.read("copy/agentry.toml"), @r#"
    [agent]
    profile_source = "source"

    [agent.args]
    tone = "calm"
    "#);
    insta::assert_snapshot!(story.git("copy", &["log", "--format=%s"]), @"
    Create the agent from source
    Begin
    ");
    assert_eq!(story.git("copy", &["branch", "--show-current"]), "trunk");
    assert_eq!(story.git("copy", &["status", "--short"]), "");
}

#[test]
fn the_hooks_of_a_repository_do_not_run() {
    let story = Story::new(AGENT);
    story.git("source", &["init", "--quiet"]);
    story.git("source", &["add", "."]);
    story.git("source", &["commit", "--quiet", "-m", "Begin"]);
    story.write("\n--- template/hooks/post-checkout +x\n#!/bin/sh\ntouch ran\n");
    let template = story.path("template").display().to_string();
    let settings = format!("[init]\n\ttemplateDir = {template}\n");
    std::fs::write(story.home(".gitconfig"), settings).expect("it can be written");
    story.out("init copy --from source");
    assert!(!story.path("copy/ran").exists());
    assert!(!story.path("copy/.git/hooks/post-checkout").exists());
}

#[test]
fn args_are_added_to_the_settings_of_the_source() {
    let story = Story::new("");
    story.out("init first --profile coder");
    story.out("init second --from first --arg tone=calm");
    insta::assert_snapshot!(story.read("second/agentry.toml"), @r#"
    [agent]
    profile_source = "coder"

    [agent.args]
    tone = "calm"
    "#);
    insta::assert_snapshot!(story.run("init third --from second --arg tone=loud"), @"
    exit 2
    --- stderr
    error: --arg cannot be added to the agentry.toml of the source
     help: leave out --arg and change [agent.args] there; nothing was written
    ");
    assert!(!story.path("third").exists());
}

#[test]
fn what_is_neither_a_directory_nor_an_address_is_refused() {
    let story = Story::new("");
    insta::assert_snapshot!(story.run("init copy --from nowhere"), @"
    exit 2
    --- stderr
    error: `nowhere` is neither a directory nor a git address
     help: name an existing directory, or an address such as https://host/name.git
    ");
    insta::assert_snapshot!(story.run("init copy --from --upload-pack=x"), @"
    exit 2
    --- stderr
    error: unexpected argument '--upload-pack' found

      tip: to pass '--upload-pack' as a value, use '-- --upload-pack'

    Usage: agentry init <DIR>

    For more information, try '--help'.
    ");
    assert_eq!(story.tree(""), "");
}

#[test]
fn a_failed_clone_leaves_nothing() {
    let story = Story::new("\n--- source/.git/HEAD\nnot a repository\n");
    let ran = story.ran_in("", "init copy --from source");
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    assert!(!story.path("copy").exists());
    std::fs::create_dir(story.path("empty")).expect("it can be made");
    story.ran_in("", "init empty --from source");
    assert_eq!(story.tree("empty"), "");
}

#[test]
fn a_copy_does_not_go_into_its_own_source() {
    let story = Story::new(AGENT);
    insta::assert_snapshot!(story.run("init source/copy --from source"), @"
    exit 2
    --- stderr
    error: source/copy lies inside of [tmp]/work/source
     help: name a directory outside of it
    ");
    insta::assert_snapshot!(story.run_in("source", "init copy --from ."), @"
    exit 2
    --- stderr
    error: copy lies inside of [tmp]/work/source
     help: name a directory outside of it
    ");
    assert!(!story.path("source/copy").exists());
}

#[test]
fn a_source_that_does_not_load_is_kept_and_reported() {
    let story = Story::new(
        "
        --- source/agent.yml
        nmae: source
        --- source/AGENT.md
        Be brief.
        ",
    );
    insta::assert_snapshot!(story.run("init copy --from source"), @"
    exit 1
    --- stdout
    created copy from source
    error[E0301]: the field `nmae` is not known here
     --> copy/agent.yml:1:1
      |
    1 | nmae: source
      | ^^^^
      |
      = help: did you mean `name`?

    error[E0302]: the field `name` is missing
     --> copy/agent.yml:1:1
      |
    1 | nmae: source
      | ^
      |
      = help: add a line `name: …`

    it does not load yet: 2 errors
    ");
}
