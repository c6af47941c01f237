//! Keys to the server, and lists a page at a time.

use agentry_protocol::access::Effect;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Event;
use agentry_protocol::intake::AccessChange;
use agentry_protocol::token::{Token, TokenKind, TokenScope};
use agentry_protocol::{ContentHash, SessionId, TokenId};
use agentry_store::{EntryFilter, Error, SpeakerCounts};

use crate::inbounds;
use crate::scene::{START, Scene, begun, plan, run, ses};

fn key(number: u128) -> TokenId {
    TokenId::from_number(number)
}

pub(crate) fn issued(number: u128) -> Event {
    let token = Token {
        id: key(number),
        name: "ci".to_owned(),
        hash: ContentHash::of(b"secret"),
        kind: TokenKind::Code,
        scopes: vec![TokenScope::Read],
        entity: None,
        created_at: START,
        expires_at: Some(START + 60_000),
    };
    Event::Access(AccessChange::TokenIssued { token: Box::new(token) })
}

pub(crate) fn revoked(number: u128) -> Event {
    let (token, by) = (key(number), "console".to_owned());
    Event::Access(AccessChange::TokenRevoked { token, by, reason: None })
}

#[test]
fn a_key_is_used_up_once_whoever_tries() {
    let scene = Scene::new();
    scene.add(&EntrySubject::default(), issued(1));
    assert_eq!(scene.ledger.token(&key(1)).unwrap().unwrap().revoked, None);
    scene.add(&EntrySubject::default(), revoked(1));
    let again = crate::scene::draft(&EntrySubject::default(), revoked(1));
    let refused = scene.ledger.append(vec![again]).unwrap_err();
    assert!(matches!(refused, Error::TokenGone { token } if token == key(1)));
    let unknown = crate::scene::draft(&EntrySubject::default(), revoked(2));
    assert!(matches!(scene.ledger.append(vec![unknown]), Err(Error::TokenGone { .. })));
    assert!(scene.ledger.token(&key(1)).unwrap().unwrap().revoked.is_some());
    assert_eq!(scene.ledger.tokens().unwrap().len(), 1);
    assert_eq!(scene.ledger.find_token(key(1).as_str()).unwrap(), key(1));
}

#[test]
fn entries_are_read_backwards_in_order() {
    let scene = begun();
    let all: Vec<u64> = scene.all().iter().map(|entry| entry.seq).collect();
    let before = |seq, of: &EntryFilter, limit| -> Vec<u64> {
        let read = scene.ledger.read_before(seq, of, limit).unwrap();
        read.iter().map(|entry| entry.seq).collect()
    };
    let any = EntryFilter::default();
    assert_eq!(before(u64::MAX >> 1, &any, 1_000), all);
    let last = *all.last().unwrap();
    assert_eq!(before(last, &any, 2), [last - 2, last - 1]);
    assert_eq!(before(1, &any, 2), [0_u64; 0]);
    let other = EntryFilter { session: Some(ses(9)), ..EntryFilter::default() };
    assert_eq!(before(last, &other, 2), [0_u64; 0]);
}

#[test]
fn pages_of_runs_have_each_once() {
    let scene = Scene::new();
    for number in 1..=5 {
        scene
            .add(&EntrySubject { run: Some(run(number)), ..EntrySubject::default() }, plan("x", 1));
    }
    let page = |after: Option<u128>| {
        let rows = scene.ledger.runs_page(after.map(run).as_ref(), 2).unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(page(None), [run(5), run(4)]);
    assert_eq!(page(Some(4)), [run(3), run(2)]);
    assert_eq!(page(Some(2)), [run(1)]);
    assert_eq!(page(Some(1)), []);
}

#[test]
fn who_spoke_in_a_session_is_counted_by_entity() {
    let scene = begun();
    let session = ses(1);
    for number in 1..=2 {
        scene.add(&EntrySubject::default(), inbounds::received(number));
        scene.add(&EntrySubject::default(), inbounds::decided(number, Effect::Allow, Vec::new()));
        let in_session = EntrySubject { session: Some(session.clone()), ..EntrySubject::default() };
        scene.add(&in_session, inbounds::routed(number));
    }
    let known = scene.ledger.audit(&agentry_store::AuditFilter::default()).unwrap();
    let voices = |who: &str| scene.ledger.speaker_counts(&session, who).unwrap();
    match known[0].principal.clone() {
        Some(who) => assert_eq!(voices(&who), SpeakerCounts { own: 2, others: 0 }),
        None => assert_eq!(voices("ann"), SpeakerCounts { own: 0, others: 2 }),
    }
    assert_eq!(
        scene.ledger.speaker_counts(&SessionId::new("ses_gone"), "ann").unwrap(),
        SpeakerCounts::default()
    );
}

#[test]
fn what_happened_is_counted_in_spans_of_time() {
    let scene = begun();
    let all = scene.all();
    let since = all[1].time;
    let buckets = scene.ledger.buckets(since, 1_000_000_000).unwrap();
    let counted: u64 = buckets.iter().map(|bucket| bucket.entries).sum();
    assert_eq!(counted, all.iter().filter(|entry| entry.time >= since).count() as u64);
    assert_eq!(scene.ledger.buckets(since + 1_000_000, 1_000).unwrap(), []);
}
