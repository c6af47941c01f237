//! Kills the process at random moments, again and again, until the run has ended.
//!
//! A moment is a time after the start, or a line that was printed.
//!
//! Must never: count a kill that came after the process had ended.

use std::{fs, path::Path, time::Duration};

use crate::{
    crash::{
        case::{CrashCase, told},
        figures::CrashFigures,
        process_life::{KillMoment, LifeEnd},
        rng::CrashRng,
    },
    failure::CommandFailure,
    limits::CRASH_LIVES_MAX,
};

pub(crate) const CALLS: usize = 50;
/// The number of lives of a run if each were as long as it may be.
const LIVES_TYPICAL: u64 = 3;

/// The course of an undisturbed run.
pub(crate) struct BaselineRun {
    first_line: Duration,
    lasted: Duration,
    lines: usize,
    pub(crate) home_bytes: u64,
}

pub(crate) fn baseline_run(
    binary: &Path,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
) -> Result<BaselineRun, CommandFailure> {
    let mut case = CrashCase::new(binary, "u", CALLS, chance)?;
    case.scene.require_allowed()?;
    let mut command = case.next(chance);
    let life = case.live(&mut command, KillMoment::Never, figures)?;
    if life.end != LifeEnd::Exited(0) {
        figures.violated(told(&command, &life));
    }
    let home_bytes = bytes_in(&case.scene.home())?;
    case.finish(chance, figures)?;
    let (lasted, lines) = (life.lasted, life.lines.len());
    let first_line = life.first_line.unwrap_or(lasted);
    println!(
        "An undisturbed run of {CALLS} calls takes {:.2} s, the first line after {:.2} s; it prints \
         {lines} lines, and its home has {home_bytes} bytes.",
        lasted.as_secs_f64(),
        first_line.as_secs_f64()
    );
    Ok(BaselineRun { first_line, lasted, lines, home_bytes })
}

fn bytes_in(dir: &Path) -> Result<u64, CommandFailure> {
    let fault = |error| CommandFailure::file("read", dir, &error);
    let mut bytes = 0;
    for entry in fs::read_dir(dir).map_err(fault)? {
        bytes += entry.and_then(|entry| entry.metadata()).map_err(fault)?.len();
    }
    Ok(bytes)
}

pub(crate) fn run(
    binary: &Path,
    kills: u32,
    undisturbed: &BaselineRun,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
) -> Result<(), CommandFailure> {
    let mut before_the_run = 0;
    while figures.kills < kills {
        let mut case = CrashCase::new(binary, &format!("r{}", figures.runs), CALLS, chance)?;
        let mut lives = 0;
        while !case.is_over() && lives < CRASH_LIVES_MAX {
            lives += 1;
            let moment =
                if figures.kills < kills { moment(undisturbed, chance) } else { KillMoment::Never };
            let mut command = case.next(chance);
            let life = case.live(&mut command, moment, figures)?;
            case.inspect(figures)?;
            before_the_run += u32::from(case.run().is_none());
            if !matches!(life.end, LifeEnd::Killed | LifeEnd::Exited(0)) {
                figures.violated(format!("{moment:?}: {}", told(&command, &life)));
                break;
            }
        }
        case.judge(figures)?;
        if figures.runs.is_multiple_of(10) {
            println!("  {} kills, {} runs", figures.kills, figures.runs);
        }
    }
    figures.notes.push(format!("{before_the_run} kills came before the run was recorded"));
    Ok(())
}

/// Returns a moment in the start of a process or the next third of the work, so that the kills of
/// one run are spread over all of it.
fn moment(undisturbed: &BaselineRun, chance: &mut CrashRng) -> KillMoment {
    let BaselineRun { first_line, lasted, lines, .. } = undisturbed;
    if chance.coin() {
        let lines = 1 + *lines as u64 / LIVES_TYPICAL;
        return KillMoment::AtLine(usize::try_from(chance.below(lines)).unwrap_or_default());
    }
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let work = micros(lasted.saturating_sub(*first_line));
    KillMoment::After(Duration::from_micros(
        chance.below(1 + micros(*first_line) + work / LIVES_TYPICAL),
    ))
}
