//! Re-evaluates past access decisions, and groups those that would differ.
//!
//! Must never: record anything, or skip a decision because it is unchanged.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::mpsc::{self, SyncSender};
use std::thread;

use agentry_agentfile::access::LocalTime;
use agentry_kernel::access::{AccessPolicies, AccessQuery, DecisionDiff, compare};
use agentry_protocol::access::{Decision, DenyReason, Effect, Grant};
use agentry_protocol::principal::Principal;
use agentry_protocol::tool::ToolName;
use agentry_store::{Error, Ledger, PastDecision};

use crate::limits::{REPLAY_BATCH_MAX, REPLAY_BATCHES_MAX};

/// The inputs of a policy replay.
pub struct PolicyReplay<'a> {
    /// The policies that re-evaluate.
    pub new: &'a AccessPolicies,
    /// The policies to compare with; None compares with the recorded decisions.
    pub old: Option<&'a AccessPolicies>,
    /// All tools of the host.
    pub tools: Vec<ToolName>,
    /// All grants, including expired and revoked ones.
    pub grants: Vec<Grant>,
    /// Converts a time in milliseconds to the owner's local time.
    pub local: &'a dyn Fn(u64) -> LocalTime,
}

/// A group of decisions with the same sender, channel and result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyReplayGroup {
    /// The principal, as shown to people.
    pub who: String,
    /// The channel of the events.
    pub channel: String,
    /// The difference, in words; the effect itself if there is none.
    pub what: String,
    /// True if the decisions would differ.
    pub changed: bool,
}

/// The size and the first decision of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyReplayCount {
    /// The number of decisions.
    pub number: u64,
    /// The event of the first decision, or the decision's id if it has no event.
    pub first: String,
}

/// The result of a policy replay.
#[derive(Clone, Debug, Default)]
pub struct PolicyReplayReport {
    /// The groups, with their sizes.
    pub groups: BTreeMap<PolicyReplayGroup, PolicyReplayCount>,
    /// The number of re-evaluated decisions.
    pub decisions: u64,
    /// The number of decisions that would differ.
    pub changed: u64,
}

/// Re-evaluates all decisions of a time range, in milliseconds. One thread reads while the other
/// decides.
pub fn replay_policies(
    ledger: &Ledger,
    trial: &PolicyReplay<'_>,
    times: Range<u64>,
) -> Result<PolicyReplayReport, Error> {
    let mut outcome = PolicyReplayReport::default();
    let mut grants = GrantTimeline::new(&trial.grants);
    let (sender, batches) = mpsc::sync_channel::<Vec<PastDecision>>(REPLAY_BATCHES_MAX);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut batch = Vec::new();
            let read = ledger.each_decision(times.start, times.end, |past| {
                batch.push(past);
                if batch.len() == REPLAY_BATCH_MAX {
                    send_if_open(&sender, std::mem::take(&mut batch));
                }
            });
            send_if_open(&sender, batch);
            read
        });
        for past in batches.into_iter().flatten() {
            outcome.add(trial, &past, grants.at(past.time));
        }
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(outcome)
}

/// Sends a batch. The thread that decides closes the channel early only by a panic, which ends the
/// whole replay; then no batch is needed.
fn send_if_open(batches: &SyncSender<Vec<PastDecision>>, batch: Vec<PastDecision>) {
    batches.send(batch).ok();
}

impl PolicyReplayReport {
    fn add(&mut self, trial: &PolicyReplay<'_>, past: &PastDecision, held: &[Grant]) {
        let asked = asked(past, (trial.local)(past.time));
        let after = trial.new.decide(&asked, held, past.time);
        let old = trial.old.map(|old| old.decide(&asked, held, past.time));
        let before = old.as_ref().unwrap_or(&past.decision);
        let change = compare(before, &after, &trial.tools);
        self.decisions += 1;
        self.changed += u64::from(change.is_some());
        let group = PolicyReplayGroup {
            who: who(&past.principal, &past.sender),
            channel: past.place.channel.clone(),
            changed: change.is_some(),
            what: match &change {
                Some(change) => in_words(change, before, &after),
                None => after.effect.to_string(),
            },
        };
        let first = || past.event.clone().unwrap_or_else(|| past.id.to_string());
        let count = self
            .groups
            .entry(group)
            .or_insert_with(|| PolicyReplayCount { number: 0, first: first() });
        count.number += 1;
    }
}

