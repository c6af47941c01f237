//! `cargo xtask bench`: what the product costs, beside a measure that is taken in the same run.
//!
//! Each part is one file in `bench/`, or a bench target of the crate it is about. Numbers are printed,
//! never asserted: machines differ.
//!
//! Must never: measure a run that failed, or leave files behind.

pub(crate) mod agents;
mod check;
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

use std::path::Path;

use tempfile::TempDir;

use crate::{child, failure::Failure, limits::BENCH_SKILLS_MAX};

const SIZES: [usize; 3] = [100, 1_000, 10_000];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
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

const PARTS: [(&str, Part); 11] = [
    ("check", Part::Check),
    ("run", Part::Run),
    ("ledger", Part::Ledger),
    ("session", Part::Session),
    ("program", Part::Program),
    ("sandbox", Part::Sandbox),
    ("agent", Part::Agent),
    ("local", Part::Local),
    ("replay", Part::Replay),
    ("intake", Part::Intake),
    ("serve", Part::Serve),
];

pub(crate) fn run(root: &Path, options: &[&str]) -> Result<(), Failure> {
    let Wanted { parts, sizes } = wanted(options)?;
    for part in parts {
        match part {
            Part::Check => check::run(root, &child::build_agentry(root)?, &sizes)?,
            Part::Run => runs::run(&child::build_agentry(root)?)?,
            Part::Ledger => bench_target(root, "agentry-store", &["ledger", "--", "append"])?,
            Part::Session => sessions::run(root, &child::build_agentry(root)?)?,
            Part::Program => bench_target(root, "agentry-bthread", &["program"])?,
            Part::Agent => agents::run(root)?,
            Part::Sandbox => bench_target(root, "agentry-tools", &["sandbox"])?,
            Part::Local => local::run(root)?,
            Part::Replay => replay::run(root, &child::build_agentry(root)?)?,
            Part::Intake => intake::run(root, &child::build_agentry(root)?)?,
            #[cfg(target_os = "linux")]
            Part::Serve => serve::run(root, &child::build_agentry(root)?)?,
            #[cfg(not(target_os = "linux"))]
            Part::Serve => println!("\nSkipped: the streams of the server are measured on Linux."),
        }
    }
    println!("\n{} cores; load {}.", measure::cores(), measure::load());
    Ok(())
}

#[derive(PartialEq, Eq, Debug)]
struct Wanted {
    parts: Vec<Part>,
    sizes: Vec<usize>,
}

/// Names of parts, then the sizes for `check`. No name means all.
fn wanted(options: &[&str]) -> Result<Wanted, Failure> {
    let named = options.iter().take_while(|option| !option.starts_with('-')).count();
    let (names, rest) = options.split_at(named);
    let part = |name: &&str| {
        let known = PARTS.iter().find(|(known, _)| known == name);
        known.map(|(_, part)| *part).ok_or_else(|| {
            let all = PARTS.map(|(name, _)| name).join(", ");
            Failure::new(format!("`bench` has no part `{name}`. Name one or more of: {all}."))
        })
    };
    let parts = match names {
        [] => PARTS.map(|(_, part)| part).to_vec(),
        names => names.iter().map(part).collect::<Result<_, Failure>>()?,
    };
    Ok(Wanted { parts, sizes: sizes(rest)? })
}

/// Ascending, each once.
fn sizes(options: &[&str]) -> Result<Vec<usize>, Failure> {
    let listed = match options {
        [] => return Ok(SIZES.to_vec()),
        ["--sizes", listed] => *listed,
        [option] if option.starts_with("--sizes=") => option.trim_start_matches("--sizes="),
        [..] => {
            return Err(Failure::new(format!(
                "`bench` does not know `{}`. Use `cargo xtask bench check --sizes 100,1000,10000`.",
                options.join(" ")
            )));
        }
    };
    let mut sizes = listed
        .split(',')
        .map(|size| match size.trim().parse() {
            Ok(size) if (1..=BENCH_SKILLS_MAX).contains(&size) => Ok(size),
            Ok(_) | Err(_) => Err(Failure::new(format!(
                "`{size}` is no size. Give numbers of skills from 1 to {BENCH_SKILLS_MAX}, \
                 with commas between them."
            ))),
        })
        .collect::<Result<Vec<usize>, Failure>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// A bench target of one of our crates; it prints its own table.
fn bench_target(root: &Path, package: &str, target: &[&str]) -> Result<(), Failure> {
    let mut command = child::cargo(root);
    command.args(["bench", "--quiet", "--profile", "fast", "--package", package, "--bench"]);
    command.args(target);
    if child::succeeds(&mut command)? {
        return Ok(());
    }
    Err(Failure::new(format!("`{}` failed; it says why above.", child::spelled(&command))))
}

pub(crate) fn scratch() -> Result<TempDir, Failure> {
    tempfile::tempdir()
        .map_err(|error| Failure::new(format!("Could not make a temporary directory: {error}.")))
}

/// Counts here stay far below what a float holds exactly.
fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_ascending_and_each_once() {
        assert_eq!(sizes(&[]).expect("there are defaults"), SIZES);
        assert_eq!(sizes(&["--sizes", "20,10,20"]).expect("these are sizes"), [10, 20]);
        assert_eq!(sizes(&["--sizes=5"]).expect("this is a size"), [5]);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for options in [&["--sizes", "0"] as &[&str], &["--sizes", "ten"], &["--sizes"], &["9"]] {
            assert!(sizes(options).is_err(), "{options:?}");
        }
    }

    #[test]
    fn parts_are_chosen_by_name_and_all_of_them_without_one() {
        let parts = |options: &[&str]| wanted(options).map(|wanted| wanted.parts);
        assert_eq!(parts(&[]).expect("there are defaults").len(), PARTS.len());
        let two = parts(&["run", "check", "--sizes", "5"]).expect("these are parts");
        assert_eq!(two, [Part::Run, Part::Check]);
        let refusal = parts(&["rnu"]).expect_err("there is no such part").to_string();
        assert!(refusal.contains("`rnu`") && refusal.contains("session"), "{refusal}");
    }
}
