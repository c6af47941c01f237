//! Key bindings of the chat.
//!
//! Must never: send text that was not typed, or answer a question with a key meant for the prompt.

use std::process::ExitCode;
use std::time::Instant;

use agentry_protocol::approval::ApprovalAnswer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::completion::{self, Completion, CompletionList, CompletionSource};
use super::question::{self, ApprovalKeyAction};
use super::scroll::Kind;
use super::shell_run::ShellRequest;
use super::style::{BAD, DIM};
use super::{InputMode, MOMENT, TerminalChat, command, screen, shell};

impl TerminalChat<'_> {
    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => self.interrupt(),
            KeyCode::Char('d') if control && self.typed.edit.is_empty() => {
                self.leave = Some(ExitCode::SUCCESS);
            }
            KeyCode::Char('z') if control => self.suspend(),
            // Clears the visible screen; the next frame redraws it.
            KeyCode::Char('l') if control => {
                if self.screen.clear_all().is_err() {
                    self.leave = Some(ExitCode::FAILURE);
                }
            }
            _ => match self.typed.typing {
                InputMode::Search(..) => self.search_key(key, control),
                InputMode::Reason => self.reason_key(key),
                InputMode::Prompt => self.prompt_key(key, control),
            },
        }
    }

    pub(super) fn pasted(&mut self, text: &str) {
        if matches!(self.typed.typing, InputMode::Search(..)) {
            self.typed.typing = InputMode::Prompt;
        }
        self.typed.edit.paste(text);
        self.offer();
    }

    /// Handles Ctrl-C: cancels the turn or clears the text; twice within `MOMENT` quits.
    pub(super) fn interrupt(&mut self) {
        let again = self.backlog.leaving.is_some_and(|first| first.elapsed() < MOMENT);
        if again {
            self.leave = Some(ExitCode::SUCCESS);
            return;
        }
        self.backlog.leaving = Some(Instant::now());
        self.typed.typing = InputMode::Prompt;
        if self.turn.is_some() || self.shell.is_some() {
            self.cancel();
        } else {
            self.typed.edit.take();
            self.typed.history.leave();
            self.offer();
        }
        self.hint("Ctrl-C again quits");
    }

    pub(super) fn hint(&mut self, text: &str) {
        self.backlog.hint = Some((text.to_owned(), Instant::now()));
    }

    fn suspend(&mut self) {
        let cleared = self.screen.clear();
        screen::restore_terminal();
        let stopped = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
        if cleared.is_err() || screen::enter_raw_mode().is_err() || stopped.is_err() {
            self.leave = Some(ExitCode::FAILURE);
        }
    }

    fn prompt_key(&mut self, key: KeyEvent, control: bool) {
        let first = self.turn.as_ref().and_then(|turn| turn.questions.front());
        let open = first.filter(|one| self.typed.edit.is_empty() && one.is_open());
        let permission = open.map(|one| one.approval.request().is_some());
        if let Some(permission) = permission {
            match question::said(key, permission) {
                ApprovalKeyAction::Answer(answer) => return self.answer(answer),
                ApprovalKeyAction::Reason => {
                    self.typed.typing = InputMode::Reason;
                    return;
                }
                ApprovalKeyAction::Nothing => {}
            }
        }
        match key.code {
            KeyCode::Char('o') if control => self.expand(),
            KeyCode::Char('r') if control => {
                self.typed.typing = InputMode::Search(String::new(), 0)
            }
            KeyCode::Char('j') if control => self.typed.edit.newline(),
            KeyCode::Tab => return self.complete(1),
            KeyCode::BackTab => return self.complete(-1),
            KeyCode::Enter => self.enter(key.modifiers),
            KeyCode::Esc => self.escape(),
            KeyCode::Up if self.typed.edit.on_first_line() => self.older(),
            KeyCode::Down if self.typed.edit.on_last_line() => {
                if let Some(text) = self.typed.history.newer() {
                    self.typed.edit.set(&text);
                }
            }
            _ => self.typed.edit.key(key),
        }
        self.offer();
    }

    fn enter(&mut self, modifiers: KeyModifiers) {
        let works = self.turn.is_some();
        if modifiers.contains(KeyModifiers::SHIFT)
            || (modifiers.contains(KeyModifiers::ALT) && !works)
        {
            return self.typed.edit.newline();
        }
        if self.typed.edit.take_backslash() {
            return;
        }
        let text = self.typed.edit.take();
        let text = text.trim_end();
        if text.trim().is_empty() {
            return;
        }
        let hidden = self.talk.engine.parts.redactor.hide(text);
        if let Err(error) = self.typed.history.add(&hidden) {
            self.note(&format!("The prompt history was not saved: {error}"), BAD);
        }
        if modifiers.contains(KeyModifiers::ALT) {
            self.backlog.queue.push_back(text.to_owned())
        } else {
            self.submit(text)
        }
    }

    /// Runs the typed text: a command, a shell command or a prompt.
    pub(super) fn submit(&mut self, text: &str) {
        if let Some((name, rest)) = command::parse(text) {
            return self.command(name, rest);
        }
        if let Some(line) = text.strip_prefix('!') {
            return self.shell(line);
        }
        if self.turn.is_some() { self.steer(text) } else { self.send(text) }
    }

    fn shell(&mut self, line: &str) {
        let (line, told) = match line.strip_prefix('!') {
            Some(line) => (line.trim(), false),
            None => (line.trim(), true),
        };
        if line.is_empty() {
            return self.note(
                "!command runs a command in the sandbox; !!command hides it from the agent",
                DIM,
            );
        }
        if self.shell.is_some() {
            return self.note("A command is running; Esc stops it.", BAD);
        }
        self.show_you(&format!("!{line}"), "");
        let engine = &self.talk.engine;
        let request = ShellRequest { command: line.to_owned(), told };
        let stop = shell::run(engine, &self.talk.agent, request, &self.wake);
        self.shell = Some((line.to_owned(), Instant::now(), stop));
    }

    fn escape(&mut self) {
        if !self.typed.offers.all.is_empty() {
            self.typed.offers = CompletionList::default();
        } else if self.turn.is_some() || self.shell.is_some() {
            self.cancel();
        } else {
            self.typed.history.leave();
        }
    }

    /// Handles Up: takes back the last queued prompt, or else shows the older entry.
    fn older(&mut self) {
        if self.typed.edit.is_empty()
            && let Some(text) = self.backlog.queue.pop_back()
        {
            return self.typed.edit.set(&text);
        }
        if let Some(text) = self.typed.history.older(&self.typed.edit.text()) {
            self.typed.edit.set(&text);
        }
    }

    pub(super) fn expand(&mut self) {
        let columns = self.screen.width();
        match &self.backlog.past {
            Some(past) => self.scroll.add(Kind::Page, past.whole(columns), columns),
            None => self.hint("No call to show yet"),
        }
    }

    fn reason_key(&mut self, key: KeyEvent) {
        let reason = match key.code {
            KeyCode::Enter => Some(self.typed.edit.take().trim().to_owned()),
            KeyCode::Esc => {
                self.typed.edit.take();
                Some(String::new())
            }
            _ => {
                self.typed.edit.key(key);
                None
            }
        };
        if let Some(reason) = reason {
            self.typed.typing = InputMode::Prompt;
            let reason = (!reason.is_empty()).then_some(reason);
            self.answer(ApprovalAnswer::declined(reason));
        }
    }

    fn search_key(&mut self, key: KeyEvent, control: bool) {
        let InputMode::Search(part, skip) = &mut self.typed.typing else { return };
        match key.code {
            KeyCode::Char('r') if control => *skip += 1,
            KeyCode::Char('g') if control => self.typed.typing = InputMode::Prompt,
            KeyCode::Char(letter) if !control => {
                part.push(letter);
                *skip = 0;
            }
            KeyCode::Backspace => {
                part.pop();
                *skip = 0;
            }
            KeyCode::Esc => self.typed.typing = InputMode::Prompt,
            _ => {
                let found = self.typed.history.find(part, *skip).map(str::to_owned);
                if let Some(found) = found {
                    self.typed.edit.set(&found);
                }
                self.typed.typing = InputMode::Prompt;
            }
        }
    }

    /// Updates the completions for the word at the cursor.
    fn offer(&mut self) {
        self.typed.chosen = None;
        let before = self.typed.edit.before_cursor();
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        if word.starts_with('@') {
            if self.typed.files.is_none() {
                self.typed.files = Some(completion::walk(self.talk.workspace()));
            }
        } else {
            self.typed.files = None;
        }
        let single = self.typed.edit.on_first_line() || !before.starts_with('/');
        self.typed.offers =
            if single { completion::offers(&before, self) } else { CompletionList::default() };
    }

    /// Handles Tab: replaces the word by the next completion.
    fn complete(&mut self, step: isize) {
        if self.typed.offers.all.is_empty() {
            self.offer();
        }
        let count = self.typed.offers.all.len();
        if count == 0 {
            return;
        }
        let next = match self.typed.chosen {
            None => 0,
            Some(at) => at.wrapping_add_signed(step).wrapping_add(count) % count,
        };
        let text = self.typed.offers.all[next].text.clone();
        self.typed.edit.replace_before(self.typed.offers.replaces, &text);
        if count == 1 {
            return self.offer();
        }
        self.typed.offers.replaces = text.chars().count();
        self.typed.chosen = Some(next);
    }
}

impl CompletionSource for TerminalChat<'_> {
    fn commands(&self) -> Vec<Completion> {
        let all = command::COMMANDS.iter();
        let offer = |one: &command::SlashCommand| Completion {
            text: format!("/{}", one.name),
            about: one.about.to_owned(),
        };
        all.map(offer).collect()
    }

    fn arguments(&self, command: &str) -> Vec<Completion> {
        self.command_arguments(command)
    }

    fn files(&self) -> Vec<String> {
        self.typed.files.clone().unwrap_or_default()
    }
}
