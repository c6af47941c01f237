//! The append-only sequence of envelopes.
//!
//! One thread writes; reading has connections of its own, and each question is answered from one
//! snapshot.
//!
//! Must never: return from an append before its entries are on disk, or change an entry.

use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use agentry_protocol::envelope::{Draft, Envelope, LedgerStream};
use agentry_protocol::{ContentHash, RunId, SessionId, TurnId};
use rusqlite::{Connection, ToSql};

use crate::artifact::Artifacts;
use crate::clock::BoundedClock;
use crate::column::whole;
use crate::commit_signal::CommitSignal;
use crate::connection::{self, ConnectionMode};
use crate::error::Error;
use crate::event_codec;
use crate::home::Home;
use crate::last_entry;
use crate::ledger_row::{self, COLUMNS, LedgerRow};
use crate::limits::READERS_MAX;
use crate::lock::{IntakeLock, SessionLock};
use crate::lock_holder::IntakeHolder;
use crate::lock_store::LockStore;
use crate::reservation_store::ReservationStore;
use crate::write_request::{AppendRequest, ExpectedHead, PendingEntry, Reply, WriterRequest};

/// The ledger of a home. Clones share one ledger; dropping the last clone closes it.
#[derive(Clone)]
pub struct Ledger {
    pub(crate) shared: Arc<LedgerInner>,
}

/// A filter for entries: an entry must match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryFilter {
    /// Only entries about this session.
    pub session: Option<SessionId>,
    /// Only entries about this run.
    pub run: Option<RunId>,
    /// Only entries about this turn.
    pub turn: Option<TurnId>,
    /// Only entries of this stream.
    pub stream: Option<LedgerStream>,
}

impl EntryFilter {
    /// Returns true if an entry matches every field that is set.
    pub fn matches(&self, envelope: &Envelope) -> bool {
        let about = &envelope.about;
        self.stream.is_none_or(|stream| stream == envelope.stream)
            && (self.session.is_none() || self.session == about.session)
            && (self.run.is_none() || self.run == about.run)
            && (self.turn.is_none() || self.turn == about.turn)
    }
}

pub(crate) struct LedgerInner {
    pub(crate) home: Home,
    pub(crate) path: PathBuf,
    pub(crate) artifacts: Artifacts,
    pub(crate) locks: Box<dyn LockStore>,
    pub(crate) reservations: Arc<dyn ReservationStore>,
    pub(crate) signal: Arc<CommitSignal>,
    pub(crate) clock: Arc<BoundedClock>,
    pub(crate) reach: ConnectionMode,
    pub(crate) readers: Mutex<Vec<Connection>>,
    // Both are Some until the drop, which closes them in order; both are None in read-only mode.
    pub(crate) orders: Option<SyncSender<WriterRequest>>,
    pub(crate) writer: Option<JoinHandle<()>>,
}

impl Ledger {
    /// Returns the lag of the machine's clock behind the newest entry, in milliseconds, or zero.
    pub fn clock_behind_ms(&self) -> u64 {
        self.shared.clock.behind_ms()
    }

    /// Returns the home of the ledger.
    pub fn home(&self) -> &Home {
        &self.shared.home
    }

    /// Writes entries, all or none, with consecutive numbers. When this returns, they are on disk
    /// and have the form that every reader finds.
    ///
    /// A turn starts only at the head of its session and beside no other turn, a session opens only
    /// once, and an approval is answered only while it waits; otherwise nothing is written.
    pub fn append(&self, drafts: Vec<Draft>) -> Result<Vec<Envelope>, Error> {
        self.send(None, drafts)
    }

    /// Writes entries if the session's head is still the expected one.
    pub fn append_at_head(
        &self,
        session: &SessionId,
        expected_head: Option<&TurnId>,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Envelope>, Error> {
        self.send(
            Some(ExpectedHead { session: session.clone(), head: expected_head.cloned() }),
            drafts,
        )
    }

    /// Returns the entries after a sequence number, in order, at most `limit`.
    pub fn read_from(
        &self,
        after_seq: u64,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Vec<Envelope>, Error> {
        self.read(|sql| self.shared.entries(sql, after_seq, filter, limit))
    }

    /// Returns the last `limit` entries before a sequence number, in order.
    pub fn read_before(
        &self,
        before_seq: u64,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Vec<Envelope>, Error> {
        let (text, ids) = select_before(filter);
        let (before, limit) = (whole(before_seq), whole(limit as u64));
        let mut params: Vec<&dyn ToSql> = vec![&before, &limit];
        params.extend(ids.iter().map(|id| id as &dyn ToSql));
        self.read(|sql| {
            let shared = &self.shared;
            let read = |source| shared.unread(source);
            let mut statement = sql.prepare_cached(&text).map_err(read)?;
            let rows = statement.query_map(params.as_slice(), LedgerRow::read).map_err(read)?;
            let opened = rows.map(|row| row.map_err(read)?.open(&shared.path, &shared.artifacts));
            let mut entries: Vec<Envelope> = opened.collect::<Result<_, Error>>()?;
            entries.reverse();
            Ok(entries)
        })
    }

    /// Returns one entry; None if there is no entry with this number.
    pub fn entry(&self, seq: u64) -> Result<Option<Envelope>, Error> {
        let Some(before) = seq.checked_sub(1) else { return Ok(None) };
        let found = self.read_from(before, &EntryFilter::default(), 1)?;
        Ok(found.into_iter().find(|envelope| envelope.seq == seq))
    }

    /// Returns the number of the last entry; zero if there is none.
    pub fn last_seq(&self) -> Result<u64, Error> {
        self.read(|sql| self.shared.last_seq(sql))
    }

    /// Returns the number of the last entry about a session; zero if there is none.
    pub fn last_seq_of(&self, session: &SessionId) -> Result<u64, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM ledger WHERE session = ?1")?
                .query_row([session.as_str()], |row| row.get::<_, i64>(0))
                .map(i64::cast_unsigned)
        })
    }

