//! A cache of definitions that reloads changed files: policies, agents, routes, run settings.
//!
//! Readers get definitions that were checked a moment ago. Under load, a thread checks for changed
//! files in the background; after a quiet time, the first reader waits for the check. Definitions
//! that do not load are an error for the next reader; removed policies allow no access.
//!
//! Must never: continue with old policies because new ones do not load.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use agentry_agentfile::access::LocalTime;
use agentry_agentfile::agent::{Agent, AgentModels};
use agentry_agentfile::layout;
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::access::AccessPolicies;
use agentry_kernel::model_choice::{
    ModelChoice, ModelChoiceError, ModelPreferences, SelectableProvider, choose, is_played,
};
use agentry_protocol::AgentId;
use agentry_protocol::confinement::ConfinementLevel;
use agentry_protocol::inbound_request::RunOverrides;
use agentry_protocol::intake::QueuePreferences;
use agentry_store::Ledger;

use crate::definitions::Definitions;
use crate::definitions::agent_choice::choose_agent;
use crate::definitions::definition_changes::{DefinitionChange, in_words, unconfirmed};
use crate::definitions::definition_source::DefinitionSource;
use crate::definitions::project_error::ProjectError;
use crate::definitions::project_loader::{DefinitionFiles, LoadedProject, ProjectLoader};
use crate::definitions::run_limits::run_limits;
use crate::error::Error;
use crate::limits::{RELOAD_TIME_MAX, RELOAD_TIME_MIN};
use crate::redact::Redactor;
use crate::run_request::RunSettings;

/// A cache of the definitions, for intake and the server.
pub struct DefinitionCache {
    shelf: Arc<CacheState>,
    // Wakes the thread that checks for changes; the thread ends when the cache is dropped.
    look: SyncSender<()>,
}

/// The state shared with the thread: the inputs of loading, and its result.
struct CacheState {
    loader: Mutex<ProjectLoader>,
    project: PathBuf,
    workspace: PathBuf,
    level: ConfinementLevel,
    redactor: Arc<Redactor>,
    servings: Vec<SelectableProvider>,
    asked: CliSelection,
    surface: CacheSurface,
    confirmation: Confirmation,
    ledger: Ledger,
    read: Mutex<CachedDefinitions>,
}

/// The definitions that a cache begins with, and what it reloads them with.
pub struct CacheInput {
    /// The loader of the definitions.
    pub loader: ProjectLoader,
    /// The loaded project.
    pub loaded: LoadedProject,
    /// The definitions for runs.
    pub definitions: Arc<Definitions>,
    /// The directory of the project.
    pub project: PathBuf,
    /// The ledger, which has the confirmations.
    pub ledger: Ledger,
    /// The providers and their models.
    pub servings: Vec<SelectableProvider>,
}

/// Functions of the binary that a cache calls.
pub struct CacheSurface {
    /// Converts milliseconds since 1970 to the owner's local time.
    pub local_time: Box<dyn Fn(u64) -> LocalTime + Send + Sync>,
    /// Turns an error into the text that readers get.
    pub describe: fn(ProjectError) -> String,
    /// Receives notices for the operator, one line each.
    pub notice: fn(&str),
}

/// Rule for definitions that change while this process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// They are used only after the owner confirmed them.
    Needed,
    /// They are used at once.
    NotNeeded,
}

/// The agent and model named on the command line.
#[derive(Clone, Default)]
pub struct CliSelection {
    /// The agent, if the directory has several.
    pub agent: Option<String>,
    /// The model for all runs.
    pub model: Option<String>,
}

/// The definitions as last loaded.
struct CachedDefinitions {
    /// The time of the last check for changes.
    at: Instant,
    /// The stamp of their files; None forces a reload.
    stamp: Option<u64>,
    /// The definitions, or the reason why they do not load.
    said: Result<DefinitionSnapshot, String>,
    /// A text about changes that are not used, because they are not confirmed.
    held: Option<String>,
}

/// A consistent state of the definitions.
#[derive(Clone)]
pub struct DefinitionSnapshot {
    /// The loaded project, with its findings.
    pub loaded: Arc<LoadedProject>,
    /// The definitions for runs.
    pub definitions: Arc<Definitions>,
    /// The access policies.
    pub access: Arc<AccessPolicies>,
}

