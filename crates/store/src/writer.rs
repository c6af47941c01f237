//! The only thread that writes: it collects the waiting appends and commits them together.
//!
//! One wait for the disk serves many callers. After a failed commit the content of the disk is
//! unknown, so the thread ends; opening the ledger again reads the real content.
//!
//! Must never: try again on a connection that failed, or answer before the disk did.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use agentry_protocol::envelope::{EVENT_VERSION, LedgerStream};
use rusqlite::{Connection, ErrorCode};

use crate::anchor::{self, Anchor};
use crate::artifact::Artifacts;
use crate::batch::{self, AppendError};
use crate::chain::ChainTip;
use crate::clock::BoundedClock;
use crate::commit_signal::{CommitSignal, Poison};
use crate::connection;
use crate::error::{AppendOutcome, Error};
use crate::home::Home;
use crate::last_entry::{self, LastEntry};
use crate::layout::{self, LAYOUT_VERSION};
use crate::limits::{BATCH_APPENDS_MAX, GATHER_TIME_MAX};
use crate::loss;
use crate::spending;
use crate::view;
use crate::wal_checkpoint::WalCheckpointer;
use crate::write_request::{AppendRequest, ExclusiveOp, WriterRequest};

/// The state of the writer thread.
pub(crate) struct LedgerWriter {
    sql: Connection,
    path: PathBuf,
    artifacts: Artifacts,
    clock: Arc<BoundedClock>,
    anchor: Anchor,
    tip: ChainTip,
    signal: Arc<CommitSignal>,
    checkpoints: WalCheckpointer,
}

/// A mark that the connection failed; it must not be used again.
struct ConnectionFailure;

