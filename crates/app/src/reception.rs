//! What the way in is told of the definitions: policies, agents, who answers where, what holds for a run.
//!
//! Definitions are read again when they changed, at most once in a while. What does not load is an error for
//! whoever comes next; nobody is let in by policies that are not there any more.
//!
//! Must never: go on with old policies because new ones do not load.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use agentry_agentfile::access::{LocalTime, Weekday};
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::access::{Access, compile};
use agentry_kernel::models::{Serving, Wanted, choose, is_played};
use agentry_protocol::AgentId;
use agentry_protocol::confinement::Level;
use agentry_protocol::event::Mode;
use agentry_protocol::intake::Wish;
use agentry_runtime::redact::Redactor;
use agentry_runtime::{Definitions, Error, Office, Terms};

use crate::engine::{self, Engine};
use crate::fault::{Blame, Fault};
use crate::host::{Host, Loaded};
use crate::limits::RELOAD_TIME_MIN;
use crate::verb::choose_agent;

/// What the way in is told of the definitions.
pub(crate) struct Reception {
    host: Mutex<Host>,
    project: PathBuf,
    workspace: PathBuf,
    level: Level,
    redactor: Arc<Redactor>,
    servings: Vec<Serving>,
    asked: Asked,
    zone: jiff::tz::TimeZone,
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
            zone: jiff::tz::TimeZone::system(),
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

    fn answers(&self, _channel: &str) -> Result<AgentId, Error> {
        let loaded = self.read()?.loaded.clone();
        let agent = choose_agent(&loaded, self.asked.agent.as_deref());
        agent.map(|agent| agent.id.clone()).map_err(|fault| Error::Definition(fault.to_string()))
    }

    fn local_time(&self, now: u64) -> LocalTime {
        let ms = i64::try_from(now).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
        let local = time.to_zoned(self.zone.clone());
        let weekday = match local.weekday() {
            jiff::civil::Weekday::Monday => Weekday::Monday,
            jiff::civil::Weekday::Tuesday => Weekday::Tuesday,
            jiff::civil::Weekday::Wednesday => Weekday::Wednesday,
            jiff::civil::Weekday::Thursday => Weekday::Thursday,
            jiff::civil::Weekday::Friday => Weekday::Friday,
            jiff::civil::Weekday::Saturday => Weekday::Saturday,
            jiff::civil::Weekday::Sunday => Weekday::Sunday,
        };
        let minute = i32::from(local.hour()) * 60 + i32::from(local.minute());
        LocalTime { weekday, minute: u16::try_from(minute).unwrap_or_default() }
    }

    fn wishes(&self, _channel: &str) -> (Wish, Wish) {
        (Wish::default(), Wish::default())
    }

    fn project(&self) -> String {
        self.project.display().to_string()
    }
}

/// The policies, ready to decide. Those of a directory in which something is wrong let nobody in.
pub(crate) fn policies(loaded: &Loaded) -> Result<Access, Fault> {
    let rules = &loaded.library.access;
    if let Some(file) = rules.broken.first() {
        let text = format!("the policies in {file} do not load");
        let hint = "`agentry check` shows why; until then nobody is let in";
        return Err(Fault::new(Blame::Agent, text).hint(hint));
    }
    Ok(compile(&rules.policies()))
}
