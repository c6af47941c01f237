//! Whatever is done to the file behind the ledger's back is found.

use std::fs;

use agentry_store::Defect;

use crate::scene::{Scene, WORKS, about, begun, open, open_anyhow, prompt};

#[track_caller]
fn check(sql: &str, expected: &[(u64, Defect)]) {
    let scene = begun().tampered(|file| {
        file.execute_batch(sql).expect(WORKS);
    });
    assert_eq!(scene.defects(), expected, "{sql}");
}

#[test]
fn a_whole_ledger_is_whole() {
    let scene = begun();
    let verified = scene.ledger.verify().unwrap();
    assert_eq!((verified.entries, verified.artifacts), (4, 0));
    assert_eq!(verified.head_hash.len(), 64);
}

#[test]
fn an_empty_ledger_is_whole() {
    assert_eq!(Scene::new().ledger.verify().unwrap().entries, 0);
}

#[test]
fn a_change_of_any_sealed_column_is_found() {
    let changes = [
        "time = time + 1",
        "cause = 1",
        "cause = 0",
        "session = NULL",
        "session = ''",
        "run = NULL",
        "turn = 'trn_00000000000000000000000009'",
        "run = turn, turn = run",
        "body = replace(body, 'hello', 'hollo')",
        "hash = zeroblob(32)",
        "hash = x'00'",
    ];
    for change in changes {
        let scene = begun().tampered(|sql| {
            sql.execute(&format!("UPDATE ledger SET {change} WHERE seq = 2"), []).unwrap();
        });
        let found = scene.defects();
        assert_eq!(found.first(), Some(&(2, Defect::Changed)), "{change}: {found:?}");
    }
}

#[test]
fn a_change_of_the_words_beside_the_event_is_found() {
    for change in ["version = 0", "stream = 'turns'", "kind = 'steer_received'"] {
        let scene = begun().tampered(|sql| {
            sql.execute(&format!("UPDATE ledger SET {change} WHERE seq = 2"), []).unwrap();
        });
        let found = scene.defects();
        let unreadable = |(seq, defect): &(u64, Defect)| {
            *seq == 2 && matches!(defect, Defect::Unreadable(_) | Defect::Changed)
        };
        assert!(!found.is_empty() && found.iter().all(unreadable), "{change}: {found:?}");
    }
}

#[test]
fn a_row_of_the_wrong_type_is_found() {
    let scene = begun().tampered(|sql| {
        sql.execute("UPDATE ledger SET time = 'noon' WHERE seq = 2", []).unwrap();
    });
    assert!(matches!(scene.defects()[0], (2, Defect::Unreadable(_))));
}

#[test]
fn a_deleted_row_is_found() {
    check("DELETE FROM ledger WHERE seq = 2", &[(3, Defect::Gap { expected: 2 })]);
}

#[test]
fn a_moved_row_is_found() {
    check(
        "UPDATE ledger SET seq = 9 WHERE seq = 4",
        &[(9, Defect::Gap { expected: 4 }), (4, Defect::Cut { last: 9 })],
    );
}

#[test]
fn a_row_that_was_slipped_in_is_found() {
    check(
        "INSERT INTO ledger SELECT 5, time, cause, version, stream, session, run, turn, kind, body,
         hash FROM ledger WHERE seq = 2",
        &[(5, Defect::Changed)],
    );
}

#[test]
fn an_end_that_was_cut_off_is_found() {
    check("DELETE FROM ledger WHERE seq > 2", &[(4, Defect::Cut { last: 2 })]);
}

#[test]
fn another_ledger_under_the_same_anchor_is_found() {
    let (scene, other) = (begun(), Scene::new());
    for word in ["a", "b", "c", "d", "e"] {
        other.add(&about(1), prompt(word));
    }
    let (home, other_home) = (scene.home(), other.home());
    let Scene { ledger, directory } = scene;
    drop(ledger);
    drop(other.ledger);
    fs::copy(other_home.join("ledger.sqlite3"), home.join("ledger.sqlite3")).unwrap();
    let refused = open(&home).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("another file is in its place"), "{refused}");
    let scene = Scene { ledger: open_anyhow(&home), directory };
    assert_eq!(scene.defects(), [(4, Defect::NotAnchored)]);
}

#[test]
fn a_changed_view_is_found() {
    let scene = begun().tampered(|sql| {
        sql.execute("UPDATE runs SET status = 'completed'", []).unwrap();
        sql.execute("DELETE FROM steps WHERE idx = 1", []).unwrap();
    });
    let tables: Vec<_> = scene
        .defects()
        .into_iter()
        .map(|(_, defect)| match defect {
            Defect::View { table, .. } => table,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(tables, ["runs", "steps"]);
    scene.ledger.rebuild_views().unwrap();
    assert_eq!(scene.defects(), []);
}

#[test]
fn a_torn_line_of_the_anchor_file_is_counted_and_harms_nothing() {
    let mut scene = begun();
    fs::write(scene.home().join("anchor"), "4 abc").unwrap();
    scene.ledger = open(&scene.home()).unwrap();
    let verified = scene.ledger.verify().unwrap();
    assert_eq!(verified.anchors_unreadable, 1);
    assert!(verified.anchors > 0);
}

#[test]
fn a_list_of_defects_has_an_end() {
    let scene = Scene::new();
    for _ in 0..150 {
        scene.add(&Default::default(), prompt("x"));
    }
    let scene = scene.tampered(|sql| {
        sql.execute("UPDATE ledger SET time = 1", []).unwrap();
    });
    assert_eq!(scene.defects().len(), agentry_store::limits::BROKEN_MAX);
}
