//! The shell: what comes back, and what is bounded.

use std::time::Duration;

use agentry_protocol::tool_call::OutcomeStatus;
use serde_json::json;

use crate::Bench;

/// The text without its duration, which differs from run to run.
fn without_time(text: &str) -> String {
    let time = regex(text);
    match time {
        Some(time) => text.replace(&time, "TIME"),
        None => text.to_owned(),
    }
}

/// The last `<number> s` of the text.
fn regex(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split([' ', ']', ',', '\n']).collect();
    let at = words.iter().rposition(|word| *word == "s")?;
    let number = words.get(at.checked_sub(1)?)?;
    number.parse::<f64>().is_ok().then(|| format!("{number} s"))
}

#[test]
fn a_command_that_succeeds_gives_its_output_alone() {
    let bench = Bench::with(&[("a.txt", "")]);
    let outcome = bench.run("bash", json!({"command": "ls; echo e >&2; echo o"}));
    assert_eq!((outcome.status, outcome.text.as_str()), (OutcomeStatus::Done, "a.txt\ne\no\n"));
    assert_eq!((outcome.measured.exit_code, outcome.measured.truncated), (Some(0), false));
    assert!(outcome.measured.duration_ms.is_some());
    assert_eq!(bench.done("bash", json!({"command": "true"})), "[no output]");
}

#[test]
fn a_command_that_fails_gives_its_output_and_its_exit_code() {
    let bench = Bench::with(&[]);
    for (command, expected) in [
        ("echo half; exit 3", "half\n[exit code 3, TIME]"),
        ("printf half; exit 3", "half\n[exit code 3, TIME]"),
        ("exit 1", "[exit code 1, TIME]"),
    ] {
        let outcome = bench.run("bash", json!({"command": command}));
        assert_eq!(outcome.status, OutcomeStatus::Failed);
        assert_eq!(without_time(&outcome.text), expected);
    }
    let outcome = bench.run("bash", json!({"command": "exit 3"}));
    assert_eq!(outcome.measured.exit_code, Some(3));
}

#[test]
fn a_command_that_is_killed_names_the_signal() {
    let bench = Bench::with(&[]);
    let outcome = bench.run("bash", json!({"command": "echo a; kill -9 $$"}));
    assert_eq!(outcome.status, OutcomeStatus::Failed);
    assert_eq!(without_time(&outcome.text), "a\n[ended by signal 9, TIME]");
    assert_eq!(outcome.measured.exit_code, None);
}

#[test]
fn the_shell_is_bash_where_there_is_one() {
    let bench = Bench::with(&[]);
    let text = bench.done("bash", json!({"command": "x=(a b); echo ${x[1]}"}));
    assert_eq!(text, "b\n");
}

#[test]
fn the_environment_is_minimal_and_holds_nothing_of_ours() {
    let mut bench = Bench::with(&[]);
    bench.env = vec![("LANG".to_owned(), "de_DE".into()), ("EXTRA".to_owned(), "1".into())];
    let text =
        bench.done("bash", json!({"command": "env | grep -v -e ^SHLVL= -e ^PWD= -e ^_= | sort"}));
    let root = bench.workspace.path().display();
    let expected = format!(
        "EXTRA=1\nHOME={root}\nLANG=de_DE\n\
         PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n\
         TERM=dumb\nUSER=agent\n"
    );
    assert_eq!(text, expected);
}

#[test]
fn it_runs_in_the_directory_that_is_given() {
    let bench = Bench::with(&[("dir/a.txt", "")]);
    assert_eq!(bench.done("bash", json!({"command": "ls", "cwd": "dir"})), "a.txt\n");
    assert_eq!(
        bench.failed("bash", json!({"command": "ls", "cwd": "dri"})),
        "There is no `dri`. Did you mean `dir`?"
    );
    bench.failed("bash", json!({"command": "ls", "cwd": "dir/a.txt"}));
}

