//! Mailboxes and runs of a process: the order of runs, the limits on them, and answers that are
//! never lost.

use std::fs::File;
use std::sync::{Condvar, Mutex};
use std::thread::{self, JoinHandle};

use agentry_store::InboundRow;

use super::message::WorldChanges;
use super::*;
use crate::run_request::RunRequest;
use crate::tests::{PATIENCE, ROOM, TestDefinitions, TestHost, call, say};

/// A dispatcher on a thread of its own, with the notices for its operator.
struct Service<'a> {
    scene: &'a TestHost,
    source: Arc<TestDefinitions>,
    words: Sender<DispatcherMessage>,
    notices: Arc<NoticeLog>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    barriers: u32,
}

/// The notices for the operator.
#[derive(Default)]
struct NoticeLog {
    all: Mutex<Vec<String>>,
    changed: Condvar,
}

impl NoticeLog {
    fn all(&self) -> Vec<String> {
        self.all.lock().expect("no thread panicked").clone()
    }

    fn add(&self, notice: &str) {
        self.all.lock().expect("no thread panicked").push(notice.to_owned());
        self.changed.notify_all();
    }

    /// Blocks until a notice has this part.
    #[track_caller]
    fn until(&self, part: &str) {
        let has = |all: &[String]| all.iter().any(|notice| notice.contains(part));
        let all = self.all.lock().expect("no thread panicked");
        let waited = self.changed.wait_timeout_while(all, PATIENCE, |all| !has(all));
        let (all, _) = waited.expect("no thread panicked");
        assert!(has(&all), "no notice has `{part}`: {all:?}");
    }
}

fn open(
    scene: &TestHost,
    source: &Arc<TestDefinitions>,
    limits: SchedulerLimits,
) -> (Dispatcher, Arc<NoticeLog>) {
    let notices = Arc::new(NoticeLog::default());
    let log = notices.clone();
    let options = DispatcherOptions {
        host: scene.host.clone(),
        definition_source: source.clone(),
        observer: scene.entries.clone(),
        say: Arc::new(move |notice| log.add(notice)),
        limits,
        replies: ReplySender::local_only(),
        sole: scene.ledger().lock_intake().expect("no other dispatcher serves the home"),
    };
    (Dispatcher::open(options, DispatcherScope::All).expect("the ledger is read"), notices)
}

impl<'a> Service<'a> {
    fn start(scene: &'a TestHost) -> Self {
        Self::limited(scene, SchedulerLimits::default())
    }

    fn limited(scene: &'a TestHost, limits: SchedulerLimits) -> Self {
        let source = scene.source();
        let (dispatcher, notices) = open(scene, &source, limits);
        let words = dispatcher.words.0.clone();
        let thread = Some(thread::spawn(move || dispatcher.work()));
        Self { scene, source, words, notices, thread, barriers: 0 }
    }

    /// Wakes the dispatcher, which then checks the time.
    fn wake(&self) {
        let word = DispatcherMessage::WorldChanged(WorldChanges::default());
        self.words.send(word).expect("it works");
    }

    /// Blocks until all messages that are received are in their mailboxes, and all runs that may
    /// start have started: a command is settled only after the messages before it, and the second
    /// one only in a later round.
    fn settle(&mut self) {
        for _ in 0..2 {
            self.barriers += 1;
            let barrier = self.scene.receive(&format!("wall:{}", self.barriers), "9", "/stop");
            self.scene.until_recorded(|event| is_unrun(event, &barrier));
        }
    }

    /// Starts no more runs, and blocks until the active ones have ended.
    fn stop(mut self) {
        self.words.send(DispatcherMessage::Stop).expect("it works");
        let thread = self.thread.take().expect("it was started");
        thread.join().expect("it does not panic").expect("it does not fail");
    }

    fn row(&self, event: &EventId) -> InboundRow {
        self.scene.ledger().inbound(event).expect("the ledger is read").expect("it is there")
    }

    fn until_ended(&self, event: &EventId) {
        let run = self.scene.until_recorded(
            |one| matches!(one, Event::RunCreated(plan) if plan.given.inbounds.contains(event)),
        );
        let ledger = self.scene.ledger();
        let filter = agentry_store::EntryFilter { run: run.about.run, ..Default::default() };
        let mut tail = ledger.tail(0, filter).expect("it is followed");
        loop {
            let entries = tail.next(PATIENCE).expect("the ledger is read");
            assert!(!entries.is_empty(), "it does not end:\n{}", self.scene.dialogue());
            if entries.iter().any(|one| matches!(one.event, Event::RunEnded { .. })) {
                return;
            }
        }
    }
}

