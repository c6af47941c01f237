//! `agentry sandbox run` runs a command; `agentry sandbox explain` shows an agent's confinement.
//!
//! Must never: run a command without a sandbox.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::FileTree;
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::confinement::{HOME_DENIED, TOOLCHAINS};
use agentry_protocol::confinement::{
    Confinement, ConfinementLevel, ConfinementLimits, ConfinementProfile, Connection, GitAccess,
    NetworkAccess, ReadAccess,
};
use agentry_runtime::Enforcer;
use agentry_sandbox::{
    CancelToken, Command, Cwd, Error, OutputSource, ProcessBounds, ProcessEnding, ProcessOutcome,
    Sandbox, SandboxJob, Streams, denied_paths,
};
use clap::Args;
use serde_json::json;

use super::{AgentSelection, OutputFormat, show_agent};
use crate::cli_context::CliContext;
use crate::fault::{Blame, Fault};
use crate::limits::SANDBOX_OUTPUT_BYTES_MAX;
use crate::{bootstrap, sandbox_setup};

#[derive(Args)]
pub(crate) struct SandboxRunOptions {
    /// Allow writes to a directory (repeatable)
    #[arg(long, value_name = "PATH")]
    allow_write: Vec<PathBuf>,
    /// Allow reads of a path beyond the default (repeatable)
    #[arg(long, value_name = "PATH")]
    allow_read: Vec<PathBuf>,
    /// Deny reads of a path (repeatable)
    #[arg(long, value_name = "PATH")]
    deny_read: Vec<PathBuf>,
    /// Allow connections to a host (repeatable)
    #[arg(long, value_name = "HOST")]
    allow_domain: Vec<String>,
    /// Treat a private address as public (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    allow_address: Vec<String>,
    /// Allow writes to .git, except its hooks and settings
    #[arg(long)]
    git_write: bool,
    /// End the command after this many seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<std::ffi::OsString>,
}