/// The reason why no transaction began.
enum BeginError {
    /// Another process has the write lock.
    Locked,
    /// A newer program wrote to the file.
    Newer { what: &'static str, found: u64, known: u64 },
    /// The database failed.
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for BeginError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl LedgerWriter {
    /// Opens the ledger for writing; fails with `Error::Lost` if written entries are missing.
    pub(crate) fn open(
        home: &Home,
        clock: Arc<BoundedClock>,
        signal: Arc<CommitSignal>,
    ) -> Result<Self, Error> {
        // Before the ledger: another process may write to it meanwhile.
        let marks = anchor::newest(home)?;
        let (mut sql, path) = (layout::open_writer(home)?, home.ledger());
        let unread = |error| Error::read(&path, error);
        let checkpoints = WalCheckpointer::of(&mut sql, path.clone()).map_err(unread)?;
        let LastEntry { tip, .. } = last_entry::last(&sql).map_err(unread)?;
        if let Some(loss) = loss::find(&sql, &tip, &marks).map_err(unread)? {
            return Err(Error::Lost { path, loss });
        }
        clock.raise(last_entry::newest_time(&sql).map_err(unread)?);
        let anchor = Anchor::open(home, &tip, clock.now(|| None))?;
        signal.start(tip.seq);
        Ok(Self {
            sql,
            path,
            artifacts: Artifacts::new(home),
            clock,
            anchor,
            tip,
            signal,
            checkpoints,
        })
    }

    /// Serves requests until the last sender is dropped or a commit fails.
    pub(crate) fn work(mut self, orders: &Receiver<WriterRequest>) {
        let mut expected = 1;
        while let Ok(first) = orders.recv() {
            let (appends, alone) = gather(first, orders, expected);
            expected = appends.len();
            let mut done = self.commit(appends);
            if let (Ok(()), Some(alone)) = (&done, alone) {
                done = match alone {
                    ExclusiveOp::Rebuild(reply) => self.rebuild(&reply),
                    ExclusiveOp::Reserve(wanted, reply) => {
                        let now = self.now();
                        self.change(&reply, |sql| spending::reserve(sql, &wanted, now))
                    }
                    ExclusiveOp::Release(released, reply) => {
                        self.change(&reply, |sql| spending::release(sql, &released))
                    }
                };
            }
            if let Err(ConnectionFailure) = done {
                connection::abandon(&self.sql);
                return;
            }
        }
        self.anchor.close(&self.tip, self.now());
    }

    fn commit(&mut self, appends: Vec<AppendRequest>) -> Result<(), ConnectionFailure> {
        if appends.is_empty() {
            return Ok(());
        }
        let mut tip = match self.begin() {
            Ok(tip) => tip,
            Err(not_begun) => {
                let replies = appends.into_iter().map(|append| append.reply);
                return self.not_begun(not_begun, replies.collect());
            }
        };
        let mut answers = Vec::with_capacity(appends.len());
        let mut appends = appends.into_iter();
        while let Some(append) = appends.next() {
            let AppendRequest { at_head, entries, reply } = append;
            let time = self.now().min(i64::MAX.cast_unsigned());
            match batch::append(&self.sql, &mut tip, time, at_head.as_ref(), entries) {
                Ok(envelopes) => answers.push((reply, Ok(envelopes))),
                Err(AppendError::Refused(error)) => answers.push((reply, Err(error))),
                Err(AppendError::Sql(error)) => {
                    let mut replies: Vec<_> = answers.into_iter().map(|(reply, _)| reply).collect();
                    replies.push(reply);
                    replies.extend(appends.map(|append| append.reply));
                    return Err(self.failed(&error, AppendOutcome::NothingWritten, replies));
                }
            }
        }
        let is_written = answers.iter().any(|(_, answer)| answer.is_ok());
        if let Err(error) = self.execute(if is_written { "COMMIT" } else { "ROLLBACK" }) {
            let replies = answers.into_iter().map(|(reply, _)| reply);
            return Err(self.failed(&error, AppendOutcome::Unknown, replies.collect()));
        }
        self.tip = tip;
        if is_written {
            let written = answers.iter().filter_map(|(_, answer)| answer.as_ref().ok()).flatten();
            written.clone().for_each(|envelope| self.clock.raise(envelope.time));
            let inputs = written.filter(|envelope| envelope.stream == LedgerStream::World);
            self.signal.committed(tip.seq, inputs.map(|envelope| envelope.seq).max());
        }
        // Before the replies: the loss of an entry that a caller knows of must be detectable.
        self.anchor.follow(&tip, self.now());
        for (reply, answer) in answers {
            reply.send(answer).unwrap_or_default();
        }
        self.checkpoints.follow(&self.sql);
        Ok(())
    }

    /// Returns the time, never before the last entry.
    fn now(&self) -> u64 {
        self.clock.now(|| None)
    }

    /// Begins a transaction and reads the tip, since another process may have written.
    fn begin(&self) -> Result<ChainTip, BeginError> {
        self.execute("BEGIN IMMEDIATE").map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy) => BeginError::Locked,
            _ => BeginError::Sql(error),
        })?;
        let LastEntry { tip, version, time } = last_entry::last(&self.sql)?;
        self.clock.raise(time);
        let found = layout::version(&self.sql)?;
        if found != LAYOUT_VERSION {
            return Err(BeginError::Newer { what: "layout", found, known: LAYOUT_VERSION });
        }
        if version > EVENT_VERSION {
            let (found, known) = (u64::from(version), u64::from(EVENT_VERSION));
            return Err(BeginError::Newer { what: "event", found, known });
        }
        Ok(tip)
    }

    /// Sends the reason to all callers.
    fn not_begun<T>(
        &self,
        why: BeginError,
        replies: Vec<SyncSender<Result<T, Error>>>,
    ) -> Result<(), ConnectionFailure> {
        let (newer, ended) = match why {
            BeginError::Locked => (None, Ok(())),
            BeginError::Newer { what, found, known } => {
                (Some((what, found, known)), self.execute("ROLLBACK"))
            }
            BeginError::Sql(error) => (None, Err(error)),
        };
        if let Err(error) = ended {
            return Err(self.failed(&error, AppendOutcome::NothingWritten, replies));
        }
        for reply in replies {
            let path = self.path.clone();
            let error = match newer {
                Some((what, found, known)) => Error::FromTheFuture { path, what, found, known },
                None => Error::Locked { path },
            };
            reply.send(Err(error)).unwrap_or_default();
        }
        Ok(())
    }

    /// Poisons the ledger first and replies then: the next requests of the callers must see it.
    fn failed<T>(
        &self,
        error: &rusqlite::Error,
        outcome: AppendOutcome,
        replies: Vec<SyncSender<Result<T, Error>>>,
    ) -> ConnectionFailure {
        let is_full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
        let cause = error.to_string();
        self.signal.poison(match (is_full, outcome) {
            (true, AppendOutcome::NothingWritten) => Poison::DiskFull,
            (true, AppendOutcome::Unknown) | (false, _) => Poison::Unknown(cause.clone()),
        });
        for reply in replies {
            let path = self.path.clone();
            let error = if is_full {
                Error::DiskFull { path, outcome }
            } else {
                Error::OutcomeUnknown { path, cause: cause.clone() }
            };
            reply.send(Err(error)).unwrap_or_default();
        }
        ConnectionFailure
    }

    fn rebuild(&mut self, reply: &SyncSender<Result<(), Error>>) -> Result<(), ConnectionFailure> {
        if let Err(not_begun) = self.begin() {
            return self.not_begun(not_begun, vec![reply.clone()]);
        }
        if let Err(error) = view::rebuild(&self.sql, &self.path, &self.artifacts) {
            if let Err(error) = self.execute("ROLLBACK") {
                return Err(self.failed(
                    &error,
                    AppendOutcome::NothingWritten,
                    vec![reply.clone()],
                ));
            }
            reply.send(Err(error)).unwrap_or_default();
            return Ok(());
        }
        if let Err(error) = self.execute("COMMIT") {
            return Err(self.failed(&error, AppendOutcome::Unknown, vec![reply.clone()]));
        }
        reply.send(Ok(())).unwrap_or_default();
        Ok(())
    }

    /// Changes a table that is not part of the ledger, in a transaction of its own.
    fn change<T>(
        &self,
        reply: &SyncSender<Result<T, Error>>,
        with: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<(), ConnectionFailure> {
        if let Err(not_begun) = self.begin() {
            return self.not_begun(not_begun, vec![reply.clone()]);
        }
        let answer = match with(&self.sql) {
            Ok(answer) => answer,
            Err(error) => {
                return Err(self.failed(
                    &error,
                    AppendOutcome::NothingWritten,
                    vec![reply.clone()],
                ));
            }
        };
        if let Err(error) = self.execute("COMMIT") {
            return Err(self.failed(&error, AppendOutcome::Unknown, vec![reply.clone()]));
        }
        reply.send(Ok(answer)).unwrap_or_default();
        Ok(())
    }

    fn execute(&self, text: &str) -> rusqlite::Result<()> {
        self.sql.prepare_cached(text)?.execute([]).map(|_| ())
    }
}

