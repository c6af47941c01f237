//! `agentry resume` and `agentry cancel`: taking up and ending what a process left.

use crate::record::{all_is_recorded, latest, line, script, story, waiting};
use crate::story::{Story, ids};

fn waits() -> Story {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["touch made"]), line("Over.", &[])]);
    assert_eq!(story.ran_in("", "run --model scripted:s.jsonl hello").code, Some(4));
    story
}

#[test]
fn a_run_that_still_waits_says_so_each_time() {
    let story = waits();
    let run = latest(&story);
    let first = story.run(&format!("resume {run}"));
    insta::assert_snapshot!(ids(&first), @"
    exit 4
    --- stderr
    run_1: resumed
    waiting for approval: apr_1
      agentry answer apr_1 yes|no
      agentry resume run_1
    ");
    assert_eq!(story.run(&format!("resume {run}")), first);
    assert_eq!(waiting(&story).len(), 1);
    all_is_recorded(&story);
}

#[test]
fn a_run_that_has_ended_is_not_taken_up() {
    let story = waits();
    story.out(&format!("answer {} yes", waiting(&story)[0]));
    story.out("resume --last");
    insta::assert_snapshot!(ids(&story.run("resume --last")), @"
    exit 2
    --- stderr
    error: run_1 has ended: completed
    ");
    insta::assert_snapshot!(story.run("resume --all"), @"
    exit 0
    --- stderr
    no run to resume: all runs have ended
    ");
}

#[test]
fn all_that_is_open_is_taken_up() {
    let story = waits();
    assert_eq!(story.ran_in("", "run --model scripted:s.jsonl again").code, Some(4));
    for approval in waiting(&story) {
        story.out(&format!("answer {approval} yes"));
    }
    insta::assert_snapshot!(ids(&story.run("resume --all")), @"
    exit 0
    --- stdout
    Over.
    Over.
    --- stderr
    run_1: resumed
      ✓ bash: [no output]
    run_2: resumed
      ✓ bash: [no output]
    ");
    all_is_recorded(&story);
}

#[test]
fn resume_wants_to_know_which_run() {
    let story = waits();
    insta::assert_snapshot!(story.run("resume run_nope"), @"
    exit 2
    --- stderr
    error: there is no run `run_nope`
    ");
    assert_eq!(story.ran_in("", "resume").code, Some(2));
    let fresh = crate::record::story();
    insta::assert_snapshot!(fresh.run("resume --last"), @"
    exit 2
    --- stderr
    error: there is no run yet
    ");
}

#[test]
fn a_run_that_waits_is_cancelled_and_its_question_withdrawn() {
    let story = waits();
    let run = latest(&story);
    let approval = waiting(&story).remove(0);
    insta::assert_snapshot!(ids(&story.run(&format!("cancel {run}"))), @"
    exit 0
    --- stdout
    run_1: cancelled
    --- stderr
    run_1: resumed
      ✗ bash: Not made: the turn was stopped.
    run ended: cancelled
    ");
    let record = story.json(&format!("show run {run} --format json"));
    assert_eq!((&record["status"], &record["ending"]), (&"canceled".into(), &"cancelled".into()));
    assert!(waiting(&story).is_empty());
    let all = story.json("approvals --all --format json");
    assert_eq!(all[0]["status"], "withdrawn");
    insta::assert_snapshot!(ids(&story.run(&format!("answer {approval} yes"))), @"
    exit 2
    --- stderr
    error: apr_1 does not wait for an answer: its turn is over
    ");
    assert!(!story.path("made").exists());
    all_is_recorded(&story);
}

#[test]
fn a_session_with_an_unfinished_run_takes_no_other() {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["touch made"]), line("Over.", &[])]);
    let command = "run --session desk --model scripted:s.jsonl hello";
    assert_eq!(story.ran_in("", command).code, Some(4));
    insta::assert_snapshot!(ids(&story.run(command)), @"
    exit 2
    --- stderr
    error: the session `desk` has an unfinished turn of run_1: `agentry resume run_1` or `agentry cancel run_1` first
    ");
}

#[test]
fn a_run_is_taken_up_from_any_directory() {
    let story = waits();
    story.file("elsewhere/empty", b"");
    story.out(&format!("answer {} yes", waiting(&story)[0]));
    let ran = story.ran_in("elsewhere", "resume --last");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Over.\n"));
    assert!(story.path("made").exists());
}
