//! Reads the whole ledger and reports differences from what was written.
//!
//! It finds gaps, changed rows, missing artifacts, an end that was cut off, and views that differ
//! from the fold of the entries.
//!
//! Must never: change or repair anything.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use crate::anchor::{self, AnchorLine};
use crate::chain::{self, ChainTip, GENESIS, HASH_BYTES};
use crate::defect::{Defect, EntryDefect};
use crate::error::Error;
use crate::ledger::{Ledger, LedgerInner};
use crate::ledger_row::{COLUMNS, LedgerRow};
use crate::limits::BROKEN_MAX;
use crate::view;

/// The kind of entry that records a loss of entries before it.
const LOSS: &str = "loss_accepted";

/// The facts about a ledger without defects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerificationReport {
    /// The number of entries.
    pub entries: u64,
    /// The hash of the last entry, in hexadecimal digits.
    pub head_hash: String,
    /// The number of accepted losses.
    pub losses: u64,
    /// The number of artifacts that entries name.
    pub artifacts: u64,
    /// The number of anchor lines that were compared.
    pub anchors: u64,
    /// The number of anchor lines that do not parse.
    pub anchors_unreadable: u64,
}

impl Ledger {
    /// Reads the whole ledger; defects are returned as `Error::Broken`.
    pub fn verify(&self) -> Result<VerificationReport, Error> {
        // Before the snapshot: a line that is written after it may name an entry that is not in it.
        let (marks, unreadable) = anchor::read(&self.shared.home)?;
        self.read(|sql| {
            let mut walk = LedgerWalk::new(&self.shared, &marks)?;
            walk.file(sql)?;
            walk.chain(sql)?;
            walk.anchors(&marks);
            // Views of changed entries would differ too, and tell nothing new.
            if walk.broken.is_empty() {
                walk.views(sql)?;
            }
            if !walk.broken.is_empty() {
                let path = self.shared.path.clone();
                return Err(Error::Broken { path, broken: walk.broken });
            }
            Ok(VerificationReport {
                entries: walk.entries,
                losses: walk.accepted.len() as u64,
                head_hash: blake3::Hash::from(walk.tip.hash).to_hex().to_string(),
                artifacts: walk.artifacts.len() as u64,
                anchors: marks.len() as u64,
                anchors_unreadable: unreadable as u64,
            })
        })
    }
}

struct LedgerWalk<'a> {
    shared: &'a LedgerInner,
    /// The views of the entries so far, folded in memory.
    views: Connection,
    tip: ChainTip,
    /// The hash in the ledger of each entry that the anchor file names.
    anchored: HashMap<u64, Option<String>>,
    artifacts: HashSet<String>,
    entries: u64,
    /// Accepted losses: the entry that records one, and the last entry that was lost.
    accepted: Vec<(u64, u64)>,
    broken: Vec<EntryDefect>,
}

impl<'a> LedgerWalk<'a> {
    fn new(shared: &'a LedgerInner, marks: &[AnchorLine]) -> Result<Self, Error> {
        let unread = |source| shared.unread(source);
        let views = Connection::open_in_memory().map_err(unread)?;
        view::make_tables(&views).map_err(unread)?;
        // This transaction is never committed: it saves one transaction for each entry.
        views.execute_batch("BEGIN").map_err(unread)?;
        Ok(Self {
            shared,
            views,
            tip: ChainTip { seq: 0, hash: GENESIS },
            anchored: marks.iter().map(|mark| (mark.seq, None)).collect(),
            artifacts: HashSet::new(),
            entries: 0,
            accepted: Vec::new(),
            broken: Vec::new(),
        })
    }

    fn add(&mut self, seq: u64, defect: Defect) {
        if self.broken.len() < BROKEN_MAX {
            self.broken.push(EntryDefect { seq, defect });
        }
    }

