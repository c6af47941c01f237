//! The resolved policies of `access/`: who may reach an agent, and with what powers.
//!
//! Policies stand in `.agentry/access/` of a project and of the user's home. The bundled policies
//! apply unless one of the same name replaces them. A defect in any policy leaves only the bundled
//! ones active, which admit only the owner: half a set of policies could admit a stranger.
//!
//! Must never: decide about an event, or use a defective policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentry_protocol::access::{Delivery, DisclosureLevel, Effect};
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::principal::Principal;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::file_tree::FileTree;
use crate::layout::PACKS;
use crate::source::{Origin, SourceText, SourcedValue, Span};

mod bundled;
mod edit;
mod key;
mod read;
mod time;

pub use bundled::{STOCK, bundled_policies};
pub use edit::{text_of, with_policy_switched};
pub use key::{KeyPart, KeyTemplate, KeyVariable};
pub use read::parse;
pub use time::{LocalTime, MINUTES_PER_DAY, TimeWindow, Weekday};

/// The priority of a policy that sets none.
pub const PRIORITY_DEFAULT: u8 = 50;

/// One policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Its name.
    pub name: SourcedValue<Arc<str>>,
    /// The purpose of the policy.
    pub description: Option<String>,
    /// False if the policy is disabled.
    pub enabled: bool,
    /// The rank; policies with higher values come first.
    pub priority: u8,
    /// The decision for matching events.
    pub effect: Effect,
    /// The principal; all given fields must match.
    pub who: PrincipalCondition,
    /// Places and times; one of them must match. An empty list matches always.
    pub conditions: Vec<PolicyCondition>,
    /// The powers of the principals it applies to.
    pub permissions: Permissions,
    /// The session that receives their messages.
    pub session: Option<SessionRule>,
    /// The handling of their messages.
    pub modifiers: ModifierRule,
    /// Events with the expected decision.
    pub examples: Vec<SourcedValue<PolicyExample>>,
}

impl Policy {
    /// True if the policy only sets the handling of messages, and so admits no one.
    pub fn only_modifies(&self) -> bool {
        self.effect == Effect::Allow
            && !self.modifiers.is_empty()
            && self.permissions.is_empty()
            && self.session.is_none()
    }
}

/// A test of the principal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrincipalCondition {
    /// The owner, or every other principal.
    pub is_user: Option<bool>,
    /// The relationship to the owner.
    pub relationship: Option<String>,
    /// Tags, all of which the entity must have.
    pub tags: Vec<String>,
    /// The id of one entity.
    pub person_id: Option<String>,
    /// Unknown senders, or every other principal.
    pub unknown: Option<bool>,
    /// The system, or every other principal.
    pub system: Option<bool>,
    /// The source of a webhook, or `*`.
    pub webhook: Option<String>,
    /// The agent that sends the message, or `*`.
    pub agent: Option<String>,
}

/// A place and time; all given fields must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyCondition {
    /// The channel.
    pub channel: Option<String>,
    /// The kind of the other side.
    pub peer_kind: Option<PeerKind>,
    /// Your account that received the event.
    pub account: Option<String>,
    /// The server or workspace.
    pub guild: Option<String>,
    /// The time window.
    pub time: Option<TimeWindow>,
    /// The id of the hook whose timer fired.
    pub hook_id: Option<String>,
    /// The type of the event.
    pub event_type: Option<String>,
}

/// The powers that a policy gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Tools; none means that the policy is neutral about them.
    pub tools: Option<PolicyToolRule>,
    /// Credentials; none means that the policy is neutral about them.
    pub credentials: Option<NameSet>,
    /// The level of data access; none means that the policy is neutral about it.
    pub data: Option<DisclosureLevel>,
    /// True if these powers are an upper limit for the principals it applies to.
    pub ceiling: bool,
}

impl Permissions {
    /// True if no power is set.
    pub fn is_empty(&self) -> bool {
        self.tools.is_none() && self.credentials.is_none() && self.data.is_none()
    }
}

/// Allowed and denied tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyToolRule {
    /// Allowed names and patterns, if any are given; the pattern `*` is all.
    pub allow: Option<Vec<Arc<str>>>,
    /// Denied names and patterns.
    pub deny: Vec<Arc<str>>,
    /// True if tools that `allow` does not name are denied too.
    pub deny_the_rest: bool,
}

/// All names, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameSet {
    /// All names.
    All,
    /// The listed names and patterns.
    Listed(Vec<Arc<str>>),
}

/// The session that receives messages.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRule {
    /// The persona that answers.
    pub persona: Option<Arc<str>>,
    /// The session's key.
    pub key: KeyTemplate,
    /// True if it wins over every session of a policy that does not isolate.
    pub isolate: bool,
}

/// The handling of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModifierRule {
    /// The delivery to a busy session.
    pub delivery: Option<Delivery>,
    /// True if the answer waits until the quiet time is over.
    pub delay_response: Option<bool>,
}

impl ModifierRule {
    /// True if no modifier is set.
    pub fn is_empty(&self) -> bool {
        self.delivery.is_none() && self.delay_response.is_none()
    }
}

