//! What is appended is what is read.

use agentry_protocol::envelope::{Draft, EVENT_VERSION, LedgerStream};
use agentry_protocol::event::Event;
use agentry_store::limits::EVENT_DEPTH_MAX;
use agentry_store::{EntryFilter, Error};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::scene::{Scene, WORKS, about, begun, draft, prompt, raw, starts_with, trn};

fn check_value(value: &Value) {
    let scene = Scene::new();
    let event = starts_with(None, value.clone());
    let written = scene.add(&about(1), event.clone());
    assert_eq!(written.event, event);
    let read = scene.all().remove(0);
    assert_eq!(read, written);
    // Equality of maps does not look at their order; their text does.
    assert_eq!(
        serde_json::to_string(&read.event).expect(WORKS),
        serde_json::to_string(&written.event).expect(WORKS)
    );
    scene.ledger.verify().expect(WORKS);
}

#[test]
fn entries_come_back_as_they_were_returned() {
    let scene = Scene::new();
    let drafts = vec![
        Draft { cause: Some(7), ..draft(&about(1), prompt("one")) },
        draft(&Default::default(), Event::CancelReceived {}),
    ];
    let written = scene.ledger.append(drafts).unwrap();
    assert_eq!(written.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((written[0].cause, written[1].cause), (Some(7), None));
    assert_eq!((written[0].version, written[0].stream), (EVENT_VERSION, LedgerStream::World));
    assert_eq!(scene.all(), written);
    assert_eq!(scene.ledger.entry(2).unwrap().as_ref(), written.last());
    assert_eq!(scene.ledger.entry(0).unwrap(), None);
    assert_eq!(scene.ledger.last_seq().unwrap(), 2);
}

#[test]
fn an_append_of_nothing_writes_nothing() {
    let scene = Scene::new();
    assert_eq!(scene.ledger.append(Vec::new()).unwrap(), []);
    assert_eq!((scene.ledger.commits(), scene.ledger.last_seq().unwrap()), (0, 0));
}

#[test]
fn an_append_is_there_after_the_ledger_was_closed() {
    let mut scene = begun();
    let before = scene.all();
    scene.ledger = crate::scene::open(&scene.home()).unwrap();
    assert_eq!(scene.all(), before);
}

#[test]
fn a_map_that_looks_like_an_artifact_survives() {
    check_value(&json!({"$artifact": "blake3:00", "bytes": 3}));
    check_value(&json!({"a": [{"$plain": {"$artifact": 1}}, {"$number": "7"}, {"$json": "[]"}]}));
    check_value(&json!("{\"$artifact\":\"blake3:00\"}"));
}

#[test]
fn numbers_that_canonical_json_cannot_hold_survive() {
    check_value(&json!([u64::MAX, i64::MIN, 9_007_199_254_740_993_u64, 1.0, -0.0, 1e300, 0.1]));
}

#[test]
fn maps_come_back_in_canonical_order_from_both_doors() {
    let scene = Scene::new();
    let event = starts_with(None, json!({"b": 1, "a": {"\u{fb33}": 1, "\u{1f600}": 2}}));
    let Event::TurnStarted(plan) = scene.add(&about(1), event).event else { panic!() };
    let text = "{\"a\":{\"\u{1f600}\":2,\"\u{fb33}\":1},\"b\":1}";
    assert_eq!(plan.charter.to_string(), text);
    let Event::TurnStarted(plan) = scene.all().remove(0).event else { panic!() };
    assert_eq!(plan.charter.to_string(), text);
}

#[test]
fn a_value_deeper_than_a_reader_goes_survives() {
    // The event itself and its charter take two of the levels.
    let mut value = json!({"$artifact": 1.0});
    for _ in 0..EVENT_DEPTH_MAX - 2 {
        value = json!([value]);
    }
    check_value(&value);
}

#[test]
fn a_value_without_a_bottom_is_refused() {
    let scene = Scene::new();
    let mut value = json!(0);
    for _ in 0..EVENT_DEPTH_MAX {
        value = json!([value]);
    }
    let refused = scene.ledger.append(vec![draft(&about(1), starts_with(None, value))]);
    assert!(matches!(refused, Err(Error::Unstorable { .. })));
    assert_eq!(scene.ledger.last_seq().unwrap(), 0);
}

#[test]
fn a_filter_finds_what_is_about_all_that_it_names() {
    let scene = begun();
    scene.add(&Default::default(), prompt("elsewhere"));
    scene.add(
        &agentry_protocol::envelope::EntrySubject { turn: None, ..about(1) },
        prompt("no turn"),
    );
    let seqs = |filter: EntryFilter, after, limit| {
        let found = scene.ledger.read_from(after, &filter, limit).unwrap();
        found.iter().map(|entry| entry.seq).collect::<Vec<_>>()
    };
    let of = about(1);
    let turn = EntryFilter { turn: of.turn.clone(), ..EntryFilter::default() };
    let run = EntryFilter { run: of.run.clone(), ..EntryFilter::default() };
    let both = EntryFilter { session: of.session, run: of.run, turn: Some(trn(9)), stream: None };
    let inputs = EntryFilter { stream: Some(LedgerStream::World), ..EntryFilter::default() };
    assert_eq!(seqs(turn, 1, 2), [2, 3]);
    assert_eq!(seqs(run, 3, 9), [4, 6]);
    assert_eq!(seqs(both, 0, 9), Vec::<u64>::new());
    assert_eq!(seqs(inputs, 0, 9), [2, 5, 6]);
    assert_eq!(seqs(EntryFilter::default(), 4, usize::MAX), [5, 6]);
    assert_eq!(seqs(EntryFilter::default(), u64::MAX, 9), Vec::<u64>::new());
}

#[test]
fn entries_can_be_neither_changed_nor_deleted() {
    let scene = begun();
    let sql = raw(&scene.home());
    for text in ["UPDATE ledger SET time = 1 WHERE seq = 1", "DELETE FROM ledger WHERE seq = 4"] {
        let error = sql.execute(text, []).unwrap_err().to_string();
        assert!(error.starts_with("an entry of the ledger is never"), "{error}");
    }
    assert_eq!(scene.defects(), []);
}

fn values() -> impl Strategy<Value = Value> {
    let keys = prop_oneof![
        Just("$artifact".to_owned()),
        Just("$plain".to_owned()),
        Just("$number".to_owned()),
        Just("$json".to_owned()),
        "[a-c\u{e000}-\u{e002}\u{1f600}\u{0}\"\\\\]{0,3}",
    ];
    let leaves = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-99_i32..99).prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaves.prop_recursive(6, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn any_value_survives_as_canonical_json(values in prop::collection::vec(values(), 1..6)) {
        let scene = Scene::new();
        for value in values {
            let event = starts_with(None, value);
            let about = agentry_protocol::envelope::EntrySubject::default();
            let written = scene.add(&about, event.clone());
            prop_assert_eq!(&written.event, &event);
            let read = scene.ledger.entry(written.seq).unwrap().unwrap();
            prop_assert_eq!(
                serde_json::to_string(&read).unwrap(),
                serde_json::to_string(&written).unwrap()
            );
            let body: String = raw(&scene.home())
                .query_row("SELECT body FROM ledger WHERE seq = ?1", [written.seq as i64], |row| row.get(0))
                .unwrap();
            let again: Value = serde_json::from_str(&body).unwrap();
            prop_assert_eq!(serde_json_canonicalizer::to_string(&again).unwrap(), body);
        }
        prop_assert_eq!(scene.defects(), []);
    }
}
