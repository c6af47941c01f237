//! The local executor: runs a job on this machine, in the sandbox of its agent.
//!
//! Must never: run a program that differs from the trusted one, or one with less confinement.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::{Confinement, ConfinementLevel, Connection};
use agentry_protocol::job::{JobReport, JobState};
use agentry_sandbox::{
    CancelToken, Command, Cwd, Error, HeadTailBuffer, OutputSource, ProcessBounds, ProcessEnding,
    ProcessOutcome, SandboxJob, Streams,
};
use agentry_tools::SandboxSession;
use secrecy::ExposeSecret;

use super::callback::Pipes;
use super::program_copy;
use super::slot::Slot;
use super::{Assignment, Executor, FileVariables, JobOutcome, JobOutput, JobProgram};
use crate::host::enforcer::TurnSandbox;
use crate::limits::{
    JOB_OUTPUT_BYTES_MAX, JOB_SAID_BYTES_MAX, JOB_SLOTS_KEPT, PROGRESS_CHARS_MAX,
    PROGRESS_LINES_MAX,
};

/// The fixed variables of every agent program: no colors, no pagers, the runtime's mark.
const FIXED: [(&str, &str); 11] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("CYBROS_NEXUS", "1"),
    ("AGENTRY", "1"),
    // Bytecode caches are neither used nor written: the owner did not trust them.
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONNOUSERSITE", "1"),
    ("NODE_DISABLE_COMPILE_CACHE", "1"),
];

/// The executor in this process.
#[derive(Default)]
pub struct LocalExecutor {
    slots: Mutex<HashMap<ContentHash, Vec<Slot>>>,
}

