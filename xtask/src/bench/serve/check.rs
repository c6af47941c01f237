//! Compares each listener's entries with the ledger.
//!
//! Must never: take the complete list of entries from a listener.

use std::collections::{HashMap, HashSet};

use crate::{
    bench::serve::listeners::{Listeners, StreamListener, StreamSubject},
    failure::CommandFailure,
    server_client::ServerClient,
};

/// The errors over all listeners.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DeliveryErrors {
    pub(crate) lost: usize,
    pub(crate) repeated: usize,
    pub(crate) foreign: usize,
}

pub(crate) fn against_the_ledger(
    asking: &mut ServerClient,
    listeners: &Listeners,
) -> Result<DeliveryErrors, CommandFailure> {
    let mut ledger: HashMap<String, Vec<u64>> = HashMap::new();
    // Entries after the last one that any listener has received are still on their way.
    let end = listeners.each().filter_map(|one| one.seqs.last()).max().copied().unwrap_or(0);
    let mut sums = DeliveryErrors::default();
    for listener in listeners.each() {
        let query = match &listener.wanted {
            StreamSubject::Session(session) => format!("session={session}&"),
            StreamSubject::Everything => String::new(),
        };
        if !ledger.contains_key(&query) {
            let seqs = seqs_of(asking, &query)?;
            ledger.insert(query.clone(), seqs);
        }
        let there = ledger.get(&query).map(Vec::as_slice).unwrap_or_default();
        sums.add(listener, there, end);
    }
    Ok(sums)
}

fn seqs_of(asking: &mut ServerClient, query: &str) -> Result<Vec<u64>, CommandFailure> {
    let (mut seqs, mut after) = (Vec::new(), 0);
    loop {
        let page = asking.get(&format!("/api/entries?{query}after={after}&limit=500"))?;
        let entries = page["entries"].as_array().into_iter().flatten();
        seqs.extend(entries.filter_map(|entry| entry["seq"].as_u64()));
        match (page["more"].as_bool(), page["last"].as_u64()) {
            (Some(true), Some(last)) => after = last,
            _ => return Ok(seqs),
        }
    }
}

impl DeliveryErrors {
    fn add(&mut self, listener: &StreamListener, there: &[u64], end: u64) {
        let after = listener.after.unwrap_or(0);
        let expected: HashSet<u64> =
            there.iter().copied().filter(|seq| (after + 1..=end).contains(seq)).collect();
        let got: HashSet<u64> = listener.seqs.iter().copied().collect();
        self.lost += expected.difference(&got).count();
        self.foreign += got.difference(&expected).count();
        self.repeated += listener.seqs.windows(2).filter(|pair| pair[1] <= pair[0]).count();
    }
}
