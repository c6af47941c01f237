//! One run through all its lives, and the conditions that it must meet.
//!
//! Must never: judge by the harness's intentions; only by the output, the content of the file, and
//! the ledger.

use std::{collections::BTreeSet, path::Path, process::Command};

use serde_json::Value;

use crate::{
    child,
    crash::{
        figures::CrashFigures,
        fixture::{CrashFixture, CrashScript, command},
        process_life::{self, KillMoment, LifeEnd, ProcessLife},
        rng::CrashRng,
    },
    failure::CommandFailure,
};

pub(crate) struct CrashCase {
    pub(crate) scene: CrashFixture,
    pub(crate) script: CrashScript,
    /// The id of the run, once it was printed.
    acknowledged: Option<String>,
    /// Calls that the output showed as done.
    shown_done: BTreeSet<String>,
    /// The run's record in the ledger, once there is one.
    record: Option<Value>,
}

impl CrashCase {
    pub(crate) fn new(
        binary: &Path,
        name: &str,
        calls: usize,
        chance: &mut CrashRng,
    ) -> Result<CrashCase, CommandFailure> {
        let scene = CrashFixture::new(binary)?;
        let script = scene.script(name, calls, chance)?;
        let (acknowledged, shown_done) = (None, BTreeSet::new());
        Ok(CrashCase { scene, script, acknowledged, shown_done, record: None })
    }

    /// Returns the command that a person would type now: begin, or continue.
    pub(crate) fn next(&self, chance: &mut CrashRng) -> Command {
        match self.run() {
            None => self.scene.run(&self.script),
            Some(_) if chance.coin() => self.scene.agentry(&["resume", "--json", "--all"]),
            Some(run) => self.scene.agentry(&["resume", "--json", run]),
        }
    }

    /// Runs one life. Afterwards no process of it is left running, and the ledger is inspected.
    pub(crate) fn live(
        &mut self,
        command: &mut Command,
        moment: KillMoment,
        figures: &mut CrashFigures,
    ) -> Result<ProcessLife, CommandFailure> {
        let life = process_life::live(command, moment)?;
        process_life::wait_for_orphans(&self.scene.project())?;
        figures.lives += 1;
        figures.kills += u32::from(life.end == LifeEnd::Killed);
        self.hear(&life, figures);
        Ok(life)
    }

    fn hear(&mut self, life: &ProcessLife, figures: &mut CrashFigures) {
        for line in &life.lines {
            if let Some(run) = line["runId"].as_str() {
                figures.inputs_acknowledged += u32::from(self.acknowledged.is_none());
                self.acknowledged = Some(run.to_owned());
            }
            if let (Some(call), Some("done")) =
                (line["toolCallId"].as_str(), line["outcome"].as_str())
            {
                self.shown_done.insert(call.to_owned());
            }
        }
    }

    /// Reads the ledger, and checks the conditions of every moment.
    pub(crate) fn inspect(&mut self, figures: &mut CrashFigures) -> Result<(), CommandFailure> {
        let mut runs = self.scene.runs()?;
        if runs.len() > 1 {
            figures.violated(format!("{} runs where one was asked for", runs.len()));
        }
        self.record = runs.pop();
        if let Some(shown) = &self.acknowledged {
            let is_there = self.run() == Some(shown)
                && self.record.as_ref().is_some_and(|run| run["prompt"] == self.script.prompt);
            if !is_there {
                figures.inputs_lost += 1;
                figures.violated(format!("{shown} was shown, and the ledger does not have it"));
            }
        }
        let started: BTreeSet<&str> = self
            .calls()
            .filter(|call| !call["permit"].is_null())
            .filter_map(|call| call["input"]["command"].as_str())
            .collect();
        let lines = self.scene.lines()?;
        let unrecorded = |line: &&String| !started.contains(command(line).as_str());
        if let Some(line) = lines.iter().find(unrecorded) {
            let count = lines.iter().filter(unrecorded).count();
            figures.violated(format!("{count} lines without a recorded call, the first is {line}"));
        }
        Ok(())
    }

    pub(crate) fn run(&self) -> Option<&str> {
        self.record.as_ref()?["run_id"].as_str()
    }

    pub(crate) fn is_over(&self) -> bool {
        let status = self.record.as_ref().and_then(|run| run["status"].as_str());
        matches!(status, Some("completed" | "failed" | "canceled"))
    }

    fn calls(&self) -> impl Iterator<Item = &Value> {
        let steps = self.record.iter().filter_map(|run| run["steps"].as_array()).flatten();
        steps.filter_map(|step| step["tool_calls"].as_array()).flatten()
    }

    /// Lives on undisturbed until the run has ended, and judges it.
    pub(crate) fn finish(
        &mut self,
        chance: &mut CrashRng,
        figures: &mut CrashFigures,
    ) -> Result<(), CommandFailure> {
        self.inspect(figures)?;
        if !self.is_over() {
            let mut command = self.next(chance);
            let life = self.live(&mut command, KillMoment::Never, figures)?;
            self.inspect(figures)?;
            if life.end != LifeEnd::Exited(0) {
                figures.violated(format!("undisturbed: {}", told(&command, &life)));
            }
        }
        self.judge(figures)
    }