    /// Stores a file, named by the hash of its content; the file is on disk when this returns.
    pub fn keep_file(&self, content: &[u8]) -> Result<ContentHash, Error> {
        self.shared.artifacts.keep(content)
    }

    /// Returns true if a file with this hash is stored.
    pub fn keeps(&self, hash: &ContentHash) -> bool {
        self.shared.artifacts.holds(hash.as_str())
    }

    /// Returns a stored file, after comparing its content with the hash.
    pub fn kept_file(&self, hash: &ContentHash) -> Result<Vec<u8>, Error> {
        Ok(self.shared.artifacts.fetch_bytes(hash.as_str())?.1)
    }

    /// Returns the time that an entry would get: never before the newest entry.
    pub fn now(&self) -> u64 {
        self.shared.clock.now(|| self.ask(last_entry::newest_time).ok())
    }

    /// Locks a session for this process. The lock ends on drop, and when the process ends.
    pub fn lock_session(&self, session: &SessionId) -> Result<SessionLock, Error> {
        self.shared.refuse_if_poisoned()?;
        self.shared.refuse_if_looked_at()?;
        let owned = SessionLock::take(&*self.shared.locks, session, self.now())?;
        // A former owner is gone, so its reservations are stale.
        self.release_session(session)?;
        Ok(owned)
    }

    /// Locks the intake of the home for this process, to answer one message. The lock ends on drop,
    /// and when the process ends.
    pub fn lock_intake(&self) -> Result<IntakeLock, Error> {
        self.lock_intake_as(IntakeHolder::Once)
    }

    /// Locks the intake of the home for this process, as the given kind of holder.
    pub fn lock_intake_as(&self, taker: IntakeHolder) -> Result<IntakeLock, Error> {
        self.shared.refuse_if_poisoned()?;
        self.shared.refuse_if_looked_at()?;
        IntakeLock::take(&*self.shared.locks, self.now(), taker)
    }

    /// Returns the number of commits; many appends share one commit.
    pub fn commits(&self) -> u64 {
        self.shared.signal.commits()
    }

    fn send(
        &self,
        at_head: Option<ExpectedHead>,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Envelope>, Error> {
        self.shared.refuse_if_poisoned()?;
        self.shared.refuse_if_looked_at()?;
        if drafts.is_empty() {
            return Ok(Vec::new());
        }
        let prepare = |draft: Draft| {
            let body = event_codec::encode(&draft.event, &self.shared.artifacts)?;
            Ok(PendingEntry {
                cause: draft.cause,
                about: draft.about,
                event: body.event,
                kind: body.kind,
                body: body.text,
            })
        };
        let entries = drafts.into_iter().map(prepare).collect::<Result<_, Error>>()?;
        self.shared
            .request(|reply| WriterRequest::Append(AppendRequest { at_head, entries, reply }))
    }

    pub(crate) fn entry_in(&self, sql: &Connection, seq: u64) -> Result<Envelope, Error> {
        let entries =
            self.shared.entries(sql, seq.saturating_sub(1), &EntryFilter::default(), 1)?;
        let found = entries.into_iter().find(|envelope| envelope.seq == seq);
        found.ok_or_else(|| self.not_the(seq, "entry"))
    }

    pub(crate) fn not_the(&self, seq: u64, what: &str) -> Error {
        let why = format!("it is not the {what} that a view names");
        Error::Unreadable { path: self.shared.path.clone(), seq, why }
    }

    /// Answers a question from one snapshot.
    pub(crate) fn read<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let shared = &self.shared;
        shared.refuse_if_poisoned()?;
        let pooled = shared.readers().pop();
        let sql = pooled.map_or_else(|| connection::open_reader(&shared.path, shared.reach), Ok)?;
        let answer = {
            let _snapshot = connection::snapshot(&sql).map_err(|source| shared.unread(source))?;
            question(&sql)?
        };
        let mut readers = shared.readers();
        if readers.len() < READERS_MAX {
            readers.push(sql);
        }
        Ok(answer)
    }

