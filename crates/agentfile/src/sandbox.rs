//! The sandbox settings of files, variables and flags, and the rules on who may set which.
//!
//! The operator sets the ceiling in user settings, variables and flags. A project and an agent only
//! request. A setting reserved for the operator has no effect elsewhere, and is reported.
//!
//! Must never: treat a request as the operator's, or merge the layers (the kernel does).

use std::fmt;

use agentry_protocol::confinement::{GitAccess, ReadAccess};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::layered_values::{LayeredValues, ValuePlace};
use crate::manifest::config::{
    HomePersistence, SandboxLevel, SandboxProfile, SandboxToml, Security,
};
use crate::node::{Kind, Node};
use crate::source::{Origin, SourceText};

mod validation;

pub use validation::is_kept_from_commands;

/// The author of settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SettingsAuthor {
    /// The owner of the machine.
    #[default]
    Operator,
    /// The settings of a project.
    Project,
    /// The files of an agent.
    Agent,
}

impl fmt::Display for SettingsAuthor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operator => "the operator",
            Self::Project => "the project",
            Self::Agent => "the agent",
        })
    }
}

/// The settings of one author.
#[derive(Clone, Debug, Default)]
pub struct SandboxLayer {
    /// The author.
    pub speaker: SettingsAuthor,
    /// The settings.
    pub sandbox: SandboxToml,
    // The origins, by JSON pointer below the section.
    said: LayeredValues,
}

/// The settings of all authors.
#[derive(Clone, Debug, Default)]
pub struct SandboxLayers {
    /// The ceiling.
    pub operator: SandboxLayer,
    /// The requests, each within the ceiling.
    pub requests: Vec<SandboxLayer>,
}

impl SandboxLayer {
    /// Creates a layer without settings.
    pub fn of(speaker: SettingsAuthor) -> Self {
        Self { speaker, ..Self::default() }
    }

    /// True if the layer has no setting.
    pub fn is_silent(&self) -> bool {
        self.said.all().is_empty()
    }

    /// Returns the origin of a value, by JSON pointer such as `/security/allowWrite/0`.
    pub fn origin(&self, pointer: &str) -> Origin {
        self.said.origin(pointer)
    }

    /// Returns all values: dotted key below the section, value, origin.
    pub fn all(&self) -> Vec<(String, &Value, Origin)> {
        self.said.all()
    }

    pub(crate) fn has(&self, pointer: &str) -> bool {
        self.said.contains(pointer)
    }

    /// Adds the section `[sandbox]` of a tree.
    pub(crate) fn add(&mut self, source: &SourceText, node: &Node) {
        if let Some(section) = node.at("/sandbox") {
            self.said.insert_tree(source, section, "");
            self.refresh();
        }
    }

    /// Returns the request in the fields `security` and `limits` of an agent's file.
    pub(crate) fn of_agent_file(source: &SourceText, node: &Node) -> Self {
        let mut layer = Self::of(SettingsAuthor::Agent);
        for field in ["/security", "/limits"] {
            let section = node.at(field).filter(|section| section.kind != Kind::Null);
            if let Some(section) = section {
                layer.said.insert_tree(source, section, field);
            }
        }
        layer.refresh();
        layer
    }

    fn refresh(&mut self) {
        // Each value was checked when read. If they are invalid together, nothing is allowed.
        self.sandbox = self.said.deserialize().unwrap_or_else(|_| nothing());
    }

    /// Reports and removes malformed values.
    pub(crate) fn check_form(&mut self, findings: &mut Findings) {
        for (pointer, code, text) in validation::defects(&self.sandbox) {
            let place = ValuePlace { pointer: &pointer, file: "" };
            self.said.report(code, place, text, findings);
        }
        let (env, domains) = validation::valid_entries(&self.sandbox);
        self.said.replace("/env", json!(env));
        self.said.replace("/security/allowedDomains", json!(domains));
        self.refresh();
    }

    /// Reports and removes values that are reserved for the operator and wider than the operator's.
    pub(crate) fn drop_wider_than(&mut self, operator: &SandboxToml, findings: &mut Findings) {
        for (pointer, what) in wider(&self.sandbox, operator) {
            let key = format!("sandbox{}", pointer.replace('/', "."));
            let text =
                FindingText::new(format!("{} may not {what}; it has no effect", self.speaker))
                    .help(format!("set `{key}` in your own settings, as a variable or with -c"));
            let place = ValuePlace { pointer, file: "" };
            self.said.report(DiagnosticCode::OperatorOnly, place, text, findings);
            self.said.remove(pointer);
        }
        self.refresh();
    }
}

