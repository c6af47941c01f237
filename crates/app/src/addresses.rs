//! The addresses that a project's own files decide: where prompts would go, and which servers would be reached.
//!
//! They count only after the owner looked at each of them. Until then the owner's own providers are used.
//!
//! Must never: let a file of a project send a prompt to an address that the owner does not use and has not trusted.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use agentry_agentfile::config::Settings;
use agentry_agentfile::source::Origin;
use agentry_protocol::trust::{TrustChange, TrustedAddresses};
use agentry_store::Ledger;

use crate::bootstrap;
use crate::cli_context::{CliContext, LoadedProject};
use crate::diagnostics::{escaped, visible};
use crate::fault::Fault;
use crate::providers;
use crate::trust;

/// An address of a provider that only a project's file names.
#[derive(Clone, Debug)]
pub(crate) struct ProviderAddress {
    /// The provider's name in the settings.
    pub(crate) provider: String,
    /// Where prompts would go.
    pub(crate) url: String,
    /// All that belongs to it, as it is shown and trusted.
    pub(crate) line: String,
    /// Where the file says so.
    pub(crate) origin: Origin,
}

/// The addresses that the owner trusts in one project.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressTrust {
    project: PathBuf,
    addresses: BTreeSet<String>,
}

impl AddressTrust {
    /// Looks up what the owner trusts in a project.
    pub(crate) fn in_ledger(ledger: &Ledger, project: &Path) -> Result<Self, Fault> {
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let found = ledger.trusted_addresses(&project.display().to_string());
        let addresses = found.map_err(bootstrap::store_fault)?.map(|one| one.addresses);
        Ok(Self { project, addresses: addresses.unwrap_or_default() })
    }

    /// The same, where nothing may have been recorded yet.
    pub(crate) fn of(host: &CliContext, project: &Path) -> Result<Self, Fault> {
        match bootstrap::has_ledger(host) {
            true => Self::in_ledger(&bootstrap::open_ledger(host)?, project),
            false => Ok(Self { project: project.to_owned(), addresses: BTreeSet::new() }),
        }
    }

    /// Tells whether the owner trusts an address as it is.
    pub(crate) fn contains(&self, line: &str) -> bool {
        self.addresses.contains(line)
    }

    /// Says why a provider is not used.
    pub(crate) fn why_not(&self, address: &ProviderAddress) -> String {
        let project = escaped(&self.project.display().to_string());
        format!(
            "{} says that it is at {}, which you have not trusted: agentry trust {project}",
            address.origin, address.url
        )
    }

    /// Warns of every address that is not used.
    pub(crate) fn warn(&self, untrusted: &[ProviderAddress]) {
        let mut stderr = crate::output::stderr().lock();
        for address in untrusted {
            let text = format!(
                "{} sends prompts to {} (provider `{}`), which you have not trusted; your own providers \
                 are used. Look at it with `agentry trust {}`",
                address.origin,
                address.url,
                address.provider,
                self.project.display()
            );
            // With nowhere left to write to, `agentry models` still tells.
            writeln!(stderr, "warning: {}", visible(&text)).unwrap_or_default();
        }
    }
}

/// Everything in a project's files that the owner has to look at before it counts, one line each.
pub(crate) fn all(host: &CliContext, loaded: &LoadedProject) -> BTreeSet<String> {
    let providers = providers::of_project(host, &loaded.library.settings);
    let providers = providers.into_iter().map(|address| address.line);
    providers.chain(loaded.library.project_servers()).collect()
}

/// The providers of a project that are not used, because the owner has not trusted their addresses.
pub(crate) fn untrusted(
    host: &CliContext,
    settings: &Settings,
    trusts: &AddressTrust,
) -> Vec<ProviderAddress> {
    let mut all = providers::of_project(host, settings);
    all.retain(|address| !trusts.contains(&address.line));
    all
}

/// Shows the addresses of a project, each with what is known about it.
pub(crate) fn show(
    lines: &BTreeSet<String>,
    (project, trusts): (&Path, &AddressTrust),
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let project = escaped(&project.display().to_string());
    writeln!(out, "Files of the project in {project} decide what is reached:")?;
    for line in lines {
        let what = if trusts.contains(line) { "trusted" } else { "new" };
        writeln!(out, "  {what:<8} {}", escaped(line))?;
    }
    Ok(())
}

/// Lets a project decide these addresses from now on.
pub(crate) fn record(
    ledger: &Ledger,
    (project, by): (&Path, &str),
    addresses: BTreeSet<String>,
) -> Result<(), Fault> {
    let path = project.display().to_string();
    let trusted = TrustedAddresses { path, addresses, by: by.to_owned() };
    trust::change(ledger, TrustChange::Addresses(Box::new(trusted)))
}
