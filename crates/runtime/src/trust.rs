//! Whether the owner has looked at the programs that an agent brings, as they are now.
//!
//! Must never: take a look at something else, or at the same thing elsewhere, for a look at this.

use agentry_agentfile::agent::Agent;
use agentry_protocol::AgentId;
use agentry_protocol::trust::Trusted;
use agentry_store::Ledger;

use crate::define::Definitions;
use crate::error::Error;

/// How the programs of an agent stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It brings none.
    Nothing,
    /// The owner lets them run as they are.
    Trusted(Box<Trusted>),
    /// The owner let them run as they were.
    Changed(Box<Trusted>),
    /// Nobody has looked at them.
    Unseen,
}

/// How the programs of an agent stand.
///
/// # Errors
/// When it cannot be said what of it would run.
pub fn standing(
    ledger: &Ledger,
    definitions: &Definitions,
    agent: &Agent,
) -> Result<Standing, Error> {
    let manifest = definitions.manifest(agent)?;
    if manifest.is_empty() {
        return Ok(Standing::Nothing);
    }
    let directory = definitions.directory(agent).display().to_string();
    Ok(match ledger.trusted(&directory)? {
        None => Standing::Unseen,
        Some((trusted, _)) if trusted.hash == manifest.hash => Standing::Trusted(Box::new(trusted)),
        Some((trusted, _)) => Standing::Changed(Box::new(trusted)),
    })
}

/// Refuses an agent whose programs the owner has not looked at.
pub(crate) fn check<'a>(
    ledger: &Ledger,
    definitions: &Definitions,
    agents: impl Iterator<Item = &'a AgentId>,
) -> Result<(), Error> {
    // One that does not load brings nothing.
    for agent in agents.filter_map(|id| definitions.library.agents.get(id.as_str())) {
        check_one(ledger, definitions, agent)?;
    }
    Ok(())
}

/// The same for one agent.
///
/// # Errors
/// When the owner has not looked, or it cannot be said at what.
pub fn check_one(ledger: &Ledger, definitions: &Definitions, agent: &Agent) -> Result<(), Error> {
    let has_changed = match standing(ledger, definitions, agent)? {
        Standing::Nothing | Standing::Trusted(_) => return Ok(()),
        Standing::Changed(_) => true,
        Standing::Unseen => false,
    };
    let place = place(definitions, agent);
    Err(Error::Untrusted { agent: agent.id.clone(), place, has_changed })
}

/// What `agentry trust` is given to look at an agent.
pub fn place(definitions: &Definitions, agent: &Agent) -> String {
    // What lies in the user's home is looked at as it is seen from the project.
    match agent.directory.starts_with("~/") {
        true => format!("{} --agent {}", word(&definitions.project), agent.id),
        false => word(&definitions.directory(agent)),
    }
}

/// A path as one word of a command.
fn word(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@,:".contains(c);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
