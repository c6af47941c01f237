//! How much a channel's program may make us hold.

use std::fs::File;
use std::sync::mpsc::channel;
use std::thread;

use agentry_protocol::intake::DeliveryError;
use agentry_runtime::channel::OutgoingChunk;

use super::scene::{Kept, Scene, fifo};

#[test]
fn while_the_sink_waits_nothing_more_is_read() {
    // Far more than pipes and buffers hold.
    let script = r#"
        long=$(head -c 100000 /dev/zero | tr '\0' x)
        n=0
        while [ $n -lt 40 ]; do event "$n" "$long"; n=$((n + 1)); done
        echo > done
        tell_back
        "#;
    let scene = Scene::with(Kept::with_room(20), script);
    let adapter = scene.start();
    scene.sink.await_count(20);
    assert!(!scene.path().join("done").exists());
    scene.sink.make_room(usize::MAX);
    let all = scene.sink.await_count(40);
    let ids: Vec<String> = all.iter().take(40).map(|one| one.event_id.to_string()).collect();
    let expected: Vec<String> = (0..40).map(|n| format!("chat:{n}")).collect();
    assert_eq!(ids, expected);
    drop(adapter);
}

#[test]
fn a_program_that_does_not_read_is_not_told_without_end() {
    let scene = Scene::new("event 1 ready; exec sleep 1000");
    let adapter = scene.start();
    let place = scene.sink.await_count(1)[0].place.clone();
    let content = "x".repeat(100_000);
    let (told, answers) = channel();
    thread::scope(|scope| {
        for n in 0..300 {
            let (told, adapter) = (told.clone(), &adapter);
            let (to, content) = (place.clone(), content.clone());
            scope.spawn(move || {
                let outgoing = OutgoingChunk { id: format!("a#{n}"), to, content };
                told.send(adapter.send(&outgoing).unwrap_err()).unwrap();
            });
        }
        // One is being written, 256 wait, and there is no room for the others.
        for error in answers.iter().take(43) {
            let why = "the program of the channel `chat` does not read its input".to_owned();
            assert_eq!(error, DeliveryError::Network { message: why });
        }
        adapter.stop();
    });
}

#[test]
fn only_the_last_complaints_are_kept_and_none_is_long() {
    let scene = Scene::new(
        r#"
        n=0
        while [ $n -lt 30 ]; do echo "complaint $n" >&2; n=$((n + 1)); done
        head -c 5000 /dev/zero | tr '\0' x >&2; echo >&2
        exit 1
        "#,
    );
    let adapter = scene.start();
    scene.clock.await_wait(1_000);
    let complaints = adapter.health().complaints;
    assert_eq!(complaints.len(), 20);
    assert_eq!(complaints[0], "complaint 11");
    assert!(complaints[19].len() <= 2 * 1024 + 3, "{}", complaints[19].len());
}

#[test]
fn a_process_that_left_the_group_with_the_output_is_not_waited_for() {
    let scene = Scene::new(
        r#"
        event 1 ready > line
        setsid sh -c 'cat line; exec cat alive' 2>/dev/null &
        read -r ack
        exit 1
        "#,
    );
    let alive = fifo(&scene);
    let adapter = scene.start();
    scene.sink.await_count(1);
    // Under load it may look as if the sink still took something, which is waited for.
    scene.clock.pass_until(5_000, 1_000);
    assert!(adapter.health().error.is_some());
    // Lets the process end that nobody waits for.
    drop(File::options().write(true).open(alive).unwrap());
}
