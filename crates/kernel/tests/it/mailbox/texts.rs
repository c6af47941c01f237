//! The prompts of items that waited, word for word.

use agentry_kernel::mailbox::{Mailbox, MailboxAction, MailboxInput};

use super::dialogue::{Dialogue, check, item};

#[track_caller]
fn last_prompt(acts: &[MailboxAction]) -> String {
    let mut prompts = acts.iter().filter_map(|act| match act {
        MailboxAction::Start { prompt, .. } => Some(prompt.clone()),
        MailboxAction::Steer { .. }
        | MailboxAction::Cancel { .. }
        | MailboxAction::Rejected { .. }
        | MailboxAction::Dropped { .. }
        | MailboxAction::Repeated { .. }
        | MailboxAction::WakeAt(_) => None,
    });
    prompts.next_back().expect("something started")
}

#[test]
fn one_alone_is_said_as_it_is() {
    let acts = check(
        "
        0 a1 ann@tg collect -> start a1 (idle)
        0 started ->
        0 a2 ann@tg followup ->
        0 ended -> start a2 (followup)
        ",
    );
    assert_eq!(last_prompt(&acts), "text of a2");
    assert_eq!(last_prompt(&acts[..1]), "text of a1");
}

#[test]
fn a_collection_is_one_prompt() {
    let acts = check(
        "
        0 a1 ann@tg collect -> start a1 (idle)
        0 started ->
        0 a2 ann@tg collect ->
        0 a3 ann@tg collect ->
        1000 ended -> start a2+a3 (collected)
        ",
    );
    assert_eq!(
        last_prompt(&acts),
        "[Queued messages while agent was busy]\n\n---\nQueued #1\ntext of a2\n\n---\nQueued #2\ntext of a3"
    );
}

#[test]
fn what_was_dropped_stands_between_heading_and_items() {
    let acts = check(
        "
        0 a1 ann@tg collect -> start a1 (idle)
        0 started ->
        0 a2 ann@tg collect cap=2 ->
        0 a3 ann@tg collect cap=2 ->
        0 a4 ann@tg collect cap=2 -> drop a2 (summarized)
        0 a5 ann@tg collect cap=2 -> drop a3 (summarized)
        0 a6 ann@tg collect cap=2 -> drop a4 (summarized)
        1000 ended -> start a5+a6 (collected)
        ",
    );
    assert_eq!(
        last_prompt(&acts),
        "[Queued messages while agent was busy]\n\n\
         [Queue overflow] Dropped 3 messages due to cap.\nSummary:\n- text of a3\n- text of a4\n\n\
         ---\nQueued #1\ntext of a5\n\n---\nQueued #2\ntext of a6"
    );
}

#[test]
fn the_note_is_for_its_sender_alone_and_is_said_once() {
    let mut dialogue = Dialogue::new(Mailbox::default());
    let acts = dialogue.hold(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        0 started ->
        0 a2 ann@tg followup cap=1 ->
        0 b1 bob@tg followup ->
        0 a3 ann@tg followup cap=1 -> drop a2 (summarized)
        0 ended -> start b1 (followup)
        ",
    );
    assert_eq!(last_prompt(&acts), "text of b1");
    let acts = dialogue.hold("0 started ->\n0 ended -> start a3 (followup)");
    assert_eq!(
        last_prompt(&acts),
        "[Queue overflow] Dropped 1 message due to cap.\nSummary:\n- text of a2\n\ntext of a3"
    );
    let acts = dialogue.hold("0 started ->\n0 ended ->\n0 a4 ann@tg followup -> start a4 (idle)");
    assert_eq!(last_prompt(&acts), "text of a4");
}

#[test]
fn a_note_that_nobody_read_is_said_again() {
    let acts = check(
        "
        0 a1 ann@tg followup -> start a1 (idle)
        0 started ->
        0 a2 ann@tg followup cap=1 ->
        0 a3 ann@tg followup cap=1 -> drop a2 (summarized)
        0 ended -> start a3 (followup)
        0 start failed ->
        0 a4 ann@tg followup -> start a4 (idle)
        ",
    );
    assert_eq!(
        last_prompt(&acts),
        "[Queue overflow] Dropped 1 message due to cap.\nSummary:\n- text of a2\n\ntext of a4"
    );
}

#[test]
fn a_long_text_is_one_short_line() {
    let mut mailbox = Mailbox::default();
    let mut tell = |id: &str, text: String| {
        let one = item(id, "ann@tg", &["collect", "cap=1"], 0);
        mailbox
            .tell(MailboxInput::Arrived(agentry_kernel::mailbox::MailboxItem { text, ..one }), 0);
        mailbox.clone()
    };
    tell("a1", String::new());
    tell("a2", format!("first\nline   {}", "ö".repeat(300)));
    let mailbox = tell("a3", "rest".to_owned());
    let written = serde_json::to_value(&mailbox).unwrap();
    let line = written["notes"][0][1]["lines"][0].as_str().unwrap();
    assert!(line.starts_with("first line öö") && line.ends_with("ö…"), "{line}");
    assert_eq!(line.chars().count(), 160);
}