impl DefinitionCache {
    /// Creates a cache from loaded definitions, and starts its thread.
    ///
    /// # Errors
    /// An access policy has errors, or the thread does not start.
    pub fn new(
        input: CacheInput,
        asked: CliSelection,
        confirmation: Confirmation,
        surface: CacheSurface,
    ) -> Result<Self, ProjectError> {
        let CacheInput { loader, loaded, definitions, project, ledger, servings } = input;
        let access = loaded.policies()?;
        let (level, workspace) = (definitions.level, definitions.workspace.clone());
        let redactor = definitions.redactor.clone();
        let definite =
            DefinitionSnapshot { loaded: Arc::new(loaded), definitions, access: Arc::new(access) };
        let shelf = Arc::new(CacheState {
            loader: Mutex::new(loader),
            project,
            workspace,
            level,
            redactor,
            servings,
            asked,
            surface,
            confirmation,
            ledger,
            read: Mutex::new(CachedDefinitions {
                at: Instant::now(),
                stamp: None,
                said: Ok(definite),
                held: None,
            }),
        });
        let (look, looks) = mpsc::sync_channel(0);
        let looking = shelf.clone();
        let spawned = thread::Builder::new().name("definitions".to_owned()).spawn(move || {
            for () in looks {
                looking.look();
            }
        });
        spawned.map_err(ProjectError::Thread)?;
        Ok(Self { shelf, look })
    }

    /// Returns the confinement level of agents' programs.
    pub fn level(&self) -> ConfinementLevel {
        self.shelf.level
    }

    /// Returns the definitions, at most `RELOAD_TIME_MAX` old.
    ///
    /// # Errors
    /// The definitions do not load.
    pub fn read(&self) -> Result<DefinitionSnapshot, Error> {
        let age = self.shelf.read().at.elapsed();
        if age >= RELOAD_TIME_MAX {
            self.shelf.look();
        } else if age >= RELOAD_TIME_MIN {
            match self.look.try_send(()) {
                // If a check is active already, that is enough.
                Ok(()) | Err(TrySendError::Full(())) => {}
                // Without the thread, this one checks.
                Err(TrySendError::Disconnected(())) => self.shelf.look(),
            }
        }
        self.shelf.read().said.clone().map_err(Error::Unready)
    }

    /// Returns a text about changed definitions that are not used, because they are not confirmed.
    pub fn held(&self) -> Option<String> {
        self.shelf.read().held.clone()
    }

    /// Returns the providers and their models, as of the start of this process.
    pub fn servings(&self) -> &[SelectableProvider] {
        &self.shelf.servings
    }

    /// Returns true if the command line names a scripted model.
    pub fn is_played(&self) -> bool {
        self.shelf.asked.model.as_deref().is_some_and(is_played)
    }

    /// Chooses the model of an agent, or of one without models; the result lists the steps.
    pub fn choice(
        &self,
        definite: &DefinitionSnapshot,
        agent: Option<&Agent>,
    ) -> Result<ModelChoice, Box<ModelChoiceError>> {
        let nothing = AgentModels::default();
        let default = definite.loaded.library.settings.config.agent.model.as_deref();
        let asked = self.shelf.asked.model.as_deref();
        let models = agent.map_or(&nothing, |agent| &agent.models);
        choose(&ModelPreferences { asked, agent: models, default }, &self.shelf.servings)
            .map_err(Box::new)
    }
}

impl CacheState {
    fn read(&self) -> MutexGuard<'_, CachedDefinitions> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the files again, and loads them if any of them changed.
    fn look(&self) {
        // Another thread may have reloaded while we waited for the lock.
        let begun = Instant::now();
        let loader = self.loader.lock().unwrap_or_else(PoisonError::into_inner);
        if self.read().at >= begun {
            return;
        }
        let gathered = loader.read_definitions(Path::new("."));
        let stamp = gathered.as_ref().ok().map(DefinitionFiles::stamp);
        if stamp.is_none() || self.read().stamp != stamp {
            let loaded =
                gathered.map(|gathered| loader.load_definitions(gathered, SkillLevel::Extended));
            let held = loaded.as_ref().map_or(Ok(None), |loaded| self.unconfirmed(loaded));
            match held {
                Ok(None) => {
                    let said = loaded.and_then(|loaded| self.understand(&loader, loaded));
                    let mut read = self.read();
                    read.said = said.map_err(self.surface.describe);
                    (read.stamp, read.held) = (stamp, None);
                }
                Ok(Some(changes)) => self.hold(&changes),
                Err(error) => self.read().said = Err((self.surface.describe)(error.into())),
            }
        }
        self.read().at = Instant::now();
    }