impl LocalExecutor {
    fn slot(&self, key: &ContentHash, user: Option<u32>) -> std::io::Result<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.get_mut(key).and_then(Vec::pop) {
            Some(slot) => Ok(slot),
            None => Slot::new(user),
        }
    }

    fn put_back(&self, key: ContentHash, slot: Slot) {
        if slot.clear().is_err() {
            return;
        }
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = slots.values().map(Vec::len).sum();
        if kept < JOB_SLOTS_KEPT {
            slots.entry(key).or_default().push(slot);
        }
    }

    fn env(
        assignment: &Assignment,
        slot: &Slot,
        ready: &PreparedProgram,
    ) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> =
            FIXED.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let kind = match assignment.names {
            FileVariables::Hook => "HOOK",
            FileVariables::Tool => "TOOL",
        };
        for mark in ["AGENTRY", "CYBROS"] {
            env.push((format!("{mark}_{kind}_INPUT").into(), slot.input().into()));
            env.push((format!("{mark}_{kind}_OUTPUT").into(), slot.output().into()));
        }
        env.push(("AGENTRY_WORKSPACE".into(), assignment.job.workspace.clone().into()));
        if let Some(directory) = &ready.agent_directory {
            env.push(("AGENTRY_AGENT_DIR".into(), directory.into()));
        }
        env.push(("PYTHONPYCACHEPREFIX".into(), slot.no_cache().into()));
        let libraries = slot.libraries();
        for (name, folder) in [("RUBYLIB", "ruby"), ("PYTHONPATH", "python"), ("NODE_PATH", "node")]
        {
            env.push((name.into(), libraries.join(folder).into()));
        }
        env.push(("AGENTRY_SH".into(), libraries.join("sh/agentry.sh").into()));
        let given = assignment.env.iter();
        env.extend(given.map(|(name, value)| (name.into(), value.expose_secret().into())));
        env
    }

    fn run(
        &self,
        assignment: &Assignment,
        slot: &Slot,
        hear: &dyn Fn(&str),
        stop: &CancelToken,
    ) -> Result<JobOutcome, String> {
        let input = serde_json::to_vec(&assignment.input).map_err(|error| error.to_string())?;
        let own = |error: std::io::Error| format!("its files cannot be created: {error}");
        let ready = ready(assignment, slot, &input)?;
        let mut env = Self::env(assignment, slot, &ready);
        if let Some(folder) = &assignment.artifacts {
            env.push(("AGENTRY_ARTIFACTS".into(), slot.make_folder(folder).map_err(own)?.into()));
        }
        let pipes = assignment.callback.as_ref().map(|_| Pipes::make(&slot.own())).transpose();
        let pipes = pipes.map_err(own)?;
        if let Some(pipes) = &pipes {
            env.push(("AGENTRY_CALL".into(), pipes.call.clone().into()));
            env.push(("AGENTRY_ANSWER".into(), pipes.answer.clone().into()));
        }
        let command = Command {
            program: ready.program.into(),
            args: assignment.args.iter().map(OsString::from).collect(),
            cwd: Cwd::Path(PathBuf::from(&assignment.job.workspace)),
            env,
            stdin: Some(input),
            streams: Streams::Apart,
        };
        let over = CancelToken::new();
        thread::scope(|scope| {
            if let (Some(pipes), Some(callback)) = (pipes, &assignment.callback) {
                let over = over.clone();
                scope.spawn(move || pipes.serve(callback, &over));
            }
            let performed = self.confined(assignment, slot, &command, (hear, stop));
            over.stop();
            performed
        })
    }

    /// Runs the command under the placement of its job.
    fn confined(
        &self,
        assignment: &Assignment,
        slot: &Slot,
        command: &Command,
        (hear, stop): (&dyn Fn(&str), &CancelToken),
    ) -> Result<JobOutcome, String> {
        let time = Duration::from_millis(assignment.job.timeout_ms);
        let bounds = ProcessBounds { time, output_bytes_max: JOB_OUTPUT_BYTES_MAX };
        let lines = StderrLines::new(hear);
        let listen = |source: OutputSource, piece: &[u8]| lines.take(source, piece);
        let (finished, refused) = match &assignment.confining {
            TurnSandbox::Missing(why) => return Err(why.to_string()),
            TurnSandbox::Off => (
                agentry_sandbox::run_with_listener(command, &bounds, stop, Some(&listen)),
                Vec::new(),
            ),
            TurnSandbox::In(confined) => {
                let confinement = Self::confinement(confined.confinement(), assignment, slot);
                in_sandbox(confined, &confinement, command, (&bounds, &listen), stop)
            }
        };
        lines.end();
        match finished {
            Ok(finished) => Ok(performed(assignment, slot, &finished, &refused)),
            Err(error @ (Error::ProgramNotFound { .. } | Error::NotExecutable { .. })) => {
                Err(format!("{error}; check its first line, which names its interpreter"))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the agent's confinement, extended by the job's own files.
    fn confinement(agents: &Confinement, assignment: &Assignment, slot: &Slot) -> Confinement {
        // No shared home: files that a command left in one must not reach the program's secrets.
        let mut confinement = Confinement { home: None, ..agents.clone() };
        let shown = |path: &Path| path.display().to_string();
        let add = |list: &mut Vec<String>, path: String| {
            if !list.contains(&path) {
                list.push(path);
            }
        };
        add(&mut confinement.allow_read, shown(&slot.given()));
        // Of its agent's directory a program sees only the copy, unless it works there.
        let workspace = Path::new(&assignment.job.workspace);
        let directory = assignment.agent_directory.iter().filter(|one| !workspace.starts_with(one));
        for directory in directory {
            confinement.allow_read.retain(|path| *path != shown(directory));
            // Landlock cannot deny a part of an allowed directory.
            if confinement.level != ConfinementLevel::Landlock {
                add(&mut confinement.deny_read, shown(directory));
            }
        }
        // A program could load files that commands left in a persistent home.
        confinement.home = None;
        add(&mut confinement.allow_write, shown(&slot.own()));
        confinement
    }
}

impl Executor for LocalExecutor {
    fn name(&self) -> &str {
        "local"
    }

    fn perform(
        &self,
        assignment: &Assignment,
        hear: &dyn Fn(&str),
        stop: &CancelToken,
    ) -> JobOutcome {
        // A slot that another program left may only be reused under the same confinement.
        let (key, user) = match &assignment.confining {
            TurnSandbox::In(confined) => {
                let confinement = Confinement { home: None, ..confined.confinement().clone() };
                (confinement.hash(), confined.sandbox().owner_of_files(&confinement))
            }
            TurnSandbox::Off | TurnSandbox::Missing(_) => (Confinement::unconfined().hash(), None),
        };
        let slot = match self.slot(&key, user) {
            Ok(slot) => slot,
            Err(error) => {
                return JobOutcome::refused(format!("its files cannot be created: {error}"));
            }
        };
        let done = self.run(assignment, &slot, hear, stop).unwrap_or_else(JobOutcome::refused);
        self.put_back(key, slot);
        done
    }
}

/// The files of a program, ready to run.
struct PreparedProgram {
    program: PathBuf,
    /// The copy that replaces the agent's directory; None if the job has no such directory.
    agent_directory: Option<PathBuf>,
}

/// Compares a program with its trusted state, and writes its files.
fn ready(assignment: &Assignment, slot: &Slot, input: &[u8]) -> Result<PreparedProgram, String> {
    let own = |error: std::io::Error| format!("its files cannot be created: {error}");
    match &assignment.program {
        JobProgram::File(path) => {
            let looked = assignment.looked.as_ref().ok_or("it is not trusted")?;
            let tree = program_copy::read_verified(looked)?;
            let file = tree.file(path).ok_or_else(|| format!("{path} is not there"))?;
            check_hash(assignment, &file.hash)?;
            // Without a sandbox a program could have changed the copy that it ran from.
            if let TurnSandbox::Off = assignment.confining {
                slot.forget_copies().map_err(own)?;
            }
            let from = Path::new(&looked.directory);
            let copy =
                slot.copy(&looked.hash, |to| program_copy::write(&tree, from, to)).map_err(own)?;
            slot.fill(input, None).map_err(own)?;
            Ok(PreparedProgram { program: copy.join(path), agent_directory: Some(copy) })
        }
        JobProgram::Stored(text) => {
            check_hash(assignment, &ContentHash::of(text))?;
            let path = slot.fill(input, Some(text)).map_err(own)?;
            let program = path.ok_or("its text was not written")?;
            Ok(PreparedProgram { program, agent_directory: assignment.agent_directory.clone() })
        }
    }
}

fn check_hash(assignment: &Assignment, hash: &ContentHash) -> Result<(), String> {
    if *hash == assignment.job.hash {
        return Ok(());
    }
    Err(format!("{} has changed since it was trusted, so it was not run", assignment.job.program))
}

type JobOutputListener<'a> = (&'a ProcessBounds, &'a dyn Fn(OutputSource, &[u8]));

fn in_sandbox(
    confined: &SandboxSession,
    confinement: &Confinement,
    command: &Command,
    (bounds, listen): JobOutputListener<'_>,
    stop: &CancelToken,
) -> (Result<ProcessOutcome, Error>, Vec<String>) {
    let refused = Arc::new(Mutex::new(Vec::new()));
    let (tell, seen) = (confined.connected(), refused.clone());
    let connected = Arc::new(move |connection: Connection| {
        if let Some(line) = connection.denial() {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        tell(connection);
    });
    let job = SandboxJob { command, confinement, bounds, connected, hear: Some(listen) };
    let finished = confined.sandbox().run(&job, stop);
    let refused = std::mem::take(&mut *refused.lock().unwrap_or_else(PoisonError::into_inner));
    (finished, refused)
}

/// Returns the outcome of a program that was started.
fn performed(
    assignment: &Assignment,
    slot: &Slot,
    finished: &ProcessOutcome,
    refused: &[String],
) -> JobOutcome {
    let seconds = finished.duration.as_secs_f64();
    let (mut state, exit_code, mut why) = match finished.ending {
        ProcessEnding::Exited(0) => (JobState::Succeeded, Some(0), None),
        ProcessEnding::Exited(code) => {
            (JobState::Failed, Some(code), Some(format!("it ended with exit code {code}")))
        }
        ProcessEnding::Signalled(signal) => {
            (JobState::Failed, None, Some(format!("it was ended by signal {signal}")))
        }
        ProcessEnding::TimedOut => {
            let why = format!("it took longer than {seconds:.1} s and was ended");
            (JobState::TimedOut, None, Some(why))
        }
        ProcessEnding::OutOfMemory => {
            (JobState::Failed, None, Some("it exceeded its memory limit".to_owned()))
        }
        ProcessEnding::Stopped => (JobState::Cancelled, None, Some("it was stopped".to_owned())),
    };
    let broken = finished.violations.iter().map(|line| format!("policy_violation: {line}"));
    let mut denied: Vec<String> = refused.iter().cloned().chain(broken).collect();
    denied.dedup();
    if state == JobState::Succeeded && !finished.violations.is_empty() {
        state = JobState::Failed;
        why = Some("it changed protected files; the change was undone".to_owned());
    }
    let stderr = end_of(&finished.stderr);
    let (artifacts, notes) = match &assignment.artifacts {
        Some(folder) if state == JobState::Succeeded => slot.collect(folder),
        Some(_) | None => Default::default(),
    };
    denied.extend(notes);
    let report = JobReport {
        exit_code,
        duration_ms: u64::try_from(finished.duration.as_millis()).ok(),
        why,
        said: (!stderr.trim().is_empty()).then(|| stderr.clone()),
        left_behind: (finished.left_behind > 0).then_some(finished.left_behind),
        denied,
    };
    let stdout = match finished.stdout.whole() {
        Some(whole) if whole.is_empty() => None,
        Some(whole) => Some(Ok(whole)),
        None => {
            Some(Err(format!("its standard output has more than {JOB_OUTPUT_BYTES_MAX} bytes")))
        }
    };
    let left = JobOutput { output: slot.read_output(), stdout, stderr, artifacts };
    JobOutcome { state, report, left }
}

/// Returns the end of the kept output as text.
fn end_of(kept: &HeadTailBuffer) -> String {
    let mut bytes = kept.whole().unwrap_or_else(|| kept.tail());
    let from = bytes.len().saturating_sub(JOB_SAID_BYTES_MAX);
    let text = String::from_utf8_lossy(&bytes.split_off(from)).into_owned();
    text.trim_start_matches('\u{fffd}').to_owned()
}

/// Splits standard error into lines and reports them, up to the progress limits.
struct StderrLines<'a> {
    hear: &'a dyn Fn(&str),
    rest: RefCell<Vec<u8>>,
    told: Cell<usize>,
}

impl<'a> StderrLines<'a> {
    fn new(hear: &'a dyn Fn(&str)) -> Self {
        Self { hear, rest: RefCell::default(), told: Cell::new(0) }
    }

    fn take(&self, source: OutputSource, piece: &[u8]) {
        if source == OutputSource::Output || self.told.get() >= PROGRESS_LINES_MAX {
            return;
        }
        let mut rest = self.rest.borrow_mut();
        for byte in piece {
            match byte {
                b'\n' => {
                    self.tell(&rest);
                    rest.clear();
                }
                // Four bytes for each character, and no more than is shown.
                _ if rest.len() < PROGRESS_CHARS_MAX * 4 => rest.push(*byte),
                _ => {}
            }
        }
    }

    fn tell(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line: String = line.trim().chars().take(PROGRESS_CHARS_MAX).collect();
        if !line.is_empty() && self.told.get() < PROGRESS_LINES_MAX {
            self.told.set(self.told.get() + 1);
            (self.hear)(&line);
        }
    }

    fn end(&self) {
        self.tell(&self.rest.borrow());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_protocol::job::{Job, JobPurpose};
    use agentry_protocol::tool::ToolName;
    use agentry_protocol::{AgentId, JobId};
    use serde_json::json;

    fn assignment(text: &str, hash: ContentHash) -> Assignment {
        let tool = ToolName::canonical("try");
        let job = Job {
            id: JobId::from_number(1),
            purpose: JobPurpose::Tool { tool, call: None },
            agent: AgentId::new("a"),
            program: "tools/try".to_owned(),
            hash,
            workspace: "/tmp".to_owned(),
            locks: true,
            timeout_ms: 10_000,
        };
        Assignment {
            job,
            program: JobProgram::Stored(text.as_bytes().to_vec()),
            args: Vec::new(),
            names: FileVariables::Tool,
            input: json!({ "arguments": { "x": 1 } }),
            env: Vec::new(),
            agent_directory: None,
            looked: None,
            confining: TurnSandbox::Off,
            artifacts: None,
            callback: None,
        }
    }

    #[test]
    fn a_text_that_is_not_the_one_that_was_looked_at_is_not_run() {
        let marker = tempfile::NamedTempFile::new().unwrap();
        let text = format!("#!/bin/sh\necho ran > {}\n", marker.path().display());
        let done = LocalExecutor::default().perform(
            &assignment(&text, ContentHash::of(b"another")),
            &|_| {},
            &CancelToken::new(),
        );
        assert_eq!(done.state, JobState::Failed);
        assert!(done.report.why.unwrap().contains("has changed since it was trusted"));
        assert_eq!(std::fs::read_to_string(marker.path()).unwrap(), "");
    }

    #[test]
    fn a_program_gets_its_input_three_ways_and_its_words_are_heard_as_they_come() {
        let text = "#!/bin/sh\ncmp - \"$AGENTRY_TOOL_INPUT\" && cmp \"$CYBROS_TOOL_INPUT\" \"$AGENTRY_TOOL_INPUT\" \
                    || exit 9\necho one >&2\necho two >&2\necho '{}' > \"$CYBROS_TOOL_OUTPUT\"\n";
        let heard = RefCell::new(Vec::new());
        let executor = LocalExecutor::default();
        for _ in 0..2 {
            let done = executor.perform(
                &assignment(text, ContentHash::of(text.as_bytes())),
                &|line| heard.borrow_mut().push(line.to_owned()),
                &CancelToken::new(),
            );
            assert_eq!(done.state, JobState::Succeeded, "{:?}", done.report);
            assert_eq!(done.left.output.unwrap().unwrap(), b"{}\n");
        }
        assert_eq!(*heard.borrow(), ["one", "two", "one", "two"]);
    }
}
