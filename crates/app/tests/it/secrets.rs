//! Secrets: kept for those who may have them, and found in nothing that is recorded, shown or sent.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::record::{all_is_recorded, latest, line, script, waiting};
use crate::story::{Ran, Story};

/// Looks like nothing else, and needs escapes in URLs and in JSON.
const CANARY: &str = "cnry/7Hq2+xV\"9zLw4TbN8";

/// Everything goes ahead but for writing a file.
const PROJECT: &str = "
    --- .agentry/agents/worker/AGENT.md
    ---
    name: Worker
    tools: [Read, Grep, Bash, Write]
    tool_approvals:
      rules:
        - {tool: Read, allow: true}
        - {tool: Grep, allow: true}
        - {tool: Bash, allow: true}
    ---
    You work.
    ";

/// A project and a user whose bash gets the canary.
fn story() -> Story {
    let story = Story::new(PROJECT).with("SHELL_TOOL_MODE", "full");
    settings(&story, "[secrets.canary]\nfor = [\"tool:bash\"]\n");
    set(&story, "canary", CANARY);
    story
}

fn settings(story: &Story, text: &str) {
    fs::create_dir_all(story.home(".config/agentry")).expect("it can be made");
    fs::write(story.home(".config/agentry/agentry.toml"), text).expect("it can be written");
}

fn set(story: &Story, name: &str, value: &str) -> Ran {
    let mut talk = story.talk(&format!("secret set {name}"));
    talk.say(value);
    let ran = talk.end();
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    ran
}

/// Where the file of secrets is.
const FILE: &str = ".local/state/agentry/secrets/secrets.json";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The canary in every form in which it could be read again, and a good part of each.
fn forms() -> Vec<String> {
    let percent: String = CANARY.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let json = serde_json::to_string(CANARY).expect("it is JSON");
    let whole =
        [CANARY.to_owned(), json.trim_matches('"').to_owned(), hex(CANARY.as_bytes()), percent];
    let mut forms: Vec<String> = whole.iter().map(|form| form.to_lowercase()).collect();
    forms.extend([CANARY[..9].to_lowercase(), CANARY[CANARY.len() - 9..].to_lowercase()]);
    // What the three places in base64 have in common with nothing else.
    for before in ["", "u", "us"] {
        let text = base64(format!("{before}{CANARY}").as_bytes());
        forms.push(text[4..20].to_lowercase());
    }
    forms
}

fn base64(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    let groups = (0..bytes.len() * 8 / 6)
        .map(|at| (at * 6..at * 6 + 6).fold(0, |all, at| all << 1 | bit(at)));
    groups.map(|bits: u8| char::from(alphabet[usize::from(bits)])).collect()
}

/// Where the canary stands in a text, in any case and with or without line ends.
fn hits(name: &str, bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let found = forms().into_iter().filter(|form| text.contains(form) || dense.contains(form));
    found.map(|form| format!("{name}: {form}")).collect()
}

/// Every file below a directory but for the file of secrets.
fn hits_below(directory: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            all.extend(hits_below(&path));
        } else if !path.ends_with("secrets/secrets.json") {
            all.extend(hits(
                &path.display().to_string(),
                &fs::read(&path).expect("it can be read"),
            ));
        }
    }
    all
}

/// What every verb that looks at the record prints, and every file of ours.
fn hits_everywhere(story: &Story, said: &[Ran]) -> Vec<String> {
    let mut all = Vec::new();
    for (at, ran) in said.iter().enumerate() {
        all.extend(hits(&format!("stdout {at}"), ran.out.as_bytes()));
        all.extend(hits(&format!("stderr {at}"), ran.err.as_bytes()));
    }
    let run = latest(story);
    for verb in [
        "show".to_owned(),
        format!("show {run}"),
        format!("show {run} --format json"),
        "show session --format json".to_owned(),
        format!("replay {run}"),
        "ledger verify".to_owned(),
        "approvals".to_owned(),
        "secret list".to_owned(),
        "secret list --format json".to_owned(),
        "config show --origin".to_owned(),
        format!("resume {run}"),
    ] {
        let ran = story.ran_in("", &verb);
        all.extend(hits(&verb, ran.out.as_bytes()));
        all.extend(hits(&verb, ran.err.as_bytes()));
    }
    all.extend(hits_below(&story.home("")));
    all
}

