//! The addresses that a project's files name: model providers and MCP servers.
//!
//! They count only after the owner trusted each of them; until then the owner's providers are used.
//!
//! Must never: let a project's file send a prompt to an address that the owner has not trusted.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use agentry_agentfile::config::Settings;
use agentry_protocol::trust::{TrustChange, TrustedAddresses};
use agentry_runtime::definitions::project_loader::LoadedProject;
use agentry_runtime::environment::Environment;
use agentry_runtime::providers::{self, ProviderAddress};
use agentry_store::Ledger;

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::diagnostics::{escaped, visible};
use crate::fault::Fault;
use crate::trust;

/// The addresses that the owner trusts in one project.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressTrust {
    project: PathBuf,
    addresses: BTreeSet<String>,
}

impl AddressTrust {
    /// Reads the addresses that the owner trusts in a project.
    pub(crate) fn in_ledger(ledger: &Ledger, project: &Path) -> Result<Self, Fault> {
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let found = ledger.trusted_addresses(&project.display().to_string());
        let addresses = found.map_err(bootstrap::store_fault)?.map(|one| one.addresses);
        Ok(Self { project, addresses: addresses.unwrap_or_default() })
    }

    /// Reads the trusted addresses as `in_ledger` does; empty if there is no ledger.
    pub(crate) fn of(host: &CliContext, project: &Path) -> Result<Self, Fault> {
        match bootstrap::has_ledger(host) {
            true => Self::in_ledger(&bootstrap::open_ledger(host)?, project),
            false => Ok(Self { project: project.to_owned(), addresses: BTreeSet::new() }),
        }
    }

    /// Returns true if the owner trusts this exact line.
    pub(crate) fn contains(&self, line: &str) -> bool {
        self.addresses.contains(line)
    }

    /// Returns the reason why a provider is not used.
    pub(crate) fn why_not(&self, address: &ProviderAddress) -> String {
        let project = escaped(&self.project.display().to_string());
        format!(
            "{} sets its address to {}, which you have not trusted: agentry trust {project}",
            address.origin, address.url
        )
    }

    /// Warns of every address that is not used.
    pub(crate) fn warn(&self, untrusted: &[ProviderAddress]) {
        let mut stderr = crate::output::stderr().lock();
        for address in untrusted {
            let text = format!(
                "{} sends prompts to {} (provider `{}`), which you have not trusted; your own providers \
                 are used. Review it with `agentry trust {}`",
                address.origin,
                address.url,
                address.provider,
                self.project.display()
            );
            // If stderr is closed, `agentry models` still shows it.
            writeln!(stderr, "warning: {}", visible(&text)).unwrap_or_default();
        }
    }
}

/// Returns a line for each address in a project's files that needs the owner's trust.
pub(crate) fn all(host: &CliContext, loaded: &LoadedProject) -> BTreeSet<String> {
    let providers = providers::of_project(&host.environment, &loaded.library.settings);
    let providers = providers.into_iter().map(|address| address.line);
    providers.chain(loaded.library.project_servers()).collect()
}

/// Returns a project's providers that are not used, because their addresses are not trusted.
pub(crate) fn untrusted(
    environment: &Environment,
    settings: &Settings,
    trusts: &AddressTrust,
) -> Vec<ProviderAddress> {
    let mut all = providers::of_project(environment, settings);
    all.retain(|address| !trusts.contains(&address.line));
    all
}

/// Shows the addresses of a project, each marked as trusted or new.
pub(crate) fn show(
    lines: &BTreeSet<String>,
    (project, trusts): (&Path, &AddressTrust),
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let project = escaped(&project.display().to_string());
    writeln!(out, "Files of the project in {project} name these addresses:")?;
    for line in lines {
        let what = if trusts.contains(line) { "trusted" } else { "new" };
        writeln!(out, "  {what:<8} {}", escaped(line))?;
    }
    Ok(())
}

/// Records that the owner trusts these addresses of a project.
pub(crate) fn record(
    ledger: &Ledger,
    (project, by): (&Path, &str),
    addresses: BTreeSet<String>,
) -> Result<(), Fault> {
    let path = project.display().to_string();
    let trusted = TrustedAddresses { path, addresses, by: by.to_owned() };
    trust::change(ledger, TrustChange::Addresses(Box::new(trusted)))
}
