//! What a chat is about: an agent, its terms, a session; and how a chat begins or goes on.
//!
//! Must never: take a session of another agent or directory for this one's.

use std::path::Path;
use std::sync::Arc;

use agentry_protocol::envelope::Envelope;
use agentry_protocol::message::Image;
use agentry_protocol::{AgentId, RunId, SessionId, SessionKey};
use agentry_runtime::RunRequest;
use agentry_runtime::RunSettings;
use agentry_runtime::fork::fork;
use agentry_store::{EntryFilter, Ledger, RunRow, RunStatus, SessionRow};

use crate::bootstrap::{self, ProjectRuntime};
use crate::commands::no_fork;
use crate::fault::Fault;
use crate::limits::CHAT_SESSIONS_MAX;

/// Names of sessions that chats began start so.
const KEY: &str = "chat_";

/// What a chat is about.
pub(crate) struct ChatSession {
    pub(crate) engine: Arc<ProjectRuntime>,
    pub(crate) agent: AgentId,
    pub(crate) terms: RunSettings,
    /// Why it is this model.
    pub(crate) model_from: String,
    pub(crate) key: SessionKey,
    /// The session, once something was said in it.
    pub(crate) session: Option<SessionId>,
}

impl ChatSession {
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.engine.parts.ledger
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.engine.definitions.workspace
    }

    /// The persona that was chosen, or that the agent wears by itself.
    pub(crate) fn persona(&self) -> Option<&str> {
        let default = || Some(self.definition()?.personas.default.as_ref()?.value.as_str());
        self.terms.persona.as_deref().or_else(default)
    }

    /// The session's name, short enough for a footer.
    pub(crate) fn short_key(&self) -> String {
        let key = self.key.as_str();
        match key.strip_prefix(KEY) {
            Some(id) => format!("{KEY}…{}", &id[id.len().saturating_sub(6)..]),
            None => key.to_owned(),
        }
    }

    pub(crate) fn definition(&self) -> Option<&agentry_agentfile::agent::Agent> {
        self.engine.definitions.agent(&self.agent).ok()
    }

    /// What is asked of the next run.
    pub(crate) fn order(&self, prompt: String, images: Vec<Image>) -> RunRequest {
        RunRequest {
            agent: self.agent.clone(),
            task: None,
            prompt,
            images,
            inputs: std::collections::BTreeMap::new(),
            terms: self.terms.clone(),
            session: Some(self.key.clone()),
            project: self.engine.project.display().to_string(),
            inbounds: Vec::new(),
            said: None,
        }
    }

    /// From now on the talk is in a new session.
    pub(crate) fn start_new_session(&mut self) {
        self.key = new_key();
        self.session = None;
    }

    /// From now on the talk is in this session.
    pub(crate) fn switch_session(&mut self, row: &SessionRow) {
        self.key = row.key.clone();
        self.session = Some(row.id.clone());
    }

    /// A new session that goes on from the head of this one.
    pub(crate) fn fork(&mut self) -> Result<(), Fault> {
        let row = self.row().map_err(bootstrap::store_fault)?;
        let Some(head) = row.and_then(|row| row.head) else {
            self.start_new_session();
            return Ok(());
        };
        let key = Some(new_key().to_string());
        let forked =
            fork(self.ledger(), &head, key, bootstrap::new_uuid_number).map_err(no_fork)?;
        (self.key, self.session) = (forked.key, Some(forked.session));
        Ok(())
    }

    /// The session as it stands.
    pub(crate) fn row(&self) -> Result<Option<SessionRow>, agentry_store::Error> {
        match &self.session {
            Some(session) => self.ledger().session(session),
            None => self.ledger().session_named(&self.key, &self.agent),
        }
    }

    /// All that is recorded of the session.
    pub(crate) fn entries(&self) -> Result<Vec<Envelope>, agentry_store::Error> {
        let Some(row) = self.row()? else { return Ok(Vec::new()) };
        let filter = EntryFilter { session: Some(row.id), ..EntryFilter::default() };
        self.ledger().read_from(0, &filter, usize::MAX >> 1)
    }

    /// The run of the session that is not over, if there is one.
    pub(crate) fn unfinished(&self) -> Result<Option<RunId>, agentry_store::Error> {
        let Some(row) = self.row()? else { return Ok(None) };
        let runs = self.ledger().runs(CHAT_SESSIONS_MAX)?;
        let run = runs.into_iter().find(|run| run.session.as_ref() == Some(&row.id));
        Ok(run.filter(is_open).map(|run| run.id))
    }

    /// The sessions that chats with this agent had in this workspace, the last used first.
    pub(crate) fn sessions(&self) -> Result<Vec<(SessionRow, RunRow)>, agentry_store::Error> {
        sessions(self.ledger(), &self.agent, self.workspace())
    }
}

fn is_open(run: &RunRow) -> bool {
    match run.status {
        RunStatus::Planned | RunStatus::Running | RunStatus::PausedForApproval => true,
        RunStatus::Completed | RunStatus::Failed | RunStatus::Canceled => false,
    }
}

/// A name for a new session.
pub(crate) fn new_key() -> SessionKey {
    let run = RunId::from_number(bootstrap::new_uuid_number());
    SessionKey::new(run.as_str().replacen("run_", KEY, 1))
}

/// The sessions that chats with an agent had in a workspace, the last used first, each with its last run.
pub(crate) fn sessions(
    ledger: &Ledger,
    agent: &AgentId,
    workspace: &Path,
) -> Result<Vec<(SessionRow, RunRow)>, agentry_store::Error> {
    let runs = ledger.runs(CHAT_SESSIONS_MAX)?;
    let workspace = workspace.display().to_string();
    let mut found = Vec::new();
    for row in ledger.sessions()?.into_iter().take(CHAT_SESSIONS_MAX) {
        if row.agent != *agent || !row.key.as_str().starts_with(KEY) {
            continue;
        }
        let own = runs.iter().find(|run| run.session.as_ref() == Some(&row.id)).cloned();
        let run = match own {
            Some(run) => Some(run),
            None => last_run(ledger, &row)?,
        };
        if let Some(run) = run.filter(|run| run.workspace == workspace) {
            found.push((row, run));
        }
    }
    Ok(found)
}

/// The run of the turn that a session stands at: a fork has no other.
pub(crate) fn last_run(
    ledger: &Ledger,
    row: &SessionRow,
) -> Result<Option<RunRow>, agentry_store::Error> {
    let under_way = ledger.turn_under_way(&row.id)?;
    let head = row.head.as_ref().map(|head| ledger.turn(head)).transpose()?.flatten();
    let run = under_way.or(head).and_then(|turn| turn.run);
    Ok(run.map(|run| ledger.run(&run)).transpose()?.flatten())
}