#[test]
fn the_search_for_the_canary_finds_it() {
    let percent: String = CANARY.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let wrapped = format!("{}\n{}", &CANARY[..5], &CANARY[5..]);
    for text in [
        CANARY.to_owned(),
        wrapped,
        percent,
        hex(CANARY.as_bytes()).to_uppercase(),
        base64(format!("user:{CANARY}").as_bytes()),
        base64(format!("me:{CANARY}!").as_bytes()),
        CANARY[..12].to_owned(),
    ] {
        assert!(!hits("", text.as_bytes()).is_empty(), "{text}");
    }
    assert!(hits("", b"nothing of it").is_empty());
}

#[test]
fn a_canary_that_a_tool_prints_in_any_form_is_in_no_artefact() {
    let story = story();
    let prints = [
        "echo \"$CANARY\"; echo \"again $CANARY\" >&2",
        "printf %s \"$CANARY\" | base64",
        "printf %s \"user:$CANARY\" | base64 -w 0; printf %s \"me:$CANARY!\" | base64 | tr -d =",
        "printf %s \"$CANARY\" | base64 | tr +/ -_",
        "printf %s \"$CANARY\" | od -An -v -tx1 | tr ' ' % | tr -d '\\n'",
        "printf %s \"$CANARY\" | od -An -v -tx1 | tr -d ' \\n' | tr a-f A-F",
        "printf %s \"$CANARY\" | sed 's|/|%2F|; s|+|%2b|; s|\"|%22|'",
        "printf '{\"k\":\"%s\"}' \"$(printf %s \"$CANARY\" | sed 's|\"|\\\\\"|')\"",
        "for at in 0 5 10 15 20; do printf %s \"${CANARY:$at:5}\"; sleep 0.02; done",
        "printf %s \"$CANARY\" | fold -w 7",
        "printf %s \"$CANARY\" > kept.txt",
    ];
    let lines = [line("I look.", &prints), line("Done.", &[])];
    script(&story, "s.jsonl", &lines);
    let ran = story.ran_in("", "run --model scripted:s.jsonl hello");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains("secret hidden") && ran.err.contains("(2 secrets hidden)"),
        "{}",
        ran.err
    );
    let run = latest(&story);
    let record = story.json(&format!("show run {run} --format json"));
    let calls = record["steps"][0]["tool_calls"].as_array().expect("there are calls").clone();
    for (call, print) in calls.iter().zip(prints).filter(|(_, print)| !print.contains("kept.txt")) {
        let outcome = &call["outcome"];
        assert!(
            outcome["text"].as_str().is_some_and(|text| text.contains("[secret canary]")),
            "{print}: {outcome}"
        );
        assert!(outcome["measured"]["redacted"].as_u64() >= Some(1), "{print}: {outcome}");
    }
    assert!(story.out(&format!("show {run}")).contains("done (2 secrets hidden): [secret canary]"));
    assert_eq!(story.read("kept.txt"), CANARY, "a command works with the value itself");
    assert_eq!(hits_everywhere(&story, &[ran]), [""; 0]);
    all_is_recorded(&story);
}

