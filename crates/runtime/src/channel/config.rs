//! What a channel's program is started with.
//!
//! Must never: read the environment or a secret that the settings do not name for the channel.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_agentfile::manifest::channels::{
    ChannelFilter, ChannelToml, LinkTreatment, MarkdownFlavor,
};
use agentry_agentfile::manifest::command::CommandWords;
use agentry_protocol::inbound::PeerKind;
use secrecy::SecretString;

use crate::redact::Redactor;
use crate::secrets::SecretRegistry;

/// Variables that every program gets where they are set.
const USUAL: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// One channel, ready to be started.
#[derive(Clone, Debug)]
pub struct AdapterConfig {
    /// Its name.
    pub channel: String,
    /// Its program.
    pub program: String,
    /// The words behind it.
    pub args: Vec<String>,
    /// Where it is started.
    pub directory: PathBuf,
    /// Its whole environment.
    pub env: Vec<(String, SecretString)>,
    /// Which account of ours it is.
    pub account_id: Option<String>,
    /// What the other side is when the program does not say.
    pub peer_kind: Option<PeerKind>,
    /// What is let in.
    pub filters: Vec<ChannelFilter>,
    /// The longest message, whatever the program says.
    pub text_limit: Option<u64>,
    /// Which Markdown it reads, whatever the program says.
    pub markdown: Option<MarkdownFlavor>,
    /// What is done with addresses in answers, and which hosts may be linked to.
    pub links: LinkPolicy,
    /// Takes secrets out of what the program complains.
    pub redactor: Arc<Redactor>,
}

/// What a channel does with addresses in answers.
#[derive(Clone, Debug, Default)]
pub struct LinkPolicy {
    /// What is done with those whose host is not listed.
    pub rule: LinkTreatment,
    /// The hosts that the channel lists.
    pub hosts: Vec<String>,
}

/// What surrounds a channel.
pub struct AdapterEnvironment<'a> {
    /// Where its program is started.
    pub directory: &'a Path,
    /// The variables of this process.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The secrets.
    pub secrets: &'a SecretRegistry,
}

/// Why a channel cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It has no program.
    #[error("the setting `channels.{channel}.command` names no program")]
    NoCommand {
        /// The channel.
        channel: String,
    },
    /// A secret has no value.
    #[error(
        "the setting `channels.{channel}.credentials` names the secret `{name}`, which has no value; \
         set it with `agentry secret set {name}`"
    )]
    NoSecret {
        /// The channel.
        channel: String,
        /// The secret.
        name: String,
    },
    /// Its program does not start.
    #[error(
        "the program `{program}` of the setting `channels.{channel}.command` does not start: {error}"
    )]
    Spawn {
        /// The channel.
        channel: String,
        /// The program.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// This process has no room for a thread.
    #[error("the channel `{channel}` cannot be watched: {error}")]
    Thread {
        /// The channel.
        channel: String,
        /// Why.
        error: io::Error,
    },
}

impl AdapterConfig {
    /// A channel as the settings describe it.
    pub fn of(
        name: &str,
        said: &ChannelToml,
        around: &AdapterEnvironment<'_>,
    ) -> Result<Self, StartError> {
        let mut words = match &said.command {
            Some(CommandWords::One(program)) => vec![program.clone()],
            Some(CommandWords::Several(words)) => words.clone(),
            None => Vec::new(),
        }
        .into_iter();
        let no_command = || StartError::NoCommand { channel: name.to_owned() };
        let program = words.next().filter(|word| !word.is_empty()).ok_or_else(no_command)?;
        let program = match (program.strip_prefix("~/"), (around.variable)("HOME")) {
            (Some(rest), Some(home)) => format!("{home}/{rest}"),
            (Some(_) | None, _) => program,
        };
        let names = USUAL.into_iter().chain(said.env.iter().map(String::as_str));
        let mut env: Vec<(String, SecretString)> = names
            .filter_map(|name| Some((name.to_owned(), (around.variable)(name)?.into())))
            .collect();
        for credential in &said.credentials {
            let secret = around.secrets.named(credential).ok_or_else(|| StartError::NoSecret {
                channel: name.to_owned(),
                name: credential.clone(),
            })?;
            env.push((secret.variable.clone(), secret.value.clone()));
        }
        Ok(Self {
            channel: name.to_owned(),
            program,
            args: words.collect(),
            directory: around.directory.to_owned(),
            env,
            account_id: said.account_id.clone(),
            peer_kind: said.peer_kind,
            filters: said.filters.clone(),
            text_limit: said.text_limit,
            markdown: said.markdown,
            links: LinkPolicy {
                rule: said.links.unwrap_or_default(),
                hosts: said.link_hosts.clone(),
            },
            redactor: Arc::new(around.secrets.redactor()),
        })
    }
}
