//! The answer to a message: where it goes, in which pieces, and what is recorded of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use agentry_agentfile::manifest::channels::LinkTreatment;
use agentry_protocol::inbound::PeerKind;
use tempfile::TempDir;

use super::*;
use crate::channel::{AdapterConfig, InboundAcceptance, InboundRejection, InboundSink, LinkPolicy};
use crate::tests::{ROOM, TestHost, inbound, say};
use crate::turn::runner::RunExit;

/// Appends each line that it is told to `sent`, and answers by what the line holds.
const PROGRAM: &str = r#"
    while read -r line; do
        id=$(printf %s "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
        printf '%s\n' "$line" >> sent
        case $line in
        *unreachable*) error='{"type":"network","message":"down"}' ;;
        *unwanted*) error='{"type":"permission_denied","reason":"no"}' ;;
        *) printf '{"type":"sent","id":"%s","message_id":"m-%s"}\n' "$id" "$id"; continue ;;
        esac
        printf '{"type":"failed","id":"%s","error":%s}\n' "$id" "$error"
    done
    "#;

/// A clock whose waits are over at once.
#[derive(Default)]
struct WaitLog(Mutex<Vec<u64>>);

impl WaitClock for WaitLog {
    fn now_ms(&self) -> u64 {
        crate::tests::NOW
    }

    fn wait(&self, ms: u64, bell: &Arc<Latch>) -> bool {
        self.0.lock().expect("no thread panicked").push(ms);
        bell.is_set()
    }
}

/// A sink that refuses everything; the programs of these tests send no events.
struct ClosedSink;

impl InboundSink for ClosedSink {
    fn take(&self, _: Inbound) -> Result<InboundAcceptance, InboundRejection> {
        Err(InboundRejection { why: "the test takes no events".to_owned() })
    }
}

/// A sender of answers for some channels, with the lines that their programs were told.
struct ChannelScene {
    replies: ReplySender,
    waits: Arc<WaitLog>,
    directory: TempDir,
}

impl ChannelScene {
    fn new(names: &[&str]) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let start = |name: &&str| {
            let place = directory.path().join(name);
            fs::create_dir(&place).expect("there is room");
            let adapter = Adapter::start(config(name, &place), Arc::new(ClosedSink), system());
            ((*name).to_owned(), Arc::new(adapter.expect("the program starts")))
        };
        let channels = names.iter().map(start).collect();
        let waits = Arc::new(WaitLog::default());
        let (clock, stop, lines) = (waits.clone(), Arc::default(), OnceLock::new());
        let outbox = Outbox { channels, is_whole: true, clock, stop, lines };
        Self { replies: ReplySender(Arc::new(outbox)), waits, directory }
    }

    fn begin(&self, scene: &TestHost) {
        let say: NoticeSink = Arc::new(|notice| panic!("{notice}"));
        self.replies.begin(&scene.host, &say).expect("the queues start");
    }

    /// The address, the reply and the content of each line that a program was told.
    fn told(&self, channel: &str) -> Vec<(String, Option<String>, String)> {
        let file = self.directory.path().join(channel).join("sent");
        let lines = fs::read_to_string(file).unwrap_or_default();
        let read = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("a line is JSON");
            let text =
                |pointer: &str| line.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            let (to, content) = (text("/to/peer_id"), text("/content"));
            (to.expect("it has an address"), text("/to/reply_to_id"), content.expect("a text"))
        };
        lines.lines().map(read).collect()
    }
}

fn system() -> Arc<dyn WaitClock> {
    Arc::new(SystemClock)
}

fn config(name: &str, directory: &Path) -> AdapterConfig {
    AdapterConfig {
        channel: name.to_owned(),
        program: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), PROGRAM.to_owned()],
        directory: PathBuf::from(directory),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".into())],
        account_id: None,
        peer_kind: None,
        filters: Vec::new(),
        text_limit: Some(40),
        markdown: None,
        links: LinkPolicy { rule: LinkTreatment::default(), hosts: Vec::new() },
        redactor: Arc::default(),
    }
}