#[test]
fn a_canary_in_what_fails_is_in_no_artefact() {
    let story = story();
    story.file("kept.txt", CANARY.as_bytes());
    let call = |name: &str, input| json!({ "name": name, "input": input });
    let bash = |command: &str, chars: u64| {
        call("Bash", json!({ "command": command, "max_output_chars": chars, "timeout_ms": 5000 }))
    };
    let mut calls = vec![
        bash("echo \"$CANARY\"; exit 3", 1000),
        bash("\"$CANARY\"", 1000),
        bash("cd \"/nowhere/$CANARY\"", 1000),
        bash("echo \"$CANARY\"; kill -9 $$", 1000),
        call("Bash", json!({ "command": "echo \"$CANARY\"; sleep 60", "timeout_ms": 300 })),
        call(
            "Bash",
            json!({ "command": "echo \"$CANARY\" | tee log; sleep 60 & wait", "timeout_ms": 300 }),
        ),
        call("Read", json!({ "path": "kept.txt" })),
        call("Grep", json!({ "pattern": "cnry" })),
        call("Read", json!({ "path": "nowhere.txt" })),
    ];
    // The value at every place of the cut: head, tail, both sides of the mark.
    for before in 0..30 {
        let command =
            format!("printf '%0{}d' 0; printf '%s' \"$CANARY\"; printf '%060d' 0", before + 1);
        calls.push(bash(&command, 40));
        let command =
            format!("printf '%060d' 0; printf '%s' \"$CANARY\"; printf '%0{}d' 0", before + 1);
        calls.push(bash(&command, 40));
    }
    let lines = [
        json!({ "text": "I try.", "tool_calls": calls }).to_string(),
        // Nobody told it, but if it knew: what it says, thinks and fails with.
        json!({ "text": format!("It is {CANARY}, I think"), "thinking": format!("{CANARY}?"),
                "tool_calls": [bash("true", 10)] }).to_string(),
        json!({ "text": "Oh", "error": { "kind": "overloaded", "message": format!("bad key {CANARY}") } })
            .to_string(),
    ];
    script(&story, "s.jsonl", &lines);
    let ran = story.ran_in("", "run --json --model scripted:s.jsonl hello");
    assert_eq!(ran.code, Some(6), "{}", ran.err);
    assert!(ran.out.contains("It is [secret canary], I think"), "{}", ran.out);
    assert!(ran.out.contains("[secret canary]: No such file"), "{}", ran.out);
    assert_eq!(hits_everywhere(&story, &[ran]), [""; 0]);
    all_is_recorded(&story);
}

#[test]
fn a_canary_in_a_prompt_a_check_a_preview_and_a_steer_is_in_no_artefact() {
    let story = story();
    story.write(&format!("\n--- AGENTS.md\nUse {CANARY}.\n"));
    let write = json!({ "name": "Write", "input": { "path": "x.txt", "content": "x" } });
    let lines = [
        json!({ "text": "", "tool_calls": [write] }).to_string(),
        line("Done.", &[]),
        line("Done.", &[]),
    ];
    script(&story, "s.jsonl", &lines);
    let asked = story.ran_in("", &format!("run --model scripted:s.jsonl 'My key is {CANARY}'"));
    assert_eq!(asked.code, Some(4), "{}", asked.err);
    let yes = story.ran_in("", &format!("answer {} yes", waiting(&story)[0]));
    let resumed = story.ran_in("", &format!("resume {}", latest(&story)));
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    script(&story, "w.jsonl", &[line("Done.", &[])]);
    let checked = story.ran_in(
        "",
        "run --mode wiggum --check 'echo \"$CANARY\"; exit 1' --max-iterations 1 --model scripted:w.jsonl hi",
    );
    assert_eq!(checked.code, Some(5), "{}", checked.err);
    assert!(checked.err.contains("[secret canary]"), "{}", checked.err);
    let mut talk = story.talk("stdio --model scripted:w.jsonl");
    talk.say(&json!({ "type": "prompt", "prompt": format!("Use {CANARY}") }).to_string());
    talk.say(&json!({ "type": "steer", "content": format!("No, {CANARY}") }).to_string());
    talk.hear("done");
    let steered = talk.end();
    assert_eq!(hits_everywhere(&story, &[asked, yes, resumed, checked, steered]), [""; 0]);
    all_is_recorded(&story);
}

#[test]
fn a_canary_in_what_comes_in_and_in_what_a_person_answers_is_in_no_artefact() {
    let story = story();
    let write = json!({ "name": "Write", "input": { "path": "x.txt", "content": "x" } });
    let lines = [json!({ "text": "", "tool_calls": [write] }).to_string(), line("Done.", &[])];
    script(&story, "s.jsonl", &lines);
    let sent = story.ran_in(
        "",
        &format!("send --id one --model scripted:s.jsonl --name '{CANARY}' 'Use {CANARY}'"),
    );
    assert_eq!(sent.code, Some(4), "{}", sent.err);
    let approval = waiting(&story)[0].clone();
    let edit = json!({ "path": "x.txt", "content": CANARY }).to_string();
    let edited = story.ran_in("", &format!("answer {approval} yes --edit '{edit}'"));
    assert_eq!(edited.code, Some(2), "{}", edited.err);
    assert!(edited.err.contains("the arguments hold the value of a secret"), "{}", edited.err);
    assert_eq!(waiting(&story), std::slice::from_ref(&approval), "the question stays");
    let no = story.ran_in("", &format!("answer {approval} no --reason 'not {CANARY}'"));
    assert_eq!(no.code, Some(0), "{}", no.err);
    let trace = story.ran_in("", "trace send:one --json");
    assert!(trace.out.contains("[secret canary]"), "{}", trace.out);
    let resumed = story.ran_in("", &format!("resume {}", latest(&story)));
    let shown = story.ran_in("", &format!("show {} --format json", latest(&story)));
    assert!(shown.out.contains("not [secret canary]"), "{}", shown.out);
    assert_eq!(hits_everywhere(&story, &[sent, edited, no, trace, resumed, shown]), [""; 0]);
    all_is_recorded(&story);
}

