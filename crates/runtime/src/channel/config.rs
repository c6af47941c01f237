//! The configuration to start a channel's adapter with.
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
use crate::redact::secrets::SecretRegistry;

/// Variables of this process that every adapter inherits.
const USUAL: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// The configuration of one channel's adapter.
#[derive(Clone, Debug)]
pub struct AdapterConfig {
    /// The name of the channel.
    pub channel: String,
    /// The path or name of its program.
    pub program: String,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The directory in which it is started.
    pub directory: PathBuf,
    /// Its whole environment.
    pub env: Vec<(String, SecretString)>,
    /// The id of our account on the channel.
    pub account_id: Option<String>,
    /// The peer kind of events for which the program gives none.
    pub peer_kind: Option<PeerKind>,
    /// The filters that its events must pass.
    pub filters: Vec<ChannelFilter>,
    /// The longest message in characters; overrides the program's own limit.
    pub text_limit: Option<u64>,
    /// The flavor of Markdown; overrides that of the program.
    pub markdown: Option<MarkdownFlavor>,
    /// The policy for links in answers, with the hosts that may be linked to.
    pub links: LinkPolicy,
    /// Removes secrets from the program's error lines.
    pub redactor: Arc<Redactor>,
}

/// A channel's policy for links in answers.
#[derive(Clone, Debug, Default)]
pub struct LinkPolicy {
    /// The treatment of links to hosts that are not listed.
    pub rule: LinkTreatment,
    /// The hosts that the channel lists.
    pub hosts: Vec<String>,
}

/// The surroundings of a channel's adapter.
pub struct AdapterEnvironment<'a> {
    /// The directory in which it is started.
    pub directory: &'a Path,
    /// Returns a variable of this process.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The secrets that its credentials refer to.
    pub secrets: &'a SecretRegistry,
}

/// The reason why a channel cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The channel has no program.
    #[error("the setting `channels.{channel}.command` names no program")]
    NoCommand {
        /// The name of the channel.
        channel: String,
    },
    /// A secret of the channel has no value.
    #[error(
        "the setting `channels.{channel}.credentials` names the secret `{name}`, which has no value; \
         set it with `agentry secret set {name}`"
    )]
    NoSecret {
        /// The name of the channel.
        channel: String,
        /// The name of the secret.
        name: String,
    },
    /// The program of the channel does not start.
    #[error(
        "the program `{program}` of the setting `channels.{channel}.command` does not start: {error}"
    )]
    Spawn {
        /// The name of the channel.
        channel: String,
        /// The path or name of the program.
        program: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// This process cannot start another thread.
    #[error("cannot start a thread for the channel `{channel}`: {error}")]
    Thread {
        /// The name of the channel.
        channel: String,
        /// The error of the operating system.
        error: io::Error,
    },
}

impl AdapterConfig {
    /// Builds the configuration of a channel from its settings.
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
