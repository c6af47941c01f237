//! The way of a message into a mailbox: what is recorded, who is let in, and what waits.

use agentry_agentfile::event_hook::HookManifest;
use agentry_agentfile::limits::EVENT_HOOK_TIMEOUT_MS_DEFAULT;
use agentry_protocol::EventHookId;
use agentry_protocol::event_hook::EventHookOrigin;
use agentry_protocol::event_hook::{Author, FIRED, FIRED_BY, HookMode, Triggers};
use agentry_store::InboundStatus;

use super::*;
use crate::channel::InboundAcceptance;
use crate::commands::event_hooks as hook_commands;
use crate::inbound::receive;
use crate::tests::{HELPER, ROOM, SECRET, TestDefinitions, TestHost, inbound, new_number};

fn intake(scene: &TestHost, source: &Arc<TestDefinitions>) -> IntakePipeline {
    let tools = scene.host.tools.builtin_names();
    IntakePipeline::new(scene.ledger().clone(), source.clone(), tools, new_number)
        .expect("the ledger is read")
}

/// Takes one batch, and returns the events that reach a mailbox.
fn taken(intake: &mut IntakePipeline) -> Vec<EventId> {
    let (arrivals, _) = intake.take(None).expect("the intake works");
    arrivals.iter().filter_map(|arrival| arrival.event().cloned()).collect()
}

fn status(scene: &TestHost, event: &EventId) -> InboundStatus {
    scene.ledger().inbound(event).expect("the ledger is read").expect("it is there").status
}

#[test]
fn a_message_that_is_accepted_is_on_disk_and_a_second_copy_is_not_recorded() {
    let scene = TestHost::new(ROOM, &[]);
    let receive = || {
        let message = inbound("chat:1", "7", "Hello.");
        receive::receive(scene.ledger(), &scene.host.redactor, message).unwrap()
    };
    let first = receive();
    let other = scene.ledger_to_read();
    let entry = other.entry(first.seq).unwrap().expect("another reader finds it");
    assert!(matches!(entry.event, Event::Intake(IntakeStage::Received { .. })));
    let second = receive();
    assert_eq!((first.taken, second.taken), (InboundAcceptance::New, InboundAcceptance::Repeated));
    assert_eq!((second.seq, scene.recorded().len()), (first.seq, 1));
}

