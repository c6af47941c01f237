//! The reference validator of the Agent Skills specification, measured as its own users run it.
//!
//! One Python process imports it once and calls it in a loop; both the loop and the whole process
//! are timed. It is installed into the target directory, not into the machine.
//!
//! Must never: be needed by anything but the benchmark, or time a loop that found mistakes.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{child, failure::CommandFailure};

pub(crate) const PACKAGE: &str = "skills-ref==0.1.1";

const LOOP: &str = r#"
import json, pathlib, sys, time
from skills_ref.validator import validate

skills = sorted(page.parent for page in pathlib.Path(sys.argv[1]).rglob("SKILL.md"))
started = time.perf_counter()
mistakes = [mistake for skill in skills for mistake in validate(skill)]
seconds = time.perf_counter() - started
print(json.dumps({"skills": len(skills), "mistakes": mistakes[:5], "seconds": seconds}))
"#;

pub(crate) struct ReferenceCost {
    pub(crate) wall_loop: Duration,
    pub(crate) wall: Duration,
}

/// Returns the Python that can import the validator. The failure says why there is none.
pub(crate) fn prepare(venv: &Path) -> Result<PathBuf, CommandFailure> {
    let python = venv.join("bin").join("python");
    if !has_validator(&python) {
        child::stdout_of(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
        child::stdout_of(Command::new(&python).args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
    }
    Ok(python)
}

fn has_validator(python: &Path) -> bool {
    let probe = "from importlib.metadata import version; import skills_ref.validator; \
                 assert 'skills-ref==' + version('skills-ref') == __import__('sys').argv[1]";
    child::answers(Command::new(python).args(["-c", probe, PACKAGE]))
}

pub(crate) fn cost(
    python: &Path,
    dir: &Path,
    skills: usize,
) -> Result<ReferenceCost, CommandFailure> {
    let started = Instant::now();
    let json = child::stdout_of(Command::new(python).args(["-c", LOOP]).arg(dir))?;
    let wall = started.elapsed();
    let wall_loop = loop_duration(&json, skills)?;
    Ok(ReferenceCost { wall_loop, wall })
}

fn loop_duration(json: &[u8], skills: usize) -> Result<Duration, CommandFailure> {
    let strange = |what: &str| {
        let said = String::from_utf8_lossy(json);
        CommandFailure::new(format!("The reference validator {what}. It said: {}", said.trim_end()))
    };
    let report: Value = serde_json::from_slice(json).map_err(|_| strange("printed no JSON"))?;
    if report["skills"].as_u64() != u64::try_from(skills).ok() {
        return Err(strange("did not see every skill"));
    }
    if report["mistakes"].as_array().is_none_or(|mistakes| !mistakes.is_empty()) {
        return Err(strange("found mistakes in what we generated"));
    }
    report["seconds"]
        .as_f64()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| strange("did not say how long it took"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Result<Duration, &str>) {
        match (loop_duration(json.as_bytes(), 3), expected) {
            (Ok(duration), Ok(expected)) => assert_eq!(duration, expected),
            (Err(failure), Err(part)) => assert!(failure.to_string().contains(part), "{failure}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_whole_and_clean_loop_counts() {
        let json = r#"{"skills": 3, "mistakes": [], "seconds": 1.5}"#;
        check(json, Ok(Duration::from_millis(1_500)));
    }

    #[test]
    fn any_other_loop_does_not() {
        check(r#"{"skills": 2, "mistakes": [], "seconds": 1.5}"#, Err("every skill"));
        check(r#"{"skills": 3, "mistakes": ["name"], "seconds": 1.5}"#, Err("mistakes"));
        check(r#"{"skills": 3, "mistakes": [], "seconds": -1}"#, Err("how long"));
        check("Traceback", Err("no JSON"));
    }
}
