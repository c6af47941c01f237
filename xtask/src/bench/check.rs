//! The cost of `agentry check` per file, its growth, and the time of the reference validator.
//!
//! Must never: measure a run that found a mistake, or leave its trees behind.

use std::path::{Path, PathBuf};

use crate::{
    bench::{
        corpus, count,
        measure::{self, Cost},
        reference,
    },
    child,
    failure::CommandFailure,
    limits::{BENCH_RUNS_MAX, BENCH_RUNS_MIN},
};

const REFERENCE_RATIO_TARGET: f64 = 20.0;

pub(crate) fn run(root: &Path, binary: &Path, sizes: &[usize]) -> Result<(), CommandFailure> {
    let scratch = super::scratch()?;
    let mut trees = Vec::new();
    for &skills in sizes {
        let dir = scratch.path().join(skills.to_string());
        corpus::write(&dir, skills)?;
        trees.push(GeneratedTree { dir, skills });
    }

    measure_sizes(binary, &trees)?;
    if let Some(largest) = trees.last() {
        measure_beside_the_reference(root, binary, largest)?;
    }
    Ok(())
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

fn measure_sizes(binary: &Path, trees: &[GeneratedTree]) -> Result<(), CommandFailure> {
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
) -> Result<(), CommandFailure> {
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
