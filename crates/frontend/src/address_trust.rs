//! The addresses of model providers and MCP servers that the owner trusts in a project.
//!
//! Must never: let a project's file send a prompt to an address that the owner has not trusted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentry_agentfile::config::Settings;
use agentry_runtime::environment::Environment;
use agentry_runtime::providers::{self, ProviderAddress};
use agentry_store::Ledger;

use crate::diagnostics::escaped;
use crate::fault::Fault;
use crate::output::warn;
use crate::runtime_fault::store_fault;

/// The addresses that the owner trusts in one project.
#[derive(Clone, Debug, Default)]
pub struct AddressTrust {
    project: PathBuf,
    addresses: BTreeSet<String>,
}

impl AddressTrust {
    /// Reads the addresses that the owner trusts in a project.
    pub fn in_ledger(ledger: &Ledger, project: &Path) -> Result<Self, Fault> {
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let found = ledger.trusted_addresses(&project.display().to_string());
        let addresses = found.map_err(store_fault)?.map(|one| one.addresses);
        Ok(Self { project, addresses: addresses.unwrap_or_default() })
    }

    /// Returns the trust of a project in which the owner trusts nothing yet.
    pub fn nothing(project: &Path) -> Self {
        Self { project: project.to_owned(), addresses: BTreeSet::new() }
    }

    /// Returns true if the owner trusts this exact line.
    pub fn contains(&self, line: &str) -> bool {
        self.addresses.contains(line)
    }

    /// Returns the reason why a provider is not used.
    pub fn why_not(&self, address: &ProviderAddress) -> String {
        let project = escaped(&self.project.display().to_string());
        format!(
            "{} sets its address to {}, which you have not trusted: agentry trust {project}",
            address.origin, address.url
        )
    }

    /// Warns of every address that is not used.
    pub fn warn(&self, untrusted: &[ProviderAddress]) {
        for address in untrusted {
            let text = format!(
                "{} sends prompts to {} (provider `{}`), which you have not trusted; your own providers \
                 are used. Review it with `agentry trust {}`",
                address.origin,
                address.url,
                address.provider,
                self.project.display()
            );
            warn(&text);
        }
    }
}

/// Returns a project's providers that are not used, because their addresses are not trusted.
pub fn untrusted(
    environment: &Environment,
    settings: &Settings,
    trusts: &AddressTrust,
) -> Vec<ProviderAddress> {
    let mut all = providers::of_project(environment, settings);
    all.retain(|address| !trusts.contains(&address.line));
    all
}