/// Returns the requests of an agent's files: its own settings, and the fields of the files that
/// define it. Defects of the fields go to the findings.
pub(crate) fn of_agent(
    layers: &SandboxLayers,
    files: &[(&SourceText, &Node)],
    findings: &mut Findings,
) -> Vec<SandboxLayer> {
    let own =
        layers.requests.iter().filter(|layer| layer.speaker == SettingsAuthor::Agent).cloned();
    let fields = files.iter().map(|(source, node)| {
        let mut layer = SandboxLayer::of_agent_file(source, node);
        layer.check_form(findings);
        layer.drop_wider_than(&layers.operator.sandbox, findings);
        layer
    });
    own.chain(fields).filter(|layer| !layer.is_silent()).collect()
}

/// Serializes each key with its value and its place.
impl Serialize for SandboxLayer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.all().into_iter();
        serializer
            .collect_map(all.map(|(key, value, at)| (key, json!({ "value": value, "origin": at }))))
    }
}

/// Returns the strictest possible settings.
fn nothing() -> SandboxToml {
    let none = || Some(Vec::new());
    let security = Security {
        allow_read: none(),
        allow_write: none(),
        allowed_domains: none(),
        ..Security::default()
    };
    SandboxToml { profile: Some(SandboxProfile::Untrusted), security, ..SandboxToml::default() }
}

/// Returns reserved settings of a request that are wider than the operator's: pointer and meaning.
fn wider(asked: &SandboxToml, operator: &SandboxToml) -> Vec<(&'static str, &'static str)> {
    let (security, ceiling) = (&asked.security, &operator.security);
    let new = |asked: &Option<Vec<String>>, known: &Option<Vec<String>>| {
        let known = known.as_deref().unwrap_or_default();
        asked.iter().flatten().any(|one| !known.contains(one))
    };
    let checks = [
        (
            asked.enabled == Some(false) && operator.enabled != Some(false),
            ("/enabled", "switch the sandbox off"),
        ),
        (
            asked.minimum.map(rank_of_level) > Some(rank_of_level(minimum(operator))),
            ("/minimum", "accept a weaker sandbox"),
        ),
        (
            asked.profile.map(rank_of_profile) > Some(rank_of_profile(profile(operator))),
            ("/profile", "choose a wider profile"),
        ),
        (new(&asked.env, &operator.env), ("/env", "pass variables to commands")),
        (
            asked.git == Some(GitAccess::Write) && operator.git != Some(GitAccess::Write),
            ("/git", "let repositories be written"),
        ),
        (
            asked.home.persist == Some(HomePersistence::Project)
                && operator.home.persist != Some(HomePersistence::Project),
            ("/home/persist", "let the home of commands persist"), // tidy-allow: a key of settings
        ),
        (
            security.read == Some(ReadAccess::Broad) && reading(operator) == ReadAccess::Strict,
            ("/security/read", "let everything be read"),
        ),
        (
            new(&security.allowed_addresses, &ceiling.allowed_addresses),
            ("/security/allowedAddresses", "name addresses that count as public"),
        ),
    ];
    checks.into_iter().filter(|(wider, _)| *wider).map(|(_, what)| what).collect()
}

/// Returns the weakest level that settings accept.
pub fn minimum(sandbox: &SandboxToml) -> SandboxLevel {
    sandbox.minimum.unwrap_or(SandboxLevel::Bwrap)
}

/// Returns the profile that settings choose.
pub fn profile(sandbox: &SandboxToml) -> SandboxProfile {
    sandbox.profile.unwrap_or(SandboxProfile::Trusted)
}

/// Returns the readable part of the machine: as set, or as the profile implies.
pub fn reading(sandbox: &SandboxToml) -> ReadAccess {
    let by_profile = match profile(sandbox) {
        SandboxProfile::Untrusted | SandboxProfile::Trusted => ReadAccess::Strict,
        SandboxProfile::Host => ReadAccess::Broad,
    };
    sandbox.security.read.unwrap_or(by_profile)
}

fn rank_of_level(level: SandboxLevel) -> u8 {
    match level {
        SandboxLevel::Ns => 0,
        SandboxLevel::Bwrap => 1,
        SandboxLevel::Landlock => 2,
    }
}

/// Returns the rank of a profile: the wider, the higher.
pub fn rank_of_profile(profile: SandboxProfile) -> u8 {
    match profile {
        SandboxProfile::Untrusted => 0,
        SandboxProfile::Trusted => 1,
        SandboxProfile::Host => 2,
    }
}
