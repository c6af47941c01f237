//! Lets one sync of the ledger fail, each in turn, and checks that no run ignores it.
//!
//! Must never: count a sync that did not fail.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    child,
    crash::{
        case::{CrashCase, told},
        figures::CrashFigures,
        process_life::{KillMoment, LifeEnd, ProcessLife},
        rng::CrashRng,
    },
    failure::CommandFailure,
};

const SHIM: &str = include_str!("failing_sync.c");
const CALLS: usize = 8;

/// The results of the cases.
#[derive(Default)]
struct SyncFailureCounts {
    /// The run reported that the last entries may be lost.
    unknown: u32,
    /// The run did not even begin, or refused a part.
    refused: u32,
    /// The run continued: the entries do not depend on the failed sync.
    went_on: u32,
    /// The run had fewer syncs, so none failed.
    did_not_come: u32,
}

pub(crate) fn run(
    binary: &Path,
    cases: Option<u64>,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
) -> Result<(), CommandFailure> {
    let dir = tempfile::tempdir().map_err(|error| {
        CommandFailure::new(format!("Could not make a temporary directory: {error}."))
    })?;
    let shim = compile(dir.path())?;
    let syncs = syncs_of_a_run(binary, &shim, chance, figures)?;
    let cases = cases.unwrap_or(syncs).min(syncs);
    let mut ends = SyncFailureCounts::default();
    for case in 0..cases {
        // From the first to the last, evenly.
        let at = 1 + case * (syncs - 1) / (cases - 1).max(1);
        fail(FailingSync { binary, shim: &shim, at }, chance, figures, &mut ends)?;
    }
    let SyncFailureCounts { unknown, refused, went_on, did_not_come } = ends;
    if unknown == 0 || refused == 0 {
        figures.violated("no sync failed where the ledger hangs on it, so nothing was tried");
    }
    figures.notes.push(format!(
        "{cases} of the {syncs} syncs of a run failed: {unknown} times nobody knew, {refused} times \
         it was refused, {went_on} times the entries did not hang on it, {did_not_come} did not come"
    ));
    Ok(())
}

fn compile(dir: &Path) -> Result<PathBuf, CommandFailure> {
    let (source, shim) = (dir.join("failing_sync.c"), dir.join("failing_sync.so"));
    fs::write(&source, SHIM).map_err(|error| CommandFailure::file("write", &source, &error))?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(&source);
    child::stdout_of(&mut compiler)?;
    Ok(shim)
}

/// Returns the number of syncs of an undisturbed run.
fn syncs_of_a_run(
    binary: &Path,
    shim: &Path,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
) -> Result<u64, CommandFailure> {
    let mut case = CrashCase::new(binary, "s", CALLS, chance)?;
    let (life, command) = live(&mut case, shim, 0, chance, figures)?;
    if life.end != LifeEnd::Exited(0) {
        figures.violated(told(&command, &life));
    }
    case.finish(chance, figures)?;
    match synced(&case)?.len() {
        0 => Err(CommandFailure::new(
            "Not one sync of the ledger was seen. Does the binary call the C library for it?",
        )),
        syncs => Ok(syncs as u64),
    }
}

/// Runs a life in which one sync fails.
fn live(
    case: &mut CrashCase,
    shim: &Path,
    at: u64,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
) -> Result<(ProcessLife, Command), CommandFailure> {
    let mut command = case.next(chance);
    command.env("LD_PRELOAD", shim).env("CRASH_AT", at.to_string());
    command.env("CRASH_BELOW", case.scene.home()).env("CRASH_LOG", log(case));
    let life = case.live(&mut command, KillMoment::Never, figures)?;
    Ok((life, command))
}

fn log(case: &CrashCase) -> PathBuf {
    case.scene.root.join("syncs")
}

/// Returns the names of the synced files, in order.
fn synced(case: &CrashCase) -> Result<Vec<String>, CommandFailure> {
    let path = log(case);
    let text =
        fs::read_to_string(&path).map_err(|error| CommandFailure::file("read", &path, &error))?;
    let file = |line: &str| line.split_once(' ').map(|(_, file)| file.to_owned());
    Ok(text.lines().filter_map(file).collect())
}

/// The sync of a run that fails, by its number from one.
struct FailingSync<'a> {
    binary: &'a Path,
    shim: &'a Path,
    at: u64,
}

fn fail(
    sync: FailingSync<'_>,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
    ends: &mut SyncFailureCounts,
) -> Result<(), CommandFailure> {
    let FailingSync { binary, shim, at } = sync;
    let mut case = CrashCase::new(binary, &format!("f{at}"), CALLS, chance)?;
    let (life, command) = live(&mut case, shim, at, chance, figures)?;
    let files = synced(&case)?;
    let index = usize::try_from(at - 1).unwrap_or(usize::MAX);
    let Some(file) = files.get(index).map(|file| file.rsplit('/').next().unwrap_or_default())
    else {
        ends.did_not_come += 1;
        return case.finish(chance, figures);
    };
    let is_unknown = life.complaint.contains("it is unknown whether");
    let is_refused = life.complaint.contains("cannot ");
    match life.end {
        LifeEnd::Exited(1) if is_unknown => ends.unknown += 1,
        LifeEnd::Exited(1) if is_refused => ends.refused += 1,
        // The log is copied into the database; entries not yet there are still in the log. And the
        // names in the directory are synced once more before anything is written.
        LifeEnd::Exited(0) if ["ledger.sqlite3", "state"].contains(&file) => ends.went_on += 1,
        LifeEnd::Exited(_) | LifeEnd::Killed | LifeEnd::Signalled(_) | LifeEnd::TimedOut => {
            figures.violated(format!("sync {at}, of {file}, failed: {}", told(&command, &life)));
        }
    }
    case.finish(chance, figures)
}
