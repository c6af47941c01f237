//! The loaded definitions of a project, with the places of its runs.
//!
//! Must never: change after they are loaded.

pub mod agent_choice;
mod agent_manifests;
pub(crate) mod confinement;
pub mod definition_cache;
pub mod definition_changes;
pub mod definition_overlay;
pub(crate) mod definition_source;
pub mod path_target;
pub mod plan;
pub mod policies;
pub mod project_error;
pub mod project_loader;
pub mod run_limits;
pub mod template_process;
pub mod tree_reader;
pub mod trust;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agentry_agentfile::agent::{Agent, Persona};
use agentry_agentfile::library::Library;
use agentry_agentfile::trust::TrustManifest;
use agentry_protocol::AgentId;
use agentry_protocol::confinement::ConfinementLevel;

use crate::definitions::template_process::Renderer;
use crate::error::Error;
use crate::redact::Redactor;

/// The loaded definitions of a project, with the places of its runs.
pub struct Definitions {
    /// The agents, tasks and skills of the project.
    pub library: Library,
    /// The directory that the definitions were read from.
    pub project: PathBuf,
    /// The directory that commands and file tools work in.
    pub workspace: PathBuf,
    /// The directory of the runtime's own state; None if there is none.
    pub state: Option<PathBuf>,
    /// The path of the operator's settings file.
    pub settings_file: String,
    /// The sandbox level of new confinements.
    pub level: ConfinementLevel,
    /// The user's home directory; None if unknown.
    pub home: Option<String>,
    /// The variables that set limits for tools.
    pub environment: BTreeMap<String, String>,
    /// Renders templates.
    pub renderer: Mutex<Renderer>,
    /// Removes the values of secrets from prompts.
    pub redactor: Arc<Redactor>,
}

impl Definitions {
    /// Returns the agent with this id.
    pub fn agent(&self, id: &AgentId) -> Result<&Agent, Error> {
        self.library.agents.get(id.as_str()).ok_or_else(|| {
            if let Some(file) = self.library.broken_agents.get(id.as_str()) {
                let why =
                    format!("the agent `{id}` ({file}) does not load; `agentry check` shows why");
                return Error::Definition(why);
            }
            let known: Vec<&str> = self.library.agents.keys().map(String::as_str).collect();
            Error::Definition(format!("there is no agent `{id}`; there are: {}", known.join(", ")))
        })
    }

    /// Returns the manifest of the programs that an agent brings.
    ///
    /// # Errors
    /// If the programs cannot be determined; then none of them may run.
    pub fn manifest(&self, agent: &Agent) -> Result<&TrustManifest, Error> {
        match self.library.programs.get(agent.id.as_str()) {
            Some(Ok(manifest)) => Ok(manifest),
            Some(Err(unknown)) => Err(Error::Definition(format!(
                "cannot determine the programs of `{}`: {unknown}",
                agent.id
            ))),
            None => Err(Error::Definition(format!("the agent `{}` was not read", agent.id))),
        }
    }
}

/// Returns the wanted persona, else the agent's default; None if there is neither.
pub(crate) fn persona<'a>(
    agent: &'a Agent,
    wanted: Option<&str>,
) -> Result<Option<&'a Persona>, Error> {
    let default = agent.personas.default.as_ref().map(|id| id.value.as_str());
    let persona = wanted
        .or(default)
        .and_then(|id| agent.personas.available.iter().find(|one| one.id.as_str() == id));
    match (wanted, persona) {
        (Some(name), None) => {
            let why = format!("the agent `{}` has no persona `{name}`", agent.id);
            Err(Error::Definition(why))
        }
        (_, persona) => Ok(persona),
    }
}
