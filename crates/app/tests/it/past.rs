//! A past for stories: decisions that the kernel made, in the ledger of a story.

use std::sync::Arc;

use agentry_agentfile::access::{LocalTime, bundled_policies, parse};
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::source::SourceText;
use agentry_kernel::access::{AccessPolicies, AccessQuery, compile, resolved};
use agentry_protocol::AccessId;
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{ChannelAddress, Inbound, PeerKind, Sender};
use agentry_protocol::intake::{AccessChange, IntakeStage};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::tool::ToolName;
use agentry_store::Ledger;

use crate::story::Story;

/// A Monday, 12:00 UTC.
pub(crate) const NOON: u64 = 1_794_830_400_000;

/// The ledger of a story, whose clock stands still.
pub(crate) fn ledger(story: &Story, now: u64) -> Ledger {
    let home = story.home(".local/state/agentry");
    Ledger::open(&home, Arc::new(move || now)).expect("the ledger opens")
}

/// Policies as they were then, with those that ship.
pub(crate) fn policies(yaml: &str) -> AccessPolicies {
    let mut findings = Findings::default();
    let own = parse(&SourceText::new("then.yml", yaml), &mut findings);
    assert!(!findings.has_errors(), "{findings:?}");
    compile(&bundled_policies().iter().cloned().chain(own).collect::<Vec<_>>())
}

/// Somebody who is known.
pub(crate) fn person(name: &str, relationship: &str) -> Principal {
    Principal {
        entity_id: Some(name.to_lowercase()),
        name: Some(name.to_owned()),
        relationship: Some(relationship.to_owned()),
        ..Principal::of(PrincipalKind::Known)
    }
}

/// A message of somebody in a direct talk.
pub(crate) fn message(channel: &str, id: &str, sender: &str) -> Inbound {
    let place = ChannelAddress {
        channel: channel.to_owned(),
        account_id: None,
        peer_id: Some(sender.to_owned()),
        peer_kind: Some(PeerKind::Dm),
        guild: None,
        thread_id: None,
        reply_to_id: None,
    };
    let sender = Sender { sender_id: sender.to_owned(), sender_name: None };
    Inbound::new(id, NOON, place, sender).expect("the test writes ids")
}

/// Records that something came in and what the policies of then decide about it.
pub(crate) fn happened(
    ledger: &Ledger,
    then: &AccessPolicies,
    principal: &Principal,
    inbound: Inbound,
    time: LocalTime,
) {
    let number = u128::from(ledger.last_seq().expect("the ledger can be read")) + 1;
    // Different at both ends, as ids are.
    let number = number << 100 | number;
    let grants = ledger.grants(true).expect("grants can be read");
    let asked = AccessQuery::of(principal, &inbound, time);
    let decision = then.decide(&asked, &grants, ledger.now());
    let tools = ["bash", "read_file", "web_fetch"].map(ToolName::canonical);
    let tools = resolved(&decision, &tools);
    let mut record = then.record(&asked, decision, AccessId::from_number(number));
    record.timestamp = ledger.now();
    record.event_id = Some(inbound.event_id.clone());
    record.resolved = Some(tools);
    record.processing_time_ms = 0.5;
    let received = IntakeStage::Received { inbound: Box::new(inbound) };
    append(ledger, Event::Intake(received));
    append(ledger, Event::Intake(IntakeStage::Decided { record: Box::new(record) }));
}

/// Records a change of who may do what.
pub(crate) fn changed(ledger: &Ledger, change: AccessChange) {
    append(ledger, Event::Access(change));
}

#[expect(clippy::disallowed_methods, reason = "a test writes the past itself")]
fn append(ledger: &Ledger, event: Event) {
    let draft = Draft { cause: None, about: EntrySubject::default(), event };
    ledger.append(vec![draft]).expect("the ledger takes entries");
}

/// A moment of the owner's clock.
pub(crate) fn at(text: &str) -> LocalTime {
    LocalTime::parse(text).expect("the test writes a moment")
}
