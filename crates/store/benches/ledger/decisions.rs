//! Reading past decisions: what it costs to go through all of them, one after the other.
//!
//! Each is about an event of its own, of one of fifty people, who may do little.
//!
//! Must never: write between two measurements.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use agentry_protocol::AccessId;
use agentry_protocol::access::{
    AccessRecord, AttributedDisclosureLevel, Credentials, Decision, DisclosureLevel, Effect,
    Modifiers, NameList, PermissionSource, PolicyContribution, PolicyOutcome, ResolvedTools,
    SessionChoice, ToolBounds,
};
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{ChannelAddress, EventId, Inbound, PeerKind, Sender};
use agentry_protocol::intake::{IntakeStage, UnrunReason};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_store::Error;

const EVENTS: u64 = 200_000;
const EVENTS_PER_APPEND: u64 = 500;
const PEOPLE: u64 = 50;
/// How many policies were looked at for each event.
const EVALUATED: u64 = 12;

/// Leaves the ledger in `home`, if one is named.
pub(crate) fn measure(
    home: Option<PathBuf>,
    events: Option<u64>,
) -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let home = home.unwrap_or_else(|| scratch.path().to_owned());
    write(&home, events.unwrap_or(EVENTS))?;
    let ledger = crate::open(&home)?;
    let mut count = 0_u32;
    let begun = Instant::now();
    ledger.each_decision(0, u64::MAX, |_| count += 1)?;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "\n{count} past decisions read in {seconds:.2} s: {:.0} a second",
        f64::from(count) / seconds
    );
    Ok(())
}

fn write(home: &Path, events: u64) -> Result<(), Error> {
    let ledger = crate::open(home)?;
    let now = ledger.now();
    for first in (0..events).step_by(usize::try_from(EVENTS_PER_APPEND).unwrap_or(1)) {
        let numbers = first..(first + EVENTS_PER_APPEND).min(events);
        ledger.append(numbers.flat_map(|number| event(number, now)).collect())?;
    }
    Ok(())
}

/// What came in, the decision, and that no hook wanted it: nothing is left to do about it.
fn event(number: u64, now: u64) -> [Draft; 3] {
    let who = number % PEOPLE;
    let place = ChannelAddress {
        channel: "discord".to_owned(),
        account_id: Some("ours".to_owned()),
        peer_id: Some(format!("peer-{who}")),
        peer_kind: Some(PeerKind::Dm),
        guild: None,
        thread_id: None,
        reply_to_id: None,
    };
    let sender = Sender { sender_id: format!("sender-{who}"), sender_name: None };
    let inbound = Inbound::new(&number.to_string(), now, place, sender);
    let mut inbound = inbound.expect("the bench writes ids that are ones");
    inbound.body.content = "Could you have a look at the weather for tomorrow? ".repeat(4);
    let record = record(number, &inbound.event_id, now);
    let of = |intake| Draft {
        cause: None,
        about: EntrySubject::default(),
        event: Event::Intake(intake),
    };
    let event = inbound.event_id.clone();
    let received = IntakeStage::Received { inbound: Box::new(inbound) };
    let unrun = IntakeStage::Unrun { event, why: UnrunReason::NoHook, detail: None };
    [of(received), of(IntakeStage::Decided { record: Box::new(record) }), of(unrun)]
}

fn record(number: u64, event: &EventId, now: u64) -> AccessRecord {
    let who = number % PEOPLE;
    let policy: Arc<str> = format!("person-{who}").into();
    let from = PermissionSource::Policy(policy.clone());
    let names = ["read_file", "web_fetch"].map(Arc::from).to_vec();
    let evaluated = (0..EVALUATED).map(|number| Arc::from(format!("policy-{number}")));
    AccessRecord {
        id: AccessId::from_number(u128::from(number)),
        timestamp: now,
        event_id: Some(event.clone()),
        channel: "discord".to_owned(),
        sender_identifier: format!("sender-{who}"),
        peer_kind: Some(PeerKind::Dm),
        account: Some("ours".to_owned()),
        principal: Principal {
            entity_id: Some(format!("p{who}")),
            name: Some(format!("Person {who}")),
            relationship: Some("friend".to_owned()),
            ..Principal::of(PrincipalKind::Known)
        },
        policies_evaluated: evaluated.collect(),
        decision: Decision {
            effect: Effect::Allow,
            deny_reason: None,
            tools: ToolBounds {
                allow: vec![Arc::new(NameList { from: from.clone(), names })],
                ..ToolBounds::default()
            },
            credentials: Credentials::Named(Vec::new()),
            data: AttributedDisclosureLevel { level: DisclosureLevel::Minimal, from },
            exec: Vec::new(),
            session: Some(SessionChoice {
                key: format!("people:p{who}"),
                persona: None,
                policy: policy.clone(),
            }),
            modifiers: Modifiers::default(),
            matched: vec![PolicyContribution { policy, part: PolicyOutcome::Allowed }],
            grants: Vec::new(),
        },
        resolved: Some(ResolvedTools {
            tools_allowed: ["read_file", "web_fetch"].map(str::to_owned).to_vec(),
            tools_denied: ["bash", "edit_file", "glob", "grep", "load_skill", "write_file"]
                .map(str::to_owned)
                .to_vec(),
        }),
        processing_time_ms: 0.02,
    }
}
