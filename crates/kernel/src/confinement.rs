//! Resolves a confinement: the operator's ceiling, narrowed by the project's and agent's requests.
//!
//! A request can only narrow. Any part beyond the ceiling is dropped, with a note that tells the
//! operator what to do. A ceiling that cannot be enforced is refused.
//!
//! Must never: widen because of a request, access the file system, or guess the target of a path.

use std::collections::{BTreeMap, BTreeSet};

use agentry_agentfile::manifest::config::{SandboxLevel, SandboxLimits, SandboxProfile, Security};
use agentry_agentfile::sandbox::{self, SandboxLayer};
use agentry_protocol::AgentId;
use agentry_protocol::access::Bounds;
use agentry_protocol::confinement::{
    ANY_DEPTH, Confinement, ConfinementLevel, ConfinementLimits, ConfinementProfile, GitAccess,
    NetworkAccess, ReadAccess,
};

mod denied_paths;
mod domain;
mod path;
mod refusal;
mod sharing;

pub use denied_paths::{HOME_DENIED, TOOLCHAINS};
pub use refusal::{ConfinementError, DroppedSetting};

/// The surroundings of a confined process. All paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfinementContext {
    /// The working directory.
    pub workspace: String,
    /// The directory from which the definitions were read.
    pub project: String,
    /// The user's home; None if unknown.
    pub home: Option<String>,
    /// The directory of the runtime's own state; None if it keeps none.
    pub state: Option<String>,
    /// The agent that acts.
    pub agent: Option<AgentId>,
    /// The agent's own directory.
    pub agent_directory: String,
    /// The toolchains that exist: those of `TOOLCHAINS` found below the home.
    pub toolchains: Vec<String>,
    /// Files and directories that define permissions; they are never writable.
    pub definitions: Vec<String>,
    /// The targets of listed paths, for those of `listed_paths` that contain a link.
    pub real: BTreeMap<String, String>,
    /// The path of the operator's settings file.
    pub settings: String,
    /// The bounds from the access decision; None for the owner at the machine.
    pub sender: Option<Bounds>,
    /// The secrets and variables that the operator's settings pass to programs, with receivers.
    pub credentials: Vec<String>,
}

/// Resolves the ceiling and all requests into a confinement and the dropped settings.
pub fn resolve(
    level: ConfinementLevel,
    ceiling: &SandboxLayer,
    requests: &[&SandboxLayer],
    place: &ConfinementContext,
) -> Result<(Confinement, Vec<DroppedSetting>), ConfinementError> {
    let mut cut = ConfinementResolver { ceiling, requests, place, notes: Vec::new() };
    let profile = cut.profile();
    let most_written = cut.most_written(profile)?;
    let allow_write = cut.paths(WRITE, most_written.clone());
    let most_read = cut.said(ceiling, READ)?;
    let extras = cut.paths(READ, most_read);
    let deny_read = cut.deny_read(&most_written)?;
    let deny_write = cut.deny_write()?;
    let allow_read = cut.allow_read(profile, extras, &deny_read);
    let confinement = Confinement {
        level,
        profile,
        reading: cut.reading(),
        allow_read,
        allow_write,
        deny_read,
        deny_write,
        git: cut.git(),
        home: sharing::persistent_home(ceiling, requests, place, profile),
        authority: Some(sharing::digest(place)),
        network: cut.network()?,
        limits: cut.limits(),
    };
    Ok((confinement, cut.notes))
}

/// Returns the paths that layers name, with links unresolved. The caller resolves them into
/// `ConfinementContext::real`.
pub fn listed_paths(
    ceiling: &SandboxLayer,
    requests: &[&SandboxLayer],
    place: &ConfinementContext,
) -> BTreeSet<String> {
    let place = ConfinementContext { real: BTreeMap::new(), ..place.clone() };
    let cut = ConfinementResolver { ceiling, requests, place: &place, notes: Vec::new() };
    let layers = [ceiling].into_iter().chain(requests.iter().copied());
    let lists = layers.flat_map(|layer| {
        let lists = [WRITE, READ, DENY_WRITE, DENY_READ];
        lists.map(|list| (list.of)(&layer.sandbox.security)).into_iter().flatten()
    });
    lists.flatten().filter_map(|text| cut.absolute(text)).collect()
}

