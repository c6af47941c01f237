//! Requests for permission: who asked, how often, and which of them are over.

use agentry_protocol::access::Resource;
use agentry_protocol::approval::{
    Approval, ApprovalAnswer, ApprovalKind, ApprovalScope, PermissionRequest,
};
use agentry_protocol::event::Event;
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_store::{ApprovalStatus, Error, RequestHistory};

use crate::scene::{Scene, WORKS, about, apr, asks, begun, draft, ends};

pub(crate) fn asks_for(number: u128, who: &str, expires_at: u64) -> Event {
    let Event::ApprovalAsked(approval) = asks(number, number) else { unreachable!() };
    let kind = ApprovalKind::Permission(Box::new(PermissionRequest {
        requester: Principal {
            entity_id: Some(who.to_owned()),
            ..Principal::of(PrincipalKind::Known)
        },
        requester_channel: "chat".to_owned(),
        resources: vec![Resource::Tool("bash".to_owned())],
        reason: "no policy allows it".to_owned(),
        original_message: "please".to_owned(),
        created_at: 0,
        expires_at,
    }));
    Event::ApprovalAsked(Box::new(Approval { kind, ..*approval }))
}

fn requests(scene: &Scene, number: u128, who: &str, expires_at: u64) {
    scene.add(&about(1), asks_for(number, who, expires_at));
}

fn answer(scene: &Scene, number: u128, answer: ApprovalAnswer) {
    scene.add(&about(1), Event::ApprovalAnswered { approval: apr(number), answer });
}

fn times(scene: &Scene) -> Vec<(u64, Option<u64>)> {
    let rows = scene.ledger.requests(false).expect(WORKS);
    let time = |seq: u64| scene.ledger.entry(seq).expect(WORKS).expect(WORKS).time;
    rows.iter().map(|row| (row.asked, row.answered_seq.map(time))).collect()
}

#[test]
fn the_history_of_a_requester_counts_what_waits_and_what_was_denied() {
    let scene = begun();
    let history = |who| scene.ledger.request_history(who, 2).unwrap();
    assert_eq!(history("mom"), RequestHistory::default());
    for number in 1..=6 {
        requests(&scene, number, "mom", 1_000);
    }
    requests(&scene, 7, "dad", 1_000);
    // A question about the agent's own call is nobody's request.
    scene.add(&about(1), asks(8, 8));
    answer(&scene, 1, ApprovalAnswer::declined(None));
    answer(&scene, 2, ApprovalAnswer::approved(ApprovalScope::Once));
    answer(&scene, 3, ApprovalAnswer::expired());
    answer(&scene, 4, ApprovalAnswer::declined(None));
    answer(&scene, 5, ApprovalAnswer::declined(None));
    let times = times(&scene);
    let denied = [times[4].1.unwrap(), times[3].1.unwrap()];
    let last_asked = Some(times[5].0);
    assert_eq!(history("mom"), RequestHistory { pending: 1, last_asked, denied: denied.into() });
    assert_eq!((history("dad").pending, history("dad").denied), (1, Vec::new()));
    assert_eq!(scene.ledger.requests(true).unwrap().len(), 2);
    assert_eq!(scene.ledger.requests(false).unwrap().len(), 7);
}

#[test]
fn a_request_is_due_from_its_end_on_and_is_marked_once() {
    let scene = begun();
    requests(&scene, 1, "mom", 1_000);
    requests(&scene, 2, "mom", 2_000);
    let due = |now| {
        let rows = scene.ledger.requests_due(now).unwrap();
        rows.into_iter().map(|row| row.approval.id).collect::<Vec<_>>()
    };
    assert_eq!(due(999), []);
    assert_eq!(due(1_000), [apr(1)]);
    assert_eq!(due(2_000), [apr(1), apr(2)]);
    answer(&scene, 1, ApprovalAnswer::expired());
    assert_eq!(due(2_000), [apr(2)]);
    let row = scene.ledger.approval(&apr(1)).unwrap().unwrap();
    assert_eq!(row.status, ApprovalStatus::Expired);
    let late = Event::ApprovalAnswered {
        approval: apr(1),
        answer: ApprovalAnswer::approved(ApprovalScope::Once),
    };
    match scene.ledger.append(vec![draft(&about(1), late)]) {
        Err(Error::NotWaiting { status: Some(ApprovalStatus::Expired), .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_whose_turn_ended_is_withdrawn_and_not_pending() {
    let scene = begun();
    requests(&scene, 1, "mom", 1_000);
    scene.add(&about(1), ends(agentry_protocol::event::Ending::Cancelled));
    let history = scene.ledger.request_history("mom", 5).unwrap();
    assert_eq!((history.pending, history.denied), (0, Vec::new()));
    assert_eq!(scene.ledger.requests_due(5_000).unwrap(), []);
}
