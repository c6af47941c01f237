//! A channel's program: what it hands in and is told, how it is started again and stopped.

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::thread;

use agentry_agentfile::manifest::channels::{
    ChannelFilter, FilterField, FilterKind, MarkdownFlavor,
};
use agentry_agentfile::manifest::command::CommandWords;
use agentry_protocol::inbound::{ChannelAddress, PeerKind};
use agentry_protocol::intake::DeliveryError;
use agentry_runtime::channel::{OutgoingChunk, SentChunk};

use super::scene::{Scene, fifo};

fn place() -> ChannelAddress {
    ChannelAddress {
        channel: "chat".to_owned(),
        account_id: None,
        peer_id: Some("p1".to_owned()),
        peer_kind: Some(PeerKind::Dm),
        guild: None,
        thread_id: None,
        reply_to_id: Some("m1".to_owned()),
    }
}

fn outgoing(id: &str, content: &str) -> OutgoingChunk {
    OutgoingChunk { id: id.to_owned(), to: place(), content: content.to_owned() }
}

fn wait_until_nobody_holds(path: PathBuf) {
    let mut rest = String::new();
    let mut alive = File::open(path).expect("it can be opened");
    alive.read_to_string(&mut rest).expect("it can be read");
}

#[test]
fn an_event_is_acknowledged_after_it_is_kept_and_again_when_it_is_repeated() {
    let mut scene = Scene::new(
        r#"
        event 7 hello
        event 7 hello
        tell_back
        "#,
    );
    scene.channel.account_id = Some("me".to_owned());
    scene.channel.peer_kind = Some(PeerKind::Group);
    let adapter = scene.start();
    let all = scene.sink.await_count(3);
    assert_eq!(all[0].event_id.as_str(), "chat:7");
    assert_eq!(all[0].place.account_id.as_deref(), Some("me"));
    assert_eq!(all[0].place.peer_kind, Some(PeerKind::Group));
    assert_eq!(all[0].timestamp, 0);
    assert_eq!(
        scene.sink.contents(),
        [
            "hello",
            r#"{"type":"ack","event_id":"chat:7"}"#,
            r#"{"type":"ack","event_id":"chat:7","repeated":true}"#,
        ]
    );
    let health = adapter.health();
    assert!(health.connected);
    assert_eq!((health.last_event_at, health.refused, health.restarts), (Some(0), 0, 0));
}

