//! How much a process may say.

use agentry_sandbox::{CancelToken, ProcessBounds, ProcessEnding, ProcessOutcome};

use crate::{LONG, shell};

fn keeping(output_bytes_max: usize, script: &str) -> ProcessOutcome {
    let bounds = ProcessBounds { time: LONG, output_bytes_max };
    agentry_sandbox::run(&shell(script), &bounds, &CancelToken::new()).unwrap()
}

#[test]
fn output_as_long_as_the_limit_is_whole() {
    let finished = keeping(10, "printf 0123456789");
    assert_eq!(finished.stdout.whole().as_deref(), Some(b"0123456789".as_slice()));
}

#[test]
fn of_output_one_byte_longer_one_byte_is_left_out() {
    let finished = keeping(10, "printf 0123456789a");
    assert_eq!(finished.stdout.head(), b"01234");
    assert_eq!(finished.stdout.tail(), b"6789a");
    assert_eq!(finished.stdout.bytes_left_out(), 1);
}

#[test]
fn a_flood_is_read_to_its_end_and_kept_in_a_bounded_space() {
    let finished = keeping(64 * 1024, "head -c 20000000 /dev/zero; printf end");
    assert_eq!(finished.ending, ProcessEnding::Exited(0));
    assert_eq!(finished.stdout.bytes_left_out(), 20_000_003 - 64 * 1024);
    assert_eq!(finished.stdout.head().len() + finished.stdout.tail().len(), 64 * 1024);
    assert!(finished.stdout.tail().ends_with(b"end"));
}

#[test]
fn a_flood_without_end_is_ended_by_the_time() {
    let bounds =
        ProcessBounds { time: std::time::Duration::from_millis(200), output_bytes_max: 1024 };
    let finished = agentry_sandbox::run(&shell("exec yes"), &bounds, &CancelToken::new()).unwrap();
    assert_eq!(finished.ending, ProcessEnding::TimedOut);
    assert!(finished.duration >= bounds.time);
    assert_eq!(finished.stdout.head().len(), 512);
}
