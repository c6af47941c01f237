//! Collects what the confinement of an agent depends on: links, toolchains, definition files.
//!
//! Must never: decide. It only reports the present files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentry_agentfile::agent::{Agent, AgentForm};
use agentry_agentfile::layout::PACKS;
use agentry_agentfile::manifest::config::Config;
use agentry_agentfile::sandbox::SandboxLayer;
use agentry_agentfile::trust::{self, TrustCoverage};
use agentry_kernel::confinement::{self, ConfinementContext, DroppedSetting, TOOLCHAINS};
use agentry_protocol::access::Bounds;
use agentry_protocol::confinement::{Confinement, ConfinementLevel};
use agentry_protocol::protected::{AGENT_DIRECTORIES, AGENT_FILES, CONTEXT_FOLDER, PROJECT_FILES};

use crate::definitions::Definitions;
use crate::error::Error;

/// Returns an agent's confinement, and the requested settings that were dropped.
pub(crate) fn of_agent(
    definitions: &Definitions,
    agent: &Agent,
    sender: Option<&Bounds>,
) -> Result<(Confinement, Vec<DroppedSetting>), Error> {
    if definitions.level == ConfinementLevel::Off {
        return Ok((Confinement::unconfined(), Vec::new()));
    }
    let layers = definitions.library.settings.sandbox();
    let requests: Vec<&SandboxLayer> =
        layers.requests.iter().chain(&agent.powers.confinement).collect();
    let mut place = ConfinementContext { sender: sender.cloned(), ..place(definitions, agent) };
    let named = confinement::listed_paths(&layers.operator, &requests, &place);
    place.real =
        named.into_iter().filter_map(|path| Some((path.clone(), leads_to(&path)?))).collect();
    confinement::resolve(definitions.level, &layers.operator, &requests, &place)
        .map_err(|refused| Error::Definition(refused.to_string()))
}

/// Returns the directory of an agent, without links.
pub(crate) fn directory(definitions: &Definitions, agent: &Agent) -> PathBuf {
    let home = definitions.home.as_deref().map(Path::new);
    let directory = match (agent.directory.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        (Some(_) | None, _) => definitions.project.join(&agent.directory),
    };
    plain(&directory).into()
}

fn place(definitions: &Definitions, agent: &Agent) -> ConfinementContext {
    let home = definitions.home.as_deref().map(Path::new);
    let directory = directory(definitions, agent).display().to_string();
    let toolchains = home.into_iter().flat_map(|home| TOOLCHAINS.map(|name| home.join(name)));
    ConfinementContext {
        workspace: plain(&definitions.workspace),
        project: plain(&definitions.project),
        home: home.map(plain),
        state: definitions.state.as_deref().map(plain),
        agent: Some(agent.id.clone()),
        toolchains: toolchains.filter(|path| path.exists()).map(|path| plain(&path)).collect(),
        definitions: defining(&definitions.project, agent, &directory),
        agent_directory: directory,
        real: BTreeMap::new(),
        settings: definitions.settings_file.clone(),
        sender: None,
        credentials: credentials(&definitions.library.settings.config),
    }
}

/// Lists the credentials in the operator's settings: each secret with its receivers, each variable.
fn credentials(config: &Config) -> Vec<String> {
    let secrets = config.secrets.named.iter().flat_map(|(name, secret)| {
        let variable = secret.variable.as_deref().unwrap_or(name);
        secret.receivers.iter().map(move |one| format!("secret {name} for {one} as {variable}"))
    });
    let variables = config.sandbox.env.iter().flatten().map(|name| format!("variable {name}"));
    let mut all: Vec<String> = secrets.chain(variables).collect();
    all.sort();
    all
}

/// Lists the files and directories that define the agent and its permissions.
fn defining(project: &Path, agent: &Agent, directory: &str) -> Vec<String> {
    let below = |names: &[&str]| -> Vec<String> {
        names.iter().map(|name| plain(&project.join(name))).collect()
    };
    let mut all = below(&PROJECT_FILES);
    all.extend(below(&PACKS));
    let is_project = directory == plain(project);
    match (is_project, agent.form) {
        (true, AgentForm::Program | AgentForm::Pack | AgentForm::ContextFolder) => {
            all.extend(below(&AGENT_FILES));
            all.extend(below(&AGENT_DIRECTORIES));
            all.extend(below(&[CONTEXT_FOLDER]));
            let trusted = trusted_paths(agent, Path::new(directory));
            all.extend(trusted.iter().map(|path| plain(path)));
        }
        (false, AgentForm::Program | AgentForm::Pack | AgentForm::ContextFolder) => {
            all.push(directory.to_owned())
        }
    }
    all
}

/// Lists an agent's files and folders that its trust covers; no call writes them during a run.
pub(crate) fn trusted_paths(agent: &Agent, directory: &Path) -> Vec<PathBuf> {
    if trust::brings_programs(agent) {
        TrustCoverage::of(agent).paths().map(|path| directory.join(path)).collect()
    } else {
        Vec::new()
    }
}

/// Returns the real path if it differs; missing parts at the end of the path are kept.
fn leads_to(path: &str) -> Option<String> {
    let mut rest: Vec<&std::ffi::OsStr> = Vec::new();
    let mut above = Path::new(path);
    loop {
        if let Ok(real) = above.canonicalize() {
            let full: PathBuf = real.iter().chain(rest.into_iter().rev()).collect();
            let full = full.display().to_string();
            return (full != path).then_some(full);
        }
        rest.push(above.file_name()?);
        above = above.parent()?;
    }
}

/// Returns the path without links, as far as it exists.
fn plain(path: &Path) -> String {
    let text = path.display().to_string();
    leads_to(&text).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_although_what_is_below_it_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        let text = |name: &str| root.join(name).display().to_string();
        assert_eq!(leads_to(&text("link/new/file")), Some(text("real/new/file")));
        assert_eq!(leads_to(&text("real/new")), None);
    }
}