/// A host with a run for each message, which says this and has not answered yet.
fn answered(text: &str, messages: &[(&str, &str)]) -> (TestHost, Vec<RunId>) {
    let scene = TestHost::new(ROOM, &[say(text)]);
    let run = |(event, sender): &(&str, &str)| {
        let event = scene.receive(event, sender, "What is it?");
        scene.run_of(&event).run
    };
    let runs = messages.iter().map(run).collect();
    (scene, runs)
}

/// Blocks until the delivery of the answer to an event is recorded.
fn delivered(scene: &TestHost, event: &str) -> DeliveryReport {
    let is_it = |event: &str, one: &Event| matches!(one, Event::Intake(IntakeStage::Delivered(one)) if one.event.as_str() == event);
    let entry = scene.until_recorded(|one| is_it(event, one));
    let Event::Intake(IntakeStage::Delivered(report)) = entry.event else { panic!("it is that") };
    *report
}

fn status(scene: &TestHost, event: &str) -> Option<DeliveryStatus> {
    let event = EventId::try_from(event.to_owned()).expect("an id");
    let row = scene.ledger().inbound(&event).expect("the ledger is read").expect("it is there");
    row.delivery.map(|delivery| delivery.status)
}

#[test]
fn an_answer_goes_to_its_sender_once_in_pieces_that_fit_the_channel() {
    let words = ["a", "b", "c"].map(|sign| sign.repeat(30));
    let (scene, runs) = answered(&words.join(" "), &[("chat:1", "7"), ("chat:2", "7")]);
    let channels = ChannelScene::new(&["chat"]);
    channels.begin(&scene);
    delivered(&scene, "chat:2");
    let piece = |at: usize, reply: Option<&str>| {
        ("7".to_owned(), reply.map(str::to_owned), words[at].clone())
    };
    let pieces = |reply| [piece(0, Some(reply)), piece(1, None), piece(2, None)];
    assert_eq!(channels.told("chat"), [pieces("1"), pieces("2")].concat());
    // Neither is sent again, also if a caller asks for it.
    for run in &runs {
        channels.replies.answer(&scene.host, run).unwrap();
    }
    assert_eq!(channels.told("chat").len(), 6);
    insta::assert_snapshot!(scene.dialogue_from("intake chunk_sent"), @"
    intake chunk_sent chat:1 0
    intake chunk_sent chat:1 1
    intake delivered chat:1 3/3
    intake chunk_sent chat:2 0
    intake chunk_sent chat:2 1
    intake delivered chat:2 3/3
    ");
}

#[test]
fn an_answer_goes_to_no_other_channel_and_no_other_sender() {
    let (scene, runs) = answered("It is.", &[("chat:1", "7"), ("mail:1", "8")]);
    let channels = ChannelScene::new(&["chat", "mail", "other"]);
    channels.begin(&scene);
    for run in &runs {
        channels.replies.answer(&scene.host, run).unwrap();
    }
    delivered(&scene, "chat:1");
    delivered(&scene, "mail:1");
    let to = |peer: &str| (peer.to_owned(), Some("1".to_owned()), "It is.".to_owned());
    assert_eq!(channels.told("chat"), [to("7")]);
    assert_eq!(channels.told("mail"), [to("8")]);
    assert_eq!(channels.told("other"), []);
}

#[test]
fn a_channel_that_fails_is_tried_again_and_then_the_failure_is_recorded() {
    let (scene, _) = answered("It is unreachable.", &[("chat:1", "7")]);
    let channels = ChannelScene::new(&["chat"]);
    channels.begin(&scene);
    let report = delivered(&scene, "chat:1");
    assert_eq!((report.chunks, report.chunks_sent), (1, 0));
    assert_eq!(report.error, Some(DeliveryError::Network { message: "down".to_owned() }));
    assert_eq!(*channels.waits.0.lock().unwrap(), [1_000, 2_000, 4_000]);
    assert_eq!(channels.told("chat").len(), 4);
    assert_eq!(status(&scene, "chat:1"), Some(DeliveryStatus::Failed));
}

#[test]
fn an_answer_that_a_channel_does_not_permit_is_not_tried_again() {
    let (scene, _) = answered("It is unwanted.", &[("chat:1", "7")]);
    let channels = ChannelScene::new(&["chat"]);
    channels.begin(&scene);
    let report = delivered(&scene, "chat:1");
    assert!(matches!(report.error, Some(DeliveryError::PermissionDenied { .. })), "{report:?}");
    assert_eq!((channels.told("chat").len(), channels.waits.0.lock().unwrap().len()), (1, 0));
}

#[test]
fn after_a_stop_an_answer_that_fails_stays_for_the_next_process() {
    let (scene, _) = answered("It is unreachable.", &[("chat:1", "7")]);
    let channels = ChannelScene::new(&["chat"]);
    channels.replies.stop();
    let (event, say) = (EventId::of("chat", "1").unwrap(), Arc::new(|_: &str| {}) as NoticeSink);
    channels.replies.send_or_say(&scene.host, &event, &say);
    assert_eq!(channels.told("chat").len(), 1);
    assert_eq!(status(&scene, "chat:1"), Some(DeliveryStatus::Pending));
}

#[test]
fn the_pieces_that_an_earlier_process_sent_are_not_sent_again() {
    let words = ["a", "b"].map(|sign| sign.repeat(30));
    let (scene, runs) = answered(&words.join(" "), &[("chat:1", "7")]);
    let event = EventId::of("chat", "1").unwrap();
    let about = EntrySubject { run: Some(runs[0].clone()), ..scene.about_run() };
    let chunk = IntakeStage::ChunkSent { event, chunk: 0, message_id: Some("m-0".to_owned()) };
    scene.record(&about, vec![Event::Intake(chunk)]);
    let channels = ChannelScene::new(&["chat"]);
    channels.begin(&scene);
    let report = delivered(&scene, "chat:1");
    assert_eq!(channels.told("chat"), [("7".to_owned(), None, words[1].clone())]);
    assert_eq!(
        (report.chunks_sent, report.message_ids),
        (2, vec!["m-0".to_owned(), "m-chat:1#1".to_owned()])
    );
}

#[test]
fn the_answer_for_a_channel_that_does_not_exist_is_recorded_as_failed() {
    let (scene, _) = answered("It is.", &[("gone:1", "7")]);
    let channels = ChannelScene::new(&["chat"]);
    channels.begin(&scene);
    let report = delivered(&scene, "gone:1");
    assert_eq!(report.error, Some(DeliveryError::NotFound { target: "gone".to_owned() }));
    assert_eq!(channels.told("chat"), []);
}

#[test]
fn a_process_without_channels_leaves_their_answers_to_the_server() {
    let (scene, runs) = answered("It is.", &[("chat:1", "7"), ("send:1", "local")]);
    let replies = ReplySender::local_only();
    for run in &runs {
        replies.answer(&scene.host, run).unwrap();
    }
    assert_eq!(status(&scene, "chat:1"), Some(DeliveryStatus::Pending));
    assert_eq!(status(&scene, "send:1"), Some(DeliveryStatus::Done));
}

#[test]
fn a_run_that_failed_is_told_to_one_person_and_not_to_a_group() {
    let scene = TestHost::new(ROOM, &[]);
    for (id, kind) in [("1", PeerKind::Dm), ("2", PeerKind::Group)] {
        let mut message = inbound(&format!("chat:{id}"), "7", "What is it?");
        message.place.peer_kind = Some(kind);
        let event = message.event_id.clone();
        let received =
            crate::inbound::receive::receive(scene.ledger(), &scene.host.redactor, message);
        received.expect("it is recorded");
        let outcome = scene.run_of(&event);
        assert!(matches!(outcome.end, RunExit::Ended { ending: Ending::ModelFailed, .. }));
    }
    let channels = ChannelScene::new(&["chat"]);
    channels.begin(&scene);
    delivered(&scene, "chat:1");
    let report = delivered(&scene, "chat:2");
    assert_eq!((report.chunks, report.error), (0, None));
    let said: Vec<String> = channels.told("chat").into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(said.join(" "), "[No answer: the model did not answer.]");
}
