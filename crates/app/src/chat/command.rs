//! Commands that begin with `/`: which there are, and what each does.
//!
//! Must never: take a path for a command, or do nothing without a word.

mod session;
mod status;
mod workspace;

use std::process::ExitCode;

use agentry_agentfile::diagnostic::suggestion;

use super::TerminalChat;
use super::completion::Completion;
use super::style::{BAD, WARN};

/// A command as it is listed.
pub(super) struct SlashCommand {
    pub(super) name: &'static str,
    /// What it takes.
    pub(super) takes: &'static str,
    pub(super) about: &'static str,
    /// Whether it may be used while the agent works.
    anytime: bool,
}

const fn listed(
    name: &'static str,
    takes: &'static str,
    about: &'static str,
    anytime: bool,
) -> SlashCommand {
    SlashCommand { name, takes, about, anytime }
}

/// All commands, in the order they are shown.
pub(super) const COMMANDS: [SlashCommand; 21] = [
    listed("help", "", "commands and keys", true),
    listed("model", "[name]", "show or change the model", false),
    listed("persona", "[name]", "show or change the persona", false),
    listed("mode", "[structured|wiggum]", "ask a person, or work alone", true),
    listed("clear", "", "begin a new session", false),
    listed("resume", "[session]", "go on with another session", false),
    listed("fork", "", "branch this session", false),
    listed("compact", "[focus]", "put older turns into one text", false),
    listed("cost", "", "tokens and money spent", true),
    listed("context", "", "what a request is made of", true),
    listed("permissions", "", "rules and standing answers", true),
    listed("tools", "", "what the agent can call", true),
    listed("skills", "", "what the agent can load", true),
    listed("agents", "", "the agents of this project", true),
    listed("diff", "", "what changed in the workspace", true),
    listed("undo", "", "take back the last turn's changes of files", false),
    listed("export", "[file]", "write this session as Markdown", true),
    listed("expand", "", "the last call in full (Ctrl-O)", true),
    listed("doctor", "", "what this machine can confine", true),
    listed("status", "", "where and with what this chat works", true),
    listed("quit", "", "leave (Ctrl-D)", true),
];

/// Other words that people try.
const ALIASES: [(&str, &str); 9] = [
    ("new", "clear"),
    ("reset", "clear"),
    ("usage", "cost"),
    ("exit", "quit"),
    ("rewind", "undo"),
    ("rollback", "undo"),
    ("sessions", "resume"),
    ("models", "model"),
    ("?", "help"),
];

/// The command and what follows it, if a text is one. `/usr/bin` is none.
pub(super) fn parse(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_word = name == "?"
        || (!name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '-'));
    is_word.then_some((name, rest.trim()))
}

impl TerminalChat<'_> {
    pub(super) fn command(&mut self, name: &str, rest: &str) {
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        let Some(listed) = COMMANDS.iter().find(|one| one.name == name) else {
            let known: Vec<&str> = COMMANDS.iter().map(|one| one.name).collect();
            let near = suggestion(name, &known);
            return self.note(&format!("There is no command /{name}; {near}"), BAD);
        };
        if self.turn.is_some() && !listed.anytime {
            let text = format!("/{name} has to wait until the turn is over; Esc interrupts it.");
            return self.note(&text, WARN);
        }
        match name {
            "help" => self.help(),
            "model" => self.model(rest),
            "persona" => self.persona(rest),
            "mode" => self.mode(rest),
            "clear" => self.clear(),
            "resume" => self.resume(rest),
            "fork" => self.fork(),
            "compact" => self.compact(rest),
            "cost" => self.cost(),
            "context" => self.context(),
            "permissions" => self.permissions(),
            "tools" => self.tools(),
            "skills" => self.skills(),
            "agents" => self.agents(),
            "diff" => self.diff(),
            "undo" => self.undo(),
            "export" => self.export(rest),
            "expand" => self.expand(),
            "doctor" => self.doctor(),
            "status" => self.status(),
            _ => self.leave = Some(ExitCode::SUCCESS),
        }
    }

    /// What a command can be given.
    pub(super) fn command_arguments(&self, name: &str) -> Vec<Completion> {
        let plain = |text: String| Completion { text, about: String::new() };
        match name {
            "mode" => ["structured", "wiggum"].map(str::to_owned).map(plain).to_vec(),
            "model" => self.models().into_iter().map(plain).collect(),
            "persona" => self.personas().into_iter().map(plain).collect(),
            "resume" => self.resumable(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_command() {
        assert_eq!(parse("/usr/bin/env says no"), None);
        assert_eq!(parse("/"), None);
        assert_eq!(parse("a /help"), None);
        assert_eq!(parse("/mode wiggum "), Some(("mode", "wiggum")));
        assert_eq!(parse("/help"), Some(("help", "")));
    }

    #[test]
    fn aliases_lead_to_commands() {
        for (_, name) in ALIASES {
            assert!(COMMANDS.iter().any(|one| one.name == name), "{name}");
        }
    }
}
