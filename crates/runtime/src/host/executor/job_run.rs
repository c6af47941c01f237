//! One job on this machine: its files, its environment, its process, and its outcome.
//!
//! Must never: run a program that differs from the trusted one, or one with less confinement.

use std::cell::{Cell, RefCell};
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
use secrecy::{ExposeSecret, SecretString};

use super::callback::{Callback, Pipes};
use super::program_copy;
use super::slot::Slot;
use super::{
    AgentTree, Assignment, Base64Bytes, ExecutionContext, FileVariables, JobOutcome, JobOutput,
    JobProgram, TurnSandbox,
};
use crate::limits::{
    JOB_OUTPUT_BYTES_MAX, JOB_SAID_BYTES_MAX, PROGRESS_CHARS_MAX, PROGRESS_LINES_MAX,
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

/// A job with everything that it refers to on this machine.
pub(super) struct JobRun<'a> {
    assignment: &'a Assignment,
    context: &'a ExecutionContext<'a>,
    sandbox: TurnSandbox,
    workspace: PathBuf,
    /// The directory of its agent; None for a stored program.
    agent_directory: Option<&'a Path>,
    variables: Vec<(String, SecretString)>,
    callback: Option<&'a Arc<dyn Callback>>,
    output_bytes_max: usize,
}

/// The jobs that may use a slot after each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SlotKey {
    /// The hash of their confinement.
    confinement: ContentHash,
    /// The user that owns their files; None for the user of this process.
    pub(super) user: Option<u32>,
}

/// The files of a program, ready to run.
struct PreparedProgram {
    program: PathBuf,
    /// The copy that replaces the agent's directory; None if the job has no such directory.
    agent_directory: Option<PathBuf>,
}

impl<'a> JobRun<'a> {
    /// Resolves the references of an assignment, or returns the reason why one has no target.
    pub(super) fn resolve(
        assignment: &'a Assignment,
        context: &'a ExecutionContext<'a>,
    ) -> Result<Self, String> {
        let resolver = context.resolver;
        let agent_directory = match &assignment.program {
            JobProgram::File { tree, .. } => Some(resolver.agent_directory(&tree.hash)?),
            JobProgram::Stored(_) => None,
        };
        let callback = match (assignment.may_call_back, context.callback) {
            (true, None) => return Err("its questions cannot be answered here".to_owned()),
            (true, Some(callback)) => Some(callback),
            (false, _) => None,
        };
        Ok(Self {
            assignment,
            context,
            sandbox: resolver.sandbox(&assignment.placement),
            workspace: resolver.workspace_directory(&assignment.job.workspace)?,
            agent_directory,
            variables: context.environment(&assignment.variables)?,
            callback,
            output_bytes_max: assignment.output_bytes_max.min(JOB_OUTPUT_BYTES_MAX),
        })
    }

    /// Returns the key of the slots that the job may use.
    pub(super) fn slot_key(&self) -> SlotKey {
        match &self.sandbox {
            TurnSandbox::In(session) => {
                let confinement = without_home(session.confinement());
                let user = session.sandbox().owner_of_files(&confinement);
                SlotKey { confinement: confinement.hash(), user }
            }
            TurnSandbox::Off | TurnSandbox::Missing(_) => {
                SlotKey { confinement: Confinement::unconfined().hash(), user: None }
            }
        }
    }

    /// Runs the job, or returns the reason why it was not started.
    pub(super) fn run(&self, slot: &Slot) -> Result<JobOutcome, String> {
        let Self { assignment, .. } = self;
        let input = serde_json::to_vec(&assignment.input).map_err(|error| error.to_string())?;
        let prepared = self.prepare(slot, &input)?;
        let mut env = self.env(slot, &prepared);
        if let Some(folder) = &assignment.artifacts {
            let folder = slot.make_folder(folder).map_err(own_files)?;
            env.push(("AGENTRY_ARTIFACTS".into(), folder.into()));
        }
        let pipes = self.callback.map(|callback| Ok((callback, Pipes::make(&slot.own())?)));
        let pipes = pipes.transpose().map_err(own_files)?;
        if let Some((_, pipes)) = &pipes {
            env.push(("AGENTRY_CALL".into(), pipes.call.clone().into()));
            env.push(("AGENTRY_ANSWER".into(), pipes.answer.clone().into()));
        }
        let command = Command {
            program: prepared.program.into(),
            args: assignment.args.iter().map(OsString::from).collect(),
            cwd: Cwd::Path(self.workspace.clone()),
            env,
            stdin: Some(input),
            streams: Streams::Apart,
        };
        let over = CancelToken::new();
        thread::scope(|scope| {
            if let Some((callback, pipes)) = pipes {
                let over = over.clone();
                scope.spawn(move || pipes.serve(callback, &over));
            }
            let outcome = self.execute(slot, &command);
            over.stop();
            outcome
        })
    }

