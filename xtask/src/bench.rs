//! `cargo xtask bench`: what `agentry check` costs per file, and how that grows.
//!
//! It also runs the reference validator of the Agent Skills specification over the same skills, in
//! the same run, on the same machine. Numbers are printed, never asserted: machines differ.
//!
//! Must never: measure a run that found a mistake, or leave its trees behind.

mod corpus;
mod measure;
mod reference;

use std::path::{Path, PathBuf};

use crate::{
    bench::measure::Cost,
    child,
    failure::Failure,
    limits::{BENCH_RUNS_MAX, BENCH_RUNS_MIN, BENCH_SKILLS_MAX},
};

const SIZES: [usize; 3] = [100, 1_000, 10_000];
const REFERENCE_RATIO_TARGET: f64 = 20.0;

pub(crate) fn run(root: &Path, options: &[&str]) -> Result<(), Failure> {
    let sizes = sizes(options)?;
    let binary = child::build_agentry(root)?;
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::new(format!("Could not make a temporary directory: {error}.")))?;

    let mut trees = Vec::new();
    for &skills in &sizes {
        let dir = scratch.path().join(skills.to_string());
        corpus::write(&dir, skills)?;
        trees.push(GeneratedTree { dir, skills });
    }

    measure_sizes(&binary, &trees)?;
    if let Some(largest) = trees.last() {
        measure_beside_the_reference(root, &binary, largest)?;
    }
    Ok(())
}

/// Ascending, each once.
fn sizes(options: &[&str]) -> Result<Vec<usize>, Failure> {
    let listed = match options {
        [] => return Ok(SIZES.to_vec()),
        ["--sizes", listed] => *listed,
        [option] if option.starts_with("--sizes=") => option.trim_start_matches("--sizes="),
        [..] => {
            return Err(Failure::new(format!(
                "`bench` does not know `{}`. Use `cargo xtask bench --sizes 100,1000,10000`.",
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

struct GeneratedTree {
    dir: PathBuf,
    skills: usize,
}

impl GeneratedTree {
    fn files(&self) -> usize {
        self.skills + corpus::agent_count(self.skills)
    }
}

fn measure_sizes(binary: &Path, trees: &[GeneratedTree]) -> Result<(), Failure> {
    println!(
        "\n`agentry check --format json`, files in the page cache, {BENCH_RUNS_MIN} to \
         {BENCH_RUNS_MAX} runs: the best wall time, the mean CPU time\n"
    );
    println!(
        "{:>8} {:>10} {:>10} {:>12} {:>6}",
        "files", "wall ms", "cpu ms", "µs per file", "runs"
    );
    let mut per_file = Vec::new();
    for tree in trees {
        let dir = tree.dir.as_os_str();
        let arguments = ["check".as_ref(), "--format".as_ref(), "json".as_ref(), dir];
        let cost = measure::cost(binary, &arguments)?;
        let micros = cost.wall_micros() / count(tree.files());
        per_file.push(micros);
        println!(
            "{:>8} {:>10.2} {:>10} {:>12.2} {:>6}",
            tree.files(),
            cost.wall_micros() / 1_000.0,
            cpu_millis(&cost),
            micros,
            cost.runs
        );
    }
    if let ([first, .., last], [smallest, .., largest]) = (per_file.as_slice(), trees) {
        println!(
            "\nA file of {} costs {:.2} times what a file of {} costs. Flat is 1.00 or less; \
             start-up weighs on the small trees.",
            largest.files(),
            last / first,
            smallest.files()
        );
    }
    Ok(())
}

fn cpu_millis(cost: &Cost) -> String {
    match cost.cpu_mean {
        Some(cpu) => format!("{:.2}", cpu.as_secs_f64() * 1_000.0),
        None => "unknown".to_owned(),
    }
}

fn measure_beside_the_reference(
    root: &Path,
    binary: &Path,
    tree: &GeneratedTree,
) -> Result<(), Failure> {
    println!(
        "\nBeside the reference validator, {} over {} skills",
        reference::PACKAGE,
        tree.skills
    );
    let python = match reference::prepare(&child::target_directory(root)?.join("bench-venv")) {
        Ok(python) => python,
        Err(why) => {
            println!("Skipped: the reference validator could not be installed. {why}");
            return Ok(());
        }
    };
    let skills_dir = corpus::skills_dir(&tree.dir);
    let dir = skills_dir.as_os_str();
    let arguments = ["check", "--skills", "spec", "--format", "json"].map(AsRef::as_ref);
    let ours = measure::cost(binary, &[arguments.as_slice(), &[dir]].concat())?;
    let theirs = reference::cost(&python, &skills_dir, tree.skills)?;

    let skills = count(tree.skills);
    let ours_per_file = ours.wall_micros() / skills;
    println!("\n{:<36} {:>10} {:>12} {:>8}", "", "wall ms", "µs per file", "ratio");
    println!(
        "{:<36} {:>10.2} {:>12.2} {:>8}",
        "agentry check --skills spec, best",
        ours.wall_micros() / 1_000.0,
        ours_per_file,
        "1.0"
    );
    for (name, wall) in [
        ("reference, the loop alone, one run", theirs.wall_loop),
        ("reference, whole process, one run", theirs.wall),
    ] {
        let per_file = wall.as_secs_f64() * 1e6 / skills;
        println!(
            "{name:<36} {:>10.2} {per_file:>12.2} {:>8.1}",
            wall.as_secs_f64() * 1_000.0,
            per_file / ours_per_file
        );
    }
    // The loop alone against our whole process: the comparison that is kinder to the reference.
    let ratio = theirs.wall_loop.as_secs_f64() * 1e6 / skills / ours_per_file;
    let word = if ratio >= REFERENCE_RATIO_TARGET { "meets" } else { "misses" };
    println!(
        "\nThe reference takes {ratio:.1} times as long per skill, which {word} the target of \
         {REFERENCE_RATIO_TARGET:.0} times."
    );
    println!("CPU time of agentry: {} ms, on {} cores.", cpu_millis(&ours), measure::cores());
    Ok(())
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
}
