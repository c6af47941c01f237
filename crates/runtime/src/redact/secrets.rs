//! Secrets: named values, each with its receivers.
//!
//! A value is passed only to the tool, the MCP server or the provider that the operator's settings
//! name as its receiver. It has no printed form.
//!
//! Must never: read a file or the environment, or write a value anywhere.

use std::fmt;
use std::str::FromStr;

use agentry_kernel::authority::allows_credential;
use agentry_protocol::access::Credentials;
use agentry_protocol::tool::ToolName;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::redact::Redactor;

/// The secrets of this process.
#[derive(Clone, Debug, Default)]
pub struct SecretRegistry {
    all: Vec<Secret>,
    /// Further values, with their names, that have no receiver and are only redacted.
    hidden: Vec<(String, SecretString)>,
}

/// A named value with its receivers.
#[derive(Clone, Debug)]
pub struct Secret {
    /// The name in the settings.
    pub name: String,
    /// The value; its Debug form is a placeholder.
    pub value: SecretString,
    /// The tools, MCP servers and providers that may have it.
    pub receivers: Vec<SecretReceiver>,
    /// The environment variable in which a process finds it.
    pub variable: String,
}

/// A secret for one of its receivers, without the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretReference {
    /// The name in the settings.
    pub name: String,
    /// The receiver that may have the value.
    pub receiver: SecretReceiver,
    /// The environment variable in which the receiver finds it.
    pub variable: String,
}

/// A receiver of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretReceiver {
    /// A tool, by its name.
    Tool(ToolName),
    /// An MCP server, by its id.
    Mcp(String),
    /// A provider of models, by its id.
    Provider(String),
}

impl SecretRegistry {
    /// Creates a registry of secrets and of further values that are only redacted.
    pub fn new(all: Vec<Secret>, hidden: Vec<(String, SecretString)>) -> Self {
        Self { all, hidden }
    }

    /// Returns references to a tool's secrets, limited to the allowed credentials; None allows all.
    pub fn references_for(
        &self,
        tool: &ToolName,
        credentials: Option<&Credentials>,
    ) -> Vec<SecretReference> {
        let receiver = SecretReceiver::Tool(tool.clone());
        let is_allowed = |secret: &&Secret| {
            secret.receivers.contains(&receiver)
                && credentials.is_none_or(|one| allows_credential(one, &secret.name))
        };
        let reference = |secret: &Secret| SecretReference {
            name: secret.name.clone(),
            receiver: receiver.clone(),
            variable: secret.variable.clone(),
        };
        self.all.iter().filter(is_allowed).map(reference).collect()
    }

    /// Returns the value of a secret; None if there is no such secret for its receiver.
    pub fn value(&self, reference: &SecretReference) -> Option<&SecretString> {
        let SecretReference { name, receiver, variable } = reference;
        let is_same = |secret: &&Secret| {
            secret.name == *name
                && secret.variable == *variable
                && secret.receivers.contains(receiver)
        };
        self.all.iter().find(is_same).map(|secret| &secret.value)
    }

    /// Returns the variables of an MCP server.
    pub fn env_for_mcp(&self, server: &str) -> Vec<(String, SecretString)> {
        self.of(&SecretReceiver::Mcp(server.to_owned()))
    }

    /// Returns the values with which a provider may sign requests, each by its variable.
    pub fn for_provider(&self, provider: &str) -> Vec<(String, SecretString)> {
        self.of(&SecretReceiver::Provider(provider.to_owned()))
    }

    /// Returns the secret of this name, for operator settings that refer to it by name.
    pub fn named(&self, name: &str) -> Option<&Secret> {
        self.all.iter().find(|secret| secret.name == name)
    }

    /// Returns a redactor of all values, including those without a receiver.
    pub fn redactor(&self) -> Redactor {
        let all = self.all.iter().map(|secret| (secret.name.clone(), secret.value.clone()));
        Redactor::new(all.chain(self.hidden.iter().cloned()))
    }

    fn of(&self, receiver: &SecretReceiver) -> Vec<(String, SecretString)> {
        let theirs = self.all.iter().filter(|secret| secret.receivers.contains(receiver));
        theirs.map(|secret| (secret.variable.clone(), secret.value.clone())).collect()
    }
}

/// Returns the default variable of a secret: `deploy-key` becomes `DEPLOY_KEY`.
pub fn variable(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let variable: String = name.chars().map(letter).collect();
    if variable.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{variable}")
    } else {
        variable
    }
}

/// Parses the form of the settings: `tool:bash`, `mcp:github`, `provider:anthropic`.
impl FromStr for SecretReceiver {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(':') {
            Some((_, "")) => Err(()),
            Some(("tool", name)) => Ok(Self::Tool(ToolName::canonical(name))),
            Some(("mcp", id)) => Ok(Self::Mcp(id.to_owned())),
            Some(("provider", id)) => Ok(Self::Provider(id.to_owned())),
            Some(_) | None => Err(()),
        }
    }
}

