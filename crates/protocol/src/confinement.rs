//! The confinement of a process: its files, network and limits, and the level that enforces it.
//!
//! A value that can be printed, compared and stored: every turn holds the confinement of its calls,
//! and every call names it by its hash.
//!
//! Must never: resolve a path, or be widened. The builder of a confinement only restricts it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;

/// The confinement of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confinement {
    /// The mechanism that enforces the confinement.
    pub level: ConfinementLevel,
    /// The profile that the settings come from.
    pub profile: ConfinementProfile,
    /// The part of the machine that may be read.
    pub reading: ReadAccess,
    /// Further readable places: absolute paths without links.
    pub allow_read: Vec<String>,
    /// The writable places: absolute paths without links. The private directories are writable too.
    pub allow_write: Vec<String>,
    /// The exceptions from the readable places; they win.
    pub deny_read: Vec<String>,
    /// The exceptions from the writable places; they win.
    pub deny_write: Vec<String>,
    /// The access to repositories in writable directories.
    pub git: GitAccess,
    /// The directory that is the home of the process; none means a temporary home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// A digest of the project, agent, sender and credentials that the process acts with.
    /// Processes with different digests share no sandbox and no home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<ContentHash>,
    /// The hosts that may be reached.
    pub network: NetworkAccess,
    /// The limits on resources.
    pub limits: ConfinementLimits,
}

/// The mechanism that enforces a confinement, the strongest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementLevel {
    /// Own namespaces, Landlock and a filter of system calls.
    Ns,
    /// Namespaces, Landlock and a filter of system calls, set up by bubblewrap.
    Bwrap,
    /// The sandbox of macOS.
    Seatbelt,
    /// Landlock and a filter of system calls, without namespaces.
    Landlock,
    /// No enforcement. Only the operator can choose it.
    Off,
}

impl ConfinementLevel {
    /// Returns the word in files and on wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Bwrap => "bwrap",
            Self::Seatbelt => "seatbelt",
            Self::Landlock => "landlock",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for ConfinementLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A named set of sandbox settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementProfile {
    /// For foreign agents: only listed places are writable, and the home is temporary.
    Untrusted,
    /// For the owner's agents: the workspace is writable, and the toolchains are readable.
    #[default]
    Trusted,
    /// For work on the machine itself: everything is readable except for what is denied.
    Host,
}

/// The part of the machine that may be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadAccess {
    /// The programs and libraries of the system, and the listed places.
    #[default]
    Strict,
    /// Everything except for the denied places.
    Broad,
}

/// The access to a repository in a writable directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GitAccess {
    /// The repository is read-only.
    #[default]
    Read,
    /// The repository is writable except for its hooks and settings.
    Write,
}

/// The hosts that a process may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NetworkAccess {
    /// No host.
    #[default]
    None,
    /// The listed hosts, through the proxy.
    Domains {
        /// The host names, compared by whole labels; `*.x` means everything below `x`.
        allow: Vec<String>,
        /// Private addresses that count as public. Only the operator can name them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        addresses: Vec<String>,
    },
}

/// The limits on the resources of a process and its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfinementLimits {
    /// The time from start to end, in milliseconds.
    pub timeout_ms: u64,
    /// The memory of all processes together, in bytes.
    pub memory_bytes: u64,
    /// The number of processes and threads.
    pub processes: u64,
    /// The size of all temporary files together, and of each single file, in bytes.
    pub disk_bytes: u64,
    /// The number of open files of one process.
    pub files: u64,
}

impl Default for ConfinementLimits {
    fn default() -> Self {
        Self {
            timeout_ms: 120_000,
            memory_bytes: 2 << 30,
            processes: 256,
            disk_bytes: 512 << 20,
            files: 1024,
        }
    }
}

impl ConfinementLimits {
    /// Returns the smaller value of each limit.
    #[must_use]
    pub fn lower_of_each(self, other: Self) -> Self {
        Self {
            timeout_ms: self.timeout_ms.min(other.timeout_ms),
            memory_bytes: self.memory_bytes.min(other.memory_bytes),
            processes: self.processes.min(other.processes),
            disk_bytes: self.disk_bytes.min(other.disk_bytes),
            files: self.files.min(other.files),
        }
    }
}

impl Confinement {
    /// Returns the value for processes without any confinement.
    pub fn unconfined() -> Self {
        Self { level: ConfinementLevel::Off, ..Self::most_restricted() }
    }

    /// Returns a confinement that allows no write and no network, and reads of the system only.
    pub fn most_restricted() -> Self {
        Self {
            level: ConfinementLevel::Ns,
            profile: ConfinementProfile::Untrusted,
            reading: ReadAccess::Strict,
            allow_read: Vec::new(),
            allow_write: Vec::new(),
            deny_read: Vec::new(),
            deny_write: Vec::new(),
            git: GitAccess::Read,
            home: None,
            authority: None,
            network: NetworkAccess::None,
            limits: ConfinementLimits::default(),
        }
    }

    /// Returns the hash that names this exact value.
    pub fn hash(&self) -> ContentHash {
        let json = serde_json::to_vec(self).expect("a confinement is plain JSON");
        ContentHash::of(&json)
    }
}

/// Files with examples of an `.env` file; they may be read.
pub const ENV_EXAMPLES: [&str; 3] = [".env.example", ".env.sample", ".env.template"];

/// The part of an entry that stands for any directories in between.
pub const ANY_DEPTH: &str = "/**/";