fn is_unrun(event: &Event, id: &EventId) -> bool {
    matches!(event, Event::Intake(IntakeStage::Unrun { event, .. }) if event == id)
}

/// The prompts of the runs, in the order of their beginnings.
fn prompts(scene: &TestHost) -> Vec<String> {
    let created = scene.recorded().into_iter().filter_map(|entry| {
        if let Event::RunCreated(plan) = entry.event { Some(plan.prompt) } else { None }
    });
    created.collect()
}

/// A room whose every run waits at a gate before it answers.
fn gated() -> TestHost {
    TestHost::new(ROOM, &[call(&["t gate open"]), say("Done.")])
}

#[test]
fn a_message_is_run_and_answered_once() {
    let scene = TestHost::new(ROOM, &[say("Hello.")]);
    let service = Service::start(&scene);
    let event = scene.receive("send:1", "local", "Hi.");
    scene.until_recorded(|event| matches!(event, Event::Intake(IntakeStage::Delivered(_))));
    assert_eq!(service.row(&event).status, InboundStatus::Answered);
    service.stop();
    insta::assert_snapshot!(scene.dialogue(), @r#"
    intake received send:1 "Hi."
    intake decided send:1 allow
    session_opened helper
    intake routed send:1 to helper
    run_created helper
    step_started 0
    turn_started "Hi."
    model_asked 1
    model_replied 1 "Hello."
    turn_ended done "Hello."
    step_ended 0 succeeded
    run_ended done
    intake delivered send:1 1/1
    "#);
}

#[test]
fn messages_of_one_sender_are_collected_and_those_of_two_are_never_combined() {
    let scene = gated();
    let mut service = Service::start(&scene);
    scene.receive("chat:1", "7", "one");
    scene.shell.until("t gate open", 1);
    for (id, sender, text) in
        [("2", "7", "two"), ("3", "7", "three"), ("4", "8", "four"), ("5", "7", "five")]
    {
        scene.receive(&format!("chat:{id}"), sender, &format!("/queue collect {text}"));
    }
    service.settle();
    // The quiet time of all of them is over when the run ends.
    scene.clock.advance(60_000);
    scene.shell.open_gate("open");
    let last = EventId::of("chat", "5").unwrap();
    service.until_ended(&last);
    service.stop();
    let prompts = prompts(&scene).join("\n=====\n");
    insta::assert_snapshot!(prompts, @"
    one

    [From somebody (unknown) on chat, dm]
    =====
    [Queued messages while agent was busy]

    ---
    Queued #1
    two

    ---
    Queued #2
    three

    [From somebody (unknown) on chat, dm]
    =====
    [Queued messages while agent was busy]

    ---
    Queued #1
    four

    [From somebody (unknown) on chat, dm]
    =====
    [Queued messages while agent was busy]

    ---
    Queued #1
    five

    [From somebody (unknown) on chat, dm]
    ");
}

#[test]
fn a_session_runs_one_turn_at_a_time_and_another_session_runs_beside_it() {
    let scene = gated();
    let mut service = Service::start(&scene);
    let first = scene.receive("chat:1", "7", "first");
    let second = scene.receive("chat:2", "8", "second");
    // The owner has a session of its own.
    let other = scene.receive("send:1", "local", "other");
    service.settle();
    scene.shell.until("t gate open", 2);
    assert!(service.row(&other).run.is_some());
    let runs = [&first, &second].map(|event| service.row(event).run.is_some());
    assert_eq!(runs.iter().filter(|runs| **runs).count(), 1, "one of both waits");
    scene.shell.open_gate("open");
    service.until_ended(&first);
    service.until_ended(&second);
    service.stop();
    assert_eq!(prompts(&scene).len(), 3);
}

#[test]
fn no_more_runs_are_active_than_the_limit_allows() {
    let scene = gated();
    let limits = SchedulerLimits { running: 1, ..SchedulerLimits::default() };
    let mut service = Service::limited(&scene, limits);
    let first = scene.receive("chat:1", "7", "first");
    scene.shell.until("t gate open", 1);
    let second = scene.receive("send:1", "local", "second");
    service.settle();
    assert_eq!(service.row(&second).status, InboundStatus::Waiting);
    assert_eq!(scene.shell.received().len(), 1);
    scene.shell.open_gate("open");
    service.until_ended(&first);
    service.until_ended(&second);
    service.stop();
}

#[test]
fn messages_that_follow_up_run_one_after_the_other_in_their_order() {
    let scene = gated();
    let mut service = Service::start(&scene);
    let events = ["1", "2", "3"]
        .map(|id| scene.receive(&format!("chat:{id}"), "7", &format!("/queue followup {id}")));
    service.settle();
    scene.shell.open_gate("open");
    events.iter().for_each(|event| service.until_ended(event));
    service.stop();
    let prompts = prompts(&scene);
    let first_lines: Vec<&str> = prompts.iter().filter_map(|one| one.lines().next()).collect();
    assert_eq!(first_lines, ["1", "2", "3"]);
}

#[test]
fn an_interrupting_message_ends_the_run_of_its_sender_and_not_that_of_another() {
    let scene = TestHost::new(ROOM, &[call(&["t hang"]), say("Done.")]);
    let mut service = Service::start(&scene);
    let first = scene.receive("chat:1", "7", "first");
    scene.shell.until("t hang", 1);
    let foreign = scene.receive("chat:2", "8", "/queue interrupt now");
    service.settle();
    assert_eq!(service.row(&foreign).status, InboundStatus::Waiting, "it waits for its turn");
    let second = scene.receive("chat:3", "7", "/queue interrupt now");
    service.until_ended(&first);
    // The message of the other sender was there first.
    scene.shell.until("t hang", 2);
    scene.receive("chat:4", "8", "/stop");
    service.until_ended(&foreign);
    scene.shell.until("t hang", 3);
    scene.receive("chat:5", "7", "/stop");
    service.until_ended(&second);
    service.stop();
    let endings: Vec<String> = scene
        .dialogue()
        .lines()
        .filter(|line| line.starts_with("run_ended"))
        .map(str::to_owned)
        .collect();
    assert_eq!(endings, ["run_ended cancelled"; 3]);
}

#[test]
fn a_message_to_a_busy_session_of_its_sender_steers_the_turn() {
    let scene = gated();
    let mut service = Service::start(&scene);
    let first = scene.receive("chat:1", "7", "first");
    scene.shell.until("t gate open", 1);
    scene.receive("chat:2", "7", "Hurry.");
    scene.entries.until(|event| matches!(event, Event::InputTaken { .. }));
    service.settle();
    scene.shell.open_gate("open");
    service.until_ended(&first);
    service.stop();
    assert_eq!(prompts(&scene).len(), 1, "{}", scene.dialogue());
}

#[test]
fn a_run_that_cannot_begin_settles_its_message_with_the_reason() {
    let scene = TestHost::new(ROOM, &[say("Hello.")]);
    let service = Service::start(&scene);
    service.source.break_settings("no provider serves the model");
    let event = scene.receive("send:1", "local", "Hi.");
    scene.until_recorded(|one| is_unrun(one, &event));
    assert_eq!(service.row(&event).status, InboundStatus::Unrun);
    assert!(scene.dialogue().ends_with("no_agent no provider serves the model"));
    service.notices.until("run failed: no provider serves the model");
    service.stop();
}

#[test]
fn a_run_whose_model_fails_answers_its_sender() {
    let scene = TestHost::new(ROOM, &[]);
    let service = Service::start(&scene);
    scene.receive("send:1", "local", "Hi.");
    let entry =
        scene.until_recorded(|event| matches!(event, Event::Intake(IntakeStage::Delivered(_))));
    let Event::Intake(IntakeStage::Delivered(report)) = entry.event else { panic!("it is that") };
    let sent = report.sent.expect("a text was sent");
    assert_eq!(sent.body.content, "[No answer: the model did not answer.]");
    service.stop();
}

#[test]
fn a_message_that_comes_while_the_dispatcher_stops_is_answered_after_a_restart() {
    let scene = gated();
    let mut service = Service::start(&scene);
    let first = scene.receive("send:1", "local", "first");
    scene.shell.until("t gate open", 1);
    service.settle();
    service.words.send(DispatcherMessage::Stop).unwrap();
    let late = scene.receive("send:2", "local", "late");
    scene.shell.open_gate("open");
    let thread = service.thread.take().unwrap();
    thread.join().unwrap().unwrap();
    assert_eq!(service.row(&first).status, InboundStatus::Answered);
    assert_eq!(service.row(&late).status, InboundStatus::Received);
    drop(service);
    let again = Service::start(&scene);
    again.until_ended(&late);
    again.stop();
    assert_eq!(prompts(&scene).len(), 2);
}

#[test]
fn intake_pauses_with_the_reason_while_the_policies_do_not_load() {
    let scene = TestHost::new(ROOM, &[say("Hello.")]);
    let source = scene.source();
    let (mut dispatcher, notices) = open(&scene, &source, SchedulerLimits::default());
    source.break_access("room.yml does not parse");
    let event = scene.receive("chat:1", "7", "Hello.");
    let status = || scene.ledger().inbound(&event).unwrap().unwrap().status;
    dispatcher.take_in().unwrap();
    dispatcher.take_in().unwrap();
    assert_eq!(notices.all(), ["intake paused: room.yml does not parse"]);
    assert_eq!(status(), InboundStatus::Received);
    source.repair_access(&scene.access);
    dispatcher.take_in().unwrap();
    assert_eq!(status(), InboundStatus::Received, "it is too early for the next try");
    scene.clock.advance(UNREADY_WAIT_MS);
    dispatcher.take_in().unwrap();
    assert_eq!(status(), InboundStatus::Waiting);
    assert_eq!(notices.all().last().unwrap(), "intake resumed");
}

#[test]
fn a_run_whose_session_is_busy_in_another_process_is_tried_again() {
    let scene = TestHost::new(ROOM, &[say("Hello.")]);
    let key = agentry_protocol::SessionKey::new("main");
    let before = scene.start(RunRequest { session: Some(key), ..scene.order("Before.") }).unwrap();
    let owned = scene.ledger().lock_session(&before.session).unwrap();
    let mut service = Service::start(&scene);
    let event = scene.receive("send:1", "local", "Hi.");
    service.notices.until("run delayed");
    drop(owned);
    service.settle();
    assert_eq!(service.row(&event).status, InboundStatus::Waiting);
    scene.clock.advance(60_000);
    service.wake();
    service.until_ended(&event);
    service.stop();
}

/// A home with two messages in one session, whose runs have ended and whose answers are not sent.
fn unanswered() -> (TestHost, SessionId, [RunId; 2]) {
    let scene = TestHost::new(ROOM, &[say("Hello.")]);
    let outcomes = ["send:1", "send:2"].map(|event| {
        let event = scene.receive(event, "local", "Hi.");
        scene.run_of(&event)
    });
    let session = outcomes[0].session.clone();
    (scene, session, outcomes.map(|outcome| outcome.run))
}

fn deliveries(scene: &TestHost) -> usize {
    let dialogue = scene.dialogue();
    dialogue.lines().filter(|line| line.starts_with("intake delivered")).count()
}

/// A host with equal entries, whose ledger cannot be read any more.
fn unreadable(scene: &TestHost) -> TestHost {
    let last = scene.ledger().last_seq().unwrap();
    let broken = scene.cut_after(last);
    let home = broken.ledger().home().ledger();
    for suffix in ["", "-wal"] {
        let file = format!("{}{suffix}", home.display());
        File::options().write(true).open(file).expect("it is there").set_len(0).unwrap();
    }
    broken
}

#[test]
fn an_answer_is_not_forgotten_if_the_ledger_does_not_tell_that_its_run_has_ended() {
    let (scene, session, [run, _]) = unanswered();
    let source = scene.source();
    let (mut dispatcher, notices) = open(&scene, &source, SchedulerLimits::default());
    // The run left its thread with an error, and another process ended it since.
    dispatcher.rest.left.insert((session.clone(), run.clone()));
    let broken = unreadable(&scene);
    assert!(broken.ledger().run(&run).is_err(), "the ledger cannot be read");
    dispatcher.host = broken.host.clone();
    dispatcher.send_missed_answers(&session);
    assert_eq!(deliveries(&scene), 0);
    assert!(notices.all()[0].ends_with("retrying later"), "{:?}", notices.all());
    dispatcher.host = scene.host.clone();
    scene.clock.advance(60_000);
    dispatcher.wake().unwrap();
    assert_eq!(deliveries(&scene), 1, "{}", scene.dialogue());
    dispatcher.wake().unwrap();
    assert_eq!(deliveries(&scene), 1);
}

#[test]
fn the_answers_of_two_runs_of_one_session_are_both_sent_later() {
    let (scene, session, runs) = unanswered();
    let source = scene.source();
    let (mut dispatcher, _) = open(&scene, &source, SchedulerLimits::default());
    // Another process has ended each of them since its thread failed here.
    for run in runs {
        dispatcher.rest.left.insert((session.clone(), run));
    }
    dispatcher.send_missed_answers(&session);
    assert_eq!(deliveries(&scene), 2, "{}", scene.dialogue());
}
