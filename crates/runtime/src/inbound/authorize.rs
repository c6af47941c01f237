//! Identifies senders and decides access: the first stages for every inbound event.
//!
//! Must never: decide by anything but the policies, the grants and the known entities.

use std::time::Instant;

use agentry_agentfile::access::LocalTime;
use agentry_kernel::access::{AccessPolicies, AccessQuery, resolved};
use agentry_kernel::identity::EntityDirectory;
use agentry_protocol::AccessId;
use agentry_protocol::access::{AccessRecord, Grant};
use agentry_protocol::inbound::Inbound;
use agentry_protocol::tool::ToolName;
use agentry_store::Ledger;

use crate::error::Error;
use crate::host::SharedHost;

/// The data for an access decision, beside the policies.
#[derive(Default)]
pub(crate) struct AccessContext {
    pub(crate) people: EntityDirectory,
    pub(crate) grants: Vec<Grant>,
    /// The tools of the host, which the policies' patterns resolve to.
    pub(crate) tools: Vec<ToolName>,
}

/// The time and the id of an access decision.
pub(crate) struct DecisionStamp {
    pub(crate) now: u64,
    pub(crate) local_time: LocalTime,
    pub(crate) id: AccessId,
}

impl AccessContext {
    /// Reloads the entities and grants from the ledger.
    pub(crate) fn refresh(&mut self, ledger: &Ledger) -> Result<(), Error> {
        self.people = EntityDirectory::of(ledger.entities()?);
        self.grants = ledger.grants(true)?;
        Ok(())
    }

    /// Decides access for an inbound event.
    pub(crate) fn decide(
        &self,
        inbound: &Inbound,
        access: &AccessPolicies,
        moment: DecisionStamp,
    ) -> AccessRecord {
        let begun = Instant::now();
        let DecisionStamp { now, local_time, id } = moment;
        let principal = self.people.principal(inbound);
        let asked = AccessQuery::of(&principal, inbound, local_time);
        let mut record = access.record(&asked, access.decide(&asked, &self.grants, now), id);
        record.timestamp = now;
        record.event_id = Some(inbound.event_id.clone());
        record.resolved = Some(resolved(&record.decision, &self.tools));
        record.processing_time_ms = begun.elapsed().as_secs_f64() * 1000.0;
        record
    }
}

/// Decides access in this process, for an event that was received here or made up for a test.
///
/// # Errors
/// If the ledger cannot read the entities.
pub fn decide_locally(
    host: &SharedHost,
    access: &AccessPolicies,
    inbound: &Inbound,
    local_time: LocalTime,
) -> Result<AccessRecord, Error> {
    let tools = host.tools.builtin_names();
    let mut known = AccessContext { tools, ..AccessContext::default() };
    known.refresh(&host.ledger)?;
    let id = AccessId::from_number((host.new_number)());
    Ok(known.decide(inbound, access, DecisionStamp { now: host.ledger.now(), local_time, id }))
}