#[test]
fn a_command_sees_only_what_is_declared_for_it() {
    let story = Story::new(PROJECT)
        .with("SHELL_TOOL_MODE", "full")
        .with("GITHUB_TOKEN", "ghp-abcdefgh-1")
        .with("NPM_TOKEN", "npm-abcdefgh-2")
        .with("OTHER_PASSWORD", "pwd-abcdefgh-3");
    settings(
        &story,
        "[secrets.github]\nenv = \"GITHUB_TOKEN\"\nfor = [\"tool:bash\"]\nas = \"GH\"\n\
         [secrets.npm]\nenv = \"NPM_TOKEN\"\nfor = [\"mcp:npm\", \"provider:npm\", \"tool:web_fetch\"]\n",
    );
    set(&story, "stored", "str-abcdefgh-4");
    let commands = [
        "env | sort | cut -d= -f1",
        "cat /proc/self/environ | tr '\\0' '\\n' | cut -d= -f1 | sort",
        "echo $GH > seen",
    ];
    script(&story, "s.jsonl", &[line("", &commands), line("Done.", &[])]);
    assert_eq!(story.ran_in("", "run --model scripted:s.jsonl hi").code, Some(0));
    let record = story.json(&format!("show run {} --format json", latest(&story)));
    for at in [0, 1] {
        let outcome = &record["steps"][0]["tool_calls"][at]["outcome"];
        let text = outcome["text"].as_str().expect("it is text");
        let of_the_shell = ["PWD", "SHLVL", "_", "OLDPWD"];
        let of_the_sandbox = |name: &str| {
            name.to_lowercase().ends_with("_proxy") || ["CARGO_HOME", "TMPDIR"].contains(&name)
        };
        let names: Vec<&str> = text
            .lines()
            .filter(|name| !of_the_shell.contains(name) && !of_the_sandbox(name))
            .collect();
        assert_eq!(names, ["GH", "HOME", "LANG", "PATH", "TERM", "USER"], "{outcome}");
    }
    assert_eq!(story.read("seen"), "ghp-abcdefgh-1\n");
}

#[test]
fn a_value_that_no_tool_was_given_is_hidden_too() {
    let story = Story::new(PROJECT)
        .with("SHELL_TOOL_MODE", "full")
        .with("OTHER_PASSWORD", "pwd-abcdefgh-3")
        .with("SHORT_KEY", "1234567");
    set(&story, "stored", "str-abcdefgh-4");
    story.file("env.txt", b"pwd-abcdefgh-3 str-abcdefgh-4 1234567\n");
    let read = json!({ "name": "Read", "input": { "path": "env.txt" } });
    let first = json!({ "text": "", "tool_calls": [read] }).to_string();
    script(&story, "s.jsonl", &[first, line("Done.", &[])]);
    let ran = story.ran_in("", "run --json --model scripted:s.jsonl hi");
    assert!(ran.out.contains("[secret OTHER_PASSWORD] [secret stored] 1234567"), "{}", ran.out);
}