impl fmt::Display for SecretReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "tool:{name}"),
            Self::Mcp(id) => write!(f, "mcp:{id}"),
            Self::Provider(id) => write!(f, "provider:{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_protocol::access::{AttributedName, PermissionSource};
    use secrecy::ExposeSecret;

    use super::*;

    fn secret(name: &str, value: &str, receivers: &[&str]) -> Secret {
        Secret {
            name: name.to_owned(),
            value: value.into(),
            receivers: receivers.iter().map(|one| one.parse().unwrap()).collect(),
            variable: variable(name),
        }
    }

    fn shown(given: Vec<(String, SecretString)>) -> Vec<String> {
        given.iter().map(|(name, value)| format!("{name}={}", value.expose_secret())).collect()
    }

    fn resolved(
        secrets: &SecretRegistry,
        tool: &ToolName,
        credentials: Option<&Credentials>,
    ) -> Vec<String> {
        let references = secrets.references_for(tool, credentials).into_iter();
        let value = |one: &SecretReference| secrets.value(one).unwrap().clone();
        shown(references.map(|one| (one.variable.clone(), value(&one))).collect())
    }

    #[test]
    fn a_secret_goes_to_those_it_is_for_and_to_nobody_else() {
        let secrets = SecretRegistry::new(
            vec![
                secret("github", "ghp-123456", &["tool:Bash", "mcp:github"]),
                secret("model-key", "sk-123456", &["provider:anthropic"]),
                secret("nobody", "nothing-1", &[]),
            ],
            Vec::new(),
        );
        let tool = |name: &str| resolved(&secrets, &ToolName::canonical(name), None);
        assert_eq!(tool("bash"), ["GITHUB=ghp-123456"]);
        assert_eq!(tool("read_file"), [""; 0]);
        assert_eq!(tool("github"), [""; 0]);
        assert_eq!(shown(secrets.env_for_mcp("github")), ["GITHUB=ghp-123456"]);
        assert_eq!(shown(secrets.for_provider("anthropic")), ["MODEL_KEY=sk-123456"]);
        assert_eq!(shown(secrets.for_provider("openai")), [""; 0]);
    }

    #[test]
    fn a_sender_who_may_use_some_credentials_gets_no_others() {
        let secrets = SecretRegistry::new(
            vec![
                secret("github", "ghp-123456", &["tool:bash"]),
                secret("deploy", "dep-123456", &["tool:bash"]),
                secret("other", "oth-123456", &["tool:fetch"]),
            ],
            Vec::new(),
        );
        let from = PermissionSource::Policy("work".into());
        let named = |names: &[&str]| {
            let traced = |name: &&str| AttributedName { name: (*name).into(), from: from.clone() };
            Credentials::Named(names.iter().map(traced).collect())
        };
        let bash = ToolName::canonical("bash");
        let given = |credentials: &Credentials| resolved(&secrets, &bash, Some(credentials));
        assert_eq!(given(&named(&[])), [""; 0]);
        // The name must match the secret, and the tool must be one of its receivers.
        assert_eq!(given(&named(&["github", "other", "DEPLOY"])), ["GITHUB=ghp-123456"]);
        let all = ["GITHUB=ghp-123456", "DEPLOY=dep-123456"];
        assert_eq!(given(&Credentials::All(from.clone())), all);
        assert_eq!(resolved(&secrets, &bash, None), all);
    }

    #[test]
    fn a_reference_gives_a_value_to_a_receiver_of_the_secret_only() {
        let secrets = SecretRegistry::new(
            vec![secret("github", "ghp-123456", &["tool:bash"])],
            vec![("hidden".to_owned(), "abcdefgh".into())],
        );
        let reference = secrets.references_for(&ToolName::canonical("bash"), None).remove(0);
        assert_eq!(secrets.value(&reference).unwrap().expose_secret(), "ghp-123456");
        let other = |name: &str, receiver: &str, variable: &str| SecretReference {
            name: name.to_owned(),
            receiver: receiver.parse().unwrap(),
            variable: variable.to_owned(),
        };
        for wrong in [
            other("github", "tool:fetch", "GITHUB"),
            other("github", "mcp:bash", "GITHUB"),
            other("github", "tool:bash", "PATH"),
            other("hidden", "tool:bash", "HIDDEN"),
        ] {
            assert!(secrets.value(&wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn printing_secrets_prints_no_value() {
        let secrets = SecretRegistry::new(
            vec![secret("github", "ghp-123456", &["tool:bash"])],
            vec![("A_TOKEN".to_owned(), "abcdefgh".into())],
        );
        let printed = format!("{secrets:?} {:?}", secrets.redactor());
        assert!(printed.contains("github"), "{printed}");
        assert!(!printed.contains("ghp-123456") && !printed.contains("abcdefgh"), "{printed}");
    }

    #[test]
    fn every_value_is_hidden_whoever_may_have_it() {
        let secrets = SecretRegistry::new(
            vec![secret("nobody", "nothing-1", &[])],
            vec![("A_TOKEN".to_owned(), "abcdefgh".into())],
        );
        let redacted =
            secrets.redactor().text("nothing-1 abcdefgh", crate::redact::TextEdges::Whole);
        assert_eq!(redacted.text, "[secret nobody] [secret A_TOKEN]");
    }

    #[test]
    fn only_known_kinds_of_receivers_are_read() {
        for wrong in ["bash", "tool:", "hook:x", ""] {
            assert!(wrong.parse::<SecretReceiver>().is_err(), "{wrong}");
        }
        assert_eq!("tool:Bash".parse::<SecretReceiver>().unwrap().to_string(), "tool:bash");
    }

    #[test]
    fn a_variable_is_made_from_any_name() {
        assert_eq!(variable("deploy-key.2"), "DEPLOY_KEY_2");
        assert_eq!(variable("2fa"), "_2FA");
    }
}
