//! What a process may read, write, reach and spend, and what enforces it.
//!
//! A value that can be printed, compared and stored: every turn holds the one its calls run under, and every
//! call names it by its hash.
//!
//! Must never: resolve a path, or be widened. Who builds one cuts it down; nobody adds.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;

/// What a process may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confinement {
    /// What enforces it.
    pub level: ConfinementLevel,
    /// The set of settings it was made from.
    pub profile: ConfinementProfile,
    /// How much of the machine may be read.
    pub reading: ReadAccess,
    /// What may be read beside that: absolute paths without links.
    pub allow_read: Vec<String>,
    /// What may be written: absolute paths without links. Nothing else but the private directories.
    pub allow_write: Vec<String>,
    /// What may not be read although it lies in one of those. It wins.
    pub deny_read: Vec<String>,
    /// What may not be written although it lies in one of those. It wins.
    pub deny_write: Vec<String>,
    /// Whether a repository may be written, but for its hooks and settings.
    pub git: GitAccess,
    /// The directory that is the process's own home; none means one that is thrown away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// A digest of the project, the agent, the sender and the credentials that the process acts with. Processes with
    /// different digests share no sandbox and no home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<ContentHash>,
    /// What may be reached.
    pub network: NetworkAccess,
    /// What may be spent.
    pub limits: ConfinementLimits,
}

/// What enforces a confinement, the strongest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementLevel {
    /// Own namespaces, Landlock and a filter of system calls.
    Ns,
    /// The same by way of bubblewrap.
    Bwrap,
    /// The sandbox of macOS.
    Seatbelt,
    /// Landlock and a filter of system calls, without namespaces.
    Landlock,
    /// Nothing. Only the operator can say so.
    Off,
}

impl ConfinementLevel {
    /// The word in files and on wires.
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

/// A named set of settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementProfile {
    /// For agents from elsewhere: nothing is written but what is listed, nothing is kept.
    Untrusted,
    /// For your own: the workspace is written, your toolchains are read.
    #[default]
    Trusted,
    /// For work on the machine itself: everything is read that is not denied.
    Host,
}

/// How much of the machine may be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadAccess {
    /// The system's programs and libraries, and what is listed.
    #[default]
    Strict,
    /// Everything but what is denied.
    Broad,
}

/// What may be done to a repository in a writable directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GitAccess {
    /// It is read.
    #[default]
    Read,
    /// It is written, but for hooks and settings.
    Write,
}

/// What may be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NetworkAccess {
    /// Nothing.
    #[default]
    None,
    /// These, through the proxy.
    Domains {
        /// Names, compared by whole labels; `*.x` is everything below `x`.
        allow: Vec<String>,
        /// Addresses that count as public although they are not. Only the operator can say so.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        addresses: Vec<String>,
    },
}

/// What may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfinementLimits {
    /// Time from start to end, in milliseconds.
    pub timeout_ms: u64,
    /// Memory of all processes together, in bytes.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Temporary files together, and any one file, in bytes.
    pub disk_bytes: u64,
    /// Open files of one process.
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
    /// The smaller of each.
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
    /// Nothing is confined.
    pub fn unconfined() -> Self {
        Self { level: ConfinementLevel::Off, ..Self::most_restricted() }
    }

    /// A confinement that lets nothing be written or reached, and only the system be read.
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

    /// Names this value exactly.
    pub fn hash(&self) -> ContentHash {
        let json = serde_json::to_vec(self).expect("a confinement is plain JSON");
        ContentHash::of(&json)
    }
}

/// Files that show what an `.env` looks like; they are read.
pub const ENV_EXAMPLES: [&str; 3] = [".env.example", ".env.sample", ".env.template"];

/// What stands in an entry for any directories in between.
pub const ANY_DEPTH: &str = "/**/";

/// Whether an entry of `deny_read` or `deny_write` means this path. An entry is a path; a `*` at the end of
/// it stands for any ending of its last name, and `/**/` for any directories in between. Examples of an `.env` are
/// not meant by `.env.*`.
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

/// One attempt of a confined process to reach a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// The host as the process named it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Why it was refused; nothing means that it was let through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What the process sent.
    pub bytes_out: u64,
    /// What it received.
    pub bytes_in: u64,
}

impl Connection {
    /// What is told of it, if it was refused.
    pub fn denial(&self) -> Option<String> {
        let why = self.refused.as_ref()?;
        Some(format!("denied by sandbox: {}:{}: {why}", self.host, self.port))
    }
}

/// What a sandbox was found to be worth when it was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attestation {
    /// What enforces.
    pub level: ConfinementLevel,
    /// The release of the kernel.
    pub kernel: String,
    /// The version of Landlock; 0 means that there is none.
    pub landlock_abi: u32,
    /// Whether processes run under a user of their own, as they do when we are root.
    pub own_user: bool,
    /// What each limit is worth.
    pub limits: Vec<LimitEnforcement>,
    /// The escapes that were tried, and what came of each.
    pub escapes: Vec<Escape>,
}

/// What a limit is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitEnforcement {
    /// Which: `time`, `memory`, `processes`, `disk`, `files`.
    pub limit: String,
    /// Whether the kernel holds it; otherwise it is watched, and can be overstepped for a moment.
    pub hard: bool,
    /// By what.
    pub by: String,
}

/// One way out that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Escape {
    /// What was tried.
    pub attempt: String,
    /// Whether it was stopped.
    pub stopped: bool,
    /// What the system answered.
    pub answer: String,
}

impl Attestation {
    /// Whether every escape was stopped.
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