#[test]
fn names_are_listed_with_where_they_are_and_who_may_have_them() {
    let story = Story::new("").with("GITHUB_TOKEN", "ghp-abcdefgh-1");
    insta::assert_snapshot!(story.run("secret list"), @"
    exit 0
    --- stdout
    no secrets
    ");
    settings(
        &story,
        "[secrets.github]\nenv = \"GITHUB_TOKEN\"\nfor = [\"tool:Bash\", \"mcp:github\"]\nas = \"GH\"\n\
         [secrets.npm]\nenv = \"NPM_TOKEN\"\n[secrets.missing]\nfor = [\"provider:anthropic\"]\n",
    );
    let ran = set(&story, "deploy-key", "abcdef\n");
    insta::assert_snapshot!(ran.err, @r#"
    `deploy-key` is stored
    it has no receiver yet; name one in your settings:
      [secrets.deploy-key]
      for = ["tool:bash"]
    "#);
    insta::assert_snapshot!(story.run("secret list"), @"
    exit 0
    --- stdout
    deploy-key  in the file  no receiver
    github  in the variable GITHUB_TOKEN  for tool:bash, mcp:github as GH
    missing  not set  for provider:anthropic as MISSING
    npm  in the variable NPM_TOKEN, not set  no receiver
    ");
    insta::assert_snapshot!(story.json("secret list --format json")[1], @r#"{"name":"github","kept":{"env":"GITHUB_TOKEN"},"set":true,"for":["tool:bash","mcp:github"],"as":"GH"}"#);
    insta::assert_snapshot!(story.run("secret rm deploy-key"), @"
    exit 0
    --- stderr
    `deploy-key` is removed
    ");
    assert!(!fs::read_to_string(story.home(FILE)).expect("it is there").contains("abcdef"));
    insta::assert_snapshot!(story.run("secret rm gihtub"), @"
    exit 2
    --- stderr
    error: no value is stored for `gihtub`
     help: did you mean `github`?
    ");
    insta::assert_snapshot!(story.run("secret rm npm"), @"
    exit 2
    --- stderr
    error: no value is stored for `npm`
     help: it comes from the variable NPM_TOKEN
    ");
}

#[test]
fn a_value_comes_from_standard_input_or_a_variable_and_never_from_the_command_line() {
    let story = Story::new("").with("GITHUB_TOKEN", "ghp-abcdefgh-1").with("SHORT", "12345");
    insta::assert_snapshot!(story.run("secret set github ghp-abcdefgh-2"), @"
    exit 2
    --- stderr
    error: `github` was not stored: values on the command line are rejected, because other users can read them
     help: treat this value as leaked; pass a new one on standard input
    ");
    insta::assert_snapshot!(story.run("secret set github"), @"
    exit 2
    --- stderr
    error: standard input is empty
     help: agentry secret set NAME < FILE, or --from-env VARIABLE
    ");
    insta::assert_snapshot!(story.run("secret set GitHub"), @"
    exit 2
    --- stderr
    error: `GitHub` was not stored: use 1 to 64 lower-case letters, digits and `-`, `_` or `.`, such as github-token
    ");
    insta::assert_snapshot!(story.run("secret set github --from-env NOTHING"), @"
    exit 2
    --- stderr
    error: `github` was not stored: the variable NOTHING is not set
    ");
    insta::assert_snapshot!(story.run("secret set github --from-env SHORT"), @"
    exit 2
    --- stderr
    error: `github` was not stored: its value has fewer than 6 characters, so it could not be recognized and redacted
    ");
    assert!(!story.home(FILE).exists());
    assert_eq!(story.ran_in("", "secret set github --from-env GITHUB_TOKEN").code, Some(0));
    let kept = fs::read_to_string(story.home(FILE)).expect("it is kept");
    assert!(kept.contains("ghp-abcdefgh-1"), "{kept}");
}

#[test]
fn at_a_terminal_the_value_is_asked_for_and_not_shown() {
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let story = Story::new("");
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there is a terminal");
    grantpt(&ours).expect("it is granted");
    unlockpt(&ours).expect("it is unlocked");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let theirs = rustix::fs::open(name, flags, Mode::empty()).expect("it can be opened");
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentry"))
        .args(["secret", "set", "typed"])
        .env_clear()
        .env("HOME", story.home(""))
        .stdin(theirs)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut err = child.stderr.take().expect("it has errors");
    let question = b"value of `typed` (not shown): ";
    let mut asked = [0; 30];
    err.read_exact(&mut asked).expect("it asks");
    assert_eq!(&asked, question);
    let mut terminal = fs::File::from(ours);
    writeln!(terminal, "{CANARY}").expect("it can be typed");
    assert!(child.wait().expect("it ends").success());
    let mut shown = [0; 64];
    let count = terminal.read(&mut shown).unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(&shown[..count]), "\r\n", "only the line end is echoed");
    let kept: serde_json::Value =
        serde_json::from_slice(&fs::read(story.home(FILE)).expect("it is kept")).expect("JSON");
    assert_eq!(kept["secrets"]["typed"]["value"], CANARY);
}

#[test]
fn the_file_is_for_its_owner_alone_and_refused_otherwise() {
    let story = story();
    let mode = |path: &str| {
        fs::metadata(story.home(path)).expect("it is there").permissions().mode() & 0o777
    };
    let directory = ".local/state/agentry/secrets";
    assert_eq!((mode(FILE), mode(directory)), (0o600, 0o700));
    let change = |path: &str, mode: u32| {
        fs::set_permissions(story.home(path), fs::Permissions::from_mode(mode)).expect("it can");
    };
    script(&story, "s.jsonl", &[line("Done.", &[])]);
    for (path, wrong, right) in [(FILE, 0o640, 0o600), (directory, 0o755, 0o700)] {
        change(path, wrong);
        for verb in ["secret list", "run --model scripted:s.jsonl hi"] {
            let ran = story.ran_in("", verb);
            assert_eq!(ran.code, Some(1), "{verb}: {}", ran.err);
            assert!(ran.err.contains(&format!("(mode {wrong:o})")), "{}", ran.err);
            assert!(ran.err.contains(&format!("chmod {right:o}")), "{}", ran.err);
        }
        change(path, right);
    }
    assert_eq!(story.ran_in("", "secret list").code, Some(0));
    let aside = story.home("aside.json");
    fs::rename(story.home(FILE), &aside).expect("it can be moved");
    std::os::unix::fs::symlink(&aside, story.home(FILE)).expect("it can be linked");
    assert_eq!(story.ran_in("", "secret list").code, Some(1));
}

#[test]
fn a_file_that_is_broken_is_named_without_what_it_holds() {
    let story = story();
    for text in [
        format!(r#"{{"version":1,"secrets":{{"a":{:?}}}}}"#, CANARY),
        format!(r#"{{"version":1,"secrets":{{"a":{{"value":{{}} {:?}}}}}}}"#, CANARY),
        format!(r#"{{"version":2,"secrets":{{"a":{{"value":{:?}}}}}}}"#, CANARY),
    ] {
        fs::write(story.home(FILE), &text).expect("it can be written");
        let ran = story.ran_in("", "secret list");
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains("secrets.json are not used"), "{}", ran.err);
        assert_eq!(hits("stderr", ran.err.as_bytes()), [""; 0]);
    }
}

#[test]
fn many_who_set_at_once_all_succeed() {
    let story = Story::new("");
    let mut talks: Vec<_> = (0..8).map(|at| story.talk(&format!("secret set name-{at}"))).collect();
    talks.iter_mut().enumerate().for_each(|(at, talk)| talk.say(&format!("value-{at}")));
    for talk in talks {
        assert_eq!(talk.end().code, Some(0));
    }
    let all = story.json("secret list --format json");
    assert_eq!(all.as_array().map(Vec::len), Some(8), "{all}");
}

#[test]
fn a_project_does_not_say_who_gets_a_secret() {
    let story = story();
    story.file("agentry.toml", b"[secrets.canary]\nfor = [\"tool:web_fetch\"]\n");
    script(&story, "s.jsonl", &[line("Done.", &[])]);
    insta::assert_snapshot!(story.run("run --model scripted:s.jsonl hi"), @"
    exit 2
    --- stderr
    error: the settings have errors:
      agentry.toml:1:2 E0909 a project may not say who gets a secret
     help: `agentry config show` shows them with excerpts
    ");
}

#[cfg(not(feature = "keyring"))]
#[test]
fn without_a_keyring_the_setting_for_it_is_refused() {
    let story = story();
    settings(&story, "[secrets]\nstore = \"keyring\"\n");
    script(&story, "s.jsonl", &[line("Done.", &[])]);
    insta::assert_snapshot!(story.run("run --model scripted:s.jsonl hi"), @r#"
    exit 2
    --- stderr
    error: this agentry was built without support for the system keyring
     help: build it with `--features keyring`, or set secrets.store = "file"
    "#);
    let mut talk = story.talk("secret set other");
    talk.say("abcdefgh");
    assert_eq!(talk.end().code, Some(2));
}
