//! What comes in: once, stage by stage, by one run; and what is kept of the decisions about it.

use agentry_protocol::access::{
    AccessRecord, AttributedDisclosureLevel, Credentials, Decision, DisclosureLevel, Effect, Grant,
    GrantConditions, Modifiers, PermissionSource, PolicyContribution, PolicyOutcome,
    PrincipalQuery, Resource, ToolBounds,
};
use agentry_protocol::context::{CompactionPlan, CompactionReason};
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::{Ending, Event};
use agentry_protocol::inbound::{ChannelAddress, EventId, Inbound, Sender};
use agentry_protocol::intake::{
    AccessChange, AuditCutoff, DeliveryReport, Entity, Identity, IntakeStage, OverflowPolicy,
    QueueSettings, RoutedInbound, SenderKind, UnrunReason,
};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::{AccessId, AgentId, ContentHash, GrantId};
use agentry_store::{AuditFilter, DeliveryStatus, Error, GrantActivity, InboundStatus};

use crate::scene::{START, Scene, WORKS, about, draft, ends, opened, plan, run, ses, starts, trn};

pub(crate) fn event(number: u128) -> EventId {
    EventId::of("tg", &number.to_string()).expect(WORKS)
}

pub(crate) fn inbound(number: u128) -> Inbound {
    let place = ChannelAddress {
        channel: "tg".to_owned(),
        account_id: None,
        peer_id: None,
        peer_kind: None,
        guild: None,
        thread_id: None,
        reply_to_id: None,
    };
    let sender = Sender { sender_id: "ann".to_owned(), sender_name: None };
    Inbound::new(&number.to_string(), START, place, sender).expect(WORKS)
}

pub(crate) fn received(number: u128) -> Event {
    Event::Intake(IntakeStage::Received { inbound: Box::new(inbound(number)) })
}

pub(crate) fn decided(number: u128, effect: Effect, grants: Vec<GrantId>) -> Event {
    let record = AccessRecord {
        id: AccessId::from_number(number),
        timestamp: START,
        event_id: Some(event(number)),
        channel: "tg".to_owned(),
        sender_identifier: "ann".to_owned(),
        peer_kind: None,
        account: None,
        principal: Principal::of(PrincipalKind::Unknown),
        policies_evaluated: Vec::new(),
        decision: Decision {
            effect,
            deny_reason: None,
            tools: ToolBounds::default(),
            credentials: Credentials::Named(Vec::new()),
            data: AttributedDisclosureLevel {
                level: DisclosureLevel::None,
                from: PermissionSource::Default,
            },
            exec: Vec::new(),
            session: None,
            modifiers: Modifiers::default(),
            matched: vec![PolicyContribution {
                policy: "open".into(),
                part: PolicyOutcome::Allowed,
            }],
            grants,
        },
        resolved: None,
        processing_time_ms: 0.1,
    };
    Event::Intake(IntakeStage::Decided { record: Box::new(record) })
}

pub(crate) fn routed(number: u128) -> Event {
    Event::Intake(IntakeStage::Routed(Box::new(RoutedInbound {
        event: event(number),
        access: AccessId::from_number(number),
        agent: AgentId::new("builder"),
        persona: None,
        source: SenderKind::Person,
        authority: ContentHash::of(b"ann"),
        text: None,
        settings: QueueSettings {
            mode: agentry_protocol::access::Delivery::Steer,
            debounce_ms: 1,
            cap: 2,
            drop: OverflowPolicy::Old,
        },
        answer_after: None,
        here: false,
    })))
}

pub(crate) fn unrun(number: u128, why: UnrunReason) -> Event {
    Event::Intake(IntakeStage::Unrun { event: event(number), why, detail: None })
}

pub(crate) fn delivered(number: u128) -> Event {
    let mut sent = inbound(number);
    sent.event_id = EventId::of("tg", &format!("sent:{number}")).expect(WORKS);
    Event::Intake(IntakeStage::Delivered(Box::new(DeliveryReport {
        event: event(number),
        chunks: 1,
        chunks_sent: 1,
        message_ids: Vec::new(),
        total_chars: 5,
        error: None,
        sent: Some(Box::new(sent)),
    })))
}

