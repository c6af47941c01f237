//! Trust of the owner: in the programs of a directory, in the addresses of a project, and in its
//! definitions as they are.
//!
//! Must never: store a file that is not one of the reviewed ones.

use std::collections::BTreeSet;
use std::path::Path;

use agentry_protocol::ContentHash;
use agentry_protocol::event::Event;
use agentry_protocol::trust::{KnownDefinitions, TrustChange, TrustedAddresses, TrustedPrograms};
use agentry_store::Ledger;

use super::{CommandError, record_alone};

/// Programs that the owner reviewed.
pub struct ProgramReview {
    /// The directory, the hashes of its files, and the person who trusts them.
    pub programs: TrustedPrograms,
    /// The texts of the files, for the differences of later reviews; large ones may be missing.
    pub texts: Vec<Vec<u8>>,
}

/// Trusts the programs of a directory as they were reviewed, and stores their files.
///
/// # Errors
/// If a text is not one of the reviewed files.
pub fn programs(ledger: &Ledger, review: ProgramReview) -> Result<(), CommandError> {
    let ProgramReview { programs, texts } = review;
    let reviewed: BTreeSet<&ContentHash> = programs.files.values().collect();
    for text in &texts {
        let hash = ContentHash::of(text);
        if !reviewed.contains(&hash) {
            return Err(CommandError::FileNotReviewed(hash));
        }
    }
    for text in &texts {
        ledger.keep_file(text)?;
    }
    change(ledger, TrustChange::Trusted(Box::new(programs)))
}

/// Trusts the addresses that the files of a project name.
///
/// # Errors
/// If the ledger fails.
pub fn addresses(ledger: &Ledger, addresses: TrustedAddresses) -> Result<(), CommandError> {
    change(ledger, TrustChange::Addresses(Box::new(addresses)))
}

/// Records the definitions of a directory: as confirmed, if they name who confirmed them.
///
/// # Errors
/// If the ledger fails.
pub fn definitions(ledger: &Ledger, definitions: KnownDefinitions) -> Result<(), CommandError> {
    change(ledger, TrustChange::Definitions(Box::new(definitions)))
}

/// Withdraws all trust in a directory and below it, and returns the directories that had some.
///
/// # Errors
/// If the ledger fails; then the trust in the first directories may be withdrawn.
pub fn withdraw(
    ledger: &Ledger,
    directory: &Path,
    by: &str,
) -> Result<BTreeSet<String>, CommandError> {
    let programs = ledger.all_trusted()?.into_iter().map(|(one, _)| one.path);
    let addresses = ledger.all_trusted_addresses()?.into_iter().map(|one| one.path);
    let is_below = |path: &String| Path::new(path).starts_with(directory);
    let paths: BTreeSet<String> = programs.chain(addresses).filter(is_below).collect();
    for path in &paths {
        change(ledger, TrustChange::Withdrawn { path: path.clone(), by: by.to_owned() })?;
    }
    Ok(paths)
}

fn change(ledger: &Ledger, change: TrustChange) -> Result<(), CommandError> {
    record_alone(ledger, Event::Trust(change)).map(drop)
}
