//! Past decisions: handed out one after the other, whole, and counted.

use std::sync::Arc;

use agentry_protocol::AccessId;
use agentry_protocol::access::{
    AccessRecord, AttributedDisclosureLevel, Credentials, Decision, DenyReason, DisclosureLevel,
    Effect, Modifiers, NameList, PermissionSource, PolicyContribution, PolicyOutcome, ToolBounds,
};
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{ChannelAddress, EventId, Inbound, PeerKind, Sender};
use agentry_protocol::intake::IntakeStage;
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_store::limits::INLINE_STRING_BYTES_MAX;
use agentry_store::{DecisionCount, DecisionGrouping, PastDecision};

use crate::scene::{START, Scene, WORKS};

fn inbound(id: &str) -> Inbound {
    let place = ChannelAddress {
        channel: "discord".to_owned(),
        account_id: Some("ours".to_owned()),
        peer_id: Some("peer".to_owned()),
        peer_kind: Some(PeerKind::Group),
        guild: Some("guild".to_owned()),
        thread_id: None,
        reply_to_id: None,
    };
    let sender = Sender { sender_id: "sender".to_owned(), sender_name: None };
    let mut inbound = Inbound::new(id, START, place, sender).expect(WORKS);
    inbound.hook_id = Some("hook".to_owned());
    inbound.event_type = Some("timer".to_owned());
    inbound
}

fn record(number: u128, event: Option<&EventId>, name: &str, effect: Effect) -> AccessRecord {
    let policy: Arc<str> = "friends".into();
    let from = PermissionSource::Policy(policy.clone());
    let list = NameList { from: from.clone(), names: vec!["bash".into()] };
    let part = if effect == Effect::Allow { PolicyOutcome::Allowed } else { PolicyOutcome::Denied };
    AccessRecord {
        id: AccessId::from_number(number),
        timestamp: START + u64::try_from(number).expect(WORKS),
        event_id: event.cloned(),
        channel: "discord".to_owned(),
        sender_identifier: "sender".to_owned(),
        peer_kind: Some(PeerKind::Group),
        account: Some("ours".to_owned()),
        principal: Principal {
            name: Some(name.to_owned()),
            tags: vec!["night".to_owned()],
            ..Principal::of(PrincipalKind::Known)
        },
        policies_evaluated: vec![policy.clone()],
        decision: Decision {
            effect,
            deny_reason: (effect == Effect::Deny)
                .then(|| DenyReason::Policy { policy: policy.clone() }),
            tools: ToolBounds { allow: vec![Arc::new(list)], ..ToolBounds::default() },
            credentials: Credentials::All(from.clone()),
            data: AttributedDisclosureLevel { level: DisclosureLevel::Full, from },
            exec: Vec::new(),
            session: None,
            modifiers: Modifiers::default(),
            matched: vec![PolicyContribution { policy, part }],
            grants: Vec::new(),
        },
        resolved: None,
        processing_time_ms: 0.25,
    }
}

fn decided(scene: &Scene, record: &AccessRecord) {
    let record = Box::new(record.clone());
    scene.add(&EntrySubject::default(), Event::Intake(IntakeStage::Decided { record }));
}

fn all(scene: &Scene) -> Vec<PastDecision> {
    let mut all = Vec::new();
    scene.ledger.each_decision(0, u64::MAX, |past| all.push(past)).expect(WORKS);
    all
}

#[test]
fn a_decision_is_handed_out_as_it_was_recorded_with_where_its_event_came_from() {
    let scene = Scene::new();
    let inbound = inbound("1");
    let record = record(1, Some(&inbound.event_id), "Casey", Effect::Allow);
    let received = IntakeStage::Received { inbound: Box::new(inbound) };
    scene.add(&EntrySubject::default(), Event::Intake(received));
    decided(&scene, &record);
    let [past] = &all(&scene)[..] else { panic!("there is one") };
    assert_eq!(past.decision, record.decision);
    assert_eq!(past.principal, record.principal);
    assert_eq!((&past.id, past.time), (&record.id, record.timestamp));
    assert_eq!(past.event.as_deref(), Some("discord:1"));
    let place = &past.place;
    let said = [&place.peer_id, &place.guild, &place.hook_id, &place.event_type, &place.account];
    let said: Vec<&str> = said.into_iter().flatten().map(String::as_str).collect();
    assert_eq!(said, ["peer", "guild", "hook", "timer", "ours"]);
    assert_eq!(place.peer_kind, Some(PeerKind::Group));
}

#[test]
fn a_record_with_a_part_that_is_kept_elsewhere_is_handed_out_whole() {
    let scene = Scene::new();
    let name = "x".repeat(INLINE_STRING_BYTES_MAX + 1);
    decided(&scene, &record(1, None, &name, Effect::Deny));
    let [past] = &all(&scene)[..] else { panic!("there is one") };
    assert_eq!(past.principal.name.as_ref(), Some(&name));
    assert_eq!(past.decision.effect, Effect::Deny);
    assert_eq!(past.event, None);
}

#[test]
fn only_those_of_the_time_are_handed_out_and_in_order() {
    let scene = Scene::new();
    for number in 1..=3 {
        decided(&scene, &record(number, None, "Casey", Effect::Allow));
    }
    let rows = scene.ledger.audit(&agentry_store::AuditFilter::default()).unwrap();
    let times: Vec<u64> = rows.iter().rev().map(|row| row.time).collect();
    let of = |since: u64, until: u64| {
        let mut ids = Vec::new();
        let take = |past: PastDecision| ids.push(past.id);
        scene.ledger.each_decision(since, until, take).unwrap();
        ids
    };
    let id = AccessId::from_number;
    assert_eq!(of(0, u64::MAX), [id(1), id(2), id(3)]);
    assert_eq!(of(times[1], times[2]), [id(2)]);
    assert_eq!(of(times[2] + 1, u64::MAX), []);
}

#[test]
fn decisions_are_counted_and_found_by_id_and_event() {
    let scene = Scene::new();
    let inbound = inbound("1");
    let event = inbound.event_id.clone();
    let received = IntakeStage::Received { inbound: Box::new(inbound) };
    scene.add(&EntrySubject::default(), Event::Intake(received));
    decided(&scene, &record(1, Some(&event), "Casey", Effect::Allow));
    decided(&scene, &record(2, None, "Casey", Effect::Deny));
    decided(&scene, &record(3, None, "Bo", Effect::Deny));
    let count = |of: &str, allowed, denied| DecisionCount { of: of.to_owned(), allowed, denied };
    let counts = |by| scene.ledger.decision_counts(by, 0..u64::MAX).unwrap();
    assert_eq!(
        counts(DecisionGrouping::Principal),
        [count("known Casey", 1, 1), count("known Bo", 0, 1)]
    );
    assert_eq!(counts(DecisionGrouping::Channel), [count("discord", 1, 2)]);
    assert_eq!(counts(DecisionGrouping::Kind), [count("known", 1, 2)]);
    let ledger = &scene.ledger;
    let found = ledger.decision_about(&event).unwrap().expect("it was decided");
    assert_eq!(found, AccessId::from_number(1));
    let whole = ledger.decision(&found).unwrap().expect("it is there");
    assert_eq!(*whole, record(1, Some(&event), "Casey", Effect::Allow));
    assert_eq!(ledger.decision(&AccessId::from_number(9)).unwrap(), None);
    let other = EventId::of("discord", "9").unwrap();
    assert_eq!(ledger.decision_about(&other).unwrap(), None);
}
