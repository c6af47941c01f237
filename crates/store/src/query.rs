//! Queries on sessions, runs, turns, calls and approvals.
//!
//! People shorten ids: the beginning or the end of an id is enough if only one id has it.
//!
//! Must never: guess between two ids.

use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_protocol::{AgentId, ApprovalId, CallId, RunId, SessionId, SessionKey, TurnId};
use rusqlite::{Connection, params};

use crate::error::Error;
use crate::ledger::{EntryFilter, Ledger};
use crate::limits::CANDIDATES_MAX;
use crate::view::{
    ApprovalRow, CallRow, FoundApproval, RequestHistory, RunRow, SessionRow, StepRow, TurnRow,
    session_by_key,
};

impl Ledger {
    /// Returns a session; None if there is none with this id.
    pub fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, Error> {
        self.ask(|sql| SessionRow::by_id(sql, id))
    }

    /// Returns the session of an agent with a key, or None.
    pub fn session_named(
        &self,
        key: &SessionKey,
        agent: &AgentId,
    ) -> Result<Option<SessionRow>, Error> {
        self.ask(|sql| match session_by_key(sql, key, agent)? {
            Some(id) => SessionRow::by_id(sql, &id),
            None => Ok(None),
        })
    }

    /// Returns all sessions, the last used first.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, Error> {
        self.ask(SessionRow::all)
    }

    /// Returns a run; None if there is none with this id.
    pub fn run(&self, id: &RunId) -> Result<Option<RunRow>, Error> {
        self.ask(|sql| RunRow::by_id(sql, id))
    }

    /// Returns the last runs, the newest first, at most `limit`.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunRow>, Error> {
        self.ask(|sql| RunRow::newest(sql, limit))
    }

    /// Returns the newest run; None if there was none.
    pub fn latest_run(&self) -> Result<Option<RunRow>, Error> {
        Ok(self.runs(1)?.pop())
    }

    /// Returns the steps of a run, in order.
    pub fn steps(&self, run: &RunId) -> Result<Vec<StepRow>, Error> {
        self.ask(|sql| StepRow::of_run(sql, run))
    }

    /// Returns the turns of a run, in the order of their starts.
    pub fn turns_of_run(&self, run: &RunId) -> Result<Vec<TurnRow>, Error> {
        self.ask(|sql| TurnRow::of_run(sql, run))
    }

    /// Returns the calls of a run, in the order of their proposals.
    pub fn calls_of_run(&self, run: &RunId) -> Result<Vec<CallRow>, Error> {
        self.ask(|sql| CallRow::of_run(sql, run))
    }

    /// Returns a turn; None if there is none with this id.
    pub fn turn(&self, id: &TurnId) -> Result<Option<TurnRow>, Error> {
        self.ask(|sql| TurnRow::by_id(sql, id))
    }

    /// Returns the turn of a session that started and has not ended.
    pub fn turn_under_way(&self, session: &SessionId) -> Result<Option<TurnRow>, Error> {
        self.ask(|sql| TurnRow::under_way(sql, session))
    }

    /// Returns the last turns of the branch that ends with `head`, at most `limit`, oldest first.
    pub fn branch(&self, head: &TurnId, limit: usize) -> Result<Vec<TurnRow>, Error> {
        self.ask(|sql| TurnRow::branch(sql, head, limit))
    }

    /// Returns a call; None if there is none with this id.
    pub fn call(&self, id: &CallId) -> Result<Option<CallRow>, Error> {
        self.ask(|sql| CallRow::by_id(sql, id))
    }

    /// Returns the calls of a turn, in the order of their proposals.
    pub fn calls_of_turn(&self, turn: &TurnId) -> Result<Vec<CallRow>, Error> {
        self.ask(|sql| CallRow::of_turn(sql, turn))
    }

    /// Returns an approval; None if there is none with this id.
    pub fn approval(&self, id: &ApprovalId) -> Result<Option<ApprovalRow>, Error> {
        self.read(|sql| {
            let found = FoundApproval::by_id(sql, id);
            let found = found.map_err(|source| self.shared.unread(source))?;
            found.map(|found| self.whole(sql, &found)).transpose()
        })
    }

    /// Returns all approvals, answered or not, the oldest first.
    pub fn approvals(&self) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(FoundApproval::all)
    }

    /// Returns the last approvals, or the last requests for permission, the newest first.
    pub fn approvals_newest(
        &self,
        only_requests: bool,
        limit: usize,
    ) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::newest(sql, only_requests, limit))
    }

    /// Returns the approvals that wait for an answer, the oldest first.
    pub fn approvals_waiting(&self) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(FoundApproval::waiting)
    }

    /// Returns the approvals of a run that wait for an answer, the oldest first.
    pub fn approvals_waiting_of(&self, run: &RunId) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::waiting_of(sql, run))
    }

    /// Returns the approvals that hold for the rest of a session, the oldest first.
    pub fn approvals_standing(&self, session: &SessionId) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::standing_in(sql, session))
    }

    /// Returns the requests for permission, the oldest first: all, or those that wait.
    pub fn requests(&self, only_waiting: bool) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::requests(sql, only_waiting))
    }

    /// Returns the requests that wait although they have expired, the oldest first.
    pub fn requests_due(&self, now: u64) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::due(sql, now))
    }

    /// Returns the past requests of a principal to the owner, with at most `denials_max` denials.
    pub fn request_history(
        &self,
        requester: &str,
        denials_max: u32,
    ) -> Result<RequestHistory, Error> {
        self.ask(|sql| RequestHistory::of(sql, requester, denials_max))
    }

    /// Resolves a key, an id or a part of an id to one session.
    pub fn find_session(&self, text: &str) -> Result<SessionId, Error> {
        let mut named = self.ask(|sql| SessionRow::by_key(sql, &SessionKey::new(text)))?;
        match (named.pop(), named.is_empty()) {
            (Some(session), true) => Ok(session.id),
            (Some(session), false) => {
                named.push(session);
                let ids = named.iter().map(|session| session.id.to_string());
                let found = ids.take(CANDIDATES_MAX).collect();
                Err(Error::Ambiguous { what: "session", text: text.to_owned(), found })
            }
            (None, _) => {
                self.find("session", "sessions", SessionId::PREFIX, text).map(SessionId::new)
            }
        }
    }

    /// Resolves an id or a part of an id to one run.
    pub fn find_run(&self, text: &str) -> Result<RunId, Error> {
        self.find("run", "runs", RunId::PREFIX, text).map(RunId::new)
    }

    /// Resolves an id or a part of an id to one turn.
    pub fn find_turn(&self, text: &str) -> Result<TurnId, Error> {
        self.find("turn", "turns", TurnId::PREFIX, text).map(TurnId::new)
    }

    /// Resolves an id or a part of an id to one approval.
    pub fn find_approval(&self, text: &str) -> Result<ApprovalId, Error> {
        self.find("approval", "approvals", ApprovalId::PREFIX, text).map(ApprovalId::new)
    }

    fn approvals_by(
        &self,
        find: impl Fn(&Connection) -> rusqlite::Result<Vec<FoundApproval>>,
    ) -> Result<Vec<ApprovalRow>, Error> {
        self.read(|sql| {
            let found = find(sql).map_err(|source| self.shared.unread(source))?;
            found.iter().map(|found| self.whole(sql, found)).collect()
        })
    }

    /// Reads the entries that the view points at: the view itself holds no content.
    fn whole(&self, sql: &Connection, found: &FoundApproval) -> Result<ApprovalRow, Error> {
        let asked = self.entry_in(sql, found.asked_seq)?;
        let (answer, answered) = match found.answered_seq {
            None => (None, None),
            Some(seq) => {
                let entry = self.entry_in(sql, seq)?;
                let Event::ApprovalAnswered { answer, .. } = entry.event else {
                    return Err(self.not_the(seq, "answer"));
                };
                (Some(answer), Some(entry.time))
            }
        };
        let Event::ApprovalAsked(approval) = asked.event else {
            return Err(self.not_the(found.asked_seq, "question"));
        };
        Ok(ApprovalRow {
            approval: *approval,
            run: asked.about.run,
            turn: asked.about.turn,
            session: asked.about.session,
            status: found.status,
            answer,
            asked_seq: found.asked_seq,
            asked: asked.time,
            answered_seq: found.answered_seq,
            answered,
        })
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

    pub(crate) fn find(
        &self,
        what: &'static str,
        table: &str,
        prefix: &str,
        text: &str,
    ) -> Result<String, Error> {
        let bare = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
        let bare = bare.unwrap_or(text);
        let is_part = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let whole = format!("{prefix}_{bare}");
        // `~` sorts after every character that an id can have.
        let beyond = format!("{whole}~");
        let mut found = if is_part {
            self.ask(|sql| {
                sql.prepare_cached(&format!(
                    "SELECT id FROM {table} WHERE id >= ?1 AND id < ?2
                     UNION SELECT id FROM {table} WHERE substr(id, -?3) = ?4 LIMIT ?5"
                ))?
                .query_map(
                    params![whole, beyond, bare.len() as i64, bare, CANDIDATES_MAX as i64],
                    |row| row.get::<_, String>(0),
                )?
                .collect::<rusqlite::Result<Vec<String>>>()
            })?
        } else {
            Vec::new()
        };
        let text = text.to_owned();
        match (found.pop(), found.is_empty()) {
            (Some(id), true) => Ok(id),
            (Some(id), false) => {
                found.push(id);
                Err(Error::Ambiguous { what, text, found })
            }
            (None, _) => Err(Error::Unknown { what, text }),
        }
    }
}