    /// Compares the program with its trusted state, and writes its files.
    fn prepare(&self, slot: &Slot, input: &[u8]) -> Result<PreparedProgram, String> {
        match (&self.assignment.program, self.agent_directory) {
            (JobProgram::File { path, tree }, Some(directory)) => {
                self.prepare_copy(slot, input, &TreeProgram { path, tree, directory })
            }
            (JobProgram::Stored(Base64Bytes(text)), _) => {
                self.check_hash(&ContentHash::of(text))?;
                let path = slot.fill(input, Some(text)).map_err(own_files)?;
                let program = path.ok_or("its text was not written")?;
                Ok(PreparedProgram { program, agent_directory: None })
            }
            (JobProgram::File { .. }, None) => Err("it is not trusted".to_owned()),
        }
    }

    fn prepare_copy(
        &self,
        slot: &Slot,
        input: &[u8],
        program: &TreeProgram<'_>,
    ) -> Result<PreparedProgram, String> {
        let TreeProgram { path, tree, directory } = program;
        let files = program_copy::read_verified(directory, tree)?;
        let file = files.file(path).ok_or_else(|| format!("{path} is not there"))?;
        self.check_hash(&file.hash)?;
        // Without a sandbox a program could have changed the copy that it ran from.
        if let TurnSandbox::Off = self.sandbox {
            slot.forget_copies().map_err(own_files)?;
        }
        let write = |to: &Path| program_copy::write(&files, directory, to);
        let copy = slot.copy(&tree.hash, write).map_err(own_files)?;
        slot.fill(input, None).map_err(own_files)?;
        Ok(PreparedProgram { program: copy.join(path), agent_directory: Some(copy) })
    }

    fn check_hash(&self, hash: &ContentHash) -> Result<(), String> {
        let job = &self.assignment.job;
        if *hash == job.hash {
            return Ok(());
        }
        Err(format!("{} has changed since it was trusted, so it was not run", job.program))
    }

