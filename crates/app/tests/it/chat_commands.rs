//! The commands of a chat, the shell, completion and history, in a real terminal.

use crate::chat_pane::Pane;
use crate::record::{entries, line, script, story};
use crate::story::Story;

const WIDE: (u16, u16) = (80, 24);
const TALL: (u16, u16) = (80, 60);
const CHAT: &str = "chat --model scripted:s.jsonl";

fn scripted(lines: &[String]) -> Story {
    let story = story();
    script(&story, "s.jsonl", lines);
    story
}

#[test]
fn help_lists_every_command() {
    let story = scripted(&[]);
    let pane = Pane::open(&story, TALL, CHAT);
    pane.sees("›").says("/help").sees("Ctrl-O").sees("@file");
    let screen = pane.screen();
    let all = "help model persona mode clear resume fork compact cost context permissions tools skills agents diff \
               undo export doctor quit";
    for name in all.split_whitespace() {
        assert!(screen.contains(&format!("/{name} ")), "/{name} in\n{screen}");
    }
}

#[test]
fn a_command_that_nobody_knows_is_answered_with_the_nearest() {
    let story = scripted(&[]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›")
        .says("/permisions")
        .sees("There is no command /permisions; did you mean `permissions`?");
}

#[test]
fn lists_say_what_the_agent_has() {
    let story = scripted(&[]);
    let pane = Pane::open(&story, TALL, CHAT);
    pane.sees("›").says("/tools").sees("read_file").sees("bash");
    pane.says("/skills").sees("The agent has no skills.");
    pane.says("/agents").sees("* builder");
    pane.says("/permissions")
        .sees("glob allowed")
        .sees("anything else: needs approval")
        .sees("none");
    pane.says("/status").sees("named with --model").sees("workspace");
}

#[test]
fn the_model_is_listed_changed_and_refused() {
    let story = Story::new(
        "
        --- AGENT.md
        You help.
        --- agent.yml
        name: picky
        model:
          default: some-model
        ",
    );
    script(&story, "s.jsonl", &[line("One.", &[])]);
    script(&story, "t.jsonl", &[line("Two.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›")
        .says("/model")
        .sees("named with --model")
        .sees("some-model  preferred, agent.yml");
    pane.says("/model another").sees("no model can be asked");
    pane.says("/model scripted:t.jsonl").sees("Model of the next turn:").says("go").sees("Two.");
}

#[test]
fn a_persona_changes_the_voice_that_the_model_is_given() {
    let story = Story::new(
        "
        --- AGENT.md
        You help.
        --- agent.yml
        name: many
        personas:
          default: null
          available: [pirate]
        --- personas/pirate/SOUL.md
        Arr, says the pirate.
        ",
    );
    script(&story, "s.jsonl", &[line("Yes.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›")
        .says("/persona")
        .sees("pirate")
        .says("/persona nobody")
        .sees("There is no persona `nobody`");
    pane.says("/persona pirate")
        .sees("Persona of the next turn: pirate")
        .sees("as pirate ·")
        .says("go")
        .sees("Yes.")
        .rests();
    let runs = story.json("show --format json");
    let run = runs[0]["run_id"].as_str().expect("there is a run").to_owned();
    let session = story.json(&format!("show run {run} --format json"))["session_id"].clone();
    let session = session.as_str().expect("it has a session").to_owned();
    let entries = story.out(&format!("show session {session} --format json"));
    assert!(entries.contains("Arr, says the pirate."), "{entries}");
    assert!(story.out(&format!("replay {run}")).starts_with("identical"));
}

#[test]
fn sessions_are_begun_branched_and_gone_back_to() {
    let story = scripted(&[line("Answer.", &[])]);
    let pane = Pane::open(&story, TALL, CHAT);
    pane.sees("›").says("first talk").sees("Answer.").rests();
    pane.says("/clear").sees("New session.").says("second talk");
    pane.until("the second answer", |screen| screen.matches("Answer.").count() == 2).rests();
    pane.says("/fork").sees("Forked to chat_").says("third talk");
    pane.until("the third answer", |screen| screen.matches("Answer.").count() == 3).rests();
    pane.says("/resume").sees("/resume <number>");
    let screen = pane.screen();
    assert!(screen.contains("1 turns  first talk"), "{screen}");
    assert!(screen.contains("1 turns  second talk"), "{screen}");
    assert!(screen.contains("2 turns  third talk"), "{screen}");
    pane.says("/resume 3").sees("Continuing chat_");
    pane.until("its end again", |screen| screen.matches("› first talk").count() == 2);
    pane.says("/resume 9").sees("is not a chat with this agent");
}

#[test]
fn a_long_talk_is_summed_up_in_its_own_session() {
    let story = scripted(&[line("We talked about apples.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›")
        .says("/compact")
        .sees("This session has no turns yet.")
        .says("apples")
        .sees("We talked")
        .rests();
    pane.says("/compact").sees("Nothing to summarize yet.").rests();
    drop(pane);
    for fruit in ["apples", "pears", "plums"] {
        let long = " the".repeat(1_000);
        story.out(&format!("run --session desk --model scripted:s.jsonl '{fruit}{long}'"));
    }
    let chat = format!("-c limits.window=5000 {CHAT} --resume desk");
    let pane = Pane::open(&story, WIDE, &chat);
    pane.sees("›").says("/compact the apples").sees("compaction ended: ").rests();
    let all = entries(&story, "session", "desk");
    let ended = all.iter().rfind(|one| one["event"]["type"] == "turn_ended");
    let one = &ended.expect("a turn ended")["event"]["context"]["compaction"];
    assert_eq!(one["summary"], "We talked about apples.");
    let started = all.iter().rfind(|one| one["event"]["type"] == "turn_started");
    let plan = &started.expect("a turn began")["event"]["compaction"];
    assert_eq!(plan["focus"], "the apples");
}

#[test]
fn what_was_spent_and_what_a_request_is_made_of() {
    let said = r#"{"text":"Hi.","usage":{"input_tokens":1234,"output_tokens":56}}"#;
    let story = scripted(&[said.to_owned()]);
    let pane = Pane::open(&story, TALL, CHAT);
    pane.sees("›").says("/cost").sees("No costs in this session").says("hello").sees("Hi.").rests();
    pane.says("/cost").sees("1.2k     56      0         1      $0.00  hello").sees("this session");
    pane.says("/context")
        .sees("instructions")
        .sees("tool schemas")
        .sees("your messages")
        .sees("in total, about");
}

#[test]
fn the_diff_and_the_undo_of_a_turn() {
    let write =
        r#"{"tool_calls":[{"name":"Write","input":{"path":"src/a.txt","content":"two\n"}}]}"#;
    let story = scripted(&[write.to_owned(), line("Written.", &[])]);
    story.git("", &["init", "-q"]);
    story.git("", &["add", "."]);
    story.git("", &["commit", "-qm", "first"]);
    let pane = Pane::open(&story, TALL, CHAT);
    pane.sees("›").says("/diff").sees("No changes.").says("/undo").sees("No turn of this session");
    pane.says("change").sees("[y] once").keys(&["y"]).sees("Written.").rests();
    pane.says("/diff").sees("diff --git a/src/a.txt");
    pane.says("/undo").sees("Reverted: src/a.txt").sees("1 note for the next prompt");
    assert_eq!(story.read("src/a.txt").trim_end(), "one");
    assert_eq!(story.git("", &["status", "--short"]), "");
    pane.says("change")
        .until("the second question", |screen| screen.contains("[y] once"))
        .keys(&["y"])
        .rests();
    pane.until("written", |_| story.read("src/a.txt") == "two\n").rests();
    story.file("src/a.txt", b"mine\n");
    pane.says("/undo").sees("these files changed again: src/a.txt");
    assert_eq!(story.read("src/a.txt"), "mine\n");
}

#[test]
fn without_a_repository_there_is_nothing_to_take_back() {
    let story = scripted(&[]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("/undo").sees("The workspace is not a git repository");
    pane.says("/diff").sees("nothing to compare with");
}

#[test]
fn a_session_is_written_as_markdown_and_never_over_another_file() {
    let story = scripted(&[line("", &["echo hi"]), line("Said *hi*.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("greet").sees("Said hi.").rests().says("/export talk.md").sees("Saved to");
    let text = story.read("talk.md");
    for part in [
        "# chat_",
        "## You\n\ngreet\n",
        "### Call: bash",
        "echo hi",
        "### Outcome",
        "## Agent\n\nSaid *hi*.\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    pane.says("/export talk.md").sees("Cannot write");
    assert_eq!(story.read("talk.md"), text);
}

#[test]
fn the_mode_and_the_machine() {
    let story = scripted(&[]);
    let pane = Pane::open(&story, TALL, CHAT);
    pane.sees("›")
        .says("/mode")
        .sees("The mode is structured.")
        .says("/mode wiggum")
        .sees("· wiggum ·");
    pane.says("/mode other").sees("The modes are structured and wiggum.");
    pane.says("/doctor").sees("Sandbox").sees("Limits").says("/quit");
    assert_eq!(pane.ended(), "0");
}

#[test]
fn a_command_of_the_shell_runs_in_the_sandbox_and_goes_along() {
    let story = scripted(&[line("Seen.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("!echo from-the-shell; ls /root 2>&1 | head -1").sees("from-the-shell");
    pane.sees("1 note for the next prompt").says("what was that?").sees("Seen.").rests();
    pane.misses("for the next prompt").says("!!echo only-mine").sees("  only-mine").rests();
    let runs = story.json("show --format json");
    let latest = runs[0]["run_id"].as_str().expect("there is a run");
    let record = story.out(&format!("show run {latest} --format json"));
    assert!(record.contains("$ echo from-the-shell"), "{record}");
    assert!(record.contains("what was that?"), "{record}");
    assert!(!pane.screen().contains("for the next prompt"), "{}", pane.screen());
}

#[test]
fn a_command_of_the_shell_can_be_ended() {
    let story = scripted(&[]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("!sleep 600").sees("Esc stops it").keys(&["Escape"]).misses("Esc stops it");
}

#[test]
fn the_last_call_is_shown_in_full() {
    let story = scripted(&[line("", &["echo one; echo two"]), line("End.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("go").sees("End.").rests();
    assert!(pane.screen().contains("✓ bash echo one; echo two "), "{}", pane.screen());
    pane.keys(&["C-o"]).sees("  $ echo one; echo two\n  one\n  two");
}

#[test]
fn tab_completes_commands_arguments_and_files() {
    let story = scripted(&[line("Read.", &[])]);
    story.file("docs/guide.md", b"x");
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›")
        .types("/perm")
        .sees("show approval rules and lasting answers")
        .keys(&["Tab"])
        .sees("› /permissions");
    pane.keys(&["C-u"]).types("/mode w").keys(&["Tab"]).sees("› /mode wiggum").keys(&["C-u"]);
    pane.types("see @gui")
        .sees("@docs/guide.md")
        .keys(&["Tab"])
        .sees("› see @docs/guide.md")
        .types("please");
    pane.keys(&["Enter"]).sees("› see @docs/guide.md please\n\nRead.").rests();
}

#[test]
fn lines_and_history() {
    let story = scripted(&[line("Ok.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›")
        .types("one")
        .keys(&["C-j"])
        .types("two\\")
        .keys(&["Enter"])
        .types("three")
        .keys(&["M-Enter"]);
    pane.types("four").sees("› one\n  two\n  three\n  four").keys(&["Enter"]).sees("Ok.").rests();
    pane.keys(&["C-d"]);
    assert_eq!(pane.ended(), "0");
    pane.again(CHAT);
    pane.sees("/help shows").keys(&["Up"]).sees("› one\n  two\n  three\n  four").keys(&["C-c"]);
    pane.sees("Ctrl-C again")
        .misses("Ctrl-C again")
        .keys(&["C-r"])
        .types("thr")
        .sees("(history) thr: one two");
    pane.keys(&["Escape"]).misses("(history)");
}

#[test]
fn pasted_lines_are_not_sent_one_by_one() {
    let story = scripted(&[line("Ok.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").pastes("first line\nsecond line\n");
    pane.sees("› first line\n  second line").keys(&["Enter"]).sees("Ok.");
    assert_eq!(pane.all().matches("Ok.").count(), 1);
}
