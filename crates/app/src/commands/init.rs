//! `agentry init`: creates an agent in a new directory, with git history.
//!
//! The source is a bundled profile, a git repository, another directory, or nothing (blank).
//!
//! Must never: write into a directory that is not empty, or run a program of the source.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::skill::SkillLevel;
use agentry_agentfile::source::SourceText;
use agentry_agentfile::{config, toml};
use agentry_runtime::definitions::project_loader::is_of_home;
use clap::{ArgGroup, Args, ValueEnum};
use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature};
use rust_embed::RustEmbed;

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::diagnostics::{self, visible};
use crate::fault::{Blame, Fault};
use crate::foreign_tree::{self, SkippedEntry};
use crate::trust::{self, TrustReview};

#[derive(RustEmbed)]
#[folder = "../../agents"]
struct BundledProfiles;

#[derive(Args)]
#[command(group = ArgGroup::new("origin").args(["profile", "from", "blank"]))]
pub(crate) struct Options {
    /// The directory to create; it must be new or empty
    dir: PathBuf,
    /// The bundled profile to copy [default: default-assistant]
    #[arg(long, value_enum)]
    profile: Option<BundledProfile>,
    /// The git address or directory to copy
    #[arg(long, value_name = "URL|PATH")]
    from: Option<String>,
    /// Create the smallest agent that loads
    #[arg(long)]
    blank: bool,
    /// A value for the template, as {{ args.KEY }} (repeatable)
    #[arg(long = "arg", value_name = "KEY=VALUE")]
    args: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum BundledProfile {
    /// A general assistant
    DefaultAssistant,
    /// A coding agent
    Coder,
    /// A macOS automation agent
    MacAssistant,
}

impl BundledProfile {
    fn name(self) -> &'static str {
        match self {
            Self::DefaultAssistant => "default-assistant",
            Self::Coder => "coder",
            Self::MacAssistant => "mac-assistant",
        }
    }
}

pub(crate) fn run(host: &CliContext, options: Options) -> Result<ExitCode, Fault> {
    let args = parsed_args(&options.args)?;
    refuse_if_not_empty(&options.dir)?;
    let was_there = options.dir.exists();
    match make(&options, &args) {
        Ok(origin) => {
            let code = report(host, &options.dir, &origin)?;
            settle(host, &options)?;
            Ok(code)
        }
        Err(fault) => match undo(&options.dir, was_there) {
            Ok(()) => Err(fault),
            Err(error) => {
                let left = format!(
                    "remove the remaining files in {} by hand: {error}",
                    options.dir.display()
                );
                Err(fault.hint(left))
            }
        },
    }
}

/// Writes the agent and its history. Returns the name of the source.
fn make(options: &Options, args: &[(String, String)]) -> Result<String, Fault> {
    let dir = &options.dir;
    let (origin, message) = match (&options.from, options.blank) {
        (Some(from), _) => {
            bring(from, dir)?;
            let from = without_credentials(from);
            let message = format!("Create the agent from {from}");
            (from, message)
        }
        (None, true) => {
            write_blank(dir)?;
            ("blank".to_owned(), "Create a blank agent".to_owned())
        }
        (None, false) => {
            let profile = options.profile.unwrap_or(BundledProfile::DefaultAssistant).name();
            write_profile(dir, profile)?;
            (profile.to_owned(), format!("Create the agent from the profile {profile}"))
        }
    };
    write_settings(dir, &origin, args)?;
    commit_all(dir, &message)?;
    Ok(origin)
}

/// Removes the files of a failed attempt, so that the next attempt finds an empty directory.
fn undo(dir: &Path, was_there: bool) -> io::Result<()> {
    if !dir.exists() {
        return Ok(());
    }
    if !was_there {
        return fs::remove_dir_all(dir);
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?
        } else {
            fs::remove_file(entry.path())?
        }
    }
    Ok(())
}

