//! The settings of channels, webhooks and queues, by which other people reach agents.
//!
//! A channel runs a program of the operator on the operator's machine, with the operator's secrets.
//!
//! Must never: use any of these settings from a file that comes with a project.

use agentry_protocol::inbound::EventId;

use super::Settings;
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::manifest::command::CommandWords;
use crate::node::{Kind, Node, pointer_part};
use crate::source::SourceText;

/// Names of the built-in channels.
pub const BUILT_IN: [&str; 6] = ["terminal", "stdio", "send", "timer", "webhook", "agent"];

/// The sections, each with its subject for messages.
const SECTIONS: [(&str, &str); 3] = [
    ("channels", "start a channel's program"),
    ("webhooks", "say who may call in"),
    ("queue", "say how messages wait"),
];

/// Removes the sections from a shared file, and reports them.
pub(super) fn refuse(source: &SourceText, node: &mut Node, findings: &mut Findings) {
    for (section, what) in SECTIONS {
        if let Some(pair) = node.pair(section) {
            let text = FindingText::new(format!("a project may not {what}"))
                .help("say it in your own settings, ~/.config/agentry/agentry.toml");
            findings.at(DiagnosticCode::SharedChannels, source, pair.key_span, text);
        }
    }
    if let Kind::Map(pairs) = &mut node.kind {
        pairs.retain(|pair| SECTIONS.iter().all(|(section, _)| pair.key != *section));
    }
}

/// Removes unusable values, and reports them.
pub(super) fn check(settings: &mut Settings, findings: &mut Findings) {
    let channels = std::mem::take(&mut settings.config.channels);
    for (name, channel) in channels {
        let pointer = format!("/channels/{}", pointer_part(&name));
        let wrong = wrong_name("channel", &name)
            .or_else(|| BUILT_IN.contains(&name.as_str()).then(|| taken(&name)))
            .or_else(|| wrong_command(&name, channel.command.as_ref()));
        match wrong {
            Some(text) => settings.report(DiagnosticCode::ChannelForm, &pointer, text, findings),
            None => drop(settings.config.channels.insert(name, channel)),
        }
    }
    let webhooks = std::mem::take(&mut settings.config.webhooks);
    for (name, webhook) in webhooks {
        let pointer = format!("/webhooks/{}", pointer_part(&name));
        match wrong_name("webhook", &name) {
            Some(text) => settings.report(DiagnosticCode::ChannelForm, &pointer, text, findings),
            None => drop(settings.config.webhooks.insert(name, webhook)),
        }
    }
}

fn wrong_name(what: &str, name: &str) -> Option<FindingText> {
    EventId::of(name, "x").err().map(|_| {
        FindingText::new(format!("a {what} cannot be called `{name}`"))
            .help("use 1 to 64 lower-case letters, digits, `-` and `_`")
    })
}

fn taken(name: &str) -> FindingText {
    FindingText::new(format!("`{name}` is a channel that is built in"))
        .help(format!("call yours otherwise, such as `my-{name}`"))
}

fn wrong_command(name: &str, command: Option<&CommandWords>) -> Option<FindingText> {
    let is_there = match command {
        None => false,
        Some(CommandWords::One(program)) => !program.trim().is_empty(),
        Some(CommandWords::Several(words)) => {
            words.first().is_some_and(|one| !one.trim().is_empty())
        }
    };
    (!is_there).then(|| {
        FindingText::new(format!("the channel `{name}` has no program"))
            .help("set `command`, such as command = [\"python3\", \"/path/of/adapter.py\"]")
    })
}
