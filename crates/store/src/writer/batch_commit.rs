//! Commits a batch of appends: places them, puts their rows into the log, and answers the callers.
//!
//! If other processes put entries first, their entries are folded, and the batch is judged again.
//!
//! Must never: put rows whose fate is unknown into the log again, or answer before it is known.

use agentry_protocol::envelope::{Envelope, LedgerStream};

use super::{CommitError, ConnectionFailure, LedgerWriter};
use crate::batch::{self, AppendError, AppendPlace, RowBatch};
use crate::chain::{self, ChainTip};
use crate::entry_log::{PutError, PutFate, PutOutcome};
use crate::error::Error;
use crate::ledger_row::{self, LedgerRow, SealedRow};
use crate::limits::{LOG_ENTRIES_READ_MAX, PUT_ATTEMPTS_MAX};
use crate::storage_failure::StorageFailure;
use crate::transaction::{self, BeginError};
use crate::view;
use crate::write_request::AppendRequest;

/// The result of an attempt to write a batch.
enum BatchAttempt {
    /// Every append has its place in the log, or was refused.
    Settled(BatchAnswer),
    /// Other entries came first. They are folded, and nothing of the batch was written.
    Overtaken,
}

/// The answer to a batch.
struct BatchAnswer {
    /// The place of each append, or the reason why it has none.
    places: Vec<Result<AppendPlace, Error>>,
    tip: ChainTip,
}

impl LedgerWriter {
    /// Writes the appends together, and answers their callers.
    pub(super) fn commit(&mut self, appends: Vec<AppendRequest>) -> Result<(), ConnectionFailure> {
        if appends.is_empty() {
            return Ok(());
        }
        let mut error = CommitError::NotBegun(BeginError::Locked);
        for _ in 0..PUT_ATTEMPTS_MAX {
            match self.attempt(&appends) {
                Ok(BatchAttempt::Settled(answer)) => {
                    self.answer(appends, answer);
                    return Ok(());
                }
                Ok(BatchAttempt::Overtaken) => {}
                Err(found) => {
                    error = found;
                    break;
                }
            }
        }
        self.refuse(error, appends.into_iter().map(|append| append.reply).collect())
    }

    fn attempt(&mut self, appends: &[AppendRequest]) -> Result<BatchAttempt, CommitError> {
        let from = self.begin()?;
        let mut batch = RowBatch { tip: from, rows: Vec::with_capacity(appends.len()) };
        let mut places = Vec::with_capacity(appends.len());
        for AppendRequest { at_head, entries, .. } in appends {
            let time = self.now().min(i64::MAX.cast_unsigned());
            match batch::append(&self.sql, &mut batch, time, at_head.as_ref(), entries) {
                Ok(place) => places.push(Ok(place)),
                Err(AppendError::Refused(error)) => places.push(Err(error)),
                Err(AppendError::Failed(failure)) => {
                    return Err(CommitError::before_write(failure));
                }
            }
        }
        let RowBatch { tip, rows } = batch;
        let Some(first) = rows.first() else {
            transaction::roll_back(&self.sql).map_err(CommitError::in_write)?;
            return Ok(BatchAttempt::Settled(BatchAnswer { places, tip }));
        };
        let first = ChainTip { seq: first.parts.seq, hash: first.hash };
        match self.stores.log.put(&self.sql, &from, &rows) {
            Ok(PutOutcome::Written) => Ok(BatchAttempt::Settled(BatchAnswer { places, tip })),
            Ok(PutOutcome::Moved) => self.overtaken(&from),
            Err(PutError::Refused(failure)) => Err(CommitError::before_write(failure)),
            Err(PutError::Lost(failure)) => match self.stores.log.resolve(&first) {
                PutFate::Unknown => Err(CommitError::in_write(failure)),
                PutFate::NotWritten => {
                    transaction::roll_back(&self.sql).map_err(CommitError::before_write)?;
                    self.catch_up(from)?;
                    Ok(BatchAttempt::Overtaken)
                }
                PutFate::Written => {
                    let tip = self.catch_up_with(&from, &tip)?;
                    Ok(BatchAttempt::Settled(BatchAnswer { places, tip }))
                }
            },
        }
    }