/// Returns the weakest level that the ceiling and all requests accept.
pub fn minimum(ceiling: &SandboxLayer, requests: &[&SandboxLayer]) -> ConfinementLevel {
    let asked = requests.iter().filter_map(|layer| layer.sandbox.minimum);
    let all = asked.chain([sandbox::minimum(&ceiling.sandbox)]).map(|level| match level {
        SandboxLevel::Ns => ConfinementLevel::Ns,
        SandboxLevel::Bwrap => ConfinementLevel::Bwrap,
        SandboxLevel::Landlock => ConfinementLevel::Landlock,
    });
    all.min().unwrap_or(ConfinementLevel::Ns)
}

/// Returns true if a call is refused when one of its limits can only be monitored.
pub fn is_strict(ceiling: &SandboxLayer, requests: &[&SandboxLayer]) -> bool {
    let mut layers = [ceiling].into_iter().chain(requests.iter().copied());
    layers.any(|layer| layer.sandbox.limits.strict == Some(true))
}

/// One of the path lists of `security`.
#[derive(Clone, Copy)]
struct SecurityList {
    key: &'static str,
    pointer: &'static str,
    of: fn(&Security) -> Option<&Vec<String>>,
}

const WRITE: SecurityList = SecurityList {
    key: "sandbox.security.allowWrite",
    pointer: "/security/allowWrite",
    of: |security| security.allow_write.as_ref(),
};
const READ: SecurityList = SecurityList {
    key: "sandbox.security.allowRead",
    pointer: "/security/allowRead",
    of: |security| security.allow_read.as_ref(),
};
const DENY_WRITE: SecurityList = SecurityList {
    key: "sandbox.security.denyWrite",
    pointer: "/security/denyWrite",
    of: |security| security.deny_write.as_ref(),
};
const DENY_READ: SecurityList = SecurityList {
    key: "sandbox.security.denyRead",
    pointer: "/security/denyRead",
    of: |security| security.deny_read.as_ref(),
};
const DOMAINS: SecurityList = SecurityList {
    key: "sandbox.security.allowedDomains",
    pointer: "/security/allowedDomains",
    of: |security| security.allowed_domains.as_ref(),
};

/// An entry of a request's list that does not hold.
struct DroppedEntry<'a> {
    layer: &'a SandboxLayer,
    list: SecurityList,
    /// The position in the list.
    at: usize,
    text: &'a str,
    narrowed_by: NarrowingLayer,
}

/// The layer that asks for less than an entry.
enum NarrowingLayer {
    Operator,
    /// The operator permits the entry, but another request narrows it.
    Request,
}

impl NarrowingLayer {
    fn of(is_allowed_by_operator: bool) -> Self {
        if is_allowed_by_operator { Self::Request } else { Self::Operator }
    }
}

/// The state of resolving one confinement.
struct ConfinementResolver<'a> {
    ceiling: &'a SandboxLayer,
    requests: &'a [&'a SandboxLayer],
    place: &'a ConfinementContext,
    notes: Vec<DroppedSetting>,
}

