//! Commands that begin with `/`: their list and dispatch.
//!
//! Must never: read a path as a command, or ignore a command silently.

mod session;
mod status;
mod workspace;

use std::process::ExitCode;

use agentry_agentfile::diagnostic::suggestion;

use super::TerminalChat;
use super::completion::Completion;
use super::style::{BAD, WARN};

/// A command of the chat.
pub(super) struct SlashCommand {
    pub(super) name: &'static str,
    /// The arguments, as shown in the help.
    pub(super) takes: &'static str,
    pub(super) about: &'static str,
    /// True if it may be used while a turn is active.
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

/// All commands, in the order of the help.
pub(super) const COMMANDS: [SlashCommand; 21] = [
    listed("help", "", "show commands and keys", true),
    listed("model", "[name]", "show or change the model", false),
    listed("persona", "[name]", "show or change the persona", false),
    listed("mode", "[structured|wiggum]", "show or change the mode: ask, or work alone", true),
    listed("clear", "", "start a new session", false),
    listed("resume", "[session]", "continue another session", false),
    listed("fork", "", "continue in a copy of this session", false),
    listed("compact", "[focus]", "summarize older turns", false),
    listed("cost", "", "show tokens and costs", true),
    listed("context", "", "show the parts of a request and their sizes", true),
    listed("permissions", "", "show approval rules and lasting answers", true),
    listed("tools", "", "list the agent's tools", true),
    listed("skills", "", "list the agent's skills", true),
    listed("agents", "", "list the agents of this project", true),
    listed("diff", "", "show uncommitted changes of the workspace", true),
    listed("undo", "", "revert the last turn's file changes", false),
    listed("export", "[file]", "save this session as Markdown", true),
    listed("expand", "", "show the last call in full (Ctrl-O)", true),
    listed("doctor", "", "check the sandbox of this machine", true),
    listed("status", "", "show model, workspace and session", true),
    listed("quit", "", "quit (Ctrl-D)", true),
];

/// Aliases of commands.
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

/// Splits a command into name and arguments. Returns None for other text, such as `/usr/bin`.
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
            let text = format!("/{name} is not available during a turn; Esc interrupts the turn.");
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

    /// Returns the completions for the argument of a command.
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
