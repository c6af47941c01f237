//! Several processes at once want one session, or one run: only one at a time may act.
//!
//! Must never: pass when no process was refused; then there was no race.

use std::{collections::BTreeSet, path::Path, process::Command};

use serde_json::Value;

use crate::{
    crash::{
        case::{CrashCase, judge_ledger, told},
        figures::CrashFigures,
        fixture::{CrashFixture, CrashScript, command},
        process_life::{self, KillMoment, LifeEnd, ProcessLife},
        rng::CrashRng,
    },
    failure::CommandFailure,
};

const RACERS: usize = 6;
const CALLS: usize = 8;

#[derive(Default)]
struct RaceTally {
    acted: u32,
    refused: u32,
}

pub(crate) fn run(
    binary: &Path,
    races: u32,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
) -> Result<(), CommandFailure> {
    let (mut sessions, mut runs) = (RaceTally::default(), RaceTally::default());
    for race in 0..races {
        race_for_a_session(binary, chance, figures, &mut sessions)?;
        race_for_a_run(binary, race, chance, figures, &mut runs)?;
    }
    for (what, tally) in [("one session", sessions), ("one run", runs)] {
        let RaceTally { acted, refused } = tally;
        if refused == 0 {
            figures.violated(format!("nobody was refused {what}, so there was no race"));
        }
        figures.notes.push(format!(
            "{races} times {RACERS} processes wanted {what}: {acted} acted, {refused} were refused"
        ));
    }
    Ok(())
}

/// Starts a run in each process, all in a session of one name.
fn race_for_a_session(
    binary: &Path,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
    tally: &mut RaceTally,
) -> Result<(), CommandFailure> {
    let scene = CrashFixture::new(binary)?;
    let mut scripts = Vec::new();
    for racer in 0..RACERS {
        scripts.push(scene.script(&format!("p{racer}"), CALLS, chance)?);
    }
    let mut commands: Vec<Command> = scripts.iter().map(|script| scene.run(script)).collect();
    for command in &mut commands {
        command.args(["--session", "one"]);
    }
    let lives = live_at_once(&mut commands, &scene, figures)?;
    let lines = scene.lines()?;
    let mut owners: Vec<&str> = lines.iter().filter_map(|line| owner(line)).collect();
    owners.dedup();
    if owners.len() != owners.iter().collect::<BTreeSet<_>>().len() {
        figures.violated(format!("two processes acted at once in one session: {lines:?}"));
    }
    for ((life, command), script) in lives.iter().zip(&commands).zip(&scripts) {
        match is_done(life) {
            Some(true) => {
                tally.acted += 1;
                judge_own(&scene, script, life, &lines, figures)?;
            }
            Some(false) if script.marks.iter().any(|mark| lines.contains(mark)) => {
                figures.violated(format!("refused, and it acted: {}", told(command, life)));
            }
            Some(false) => tally.refused += 1,
            None => figures.violated(told(command, life)),
        }
    }
    Ok(())
}

/// Kills a run; then all processes resume it.
fn race_for_a_run(
    binary: &Path,
    race: u32,
    chance: &mut CrashRng,
    figures: &mut CrashFigures,
    tally: &mut RaceTally,
) -> Result<(), CommandFailure> {
    let mut case = CrashCase::new(binary, &format!("c{race}"), CALLS, chance)?;
    let mut command = case.next(chance);
    let lines = usize::try_from(1 + chance.below(CALLS as u64)).unwrap_or(1);
    case.live(&mut command, KillMoment::AtLine(lines), figures)?;
    case.inspect(figures)?;
    let Some(run) = case.run().map(str::to_owned) else {
        figures.violated("the run was shown, and is not there");
        return Ok(());
    };
    let resume = |_| case.scene.agentry(&["resume", "--json", &run]);
    let mut commands: Vec<Command> = (0..RACERS).map(resume).collect();
    let lives = live_at_once(&mut commands, &case.scene, figures)?;
    let done = lives.iter().filter(|life| is_done(life) == Some(true)).count();
    if done != 1 {
        figures.violated(format!("{done} of {RACERS} processes brought {run} to its end"));
    }
    for (life, command) in lives.iter().zip(&commands) {
        match is_done(life) {
            Some(true) => tally.acted += 1,
            Some(false) => tally.refused += 1,
            None => figures.violated(told(command, life)),
        }
    }
    case.finish(chance, figures)
}

fn live_at_once(
    commands: &mut [Command],
    scene: &CrashFixture,
    figures: &mut CrashFigures,
) -> Result<Vec<ProcessLife>, CommandFailure> {
    let living: Result<Vec<_>, CommandFailure> =
        commands.iter_mut().map(process_life::start).collect();
    let lives: Result<Vec<ProcessLife>, CommandFailure> =
        living?.into_iter().map(|one| one.until(KillMoment::Never)).collect();
    let lives = lives?;
    process_life::wait_for_orphans(&scene.project())?;
    figures.lives += u32::try_from(lives.len()).unwrap_or(u32::MAX);
    Ok(lives)
}

/// Returns true if it did its work, false if it was refused; None for any other end.
fn is_done(life: &ProcessLife) -> Option<bool> {
    // In use now, begun by another a moment ago, or ended already.
    let refusals = ["is in use", "has a session `one` already", "has ended", "unfinished turn"];
    match life.end {
        LifeEnd::Exited(0) => Some(true),
        LifeEnd::Exited(2) if refusals.iter().any(|text| life.complaint.contains(text)) => {
            Some(false)
        }
        LifeEnd::Exited(_) | LifeEnd::Killed | LifeEnd::Signalled(_) | LifeEnd::TimedOut => None,
    }
}

fn owner(line: &str) -> Option<&str> {
    line.split_once('-').map(|(owner, _)| owner)
}

/// Checks that an acting process wrote each of its lines once, and that its run records them.
fn judge_own(
    scene: &CrashFixture,
    script: &CrashScript,
    life: &ProcessLife,
    lines: &[String],
    figures: &mut CrashFigures,
) -> Result<(), CommandFailure> {
    figures.runs += 1;
    for mark in &script.marks {
        let written = lines.iter().filter(|line| *line == mark).count();
        let is_done = life.lines.iter().any(|line| line["input"]["command"] == command(mark));
        if written != 1 || !is_done {
            figures.violated(format!("{mark} is there {written} times"));
        }
    }
    match life.lines.iter().find_map(|line: &Value| line["runId"].as_str()) {
        Some(run) => judge_ledger(scene, run, figures),
        None => {
            figures.violated("a run that ended well did not say its name");
            Ok(())
        }
    }
}
