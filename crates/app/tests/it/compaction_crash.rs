//! What a process leaves behind in the middle of a compaction, and records from before there were any.

use std::path::Path;
use std::sync::Arc;

use agentry_protocol::envelope::{Draft, Envelope};
use agentry_protocol::event::Event;
use agentry_store::{EntryFilter, Ledger};
use serde_json::Value;

use crate::crash::cut_after;
use crate::record::{all_is_recorded, entries, latest, line, script, story};
use crate::story::Story;

/// Six prompts of about a thousand tokens; before the sixth the first ones are summed up.
fn six() -> Story {
    let story = story();
    script(&story, "s.jsonl", &[line("Yes.", &[])]);
    script(&story, "last.jsonl", &[line("SUMMARY", &[]), line("Last.", &[])]);
    let whole = story.home("whole");
    let story = story.with("AGENTRY_HOME", &whole.to_string_lossy());
    let long = " the".repeat(1_000);
    for number in 1..=6 {
        let file = if number == 6 { "last" } else { "s" };
        story.out(&format!(
            "-c limits.window=8000 run --session desk --model scripted:{file}.jsonl '{number}{long}'"
        ));
    }
    story
}

/// The same as a process left it that ended right after an entry, taken up.
fn taken_up(is_last: fn(&Event) -> bool, count: usize) -> Story {
    let story = six();
    let (whole, cut) = (story.home("whole"), story.home("cut"));
    cut_after(&whole, &cut, is_last, count);
    let story = story.with("AGENTRY_HOME", &cut.to_string_lossy());
    story.out("-c limits.window=8000 resume --last");
    story
}

fn assert_summed_up_once(story: &Story) {
    let record = story.json(&format!("show run {} --format json", latest(story)));
    assert_eq!(record["status"], "completed", "{record:#}");
    assert_eq!(record["steps"][0]["output"], "Last.");
    let all = entries(story, "session", "desk");
    let ended: Vec<&Value> =
        all.iter().filter(|one| one["event"]["type"] == "turn_ended").collect();
    assert_eq!(ended.len(), 7);
    let summaries =
        ended.iter().filter(|one| one["event"]["context"]["compaction"]["summary"] == "SUMMARY");
    assert_eq!(summaries.count(), 1);
    all_is_recorded(story);
}

#[test]
fn a_compaction_that_was_cut_off_goes_on() {
    let asked = |event: &Event| matches!(event, Event::ModelAsked { .. });
    // The first five are those of the turns before.
    assert_summed_up_once(&taken_up(asked, 6));
}

#[test]
fn a_compaction_that_is_over_is_not_made_again() {
    let ended = |event: &Event| matches!(event, Event::TurnEnded { .. });
    assert_summed_up_once(&taken_up(ended, 6));
}

#[test]
fn the_turn_after_a_compaction_goes_on() {
    let asked = |event: &Event| matches!(event, Event::ModelAsked { .. });
    assert_summed_up_once(&taken_up(asked, 7));
}

#[test]
fn a_turn_that_was_too_long_is_tried_again_by_the_process_that_takes_the_run_up() {
    let story = story();
    script(&story, "s.jsonl", &[line("Yes.", &[])]);
    let too_long = r#"{"error":{"kind":"context_overflow"}}"#.to_owned();
    script(&story, "last.jsonl", &[too_long, line("SUMMARY", &[]), line("Last.", &[])]);
    let (whole, cut) = (story.home("whole"), story.home("cut"));
    let story = story.with("AGENTRY_HOME", &whole.to_string_lossy());
    for number in 1..=3 {
        story.out(&format!("run --session desk --model scripted:s.jsonl 'number {number}'"));
    }
    story.out("run --session desk --model scripted:last.jsonl 'number 4'");
    let ended = |event: &Event| matches!(event, Event::TurnEnded { .. });
    cut_after(&whole, &cut, ended, 4);
    let story = story.with("AGENTRY_HOME", &cut.to_string_lossy());
    story.out("resume --last");
    let record = story.json(&format!("show run {} --format json", latest(&story)));
    assert_eq!(record["steps"][0]["output"], "Last.", "{record:#}");
    all_is_recorded(&story);
}

/// Writes a ledger again as an older program would have.
#[expect(clippy::disallowed_methods, reason = "a test writes the past itself")]
fn written_before(from: &Path, to: &Path, shown_from: usize) {
    let open = |path: &Path| Ledger::open(path, Arc::new(|| 0)).expect("the ledger opens");
    let all: Vec<Envelope> =
        open(from).read_from(0, &EntryFilter::default(), 1000).expect("the ledger can be read");
    let turns: Vec<_> = all
        .iter()
        .filter(|one| matches!(one.event, Event::TurnStarted(_)))
        .filter_map(|one| one.about.turn.clone())
        .collect();
    let ledger = open(to);
    for Envelope { cause, about, mut event, .. } in all {
        if let Event::TurnStarted(plan) = &mut event {
            plan.history_from = plan.parent.as_ref().map(|_| turns[shown_from].clone());
        }
        if let Event::TurnEnded { context, .. } = &mut event {
            **context = Default::default();
        }
        ledger.append(vec![Draft { cause, about, event }]).expect("the entry can be written");
    }
}

#[test]
fn records_from_before_there_were_compactions_replay_as_they_were_given() {
    let story = story();
    script(&story, "s.jsonl", &[line("Yes.", &[])]);
    let whole = story.home("whole");
    let story = story.with("AGENTRY_HOME", &whole.to_string_lossy());
    for number in 1..=2 {
        story.out(&format!("run --session desk --model scripted:s.jsonl 'number {number}'"));
    }
    let old = story.home("old");
    written_before(&whole, &old, 0);
    let story = story.with("AGENTRY_HOME", &old.to_string_lossy());
    all_is_recorded(&story);
    // It goes on like any other session.
    story.out("run --session desk --model scripted:s.jsonl 'number 3'");
    all_is_recorded(&story);
    // What such a record says it was shown counts: one that was shown less was asked something else.
    let less = story.home("less");
    written_before(&old, &less, 1);
    let story = story.with("AGENTRY_HOME", &less.to_string_lossy());
    let played = story.run(&format!("replay {}", latest(&story)));
    assert!(played.starts_with("exit 1"), "{played}");
}
