//! Review of the programs that an agent brings: shows them, asks the owner, records the answer.
//!
//! Must never: record trust in a file that was not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;

use agentry_agentfile::agent::Agent;
use agentry_agentfile::library::Library;
use agentry_agentfile::trust::TrustManifest;
use agentry_protocol::ContentHash;
use agentry_protocol::trust::{TrustedAddresses, TrustedPrograms};
use agentry_runtime::Definitions;
use agentry_runtime::commands::{self, trust::ProgramReview};
use agentry_runtime::definitions::project_loader::LoadedProject;
use agentry_runtime::definitions::trust::{self, TrustStatus};
use agentry_store::Ledger;
use agentry_tools::unified_diff;

use crate::address_trust::AddressTrust;
use crate::addresses;
use crate::bootstrap::{self, ProjectRuntime};
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::diagnostics::{escaped, plural};
use crate::fault::{Blame, Fault};
use crate::limits::{TRUST_DIFF_CHARS_MAX, TRUST_FILE_BYTES_MAX, TRUST_FILES_SHOWN_MAX};

/// The context of a review.
pub(crate) struct TrustReview<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) definitions: &'a Definitions,
    /// The directory of the project.
    pub(crate) root: &'a Path,
    /// The user who reviews.
    pub(crate) by: &'a str,
}

/// The programs of an agent as reviewed.
pub(crate) struct ReviewedPrograms {
    directory: String,
    manifest: TrustManifest,
    /// The content of the files; None for a file that is too large to store.
    texts: BTreeMap<String, Option<Vec<u8>>>,
}

/// Fails unless the owner trusts the programs of all agents; asks for a review at a terminal.
pub(crate) fn gate<'a>(
    host: &CliContext,
    engine: &ProjectRuntime,
    agents: impl IntoIterator<Item = &'a Agent>,
) -> Result<(), Fault> {
    let looking = TrustReview {
        ledger: &engine.parts.ledger,
        definitions: &engine.definitions,
        root: &engine.loaded.root,
        by: host.environment.user(),
    };
    let somebody_is_here = io::stdin().is_terminal() && io::stderr().is_terminal();
    let mut agents = agents.into_iter().peekable();
    let first = agents.peek().copied();
    for agent in agents {
        let checked = trust::check_programs(looking.ledger, looking.definitions, agent);
        match (checked, somebody_is_here) {
            (Ok(()), _) => {}
            (Err(agentry_runtime::Error::Untrusted { .. }), true) => {
                looking.ask(agent, &mut crate::output::stderr().lock())?;
            }
            (Err(error), _) => return Err(bootstrap::fault(error)),
        }
    }
    let Some(first) = first else { return Ok(()) };
    match (trust::check_servers(looking.ledger, looking.definitions, first), somebody_is_here) {
        (Ok(()), _) => Ok(()),
        (Err(agentry_runtime::Error::Untrusted { .. }), true) => {
            let lines = addresses::all(host, &engine.loaded);
            looking.ask_addresses(lines, &mut crate::output::stderr().lock())
        }
        (Err(error), _) => Err(bootstrap::fault(error)),
    }
}

/// Returns an error for each agent with untrusted programs; it names the `agentry trust` command.
pub(crate) fn untrusted(ledger: &Ledger, definitions: &Definitions) -> Vec<agentry_runtime::Error> {
    let agents = definitions.library.agents.values();
    agents.filter_map(|agent| trust::check_one(ledger, definitions, agent).err()).collect()
}

/// Returns the programs of an agent and their files.
pub(crate) fn manifest<'a>(
    library: &'a Library,
    agent: &Agent,
) -> Result<&'a TrustManifest, Fault> {
    match library.programs.get(agent.id.as_str()) {
        Some(Ok(manifest)) => Ok(manifest),
        Some(Err(unknown)) => {
            let what = format!("cannot list the programs of `{}`: {unknown}", agent.id);
            Err(Fault::new(Blame::Agent, what)
                .hint("remove it or replace it by a readable regular file; then review again"))
        }
        None => Err(Fault::new(Blame::Us, format!("the agent `{}` was not read", agent.id))),
    }
}

impl<'a> TrustReview<'a> {
    /// Creates a review of a loaded project, without a run.
    pub(crate) fn at(
        host: &'a CliContext,
        ledger: &'a Ledger,
        loaded: &'a LoadedProject,
        definitions: &'a Definitions,
    ) -> Self {
        Self { ledger, definitions, root: &loaded.root, by: host.environment.user() }
    }