/// Collects the waiting appends. Callers that got their answers together tend to return together: a
/// short wait for them pays, since each commit costs much more.
fn gather(
    first: WriterRequest,
    orders: &Receiver<WriterRequest>,
    expected: usize,
) -> (Vec<AppendRequest>, Option<ExclusiveOp>) {
    let mut appends = Vec::with_capacity(expected);
    let mut next = Some(first);
    while let Some(order) = next {
        match order {
            WriterRequest::Append(append) => appends.push(append),
            WriterRequest::Alone(alone) => return (appends, Some(alone)),
        }
        next = if appends.len() < expected {
            orders.recv_timeout(GATHER_TIME_MAX).ok()
        } else if appends.len() < BATCH_APPENDS_MAX {
            orders.try_recv().ok()
        } else {
            None
        };
    }
    (appends, None)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use agentry_protocol::envelope::{EntrySubject, Envelope};
    use agentry_protocol::event::Event;

    use super::*;
    use crate::event_codec;
    use crate::write_request::PendingEntry;

    fn still() -> Arc<BoundedClock> {
        Arc::new(BoundedClock::new(Arc::new(|| 0)))
    }

    fn append(
        writer: &LedgerWriter,
        content: &str,
    ) -> (AppendRequest, Receiver<Result<Vec<Envelope>, Error>>) {
        let event = Event::PromptReceived { content: content.to_owned() };
        let body = event_codec::encode(&event, &writer.artifacts).unwrap();
        let (reply, answer) = mpsc::sync_channel(1);
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
        let mut writer = LedgerWriter::open(&home, still(), signal.clone()).unwrap();
        let pages: i64 =
            writer.sql.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
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
        let again = LedgerWriter::open(&home, still(), Arc::default()).unwrap();
        assert_eq!(again.tip.seq, 1);
    }

    #[test]
    fn an_append_gives_up_while_another_process_writes_and_nothing_breaks() {
        let directory = tempfile::TempDir::new().unwrap();
        let home = Home::open(directory.path()).unwrap();
        let mut writer = LedgerWriter::open(&home, still(), Arc::default()).unwrap();
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
        let writer = LedgerWriter::open(&home, still(), Arc::default()).unwrap();
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
}
