//! Fills up the disk under the ledger in the middle of a run, then makes it larger.
//!
//! Must never: mount anything outside of a mount table of its own.

use std::{path::Path, process::Command};

use crate::{
    child,
    crash::{
        case::{CrashCase, told},
        figures::CrashFigures,
        kills::CALLS,
        process_life::{KillMoment, LifeEnd},
        rng::CrashRng,
    },
    failure::CommandFailure,
};

const ENOUGH_BYTES: u64 = 256 * 1024 * 1024;
const KIB: u64 = 1024;

/// Tries disks of several sizes, each smaller than a whole run needs.
pub(crate) fn run(
    binary: &Path,
    disks: u64,
    home_bytes: u64,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
) -> Result<(), CommandFailure> {
    let mut acted_before = 0;
    for disk in 0..disks {
        let bytes = home_bytes * (disk + 1) / (disks + 1) / KIB * KIB;
        let mut case = CrashCase::new(binary, &format!("d{disk}"), CALLS, chance)?;
        mount(&["-t", "tmpfs", "-o", &format!("size={bytes},mode=700"), "tmpfs"], &case)?;
        let ended = fill(&mut case, bytes, chance, figures);
        let grown = mount(&["-o", &format!("remount,size={ENOUGH_BYTES}")], &case);
        acted_before += case.scene.lines()?.len();
        let finished = ended.and(grown).and_then(|()| case.finish(chance, figures));
        child::stdout_of(Command::new("umount").arg(case.scene.home()))?;
        finished?;
    }
    figures
        .notes
        .push(format!("{disks} disks filled up, {acted_before} lines were written before"));
    Ok(())
}

fn fill(
    case: &mut CrashCase,
    bytes: u64,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
) -> Result<(), CommandFailure> {
    let mut command = case.next(chance);
    let life = case.live(&mut command, KillMoment::Never, figures)?;
    let is_said =
        ["disk is full", "No space left"].iter().any(|text| life.complaint.contains(text));
    if life.end != LifeEnd::Exited(1) || !is_said {
        figures.violated(format!("a full disk of {bytes} bytes: {}", told(&command, &life)));
    }
    Ok(())
}

fn mount(arguments: &[&str], case: &CrashCase) -> Result<(), CommandFailure> {
    child::stdout_of(Command::new("mount").args(arguments).arg(case.scene.home())).map(|_| ())
}
