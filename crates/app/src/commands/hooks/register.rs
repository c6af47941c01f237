//! `agentry hooks register` and `update`: stores a hook, or a new version of it, from a script.
//!
//! Must never: accept a script that cannot run, or run text that changed after registration.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use agentry_agentfile::diagnostic::{Diagnostic, Findings, Severity};
use agentry_agentfile::event_hook::{self, HookManifest};
use agentry_agentfile::limits::{EVENT_HOOK_TIMEOUT_MS_DEFAULT, FILE_BYTES_MAX};
use agentry_agentfile::source::{SourceText, Span};
use agentry_agentfile::yaml;
use agentry_protocol::event_hook::{EventHook, HookMode, Triggers};
use agentry_runtime::commands::CommandError;
use agentry_runtime::commands::event_hooks::{self, HookRequest};
use agentry_runtime::limits::HOOK_FILE_BYTES_MAX;
use agentry_store::Ledger;
use clap::Args;
use serde_json::Map;

use super::{author, find, say};
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::commands::grants::context;
use crate::fault::{Blame, Fault};

#[derive(Args)]
pub(crate) struct Options {
    /// The script: an executable file
    script: PathBuf,
    #[command(flatten)]
    said: HookFieldOptions,
}

#[derive(Args)]
pub(crate) struct UpdateOptions {
    /// The hook, by its name, its id or a part of the id
    hook: String,
    /// The script: an executable file
    script: PathBuf,
    #[command(flatten)]
    said: HookFieldOptions,
}

/// Options that override the file beside the script.
#[derive(Args)]
pub(crate) struct HookFieldOptions {
    /// The name [default: from the YAML file or the script's]
    #[arg(long)]
    name: Option<String>,
    /// persistent, or one-shot (disabled after it fires)
    #[arg(long, value_name = "MODE")]
    mode: Option<HookMode>,
    /// The purpose of the hook
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The settings passed to the script, as a JSON object
    #[arg(long, value_name = "JSON")]
    hook_config: Option<String>,
    /// A file with the triggers, as YAML or JSON
    #[arg(long, value_name = "FILE")]
    trigger: Option<PathBuf>,
}

/// An executable script that was read completely.
struct HookScript {
    path: String,
    text: Vec<u8>,
}

pub(super) fn run(host: &CliContext, ledger: &Ledger, options: &Options) -> Result<(), Fault> {
    let script = script(&options.script)?;
    let manifest = beside(&options.script)?.unwrap_or_else(|| unsaid(&options.script));
    let request = request(host, options.said.over(manifest)?, script)?;
    let redactor = host.redactor()?;
    let hook = event_hooks::register(context(ledger, &redactor), request);
    tell(&hook.map_err(hook_fault)?)
}

pub(super) fn update(
    host: &CliContext,
    ledger: &Ledger,
    options: &UpdateOptions,
) -> Result<(), Fault> {
    let before = find(ledger, &options.hook)?.hook;
    let script = script(&options.script)?;
    let id = before.id;
    let manifest = HookManifest {
        name: before.name.clone(),
        ..beside(&options.script)?.unwrap_or(HookManifest {
            name: before.name,
            description: before.description,
            mode: before.mode,
            triggers: before.triggers,
            config: before.config,
            timeout_ms: before.program.timeout_ms,
            model: before.program.model,
        })
    };
    let request = request(host, options.said.over(manifest)?, script)?;
    let version = event_hooks::update(ledger, &id, request).map_err(hook_fault)?;
    tell(&version.hook)?;
    if version.is_disabled {
        say(&version.hook.name, "stays disabled")?;
    }
    Ok(())
}

fn request(
    host: &CliContext,
    manifest: HookManifest,
    script: HookScript,
) -> Result<HookRequest, Fault> {
    Ok(HookRequest {
        manifest,
        manifest_from: "the command line".to_owned(),
        script_path: script.path,
        script: script.text,
        by: author(host)?,
    })
}

fn tell(hook: &EventHook) -> Result<(), Fault> {
    let EventHook { id, name, version, .. } = hook;
    writeln!(crate::output::stdout().lock(), "{id}  {name} version {version}")?;
    Ok(())
}

fn hook_fault(error: CommandError) -> Fault {
    match error {
        CommandError::WrongHook { file, findings } => {
            wrong(&findings.iter().collect::<Vec<_>>(), &file)
        }
        error => command_fault(error),
    }
}

