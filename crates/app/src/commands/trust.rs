//! `agentry trust`: shows the programs that agents bring, and trusts them as they are.
//!
//! Must never: trust a program that was not shown.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use agentry_agentfile::agent::Agent;
use agentry_agentfile::skill::SkillLevel;
use agentry_protocol::trust::TrustedPrograms;
use agentry_runtime::commands;
use agentry_runtime::definitions::definition_changes;
use agentry_runtime::definitions::project_loader::{HOME, LoadedProject};
use agentry_runtime::definitions::trust::{TrustStatus, trust_arguments};
use agentry_store::Ledger;
use clap::Args;
use serde_json::json;

use super::{AgentSelection, show_agent};
use crate::address_trust::AddressTrust;
use crate::addresses;
use crate::bootstrap::{self, store_fault};
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::confirmation;
use crate::diagnostics::{escaped, plural};
use crate::fault::{Blame, Fault};
use crate::trust::{TrustReview, record_addresses};

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    which: AgentSelection,
    /// Trust without asking; this counts as the owner's consent
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,
    /// List trusted directories, and which of them changed
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Revoke the trust in the directory and all below it
    #[arg(long)]
    revoke: bool,
    /// With --list: print JSON
    #[arg(long, requires = "list")]
    json: bool,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    match (options.list, options.revoke) {
        (true, _) => list(host, &ledger, options.json)?,
        (false, true) => revoke(host, &ledger, &options.which.dir)?,
        (false, false) => look(host, &ledger, options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn look(host: &CliContext, ledger: &Ledger, options: &Options) -> Result<(), Fault> {
    let directory = bootstrap::enter_project(&options.which.dir)?;
    let loaded = host.load(Path::new("."), SkillLevel::Extended)?;
    if let Some(fault) = loaded.settings_error().map(Fault::from) {
        return Err(fault);
    }
    let level = bootstrap::wanted_level(&loaded);
    let definitions = bootstrap::definitions(host, &loaded, &directory, level)?;
    let looking = TrustReview::at(host, ledger, &loaded, &definitions);
    let mut out = crate::output::stdout().lock();
    let mut is_anything = false;
    let mut refused = TrustRefusals { faults: Vec::new(), goes_on: !options.yes && !can_ask() };
    let consent = if options.yes { OwnerConsent::Given } else { OwnerConsent::Asked };
    for agent in wanted(&loaded, &options.which)? {
        match looking.standing(agent)? {
            TrustStatus::Nothing => continue,
            TrustStatus::Trusted(trusted) => {
                let path = escaped(&trusted.path);
                writeln!(out, "{path} is trusted as it is, by {}", escaped(&trusted.by))?;
            }
            TrustStatus::Changed(_) | TrustStatus::Unseen => {
                let place = trust_arguments(&definitions, agent);
                refused.take(decide(&looking, agent, &place, consent, &mut out))?;
            }
        }
        is_anything = true;
    }
    let asks = ProjectTrustReview { host, loaded: &loaded, yes: options.yes };
    is_anything |= refused.take(asks.addresses(&looking, &mut out))?.unwrap_or(true);
    is_anything |= refused.take(asks.definitions(ledger, &mut out))?.unwrap_or(true);
    let broken = &loaded.library.broken_agents;
    if let Some(id) = broken.keys().next().filter(|_| !is_anything) {
        // The programs of an agent that does not load are unknown.
        let which = AgentSelection { dir: directory, agent: Some(id.clone()) };
        return show_agent::choose(&loaded, &which).map(drop);
    }
    if !is_anything {
        let shown = escaped(&directory.display().to_string());
        writeln!(out, "no agent in {shown} brings a program, so there is nothing to trust")?;
    }
    for (id, file) in broken {
        let text = format!("the agent `{id}` ({file}) does not load, so none of its programs run");
        writeln!(out, "{}", escaped(&text))?;
    }
    refused.faults.into_iter().next().map_or(Ok(()), Err)
}

/// The way in which the owner consents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnerConsent {
    /// With `--yes`.
    Given,
    /// By an answer at the terminal.
    Asked,
}

/// Refusals for lack of a terminal; everything is shown before the command fails.
struct TrustRefusals {
    faults: Vec<Fault>,
    goes_on: bool,
}

impl TrustRefusals {
    /// Returns the result; None if it was refused and the rest must still be shown.
    fn take<T>(&mut self, done: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(fault) if self.goes_on => {
                self.faults.push(fault);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }
}

/// Review of a project's addresses and definitions, beside its agents' programs.
struct ProjectTrustReview<'a> {
    host: &'a CliContext,
    loaded: &'a LoadedProject,
    yes: bool,
}

impl ProjectTrustReview<'_> {
    /// Reviews the addresses that the project's files name. Returns false if there are none.
    fn addresses(&self, looking: &TrustReview<'_>, out: &mut dyn Write) -> Result<bool, Fault> {
        let lines = addresses::all(self.host, self.loaded);
        if lines.is_empty() {
            return Ok(false);
        }
        let root = &self.loaded.root;
        let shown = escaped(&root.display().to_string());
        let trusts = AddressTrust::in_ledger(looking.ledger, root)?;
        if lines.iter().all(|line| trusts.contains(line)) {
            addresses::show(&lines, root, &trusts, out)?;
            return Ok(true);
        }
        if !self.yes && can_ask() {
            looking.ask_addresses(lines, out)?;
        } else {
            addresses::show(&lines, root, &trusts, out)?;
            self.needs_yes(&shown)?;
            record_addresses(looking.ledger, root, looking.by, lines)?;
        }
        writeln!(out, "trusted the addresses of {shown}")?;
        Ok(true)
    }

    /// Reviews changes since the definitions were confirmed. Returns false if there are none.
    fn definitions(&self, ledger: &Ledger, out: &mut dyn Write) -> Result<bool, Fault> {
        let changes = definition_changes::unconfirmed(ledger, self.loaded)
            .map_err(store_fault)?
            .unwrap_or_default();
        if changes.is_empty() {
            return Ok(false);
        }
        let shown = escaped(&self.loaded.root.display().to_string());
        writeln!(out, "Definitions of {shown} changed since they were confirmed:")?;
        writeln!(out, "  {}", escaped(&definition_changes::in_words(&changes)))?;
        if !self.yes && can_ask() {
            confirmation::ask(out)?
        } else {
            self.needs_yes(&shown)?
        }
        confirmation::confirm(ledger, self.loaded, self.host.environment.user())?;
        writeln!(out, "confirmed the current definitions of {shown}")?;
        Ok(true)
    }

    fn needs_yes(&self, place: &str) -> Result<(), Fault> {
        if self.yes { Ok(()) } else { Err(no_terminal(place)) }
    }
}

fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

fn no_terminal(place: &str) -> Fault {
    let what = "there is no terminal to ask in, so nothing is trusted";
    Fault::new(Blame::Access, what)
        .hint(format!("review the programs, then run `agentry trust {place} --yes` as the owner"))
}

/// Shows the programs of one agent, and trusts them with --yes or if the user agrees.
fn decide(
    looking: &TrustReview<'_>,
    agent: &Agent,
    place: &str,
    consent: OwnerConsent,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    if consent == OwnerConsent::Given {
        let seen = looking.show(agent, out)?;
        let directory = escaped(seen.directory());
        looking.record(seen)?;
        writeln!(out, "trusted {directory}")?;
        return Ok(());
    }
    if !can_ask() {
        looking.show(agent, out)?;
        return Err(no_terminal(place));
    }
    looking.ask(agent, out)?;
    writeln!(out, "trusted {}", escaped(place))?;
    Ok(())
}

/// Returns the selected agent, or all agents of the project itself.
fn wanted<'a>(loaded: &'a LoadedProject, which: &AgentSelection) -> Result<Vec<&'a Agent>, Fault> {
    let is_one = which.agent.is_some() || loaded.only.is_some() && loaded.asked.is_some();
    if is_one {
        return Ok(vec![show_agent::choose(loaded, which)?]);
    }
    // Agents in the user's home are reviewed there, or by their id.
    let is_own = |agent: &&Agent| !agent.directory.starts_with(HOME);
    Ok(loaded.library.agents.values().filter(is_own).collect())
}