    /// Returns the changes since the confirmation, if confirmation is needed.
    fn unconfirmed(
        &self,
        loaded: &LoadedProject,
    ) -> Result<Option<Vec<DefinitionChange>>, agentry_store::Error> {
        match self.confirmation {
            Confirmation::NotNeeded => Ok(None),
            Confirmation::Needed => {
                let changes = unconfirmed(&self.ledger, loaded)?;
                Ok(changes.filter(|changes| !changes.is_empty()))
            }
        }
    }

    /// Keeps the definitions that were confirmed last; if a policy changed, all access is denied.
    fn hold(&self, changes: &[DefinitionChange]) {
        let text = format!(
            "definitions changed, not used until confirmed: {}; review them, then run \
             `agentry trust {} --yes`",
            in_words(changes),
            self.project.display()
        );
        let mut read = self.read();
        if changes.iter().any(|change| is_policy(&change.path)) {
            read.said = Err(text.clone());
        }
        if read.held.as_ref() != Some(&text) {
            (self.surface.notice)(&text);
            read.held = Some(text);
        }
        // The next check reloads in any case, because a confirmation changes no file.
        read.stamp = None;
    }

    fn understand(
        &self,
        loader: &ProjectLoader,
        loaded: LoadedProject,
    ) -> Result<DefinitionSnapshot, ProjectError> {
        if let Some(error) = loaded.settings_error() {
            return Err(error);
        }
        let access = loaded.policies()?;
        let mut definitions = loader.definitions(&loaded, &self.project, self.level)?;
        definitions.redactor = self.redactor.clone();
        definitions.workspace = self.workspace.clone();
        Ok(DefinitionSnapshot {
            loaded: Arc::new(loaded),
            definitions: Arc::new(definitions),
            access: Arc::new(access),
        })
    }
}

/// Returns true if a file is an access policy.
fn is_policy(path: &str) -> bool {
    layout::PACKS.iter().any(|pack| path.split('/').any(|part| part == *pack))
        && path.split('/').any(|part| part == "access")
}

impl DefinitionSource for DefinitionCache {
    fn access(&self) -> Result<Arc<AccessPolicies>, Error> {
        Ok(self.read()?.access)
    }

    fn definitions(&self) -> Result<Arc<Definitions>, Error> {
        Ok(self.read()?.definitions)
    }

    fn terms(
        &self,
        definitions: &Definitions,
        agent: &AgentId,
        wish: &RunOverrides,
    ) -> Result<RunSettings, Error> {
        let agent = definitions.agent(agent)?;
        if wish.model.as_deref().is_some_and(is_played) {
            let why = "a scripted model can only be named at the start of the server";
            return Err(Error::Definition(why.to_owned()));
        }
        let config = &definitions.library.settings.config;
        let asked = wish.model.as_deref().or(self.shelf.asked.model.as_deref());
        let default = config.agent.model.as_deref();
        let wanted = ModelPreferences { asked, agent: &agent.models, default };
        let choice = choose(&wanted, &self.shelf.servings)
            .map_err(|none| Error::Definition(format!("{none}; {}", none.hint())))?;
        let loaded = self.read()?.loaded;
        Ok(RunSettings {
            model: choice.model,
            fallbacks: choice.fallbacks,
            mode: wish.mode.unwrap_or_default(),
            limits: run_limits(&loaded.library.settings.config.limits, None),
            check: None,
            persona: None,
            bounds: None,
            shaping: Default::default(),
        })
    }

    fn default_agent(&self, channel: &str) -> Result<AgentId, Error> {
        let loaded = self.read()?.loaded;
        let channels = &loaded.library.settings.config.channels;
        let named = channels.get(channel).and_then(|channel| channel.agent.as_deref());
        let wanted = named.or(self.shelf.asked.agent.as_deref());
        let agent = choose_agent(&loaded, Path::new("."), wanted);
        agent
            .map(|agent| agent.id.clone())
            .map_err(|error| Error::Definition((self.shelf.surface.describe)(error)))
    }

    fn local_time(&self, now: u64) -> LocalTime {
        (self.shelf.surface.local_time)(now)
    }

    fn wishes(&self, channel: &str) -> Result<(QueuePreferences, QueuePreferences), Error> {
        let loaded = self.read()?.loaded;
        let config = &loaded.library.settings.config;
        let own = config.channels.get(channel).and_then(|channel| channel.queue);
        Ok((own.unwrap_or_default(), config.queue.preferences()))
    }

    fn project(&self) -> String {
        self.shelf.project.display().to_string()
    }
}
