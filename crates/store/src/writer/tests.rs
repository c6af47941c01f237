//! Tests of the writer thread with the parts of a home.

use std::sync::mpsc;
use std::time::Duration;

use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;

use super::*;
use crate::backend::LedgerBackend;
use crate::event_codec;
use crate::write_request::PendingEntry;

fn opened(home: &Home, signal: Arc<CommitSignal>) -> LedgerWriter {
    let LedgerBackend { log, reservations, blobs, .. } = LedgerBackend::of_home(home);
    let stores = WriterStores { log, reservations, artifacts: Artifacts::new(home, blobs) };
    LedgerWriter::open(home, stores, still(), signal).unwrap()
}

fn still() -> Arc<BoundedClock> {
    Arc::new(BoundedClock::new(Arc::new(|| 0)))
}

fn append(
    writer: &LedgerWriter,
    content: &str,
) -> (AppendRequest, Receiver<Result<Vec<Envelope>, Error>>) {
    let event = Event::PromptReceived { content: content.to_owned() };
    let body = event_codec::encode(&event, &writer.stores.artifacts).unwrap();
    let (reply, answer) = Reply::channel();
    let entry = PendingEntry {
        cause: None,
        about: EntrySubject::default(),
        event: body.event,
        kind: body.kind,
        body: body.text,
    };
    (AppendRequest { at_head: None, entries: vec![entry], reply }, answer)
}

#[test]
fn a_full_disk_is_called_by_its_name_and_stops_everything() {
    let directory = tempfile::TempDir::new().unwrap();
    let home = Home::open(directory.path()).unwrap();
    let signal = Arc::new(CommitSignal::default());
    let mut writer = opened(&home, signal.clone());
    let pages: i64 = writer.sql.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let limit = pages + 20;
    writer.sql.pragma_update_and_check(None, "max_page_count", limit, |_| Ok(())).unwrap();
    let content = "x".repeat(60_000);
    let (first, first_answer) = append(&writer, &content);
    assert!(writer.commit(vec![first]).is_ok());
    assert_eq!(first_answer.recv().unwrap().unwrap()[0].seq, 1);
    let (second, second_answer) = append(&writer, &content);
    let (third, third_answer) = append(&writer, "short");
    assert!(writer.commit(vec![second, third]).is_err());
    for answer in [second_answer, third_answer] {
        let error = answer.recv().unwrap().unwrap_err();
        let Error::DiskFull { path, outcome: AppendOutcome::NothingWritten } = error else {
            panic!("{error}")
        };
        assert_eq!(path, home.ledger());
    }
    assert!(matches!(signal.refusal(home.ledger()), Some(Error::DiskFull { .. })));
    drop(writer);
    let again = opened(&home, Arc::default());
    assert_eq!(again.tip.seq, 1);
}

#[test]
fn an_append_gives_up_while_another_process_writes_and_nothing_breaks() {
    let directory = tempfile::TempDir::new().unwrap();
    let home = Home::open(directory.path()).unwrap();
    let mut writer = opened(&home, Arc::default());
    writer.sql.busy_timeout(Duration::ZERO).unwrap();
    let other = Connection::open(home.ledger()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (early, answer) = append(&writer, "x");
    assert!(writer.commit(vec![early]).is_ok());
    assert!(matches!(answer.recv().unwrap(), Err(Error::Locked { .. })));
    other.execute_batch("ROLLBACK").unwrap();
    let (late, answer) = append(&writer, "x");
    assert!(writer.commit(vec![late]).is_ok());
    assert_eq!(answer.recv().unwrap().unwrap()[0].seq, 1);
}

#[test]
fn callers_who_came_together_are_waited_for_and_a_batch_has_an_end() {
    let directory = tempfile::TempDir::new().unwrap();
    let home = Home::open(directory.path()).unwrap();
    let writer = opened(&home, Arc::default());
    let (orders, queue) = mpsc::sync_channel(BATCH_APPENDS_MAX + 9);
    for _ in 0..BATCH_APPENDS_MAX + 9 {
        orders.send(WriterRequest::Append(append(&writer, "x").0)).unwrap();
    }
    let first = queue.recv().unwrap();
    let (appends, alone) = gather(first, &queue, 1);
    assert_eq!((appends.len(), alone.is_none()), (BATCH_APPENDS_MAX, true));
    let first = queue.recv().unwrap();
    let (appends, _) = gather(first, &queue, 99);
    assert_eq!(appends.len(), 9);
}
