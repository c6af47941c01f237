//! `cargo xtask crash`: kills the real binary, fills its disk, breaks its disk, and races it.
//!
//! A run appends fifty lines to a file, each by a call of its own. In spite of every crash, the run
//! must come to its end, and the file must match the record. Needs Linux, a C compiler, and
//! `unshare` for a small disk of its own.
//!
//! Must never: skip a case that it could not make happen, or leave a process behind.

mod case;
mod disk_full;
mod failing_sync;
mod figures;
mod fixture;
mod kills;
mod process_life;
mod race;
mod rng;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use crate::{
    build, child,
    crash::{figures::CrashFigures, kills::BaselineRun, rng::CrashRng},
    failure::CommandFailure,
    limits::CRASH_KILLS_MAX,
    packages,
};

/// The argument that marks the process with a mount table of its own.
const INSIDE: &str = "--inside";

struct Options {
    size: CrashCounts,
    seed: u64,
    binary: Option<PathBuf>,
    inside: bool,
}

/// The number of cases of each part.
#[derive(Clone, Copy)]
struct CrashCounts {
    kills: u32,
    full_disks: u64,
    /// None means every sync of a run.
    failing_syncs: Option<u64>,
    races: u32,
}

/// A kind of crash.
#[derive(Clone, Copy)]
enum CrashPart {
    Kills,
    DiskFull,
    FailingSync,
    Races,
}

const PARTS: [CrashPart; 4] =
    [CrashPart::Kills, CrashPart::DiskFull, CrashPart::FailingSync, CrashPart::Races];

const WHOLE: CrashCounts =
    CrashCounts { kills: 500, full_disks: 12, failing_syncs: None, races: 20 };
const SHORT: CrashCounts =
    CrashCounts { kills: 15, full_disks: 1, failing_syncs: Some(6), races: 2 };

pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<(), CommandFailure> {
    let options = options(arguments)?;
    let binary = match &options.binary {
        Some(binary) => std::path::absolute(binary)
            .map_err(|error| CommandFailure::file("find", binary, &error))?,
        None => build::agentry(root)?,
    };
    if options.inside {
        return crash(&binary, &options);
    }
    packages::require(&packages::BUILD)?;
    enter(&binary, &options, arguments)
}

/// Starts this program again, with a mount table of its own.
fn enter(binary: &Path, options: &Options, arguments: &[&str]) -> Result<(), CommandFailure> {
    let own = std::env::current_exe().map_err(|error| {
        CommandFailure::new(format!("This program does not find itself: {error}."))
    })?;
    let apart = ["--map-root-user", "--mount"];
    if !child::answers(Command::new("unshare").args(apart).arg("true")) {
        return Err(CommandFailure::new(
            "`unshare --map-root-user --mount true` does not work here, so no small disk can be \
             made. Install util-linux, and allow user namespaces on this machine.",
        ));
    }
    let mut command = Command::new("unshare");
    command.args(apart).arg(own).arg("crash").args(arguments).arg(INSIDE);
    command.arg("--binary").arg(binary).arg("--seed").arg(options.seed.to_string());
    if child::succeeds(&mut command)? {
        Ok(())
    } else {
        Err(CommandFailure::new(format!(
            "Not all held. `cargo xtask crash --seed {}` makes the same choices again.",
            options.seed
        )))
    }
}

fn crash(binary: &Path, options: &Options) -> Result<(), CommandFailure> {
    let Options { size, seed, .. } = options;
    println!("seed {seed}, {}", binary.display());
    let mut chance = CrashRng::new(*seed);
    let started = Instant::now();
    let mut all = CrashFigures::default();
    let undisturbed = kills::baseline_run(binary, &mut chance, &mut all)?;
    let setup = CrashSetup { binary, size, undisturbed };
    for part in PARTS {
        let begun = Instant::now();
        let mut figures = CrashFigures::default();
        let name = part.run(&setup, &mut chance, &mut figures)?;
        println!("\n{name}, {:.1} s", begun.elapsed().as_secs_f64());
        print!("{figures}");
        all.violations.append(&mut figures.violations);
    }
    println!("\n{:.1} s, seed {seed}", started.elapsed().as_secs_f64());
    match all.violations.len() {
        0 => {
            println!("All held.");
            Ok(())
        }
        count => Err(CommandFailure::new(format!("{count} times something did not hold."))),
    }
}

/// The values that all parts of one crash test share.
struct CrashSetup<'a> {
    binary: &'a Path,
    size: &'a CrashCounts,
    undisturbed: BaselineRun,
}

impl CrashPart {
    /// Runs the part's number of cases; returns its name.
    fn run(
        self,
        setup: &CrashSetup<'_>,
        chance: &mut CrashRng,
        figures: &mut CrashFigures,
    ) -> Result<&'static str, CommandFailure> {
        let CrashSetup { binary, size, undisturbed } = setup;
        match self {
            CrashPart::Kills => {
                kills::run(binary, size.kills, undisturbed, chance, figures).map(|()| "kill -9")
            }
            CrashPart::DiskFull => {
                let bytes = undisturbed.home_bytes;
                disk_full::run(binary, size.full_disks, bytes, chance, figures)
                    .map(|()| "disk full")
            }
            CrashPart::FailingSync => {
                failing_sync::run(binary, size.failing_syncs, chance, figures)
                    .map(|()| "failing sync")
            }
            CrashPart::Races => race::run(binary, size.races, chance, figures).map(|()| "races"),
        }
    }
}

fn options(arguments: &[&str]) -> Result<Options, CommandFailure> {
    let mut options = Options { size: WHOLE, seed: seed(), binary: None, inside: false };
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut value = || {
            rest.next()
                .copied()
                .ok_or_else(|| CommandFailure::new(format!("`{argument}` needs a value.")))
        };
        match argument {
            "--kills" => options.size.kills = number(value()?, CRASH_KILLS_MAX)?,
            "--seed" => options.seed = number(value()?, u64::MAX)?,
            "--binary" => options.binary = Some(PathBuf::from(value()?)),
            "--short" => options.size = SHORT,
            INSIDE => options.inside = true,
            unknown => {
                return Err(CommandFailure::new(format!(
                    "`crash` does not know `{unknown}`. Use `cargo xtask crash [--short] \
                     [--kills 500] [--seed N] [--binary FILE]`."
                )));
            }
        }
    }
    Ok(options)
}

fn number<T>(text: &str, most: T) -> Result<T, CommandFailure>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    match text.parse() {
        Ok(number) if number <= most => Ok(number),
        Ok(_) | Err(_) => {
            Err(CommandFailure::new(format!("`{text}` is no number from 0 to {most}.")))
        }
    }
}

/// Returns a new seed each time; it is printed, so that a run can be repeated.
fn seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos()) ^ since.as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_about_a_thing_counts() {
        let options =
            options(&["--short", "--kills", "3", "--seed", "7"]).expect("these are known");
        assert_eq!((options.size.kills, options.size.full_disks, options.seed), (3, 1, 7));
    }

    #[test]
    fn what_is_no_option_is_refused() {
        for wrong in [&["--kills"] as &[&str], &["--kills", "many"], &["--seed", "-1"], &["9"]] {
            assert!(options(wrong).is_err(), "{wrong:?}");
        }
    }
}