/// Reads a script. Fails if it is not an executable file.
fn script(path: &Path) -> Result<HookScript, Fault> {
    let shown = path.display();
    let wrong = |what: &str, hint: &str| {
        Err(Fault::new(Blame::Caller, format!("{shown} {what}")).hint(hint))
    };
    let unreadable = |error: io::Error| {
        Fault::new(Blame::Caller, format!("cannot read {shown}: {error}"))
            .hint("name an executable file")
    };
    let full = path.canonicalize().map_err(unreadable)?;
    let metadata = full.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return wrong("is not a regular file", "name an executable file");
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return wrong("is not executable", &format!("run `chmod +x {shown}`"));
    }
    let mut text = Vec::new();
    let file = fs::File::open(&full).map_err(unreadable)?;
    // One byte more than allowed, so that a script that is too large is refused.
    file.take(HOOK_FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(unreadable)?;
    Ok(HookScript { path: full.display().to_string(), text })
}

/// Reads the YAML file beside a script. Returns None if there is none.
fn beside(script: &Path) -> Result<Option<HookManifest>, Fault> {
    for ending in ["yml", "yaml"] {
        let path = script.with_extension(ending);
        if path == script {
            continue;
        }
        if let Some(text) = text(&path)? {
            return checked(&text, &path.display().to_string()).map(Some);
        }
    }
    Ok(None)
}

/// Returns the manifest of a script without a YAML file.
fn unsaid(script: &Path) -> HookManifest {
    let stem = script.file_stem().unwrap_or_default().to_string_lossy();
    HookManifest {
        name: stem.to_lowercase(),
        description: None,
        mode: HookMode::default(),
        triggers: Triggers::default(),
        config: Map::new(),
        timeout_ms: EVENT_HOOK_TIMEOUT_MS_DEFAULT,
        model: false,
    }
}

impl HookFieldOptions {
    /// Returns the manifest with these options applied.
    fn over(&self, mut manifest: HookManifest) -> Result<HookManifest, Fault> {
        if let Some(name) = &self.name {
            manifest.name.clone_from(name);
        }
        manifest.mode = self.mode.unwrap_or(manifest.mode);
        if let Some(description) = &self.description {
            manifest.description = Some(description.clone());
        }
        if let Some(config) = &self.hook_config {
            manifest.config = serde_json::from_str(config).map_err(|error| {
                Fault::new(Blame::Caller, format!("--hook-config is not a JSON object: {error}"))
                    .hint("write it as in --hook-config '{\"level\": 3}'")
            })?;
        }
        if let Some(path) = &self.trigger {
            manifest.triggers = triggers(path)?;
        }
        Ok(manifest)
    }
}

/// Reads triggers from a file: from its `triggers` field, or else the whole file.
fn triggers(path: &Path) -> Result<Triggers, Fault> {
    let shown = path.display().to_string();
    let missing = || {
        Fault::new(Blame::Caller, format!("cannot read {shown}: it does not exist"))
            .hint("name a file with the triggers of the hook")
    };
    let text = text(path)?.ok_or_else(missing)?;
    let source = SourceText::new(shown.as_str(), text);
    let mut findings = Findings::default();
    let node = yaml::parse(&source, Span::new(0, source.text.len()), &mut findings);
    let value = node.map(|node| node.to_value());
    let value = value.ok_or_else(|| wrong(&findings.sorted(), &shown))?;
    let value = value.get("triggers").cloned().unwrap_or(value);
    serde_json::from_value(value).map_err(|error| {
        Fault::new(Blame::Caller, format!("{shown} has no valid triggers: {error}"))
            .hint("write `principal` and `event`, as under `triggers` in the file beside a script")
    })
}

fn checked(text: &str, file: &str) -> Result<HookManifest, Fault> {
    let mut findings = Findings::default();
    event_hook::read(text, file, &mut findings).ok_or_else(|| wrong(&findings.sorted(), file))
}

fn wrong(findings: &[&Diagnostic], file: &str) -> Fault {
    let errors = findings.iter().filter(|one| one.severity == Severity::Error);
    let lines: Vec<String> = errors.map(|one| format!("\n  {}", one.brief())).collect();
    Fault::new(Blame::Caller, format!("{file} does not describe a hook:{}", lines.concat()))
        .hint("nothing was registered")
}

/// Reads a file as text. Returns None if it does not exist.
fn text(path: &Path) -> Result<Option<String>, Fault> {
    let unreadable = |error: io::Error| {
        Fault::new(Blame::Caller, format!("cannot read {}: {error}", path.display()))
    };
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    let mut text = String::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    let read = file.take(FILE_BYTES_MAX as u64 + 1).read_to_string(&mut text);
    read.map_err(unreadable)?;
    Ok(Some(text))
}