#[test]
fn output_as_long_as_the_limit_is_whole_and_one_character_more_is_left_out() {
    let mut bench = Bench::with(&[]);
    bench.bounds.shell_output_chars = 6;
    let run = |command: &str| bench.run("bash", json!({"command": format!("printf {command}")}));
    for whole in ["abcdef", "äöüßéè"] {
        let outcome = run(whole);
        assert_eq!((outcome.text.as_str(), outcome.measured.truncated), (whole, false));
    }
    for (long, cut) in [
        ("abcXdef", "abc\n… 1 characters left out …\ndef"),
        ("äöüXßéè", "äöü\n… 1 characters left out …\nßéè"),
    ] {
        let outcome = run(long);
        assert_eq!((outcome.text.as_str(), outcome.measured.truncated), (cut, true));
    }
    let text = bench.done("bash", json!({"command": "printf 'äö%.0s' {1..5000}"}));
    assert_eq!(text, "äöä\n… 9994 characters left out …\nöäö");
}

#[test]
fn a_call_may_ask_for_less_but_not_for_more() {
    let mut bench = Bench::with(&[]);
    bench.bounds.shell_output_chars = 6;
    let run = |most: u64| {
        bench.done("bash", json!({"command": "printf 12345678", "max_output_chars": most}))
    };
    assert_eq!(run(2), "1\n… 6 characters left out …\n8");
    assert_eq!(run(1_000_000), "123\n… 2 characters left out …\n678");
    bench.bounds.shell_timeout_ms = 100;
    let input = json!({"command": "sleep 1000", "timeout_ms": 1_000_000});
    let text = without_time(&bench.failed("bash", input));
    assert_eq!(text, "[timed out after TIME, all its processes were ended]");
    bench.bounds.shell_timeout_ms = 1_000_000;
    let input = json!({"command": "sleep 1000", "timeout_ms": 100});
    bench.failed("bash", input);
}

#[test]
fn what_was_said_before_the_time_was_over_is_kept() {
    let mut bench = Bench::with(&[]);
    bench.bounds.shell_timeout_ms = 3_000;
    let outcome = bench.run("bash", json!({"command": "printf begun; sleep 1000"}));
    assert_eq!(outcome.status, OutcomeStatus::Failed);
    assert_eq!(
        without_time(&outcome.text),
        "begun\n[timed out after TIME, all its processes were ended]"
    );
    assert_eq!(outcome.measured.exit_code, None);
}

#[test]
fn a_background_process_ends_with_the_command_and_that_is_said() {
    let bench = Bench::with(&[]);
    let text = bench.done("bash", json!({"command": "sleep 1000 & echo ok"}));
    assert_eq!(text, "ok\n[1 background process was ended with the command]");
    let text = bench.failed("bash", json!({"command": "sleep 1000 & sleep 1000 & exit 2"}));
    assert_eq!(
        without_time(&text),
        "[2 background processes were ended with the command][exit code 2, TIME]"
            .replace("][", "]\n[")
    );
}

#[test]
fn a_stop_from_another_thread_ends_the_command() {
    let bench = Bench::with(&[]);
    let stop = bench.stop.clone();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let path =
        format!("/proc/{}/fd/{}", std::process::id(), std::os::fd::AsRawFd::as_raw_fd(&writer));
    let stopper = std::thread::spawn(move || {
        std::io::Read::read_exact(&mut reader, &mut [0]).unwrap();
        stop.stop();
    });
    let command = format!("printf a; printf x >{path}; sleep 1000");
    let outcome = bench.run("bash", json!({"command": command}));
    stopper.join().unwrap();
    assert_eq!(outcome.status, OutcomeStatus::Stopped);
    assert_eq!(
        without_time(&outcome.text),
        "a\n[stopped after TIME, all its processes were ended]"
    );
}

#[test]
fn a_command_that_is_too_long_or_no_text_is_a_failure() {
    let bench = Bench::with(&[]);
    let text = bench.failed("bash", json!({"command": ":".repeat(130_000)}));
    assert!(text.starts_with("The command has 130000 bytes; at most 122880 can be run."), "{text}");
    let text = bench.failed("bash", json!({"command": "a\0b"}));
    assert!(text.starts_with("The command was not run: "), "{text}");
}

#[test]
fn output_that_is_no_text_is_shown_as_far_as_it_is_one() {
    let bench = Bench::with(&[]);
    assert_eq!(bench.done("bash", json!({"command": "printf 'a\\xffb'"})), "a\u{fffd}b");
}

#[test]
fn the_duration_is_measured() {
    let bench = Bench::with(&[]);
    let outcome = bench.run("bash", json!({"command": "sleep 0.05"}));
    assert!(outcome.measured.duration_ms >= Some(Duration::from_millis(50).as_millis() as u64));
}
