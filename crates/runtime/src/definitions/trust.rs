//! Checks that the owner has trusted an agent's programs in their present state.
//!
//! Must never: accept trust in other files, or in equal files elsewhere.

use std::path::Path;

use agentry_agentfile::agent::Agent;
use agentry_agentfile::trust::{TrustCoverage, TrustError, TrustManifest};
use agentry_protocol::AgentId;
use agentry_protocol::trust::TrustedPrograms;
use agentry_store::Ledger;

use crate::definitions::Definitions;
use crate::definitions::tree_reader;
use crate::error::Error;

/// The trust status of an agent's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustStatus {
    /// The agent has no programs.
    Nothing,
    /// The owner trusts the programs in their present state.
    Trusted(Box<TrustedPrograms>),
    /// The owner trusted an earlier state of the programs.
    Changed(Box<TrustedPrograms>),
    /// The owner has never trusted them.
    Unseen,
}

/// Reads the manifest of an agent's programs, and of all files that they could load.
///
/// # Errors
/// If it cannot be determined; then no program of the agent may run.
pub fn read(directory: &Path, agent: &Agent) -> Result<TrustManifest, TrustError> {
    let tree = tree_reader::read_parts(directory, &TrustCoverage::of(agent)).map_err(|error| {
        let (directory, why) = (directory.display().to_string(), error.to_string());
        TrustError::Unreadable { directory, why }
    })?;
    agentry_agentfile::trust::manifest(&tree, agent)
}

/// Returns the trust status of an agent's programs.
///
/// # Errors
/// If its programs cannot be determined.
pub fn standing(
    ledger: &Ledger,
    definitions: &Definitions,
    agent: &Agent,
) -> Result<TrustStatus, Error> {
    let manifest = definitions.manifest(agent)?;
    if manifest.is_empty() {
        return Ok(TrustStatus::Nothing);
    }
    let directory = definitions.directory(agent).display().to_string();
    Ok(match ledger.trusted(&directory)? {
        None => TrustStatus::Unseen,
        Some((trusted, _)) if trusted.hash == manifest.hash => {
            TrustStatus::Trusted(Box::new(trusted))
        }
        Some((trusted, _)) => TrustStatus::Changed(Box::new(trusted)),
    })
}

/// Refuses agents with programs that the owner has not trusted.
pub(crate) fn check<'a>(
    ledger: &Ledger,
    definitions: &Definitions,
    agents: impl Iterator<Item = &'a AgentId>,
) -> Result<(), Error> {
    // An agent that does not load has no programs to run.
    for agent in agents.filter_map(|id| definitions.library.agents.get(id.as_str())) {
        check_one(ledger, definitions, agent)?;
    }
    Ok(())
}

/// Refuses one agent with programs that the owner has not trusted.
///
/// # Errors
/// If the owner has not trusted them, or they cannot be determined.
pub fn check_one(ledger: &Ledger, definitions: &Definitions, agent: &Agent) -> Result<(), Error> {
    check_programs(ledger, definitions, agent)?;
    check_servers(ledger, definitions, agent)
}

/// Refuses an agent in a project with MCP servers that the owner has not trusted.
///
/// # Errors
/// If the owner has not trusted them.
pub fn check_servers(
    ledger: &Ledger,
    definitions: &Definitions,
    agent: &Agent,
) -> Result<(), Error> {
    let servers = definitions.library.project_servers();
    if servers.is_empty() {
        return Ok(());
    }
    let trusted = ledger.trusted_addresses(&definitions.project.display().to_string())?;
    let is_trusted = |line| trusted.as_ref().is_some_and(|one| one.addresses.contains(line));
    if servers.iter().all(is_trusted) {
        return Ok(());
    }
    let (agent, place) = (agent.id.clone(), word(&definitions.project));
    Err(Error::Untrusted { agent, place, has_changed: trusted.is_some() })
}

/// Refuses an agent with own programs that the owner has not trusted.
///
/// # Errors
/// If the owner has not trusted them, or they cannot be determined.
pub fn check_programs(
    ledger: &Ledger,
    definitions: &Definitions,
    agent: &Agent,
) -> Result<(), Error> {
    let has_changed = match standing(ledger, definitions, agent)? {
        TrustStatus::Nothing | TrustStatus::Trusted(_) => return Ok(()),
        TrustStatus::Changed(_) => true,
        TrustStatus::Unseen => false,
    };
    let place = trust_arguments(definitions, agent);
    Err(Error::Untrusted { agent: agent.id.clone(), place, has_changed })
}

/// Returns the arguments of `agentry trust` for an agent.
pub fn trust_arguments(definitions: &Definitions, agent: &Agent) -> String {
    // An agent in the user's home is trusted in the context of the project.
    if agent.directory.starts_with("~/") {
        format!("{} --agent {}", word(&definitions.project), agent.id)
    } else {
        word(&definitions.directory(agent))
    }
}

/// Quotes a path as one word of a shell command.
fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@,:".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_command() {
        for (path, expected) in [
            ("/srv/a-b_c.d", "/srv/a-b_c.d"),
            ("/srv/my agent", "'/srv/my agent'"),
            ("/srv/$(reboot)", "'/srv/$(reboot)'"),
            ("/it's", r"'/it'\''s'"),
        ] {
            assert_eq!(word(Path::new(path)), expected);
        }
    }
}