fn list(host: &CliContext, ledger: &Ledger, json: bool) -> Result<(), Fault> {
    let all = ledger.all_trusted().map_err(store_fault)?;
    let mut out = crate::output::stdout().lock();
    let with_state = |one: TrustedPrograms| {
        let now = now(host, ledger, &one);
        (one, now)
    };
    let all: Vec<(TrustedPrograms, &str)> =
        all.into_iter().map(|(one, _)| with_state(one)).collect();
    if json {
        let line = |(one, now): &(TrustedPrograms, &str)| {
            json!({ "path": one.path, "hash": one.hash, "by": one.by, "now": now,
                    "files": one.files })
        };
        let lines: Vec<_> = all.iter().map(line).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&lines)?)?;
        return Ok(());
    }
    let addresses = ledger.all_trusted_addresses().map_err(store_fault)?;
    if all.is_empty() && addresses.is_empty() {
        writeln!(out, "nothing is trusted")?;
    }
    for one in addresses {
        let lines: Vec<&str> = one.addresses.iter().map(String::as_str).collect();
        let lines = escaped(&lines.join("; "));
        writeln!(out, "may reach  {}  ({lines}, by {})", escaped(&one.path), escaped(&one.by))?;
    }
    for (one, now) in &all {
        let files = plural(one.files.len(), "file");
        writeln!(out, "{now:<8}  {}  ({files}, by {})", escaped(&one.path), escaped(&one.by))?;
    }
    Ok(())
}

/// Returns the state of a trusted directory: as it is, changed, or gone.
fn now(host: &CliContext, ledger: &Ledger, trusted: &TrustedPrograms) -> &'static str {
    let path = Path::new(&trusted.path);
    if !path.is_dir() {
        return "gone";
    }
    let standing = || -> Result<TrustStatus, Fault> {
        let loaded = host.load(path, SkillLevel::Extended)?;
        let definitions =
            bootstrap::definitions(host, &loaded, path, bootstrap::wanted_level(&loaded))?;
        let looking = TrustReview::at(host, ledger, &loaded, &definitions);
        let mut agents = loaded.library.agents.values();
        let agent = agents.find(|agent| definitions.directory(agent) == path);
        agent.map_or(Ok(TrustStatus::Nothing), |agent| looking.standing(agent))
    };
    match standing() {
        Ok(TrustStatus::Trusted(_)) => "as it is",
        Ok(TrustStatus::Changed(_) | TrustStatus::Unseen) | Err(_) => "changed",
        Ok(TrustStatus::Nothing) => "gone",
    }
}

/// Revokes the trust in a directory and all below it; the directory need not exist.
fn revoke(host: &CliContext, ledger: &Ledger, directory: &Path) -> Result<(), Fault> {
    let full = directory.canonicalize().or_else(|_| std::path::absolute(directory));
    let full = full.map_err(|error| {
        let what = format!("`{}` is not a directory: {error}", directory.display());
        Fault::new(Blame::Caller, what)
    })?;
    let mut out = crate::output::stdout().lock();
    let paths = commands::trust::withdraw(ledger, &full, host.environment.user());
    let paths = paths.map_err(command_fault)?;
    for path in &paths {
        writeln!(out, "revoked the trust in {}", escaped(path))?;
    }
    if paths.is_empty() {
        writeln!(out, "nothing in {} is trusted", escaped(&full.display().to_string()))?;
    }
    Ok(())
}
