//! How a process starts, and how it does not.

use std::fs;
use std::os::fd::OwnedFd;

use agentry_sandbox::{CancelToken, Command, Cwd, Error, ProcessBounds, ProcessEnding, Streams};

use crate::{LONG, run, shell, stdout};

fn failure(command: &Command) -> Error {
    let bounds = ProcessBounds { time: LONG, output_bytes_max: 100 };
    agentry_sandbox::run(command, &bounds, &CancelToken::new()).expect_err("this cannot be started")
}

#[test]
fn the_exit_code_comes_back() {
    assert_eq!(run(&shell("exit 0")).ending, ProcessEnding::Exited(0));
    assert_eq!(run(&shell("exit 7")).ending, ProcessEnding::Exited(7));
}

#[test]
fn a_signal_comes_back_as_a_signal() {
    assert_eq!(run(&shell("kill -9 $$")).ending, ProcessEnding::Signalled(9));
}

#[test]
fn both_streams_come_together_in_the_order_of_writing() {
    let finished = run(&shell("echo a; echo b >&2; echo c; echo d >&2"));
    assert_eq!(stdout(&finished), "a\nb\nc\nd\n");
    assert_eq!(finished.stderr.whole().as_deref(), Some(b"".as_slice()));
}

#[test]
fn both_streams_can_be_kept_apart() {
    let finished = run(&Command { streams: Streams::Apart, ..shell("echo a; echo b >&2; echo c") });
    assert_eq!(stdout(&finished), "a\nc\n");
    assert_eq!(finished.stderr.whole().as_deref(), Some(b"b\n".as_slice()));
}

#[test]
fn the_environment_is_the_one_that_was_given_and_no_other() {
    let finished = run(&Command { env: vec![("ONE".into(), "1".into())], ..shell("/usr/bin/env") });
    let mut lines: Vec<String> = stdout(&finished).lines().map(str::to_owned).collect();
    // The shell itself adds these.
    lines.retain(|line| !["PWD=", "SHLVL=", "_=", "OLDPWD="].iter().any(|it| line.starts_with(it)));
    assert_eq!(lines, ["ONE=1"]);
}

#[test]
fn without_input_a_reader_sees_its_end_at_once() {
    assert_eq!(stdout(&run(&shell("cat; echo done"))), "done\n");
}

#[test]
fn a_long_input_is_given_while_the_output_is_taken() {
    let input = vec![b'x'; 3 * 1024 * 1024];
    let finished = run(&Command { stdin: Some(input), ..shell("cat | wc -c") });
    assert_eq!(stdout(&finished).trim(), "3145728");
}

#[test]
fn an_input_that_nobody_reads_is_no_failure() {
    let input = vec![b'x'; 3 * 1024 * 1024];
    let finished = run(&Command { stdin: Some(input), ..shell("exec 0<&-; echo done") });
    assert_eq!((stdout(&finished).as_str(), finished.ending), ("done\n", ProcessEnding::Exited(0)));
}

#[test]
fn the_process_leads_a_session_without_a_terminal() {
    let finished = run(&shell("cut -d' ' -f1,5,6,7 /proc/$$/stat; : > /dev/tty"));
    let text = String::from_utf8_lossy(&finished.stdout.whole().expect("short")).into_owned();
    let numbers: Vec<&str> = text.lines().next().expect("a line").split(' ').collect();
    assert_eq!((numbers[0], numbers[0], "0"), (numbers[1], numbers[2], numbers[3]));
    assert_ne!(finished.ending, ProcessEnding::Exited(0), "there must be no terminal to open");
}

#[test]
fn it_runs_in_an_open_directory_even_after_that_was_renamed() {
    let dir = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| dir.path().join(name));
    fs::create_dir(&old).unwrap();
    let handle = OwnedFd::from(fs::File::open(&old).unwrap());
    fs::rename(&old, &new).unwrap();
    let finished = run(&Command { cwd: Cwd::Handle(handle), ..shell("pwd -P") });
    assert_eq!(stdout(&finished).trim_end(), new.canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let error = failure(&Command { program: "/no/such/program".into(), ..shell("") });
    assert!(matches!(&error, Error::ProgramNotFound { program } if program == "/no/such/program"));
    assert_eq!(error.to_string(), "there is no program `/no/such/program`");
    let error = failure(&Command { program: "no-such-program".into(), ..shell("") });
    assert!(matches!(error, Error::ProgramNotFound { .. }));
}

#[test]
fn a_file_that_is_no_program_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plain");
    fs::write(&file, "echo hi").unwrap();
    let error = failure(&Command { program: file.into(), ..shell("") });
    assert!(matches!(error, Error::NotExecutable { .. }), "{error:?}");
    let error = failure(&Command { program: "/".into(), ..shell("") });
    assert!(matches!(error, Error::NotExecutable { .. }), "{error:?}");
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    for path in ["/no/such/directory", "/dev/null"] {
        let error = failure(&Command { cwd: Cwd::Path(path.into()), ..shell("true") });
        assert!(
            matches!(&error, Error::NoDirectory { path: named, .. } if named.to_str() == Some(path)),
            "{error:?}"
        );
    }
}

#[test]
fn arguments_that_the_system_does_not_take_are_named() {
    let error = failure(&shell(&"x".repeat(300_000)));
    assert!(matches!(error, Error::TooLong { .. }), "{error:?}");
}

#[test]
fn a_zero_byte_in_an_argument_is_refused() {
    let error = failure(&shell("a\0b"));
    assert!(matches!(error, Error::NotStarted { .. }), "{error:?}");
}