#[test]
fn a_line_that_cannot_be_taken_is_refused_and_the_program_goes_on() {
    let scene = Scene::new(
        r#"
        echo nonsense
        echo '{"type":"event","source_id":"1","sender_id":"u","channel":"other"}'
        head -c 1100000 /dev/zero | tr '\0' x; echo
        printf '\377\n'
        event 2 unwanted
        event 3 good
        tell_back
        "#,
    );
    *scene.sink.refuses.lock().unwrap() = Some("the disk is full".to_owned());
    let adapter = scene.start();
    scene.sink.await_count(7);
    let told = scene.sink.contents();
    assert_eq!(told[0], "good");
    assert!(told[1].contains(r#""line":1,"why":"the line is not JSON"#), "{told:?}");
    assert_eq!(
        told[2],
        r#"{"type":"refused","event_id":"1","line":2,"why":"the event is of the channel `other`, not of `chat`"}"#
    );
    assert_eq!(told[3], r#"{"type":"refused","line":3,"why":"the line has more than 1 MiB"}"#);
    assert_eq!(told[4], r#"{"type":"refused","line":4,"why":"the line is not UTF-8"}"#);
    assert_eq!(
        told[5],
        r#"{"type":"refused","event_id":"chat:2","line":5,"why":"the disk is full"}"#
    );
    assert_eq!(told[6], r#"{"type":"ack","event_id":"chat:3"}"#);
    assert_eq!(adapter.health().refused, 5);
}

#[test]
fn filters_keep_out_and_what_they_keep_out_is_acknowledged() {
    let mut scene = Scene::new("event 1 '!bot'; event 2 'hi bot'; event 3 hi; tell_back");
    let filter = |kind, pattern: &str| ChannelFilter {
        kind,
        field: FilterField::Content,
        pattern: pattern.to_owned(),
    };
    scene.channel.filters = vec![
        filter(FilterKind::Exclude, "!*"),
        filter(FilterKind::Include, "*bot*"),
        filter(FilterKind::Include, "{*"),
    ];
    let adapter = scene.start();
    scene.sink.await_count(4);
    assert_eq!(
        scene.sink.contents(),
        [
            "hi bot",
            r#"{"type":"ack","event_id":"chat:1","filtered":true}"#,
            r#"{"type":"ack","event_id":"chat:2"}"#,
            r#"{"type":"ack","event_id":"chat:3","filtered":true}"#,
        ]
    );
    assert_eq!(adapter.health().filtered, 2);
}

#[test]
fn the_environment_is_what_the_settings_say_and_nothing_else() {
    let scene = Scene::new("event 1 \"$(env | sort | tr '\\n' ' ')\"; tell_back")
        .secret("chat-token", "s3cret-value");
    let adapter = scene.start();
    let environment = scene.sink.await_content("PATH=");
    // The last three are the shell's own.
    let own = ["PWD=", "SHLVL=", "_="];
    let given: Vec<&str> = environment
        .split_whitespace()
        .filter(|one| own.iter().all(|name| !one.starts_with(name)))
        .collect();
    assert_eq!(given, ["CHAT_TOKEN=s3cret-value", "PATH=/usr/bin:/bin"]);
    drop(adapter);
}

#[test]
fn a_secret_without_a_value_or_a_program_that_is_not_there_is_told_with_the_setting() {
    let mut scene = Scene::new("");
    scene.channel.credentials = vec!["absent".to_owned()];
    assert_eq!(
        scene.try_start().err().unwrap().to_string(),
        "the setting `channels.chat.credentials` names the secret `absent`, which has no value; set it \
         with `agentry secret set absent`"
    );
    scene.channel.credentials.clear();
    scene.channel.command = Some(CommandWords::One("no such program".to_owned()));
    let error = scene.try_start().err().unwrap().to_string();
    assert!(
        error.starts_with("the program `no such program` of the setting `channels.chat.command`"),
        "{error}"
    );
}

#[test]
fn health_and_capabilities_are_as_the_program_says_and_settings_win() {
    let mut scene = Scene::new(
        r#"
        echo '{"type":"capabilities","text_limit":100,"supports_threads":true,"markdown_flavor":"discord"}'
        echo '{"type":"capabilities","text_limit":3}'
        echo '{"type":"health","connected":false,"error":"no network"}'
        echo '{"type":"log","level":"warn","message":"hm"}'
        event 1 down
        read -r refused
        read -r ack
        read -r send
        echo '{"type":"health","connected":true}'
        echo '{"type":"sent","id":"go"}'
        event 2 up
        tell_back
        "#,
    );
    scene.channel.markdown = Some(MarkdownFlavor::None);
    let adapter = scene.start();
    scene.sink.await_content("down");
    let health = adapter.health();
    assert!(!health.connected);
    assert_eq!(health.error.as_deref(), Some("no network"));
    assert_eq!(health.refused, 1);
    assert!(health.complaints.contains(&"warn: hm".to_owned()), "{health:?}");
    let capabilities = adapter.capabilities();
    assert_eq!((capabilities.limit(), capabilities.markdown()), (100, MarkdownFlavor::None));
    assert!(capabilities.features.supports_threads);
    assert_eq!(adapter.send(&outgoing("go", "on")), Ok(SentChunk::default()));
    let health = adapter.health();
    assert!(health.connected && health.error.is_none(), "{health:?}");
}

#[test]
fn what_goes_out_is_answered_by_the_program() {
    let scene = Scene::new(
        r#"
        while read -r line; do
            id=$(printf %s "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
            case $line in
            *well*) printf '{"type":"sent","id":"%s","message_id":"m-%s"}\n' "$id" "$id" ;;
            *badly*) printf '{"type":"failed","id":"%s","error":{"type":"permission_denied","reason":"no"}}\n' "$id" ;;
            esac
        done
        "#,
    );
    let adapter = scene.start();
    let sent = SentChunk { message_id: Some("m-a#0".to_owned()) };
    assert_eq!(adapter.send(&outgoing("a#0", "well")), Ok(sent));
    let denied = DeliveryError::PermissionDenied { reason: "no".to_owned() };
    assert_eq!(adapter.send(&outgoing("a#1", "badly")), Err(denied));
    thread::scope(|scope| {
        let waits = scope.spawn(|| adapter.send(&outgoing("a#2", "never")));
        scene.clock.pass(30_000);
        let error = waits.join().unwrap().unwrap_err();
        assert!(
            matches!(&error, DeliveryError::Unknown { message } if message.contains("30000 ms"))
        );
    });
    adapter.stop();
    let error = adapter.send(&outgoing("a#3", "well")).unwrap_err();
    assert!(matches!(error, DeliveryError::Network { .. }), "{error}");
}

#[test]
fn what_is_sent_has_its_place_and_its_content() {
    let scene = Scene::new("tell_back");
    let adapter = scene.start();
    thread::scope(|scope| {
        scope.spawn(|| adapter.send(&outgoing("a#0", "line 1\n\"line\" 2")));
        let told = scene.sink.await_content("line 1");
        assert_eq!(
            told,
            "{\"type\":\"send\",\"id\":\"a#0\",\"to\":{\"channel\":\"chat\",\"peer_id\":\"p1\",\"peer_kind\":\"dm\",\
             \"reply_to_id\":\"m1\"},\"content\":\"line 1\\n\\\"line\\\" 2\"}"
        );
        scene.clock.pass(30_000);
    });
}

#[test]
fn a_program_that_ends_is_started_again_later_and_later() {
    let scene = Scene::new("echo 'cannot log in' >&2; exit 3");
    let adapter = scene.start();
    for (restarts, wait) in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000].iter().enumerate()
    {
        scene.clock.await_wait(*wait);
        let health = adapter.health();
        assert!(!health.connected);
        assert_eq!(health.restarts, restarts as u64);
        let error = "the program ended (exit status: 3): cannot log in";
        assert_eq!(health.error.as_deref(), Some(error));
        assert!(health.next_try_ms.is_some());
        scene.clock.advance(*wait);
    }
    scene.clock.await_wait(60_000);
    adapter.stop();
}

#[test]
fn a_minute_of_health_lets_the_waits_begin_anew() {
    let scene = Scene::new(
        r#"
        n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n
        [ "$n" -lt 3 ] && exit 1
        event "up-$n" up
        read -r ack
        read -r send
        exit 1
        "#,
    );
    let adapter = scene.start();
    for wait in [1_000, 2_000, 4_000] {
        scene.clock.pass(wait);
    }
    scene.sink.await_count(1);
    scene.clock.advance(60_000);
    let error = adapter.send(&outgoing("a#0", "bye")).unwrap_err();
    assert!(
        matches!(&error, DeliveryError::Unknown { message } if message.contains("ended")),
        "{error}"
    );
    scene.clock.pass(1_000);
    scene.sink.await_count(2);
    scene.clock.advance(59_999);
    adapter.send(&outgoing("a#1", "bye")).unwrap_err();
    scene.clock.await_wait(2_000);
}

#[test]
fn stopping_ends_every_process_of_the_program() {
    let scene = Scene::new("exec 9> alive; sleep 1000 & event 1 ready; wait");
    let alive = fifo(&scene);
    let adapter = scene.start();
    let held = thread::spawn(|| wait_until_nobody_holds(alive));
    scene.sink.await_count(1);
    adapter.stop();
    held.join().unwrap();
    assert!(!adapter.health().connected);
}

#[test]
fn a_program_that_does_not_want_to_end_is_killed() {
    let scene = Scene::new(
        "trap '' TERM; exec 9> alive; sleep 1000 & event 1 ready; while :; do wait; done",
    );
    let alive = fifo(&scene);
    let adapter = scene.start();
    let held = thread::spawn(|| wait_until_nobody_holds(alive));
    scene.sink.await_count(1);
    thread::scope(|scope| {
        let stops = scope.spawn(|| adapter.stop());
        scene.clock.pass(5_000);
        stops.join().unwrap();
    });
    held.join().unwrap();
}

#[test]
fn a_program_that_ends_leaves_no_process_behind() {
    let scene = Scene::new("exec 9> alive; sleep 1000 & event 1 ready; exit 0");
    let alive = fifo(&scene);
    let adapter = scene.start();
    wait_until_nobody_holds(alive);
    scene.clock.await_wait(1_000);
    assert_eq!(adapter.health().error.as_deref(), Some("the program ended (exit status: 0)"));
}

#[test]
fn a_secret_does_not_stand_in_what_the_program_complains() {
    let scene =
        Scene::new("echo \"token $CHAT_TOKEN\" >&2; exit 1").secret("chat-token", "s3cret-value");
    let adapter = scene.start();
    scene.clock.await_wait(1_000);
    assert_eq!(adapter.health().complaints, ["token [secret chat-token]"]);
    let printed = format!("{:?}", scene.config().unwrap());
    assert!(!printed.contains("s3cret-value"), "{printed}");
}

#[test]
fn a_change_of_the_program_is_taken_at_the_next_start() {
    let scene = Scene::new("exit 1");
    let adapter = scene.start();
    scene.clock.await_wait(1_000);
    fs::remove_file(scene.path().join("adapter.sh")).unwrap();
    scene.clock.advance(1_000);
    scene.clock.await_wait(2_000);
    assert!(adapter.health().error.unwrap().contains("adapter.sh"));
}