    fn env(&self, slot: &Slot, prepared: &PreparedProgram) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> =
            FIXED.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let kind = match self.assignment.file_variables {
            FileVariables::Hook => "HOOK",
            FileVariables::Tool => "TOOL",
        };
        for mark in ["AGENTRY", "CYBROS"] {
            env.push((format!("{mark}_{kind}_INPUT").into(), slot.input().into()));
            env.push((format!("{mark}_{kind}_OUTPUT").into(), slot.output().into()));
        }
        env.push(("AGENTRY_WORKSPACE".into(), self.workspace.clone().into()));
        if let Some(directory) = &prepared.agent_directory {
            env.push(("AGENTRY_AGENT_DIR".into(), directory.into()));
        }
        env.push(("PYTHONPYCACHEPREFIX".into(), slot.no_cache().into()));
        let libraries = slot.libraries();
        for (name, folder) in [("RUBYLIB", "ruby"), ("PYTHONPATH", "python"), ("NODE_PATH", "node")]
        {
            env.push((name.into(), libraries.join(folder).into()));
        }
        env.push(("AGENTRY_SH".into(), libraries.join("sh/agentry.sh").into()));
        let variables = self.variables.iter();
        env.extend(variables.map(|(name, value)| (name.into(), value.expose_secret().into())));
        env
    }

    /// Runs the command in the sandbox of the job.
    fn execute(&self, slot: &Slot, command: &Command) -> Result<JobOutcome, String> {
        let time = Duration::from_millis(self.assignment.job.timeout_ms);
        let bounds = ProcessBounds { time, output_bytes_max: self.output_bytes_max };
        let stop = self.context.stop;
        let lines = StderrLines::new(self.context.on_line);
        let listener = |source: OutputSource, piece: &[u8]| lines.take(source, piece);
        let (result, refused) = match &self.sandbox {
            TurnSandbox::Missing(why) => return Err(why.to_string()),
            TurnSandbox::Off => (
                agentry_sandbox::run_with_listener(command, &bounds, stop, Some(&listener)),
                Vec::new(),
            ),
            TurnSandbox::In(session) => {
                let confinement = &self.confinement(session.confinement(), slot);
                let refused = RefusedConnections::default();
                let connected = refused.listener(session);
                let (bounds, hear) = (&bounds, Some(&listener as &dyn Fn(OutputSource, &[u8])));
                let job = SandboxJob { command, confinement, bounds, connected, hear };
                (session.sandbox().run(&job, stop), refused.take())
            }
        };
        lines.end();
        match result {
            Ok(process) => Ok(self.outcome(slot, &process, &refused)),
            Err(error @ (Error::ProgramNotFound { .. } | Error::NotExecutable { .. })) => {
                Err(format!("{error}; check its first line, which names its interpreter"))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the agent's confinement, extended by the job's own files.
    fn confinement(&self, of_agent: &Confinement, slot: &Slot) -> Confinement {
        let mut confinement = without_home(of_agent);
        let shown = |path: &Path| path.display().to_string();
        let add = |list: &mut Vec<String>, path: String| {
            if !list.contains(&path) {
                list.push(path);
            }
        };
        add(&mut confinement.allow_read, shown(&slot.given()));
        // Of its agent's directory a program sees only the copy, unless it works there.
        let directory = self.agent_directory.filter(|one| !self.workspace.starts_with(one));
        if let Some(directory) = directory {
            confinement.allow_read.retain(|path| *path != shown(directory));
            // Landlock cannot deny a part of an allowed directory.
            if confinement.level != ConfinementLevel::Landlock {
                add(&mut confinement.deny_read, shown(directory));
            }
        }
        add(&mut confinement.allow_write, shown(&slot.own()));
        confinement
    }

    /// Returns the outcome of a program that was started.
    fn outcome(&self, slot: &Slot, process: &ProcessOutcome, refused: &[String]) -> JobOutcome {
        let seconds = process.duration.as_secs_f64();
        let (mut state, exit_code, mut why) = match process.ending {
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
            ProcessEnding::Stopped => {
                (JobState::Cancelled, None, Some("it was stopped".to_owned()))
            }
        };
        let broken = process.violations.iter().map(|line| format!("policy_violation: {line}"));
        let mut denied: Vec<String> = refused.iter().cloned().chain(broken).collect();
        denied.dedup();
        if state == JobState::Succeeded && !process.violations.is_empty() {
            state = JobState::Failed;
            why = Some("it changed protected files; the change was undone".to_owned());
        }
        let stderr = end_of(&process.stderr);
        let (artifacts, notes) = match &self.assignment.artifacts {
            Some(folder) if state == JobState::Succeeded => slot.collect(folder),
            Some(_) | None => Default::default(),
        };
        denied.extend(notes);
        let report = JobReport {
            exit_code,
            duration_ms: u64::try_from(process.duration.as_millis()).ok(),
            why,
            stderr: (!stderr.trim().is_empty()).then(|| stderr.clone()),
            left_behind: (process.left_behind > 0).then_some(process.left_behind),
            denied,
        };
        let bytes_max = self.output_bytes_max;
        let stdout = match process.stdout.whole() {
            Some(whole) if whole.is_empty() => None,
            Some(whole) => Some(Ok(Base64Bytes(whole))),
            None => Some(Err(format!("its standard output has more than {bytes_max} bytes"))),
        };
        let file = slot.read_output(bytes_max).map(|read| read.map(Base64Bytes));
        let output = JobOutput { file, stdout, stderr, artifacts };
        JobOutcome { state, report, output }
    }
}

/// A program in the directory of an agent.
struct TreeProgram<'a> {
    path: &'a str,
    tree: &'a AgentTree,
    directory: &'a Path,
}

/// Returns the confinement without a shared home: files that a command left in one could be loaded
/// by a program, and reach its secrets.
fn without_home(confinement: &Confinement) -> Confinement {
    Confinement { home: None, ..confinement.clone() }
}

fn own_files(error: std::io::Error) -> String {
    format!("its files cannot be created: {error}")
}

/// The connections of a job that the sandbox refused, one line each.
#[derive(Default)]
struct RefusedConnections(Arc<Mutex<Vec<String>>>);

impl RefusedConnections {
    /// Returns a listener that keeps the refused connections, and reports all to the session.
    fn listener(&self, session: &SandboxSession) -> Arc<dyn Fn(Connection) + Send + Sync> {
        let (report, lines) = (session.connected(), self.0.clone());
        Arc::new(move |connection: Connection| {
            if let Some(line) = connection.denial() {
                lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
            report(connection);
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
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
    on_line: &'a dyn Fn(&str),
    rest: RefCell<Vec<u8>>,
    reported: Cell<usize>,
}

impl<'a> StderrLines<'a> {
    fn new(on_line: &'a dyn Fn(&str)) -> Self {
        Self { on_line, rest: RefCell::default(), reported: Cell::new(0) }
    }

    fn take(&self, source: OutputSource, piece: &[u8]) {
        if source == OutputSource::Output || self.reported.get() >= PROGRESS_LINES_MAX {
            return;
        }
        let mut rest = self.rest.borrow_mut();
        for byte in piece {
            match byte {
                b'\n' => {
                    self.report(&rest);
                    rest.clear();
                }
                // Four bytes for each character, and no more than is shown.
                _ if rest.len() < PROGRESS_CHARS_MAX * 4 => rest.push(*byte),
                _ => {}
            }
        }
    }

    fn report(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line: String = line.trim().chars().take(PROGRESS_CHARS_MAX).collect();
        if !line.is_empty() && self.reported.get() < PROGRESS_LINES_MAX {
            self.reported.set(self.reported.get() + 1);
            (self.on_line)(&line);
        }
    }

    fn end(&self) {
        self.report(&self.rest.borrow());
    }
}
