//! What a process leaves behind when it does not come to its end.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use agentry_protocol::envelope::{Draft, Envelope};
use agentry_protocol::event::Event;
use agentry_store::{EntryFilter, Ledger};
use serde_json::Value;

use crate::record::{all_is_recorded, entries, latest, line, script};
use crate::story::Story;

/// The harness prints what it did; `cargo xtask crash` is its long form.
#[test]
fn a_run_survives_kills_a_full_disk_failing_syncs_and_races() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let harness = ["run", "--quiet", "--package", "xtask", "--", "crash", "--short", "--seed", "1"];
    let output = Command::new(cargo)
        .args(harness)
        .args(["--binary", env!("CARGO_BIN_EXE_agentry")])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("cargo starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{complaint}");
    assert!(said.contains("All held."), "{said}\n{complaint}");
}

const TWO_STEPS: &str = "
    --- .agentry/agents/builder/AGENT.md
    ---
    name: Builder
    tools: [Bash]
    tool_approvals: {rules: [{tool: Bash, allow: true}]}
    ---
    You build.
    --- .agentry/tasks/both/TASK.md
    ---
    name: Both
    agent: builder
    next: second.md
    ---
    Do the first.
    --- .agentry/tasks/both/second.md
    ---
    name: Second
    agent: builder
    ---
    Do the second.
    ";

/// Takes up a run of two steps of which only the beginning is recorded.
fn taken_up(is_last: fn(&Event) -> bool, count: usize) -> Story {
    let story = Story::new(TWO_STEPS).with("SHELL_TOOL_MODE", "full");
    script(
        &story,
        "s.jsonl",
        &[line("", &["echo one"]), line("One.", &[]), line("", &["echo two"]), line("Two.", &[])],
    );
    let (whole, cut) = (story.home("whole"), story.home("cut"));
    let story = story.with("AGENTRY_HOME", &whole.to_string_lossy());
    story.out("run both --model scripted:s.jsonl");
    cut_after(&whole, &cut, is_last, count);
    let story = story.with("AGENTRY_HOME", &cut.to_string_lossy());
    story.out("resume --last");
    story
}

/// A ledger as a process left it that ended right after an entry: the `count`-th of its kind.
#[expect(clippy::disallowed_methods, reason = "a test writes the past itself")]
pub(crate) fn cut_after(whole: &Path, cut: &Path, is_last: fn(&Event) -> bool, count: usize) {
    let open = |path: &Path| Ledger::open(path, Arc::new(|| 0)).expect("the ledger opens");
    let all: Vec<Envelope> =
        open(whole).read_from(0, &EntryFilter::default(), 1000).expect("the ledger can be read");
    let place = all.iter().enumerate().filter(|(_, one)| is_last(&one.event)).nth(count - 1);
    let (last, _) = place.expect("there is such an entry");
    let ledger = open(cut);
    for Envelope { cause, about, event, .. } in all.into_iter().take(last + 1) {
        ledger.append(vec![Draft { cause, about, event }]).expect("the entry can be written");
    }
}

fn assert_both_are_done_once(story: &Story) {
    let record = story.json(&format!("show run {} --format json", latest(story)));
    assert_eq!(record["status"], "completed", "{record:#}");
    let commands: Vec<&Value> = record["steps"]
        .as_array()
        .expect("there are steps")
        .iter()
        .flat_map(|step| step["tool_calls"].as_array().expect("there are calls"))
        .map(|call| &call["input"]["command"])
        .collect();
    assert_eq!(commands, ["echo one", "echo two"]);
    let session = record["session_id"].as_str().expect("it has a session");
    let begun = entries(story, "session", session)
        .iter()
        .filter(|one| one["event"]["type"] == "turn_started")
        .count();
    assert_eq!(begun, 2);
    all_is_recorded(story);
}

#[test]
fn a_run_that_is_only_recorded_begins() {
    let is_last = |event: &Event| matches!(event, Event::RunCreated(_));
    assert_both_are_done_once(&taken_up(is_last, 1));
}

#[test]
fn a_step_that_did_not_get_to_its_turn_begins_it() {
    let is_last = |event: &Event| matches!(event, Event::StepStarted { .. });
    for count in [1, 2] {
        assert_both_are_done_once(&taken_up(is_last, count));
    }
}

#[test]
fn a_turn_that_is_over_is_not_begun_again() {
    let is_last = |event: &Event| matches!(event, Event::TurnEnded { .. });
    for count in [1, 2] {
        assert_both_are_done_once(&taken_up(is_last, count));
    }
}

#[test]
fn a_step_that_is_over_is_not_begun_again() {
    let is_last = |event: &Event| matches!(event, Event::StepEnded { .. });
    for count in [1, 2] {
        assert_both_are_done_once(&taken_up(is_last, count));
    }
}

#[test]
fn the_step_after_one_that_was_taken_up_asks_its_own_questions() {
    let is_last = |event: &Event| matches!(event, Event::CallStarted { .. });
    for count in [1, 2] {
        let story = taken_up(is_last, count);
        assert_both_are_done_once(&story);
        let record = story.json(&format!("show run {} --format json", latest(&story)));
        assert_eq!(record["steps"][count - 1]["tool_calls"][0]["outcome"]["status"], "uncertain");
    }
}