/// An event with the expected decision.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyExample {
    /// The sender of the event.
    pub principal: Principal,
    /// The place of the event; its time is not used.
    pub place: PolicyCondition,
    /// The id of the other side.
    pub peer_id: Option<String>,
    /// The time of the event.
    pub at: LocalTime,
    /// The expected decision.
    pub expect: Effect,
    /// Tools that the decision must allow.
    pub tools: Vec<String>,
    /// Tools that the decision must deny.
    pub no_tools: Vec<String>,
    /// The expected key of the session.
    pub session: Option<String>,
}

/// All policies of the directories, beside the bundled ones.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    /// The policies of the directories; empty if one of them is defective.
    pub own: Vec<Policy>,
    /// Files with defects; because of them only the bundled policies are active.
    pub broken: Vec<Arc<str>>,
    // The texts, so that later findings can point into them.
    sources: BTreeMap<Arc<str>, SourceText>,
}

impl PolicySet {
    /// True if no directory has a policy file.
    pub fn has_no_files(&self) -> bool {
        self.sources.is_empty()
    }

    /// Returns all policies: those of directories, and bundled ones that they do not replace.
    pub fn policies(&self) -> Vec<Policy> {
        let is_own = |one: &&Policy| self.own.iter().any(|own| own.name.value == one.name.value);
        let shipped = bundled_policies().iter().filter(|one| !is_own(one));
        shipped.chain(&self.own).cloned().collect()
    }

    /// Returns the text of a file, also of a bundled one.
    pub fn source(&self, file: &str) -> Option<SourceText> {
        let shipped = || STOCK.iter().find(|(name, _)| *name == file);
        let shipped = || shipped().map(|(name, text)| SourceText::new(*name, *text));
        self.sources.get(file).cloned().or_else(shipped)
    }

    /// Returns the files that were read.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(|file| &**file)
    }

    /// Adds a finding at a place in one of the files.
    pub fn report(
        &self,
        code: DiagnosticCode,
        at: &Origin,
        text: FindingText,
        findings: &mut Findings,
    ) {
        match self.sources.get(&at.file) {
            Some(source) => {
                let start = source.offset(at.line, at.column);
                let rest = &source.text[start..];
                let length = rest.find(['\n', ',', '}', ']']).unwrap_or(rest.len());
                findings.at(code, source, Span::new(start, start + length.max(1)), text);
            }
            None => findings.about(code, at.file.clone(), text),
        }
    }
}

/// Reads the policies of all trees. Defects go to the findings.
pub fn read(trees: &[&FileTree], findings: &mut Findings) -> PolicySet {
    let paths =
        trees.iter().flat_map(|tree| files(tree).into_iter().map(move |path| (*tree, path)));
    read_each(paths, findings)
}

/// Reads all policies of a directory that holds nothing else. Defects go to the findings.
pub fn read_directory(tree: &FileTree, findings: &mut Findings) -> PolicySet {
    let paths = tree.below("").map(|(path, _)| path).filter(|path| is_policy_file(path));
    read_each(paths.map(|path| (tree, path.to_owned())), findings)
}

fn read_each<'a>(
    paths: impl Iterator<Item = (&'a FileTree, String)>,
    findings: &mut Findings,
) -> PolicySet {
    let mut rules = PolicySet::default();
    let mut own: Vec<Policy> = Vec::new();
    for (tree, path) in paths {
        let mut found = Findings::default();
        if let Some(source) = tree.text(&path, &mut found) {
            own.extend(parse(&source, &mut found));
            rules.sources.insert(source.file.clone(), source);
        }
        if found.has_errors() {
            rules.broken.push(tree.display_path(&path).into());
        }
        findings.append(found);
    }
    report_doubles(&own, &mut rules, findings);
    if rules.broken.is_empty() {
        rules.own = own;
    }
    rules
}

fn files(tree: &FileTree) -> Vec<String> {
    let below = tree.below(&directory()).map(|(path, _)| path);
    below.filter(|path| is_policy_file(path)).map(str::to_owned).collect()
}

/// Returns the directory of policies, below a project or a home.
pub fn directory() -> String {
    format!("{}/access", PACKS[0])
}

/// True if the name of a file is that of a policy file.
pub fn is_policy_file(path: &str) -> bool {
    [".yml", ".yaml", ".json"].iter().any(|ending| path.ends_with(ending))
}

fn report_doubles(own: &[Policy], rules: &mut PolicySet, findings: &mut Findings) {
    let mut first: BTreeMap<&str, &Origin> = BTreeMap::new();
    let mut broken = Vec::new();
    for policy in own {
        let Some(earlier) = first.get(&*policy.name.value) else {
            first.insert(&policy.name.value, &policy.name.origin);
            continue;
        };
        let text = FindingText::new(format!(
            "a policy `{}` is there already, in {earlier}",
            policy.name.value
        ))
        .help("rename one of the two, or remove it; until then only the owner is let in");
        rules.report(DiagnosticCode::PolicyTwice, &policy.name.origin, text, findings);
        broken.push(policy.name.origin.file.clone());
    }
    rules.broken.extend(broken);
}
