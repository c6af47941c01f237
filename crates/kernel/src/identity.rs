//! Resolves the sender of an inbound to a principal.
//!
//! Must never: identify the owner by a name; only an identity that the owner linked counts, or a
//! channel that only the owner can write to.

use std::collections::HashMap;

use agentry_protocol::inbound::Inbound;
use agentry_protocol::intake::{Entity, EntityKind};
use agentry_protocol::principal::{Principal, PrincipalKind};

/// The channel of timers.
pub const TIMER: &str = "timer";
/// The channel of programs that send webhooks.
pub const WEBHOOK: &str = "webhook";
/// The channel of other agents.
pub const AGENT: &str = "agent";
/// The channel of the user at this machine.
pub const TERMINAL: &str = "terminal";
/// The channel of a program that exchanges lines with one of our processes.
pub const STDIO: &str = "stdio";
/// The channel of the holders of keys to our server.
pub const HTTP: &str = "http";
/// The name of the owner as a holder of a key.
const HOLDER_OWNER: &str = "owner";
/// The prefix of an entity's name as a holder of a key.
const HOLDER_ENTITY: &str = "entity:";
/// The channels to which only users with write access to the ledger can write.
pub const LOCAL: [&str; 3] = [TERMINAL, STDIO, "send"];

/// Returns true if the name of a channel is reserved for a channel of our own.
pub fn is_own_channel(name: &str) -> bool {
    LOCAL.contains(&name) || [TIMER, WEBHOOK, AGENT, HTTP].contains(&name)
}

/// Returns true if the users of a channel read answers in the ledger, so that none are sent.
pub fn reads_the_ledger(channel: &str) -> bool {
    LOCAL.contains(&channel) || channel == HTTP
}

/// Returns the sender ID of a key's holder: an entity, or the owner for None.
pub fn key_holder(entity: Option<&str>) -> String {
    entity.map_or_else(|| HOLDER_OWNER.to_owned(), |entity| format!("{HOLDER_ENTITY}{entity}"))
}

/// The known entities, indexed by identity.
#[derive(Clone, Debug, Default)]
pub struct EntityDirectory {
    entities: Vec<Entity>,
    by_identity: HashMap<(String, String), (usize, Option<String>)>,
}

impl EntityDirectory {
    /// Indexes these entities.
    pub fn of(entities: Vec<Entity>) -> Self {
        let mut by_identity = HashMap::new();
        for (at, entity) in entities.iter().enumerate() {
            for identity in &entity.identities {
                let name = (identity.channel.clone(), identity.identifier.clone());
                by_identity.insert(name, (at, identity.account_id.clone()));
            }
        }
        Self { entities, by_identity }
    }

    /// Returns the principal that sent an inbound.
    pub fn principal(&self, inbound: &Inbound) -> Principal {
        let (channel, sender) = (inbound.place.channel.as_str(), &inbound.sender);
        match channel {
            TIMER => return Principal::of(PrincipalKind::System),
            WEBHOOK => {
                let source = inbound.place.account_id.clone();
                return Principal { source, ..Principal::of(PrincipalKind::Webhook) };
            }
            AGENT => {
                let agent_id = Some(sender.sender_id.clone());
                return Principal { agent_id, ..Principal::of(PrincipalKind::Agent) };
            }
            HTTP => return self.holding(&sender.sender_id),
            _ => {}
        }
        if let Some(entity) = self.entity(inbound) {
            return entity_principal(entity);
        }
        let kind =
            if LOCAL.contains(&channel) { PrincipalKind::Owner } else { PrincipalKind::Unknown };
        // The name that an unknown sender gives is displayed, and decides nothing.
        Principal { name: sender.sender_name.clone(), ..Principal::of(kind) }
    }

    /// Returns the holder of the key that authenticated an inbound. Only our server sets this name.
    fn holding(&self, sender: &str) -> Principal {
        if sender == HOLDER_OWNER {
            return Principal::of(PrincipalKind::Owner);
        }
        let id = sender.strip_prefix(HOLDER_ENTITY);
        let entity = id.and_then(|id| self.entities.iter().find(|entity| entity.id == id));
        entity.map_or_else(|| Principal::of(PrincipalKind::Unknown), entity_principal)
    }

    fn entity(&self, inbound: &Inbound) -> Option<&Entity> {
        let name = (inbound.place.channel.clone(), inbound.sender.sender_id.clone());
        let (at, account) = self.by_identity.get(&name)?;
        let fits = account.is_none() || *account == inbound.place.account_id;
        fits.then(|| &self.entities[*at])
    }
}

/// Returns the principal for an entity.
pub fn entity_principal(entity: &Entity) -> Principal {
    let kind = match (entity.kind, entity.is_user) {
        // A persona is ours and acts for an agent, even if it is declared to be the owner.
        (EntityKind::Persona, _) => PrincipalKind::Agent,
        (EntityKind::Person, true) => PrincipalKind::Owner,
        (EntityKind::Person, false) => PrincipalKind::Known,
    };
    Principal {
        kind,
        entity_id: Some(entity.id.clone()),
        name: Some(entity.name.clone()),
        relationship: entity.relationship.clone(),
        tags: entity.tags.clone(),
        source: None,
        agent_id: (entity.kind == EntityKind::Persona).then(|| entity.id.clone()),
    }
}