    /// Answers a question that can fail only in the database.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        self.read(|sql| question(sql).map_err(|source| self.shared.unread(source)))
    }
}

impl LedgerInner {
    pub(crate) fn unread(&self, source: rusqlite::Error) -> Error {
        Error::read(&self.path, source)
    }

    pub(crate) fn refuse_if_poisoned(&self) -> Result<(), Error> {
        self.signal.refusal(self.path.clone()).map_or(Ok(()), Err)
    }

    pub(crate) fn last_seq(&self, sql: &Connection) -> Result<u64, Error> {
        let last = sql
            .prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM ledger")
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)));
        last.map(i64::cast_unsigned).map_err(|source| self.unread(source))
    }

    pub(crate) fn entries(
        &self,
        sql: &Connection,
        after_seq: u64,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Vec<Envelope>, Error> {
        let (text, ids) = select(filter);
        let after = i64::try_from(after_seq).unwrap_or(i64::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut params: Vec<&dyn ToSql> = vec![&after, &limit];
        params.extend(ids.iter().map(|id| id as &dyn ToSql));
        let read = |source| self.unread(source);
        let mut statement = sql.prepare_cached(&text).map_err(read)?;
        let rows = statement.query_map(params.as_slice(), LedgerRow::read).map_err(read)?;
        rows.map(|row| row.map_err(read)?.open(&self.path, &self.artifacts)).collect()
    }

    /// Sends a request to the writer and waits for its answer.
    pub(crate) fn request<T>(
        &self,
        request: impl FnOnce(Reply<T>) -> WriterRequest,
    ) -> Result<T, Error> {
        let Some(orders) = self.orders.as_ref() else { return Err(self.looked_at()) };
        let (reply, answer) = Reply::channel();
        orders.send(request(reply)).map_err(|_| self.stopped())?;
        answer.recv().map_err(|_| self.stopped())?
    }

    fn looked_at(&self) -> Error {
        Error::ReadOnly { path: self.path.clone() }
    }

    fn refuse_if_looked_at(&self) -> Result<(), Error> {
        if self.orders.is_some() { Ok(()) } else { Err(self.looked_at()) }
    }

    /// Returns the error for a caller whose writer ended without an answer.
    fn stopped(&self) -> Error {
        let unsaid = || Error::OutcomeUnknown {
            path: self.path.clone(),
            cause: "the writer thread has stopped".to_owned(),
        };
        self.signal.refusal(self.path.clone()).unwrap_or_else(unsaid)
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().expect("nobody panics while holding the readers")
    }
}

impl Drop for LedgerInner {
    fn drop(&mut self) {
        if self.refuse_if_poisoned().is_err() {
            self.readers().iter().for_each(connection::abandon);
        }
        // The writer closes last, since the last connection to close tidies the file.
        self.readers().clear();
        drop(self.orders.take());
        if let Some(writer) = self.writer.take() {
            match writer.join() {
                // A thread that panicked has reported it, and its callers got an error.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Forces the narrowest index: the planner does not know which one is narrow.
fn select(filter: &EntryFilter) -> (String, Vec<&str>) {
    selected(filter, "seq > ?1", "seq")
}

/// Selects the entries before a sequence number, the last first.
fn select_before(filter: &EntryFilter) -> (String, Vec<&str>) {
    selected(filter, "seq < ?1", "seq DESC")
}

fn selected<'f>(filter: &'f EntryFilter, from: &str, order: &str) -> (String, Vec<&'f str>) {
    let wanted = [
        ("turn", filter.turn.as_ref().map(TurnId::as_str)),
        ("run", filter.run.as_ref().map(RunId::as_str)),
        ("session", filter.session.as_ref().map(SessionId::as_str)),
    ];
    let mut text = format!("SELECT {COLUMNS} FROM ledger WHERE {from}");
    let mut ids = Vec::new();
    for (column, id) in wanted {
        if let Some(id) = id {
            let no_index = if ids.is_empty() { "" } else { "+" };
            text.push_str(&format!(" AND {no_index}{column} = ?{}", ids.len() + 3));
            ids.push(id);
        }
    }
    if let Some(stream) = filter.stream {
        text.push_str(&format!(" AND stream = ?{}", ids.len() + 3));
        ids.push(ledger_row::word(stream));
    }
    text.push_str(&format!(" ORDER BY {order} LIMIT ?2"));
    (text, ids)
}
