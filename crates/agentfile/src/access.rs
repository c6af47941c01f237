//! Who may reach an agent and with what powers: the policies of `access/`, as meant.
//!
//! Policies stand in `.agentry/access/` of a project and of the user's home. Those that ship hold unless
//! one of the same name replaces them. If anything is wrong with any of them, only those that ship hold,
//! which let nobody in but the owner: half a set of policies could let somebody in.
//!
//! Must never: decide about an event, or use a policy that something is wrong with.

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

/// The priority of a policy that does not say.
pub const PRIORITY_DEFAULT: u8 = 50;

/// One policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Its name.
    pub name: SourcedValue<Arc<str>>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it holds.
    pub enabled: bool,
    /// The higher, the earlier.
    pub priority: u8,
    /// Whether it lets through or stops.
    pub effect: Effect,
    /// Who it concerns; all that is said must hold.
    pub who: PrincipalCondition,
    /// Where and when; one of them must hold, and none means always.
    pub conditions: Vec<PolicyCondition>,
    /// What those it concerns may do.
    pub permissions: Permissions,
    /// Where their messages go.
    pub session: Option<SessionRule>,
    /// How their messages are handled.
    pub modifiers: ModifierRule,
    /// Events with what must come of them.
    pub examples: Vec<SourcedValue<PolicyExample>>,
}

impl Policy {
    /// Whether it only says how messages are handled, and so lets nobody in.
    pub fn only_modifies(&self) -> bool {
        self.effect == Effect::Allow
            && !self.modifiers.is_empty()
            && self.permissions.is_empty()
            && self.session.is_none()
    }
}

/// Who a policy concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrincipalCondition {
    /// The owner, or everybody else.
    pub is_user: Option<bool>,
    /// What they are to the owner.
    pub relationship: Option<String>,
    /// Tags that they must all have.
    pub tags: Vec<String>,
    /// One entity.
    pub person_id: Option<String>,
    /// Strangers, or everybody else.
    pub unknown: Option<bool>,
    /// The runtime itself, or everybody else.
    pub system: Option<bool>,
    /// The program that called, or `*`.
    pub webhook: Option<String>,
    /// The agent that speaks, or `*`.
    pub agent: Option<String>,
}

/// Where and when a policy holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyCondition {
    /// The channel.
    pub channel: Option<String>,
    /// What the other side is.
    pub peer_kind: Option<PeerKind>,
    /// Which account of ours heard it.
    pub account: Option<String>,
    /// The server or workspace.
    pub guild: Option<String>,
    /// When.
    pub time: Option<TimeWindow>,
    /// The hook that a timer woke.
    pub hook_id: Option<String>,
    /// The kind of event.
    pub event_type: Option<String>,
}

/// What somebody may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Tools; neutral if nothing is said.
    pub tools: Option<PolicyToolRule>,
    /// Credentials; neutral if nothing is said.
    pub credentials: Option<NameSet>,
    /// How much may be told; neutral if nothing is said.
    pub data: Option<DisclosureLevel>,
    /// Whether nobody it concerns gets more than this.
    pub ceiling: bool,
}

impl Permissions {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.tools.is_none() && self.credentials.is_none() && self.data.is_none()
    }
}

/// Tools that may be called and tools that may not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyToolRule {
    /// Names and patterns that may be called, if any are given; the pattern `*` is all.
    pub allow: Option<Vec<Arc<str>>>,
    /// Names and patterns that may not.
    pub deny: Vec<Arc<str>>,
    /// Whether whatever `allow` does not name may not be called either.
    pub deny_the_rest: bool,
}

/// All, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameSet {
    /// All.
    All,
    /// These.
    Listed(Vec<Arc<str>>),
}

/// Where messages go.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRule {
    /// Who answers.
    pub persona: Option<Arc<str>>,
    /// The session's key.
    pub key: KeyTemplate,
    /// Whether it wins over every session of a policy that does not isolate.
    pub isolate: bool,
}

/// How messages are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModifierRule {
    /// How a message reaches a busy session.
    pub delivery: Option<Delivery>,
    /// Whether the answer waits until the quiet time is over.
    pub delay_response: Option<bool>,
}

impl ModifierRule {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.delivery.is_none() && self.delay_response.is_none()
    }
}

/// An event, and what must come of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyExample {
    /// Who speaks.
    pub principal: Principal,
    /// Where; its time has no meaning.
    pub place: PolicyCondition,
    /// The other side.
    pub peer_id: Option<String>,
    /// When.
    pub at: LocalTime,
    /// What must come of it.
    pub expect: Effect,
    /// Tools that must then be allowed.
    pub tools: Vec<String>,
    /// Tools that must then be refused.
    pub no_tools: Vec<String>,
    /// The key of the session that it must go to.
    pub session: Option<String>,
}

/// Every policy of a directory and of those that ship.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    /// The policies of the directories; none, if something is wrong with one of them.
    pub own: Vec<Policy>,
    /// Files in which something is wrong; because of them only the policies that ship hold.
    pub broken: Vec<Arc<str>>,
    // The texts, so that what is found later can point into them.
    sources: BTreeMap<Arc<str>, SourceText>,
}

impl PolicySet {
    /// Whether no directory says anything.
    pub fn has_no_files(&self) -> bool {
        self.sources.is_empty()
    }

    /// All policies: those of the directories, and those that ship unless one of the same name is there.
    pub fn policies(&self) -> Vec<Policy> {
        let is_own = |one: &&Policy| self.own.iter().any(|own| own.name.value == one.name.value);
        let shipped = bundled_policies().iter().filter(|one| !is_own(one));
        shipped.chain(&self.own).cloned().collect()
    }

    /// The text of a file, also of those that ship.
    pub fn source(&self, file: &str) -> Option<SourceText> {
        let shipped = || STOCK.iter().find(|(name, _)| *name == file);
        let shipped = || shipped().map(|(name, text)| SourceText::new(*name, *text));
        self.sources.get(file).cloned().or_else(shipped)
    }

    /// The files that were read.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(|file| &**file)
    }

    /// Notes a finding at a place in one of the files.
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

/// Reads the policies of all trees. Findings say what is wrong with them.
pub fn read(trees: &[&FileTree], findings: &mut Findings) -> PolicySet {
    let paths =
        trees.iter().flat_map(|tree| files(tree).into_iter().map(move |path| (*tree, path)));
    read_each(paths, findings)
}

/// Reads all policies of a directory that holds nothing else. Findings say what is wrong with them.
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

/// Where policies stand, below a project or a home.
pub fn directory() -> String {
    format!("{}/access", PACKS[0])
}

/// Whether a file holds policies, to go by its name.
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