impl ConfinementResolver<'_> {
    /// Returns the strictest profile of the ceiling and all requests.
    fn profile(&self) -> ConfinementProfile {
        let asked = self.requests.iter().filter_map(|layer| layer.sandbox.profile);
        let all = asked.chain([sandbox::profile(&self.ceiling.sandbox)]);
        match all.min_by_key(|profile| sandbox::rank_of_profile(*profile)) {
            Some(SandboxProfile::Host) => ConfinementProfile::Host,
            Some(SandboxProfile::Trusted) => ConfinementProfile::Trusted,
            Some(SandboxProfile::Untrusted) | None => ConfinementProfile::Untrusted,
        }
    }

    /// Returns broad reading only if the ceiling and each request accept it.
    fn reading(&self) -> ReadAccess {
        let asked = self.requests.iter().filter(|layer| {
            layer.sandbox.security.read.is_some() || layer.sandbox.profile.is_some()
        });
        let mut all =
            asked.copied().chain([self.ceiling]).map(|one| sandbox::reading(&one.sandbox));
        if all.all(|reading| reading == ReadAccess::Broad) {
            ReadAccess::Broad
        } else {
            ReadAccess::Strict
        }
    }

    fn git(&self) -> GitAccess {
        let asked = self.requests.iter().filter_map(|layer| layer.sandbox.git);
        let mut all = asked.chain([self.ceiling.sandbox.git.unwrap_or_default()]);
        if all.all(|git| git == GitAccess::Write) { GitAccess::Write } else { GitAccess::Read }
    }

    /// Returns the directories that the operator allows to be written.
    fn most_written(&self, profile: ConfinementProfile) -> Result<Vec<String>, ConfinementError> {
        let own = match (&self.ceiling.sandbox.security.allow_write, profile) {
            (Some(_), _) => self.said(self.ceiling, WRITE)?,
            (None, ConfinementProfile::Trusted | ConfinementProfile::Host) => {
                vec![self.real(&self.place.workspace)]
            }
            (None, ConfinementProfile::Untrusted) => Vec::new(),
        };
        for (at, root) in own.iter().enumerate() {
            if let Some(why) = path::write_refusal(root, self.place) {
                let origin = self.ceiling.origin(&format!("{}/{at}", WRITE.pointer));
                let what = format!("`{root}` may not be writable as a whole: {why}");
                let help = format!(
                    "work in a directory of its own, or list directories in {} in {}",
                    WRITE.key, self.place.settings
                );
                return Err(ConfinementError { what, origin, help });
            }
        }
        Ok(own)
    }

    /// Returns the paths of an operator's list, with links resolved.
    fn said(
        &self,
        layer: &SandboxLayer,
        list: SecurityList,
    ) -> Result<Vec<String>, ConfinementError> {
        let texts = (list.of)(&layer.sandbox.security).into_iter().flatten();
        let paths = texts.enumerate().map(|(at, text)| {
            self.absolute(text)
                .filter(|_| !text.contains('*'))
                .map(|path| self.real(&path))
                .ok_or_else(|| self.not_a_path(layer, list, at, text))
        });
        paths.collect()
    }

    fn not_a_path(
        &self,
        layer: &SandboxLayer,
        list: SecurityList,
        at: usize,
        text: &str,
    ) -> ConfinementError {
        ConfinementError {
            what: format!("`{text}` in {} is not a path that can be held", list.key),
            origin: layer.origin(&format!("{}/{at}", list.pointer)),
            help:
                "write a path below the workspace, below ~/ or from /; only what is denied may end \
                   with a *"
                    .to_owned(),
        }
    }

    /// Narrows directories by each request in turn; requests beyond them become notes.
    fn paths(&mut self, list: SecurityList, most: Vec<String>) -> Vec<String> {
        let mut left = path::without_nested(most.clone());
        let base = if list.key == READ.key { self.always_read() } else { Vec::new() };
        for layer in self.requests {
            let Some(texts) = (list.of)(&layer.sandbox.security) else { continue };
            let mut kept = Vec::new();
            for (at, text) in texts.iter().enumerate() {
                let asked = self.absolute(text).filter(|_| !text.contains('*'));
                let asked = asked.map(|asked| self.real(&asked));
                let common = asked.as_deref().map(|asked| path::intersection(asked, &left));
                let within = |some: &[String]| {
                    asked
                        .as_deref()
                        .is_some_and(|asked| !path::intersection(asked, some).is_empty())
                };
                if !within(&left) && !within(&base) {
                    let narrowed_by = NarrowingLayer::of(within(&most));
                    self.leave_out(DroppedEntry { layer, list, at, text, narrowed_by });
                }
                kept.extend(common.unwrap_or_default());
            }
            left = path::without_nested(kept);
        }
        left
    }

    /// Adds a note about an entry that does not hold.
    fn leave_out(&mut self, entry: DroppedEntry<'_>) {
        let DroppedEntry { layer, list, at, text: asked, narrowed_by } = entry;
        let (who, key, file) = (layer.speaker, list.key, &self.place.settings);
        let text = match narrowed_by {
            NarrowingLayer::Request => format!(
                "{who} asks for `{asked}`; your settings allow it, but the project or another file of \
                 the agent asks for less in {key}"
            ),
            NarrowingLayer::Operator => format!(
                "{who} asks for `{asked}`; your settings do not allow it: add it to {key} in {file}"
            ),
        };
        let origin = layer.origin(&format!("{}/{at}", list.pointer));
        self.notes.push(DroppedSetting { key, asked: asked.to_owned(), origin, text });
    }

    /// Returns the paths that are always readable: workspace, project and agent directory.
    fn always_read(&self) -> Vec<String> {
        let ConfinementContext { workspace, project, agent_directory, .. } = self.place;
        let all = [workspace, project, agent_directory].into_iter().filter(|path| !path.is_empty());
        all.map(|path| self.real(path)).collect()
    }

    fn allow_read(
        &self,
        profile: ConfinementProfile,
        extras: Vec<String>,
        deny_read: &[String],
    ) -> Vec<String> {
        let toolchains = match profile {
            ConfinementProfile::Untrusted => &[][..],
            ConfinementProfile::Trusted | ConfinementProfile::Host => &self.place.toolchains,
        };
        let toolchains = toolchains.iter().map(|path| self.real(path));
        let all = self.always_read().into_iter().chain(toolchains).chain(extras);
        let is_denied = |path: &String| deny_read.iter().any(|one| denied_paths::covers(one, path));
        path::without_nested(all.filter(|path| !is_denied(path)).collect())
    }

    /// Returns the paths that any layer denies, and those that are always denied.
    fn deny_read(&self, most_written: &[String]) -> Result<Vec<String>, ConfinementError> {
        let mut all: BTreeSet<String> = self.denied(DENY_READ)?;
        if let Some(home) = &self.place.home {
            all.extend(HOME_DENIED.iter().map(|name| format!("{home}/{name}")));
        }
        // In every named directory, so that no request can restore a file that another one hides.
        let layers = [self.ceiling].into_iter().chain(self.requests.iter().copied());
        let lists = layers.flat_map(|layer| {
            [WRITE, READ].map(|list| (list.of)(&layer.sandbox.security)).into_iter().flatten()
        });
        let named = lists.flatten().filter_map(|text| self.absolute(text));
        let named = named.map(|path| self.real(&path)).chain(self.always_read());
        for root in named.chain(most_written.iter().cloned()) {
            for name in denied_paths::SECRETS {
                all.insert(path::below(&root, name));
                all.insert(path::below(&root, &format!("{}{name}", &ANY_DEPTH[1..])));
            }
        }
        all.extend(self.place.state.iter().map(|state| self.real(state)));
        Ok(all.into_iter().collect())
    }

    fn deny_write(&self) -> Result<Vec<String>, ConfinementError> {
        let mut all: BTreeSet<String> = self.denied(DENY_WRITE)?;
        all.extend(self.place.definitions.iter().map(|path| self.real(path)));
        let settings = [&self.place.settings].into_iter().filter(|path| path.starts_with('/'));
        all.extend(settings.map(|path| self.real(path)));
        all.extend(self.place.state.iter().map(|state| self.real(state)));
        Ok(all.into_iter().collect())
    }

    /// Returns denied paths, both by name and by the target of their links.
    fn denied(&self, list: SecurityList) -> Result<BTreeSet<String>, ConfinementError> {
        let mut all = BTreeSet::new();
        for layer in [self.ceiling].into_iter().chain(self.requests.iter().copied()) {
            let texts = (list.of)(&layer.sandbox.security).into_iter().flatten();
            for (at, text) in texts.enumerate() {
                let path = self.absolute(text).filter(|path| denied_paths::is_pattern(path));
                let path = path.ok_or_else(|| self.not_a_path(layer, list, at, text))?;
                all.insert(self.real(&path));
                all.insert(path);
            }
        }
        Ok(all)
    }

    fn network(&mut self) -> Result<NetworkAccess, ConfinementError> {
        let security = &self.ceiling.sandbox.security;
        let most = security.allowed_domains.clone().unwrap_or_default();
        for layer in [self.ceiling].into_iter().chain(self.requests.iter().copied()) {
            let texts = (DOMAINS.of)(&layer.sandbox.security).into_iter().flatten();
            let mut bad = texts.enumerate().filter(|(_, text)| !domain::is_hostname(text));
            if let Some((at, text)) = bad.next() {
                let what = format!("`{text}` in {} is not the name of a host", DOMAINS.key);
                let origin = layer.origin(&format!("{}/{at}", DOMAINS.pointer));
                let help = "write a name such as api.github.com".to_owned();
                return Err(ConfinementError { what, origin, help });
            }
        }
        let mut allow: Vec<String> = most.iter().map(|name| domain::normalized(name)).collect();
        for layer in self.requests {
            let Some(texts) = (DOMAINS.of)(&layer.sandbox.security) else { continue };
            let mut kept = Vec::new();
            for (at, text) in texts.iter().enumerate() {
                let common = domain::intersection(text, &allow);
                if common.is_empty() {
                    let is_allowed = !domain::intersection(text, &most).is_empty();
                    let narrowed_by = NarrowingLayer::of(is_allowed);
                    self.leave_out(DroppedEntry { layer, list: DOMAINS, at, text, narrowed_by });
                }
                kept.extend(common);
            }
            allow = kept;
        }
        allow.sort();
        allow.dedup();
        let addresses = security.allowed_addresses.clone().unwrap_or_default();
        Ok(if allow.is_empty() {
            NetworkAccess::None
        } else {
            NetworkAccess::Domains { allow, addresses }
        })
    }

    fn limits(&mut self) -> ConfinementLimits {
        let ceiling = limits(&self.ceiling.sandbox.limits, ConfinementLimits::default());
        let mut all = ceiling;
        for layer in self.requests {
            let unlimited = ConfinementLimits {
                timeout_ms: u64::MAX,
                memory_bytes: u64::MAX,
                processes: u64::MAX,
                disk_bytes: u64::MAX,
                files: u64::MAX,
            };
            let asked = limits(&layer.sandbox.limits, unlimited);
            for (key, pointer, asked, most) in above(&layer.sandbox.limits, ceiling) {
                let (who, file) = (layer.speaker, &self.place.settings);
                let text = format!(
                    "{who} asks for {asked} in {key}; your settings allow {most}: raise it in {file}"
                );
                let (asked, origin) = (asked.to_string(), layer.origin(pointer));
                self.notes.push(DroppedSetting { key, asked, origin, text });
            }
            all = all.lower_of_each(asked);
        }
        all
    }

    /// Makes a path absolute: relative to the workspace or the home, or unchanged.
    fn absolute(&self, text: &str) -> Option<String> {
        path::absolute(text, &self.place.workspace, self.place.home.as_deref())
    }

    fn real(&self, path: &str) -> String {
        self.place.real.get(path).map_or_else(|| path.to_owned(), Clone::clone)
    }
}