pub(crate) fn steer(number: u128) -> Event {
    Event::SteerReceived { content: "and this".to_owned(), event: Some(event(number)) }
}

/// A run about these events.
pub(crate) fn answering(numbers: &[u128]) -> Event {
    let Event::RunCreated(mut created) = plan("hello", 1) else { panic!("a plan makes a run") };
    created.given.inbounds = numbers.iter().map(|number| event(*number)).collect();
    Event::RunCreated(created)
}

fn status(scene: &Scene, number: u128) -> InboundStatus {
    scene.ledger.inbound(&event(number)).expect(WORKS).expect(WORKS).status
}

/// A session in whose mailbox these events lie.
fn waiting(numbers: &[u128]) -> Scene {
    let scene = Scene::new();
    let session = EntrySubject { session: Some(ses(1)), ..EntrySubject::default() };
    scene.add(&session, opened("main", None));
    for number in numbers {
        scene.add(&EntrySubject::default(), received(*number));
        scene.add(&session, decided(*number, Effect::Allow, Vec::new()));
        scene.add(&session, routed(*number));
        assert_eq!(status(&scene, *number), InboundStatus::Waiting);
    }
    scene
}

#[test]
fn the_same_event_is_kept_once() {
    let scene = Scene::new();
    scene.add(&EntrySubject::default(), received(1));
    let drafts = vec![
        draft(&EntrySubject::default(), received(2)),
        draft(&EntrySubject::default(), received(1)),
    ];
    match scene.ledger.append(drafts) {
        Err(Error::Repeated { event: found, seq: 1 }) => assert_eq!(found, event(1)),
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.ledger.inbound(&event(2)).expect(WORKS), None);
    assert_eq!(scene.ledger.last_seq().expect(WORKS), 1);
}

#[test]
fn what_is_from_the_past_or_not_said_to_us_is_only_kept() {
    let scene = Scene::new();
    let mut old = inbound(1);
    old.backfill = true;
    scene.add(
        &EntrySubject::default(),
        Event::Intake(IntakeStage::Received { inbound: Box::new(old) }),
    );
    let mut seen = inbound(2);
    seen.direction = agentry_protocol::inbound::Direction::Observed;
    scene.add(
        &EntrySubject::default(),
        Event::Intake(IntakeStage::Received { inbound: Box::new(seen) }),
    );
    scene.add(&EntrySubject::default(), received(3));
    assert_eq!(status(&scene, 1), InboundStatus::Stored);
    assert_eq!(status(&scene, 2), InboundStatus::Stored);
    let open = scene.ledger.inbounds_received(10).expect(WORKS);
    assert_eq!(open.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [3]);
}

#[test]
fn an_event_goes_from_the_channel_to_its_answer() {
    let scene = waiting(&[1, 2]);
    let about = about(1);
    scene.add(&about, answering(&[1, 2]));
    assert_eq!(status(&scene, 1), InboundStatus::Running);
    assert_eq!(scene.ledger.inbounds_open(&ses(1)).expect(WORKS).run, Some(run(1)));
    scene.add(&about, starts(None));
    scene.add(&about, ends(Ending::Done));
    scene.add(&about, Event::RunEnded { ending: Ending::Done, message: None });
    assert_eq!(status(&scene, 1), InboundStatus::Answered);
    // One answer goes to both, as a reply to the last.
    let undelivered = scene.ledger.inbounds_undelivered(0, 9).expect(WORKS);
    assert_eq!(undelivered.iter().map(|row| row.id.clone()).collect::<Vec<_>>(), [event(2)]);
    scene.add(&about, delivered(2));
    let row = scene.ledger.inbound(&event(2)).expect(WORKS).expect(WORKS);
    assert_eq!(row.delivery.expect(WORKS).status, DeliveryStatus::Done);
    let sent = scene.ledger.inbounds(1).expect(WORKS);
    assert_eq!(sent[0].status, InboundStatus::Sent);
    assert!(scene.ledger.inbounds_received(9).expect(WORKS).is_empty());
}