/// Returns true if an entry of `deny_read` or `deny_write` covers this path. An entry is a path;
/// a `*` at its end stands for any ending of its last name, and `/**/` for any directories in
/// between. The entry `.env.*` does not cover the examples of an `.env` file.
pub fn denies(entry: &str, path: &str) -> bool {
    if let Some((root, name)) = entry.split_once(ANY_DEPTH) {
        let below = path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        let at = path.rfind('/').unwrap_or_default();
        let name = &entry[entry.len() - name.len() - 1..];
        return below && denies(name, &path[at..]);
    }
    let Some(beginning) = entry.strip_suffix('*') else { return entry == path };
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_example = entry.ends_with("/.env.*") && ENV_EXAMPLES.contains(&name);
    path.strip_prefix(beginning).is_some_and(|rest| !rest.contains('/')) && !is_example
}

/// An attempt of a confined process to reach a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// The host, as the process named it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The reason of the refusal; none means that the connection was allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The number of bytes that the process sent.
    pub bytes_out: u64,
    /// The number of bytes that the process received.
    pub bytes_in: u64,
}

impl Connection {
    /// Returns the line for the model and the record if the connection was refused.
    pub fn denial(&self) -> Option<String> {
        let why = self.refused.as_ref()?;
        Some(format!("denied by sandbox: {}:{}: {why}", self.host, self.port))
    }
}

/// The results of the tests of a sandbox on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attestation {
    /// The level that was tested.
    pub level: ConfinementLevel,
    /// The release of the operating system's kernel.
    pub kernel: String,
    /// The version of the Landlock interface; 0 means that the kernel has none.
    pub landlock_abi: u32,
    /// True if processes run under a user of their own, as they do if Agentry runs as root.
    pub own_user: bool,
    /// The strength of each limit.
    pub limits: Vec<LimitEnforcement>,
    /// The escapes that were tried, with their results.
    pub escapes: Vec<Escape>,
}

/// The strength of a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitEnforcement {
    /// The name of the limit: `time`, `memory`, `processes`, `disk` or `files`.
    pub limit: String,
    /// True if the kernel enforces it; otherwise usage is checked often and may briefly exceed it.
    pub hard: bool,
    /// The mechanism that enforces the limit.
    pub by: String,
}

/// An attempt to escape from a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Escape {
    /// A description of the attempt.
    pub attempt: String,
    /// True if the sandbox stopped the attempt.
    pub stopped: bool,
    /// The answer of the system.
    pub answer: String,
}

impl Attestation {
    /// Returns true if the sandbox stopped every escape.
    pub fn holds(&self) -> bool {
        self.escapes.iter().all(|escape| escape.stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_means_a_path_an_ending_or_any_depth() {
        for (entry, path, expected) in [
            ("/w/a", "/w/a", true),
            ("/w/a", "/w/a/b", false),
            ("/w/a*", "/w/ab", true),
            ("/w/a*", "/w/ab/c", false),
            ("/w/**/.env", "/w/.env", true),
            ("/w/**/.env", "/w/a/b/.env", true),
            ("/w/**/.env", "/w/a/.env/c", false),
            ("/w/**/.env", "/wx/.env", false),
            ("/w/**/.env", "/w/x.env", false),
            ("/w/**/.env", "/elsewhere/.env", false),
            ("/w/**/.env.*", "/w/a/.env.local", true),
            ("/w/**/.env.*", "/w/a/.env.example", false),
        ] {
            assert_eq!(denies(entry, path), expected, "{entry} {path}");
        }
    }

    #[test]
    fn a_sandbox_holds_if_every_escape_was_stopped() {
        let escape =
            |stopped: bool| Escape { attempt: String::new(), stopped, answer: String::new() };
        for (stopped, expected) in [
            (&[] as &[bool], true),
            (&[true, true], true),
            (&[true, false], false),
            (&[false], false),
        ] {
            let attestation = Attestation {
                level: ConfinementLevel::Ns,
                kernel: String::new(),
                landlock_abi: 0,
                own_user: false,
                limits: Vec::new(),
                escapes: stopped.iter().copied().map(escape).collect(),
            };
            assert_eq!(attestation.holds(), expected, "{stopped:?}");
        }
    }

    #[test]
    fn only_a_refused_connection_is_told() {
        let connection = |refused: Option<&str>| Connection {
            host: "example.org".to_owned(),
            port: 443,
            refused: refused.map(str::to_owned),
            bytes_out: 0,
            bytes_in: 0,
        };
        assert_eq!(connection(None).denial(), None);
        let denial = connection(Some("it is not listed")).denial();
        assert_eq!(denial.as_deref(), Some("denied by sandbox: example.org:443: it is not listed"));
    }

    #[test]
    fn the_common_limits_are_the_lower_ones() {
        let limits = |value: u64| ConfinementLimits {
            timeout_ms: value,
            memory_bytes: value,
            processes: value,
            disk_bytes: value,
            files: value,
        };
        assert_eq!(limits(1).lower_of_each(limits(2)), limits(1));
        assert_eq!(limits(2).lower_of_each(limits(1)), limits(1));
    }

    #[test]
    fn examples_of_an_environment_are_hidden_by_entries_that_do_not_mean_them() {
        assert!(denies("/w/.env*", "/w/.env.example"));
        assert!(!denies("/w/.env.*", "/w/.env.example"));
        assert!(denies("/w/.env.*", "/w/.env.production"));
    }
}