    /// Returns the trust status of an agent's programs.
    pub(crate) fn standing(&self, agent: &Agent) -> Result<TrustStatus, Fault> {
        manifest(&self.definitions.library, agent)?;
        trust::standing(self.ledger, self.definitions, agent).map_err(bootstrap::fault)
    }

    /// Shows an agent's programs and asks the user to trust them; fails if the answer is no.
    pub(crate) fn ask(&self, agent: &Agent, out: &mut dyn Write) -> Result<(), Fault> {
        let seen = self.show(agent, out)?;
        write!(out, "Trust this? [y/N] ")?;
        out.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" => self.record(seen),
            _ => {
                let what =
                    format!("the programs of `{}` are not trusted, so it does not run", agent.id);
                Err(Fault::new(Blame::Access, what).hint("nothing was run"))
            }
        }
    }

    /// Shows the addresses of a project and asks the user to trust them; fails if the answer is no.
    pub(crate) fn ask_addresses(
        &self,
        lines: BTreeSet<String>,
        out: &mut dyn Write,
    ) -> Result<(), Fault> {
        let trusts = AddressTrust::in_ledger(self.ledger, self.root)?;
        addresses::show(&lines, self.root, &trusts, out)?;
        write!(out, "Trust this? [y/N] ")?;
        out.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" => record_addresses(self.ledger, self.root, self.by, lines),
            _ => Err(Fault::new(Blame::Access, "the project's addresses are not trusted")
                .hint("nothing was changed")),
        }
    }

    /// Shows the programs of an agent, and all files or the changes since the last review.
    pub(crate) fn show(
        &self,
        agent: &Agent,
        out: &mut dyn Write,
    ) -> Result<ReviewedPrograms, Fault> {
        let before = match self.standing(agent)? {
            TrustStatus::Changed(before) | TrustStatus::Trusted(before) => Some(before),
            TrustStatus::Nothing | TrustStatus::Unseen => None,
        };
        let seen = self.seen(agent)?;
        writeln!(out, "The agent `{}` in {} would run:", agent.id, escaped(&seen.directory))?;
        for runs in &seen.manifest.runs {
            writeln!(out, "  {}", escaped(&runs.to_string()))?;
        }
        match before {
            None => self.show_files(&seen, out)?,
            Some(before) => self.show_changes(&seen, &before, out)?,
        }
        Ok(seen)
    }

    fn show_files(&self, seen: &ReviewedPrograms, out: &mut dyn Write) -> Result<(), Fault> {
        let files = &seen.manifest.files;
        writeln!(out, "Not reviewed yet: {}", plural(files.len(), "file"))?;
        for (path, hash) in files.iter().take(TRUST_FILES_SHOWN_MAX) {
            writeln!(out, "{}", seen.line("new", path, hash))?;
        }
        if let Some(more) = files.len().checked_sub(TRUST_FILES_SHOWN_MAX).filter(|more| *more > 0)
        {
            writeln!(out, "  and {more} more")?;
        }
        let texts: String = files.keys().map(|path| self.diff(seen, path, None)).collect();
        show_diffs(&texts, out)
    }

    fn show_changes(
        &self,
        seen: &ReviewedPrograms,
        before: &TrustedPrograms,
        out: &mut dyn Write,
    ) -> Result<(), Fault> {
        let (old, new) = (&before.files, &seen.manifest.files);
        writeln!(out, "Changed since the review by {}:", escaped(&before.by))?;
        let mut diffs = String::new();
        let mut changes = 0;
        let mut tell = |line: String| -> io::Result<()> {
            changes += 1;
            if changes <= TRUST_FILES_SHOWN_MAX { writeln!(out, "{line}") } else { Ok(()) }
        };
        for (path, hash) in new {
            match old.get(path) {
                None => {
                    tell(seen.line("new", path, hash))?;
                    diffs.push_str(&self.diff(seen, path, None));
                }
                Some(was) if was != hash => {
                    tell(seen.line("changed", path, hash))?;
                    diffs.push_str(&self.diff(seen, path, Some(was)));
                }
                Some(_) => {}
            }
        }
        for path in old.keys().filter(|path| !new.contains_key(*path)) {
            tell(format!("  removed  {}", escaped(path)))?;
        }
        match changes {
            0 if before.hash == seen.manifest.hash => writeln!(out, "  nothing")?,
            // The mode is part of the hash of all files, but not of the hash of a file.
            0 => writeln!(out, "  the executable bit of a file changed")?,
            changes if changes > TRUST_FILES_SHOWN_MAX => {
                writeln!(out, "  and {} more", changes - TRUST_FILES_SHOWN_MAX)?;
            }
            _ => {}
        }
        show_diffs(&diffs, out)
    }

    /// Returns the diff of a file; its whole content if it is new.
    fn diff(&self, seen: &ReviewedPrograms, path: &str, was: Option<&ContentHash>) -> String {
        let now = seen.texts.get(path).and_then(Option::as_deref);
        let before = was.map(|was| self.ledger.kept_file(was));
        let (Some(now), Ok(before)) = (now, before.transpose()) else { return String::new() };
        let mut diff = unified_diff(path, before.as_deref(), now).unwrap_or_default();
        if !diff.is_empty() && !diff.ends_with('\n') {
            diff.push('\n');
        }
        diff
    }

    /// Reads the files of an agent's programs; fails if one changed since the project was loaded.
    pub(crate) fn seen(&self, agent: &Agent) -> Result<ReviewedPrograms, Fault> {
        let manifest = manifest(&self.definitions.library, agent)?.clone();
        let root = self.definitions.directory(agent);
        let mut texts = BTreeMap::new();
        for (path, hash) in &manifest.files {
            let text = text(&root.join(path))?;
            if text.as_ref().is_some_and(|text| ContentHash::of(text) != *hash) {
                let what = format!("{path} changed during the review");
                return Err(Fault::new(Blame::Caller, what).hint("review it again"));
            }
            texts.insert(path.clone(), text);
        }
        let directory = self.definitions.directory(agent).display().to_string();
        Ok(ReviewedPrograms { directory, manifest, texts })
    }

    /// Records trust in the reviewed programs, and stores their files.
    pub(crate) fn record(&self, seen: ReviewedPrograms) -> Result<(), Fault> {
        let TrustManifest { files, hash, .. } = seen.manifest;
        let programs =
            TrustedPrograms { path: seen.directory, hash, files, by: self.by.to_owned() };
        let texts = seen.texts.into_values().flatten().collect();
        let review = ProgramReview { programs, texts };
        commands::trust::programs(self.ledger, review).map_err(command_fault)
    }
}

