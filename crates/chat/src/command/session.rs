//! Commands about the session: model, persona, mode, clear, resume, fork and compact.
//!
//! Must never: change a session that the chat has left.

use agentry_agentfile::diagnostic::suggestion;
use agentry_frontend::{bootstrap, model_choice};
use agentry_protocol::event::Mode;
use agentry_runtime::commands::runs::{self, ModeChange};

use crate::TerminalChat;
use crate::completion::Completion;
use crate::events::ChatTurnRequest;
use crate::limits::CHAT_RESUMABLE_MAX;
use crate::scroll::Kind;
use crate::style::{BAD, BOLD, DIM, GOOD, StyledRow, joined, row, span};
use crate::wrap::short;

impl TerminalChat<'_> {
    /// Returns the models that the agent's files name.
    pub(super) fn models(&self) -> Vec<String> {
        let Some(agent) = self.talk.definition() else { return Vec::new() };
        let named = agent.models.candidates.iter().chain(&agent.models.allowed);
        let mut all: Vec<String> = named.map(|one| one.value.clone()).collect();
        all.dedup();
        all
    }

    pub(super) fn model(&mut self, name: &str) {
        let Some(agent) = self.talk.definition() else { return };
        if name.is_empty() {
            let mut rows = vec![joined([
                span(self.talk.terms.model.clone(), BOLD),
                span(format!("  {}", self.talk.model_from), DIM),
            ])];
            let listed = agent.models.candidates.iter().map(|one| (one, "preferred"));
            let listed = listed.chain(agent.models.allowed.iter().map(|one| (one, "also allowed")));
            for (model, what) in listed {
                rows.push(joined([
                    span(format!("  {}", model.value), Default::default()),
                    span(format!("  {what}, {}", model.origin), DIM),
                ]));
            }
            if !agent.models.bound {
                rows.push(row("  Any other model is allowed: a name, or provider/name, of", DIM));
                for one in self.talk.engine.servings().iter().filter(|one| one.ready.is_ok()) {
                    rows.push(row(format!("    {}", one.id), DIM));
                }
            }
            return self.page(rows);
        }
        let name = match model_choice::absolute_model(name) {
            Ok(name) => name,
            Err(fault) => return self.note(&fault.plain(), BAD),
        };
        let chosen = match model_choice::model(&self.talk.engine, agent, Some(&name)) {
            Ok(chosen) => chosen,
            Err(none) => return self.note(&model_choice::fault(agent, &none).plain(), BAD),
        };
        if let Some(id) = model_choice::missing(&self.talk.engine, &chosen.model) {
            let text = format!("{id} is not installed; `agentry pull {id}` downloads it.");
            return self.note(&text, BAD);
        }
        self.note(&format!("Model of the next turn: {}.", chosen.model), GOOD);
        self.talk.terms.model = chosen.model;
        self.talk.terms.fallbacks = chosen.fallbacks;
        self.talk.model_from = "chosen with /model".to_owned();
    }

    /// Returns the ids of the agent's personas.
    pub(super) fn personas(&self) -> Vec<String> {
        let agent = self.talk.definition();
        let available = agent.into_iter().flat_map(|agent| &agent.personas.available);
        available.map(|persona| persona.id.as_str().to_owned()).collect()
    }

    pub(super) fn persona(&mut self, name: &str) {
        let known = self.personas();
        if name.is_empty() {
            let now = self.talk.persona().unwrap_or("no persona").to_owned();
            let mut rows = vec![row(now, BOLD)];
            rows.extend(known.iter().map(|one| row(format!("  {one}"), Default::default())));
            if known.is_empty() {
                rows.push(row("  The agent has no personas.", DIM));
            }
            return self.page(rows);
        }
        if !known.iter().any(|one| one == name) {
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            let text = format!("There is no persona `{name}`; {}", suggestion(name, &names));
            return self.note(&text, BAD);
        }
        self.talk.terms.persona = Some(name.to_owned());
        self.note(&format!("Persona of the next turn: {name}."), GOOD);
    }

    pub(super) fn mode(&mut self, word: &str) {
        let mode = match word {
            "" => {
                return self.note(&format!("The mode is {}.", self.talk.terms.mode.as_str()), DIM);
            }
            "structured" | "supervised" => Mode::Supervised,
            "wiggum" | "autonomous" => Mode::Autonomous,
            _ => return self.note("The modes are structured and wiggum.", BAD),
        };
        if let Err(fault) =
            bootstrap::check_mode(bootstrap::wanted_level(&self.talk.engine.loaded), mode)
        {
            return self.note(&fault.plain(), BAD);
        }
        self.talk.terms.mode = mode;
        let about = self.turn.as_ref().and_then(|turn| turn.about.clone());
        if let Some(about) = about {
            let (ledger, enforcer) = (self.talk.ledger(), &self.talk.engine.parts.enforcer);
            let change = ModeChange { mode, max_iterations: None };
            if let Err(error) = runs::set_mode(ledger, enforcer, &about, change) {
                return self.note(&format!("The mode was not changed: {error}"), BAD);
            }
        }
        self.note(&format!("The mode is {}.", mode.as_str()), GOOD);
    }

    pub(super) fn clear(&mut self) {
        self.talk.start_new_session();
        self.backlog.context.clear();
        self.note("New session. The old one is kept: /resume lists it.", GOOD);
    }

    /// Returns the sessions that can be continued, as completions.
    pub(super) fn resumable(&self) -> Vec<Completion> {
        let sessions = self.talk.sessions().unwrap_or_default();
        let offer = |(row, run): (agentry_store::SessionRow, agentry_store::RunRow)| Completion {
            text: row.key.as_str().to_owned(),
            about: short(&crate::style::clean(&run.prompt), 40),
        };
        sessions.into_iter().take(CHAT_RESUMABLE_MAX).map(offer).collect()
    }

    pub(super) fn resume(&mut self, which: &str) {
        let sessions = match self.talk.sessions() {
            Ok(sessions) => sessions,
            Err(error) => return self.note(&bootstrap::store_fault(error).plain(), BAD),
        };
        if which.is_empty() {
            return self.list_sessions(&sessions);
        }
        let number = which.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let found = match number {
            Some(number) => sessions.get(number).map(|(row, _)| row.clone()),
            None => {
                let id = self.talk.ledger().find_session(which).ok();
                sessions
                    .iter()
                    .map(|(row, _)| row)
                    .find(|row| Some(&row.id) == id.as_ref())
                    .cloned()
            }
        };
        let Some(found) = found else {
            let text = format!(
                "`{which}` is not a chat with this agent in this directory; /resume lists them. \
                 `agentry chat --resume` accepts any session."
            );
            return self.note(&text, BAD);
        };
        self.talk.switch_session(&found);
        self.note(&format!("Continuing {}.", found.key), GOOD);
        self.resume_session();
    }

    fn list_sessions(&mut self, sessions: &[(agentry_store::SessionRow, agentry_store::RunRow)]) {
        if sessions.is_empty() {
            return self.note("There is no other chat with this agent in this directory.", DIM);
        }
        let columns = self.screen.width();
        let one =
            |(at, (session, run)): (usize, &(agentry_store::SessionRow, agentry_store::RunRow))| {
                let when = bootstrap::rfc3339(session.updated);
                let when = when.get(..16).unwrap_or_default().replace('T', " ");
                let head = format!("{:>3}  {when}  {:>3} turns  ", at + 1, session.turns);
                let room = columns.saturating_sub(head.len());
                joined([
                    span(head, DIM),
                    span(short(&crate::style::clean(&run.prompt), room), Default::default()),
                ])
            };
        let mut rows: Vec<StyledRow> =
            sessions.iter().enumerate().take(CHAT_RESUMABLE_MAX).map(one).collect();
        rows.push(row("/resume <number> continues one", DIM));
        self.page(rows);
    }

    pub(super) fn fork(&mut self) {
        match self.talk.fork() {
            Ok(()) => {
                let text =
                    format!("Forked to {}. The other session stays unchanged.", self.talk.key);
                self.note(&text, GOOD);
            }
            Err(fault) => self.note(&fault.plain(), BAD),
        }
    }

    /// Starts a compaction of the session's older turns.
    pub(super) fn compact(&mut self, focus: &str) {
        let said = self.talk.row().ok().flatten().is_some_and(|row| row.turns > 0);
        if !said {
            return self.note("This session has no turns yet.", DIM);
        }
        let command = format!("/compact {focus}");
        self.show_you(command.trim_end(), "");
        let order = self.talk.order(command.trim_end().to_owned(), Vec::new());
        let focus = (!focus.is_empty()).then(|| focus.to_owned());
        self.begin(ChatTurnRequest::Compact(Box::new(order), focus));
    }

    pub(super) fn page(&mut self, rows: Vec<StyledRow>) {
        let columns = self.screen.width();
        let rows: Vec<StyledRow> =
            rows.iter().flat_map(|row| crate::wrap::wrapped(row, columns, 4)).collect();
        self.scroll.add(Kind::Page, rows, columns);
    }
}