    /// Checks the conditions at the end.
    pub(crate) fn judge(&self, figures: &mut CrashFigures) -> Result<(), CommandFailure> {
        figures.runs += 1;
        let Some((run, record)) = self.run().zip(self.record.as_ref()) else {
            figures.violated("there is no run in the end");
            return Ok(());
        };
        if record["status"] != "completed" {
            figures.violated(format!("{run} did not end well: {}", record["status"]));
            return Ok(());
        }
        let lines = self.scene.lines()?;
        for mark in &self.script.marks {
            let written = lines.iter().filter(|line| *line == mark).count();
            self.judge_call(mark, written, figures);
        }
        if let Some(line) = lines.iter().find(|line| !self.script.marks.contains(line)) {
            figures.violated(format!("nobody asked for the line {line}"));
        }
        judge_ledger(&self.scene, run, figures)
    }

    fn judge_call(&self, mark: &str, written: usize, figures: &mut CrashFigures) {
        let wanted = command(mark);
        let calls: Vec<&Value> =
            self.calls().filter(|call| call["input"]["command"] == wanted).collect();
        let [call] = calls.as_slice() else {
            figures.violated(format!("{} calls for the line {mark}", calls.len()));
            return;
        };
        let status = call["outcome"]["status"].as_str().unwrap_or("nothing");
        let is_shown_done = call["id"].as_str().is_some_and(|id| self.shown_done.contains(id));
        if is_shown_done && status != "done" {
            figures.violated(format!("{mark} was shown as done, and is recorded as {status}"));
        }
        if written > 1 {
            figures.lines_twice += 1;
        }
        match (status, written) {
            ("done", 1) => {}
            ("uncertain", 0 | 1) => {
                figures.uncertain += 1;
                figures.uncertain_happened += u32::from(written == 1);
            }
            _ => figures.violated(format!("{mark} is there {written} times, recorded as {status}")),
        }
    }
}

/// Checks that the ledger is whole, and that replay gives the same moves.
pub(crate) fn judge_ledger(
    scene: &CrashFixture,
    run: &str,
    figures: &mut CrashFigures,
) -> Result<(), CommandFailure> {
    if let Err(failure) = child::stdout_of(&mut scene.agentry(&["ledger", "verify"])) {
        figures.verify_failures += 1;
        figures.violated(failure.to_string());
    }
    match child::stdout_of(&mut scene.agentry(&["replay", run])) {
        Ok(printed) if printed.starts_with(b"identical: ") => {}
        Ok(printed) => {
            figures.replay_differences += 1;
            figures.violated(String::from_utf8_lossy(&printed));
        }
        Err(failure) => {
            figures.replay_differences += 1;
            figures.violated(failure.to_string());
        }
    }
    Ok(())
}

/// Describes a life with an unexpected end, for the person who looks for the cause.
pub(crate) fn told(command: &Command, life: &ProcessLife) -> String {
    let said = life.complaint.trim();
    format!("`{}` ended with {:?} and said: {said}", child::spelled(command), life.end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a case with two marks, whose calls and lines are given.
    fn case(statuses: [&str; 2], lines: &str) -> CrashCase {
        let mut case = CrashCase::new(Path::new("agentry"), "t", 2, &mut CrashRng::new(1))
            .expect("a scene can be made");
        let call = |(index, status): (usize, &str)| {
            json!({
                "id": format!("call_{index}"), "permit": {}, "outcome": { "status": status },
                "input": { "command": command(&format!("t-{index}")) },
            })
        };
        let calls: Vec<Value> = statuses.into_iter().enumerate().map(call).collect();
        case.record = Some(json!({ "run_id": "run_1", "steps": [{ "tool_calls": calls }] }));
        std::fs::write(case.scene.project().join("lines.txt"), lines).expect("it can be written");
        case
    }

    fn figures(case: &CrashCase) -> CrashFigures {
        let mut figures = CrashFigures::default();
        let lines = case.scene.lines().expect("the lines can be read");
        for mark in &case.script.marks {
            let written = lines.iter().filter(|line| *line == mark).count();
            case.judge_call(mark, written, &mut figures);
        }
        figures
    }

    #[test]
    fn what_is_done_is_there_once_and_what_is_uncertain_at_most_once() {
        assert!(figures(&case(["done", "done"], "t-1\nt-0\n")).violations.is_empty());
        let figures = figures(&case(["uncertain", "uncertain"], "t-1\n"));
        assert!(figures.violations.is_empty());
        assert_eq!((figures.uncertain, figures.uncertain_happened), (2, 1));
    }

    #[test]
    fn a_line_too_many_or_too_few_is_a_violation() {
        let twice = figures(&case(["done", "done"], "t-0\nt-1\nt-1\n"));
        assert_eq!((twice.lines_twice, twice.violations.len()), (1, 1));
        assert_eq!(figures(&case(["done", "done"], "t-0\n")).violations.len(), 1);
        assert_eq!(figures(&case(["uncertain", "done"], "t-0\nt-0\nt-1\n")).violations.len(), 1);
        assert_eq!(figures(&case(["failed", "done"], "t-0\nt-1\n")).violations.len(), 1);
    }

    #[test]
    fn a_call_that_was_shown_as_done_must_be_recorded_as_done() {
        let mut case = case(["uncertain", "done"], "t-0\nt-1\n");
        case.shown_done.insert("call_0".to_owned());
        assert_eq!(figures(&case).violations.len(), 1);
    }
}