#[derive(Args)]
pub(crate) struct SandboxExplainOptions {
    #[command(flatten)]
    which: AgentSelection,
    /// Output format of the report
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

/// Exit code if the sandbox does not work, as `env` and `timeout` have it.
const BROKEN: u8 = 125;
/// Exit code after a timeout.
const TIMED_OUT: u8 = 124;
/// Exit code if the command cannot be run.
const NOT_EXECUTABLE: u8 = 126;
/// Exit code if the command does not exist.
const NOT_FOUND: u8 = 127;

pub(crate) fn run(host: &CliContext, options: &SandboxRunOptions) -> Result<ExitCode, Fault> {
    let settings = host.settings(&FileTree::new(""), &mut Findings::default());
    let setup = sandbox_setup::setup(&host.environment);
    let opened = Sandbox::open(&setup, sandbox_setup::minimum(settings.sandbox()));
    let (sandbox, _) = match opened {
        Ok(opened) => opened,
        Err(unavailable) => {
            say(&format!("error: {unavailable}\n  hint: `agentry doctor` shows how to fix it"));
            return Ok(ExitCode::from(BROKEN));
        }
    };
    let confinement = Confinement { level: sandbox.level(), ..confinement(host, options)? };
    let cwd = std::env::current_dir().map_err(|error| {
        Fault::new(Blame::Caller, format!("cannot read the current directory: {error}"))
    })?;
    let mut words = options.command.iter().cloned();
    let command = Command {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        cwd: Cwd::Path(cwd.clone()),
        env: Vec::new(),
        stdin: None,
        streams: Streams::Apart,
    };
    let relay = OutputRelay::default();
    let hear = |source: OutputSource, piece: &[u8]| relay.write(source, piece);
    let connected = Arc::new(|connection: Connection| {
        if let Some(denial) = connection.denial() {
            say(&denial);
        }
    });
    let job = SandboxJob {
        command: &command,
        confinement: &confinement,
        bounds: &ProcessBounds {
            time: Duration::from_millis(confinement.limits.timeout_ms),
            output_bytes_max: SANDBOX_OUTPUT_BYTES_MAX,
        },
        connected,
        hear: Some(&hear),
    };
    let code = match sandbox.run(&job, &CancelToken::new()) {
        Ok(finished) => tell(&finished, &confinement, &cwd),
        Err(error) => not_run(&error),
    };
    Ok(ExitCode::from(match relay.finish() {
        Ok(()) => code,
        Err(error) => {
            say(&format!("error: cannot write the output of the command: {error}"));
            BROKEN
        }
    }))
}

/// Writes the output of a command to our own.
#[derive(Default)]
struct OutputRelay {
    /// The first failure to write.
    failure: Mutex<Option<io::Error>>,
}

impl OutputRelay {
    /// Writes a piece. After a failure the command continues, since it may do more than print.
    fn write(&self, source: OutputSource, piece: &[u8]) {
        let written = match source {
            OutputSource::Output => io::stdout().write_all(piece),
            OutputSource::Errors => io::stderr().write_all(piece),
        };
        if let Err(error) = written {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Fails if a part of the output was lost. A reader that left, as `head` does, wants no more.
    fn finish(&self) -> io::Result<()> {
        let flushed = io::stdout().flush();
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failure.map_or(flushed, Err) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
}

/// Returns the confinement from the options alone; no agent's settings apply.
fn confinement(host: &CliContext, options: &SandboxRunOptions) -> Result<Confinement, Fault> {
    let real = |path: &PathBuf| {
        let real = path.canonicalize().map_err(|error| {
            Fault::new(Blame::Caller, format!("cannot use {}: {error}", path.display()))
                .hint("name an existing path")
        })?;
        Ok(real.display().to_string())
    };
    let all = |paths: &[PathBuf]| paths.iter().map(real).collect::<Result<Vec<String>, Fault>>();
    let home = host.environment.home.as_deref();
    let in_home = |names: &[&str]| -> Vec<String> {
        let home = home.into_iter();
        home.flat_map(|home| names.iter().map(move |name| home.join(name).display().to_string()))
            .collect()
    };
    let mut allow_read = all(&options.allow_read)?;
    allow_read.extend(in_home(&TOOLCHAINS).into_iter().filter(|path| Path::new(path).exists()));
    allow_read.push(real(&PathBuf::from("."))?);
    let mut deny_read = all(&options.deny_read)?;
    deny_read.extend(in_home(&HOME_DENIED));
    deny_read.extend(host.environment.state.iter().map(|state| state.display().to_string()));
    let network = match (&*options.allow_domain, &*options.allow_address) {
        ([], _) => NetworkAccess::None,
        (allow, addresses) => {
            NetworkAccess::Domains { allow: allow.to_vec(), addresses: addresses.to_vec() }
        }
    };
    let limits = ConfinementLimits::default();
    let timeout_ms =
        options.timeout.map_or(limits.timeout_ms, |seconds| seconds.saturating_mul(1000));
    Ok(Confinement {
        profile: ConfinementProfile::Trusted,
        reading: ReadAccess::Strict,
        allow_read,
        allow_write: all(&options.allow_write)?,
        deny_read,
        git: if options.git_write { GitAccess::Write } else { GitAccess::Read },
        network,
        limits: ConfinementLimits { timeout_ms, ..limits },
        ..Confinement::most_restricted()
    })
}

/// Reports denied paths and violations, and returns the exit code.
fn tell(finished: &ProcessOutcome, confinement: &Confinement, cwd: &Path) -> u8 {
    if finished.ending != ProcessEnding::Exited(0) {
        let errors = String::from_utf8_lossy(finished.stderr.head()).into_owned();
        for denied in denied_paths(&errors, confinement, cwd) {
            say(&denied.to_string());
        }
    }
    for violation in &finished.violations {
        say(&format!("policy_violation: {violation}"));
    }
    match finished.ending {
        ProcessEnding::Exited(code) => u8::try_from(code).unwrap_or(1),
        // The exit code that a shell returns for a signal.
        ProcessEnding::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(1),
        ProcessEnding::TimedOut => {
            say("timeout: all processes of the command were killed");
            TIMED_OUT
        }
        ProcessEnding::OutOfMemory => {
            say("memory limit: all processes of the command were killed");
            128 + 9
        }
        ProcessEnding::Stopped => 128 + 15,
    }
}

fn not_run(error: &Error) -> u8 {
    say(&format!("error: {error}"));
    match error {
        Error::ProgramNotFound { .. } => NOT_FOUND,
        Error::NotExecutable { .. } | Error::TooLong { .. } | Error::NoDirectory { .. } => {
            NOT_EXECUTABLE
        }
        Error::NotStarted { .. }
        | Error::Sandbox { .. }
        | Error::Unwatched(_)
        | Error::Unkillable(_) => BROKEN,
    }
}

fn say(text: &str) {
    crate::output::write_stderr_line(&crate::diagnostics::visible(text));
}

pub(crate) fn explain(
    host: &CliContext,
    options: &SandboxExplainOptions,
) -> Result<ExitCode, Fault> {
    let directory = options.which.dir.clone();
    let loaded = host.load(&directory, SkillLevel::Extended)?;
    let id = show_agent::choose(&loaded, &options.which)?.id.clone();
    let enforcer = sandbox_setup::open(&host.environment, loaded.library.settings.sandbox());
    let definitions = bootstrap::definitions(host, &loaded, &directory, enforcer.level())?;
    let agent = definitions.library.agents.get(id.as_str());
    let agent = agent.ok_or_else(|| Fault::new(Blame::Agent, format!("there is no agent {id}")))?;
    let (confinement, notes) = definitions.confinement(agent).map_err(bootstrap::fault)?;
    let missing = match &enforcer {
        Enforcer::Missing(why) => Some(why.as_str()),
        Enforcer::Sandbox(_) | Enforcer::Off => None,
    };
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => {
            let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
            let value = json!({
                "agent": id, "confinement": confinement, "hash": confinement.hash(),
                "left_out": notes, "missing": missing,
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        }
        OutputFormat::Text => {
            write!(out, "{}", explained(&confinement))?;
            for note in &notes {
                writeln!(out, "left out: {note}")?;
            }
            if let Some(why) = missing {
                writeln!(out, "No sandbox works here, so no command runs: {why}")?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Describes a confinement for people, one path or limit per line.
fn explained(confinement: &Confinement) -> String {
    use std::fmt::Write as _;
    if confinement.level == ConfinementLevel::Off {
        return "The sandbox is off: commands can do everything that you can.\n".to_owned();
    }
    let mut text = String::new();
    let profile = serde_json::to_value(confinement.profile).unwrap_or_default();
    let profile = profile.as_str().unwrap_or_default();
    let mut list = |head: &str, first: &[&str], paths: &[String]| {
        let all = first.iter().copied().chain(paths.iter().map(String::as_str));
        for (at, line) in all.enumerate() {
            let head = if at == 0 { head } else { "" };
            writeln!(text, "{head:<10} {line}").expect("writing to a string cannot fail");
        }
    };
    list("level", &[confinement.level.as_str()], &[]);
    list("profile", &[profile], &[]);
    let system = match confinement.reading {
        ReadAccess::Strict => "the system's programs, libraries and public settings",
        ReadAccess::Broad => "everything except the denied paths",
    };
    list("reads", &[system], &confinement.allow_read);
    list("", &["never:"], &[]);
    list("", &[], &confinement.deny_read);
    let home = match &confinement.home {
        Some(home) => format!("its own home, kept in {home}"),
        None if confinement.profile == ConfinementProfile::Untrusted => {
            "its own home, removed after each call".to_owned()
        }
        None => "its own home, removed with the run".to_owned(),
    };
    list("writes", &["its own /tmp and /dev/shm", &home], &confinement.allow_write);
    let git = match confinement.git {
        GitAccess::Read => "never: .git, hooks, editor and shell settings, in any directory",
        GitAccess::Write => "never: the hooks and settings of .git, editor and shell settings",
    };
    list("", &[git], &confinement.deny_write);
    match &confinement.network {
        NetworkAccess::None => list("reaches", &["nothing"], &[]),
        NetworkAccess::Domains { allow, .. } if allow.is_empty() => {
            list("reaches", &["nothing"], &[])
        }
        NetworkAccess::Domains { allow, addresses } => {
            list("reaches", &[], allow);
            list("", &[], addresses);
        }
    }
    let limits = confinement.limits;
    let spends = [
        format!("{} s for a command", limits.timeout_ms / 1000),
        format!("{} MiB of memory", limits.memory_bytes >> 20),
        format!("{} processes", limits.processes),
        format!("{} MiB of temporary files, and of any one file", limits.disk_bytes >> 20),
        format!("{} open files", limits.files),
    ];
    list("spends", &[], &spends);
    text
}
