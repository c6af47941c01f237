//! What the way in is told of the definitions: policies, agents, who answers where, what holds for a run.
//!
//! Definitions are read again when they changed, at most once in a while. What does not load is an error for
//! whoever comes next; nobody is let in by policies that are not there any more.
//!
//! Must never: go on with old policies because new ones do not load.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use agentry_agentfile::access::LocalTime;
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::access::Access;
use agentry_kernel::models::{Serving, Wanted, choose, is_played};
use agentry_protocol::AgentId;
use agentry_protocol::confinement::Level;
use agentry_protocol::event::Mode;
use agentry_protocol::intake::Wish;
use agentry_runtime::redact::Redactor;
use agentry_runtime::{Definitions, Error, Office, Terms};

use crate::access::policies;
use crate::engine::{self, Engine};
use crate::fault::Fault;
use crate::host::{Host, Loaded};
use crate::limits::RELOAD_TIME_MIN;
use crate::verb::choose_agent;
use crate::zone::{self, Zone};

/// What the way in is told of the definitions.
pub(crate) struct Reception {
    host: Mutex<Host>,
    project: PathBuf,
    workspace: PathBuf,
    level: Level,
    redactor: Arc<Redactor>,
    servings: Vec<Serving>,
    asked: Asked,
    zone: Zone,
    read: Mutex<Read>,
}

/// What the command line says.
#[derive(Clone, Default)]
pub(crate) struct Asked {
    /// The agent, if the directory holds several.
    pub(crate) agent: Option<String>,
    /// The model.
    pub(crate) model: Option<String>,
}

/// The definitions as they were read last.
struct Read {
    at: Instant,
    loaded: Arc<Loaded>,
    definitions: Arc<Definitions>,
    access: Arc<Access>,
}

impl Reception {
    /// Takes over what an engine read.
    pub(crate) fn new(host: &Host, engine: Engine, asked: Asked) -> Result<Self, Fault> {
        let servings = match asked.model.as_deref().is_some_and(is_played) {
            // A script is no provider's: nothing has to be looked at.
            true => Vec::new(),
            false => engine.servings().to_vec(),
        };
        let access = policies(&engine.loaded)?;
        let zone = zone::of(&engine.loaded.library.settings)?;
        let Engine { parts, definitions, loaded, project, .. } = engine;
        let (level, workspace) = (definitions.level, definitions.workspace.clone());
        let read = Read {
            at: Instant::now(),
            loaded: Arc::new(loaded),
            definitions: Arc::new(definitions),
            access: Arc::new(access),
        };
        Ok(Self {
            host: Mutex::new(Host::new(host.flags.clone())?),
            project,
            workspace,
            level,
            redactor: parts.redactor.clone(),
            servings,
            asked,
            zone,
            read: Mutex::new(read),
        })
    }

    /// The definitions, read again if that was long enough ago.
    fn read(&self) -> Result<MutexGuard<'_, Read>, Error> {
        let mut read = self.read.lock().unwrap_or_else(|one| one.into_inner());
        if read.at.elapsed() >= RELOAD_TIME_MIN {
            let host = self.host.lock().unwrap_or_else(|one| one.into_inner());
            *read = self.read_again(&host).map_err(|fault| Error::Definition(fault.to_string()))?;
        }
        Ok(read)
    }

    fn read_again(&self, host: &Host) -> Result<Read, Fault> {
        let loaded = host.load(Path::new("."), SkillLevel::Extended)?;
        if let Some(fault) = loaded.settings_fault() {
            return Err(fault);
        }
        let access = policies(&loaded)?;
        let mut definitions = engine::definitions(host, &loaded, &self.project, self.level)?;
        definitions.redactor = self.redactor.clone();
        definitions.workspace = self.workspace.clone();
        Ok(Read {
            at: Instant::now(),
            loaded: Arc::new(loaded),
            definitions: Arc::new(definitions),
            access: Arc::new(access),
        })
    }
}

impl Office for Reception {
    fn access(&self) -> Result<Arc<Access>, Error> {
        Ok(self.read()?.access.clone())
    }

    fn definitions(&self) -> Result<Arc<Definitions>, Error> {
        Ok(self.read()?.definitions.clone())
    }

    fn terms(&self, definitions: &Definitions, agent: &AgentId) -> Result<Terms, Error> {
        let agent = definitions.agent(agent)?;
        let config = &definitions.library.settings.config;
        let (asked, default) = (self.asked.model.as_deref(), config.agent.model.as_deref());
        let wanted = Wanted { asked, agent: &agent.models, default };
        let choice = choose(&wanted, &self.servings)
            .map_err(|none| Error::Definition(format!("{none}; {}", none.hint())))?;
        let loaded = self.read()?.loaded.clone();
        Ok(Terms {
            model: choice.model,
            fallbacks: choice.fallbacks,
            mode: Mode::Supervised,
            limits: engine::limits(&loaded, None),
            check: None,
            persona: None,
            bounds: None,
        })
    }

    fn answers(&self, channel: &str) -> Result<AgentId, Error> {
        let loaded = self.read()?.loaded.clone();
        let channels = &loaded.library.settings.config.channels;
        let named = channels.get(channel).and_then(|channel| channel.agent.as_deref());
        let agent = choose_agent(&loaded, named.or(self.asked.agent.as_deref()));
        agent.map(|agent| agent.id.clone()).map_err(|fault| Error::Definition(fault.to_string()))
    }

    fn local_time(&self, now: u64) -> LocalTime {
        self.zone.local(now)
    }

    fn wishes(&self, channel: &str) -> Result<(Wish, Wish), Error> {
        let loaded = self.read()?.loaded.clone();
        let config = &loaded.library.settings.config;
        let own = config.channels.get(channel).and_then(|channel| channel.queue);
        Ok((own.unwrap_or_default(), config.queue.wish()))
    }

    fn project(&self) -> String {
        self.project.display().to_string()
    }
}
