//! The session of a chat: its agent, run settings and key; starts, forks and continues sessions.
//!
//! Must never: list a session of another agent or directory as one of this chat.

use std::path::Path;
use std::sync::Arc;

use agentry_frontend::bootstrap::{self, ProjectRuntime};
use agentry_frontend::fault::Fault;
use agentry_frontend::runtime_fault::fork_fault;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::message::Image;
use agentry_protocol::{AgentId, RunId, SessionId, SessionKey};
use agentry_runtime::turn::fork::fork;
use agentry_runtime::{RunRequest, RunSettings};
use agentry_store::{EntryFilter, Ledger, RunRow, RunStatus, SessionRow};

use crate::limits::CHAT_SESSIONS_MAX;

/// Prefix of the names of sessions that chats create.
const KEY: &str = "chat_";

/// The agent, run settings and session of a chat.
pub struct ChatSession {
    pub engine: Arc<ProjectRuntime>,
    pub agent: AgentId,
    pub terms: RunSettings,
    /// The reason for the choice of the model.
    pub model_from: String,
    pub key: SessionKey,
    /// The session; None before its first run.
    pub session: Option<SessionId>,
}

impl ChatSession {
    pub fn ledger(&self) -> &Ledger {
        &self.engine.parts.ledger
    }

    pub fn workspace(&self) -> &Path {
        &self.engine.definitions.workspace
    }

    /// Returns the chosen persona, or else the agent's default.
    pub fn persona(&self) -> Option<&str> {
        let default = || Some(self.definition()?.personas.default.as_ref()?.value.as_str());
        self.terms.persona.as_deref().or_else(default)
    }

    /// Returns the session's name, shortened for the footer.
    pub fn short_key(&self) -> String {
        let key = self.key.as_str();
        match key.strip_prefix(KEY) {
            Some(id) => format!("{KEY}…{}", &id[id.len().saturating_sub(6)..]),
            None => key.to_owned(),
        }
    }

    pub fn definition(&self) -> Option<&agentry_agentfile::agent::Agent> {
        self.engine.definitions.agent(&self.agent).ok()
    }

    /// Returns the request for the next run.
    pub fn order(&self, prompt: String, images: Vec<Image>) -> RunRequest {
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

    /// Switches the chat to a new session.
    pub fn start_new_session(&mut self) {
        self.key = new_key();
        self.session = None;
    }

    /// Switches the chat to this session.
    pub fn switch_session(&mut self, row: &SessionRow) {
        self.key = row.key.clone();
        self.session = Some(row.id.clone());
    }

    /// Switches the chat to a fork of this session at its head.
    pub fn fork(&mut self) -> Result<(), Fault> {
        let row = self.row().map_err(bootstrap::store_fault)?;
        let Some(head) = row.and_then(|row| row.head) else {
            self.start_new_session();
            return Ok(());
        };
        let key = Some(new_key().to_string());
        let forked =
            fork(self.ledger(), &head, key, bootstrap::new_uuid_number).map_err(fork_fault)?;
        (self.key, self.session) = (forked.key, Some(forked.session));
        Ok(())
    }

    /// Reads the current row of the session; None if it has no entry yet.
    pub fn row(&self) -> Result<Option<SessionRow>, agentry_store::Error> {
        match &self.session {
            Some(session) => self.ledger().session(session),
            None => self.ledger().session_named(&self.key, &self.agent),
        }
    }

    /// Reads all entries of the session.
    pub fn entries(&self) -> Result<Vec<Envelope>, agentry_store::Error> {
        let Some(row) = self.row()? else { return Ok(Vec::new()) };
        let filter = EntryFilter { session: Some(row.id), ..EntryFilter::default() };
        self.ledger().read_from(0, &filter, usize::MAX >> 1)
    }

    /// Returns the unfinished run of the session, if any.
    pub fn unfinished(&self) -> Result<Option<RunId>, agentry_store::Error> {
        let Some(row) = self.row()? else { return Ok(None) };
        let runs = self.ledger().runs(CHAT_SESSIONS_MAX)?;
        let run = runs.into_iter().find(|run| run.session.as_ref() == Some(&row.id));
        Ok(run.filter(is_open).map(|run| run.id))
    }

    /// Returns the chats with this agent in this workspace, last used first.
    pub fn sessions(&self) -> Result<Vec<(SessionRow, RunRow)>, agentry_store::Error> {
        sessions(self.ledger(), &self.agent, self.workspace())
    }
}

fn is_open(run: &RunRow) -> bool {
    match run.status {
        RunStatus::Planned | RunStatus::Running | RunStatus::PausedForApproval => true,
        RunStatus::Completed | RunStatus::Failed | RunStatus::Canceled => false,
    }
}

/// Returns a unique name for a new session.
pub fn new_key() -> SessionKey {
    let run = RunId::from_number(bootstrap::new_uuid_number());
    SessionKey::new(run.as_str().replacen("run_", KEY, 1))
}

/// Returns the chats with an agent in a workspace, last used first, each with its last run.
pub fn sessions(
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

/// Returns the run of the session's active or last turn; a fork has no run of its own.
pub fn last_run(ledger: &Ledger, row: &SessionRow) -> Result<Option<RunRow>, agentry_store::Error> {
    let under_way = ledger.turn_under_way(&row.id)?;
    let head = row.head.as_ref().map(|head| ledger.turn(head)).transpose()?.flatten();
    let run = under_way.or(head).and_then(|turn| turn.run);
    Ok(run.map(|run| ledger.run(&run)).transpose()?.flatten())
}
