//! `cargo xtask bench`: measures the product beside a reference in the same run.
//!
//! Each part is one file in `bench/`, or a bench target of the crate that it measures. Numbers are
//! printed, never asserted: machines differ.
//!
//! Must never: measure a run that failed, or leave files behind.

pub(crate) mod agents;
mod check;
mod comparison;
mod corpus;
pub(crate) mod intake;
mod local;
mod measure;
pub(crate) mod project;
mod reference;
mod replay;
mod runs;
#[cfg(target_os = "linux")]
mod serve;
pub(crate) mod server;
mod sessions;
mod usage;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::build;
use crate::child;
use crate::failure::CommandFailure;
use crate::limits::{BENCH_BESIDE_ROUNDS_MAX, BENCH_SKILLS_MAX};

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// The number of times that two checkouts are measured in turns.
const ROUNDS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BenchPart {
    Check,
    Run,
    Ledger,
    Session,
    Program,
    Sandbox,
    Agent,
    Local,
    Replay,
    Intake,
    Serve,
}

const PARTS: [(&str, BenchPart); 11] = [
    ("check", BenchPart::Check),
    ("run", BenchPart::Run),
    ("ledger", BenchPart::Ledger),
    ("session", BenchPart::Session),
    ("program", BenchPart::Program),
    ("sandbox", BenchPart::Sandbox),
    ("agent", BenchPart::Agent),
    ("local", BenchPart::Local),
    ("replay", BenchPart::Replay),
    ("intake", BenchPart::Intake),
    ("serve", BenchPart::Serve),
];

pub(crate) fn run(root: &Path, options: &[&str]) -> Result<(), CommandFailure> {
    let BenchOptions { parts, sizes, from, beside, rounds } = BenchOptions::parse(options)?;
    if let Some(earlier) = beside {
        for part in parts {
            let part = PARTS.iter().find(|(_, one)| *one == part).map_or("", |(name, _)| name);
            comparison::Comparison { part, earlier: &earlier, rounds }.run()?;
        }
        println!("\n{} cores; load {}.", measure::cores(), measure::load());
        return Ok(());
    }
    let measured = from.as_deref().unwrap_or(root);
    for part in parts {
        measure_part(part, root, measured, &sizes)?;
    }
    println!("\n{} cores; load {}.", measure::cores(), measure::load());
    Ok(())
}

/// Measures a part of the checkout `measured` with the programs of this one, which is at `root`.
fn measure_part(
    part: BenchPart,
    root: &Path,
    measured: &Path,
    sizes: &[usize],
) -> Result<(), CommandFailure> {
    match part {
        BenchPart::Check => check::run(root, &build::agentry(measured)?, sizes),
        BenchPart::Run => runs::run(&build::agentry(measured)?),
        BenchPart::Ledger => bench_target(measured, "agentry-store", &["ledger", "--", "append"]),
        BenchPart::Session => sessions::run(measured, &build::agentry(measured)?),
        BenchPart::Program => bench_target(measured, "agentry-bthread", &["program"]),
        BenchPart::Agent => agents::run(root, measured),
        BenchPart::Sandbox => bench_target(measured, "agentry-tools", &["sandbox"]),
        BenchPart::Local => local::run(measured),
        BenchPart::Replay => replay::run(measured, &build::agentry(measured)?),
        BenchPart::Intake => intake::run(measured, &build::agentry(measured)?),
        #[cfg(target_os = "linux")]
        BenchPart::Serve => serve::run(measured, &build::agentry(measured)?),
        #[cfg(not(target_os = "linux"))]
        BenchPart::Serve => {
            println!("\nSkipped: the streams of the server are measured on Linux.");
            Ok(())
        }
    }
}

#[derive(PartialEq, Eq, Debug)]
struct BenchOptions {
    parts: Vec<BenchPart>,
    sizes: Vec<usize>,
    /// The checkout that is measured instead of this one.
    from: Option<PathBuf>,
    /// The checkout that is measured in turns with this one.
    beside: Option<PathBuf>,
    rounds: usize,
}

impl BenchOptions {
    /// Reads the names of parts, then options. No name means all parts.
    fn parse(words: &[&str]) -> Result<Self, CommandFailure> {
        let named = words.iter().take_while(|word| !word.starts_with('-')).count();
        let (names, rest) = words.split_at(named);
        let parts = match names {
            [] => PARTS.map(|(_, part)| part).to_vec(),
            names => names.iter().map(|name| part(name)).collect::<Result<_, CommandFailure>>()?,
        };
        let mut options =
            Self { parts, sizes: SIZES.to_vec(), from: None, beside: None, rounds: ROUNDS };
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (*word, rest.next().copied()),
            };
            let value = value.ok_or_else(|| unknown_option(words))?;
            match option {
                "--sizes" => options.sizes = sizes(value)?,
                "--from" => options.from = Some(checkout(value)?),
                "--beside" => options.beside = Some(checkout(value)?),
                "--rounds" => options.rounds = rounds(value)?,
                _ => return Err(unknown_option(words)),
            }
        }
        Ok(options)
    }
}

