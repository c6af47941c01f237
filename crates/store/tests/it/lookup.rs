//! Finding things by what people type, without reading everything.

use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Ending;
use agentry_protocol::{AgentId, SessionKey};
use agentry_store::Error;

use crate::scene::{Scene, about, begun, ends, opened, plan, raw, run, ses, starts, trn};

#[test]
fn a_part_of_an_id_is_enough_where_one_fits() {
    let scene = Scene::new();
    for number in [1, 33, 1 << 104] {
        scene
            .add(&EntrySubject { run: Some(run(number)), ..EntrySubject::default() }, plan("x", 1));
    }
    let find = |text: &str| scene.ledger.find_run(text);
    let whole = run(33).to_string();
    assert_eq!(find(&whole).unwrap(), run(33));
    assert_eq!(find("11").unwrap(), run(33));
    assert_eq!(find("run_00000g").unwrap(), run(1 << 104));
    assert_eq!(find("00000g").unwrap(), run(1 << 104));
    match find("1") {
        Err(Error::Ambiguous { found, .. }) => {
            assert_eq!(found, [run(1).to_string(), run(33).to_string()]);
        }
        other => panic!("{other:?}"),
    }
    for nothing in ["", "run_", "zz", "%", "_", "trn_000", "run_0'"] {
        assert!(matches!(find(nothing), Err(Error::Unknown { .. })), "{nothing}");
    }
}

#[test]
fn runs_are_counted_by_how_they_stand() {
    let scene = begun();
    scene.add(&EntrySubject { run: Some(run(2)), ..EntrySubject::default() }, plan("x", 1));
    let counts = scene.ledger.run_counts().unwrap();
    assert_eq!(counts, [("planned".to_owned(), 1), ("running".to_owned(), 1)]);
}

#[test]
fn a_session_is_found_by_its_name_or_its_id() {
    let scene = begun();
    let other = EntrySubject { session: Some(ses(2)), ..EntrySubject::default() };
    scene.add(
        &other,
        agentry_protocol::event::Event::SessionOpened {
            key: SessionKey::new("main"),
            agent: AgentId::new("reviewer"),
            head: None,
        },
    );
    assert!(matches!(scene.ledger.find_session("main"), Err(Error::Ambiguous { .. })));
    assert_eq!(scene.ledger.find_session(ses(2).as_str()).unwrap(), ses(2));
    let named = |agent: &str| {
        let row = scene.ledger.session_named(&SessionKey::new("main"), &AgentId::new(agent));
        row.unwrap().map(|row| row.id)
    };
    assert_eq!(named("reviewer"), Some(ses(2)));
    assert_eq!(named("nobody"), None);
    scene.add(
        &EntrySubject { session: Some(ses(3)), ..EntrySubject::default() },
        opened("third", None),
    );
    assert_eq!(scene.ledger.find_session("third").unwrap(), ses(3));
}

#[test]
fn a_branch_is_read_from_its_head_as_far_as_wanted() {
    let scene = begun();
    for turn in 1..5 {
        scene.add(&about(turn), ends(Ending::Done));
        scene.add(&about(turn + 1), starts(Some(trn(turn))));
    }
    let ids = |head, limit| {
        let branch = scene.ledger.branch(&trn(head), limit).unwrap();
        branch.into_iter().map(|turn| turn.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(4, 2), [trn(3), trn(4)]);
    assert_eq!(ids(3, usize::MAX), [trn(1), trn(2), trn(3)]);
    assert_eq!(ids(9, 9), []);
    assert_eq!(ids(3, 0), []);
    assert_eq!(scene.ledger.turn_under_way(&ses(1)).unwrap().unwrap().id, trn(5));
}

#[test]
fn a_turn_that_is_its_own_parent_makes_no_endless_branch() {
    let scene = Scene::new();
    let odd = EntrySubject { session: None, ..about(1) };
    scene.add(&odd, starts(Some(trn(1))));
    assert_eq!(scene.ledger.branch(&trn(1), usize::MAX).unwrap().len(), 1);
}

#[test]
fn the_way_to_a_session_and_to_its_entries_never_reads_a_whole_table() {
    let scene = begun();
    let sql = raw(&scene.home());
    for text in [
        "SELECT head FROM sessions WHERE id = ?1",
        "SELECT id FROM sessions WHERE key = ?1 AND agent = ?2 LIMIT 1",
        "SELECT id FROM turns WHERE session = ?1 AND ended_seq IS NULL LIMIT 1",
        "SELECT * FROM turns WHERE id = ?1",
        "SELECT * FROM turns WHERE run = ?1 ORDER BY started_seq",
        "SELECT * FROM ledger WHERE seq > ?1 AND session = ?3 ORDER BY seq LIMIT ?2",
        "SELECT * FROM ledger WHERE seq > ?1 AND run = ?3 AND +session = ?4 ORDER BY seq LIMIT ?2",
        "SELECT * FROM ledger WHERE seq > ?1 AND turn = ?3 AND +run = ?4 ORDER BY seq LIMIT ?2",
        "SELECT * FROM calls WHERE turn = ?1 ORDER BY proposed_seq",
        "UPDATE approvals SET status = 'withdrawn' WHERE turn = ?1 AND status = 'waiting'",
        "SELECT status FROM approvals WHERE approvals.run = ?1 AND approvals.status = 'waiting'",
    ] {
        let mut plan = sql.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        let mut params = vec!["x"; plan.parameter_count()];
        params.resize(plan.parameter_count(), "x");
        let steps: Vec<String> = plan
            .query_map(rusqlite::params_from_iter(params), |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let is_search = |step: &String| step.starts_with("SEARCH");
        assert!(steps.iter().all(is_search), "{text}: {steps:?}");
    }
}
