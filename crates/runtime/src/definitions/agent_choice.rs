//! The agent that a request means: by id, by its directory, the default, or the only one.
//!
//! Must never: choose among several agents by their order.

use std::path::Path;

use agentry_agentfile::agent::Agent;
use agentry_agentfile::diagnostic::{Severity, suggestion};

use crate::definitions::project_error::ProjectError;
use crate::definitions::project_loader::LoadedProject;
use crate::limits::AGENT_ERRORS_SHOWN_MAX;

/// Returns the wanted agent, else that of the requested directory, the default, or the only one.
/// Errors name the directory as `place`.
pub fn choose_agent<'a>(
    loaded: &'a LoadedProject,
    place: &Path,
    wanted: Option<&str>,
) -> Result<&'a Agent, ProjectError> {
    if let Some(error) = loaded.settings_error() {
        return Err(error);
    }
    let library = &loaded.library;
    let broken_ids = library.broken_agents.keys();
    let known: Vec<&str> = library.agents.keys().chain(broken_ids).map(String::as_str).collect();
    let default = library.settings.config.agent.default.as_deref();
    let place = place.display();
    if let Some(id) = wanted.or(loaded.asked.as_deref()).or(default) {
        return match (library.agents.get(id), library.broken_agents.get(id)) {
            (Some(agent), _) => Ok(agent),
            (None, Some(file)) => Err(broken(loaded, id, file)),
            (None, None) => Err(ProjectError::NoAgent {
                what: format!("{place} has no agent `{id}`"),
                hint: suggestion(id, &known),
            }),
        };
    }
    let mut agents = library.agents.values();
    match (agents.next(), agents.next(), library.broken_agents.iter().next()) {
        (Some(agent), None, None) => Ok(agent),
        (None, None, Some((id, file))) => Err(broken(loaded, id, file)),
        (None, None, None) => {
            let found = loaded.findings.sorted();
            let error = found.iter().find(|one| one.severity == Severity::Error);
            let why = error.map(|one| format!(": {} {} {}", one.file, one.code, one.message));
            let what = format!("no agent was found in {place}{}", why.unwrap_or_default());
            Err(ProjectError::NoAgent { what, hint: "create one with `agentry init <dir>`".into() })
        }
        _ => {
            let mut ids: Vec<String> = library.agents.keys().cloned().collect();
            ids.extend(library.broken_agents.keys().map(|id| format!("{id} (does not load)")));
            ids.sort();
            Err(ProjectError::SeveralAgents { place: place.to_string(), ids })
        }
    }
}

fn broken(loaded: &LoadedProject, id: &str, file: &str) -> ProjectError {
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
    let directory = directory.trim_end_matches("context").trim_end_matches('/');
    let is_own = |path: &str| {
        let below = path.strip_prefix(directory);
        below.is_some_and(|rest| directory.is_empty() || rest.starts_with('/'))
    };
    let sorted = loaded.findings.sorted();
    let all: Vec<String> = sorted
        .iter()
        .filter(|one| one.severity == Severity::Error && is_own(&one.file))
        .map(|one| format!("\n  {}", one.brief()))
        .collect();
    let mut errors = all.iter().take(AGENT_ERRORS_SHOWN_MAX).cloned().collect::<String>();
    if all.len() > AGENT_ERRORS_SHOWN_MAX {
        errors.push_str(&format!("\n  and {} more", all.len() - AGENT_ERRORS_SHOWN_MAX));
    }
    let errors = if errors.is_empty() { errors } else { format!(":{errors}") };
    ProjectError::BrokenAgent { id: id.to_owned(), file: file.to_owned(), errors }
}