fn unknown_option(words: &[&str]) -> CommandFailure {
    CommandFailure::new(format!(
        "`bench` does not know `{}`. Use `cargo xtask bench check --sizes 100,1000,10000`, or \
         `cargo xtask bench agent --beside ../earlier --rounds 3`.",
        words.join(" ")
    ))
}

fn part(name: &str) -> Result<BenchPart, CommandFailure> {
    let known = PARTS.iter().find(|(known, _)| *known == name);
    known.map(|(_, part)| *part).ok_or_else(|| {
        let all = PARTS.map(|(name, _)| name).join(", ");
        CommandFailure::new(format!("`bench` has no part `{name}`. Name one or more of: {all}."))
    })
}

fn checkout(path: &str) -> Result<PathBuf, CommandFailure> {
    let not_one = || CommandFailure::new(format!("`{path}` is no checkout of this repository."));
    let path = Path::new(path).canonicalize().map_err(|_| not_one())?;
    if path.join("xtask/Cargo.toml").is_file() { Ok(path) } else { Err(not_one()) }
}

fn rounds(text: &str) -> Result<usize, CommandFailure> {
    match text.parse() {
        Ok(rounds) if (1..=BENCH_BESIDE_ROUNDS_MAX).contains(&rounds) => Ok(rounds),
        Ok(_) | Err(_) => Err(CommandFailure::new(format!(
            "`{text}` is no number of rounds. Give one from 1 to {BENCH_BESIDE_ROUNDS_MAX}."
        ))),
    }
}

/// Reads numbers of skills; returns them ascending, each once.
fn sizes(listed: &str) -> Result<Vec<usize>, CommandFailure> {
    let mut sizes = listed
        .split(',')
        .map(|size| match size.trim().parse() {
            Ok(size) if (1..=BENCH_SKILLS_MAX).contains(&size) => Ok(size),
            Ok(_) | Err(_) => Err(CommandFailure::new(format!(
                "`{size}` is no size. Give numbers of skills from 1 to {BENCH_SKILLS_MAX}, \
                 with commas between them."
            ))),
        })
        .collect::<Result<Vec<usize>, CommandFailure>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// Runs a bench target of one of our crates; it prints its own table.
fn bench_target(root: &Path, package: &str, target: &[&str]) -> Result<(), CommandFailure> {
    let mut command = child::cargo(root);
    command.args(["bench", "--quiet", "--profile", "fast", "--package", package, "--bench"]);
    command.args(target);
    if child::succeeds(&mut command)? {
        return Ok(());
    }
    Err(CommandFailure::new(format!("`{}` failed; it says why above.", child::spelled(&command))))
}

pub(crate) fn scratch() -> Result<TempDir, CommandFailure> {
    tempfile::tempdir().map_err(|error| {
        CommandFailure::new(format!("Could not make a temporary directory: {error}."))
    })
}

/// Converts a count; counts here stay far below the limit of exact floats.
fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes_of(words: &[&str]) -> Result<Vec<usize>, CommandFailure> {
        BenchOptions::parse(words).map(|options| options.sizes)
    }

    #[test]
    fn sizes_are_ascending_and_each_once() {
        assert_eq!(sizes_of(&[]).expect("there are defaults"), SIZES);
        assert_eq!(sizes_of(&["--sizes", "20,10,20"]).expect("these are sizes"), [10, 20]);
        assert_eq!(sizes_of(&["--sizes=5"]).expect("this is a size"), [5]);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for options in [&["--sizes", "0"] as &[&str], &["--sizes", "ten"], &["--sizes"], &["9"]] {
            assert!(sizes_of(options).is_err(), "{options:?}");
        }
    }

    #[test]
    fn parts_are_chosen_by_name_and_all_of_them_without_one() {
        let parts = |words: &[&str]| BenchOptions::parse(words).map(|options| options.parts);
        assert_eq!(parts(&[]).expect("there are defaults").len(), PARTS.len());
        let two = parts(&["run", "check", "--sizes", "5"]).expect("these are parts");
        assert_eq!(two, [BenchPart::Run, BenchPart::Check]);
        let refusal = parts(&["rnu"]).expect_err("there is no such part").to_string();
        assert!(refusal.contains("`rnu`") && refusal.contains("session"), "{refusal}");
    }

    #[test]
    fn a_comparison_needs_a_checkout_and_a_sensible_number_of_rounds() {
        for words in [["agent", "--beside", "/no/such/directory"], ["agent", "--rounds", "0"]] {
            assert!(BenchOptions::parse(&words).is_err(), "{words:?}");
        }
    }
}