    fn file(&mut self, sql: &Connection) -> Result<(), Error> {
        let unread = |source| self.shared.unread(source);
        let mut statement = sql.prepare("PRAGMA integrity_check(10)").map_err(unread)?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0)).map_err(unread)?;
        for line in lines.collect::<rusqlite::Result<Vec<_>>>().map_err(unread)? {
            if line != "ok" {
                self.add(0, Defect::File(line));
            }
        }
        Ok(())
    }

    fn chain(&mut self, sql: &Connection) -> Result<(), Error> {
        let unread = |source| self.shared.unread(source);
        let text = format!("SELECT {COLUMNS} FROM ledger ORDER BY seq");
        let mut statement = sql.prepare(&text).map_err(unread)?;
        let mut rows = statement.query([]).map_err(unread)?;
        while let Some(row) = rows.next().map_err(unread)? {
            match LedgerRow::read(row) {
                Ok(row) => self.entry(row)?,
                Err(error) => {
                    let seq = row.get::<_, i64>(0).map_err(unread)?.cast_unsigned();
                    self.add(seq, Defect::Unreadable(error.to_string()));
                    self.tip.seq = seq;
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, row: LedgerRow) -> Result<(), Error> {
        let seq = row.seq;
        self.entries += 1;
        let accepted = self.accepted_loss(&row);
        if seq != self.tip.seq + 1 && accepted.is_none() {
            self.add(seq, Defect::Gap { expected: self.tip.seq + 1 });
        } else if row.hash != chain::seal(&self.tip.hash, &row.sealed()) {
            self.add(seq, Defect::Changed);
        }
        self.accepted.extend(accepted.map(|known| (seq, known)));
        // Continues with the hash in the row, so that one change is reported only once.
        let hash = <[u8; HASH_BYTES]>::try_from(row.hash.as_slice());
        self.tip = ChainTip { seq, hash: hash.unwrap_or(GENESIS) };
        if let Some(known) = self.anchored.get_mut(&seq) {
            *known = Some(blake3::Hash::from(self.tip.hash).to_hex().to_string());
        }
        let kind = row.kind.clone();
        let named = artifact_names(&row.body);
        match row.open(&self.shared.path, &self.shared.artifacts) {
            Ok(envelope) => {
                if serde_json::to_value(&envelope.event).is_ok_and(|value| value["type"] != kind) {
                    self.add(seq, Defect::Unreadable(format!("its kind is not `{kind}`")));
                }
                self.artifacts.extend(named);
                let folded = view::refold(&self.views, &envelope);
                folded.map_err(|source| self.shared.unread(source))?;
            }
            Err(error @ (Error::Artifact { .. } | Error::File { .. })) => {
                self.add(seq, Defect::Artifact(error.to_string()));
            }
            Err(error) => self.add(seq, Defect::Unreadable(error.to_string())),
        }
        Ok(())
    }

    /// Returns the last lost entry, if the row records an accepted loss of the entries before it.
    fn accepted_loss(&self, row: &LedgerRow) -> Option<u64> {
        if row.kind != LOSS {
            return None;
        }
        let said: serde_json::Value = serde_json::from_str(&row.body).ok()?;
        let (last, known) = (said["last"].as_u64()?, said["known"].as_u64()?);
        let follows = last == self.tip.seq && row.seq == last.max(known) + 1;
        follows.then_some(known)
    }

    fn anchors(&mut self, marks: &[AnchorLine]) {
        for mark in marks {
            let is_accepted = |(seq, known): &(u64, u64)| mark.seq < *seq && mark.seq <= *known;
            if self.accepted.iter().any(is_accepted) {
                continue;
            }
            match self.anchored.get(&mark.seq).and_then(Option::as_ref) {
                Some(hash) if *hash == mark.hash => {}
                Some(_) => self.add(mark.seq, Defect::NotAnchored),
                None => self.add(mark.seq, Defect::Cut { last: self.tip.seq }),
            }
        }
    }

    fn views(&mut self, sql: &Connection) -> Result<(), Error> {
        for (table, order) in view::TABLES {
            let text = format!("SELECT * FROM {table} ORDER BY {order}");
            let different = first_difference(sql, &self.views, &text);
            let different = different.map_err(|source| self.shared.unread(source))?;
            if let Some((found, expected)) = different {
                self.add(0, Defect::View { table, found, expected });
            }
        }
        Ok(())
    }
}

type RowDifference = (Option<String>, Option<String>);

/// Returns the first rows that differ, as text; None if the tables are equal.
fn first_difference(
    one: &Connection,
    other: &Connection,
    text: &str,
) -> rusqlite::Result<Option<RowDifference>> {
    let (mut one, mut other) = (one.prepare(text)?, other.prepare(text)?);
    let (mut ones, mut others) = (one.query([])?, other.query([])?);
    loop {
        let found = ones.next()?.map(view::line).transpose()?;
        let expected = others.next()?.map(view::line).transpose()?;
        match (found, expected) {
            (None, None) => return Ok(None),
            (found, expected) if found == expected => {}
            different => return Ok(Some(different)),
        }
    }
}

/// Returns the artifacts that a body names. A look-alike text does no harm: it is counted.
fn artifact_names(body: &str) -> Vec<String> {
    const MARK: &str = "\"$artifact\":\"";
    let names = body.match_indices(MARK).map(|(at, _)| {
        let rest = &body[at + MARK.len()..];
        rest.split('"').next().unwrap_or_default().to_owned()
    });
    names.collect()
}
