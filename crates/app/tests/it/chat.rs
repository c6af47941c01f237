//! `agentry chat` in a real terminal: answers, questions, steering, interruption, sizes, crashes.

use rustix::process::Signal;

use crate::chat_pane::Pane;
use crate::record::{all_is_recorded, line, script, story, waiting};
use crate::story::Story;

const WIDE: (u16, u16) = (80, 24);
const CHAT: &str = "chat --model scripted:s.jsonl";

/// A project with the builder and one script.
fn scripted(lines: &[String]) -> Story {
    let story = story();
    script(&story, "s.jsonl", lines);
    story
}

/// An answer that takes so long that only an interruption ends it.
const ENDLESS: &str = r#"{"text":"never said","delay_ms":60000}"#;

#[test]
fn an_answer_streams_and_what_is_done_stays_above() {
    let slow = r##"{"text":"# Plan\n\nFirst *look* at `src`.\n\n- one\n- two\n\n```rust\nlet a = 1;\n```\n\nThe end.","pace_ms":40}"##;
    let story = scripted(&[slow.to_owned()]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("make a plan");
    pane.until("the beginning alone", |screen| {
        screen.contains("# Plan") && !screen.contains("The end.")
    });
    pane.sees("Esc interrupts").sees("The end.").rests();
    let screen = pane.all();
    let expected = "› make a plan\n\n# Plan\n\nFirst look at src.\n\n• one\n• two\n\n  let a = 1;\n\nThe end.\n\n›\n";
    assert!(screen.contains(expected), "{screen}");
    pane.keys(&["C-d"]);
    assert_eq!(pane.ended(), "0");
    assert!(pane.all().contains("agentry chat --resume chat_"), "{}", pane.all());
    all_is_recorded(&story);
}

#[test]
fn a_write_is_asked_about_with_its_diff_and_allowed() {
    let write =
        r#"{"tool_calls":[{"name":"Write","input":{"path":"src/a.txt","content":"two\n"}}]}"#;
    let story = scripted(&[write.to_owned(), line("It is written.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("change it").sees("[y] once");
    let screen = pane.screen();
    assert!(screen.contains("? Allow the call of write_file?"), "{screen}");
    assert!(screen.contains("  -one\n") && screen.contains("\n  +two\n"), "{screen}");
    assert!(screen.contains("why: no approval rule matches"), "{screen}");
    assert_eq!(story.read("src/a.txt").trim_end(), "one");
    pane.keys(&["y"]).sees("It is written.").rests();
    assert_eq!(story.read("src/a.txt"), "two\n");
    let colors = pane.colors();
    assert!(colors.contains("\u{1b}[32m"), "what is added is green: {colors}");
    assert!(
        !colors.contains("38;2;") && !colors.contains("38;5;"),
        "sixteen colors only: {colors}"
    );
}

#[test]
fn a_no_tells_the_agent_why() {
    let story = scripted(&[line("", &["touch made"]), line("Then not.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("make it").sees("$ touch made").sees("[y] once");
    pane.keys(&["n"]).sees("Reason?").says("use another name").sees("Then not.").rests();
    let all = pane.all();
    assert!(all.contains("  no to bash: use another name\n"), "{all}");
    assert!(all.contains("✗ bash touch made  A person said no: use another name"), "{all}");
    assert!(!story.path("made").exists());
}

#[test]
fn questions_come_one_after_the_other_and_can_be_answered_elsewhere() {
    let story = scripted(&[line("", &["touch one", "touch two"]), line("Both.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("make both").sees("$ touch one").sees("(1 more)").sees("[y] once");
    story.out(&format!("answer {} yes", waiting(&story)[0]));
    pane.sees("$ touch two").sees("[y] once").misses("(1 more)");
    pane.keys(&["Escape"]).sees("Both.").rests();
    assert!(story.path("one").exists() && !story.path("two").exists());
}

#[test]
fn keys_that_are_typed_for_the_prompt_do_not_answer() {
    let story = scripted(&[line("", &["sleep 1"]), line("", &["touch made"]), line("Done.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("go").types("y").sees("An approval waits");
    assert!(!story.path("made").exists());
    pane.keys(&["C-u"]).sees("[y] once").keys(&["y"]).sees("Done.");
    assert!(story.path("made").exists());
}

#[test]
fn what_is_said_while_it_works_reaches_the_turn() {
    let story = scripted(&[line("", &["sleep 3"]), line("Heard.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("work").sees("● bash sleep 3").says("and hurry");
    pane.sees("› and hurry  (during the turn)").sees("Heard.").rests();
    all_is_recorded(&story);
}

#[test]
fn what_is_queued_is_sent_when_the_turn_is_over() {
    let story = scripted(&[line("", &["sleep 2"]), line("Done with it.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("first").sees("● bash sleep 2");
    pane.types("second").keys(&["M-Enter"]).sees("queued: second");
    pane.types("third").keys(&["M-Enter"]).sees("queued: third");
    // Up takes the last one back.
    pane.keys(&["Up"]).misses("queued: third").sees("› third").keys(&["C-u"]);
    pane.until("the second turn", |screen| screen.matches("Done with it.").count() == 2).rests();
    let all = pane.all();
    assert!(all.contains("› second\n") && !all.contains("› third\n"), "{all}");
}

#[test]
fn escape_interrupts_the_turn_and_the_next_one_works() {
    let story = scripted(&[ENDLESS.to_owned()]);
    script(&story, "t.jsonl", &[line("Here again.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("take long").sees("Esc interrupts").keys(&["Escape"]);
    pane.sees("run ended: cancelled").rests();
    pane.says("/model scripted:t.jsonl")
        .sees("Model of the next turn")
        .says("hello")
        .sees("Here again.")
        .rests();
    all_is_recorded(&story);
}

#[test]
fn a_command_that_is_interrupted_is_stopped() {
    let story = scripted(&[line("", &["sleep 600"]), line("never", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("sleep").sees("● bash sleep 600").keys(&["C-c"]);
    pane.sees("■ bash sleep 600").sees("run ended: cancelled").rests();
}

#[test]
fn control_c_twice_leaves_and_once_only_clears() {
    let story = scripted(&[line("x", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").types("half a thought").sees("half a thought");
    pane.keys(&["C-c"]).misses("half a thought").sees("Ctrl-C again quits").keys(&["C-c"]);
    assert_eq!(pane.ended(), "0");
}

#[test]
fn another_size_while_it_streams_keeps_the_screen_whole() {
    let words: Vec<String> = (0..60).map(|number| format!("word{number}")).collect();
    let text = serde_json::json!({ "text": words.join(" "), "pace_ms": 30 }).to_string();
    let story = scripted(&[text]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("talk").sees("word5");
    pane.resize((60, 20))
        .sees("word25")
        .resize((40, 16))
        .sees("word40")
        .resize(WIDE)
        .sees("word59")
        .rests();
    let all = pane.all();
    let last = all.rfind("word0 ").expect("it begins");
    let found: Vec<&str> =
        all[last..].split_whitespace().filter(|word| word.starts_with("word")).collect();
    assert_eq!(found, words.iter().map(String::as_str).collect::<Vec<_>>(), "{all}");
    assert_eq!(all.matches("scripted:s.jsonl").count(), 1, "one footer: {all}");
    assert_eq!(all.matches("Esc interrupts").count(), 0, "{all}");
}

#[test]
fn forty_columns_are_enough() {
    let write = r#"{"text":"A sentence that is longer than forty columns are wide.","tool_calls":[{"name":"Write","input":{"path":"src/a.txt","content":"a line that is longer than forty columns are wide\n"}}]}"#;
    let story = scripted(&[write.to_owned(), line("Good.", &[])]);
    let pane = Pane::open(&story, (40, 16), CHAT);
    pane.sees("›").says("go").sees("[y] once").keys(&["y"]).sees("Good.").rests();
    let all = pane.all();
    assert!(all.contains("A sentence that is longer than forty\ncolumns are wide.\n"), "{all}");
    assert!(all.lines().all(|line| line.chars().count() <= 40), "{all}");
}

#[test]
fn after_a_kill_the_chat_goes_on_where_it_was() {
    let story = scripted(&[line("I will ask.", &["touch made"]), line("Made it.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("make it").sees("[y] once").signal(Signal::KILL).sees("Killed");
    pane.again("chat --continue");
    pane.sees("› make it  (not finished)").sees(": resumed");
    pane.sees("$ touch made").sees("[y] once").keys(&["y"]).sees("Made it.").rests();
    assert!(story.path("made").exists());
    pane.keys(&["C-d"]);
    assert_eq!(pane.ended(), "0");
    // The end of the talk is shown again, and it goes on in the same session.
    pane.again("chat --continue --model scripted:s.jsonl");
    pane.sees("› make it")
        .sees("Made it.")
        .says("again")
        .sees("[y] once")
        .keys(&["Escape"])
        .rests();
    let sessions = pane.says("/resume").sees("/resume <number>").screen();
    assert!(sessions.contains("  1  ") && !sessions.contains("  2  "), "{sessions}");
    all_is_recorded(&story);
}

#[test]
fn control_z_stops_and_comes_back_and_the_terminal_is_as_it_was() {
    let story = scripted(&[ENDLESS.to_owned()]);
    let pane = Pane::shell(&story, WIDE);
    let binary = env!("CARGO_BIN_EXE_agentry");
    pane.sees("$").says(&format!("alias a={binary}; stty -a | grep -o '.icanon'"));
    pane.sees(" icanon").says("clear; a chat --model scripted:s.jsonl").sees("/help shows");
    pane.says("wait").sees("Esc interrupts");
    pane.keys(&["C-z"])
        .sees("Stopped")
        .says("echo back; stty -a | grep -o '.icanon'")
        .sees(" icanon");
    pane.says("clear").misses("Stopped").says("fg; echo le''ft");
    pane.sees("Esc interrupts").keys(&["Escape"]);
    pane.sees("run ended: cancelled").keys(&["C-d"]).sees("agentry chat --resume");
    // The shell reads the next line only when the chat has ended.
    pane.sees("left");
    pane.says("clear; stty -a | grep -o '.icanon'").sees(" icanon");
}

#[test]
fn a_request_to_end_leaves_in_order() {
    let story = scripted(&[ENDLESS.to_owned()]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("wait").sees("Esc interrupts").signal(Signal::TERM);
    assert_eq!(pane.ended(), "143");
    let all = pane.all();
    assert!(
        all.contains("The turn is not finished. Continue it with: agentry chat --resume chat_"),
        "{all}"
    );
    assert!(!all.contains("scripted:s.jsonl ·"), "nothing live is left: {all}");
}

#[test]
fn without_color_there_is_none() {
    let story = scripted(&[line("# Head\n\n**bold** and `code`", &[])]);
    let pane = Pane::with(&story, WIDE, CHAT, &[("NO_COLOR", "1")]);
    pane.sees("›").says("hello").sees("bold and code").rests();
    assert!(!pane.colors().contains('\u{1b}'), "{}", pane.colors());
}

#[test]
fn a_terminal_that_only_writes_lines_gets_lines() {
    let story = scripted(&[line("Plainly.", &[])]);
    let pane = Pane::with(&story, WIDE, CHAT, &[("TERM", "dumb")]);
    pane.sees("This terminal supports lines only.").says("hello").sees("Plainly.").says("/quit");
    assert_eq!(pane.ended(), "0");
}

#[test]
fn what_an_agent_says_cannot_steer_the_terminal() {
    let text = "before\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[Hafter";
    let story =
        scripted(&[line(text, &["printf '\\033[2Jx'; echo \u{1b}[31m"]), line("End.", &[])]);
    let pane = Pane::open(&story, WIDE, CHAT);
    pane.sees("›").says("attack").sees("[y] once").keys(&["y"]).sees("End.").rests();
    let all = pane.all();
    assert!(all.contains("before\\u{1b}]0;owned\\u{7}\\u{1b}[2J\\u{1b}[Hafter"), "{all}");
    assert!(all.contains("› attack"), "nothing was cleared: {all}");
}

#[test]
fn what_is_piped_in_is_run() {
    let story = scripted(&[line("Piped.", &[])]);
    let mut talk = story.talk("-c agent.model=scripted:s.jsonl");
    talk.say("hello");
    let ran = talk.end();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Piped.\n"), "{}", ran.err);
    let nothing = story.talk("chat").end();
    assert_eq!(nothing.code, Some(2));
    assert!(nothing.err.contains("echo hello | agentry"), "{}", nothing.err);
}

#[test]
fn where_no_agent_is_the_bundled_assistant_answers() {
    let story = Story::new("");
    script(&story, "s.jsonl", &[line("Welcome.", &[])]);
    let model = story.path("s.jsonl").display().to_string();
    let pane = Pane::open(&story, WIDE, &format!("-c agent.model=scripted:{model}"));
    pane.sees("No agent is defined here")
        .sees("default-assistant in")
        .says("hi")
        .sees("Welcome.")
        .rests();
    pane.says("/status").sees("workspace").sees("/.local/state/agentry/agents/");
    pane.keys(&["C-d"]);
    assert_eq!(pane.ended(), "0");
    all_is_recorded(&story);
}
