//! Every environment variable that is read, in one place.
//!
//! Must never: be read elsewhere, or change anything in the environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The variables of seed 002 that bound the tools.
const TOOL_KNOBS: [&str; 2] = ["SHELL_TOOL_", "TOOLS_"];

/// What the environment says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// Variables that set a value: `AGENTRY_…`.
    pub(crate) settings: BTreeMap<String, String>,
    /// Variables that bound the tools: `SHELL_TOOL_…`, `TOOLS_…`.
    pub(crate) tools: BTreeMap<String, String>,
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
    /// The user's settings.
    pub(crate) config: Option<PathBuf>,
    /// Where the ledger lives: `AGENTRY_HOME`, else below the XDG state directory.
    pub(crate) state: Option<PathBuf>,
    /// Where programs are: `PATH`.
    pub(crate) path: String,
}

impl Environment {
    /// Reads it.
    pub(crate) fn read() -> Self {
        let all: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
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
        // A relative one is taken from where the command was given.
        let own = all.get("AGENTRY_HOME").filter(|path| !path.is_empty());
        let own = own.and_then(|path| std::path::absolute(path).ok());
        Self {
            settings: beginning_with(&["AGENTRY_"]),
            tools: beginning_with(&TOOL_KNOBS),
            path: all.get("PATH").cloned().unwrap_or_default(),
            home,
            config: config.map(|directory| directory.join("agentry/agentry.toml")),
            state: own.or_else(|| Some(state?.join("agentry"))),
        }
    }
}