fn limits(said: &SandboxLimits, otherwise: ConfinementLimits) -> ConfinementLimits {
    ConfinementLimits {
        timeout_ms: said.timeout.unwrap_or(otherwise.timeout_ms),
        memory_bytes: said.memory.unwrap_or(otherwise.memory_bytes),
        processes: said.pids.unwrap_or(otherwise.processes),
        disk_bytes: said.disk.unwrap_or(otherwise.disk_bytes),
        files: said.files.unwrap_or(otherwise.files),
    }
}

/// Returns the limits that exceed the ceiling.
fn above(
    said: &SandboxLimits,
    ceiling: ConfinementLimits,
) -> impl Iterator<Item = (&'static str, &'static str, u64, u64)> {
    let all = [
        ("sandbox.limits.timeout", "/limits/timeout", said.timeout, ceiling.timeout_ms),
        ("sandbox.limits.memory", "/limits/memory", said.memory, ceiling.memory_bytes),
        ("sandbox.limits.pids", "/limits/pids", said.pids, ceiling.processes),
        ("sandbox.limits.disk", "/limits/disk", said.disk, ceiling.disk_bytes),
        ("sandbox.limits.files", "/limits/files", said.files, ceiling.files),
    ];
    let asked = |(key, pointer, asked, most): (_, _, Option<u64>, u64)| {
        asked.filter(|asked| *asked > most).map(|asked| (key, pointer, asked, most))
    };
    all.into_iter().filter_map(asked)
}
