//! The environment variables of the process, as values that the binary hands in at start.
//!
//! Must never: read or change the environment itself, or print a value.

use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

use crate::limits::SECRET_VARIABLE_CHARS_MIN;

/// Prefixes of the variables that limit the tools.
const TOOL_KNOBS: [&str; 2] = ["SHELL_TOOL_", "TOOLS_"];

/// Endings of the names of variables that hold secrets.
const SECRET_ENDINGS: [&str; 9] = [
    "KEY",
    "KEYS",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "CREDENTIAL",
    "CREDENTIALS",
];

/// The environment of this process.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Variables that set a value: `AGENTRY_…`.
    pub settings: BTreeMap<String, String>,
    /// Variables that limit the tools: `SHELL_TOOL_…`, `TOOLS_…`.
    pub tools: BTreeMap<String, String>,
    /// Variables that hold secrets, judged by their names.
    pub secrets: Vec<(String, SecretString)>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The path of the user's settings file.
    pub config: Option<PathBuf>,
    /// The directory of the ledger: `AGENTRY_HOME`, else below the XDG state directory.
    pub state: Option<PathBuf>,
    /// The directory of weights: `AGENTRY_MODELS`, else below the XDG data directory.
    pub models: Option<PathBuf>,
    /// The search path of programs: `PATH`.
    pub path: String,
    /// The name of the user: `USER`, else `LOGNAME`.
    user: Option<String>,
    // Any of them may be a secret, so that all are kept as such.
    variables: BTreeMap<String, SecretString>,
}

/// The agent that started this process, as its environment names it; all None for a person.
pub struct CallingAgent {
    pub agent: Option<String>,
    pub session: Option<String>,
    pub turn: Option<String>,
}

impl Environment {
    /// Returns the value of a variable that the operator named.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| value.expose_secret().to_owned())
    }

    /// Returns the name of the user, or `owner` if it is unknown.
    pub fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("owner")
    }

    /// Returns the calling agent, from `NEXUS_…` variables or else `AGENTRY_…` variables.
    pub fn working(&self) -> CallingAgent {
        let either = |name: &str| {
            let of = |family: &str| self.variable(&format!("{family}_{name}"));
            of("NEXUS").or_else(|| of("AGENTRY")).filter(|value| !value.is_empty())
        };
        CallingAgent {
            agent: either("AGENT_ID"),
            session: either("SESSION_ID"),
            turn: either("THREAD_ID"),
        }
    }

    /// Returns the environment that these variables make.
    pub fn from_variables(all: BTreeMap<String, String>) -> Self {
        let beginning_with = |beginnings: &[&str]| {
            let wanted =
                |name: &&String| beginnings.iter().any(|beginning| name.starts_with(beginning));
            let keys: Vec<String> = all.keys().filter(wanted).cloned().collect();
            keys.into_iter().map(|key| (key.clone(), all[&key].clone())).collect()
        };
        let directory =
            |name: &str| all.get(name).filter(|path| path.starts_with('/')).map(PathBuf::from);
        let home = directory("HOME");
        let config = directory("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let state =
            directory("XDG_STATE_HOME").or_else(|| Some(home.as_ref()?.join(".local/state")));
        let data = directory("XDG_DATA_HOME").or_else(|| Some(home.as_ref()?.join(".local/share")));
        // A relative path is resolved against the current directory.
        let given = |name: &str| {
            let path = all.get(name).filter(|path| !path.is_empty())?;
            std::path::absolute(path).ok()
        };
        let word = |name: &str| all.get(name).filter(|value| !value.is_empty()).cloned();
        Self {
            settings: beginning_with(&["AGENTRY_"]),
            tools: beginning_with(&TOOL_KNOBS),
            user: ["USER", "LOGNAME"].into_iter().find_map(word),
            path: all.get("PATH").cloned().unwrap_or_default(),
            secrets: all
                .iter()
                .filter(|(name, value)| is_secret(name, value))
                .map(|(name, value)| (name.clone(), value.as_str().into()))
                .collect(),
            home,
            config: config.map(|directory| directory.join("agentry/agentry.toml")),
            state: given("AGENTRY_HOME").or_else(|| Some(state?.join("agentry"))),
            models: given("AGENTRY_MODELS").or_else(|| Some(data?.join("agentry/models"))),
            variables: all.into_iter().map(|(name, value)| (name, value.into())).collect(),
        }
    }

    /// Returns the value of a variable that the operator named, as a secret.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.variables.get(name).cloned()
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        && value.chars().count() >= SECRET_VARIABLE_CHARS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_are_values_and_are_not_printed() {
        let all = [("HOME", "/srv/ann"), ("AGENTRY_HOME", "/srv/b"), ("X_TOKEN", "123456789")];
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = Environment::from_variables(all.into());
        assert_eq!(environment.state, Some(PathBuf::from("/srv/b")));
        assert_eq!(environment.models, Some(PathBuf::from("/srv/ann/.local/share/agentry/models")));
        assert_eq!(environment.variable("X_TOKEN").as_deref(), Some("123456789"));
        assert_eq!(environment.variable("OTHER"), None);
        assert!(!format!("{environment:?}").contains("123456789"));
    }

    #[test]
    fn a_variable_is_a_secret_by_the_end_of_its_name_and_its_length() {
        for name in ["GITHUB_TOKEN", "api_key", "DB_PASSWORD", "SECRET", "AWS_CREDENTIALS"] {
            assert!(is_secret(name, "12345678"), "{name}");
            assert!(!is_secret(name, "1234567"), "{name}");
        }
        for name in ["PATH", "TOKEN_URL", "KEYBOARD", "SECRET_NAME"] {
            assert!(!is_secret(name, "12345678"), "{name}");
        }
    }
}