#[test]
fn the_value_of_a_secret_is_not_recorded_with_a_message() {
    let scene = TestHost::new(ROOM, &[]);
    scene.receive("chat:1", "7", &format!("It is {SECRET}."));
    assert_eq!(scene.dialogue(), r#"intake received chat:1 "It is [secret pass].""#);
}

#[test]
fn a_sender_that_no_policy_allows_is_denied_for_good() {
    let scene = TestHost::new(HELPER, &[]);
    let source = scene.source();
    let mut intake = intake(&scene, &source);
    let event = scene.receive("chat:1", "7", "Let me in.");
    assert_eq!(taken(&mut intake), []);
    assert_eq!(status(&scene, &event), InboundStatus::Denied);
    assert_eq!(taken(&mut intake), [], "it is decided once");
    insta::assert_snapshot!(scene.dialogue(), @r#"
    intake received chat:1 "Let me in."
    intake decided chat:1 deny
    "#);
}

#[test]
fn the_messages_of_one_batch_share_the_session_that_the_first_opens() {
    let scene = TestHost::new(ROOM, &[]);
    let source = scene.source();
    let mut intake = intake(&scene, &source);
    let events = ["1", "2"].map(|id| scene.receive(&format!("chat:{id}"), "7", "Hello."));
    let (arrivals, more) = intake.take(None).unwrap();
    assert!(!more);
    let sessions: Vec<&SessionId> = arrivals.iter().map(|arrival| &arrival.session).collect();
    assert!(sessions.len() == 2 && sessions[0] == sessions[1], "{sessions:?}");
    assert!(events.iter().all(|event| status(&scene, event) == InboundStatus::Waiting));
    insta::assert_snapshot!(scene.dialogue_from("intake decided"), @"
    intake decided chat:1 allow
    session_opened helper
    intake routed chat:1 to helper
    intake decided chat:2 allow
    intake routed chat:2 to helper
    ");
}

#[test]
fn a_message_waits_while_the_policies_do_not_load() {
    let scene = TestHost::new(ROOM, &[]);
    let source = scene.source();
    let mut intake = intake(&scene, &source);
    source.break_access("room.yml does not parse");
    let event = scene.receive("chat:1", "7", "Hello.");
    let error = intake.take(None).err().expect("nobody is let in");
    assert!(matches!(&error, Error::Unready(why) if why == "room.yml does not parse"), "{error}");
    assert_eq!(status(&scene, &event), InboundStatus::Received);
    assert_eq!(scene.recorded().len(), 1, "nothing is decided");
    source.repair_access(&scene.access);
    assert_eq!(taken(&mut intake), [event]);
}

#[test]
fn no_message_after_a_stop_reaches_a_mailbox_before_the_stop_is_done() {
    let scene = TestHost::new(ROOM, &[]);
    let source = scene.source();
    let mut intake = intake(&scene, &source);
    let first = scene.receive("chat:1", "7", "Hello.");
    let stop = scene.receive("chat:2", "7", "/stop");
    let last = scene.receive("chat:3", "7", "Hello again.");
    let (mut arrivals, more) = intake.take(None).unwrap();
    assert!(more && arrivals.len() == 2);
    let order = arrivals.pop().expect("the stop is the last");
    assert_eq!((arrivals[0].event(), order.event()), (Some(&first), None));
    assert!(matches!(order.told, MailboxInput::Aborted(_)));
    // After a crash here the stop is taken again.
    assert_eq!(status(&scene, &stop), InboundStatus::Received);
    assert_eq!(status(&scene, &last), InboundStatus::Received);
    scene.ledger().append(order.then).unwrap();
    assert_eq!(taken(&mut intake), [last]);
}

#[test]
fn two_processes_that_see_one_message_let_it_in_once() {
    let scene = TestHost::new(ROOM, &[]);
    let (source, other_source) = (scene.source(), scene.source());
    let mut one = intake(&scene, &source);
    let mut other = intake(&scene, &other_source);
    let events = ["1", "2"].map(|id| scene.receive(&format!("chat:{id}"), "7", "Hello."));
    // The other process takes the first message after this one has read both.
    let first = events[0].clone();
    let (sender, taken_there) = std::sync::mpsc::channel();
    *source.at_access.lock().unwrap() = Some(Box::new(move || {
        let (arrivals, _) = other.take(Some(&first)).expect("the intake works");
        sender.send(arrivals.len()).expect("the test listens");
    }));
    assert_eq!(taken(&mut one), [events[1].clone()]);
    assert_eq!(taken_there.recv(), Ok(1));
    let routed = |event: &EventId| {
        let is_routed = |entry: &&agentry_protocol::envelope::Envelope| matches!(&entry.event, Event::Intake(IntakeStage::Routed(one)) if one.event == *event);
        scene.recorded().iter().filter(is_routed).count()
    };
    assert_eq!(events.each_ref().map(routed), [1, 1]);
}

#[test]
fn a_message_with_a_directive_that_does_not_parse_gets_no_turn_and_the_reason() {
    let scene = TestHost::new(ROOM, &[]);
    let source = scene.source();
    let mut intake = intake(&scene, &source);
    let event = scene.receive("chat:1", "7", "/queue sideways Hello.");
    assert_eq!(taken(&mut intake), []);
    assert_eq!(status(&scene, &event), InboundStatus::Unrun);
    let dialogue = scene.dialogue();
    assert!(dialogue.contains("unrun chat:1 bad_directive /queue does not know `sideways`"));
}

#[test]
fn only_the_event_that_is_asked_for_is_taken() {
    let scene = TestHost::new(ROOM, &[]);
    let source = scene.source();
    let mut intake = intake(&scene, &source);
    let events = ["1", "2"].map(|id| scene.receive(&format!("chat:{id}"), "7", "Hello."));
    let (arrivals, more) = intake.take(Some(&events[1])).unwrap();
    assert_eq!((arrivals.len(), more), (1, false));
    assert_eq!(arrivals[0].event(), Some(&events[1]));
    assert_eq!(status(&scene, &events[0]), InboundStatus::Received);
}

/// The work that a hook starts because of an event.
fn fired(scene: &TestHost, origin: &EventId, text: &str) -> EventId {
    let hook = EventHookId::from_number(new_number());
    let by = EventHookOrigin { origin: origin.clone(), hooks: vec![hook], agent: None };
    let mut wish = inbound("chat:hook:1:own", "7", text);
    wish.event_type = Some(FIRED.to_owned());
    wish.metadata.insert(FIRED_BY.to_owned(), serde_json::to_value(by).unwrap());
    let id = wish.event_id.clone();
    scene.record(&EntrySubject::default(), vec![intake_entries::received(wish)]);
    id
}

#[test]
fn the_work_of_a_hook_goes_to_the_session_of_the_event_that_triggered_it() {
    let scene = TestHost::new(ROOM, &[]);
    let source = scene.source();
    let mut intake = intake(&scene, &source);
    let origin = scene.receive("chat:1", "7", "My server is down.");
    let (arrivals, _) = intake.take(None).unwrap();
    let session = arrivals[0].session.clone();
    let work = fired(&scene, &origin, "Look after the server of 7.");
    let (arrivals, _) = intake.take(None).unwrap();
    assert_eq!((arrivals[0].event(), &arrivals[0].session), (Some(&work), &session));
    let MailboxInput::Arrived(item) = &arrivals[0].told else { panic!("it arrives") };
    assert_eq!(item.text, "Look after the server of 7.");
    assert_eq!(item.source, agentry_protocol::intake::SenderKind::Program);
}

#[test]
fn the_work_of_a_hook_is_denied_if_the_sender_of_its_trigger_is_not_let_in_any_more() {
    let scene = TestHost::new(ROOM, &[]);
    let source = scene.source();
    let mut intake = intake(&scene, &source);
    let origin = scene.receive("chat:1", "7", "My server is down.");
    taken(&mut intake);
    let work = fired(&scene, &origin, "Look after the server of 7.");
    source.repair_access(&TestHost::new(HELPER, &[]).access);
    assert_eq!(taken(&mut intake), []);
    assert_eq!(status(&scene, &work), InboundStatus::Denied);
}

#[test]
fn an_event_that_triggers_a_hook_is_recorded_with_its_invocation() {
    let scene = TestHost::new(ROOM, &[]);
    let source = scene.source();
    let mut intake = intake(&scene, &source);
    let manifest = HookManifest {
        name: "watch".to_owned(),
        description: None,
        mode: HookMode::default(),
        triggers: Triggers::default(),
        config: serde_json::Map::new(),
        timeout_ms: EVENT_HOOK_TIMEOUT_MS_DEFAULT,
        model: false,
    };
    let request = hook_commands::HookRequest {
        manifest,
        manifest_from: "watch.json".to_owned(),
        script_path: "watch".to_owned(),
        script: b"#!/bin/sh\n".to_vec(),
        by: Author::default(),
    };
    let hook = hook_commands::register(scene.commands(), request).unwrap();
    let event = scene.receive("chat:1", "7", "My server is down.");
    assert_eq!(taken(&mut intake), std::slice::from_ref(&event));
    assert!(intake.set_off() && !intake.set_off(), "it is told once");
    let invocations = scene.ledger().invocations_of_event(&event).unwrap();
    let hooks: Vec<&EventHookId> = invocations.iter().map(|one| &one.hook).collect();
    assert_eq!(hooks, [&hook.id]);
}