impl ReviewedPrograms {
    /// Returns the directory of the agent.
    pub(crate) fn directory(&self) -> &str {
        &self.directory
    }

    fn line(&self, what: &str, path: &str, hash: &ContentHash) -> String {
        let size = match self.texts.get(path) {
            Some(Some(text)) => plural(text.len(), "byte"),
            Some(None) | None => "large".to_owned(),
        };
        format!("  {what:<8} {}  ({size}, {hash})", escaped(path))
    }
}

/// Writes the diffs, up to `TRUST_DIFF_CHARS_MAX` characters.
fn show_diffs(diffs: &str, out: &mut dyn Write) -> Result<(), Fault> {
    match diffs.char_indices().nth(TRUST_DIFF_CHARS_MAX) {
        None => write!(out, "{}", escaped(diffs))?,
        Some((end, _)) => {
            let left_out = diffs[end..].chars().count();
            writeln!(out, "{}", escaped(&diffs[..end]))?;
            writeln!(out, "[{left_out} more characters are not shown; read the files]")?;
        }
    }
    Ok(())
}

/// Records that the owner trusts these addresses of a project.
pub(crate) fn record_addresses(
    ledger: &Ledger,
    project: &Path,
    by: &str,
    addresses: BTreeSet<String>,
) -> Result<(), Fault> {
    let path = project.display().to_string();
    let trusted = TrustedAddresses { path, addresses, by: by.to_owned() };
    commands::trust::addresses(ledger, trusted).map_err(command_fault)
}

/// Reads a file. Returns None if it is larger than `TRUST_FILE_BYTES_MAX`.
fn text(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    let unreadable = |error: io::Error| {
        let what = format!("cannot read {}: {error}", path.display());
        Fault::new(Blame::Machine, what).hint("unreadable files cannot be trusted")
    };
    let is_file = path.metadata().map_err(unreadable)?.is_file();
    if !is_file {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(TRUST_FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(unreadable)?;
    Ok((text.len() as u64 <= TRUST_FILE_BYTES_MAX).then_some(text))
}