fn asked(past: &PastDecision, time: LocalTime) -> AccessQuery<'_> {
    let place = &past.place;
    AccessQuery {
        principal: &past.principal,
        sender_id: Some(&past.sender),
        channel: &place.channel,
        peer_kind: place.peer_kind,
        peer_id: place.peer_id.as_deref(),
        account: place.account.as_deref(),
        guild: place.guild.as_deref(),
        hook_id: place.hook_id.as_deref(),
        event_type: place.event_type.as_deref(),
        time,
    }
}

/// The grants active at a time; recomputed only when a grant begins or ends.
struct GrantTimeline<'a> {
    all: &'a [Grant],
    held: Vec<Grant>,
    // Invariant: `held` is right for every moment from the first to before the second.
    valid: (u64, u64),
}

impl<'a> GrantTimeline<'a> {
    fn new(all: &'a [Grant]) -> Self {
        Self { all, held: Vec::new(), valid: (0, 0) }
    }

    fn at(&mut self, time: u64) -> &[Grant] {
        if !(self.valid.0..self.valid.1).contains(&time) {
            let held = |grant: &&Grant| {
                grant.created_at <= time
                    && grant.revoked_at.is_none_or(|end| time < end)
                    && grant.expires_at.is_none_or(|end| time < end)
            };
            // A grant that was revoked later was not yet revoked at that time.
            let then = |grant: &Grant| Grant { revoked_at: None, ..grant.clone() };
            self.held = self.all.iter().filter(held).map(then).collect();
            let turns = self.all.iter().flat_map(|grant| {
                [Some(grant.created_at), grant.revoked_at, grant.expires_at].into_iter().flatten()
            });
            let (mut from, mut to) = (0, u64::MAX);
            for turn in turns {
                if turn <= time { from = from.max(turn) } else { to = to.min(turn) }
            }
            self.valid = (from, to);
        }
        &self.held
    }
}

/// Returns the kind and name of a principal, as shown to people.
fn who(principal: &Principal, sender: &str) -> String {
    let own = [&principal.name, &principal.entity_id, &principal.source, &principal.agent_id];
    match own.into_iter().flatten().next() {
        Some(name) => format!("{} {name}", principal.kind),
        None if sender.is_empty() => principal.kind.to_string(),
        None => format!("{} {sender}", principal.kind),
    }
}

/// Describes the difference between two decisions.
fn in_words(change: &DecisionDiff, before: &Decision, after: &Decision) -> String {
    if let Some((old, new)) = change.effect {
        let reason = match new {
            Effect::Deny => &after.deny_reason,
            Effect::Allow => &before.deny_reason,
        };
        let why = match (new, reason) {
            (_, None) => String::new(),
            (Effect::Deny, Some(reason)) => format!(": {reason}"),
            (Effect::Allow, Some(DenyReason::Policy { policy })) => {
                format!(": `{policy}` no longer denies it")
            }
            (Effect::Allow, Some(_)) => String::new(),
        };
        return format!("{old} -> {new}{why}");
    }
    let mut parts: Vec<String> = Vec::new();
    let tools = |sign: &str, tools: &[ToolName]| {
        let names: Vec<String> = tools.iter().map(|tool| format!("{sign}{tool}")).collect();
        names.join(" ")
    };
    if !change.tools_gained.is_empty() || !change.tools_lost.is_empty() {
        let both = [tools("+", &change.tools_gained), tools("-", &change.tools_lost)];
        let both: Vec<String> = both.into_iter().filter(|one| !one.is_empty()).collect();
        parts.push(format!("tools {}", both.join(" ")));
    }
    if let Some((old, new)) = &change.credentials {
        let list = |names: &Option<Vec<String>>| match names {
            None => "all".to_owned(),
            Some(names) if names.is_empty() => "none".to_owned(),
            Some(names) => names.join(" "),
        };
        parts.push(format!("credentials {} -> {}", list(old), list(new)));
    }
    if let Some((old, new)) = change.data {
        parts.push(format!("data {old} -> {new}"));
    }
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "its own".to_owned());
    if let Some((old, new)) = &change.session {
        parts.push(format!("session {} -> {}", or_none(old), or_none(new)));
    }
    if let Some((old, new)) = change.delivery {
        let word = |one: Option<agentry_protocol::access::Delivery>| {
            one.map_or_else(|| "as set".to_owned(), |one| one.to_string())
        };
        parts.push(format!("queue_mode {} -> {}", word(old), word(new)));
    }
    if let Some((old, new)) = change.delay_response {
        parts.push(format!("delayed {old} -> {new}"));
    }
    parts.join("; ")
}
