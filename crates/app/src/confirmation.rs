//! Compares the definitions of a directory with those of the last run and the confirmed ones.
//!
//! `run`, `chat`, `stdio` and `send` report changes. `serve` uses confirmed definitions only.
//!
//! Must never: treat a definition as confirmed without the owner's consent.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use agentry_agentfile::layout;
use agentry_agentfile::skill::SkillLevel;
use agentry_protocol::trust::KnownDefinitions;
use agentry_runtime::commands;
use agentry_runtime::definitions::definition_changes::{
    DefinitionChangeKind, changes, in_words, unconfirmed,
};
use agentry_runtime::definitions::project_loader::LoadedProject;
use agentry_runtime::limits::DEFINITIONS_SHOWN_MAX;
use agentry_store::{Ledger, RecordedDefinitions};

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::diagnostics::{escaped, plural};
use crate::fault::{Blame, Fault};
use crate::output::write_stderr_line;

/// Reports definitions that changed since the last run here, and records the new state.
pub(crate) fn report(ledger: &Ledger, loaded: &LoadedProject) -> Result<(), Fault> {
    let before = ledger.known_definitions(&path(loaded), RecordedDefinitions::Met);
    let before = before.map_err(bootstrap::store_fault)?;
    let all = before.as_ref().map(|before| changes(&before.files, &loaded.digests));
    for change in all.iter().flatten().take(DEFINITIONS_SHOWN_MAX) {
        let path = escaped(&change.path);
        let line = match change.what {
            DefinitionChangeKind::New => format!("new definition since the last run: {path}"),
            DefinitionChangeKind::Changed => {
                format!("definition changed since the last run: {path}")
            }
            DefinitionChangeKind::Removed => {
                format!("definition removed since the last run: {path}")
            }
        };
        write_stderr_line(&line);
    }
    let more = all.as_ref().map_or(0, Vec::len).saturating_sub(DEFINITIONS_SHOWN_MAX);
    if more > 0 {
        write_stderr_line(&format!("and {} more", plural(more, "definition")));
    }
    if all.is_some_and(|all| all.is_empty()) { Ok(()) } else { record(ledger, loaded, None) }
}

/// Records the current definitions of a directory as confirmed.
pub(crate) fn confirm(ledger: &Ledger, loaded: &LoadedProject, by: &str) -> Result<(), Fault> {
    record(ledger, loaded, Some(by.to_owned()))
}

/// Fails if definitions changed since their confirmation; a first start confirms them.
pub(crate) fn require_confirmed(
    host: &CliContext,
    ledger: &Ledger,
    loaded: &LoadedProject,
) -> Result<Option<String>, Fault> {
    let by = host.environment.user();
    let Some(changes) = unconfirmed(ledger, loaded).map_err(bootstrap::store_fault)? else {
        confirm(ledger, loaded, by)?;
        let (count, path) = (plural(loaded.digests.len(), "definition file"), path(loaded));
        return Ok(Some(format!(
            "definitions confirmed: {count} of {path}; later changes need `agentry trust`"
        )));
    };
    if changes.is_empty() {
        return Ok(None);
    }
    let what = format!("definitions changed since they were confirmed: {}", in_words(&changes));
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let hint = format!("review them, then run `agentry trust {} --yes`", path(loaded));
        return Err(Fault::new(Blame::Access, what).hint(hint));
    }
    let mut stderr = crate::output::stderr().lock();
    writeln!(stderr, "{}", escaped(&what))?;
    ask(&mut stderr)?;
    confirm(ledger, loaded, by)?;
    Ok(None)
}

/// Asks the user to confirm the definitions; fails if the answer is no.
pub(crate) fn ask(out: &mut dyn Write) -> Result<(), Fault> {
    write!(out, "Use them as they are? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Fault::new(Blame::Access, "the definitions are not confirmed")
            .hint("nothing was changed")),
    }
}

/// Keeps definitions confirmed across a change that the owner makes with a command.
pub(crate) struct ConfirmationKeeper {
    was_confirmed: bool,
}

impl ConfirmationKeeper {
    /// Reads before the change if the definitions are confirmed.
    pub(crate) fn before(ledger: &Ledger, loaded: &LoadedProject) -> Result<Self, Fault> {
        let changes = unconfirmed(ledger, loaded).map_err(bootstrap::store_fault)?;
        Ok(Self { was_confirmed: changes.is_some_and(|changes| changes.is_empty()) })
    }

    /// Confirms the definitions after the change, if they were confirmed before.
    pub(crate) fn after(
        self,
        host: &CliContext,
        ledger: &Ledger,
        loaded: &LoadedProject,
    ) -> Result<(), Fault> {
        if self.was_confirmed { confirm(ledger, loaded, host.environment.user()) } else { Ok(()) }
    }
}

/// Writes a file of a pack for the owner; confirmed definitions stay confirmed.
pub(crate) fn write_confirmed(
    host: &CliContext,
    file: &Path,
    write: impl FnOnce() -> Result<(), Fault>,
) -> Result<(), Fault> {
    let is_pack = |path: &&Path| {
        path.file_name().is_some_and(|name| layout::PACKS.iter().any(|pack| name == *pack))
    };
    let project = file.ancestors().find(is_pack).and_then(Path::parent);
    let project = project.filter(|_| bootstrap::has_ledger(host));
    let Some(project) = project else { return write() };
    let project = if project.as_os_str().is_empty() { Path::new(".") } else { project };
    let ledger = bootstrap::open_ledger(host)?;
    let keeping = ConfirmationKeeper::before(&ledger, &host.load(project, SkillLevel::Extended)?)?;
    write()?;
    keeping.after(host, &ledger, &host.load(project, SkillLevel::Extended)?)
}

fn record(ledger: &Ledger, loaded: &LoadedProject, by: Option<String>) -> Result<(), Fault> {
    let (path, files) = (path(loaded), loaded.digests.clone());
    let known = KnownDefinitions { path, files, confirmed_by: by };
    commands::trust::definitions(ledger, known).map_err(command_fault)
}

fn path(loaded: &LoadedProject) -> String {
    Path::new(&loaded.root).display().to_string()
}