#[test]
fn an_event_has_one_run_and_one_decision() {
    let scene = waiting(&[1]);
    let session = EntrySubject { session: Some(ses(1)), ..EntrySubject::default() };
    scene.add(&about(1), answering(&[1]));
    let before = scene.ledger.last_seq().expect(WORKS);
    let again = [answering(&[1]), decided(1, Effect::Allow, Vec::new()), routed(1), steer(1)];
    for event in again {
        match scene.ledger.append(vec![draft(&session, event)]) {
            Err(Error::Handled { status: Some(InboundStatus::Running), .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    match scene.ledger.append(vec![draft(&session, answering(&[7]))]) {
        Err(Error::Handled { status: None, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.ledger.last_seq().expect(WORKS), before);
}

#[test]
fn what_a_turn_did_not_take_waits_again() {
    let scene = waiting(&[1, 2, 3]);
    let about = about(1);
    scene.add(&about, answering(&[1]));
    scene.add(&about, starts(None));
    let taken = scene.add(&about, steer(2)).seq;
    scene.add(&about, steer(3));
    assert_eq!(status(&scene, 2), InboundStatus::Steering);
    scene.add(&about, Event::InputTaken { input: taken });
    assert_eq!(status(&scene, 2), InboundStatus::Taken);
    scene.add(&about, ends(Ending::Done));
    scene.add(&about, Event::RunEnded { ending: Ending::Done, message: None });
    assert_eq!(status(&scene, 2), InboundStatus::Answered);
    assert_eq!(status(&scene, 3), InboundStatus::Waiting);
    let waiting = scene.ledger.inbounds_open(&ses(1)).expect(WORKS).waiting;
    assert_eq!(waiting.iter().map(|row| row.id.clone()).collect::<Vec<_>>(), [event(3)]);
}

#[test]
fn what_a_turn_did_not_take_the_next_turn_of_its_run_may() {
    let scene = waiting(&[1, 2]);
    scene.add(&about(1), answering(&[1]));
    scene.add(&about(1), starts(None));
    let told = scene.add(&about(1), steer(2)).seq;
    scene.add(&about(1), ends(Ending::Done));
    assert_eq!(status(&scene, 2), InboundStatus::Waiting);
    scene.add(&about(2), starts(Some(trn(1))));
    scene.add(&about(2), Event::InputTaken { input: told });
    assert_eq!(status(&scene, 2), InboundStatus::Taken);
    let row = scene.ledger.inbound(&event(2)).expect(WORKS).expect(WORKS);
    assert_eq!(row.turn, Some(trn(2)));
}

#[test]
fn what_a_run_of_its_own_is_about_no_other_run_takes() {
    let scene = waiting(&[1, 2]);
    scene.add(&about(1), answering(&[1]));
    scene.add(&about(1), starts(None));
    let told = scene.add(&about(1), steer(2)).seq;
    scene.add(&about(1), ends(Ending::Done));
    scene.add(&about(1), Event::RunEnded { ending: Ending::Done, message: None });
    let own = EntrySubject { run: Some(run(2)), turn: None, ..about(1) };
    scene.add(&own, answering(&[2]));
    scene.add(&about(1), Event::InputTaken { input: told });
    assert_eq!(status(&scene, 2), InboundStatus::Running);
}

#[test]
fn a_turn_that_is_over_is_told_nothing_any_more() {
    let scene = waiting(&[1, 2]);
    scene.add(&about(1), answering(&[1]));
    let refused = |scene: &Scene| match scene.ledger.append(vec![draft(&about(1), steer(2))]) {
        Err(Error::Handled { status: Some(InboundStatus::Waiting), .. }) => {}
        other => panic!("{other:?}"),
    };
    refused(&scene);
    scene.add(&about(1), starts(None));
    scene.add(&about(1), ends(Ending::Done));
    refused(&scene);
    assert_eq!(status(&scene, 2), InboundStatus::Waiting);
}

#[test]
fn a_turn_that_only_makes_room_answers_nothing() {
    let scene = waiting(&[1]);
    scene.add(&about(1), answering(&[1]));
    let Event::TurnStarted(mut room) = starts(None) else { panic!("it starts a turn") };
    room.compaction = Some(Box::new(CompactionPlan {
        reason: CompactionReason::Window,
        focus: None,
        summarized_through: trn(9),
        first_kept: None,
        tokens_before: 9,
        tokens_kept: 1,
    }));
    let turn = |scene: &Scene| scene.ledger.inbound(&event(1)).expect(WORKS).expect(WORKS).turn;
    scene.add(&about(1), Event::TurnStarted(room));
    assert_eq!(turn(&scene), None);
    scene.add(&about(1), ends(Ending::Done));
    scene.add(&about(2), starts(Some(trn(1))));
    assert_eq!(turn(&scene), Some(trn(2)));
}

#[test]
fn an_event_is_read_whole() {
    let scene = waiting(&[1]);
    scene.add(&EntrySubject::default(), received(2));
    let whole = scene.ledger.inbound_whole(&event(1)).expect(WORKS).expect(WORKS);
    assert_eq!((*whole.inbound).clone(), inbound(1));
    assert_eq!(Event::Intake(IntakeStage::Routed(whole.routed.expect(WORKS))), routed(1));
    let record = whole.decided.expect(WORKS);
    assert_eq!(
        Event::Intake(IntakeStage::Decided { record }),
        decided(1, Effect::Allow, Vec::new())
    );
    let fresh = scene.ledger.inbound_whole(&event(2)).expect(WORKS).expect(WORKS);
    assert_eq!((fresh.routed, fresh.decided), (None, None));
    assert_eq!(scene.ledger.inbound_whole(&event(3)).expect(WORKS), None);
}

#[test]
fn a_denied_event_is_settled_and_a_dropped_one_is_told_until_the_next_run() {
    let scene = waiting(&[1, 2]);
    scene.add(&EntrySubject::default(), received(9));
    scene.add(&EntrySubject::default(), decided(9, Effect::Deny, Vec::new()));
    assert_eq!(status(&scene, 9), InboundStatus::Denied);
    scene.add(&EntrySubject::default(), unrun(1, UnrunReason::Summarized));
    let told = |scene: &Scene| scene.ledger.inbounds_open(&ses(1)).expect(WORKS).summarized.len();
    assert_eq!(told(&scene), 1);
    scene.add(&about(1), answering(&[2]));
    assert_eq!(told(&scene), 0);
}

fn grant(number: u128) -> Grant {
    Grant {
        id: GrantId::from_number(number),
        principal_query: PrincipalQuery {
            person_id: Some("ann".to_owned()),
            ..PrincipalQuery::default()
        },
        resources: vec![Resource::Tool("bash".to_owned())],
        created_at: START,
        expires_at: Some(START + 10),
        revoked_at: None,
        granted_by: "owner".to_owned(),
        reason: None,
        request_context: None,
        conditions: GrantConditions::default(),
    }
}

fn access(change: AccessChange) -> Event {
    Event::Access(change)
}

#[test]
fn a_use_of_a_grant_is_linked_to_its_decision_until_that_is_too_old() {
    let scene = Scene::new();
    let none = EntrySubject::default();
    let id = GrantId::from_number(5);
    scene.add(&none, access(AccessChange::GrantGiven { grant: Box::new(grant(5)) }));
    scene.add(&none, received(1));
    let used = scene.add(&none, decided(1, Effect::Allow, vec![id.clone()]));
    let log = scene.ledger.grant_log(Some(&id), 0).expect(WORKS);
    let activities: Vec<GrantActivity> = log.iter().map(|row| row.activity).collect();
    assert_eq!(activities, [GrantActivity::Created, GrantActivity::Used]);
    assert_eq!(log[1].access.as_deref(), Some(AccessId::from_number(1).as_str()));
    let trimmed = AuditCutoff { access_before: used.time + 1, grants_before: 0 };
    assert!(scene.ledger.has_audit_before(trimmed).expect(WORKS));
    scene.add(&none, access(AccessChange::AuditTrimmed(trimmed)));
    assert!(!scene.ledger.has_audit_before(trimmed).expect(WORKS));
    assert!(scene.ledger.audit(&AuditFilter::default()).expect(WORKS).is_empty());
    let log = scene.ledger.grant_log(Some(&id), 0).expect(WORKS);
    assert_eq!(log.len(), 2);
    assert_eq!(log[1].access, None);
    let views = scene.ledger.dump_views().expect(WORKS);
    scene.ledger.rebuild_views().expect(WORKS);
    assert_eq!(scene.ledger.dump_views().expect(WORKS), views);
}

#[test]
fn the_last_change_of_who_may_do_what_is_known() {
    let scene = Scene::new();
    let none = EntrySubject::default();
    let changed = |scene: &Scene| scene.ledger.access_changed().expect(WORKS);
    assert_eq!(changed(&scene), 0);
    let given = access(AccessChange::GrantGiven { grant: Box::new(grant(5)) });
    let given = scene.add(&none, given).seq;
    assert_eq!(changed(&scene), given);
    // What lists show becomes less; nobody may do more or less.
    let trimmed = AuditCutoff { access_before: 1, grants_before: 1 };
    scene.add(&none, access(AccessChange::AuditTrimmed(trimmed)));
    scene.add(&none, received(1));
    assert_eq!(changed(&scene), given);
    let expired = access(AccessChange::GrantExpired { grant: GrantId::from_number(5) });
    assert_eq!(scene.add(&none, expired).seq, changed(&scene));
}

#[test]
fn a_grant_is_taken_back_or_is_over_once() {
    let scene = Scene::new();
    let none = EntrySubject::default();
    let (first, second) = (GrantId::from_number(5), GrantId::from_number(6));
    for number in [5, 6] {
        scene.add(&none, access(AccessChange::GrantGiven { grant: Box::new(grant(number)) }));
    }
    let revoked =
        AccessChange::GrantRevoked { grant: first.clone(), by: "owner".to_owned(), reason: None };
    scene.add(&none, access(revoked.clone()));
    scene.add(&none, access(revoked));
    scene.add(&none, access(AccessChange::GrantExpired { grant: second }));
    assert!(scene.ledger.grants(true).expect(WORKS).is_empty());
    assert_eq!(scene.ledger.grants(false).expect(WORKS).len(), 2);
    assert!(scene.ledger.grant(&first).expect(WORKS).expect(WORKS).revoked_at.is_some());
    let log = scene.ledger.grant_log(None, 0).expect(WORKS);
    assert_eq!(log.len(), 4);
}

#[test]
fn an_identity_is_one_entitys() {
    let scene = Scene::new();
    let none = EntrySubject::default();
    let entity = |id: &str| {
        let identity = Identity {
            channel: "tg".to_owned(),
            identifier: "42".to_owned(),
            account_id: None,
            is_owned: false,
        };
        let entity = Entity {
            id: id.to_owned(),
            kind: Default::default(),
            name: id.to_owned(),
            is_user: false,
            relationship: None,
            tags: Vec::new(),
            identities: vec![identity],
        };
        access(AccessChange::EntityChanged { entity: Box::new(entity) })
    };
    scene.add(&none, entity("ann"));
    scene.add(&none, entity("ann"));
    match scene.ledger.append(vec![draft(&none, entity("bob"))]) {
        Err(Error::IdentityTaken { entity, .. }) => assert_eq!(entity, "ann"),
        other => panic!("{other:?}"),
    }
    scene.add(&none, access(AccessChange::EntityRemoved { entity: "ann".to_owned() }));
    scene.add(&none, entity("bob"));
    let known = scene.ledger.entities().expect(WORKS);
    assert_eq!(known.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["bob"]);
}
