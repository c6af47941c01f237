//! The context of a command: environment, settings from the command line, loader of definitions.
//!
//! Must never: print.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use agentry_agentfile::agent::{Agent, Persona};
use agentry_agentfile::config::Settings;
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::FileTree;
use agentry_agentfile::skill::SkillLevel;
use agentry_model::RecordingMode;
use agentry_protocol::tool::ToolName;
use agentry_runtime::definitions::project_loader::{LoadedProject, LoaderInput, ProjectLoader};
use agentry_runtime::environment::Environment;
use agentry_runtime::host::tool_registry::ToolRegistry;
use agentry_runtime::redact::Redactor;
use agentry_runtime::{secret_store, tool_sources};
use agentry_tools::Toolset;

use crate::env;
use crate::fault::Fault;
use crate::sandbox_setup;

/// The context that all commands share.
pub struct CliContext {
    /// The environment variables of this process.
    pub environment: Arc<Environment>,
    /// The loader of definitions, with the settings from the command line.
    pub loader: ProjectLoader,
    tape: RefCell<Option<RecordingMode>>,
}

impl CliContext {
    /// Creates the context of this process. The flags are settings, as `key=value`.
    pub fn new(flags: Vec<String>) -> Self {
        let environment = Arc::new(env::read());
        let loader = ProjectLoader::new(LoaderInput {
            environment: environment.clone(),
            flags,
            tools: host_tool_names(),
            binary: sandbox_setup::binary(),
        });
        Self { environment, loader, tape: RefCell::default() }
    }

    /// Sets the recording mode for exchanges with providers; None records and plays nothing.
    pub fn use_tape(&self, tape: Option<RecordingMode>) {
        self.tape.replace(tape);
    }

    /// Returns the recording mode for exchanges with providers.
    pub fn tape(&self) -> Option<RecordingMode> {
        self.tape.borrow().clone()
    }

    /// Reads the effective settings of a project, from all layers.
    pub fn settings(&self, project: &FileTree, findings: &mut Findings) -> Settings {
        self.loader.settings(project, findings)
    }

    /// Returns a redactor for the operator's secrets, for a command that runs no agent.
    pub fn redactor(&self) -> Result<Redactor, Fault> {
        let settings = self.settings(&FileTree::default(), &mut Findings::default());
        let secrets = secret_store::resolve(&self.environment, &settings.config.secrets)?;
        Ok(secrets.redactor())
    }

    /// Loads the project of a directory, or of a file in one.
    pub fn load(&self, path: &Path, level: SkillLevel) -> Result<LoadedProject, Fault> {
        Ok(self.loader.load(path, level)?)
    }

    /// Renders the template of an agent; None if it has none.
    pub fn render(
        &self,
        agent: &Agent,
        persona: Option<&Persona>,
    ) -> Result<Option<String>, Fault> {
        Ok(self.loader.render(agent, persona)?)
    }
}

/// Returns the registry of the tools of this host, with these built-in ones.
pub fn tool_registry(builtin: Arc<Toolset>) -> ToolRegistry {
    ToolRegistry::new(tool_sources::standard(builtin))
}

/// Returns the names of the host's tools, which no definition can take.
pub fn host_tool_names() -> BTreeSet<ToolName> {
    tool_registry(Arc::new(Toolset::builtin())).names()
}