fn report(host: &CliContext, dir: &Path, origin: &str) -> Result<ExitCode, Fault> {
    let mut out = crate::output::stdout().lock();
    let shown = dir.display();
    writeln!(out, "created {shown} from {origin}")?;
    let loaded = host.load(dir, SkillLevel::Extended)?;
    let mut shown_findings = loaded.findings.sorted();
    shown_findings.retain(|one| !is_of_home(&one.file));
    let count = diagnostics::text(&loaded.findings, &shown_findings, &mut out)?;
    if count.errors > 0 {
        writeln!(out, "it does not load yet: {}", diagnostics::plural(count.errors, "error"))?;
        return Ok(ExitCode::FAILURE);
    }
    if loaded.library.agents.is_empty() {
        writeln!(out, "it has no agent yet; `agentry explain E0108` lists the expected files")?;
        return Ok(ExitCode::FAILURE);
    }
    writeln!(
        out,
        "next: edit {shown}/AGENT.md, then `agentry check {shown}` and `agentry show prompt {shown}`"
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Trusts the programs of a bundled profile; programs from elsewhere need the owner's review.
fn settle(host: &CliContext, options: &Options) -> Result<(), Fault> {
    let directory = bootstrap::enter_project(&options.dir)?;
    let loaded = host.load(Path::new("."), SkillLevel::Extended)?;
    let definitions =
        bootstrap::definitions(host, &loaded, &directory, bootstrap::wanted_level(&loaded))?;
    let agents = loaded.library.agents.values().filter(|agent| !is_of_home(&agent.directory));
    for agent in agents {
        let Ok(manifest) = trust::manifest(&loaded.library, agent) else { continue };
        if manifest.is_empty() {
            continue;
        }
        if options.from.is_some() {
            let place = agentry_runtime::definitions::trust::trust_arguments(&definitions, agent);
            let mut out = crate::output::stdout().lock();
            writeln!(
                out,
                "it brings programs; review them before they run: agentry trust {place}"
            )?;
        } else {
            let ledger = bootstrap::open_ledger(host)?;
            let looking = TrustReview::at(host, &ledger, &loaded, &definitions);
            looking.record(looking.seen(agent)?)?;
        }
    }
    Ok(())
}

fn parsed_args(args: &[String]) -> Result<Vec<(String, String)>, Fault> {
    let one = |arg: &String| match arg.split_once('=') {
        Some((key, value))
            if !key.is_empty()
                && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') =>
        {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(Fault::new(Blame::Caller, format!("`--arg {arg}` is not KEY=VALUE"))
            .hint("write --arg tone=friendly; keys have letters, digits, `_` and `-`")),
    };
    args.iter().map(one).collect()
}

fn refuse_if_not_empty(dir: &Path) -> Result<(), Fault> {
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Fault::new(Blame::Caller, format!("{} is not empty", dir.display()))
                .hint("name a new directory; nothing was written")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => {
            Err(Fault::new(Blame::Caller, format!("{} cannot be used: {error}", dir.display()))
                .hint("name a new directory; nothing was written"))
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Fault {
    Fault::new(Blame::Machine, format!("cannot write {}: {error}", path.display()))
}

fn write(path: &Path, content: &[u8]) -> Result<(), Fault> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| cannot_write(parent, &error))?;
    }
    fs::write(path, content).map_err(|error| cannot_write(path, &error))
}

/// Writes a bundled profile unless its settings file exists. Existing files stay unchanged.
pub(super) fn materialise(dir: &Path, profile: &str) -> Result<(), Fault> {
    if dir.join(config::FILE).exists() {
        return Ok(());
    }
    write_profile(dir, profile)?;
    // Written last: if it exists, the profile is complete.
    write_settings(dir, profile, &[])
}

fn write_profile(dir: &Path, profile: &str) -> Result<(), Fault> {
    let beginning = format!("{profile}/");
    for path in BundledProfiles::iter() {
        if let (Some(below), Some(file)) =
            (path.strip_prefix(&beginning), BundledProfiles::get(&path))
        {
            write(&dir.join(below), &file.data)?;
        }
    }
    Ok(())
}

fn write_blank(dir: &Path) -> Result<(), Fault> {
    fs::create_dir_all(dir).map_err(|error| cannot_write(dir, &error))?;
    let full = dir.canonicalize().map_err(|error| cannot_write(dir, &error))?;
    let name = full
        .file_name()
        .map_or_else(|| "agent".to_owned(), |name| name.to_string_lossy().into_owned());
    let yml = format!("name: {}\n", serde_json::Value::String(name));
    write(&dir.join("agent.yml"), yml.as_bytes())?;
    write(&dir.join("AGENT.md"), b"Answer briefly and truthfully. Say so when you do not know.\n")
}

/// Writes the source of the agent and its args to the settings file.
fn write_settings(dir: &Path, origin: &str, args: &[(String, String)]) -> Result<(), Fault> {
    let path = dir.join(config::FILE);
    let text = |text: &str| serde_json::Value::String(text.to_owned()).to_string();
    let mut values = String::new();
    if !args.is_empty() {
        values.push_str("\n[agent.args]\n");
        for (key, value) in args {
            values.push_str(&format!("{key} = {}\n", text(value)));
        }
    }
    if !path.exists() {
        let settings = format!("[agent]\nprofile_source = {}\n{values}", text(origin));
        return write(&path, settings.as_bytes());
    }
    if args.is_empty() {
        return Ok(());
    }
    let old = fs::read_to_string(&path).map_err(|error| cannot_write(&path, &error))?;
    let settings = format!("{}\n{values}", old.trim_end());
    let mut findings = Findings::default();
    let parsed = toml::parse(&SourceText::new(config::FILE, settings.as_str()), &mut findings);
    if parsed.is_none() || findings.has_errors() {
        let what = format!("--arg cannot be added to the {} of the source", config::FILE);
        return Err(Fault::new(Blame::Caller, what)
            .hint("leave out --arg and change [agent.args] there; nothing was written"));
    }
    write(&path, settings.as_bytes())
}

/// Clones a repository or copies a directory.
fn bring(from: &str, dir: &Path) -> Result<(), Fault> {
    let path = Path::new(from);
    if path.is_dir() && !foreign_tree::is_repository(path) {
        refuse_if_inside(dir, path)?;
        return tell_left_out(&foreign_tree::copy(path, dir)?);
    }
    if !path.exists() && !looks_like_address(from) {
        return Err(Fault::new(
            Blame::Caller,
            format!("`{from}` is neither a directory nor a git address"),
        )
        .hint("name an existing directory, or an address such as https://host/name.git"));
    }
    clone(from, dir)?;
    tell_left_out(&foreign_tree::clean(dir)?)
}

/// Returns an address without a user name and password, so that it can be written to files.
fn without_credentials(from: &str) -> String {
    let Some((scheme, rest)) = from.split_once("://") else { return from.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or(host);
    format!("{scheme}://{host}{path}")
}

/// Fails if `dir` lies inside of `source`: the copy would never end.
fn refuse_if_inside(dir: &Path, source: &Path) -> Result<(), Fault> {
    let above = dir
        .ancestors()
        .skip(1)
        .map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let nearest = above.filter_map(|path| path.canonicalize().ok()).next();
    match (nearest, source.canonicalize()) {
        (Some(nearest), Ok(source)) if nearest.starts_with(&source) => {
            let what = format!("{} lies inside of {}", dir.display(), source.display());
            Err(Fault::new(Blame::Caller, what).hint("name a directory outside of it"))
        }
        _ => Ok(()),
    }
}

fn looks_like_address(from: &str) -> bool {
    ["https://", "http://", "ssh://", "git://", "file://"]
        .iter()
        .any(|scheme| from.starts_with(scheme))
        || from.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'))
}

/// Clones a repository without hooks, helpers of its choice, prompts or system settings.
fn clone(from: &str, dir: &Path) -> Result<(), Fault> {
    let output = Command::new("git")
        .args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "protocol.ext.allow=never",
        ])
        .args(["clone", "--quiet", "--no-local", "--no-recurse-submodules", "--template=", "--"])
        .arg(from)
        .arg(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            Err(Fault::new(Blame::Caller, format!("git cannot clone {from}: {}", words.trim())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Fault::new(Blame::Machine, "cloning needs git, which is not installed")
                .hint("run `apt-get install -y git`, or the equivalent of your system"))
        }
        Err(error) => Err(Fault::new(Blame::Machine, format!("cannot start git: {error}"))),
    }
}

/// Warns of each entry of the source that was not copied.
fn tell_left_out(left_out: &[SkippedEntry]) -> Result<(), Fault> {
    let mut err = crate::output::stderr().lock();
    for SkippedEntry { path, what } in left_out {
        let path = visible(&path.display().to_string());
        writeln!(err, "warning: {path} was not copied: it is {what}")?;
    }
    Ok(())
}

/// Commits all files, in a new repository or in the existing one; a clone keeps its history.
fn commit_all(dir: &Path, message: &str) -> Result<(), Fault> {
    let failed = |error: git2::Error| {
        Fault::new(
            Blame::Machine,
            format!("cannot create the git history of {}: {}", dir.display(), error.message()),
        )
    };
    let repository = match Repository::open(dir) {
        Ok(repository) => repository,
        Err(_) => {
            let mut options = RepositoryInitOptions::new();
            options.initial_head("main").external_template(false);
            Repository::init_opts(dir, &options).map_err(failed)?
        }
    };
    let mut index = repository.index().map_err(failed)?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None).map_err(failed)?;
    index.write().map_err(failed)?;
    let tree = repository.find_tree(index.write_tree().map_err(failed)?).map_err(failed)?;
    let author = repository
        .signature()
        .or_else(|_| Signature::now("Agentry", "agentry@localhost"))
        .map_err(failed)?;
    let parent = repository.head().ok().and_then(|head| head.peel_to_commit().ok());
    if parent.as_ref().is_some_and(|parent| parent.tree_id() == tree.id()) {
        return Ok(());
    }
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    repository.commit(Some("HEAD"), &author, &author, message, &tree, &parents).map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_written_into_files() {
        for (from, written) in [
            ("https://me:secret@host/a.git", "https://host/a.git"),
            ("https://token@host:8443/a@b.git", "https://host:8443/a@b.git"),
            ("https://host/a.git", "https://host/a.git"),
            ("git@host:a.git", "git@host:a.git"),
            ("../agent", "../agent"),
        ] {
            assert_eq!(without_credentials(from), written);
        }
    }
}