    /// Rolls the batch back and folds the entries that came first.
    fn overtaken(&mut self, from: &ChainTip) -> Result<BatchAttempt, CommitError> {
        transaction::roll_back(&self.sql).map_err(CommitError::before_write)?;
        if self.catch_up(*from)?.seq > from.seq {
            return Ok(BatchAttempt::Overtaken);
        }
        let text = format!("its log does not continue entry {}", from.seq);
        Err(CommitError::before_write(StorageFailure::of_text(text)))
    }

    /// Folds the entries of this batch, which are in the log but not in the file.
    fn catch_up_with(&mut self, from: &ChainTip, tip: &ChainTip) -> Result<ChainTip, CommitError> {
        transaction::roll_back(&self.sql).map_err(CommitError::in_write)?;
        let found = self.catch_up(*from).map_err(|error| match error {
            CommitError::NotBegun(BeginError::Failed(failure))
            | CommitError::Failed { failure, .. } => CommitError::in_write(failure),
            CommitError::NotBegun(BeginError::Locked | BeginError::Newer { .. }) => {
                let text = "the entries are in the log, but the file could not follow it";
                CommitError::in_write(StorageFailure::of_text(text))
            }
        })?;
        if found.seq >= tip.seq {
            return Ok(found);
        }
        let text = format!("its log ends before entry {}, which it has written", tip.seq);
        Err(CommitError::in_write(StorageFailure::of_text(text)))
    }

    /// Folds the entries behind `tip` that the log has and the file has not. Returns the last one.
    fn catch_up(&mut self, mut tip: ChainTip) -> Result<ChainTip, CommitError> {
        loop {
            let page = self.stores.log.after(&self.sql, tip.seq, LOG_ENTRIES_READ_MAX);
            let page = page.map_err(CommitError::before_write)?;
            if page.is_empty() {
                return Ok(tip);
            }
            let world = ledger_row::word(LedgerStream::World);
            let inputs = page.iter().filter(|row| row.stream == world);
            let last_input = inputs.map(|row| row.seq).max();
            // Another process with this file may have folded some of them.
            let known = self.begin()?;
            tip = known;
            for row in page.into_iter().filter(|row| row.seq > known.seq) {
                tip = self.follow(&tip, row).map_err(CommitError::before_write)?;
            }
            transaction::commit(&self.sql).map_err(CommitError::before_write)?;
            self.tip = tip;
            self.signal.committed(tip.seq, last_input);
        }
    }

    /// Checks that a row of another process follows `tip`, and folds it.
    fn follow(&self, tip: &ChainTip, row: LedgerRow) -> Result<ChainTip, StorageFailure> {
        let (seq, parts) = (row.seq, row.sealed());
        let hash = chain::seal(&tip.hash, &parts);
        if seq != tip.seq + 1 || row.hash != hash {
            let text = format!("entry {seq} of its log does not follow entry {}", tip.seq);
            return Err(StorageFailure::of_text(text));
        }
        ledger_row::insert(&self.sql, &[SealedRow { parts, kind: &row.kind, hash }])?;
        let opened = row.open(&self.path, &self.stores.artifacts);
        let envelope = opened.map_err(|error| StorageFailure::of_text(error.to_string()))?;
        view::refold(&self.sql, &envelope)?;
        self.clock.raise(envelope.time);
        Ok(ChainTip { seq, hash })
    }

    fn answer(&mut self, appends: Vec<AppendRequest>, answer: BatchAnswer) {
        let BatchAnswer { places, tip } = answer;
        self.tip = tip;
        let mut answers = Vec::with_capacity(appends.len());
        for (append, place) in appends.into_iter().zip(places) {
            let AppendRequest { entries, reply, .. } = append;
            answers.push((reply, place.map(|place| place.envelopes(entries))));
        }
        let written = answers.iter().filter_map(|(_, answer)| answer.as_ref().ok()).flatten();
        if written.clone().next().is_some() {
            written.clone().for_each(|envelope| self.clock.raise(envelope.time));
            let inputs =
                written.filter(|envelope: &&Envelope| envelope.stream == LedgerStream::World);
            self.signal.committed(tip.seq, inputs.map(|envelope| envelope.seq).max());
        }
        // Before the replies: the loss of an entry that a caller knows of must be detectable.
        self.anchor.follow(&tip, self.now());
        for (reply, answer) in answers {
            reply.send(answer);
        }
        self.checkpoints.follow(&self.sql);
    }
}
