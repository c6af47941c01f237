//! Who speaks: from what a channel says of a sender to a principal.
//!
//! Must never: take somebody for the owner because of a name; only an identity that the owner linked counts,
//! or a channel that only the owner can write to.

use std::collections::HashMap;

use agentry_protocol::inbound::Inbound;
use agentry_protocol::intake::{Entity, EntityKind};
use agentry_protocol::principal::{Principal, PrincipalKind};

/// The channel of clocks.
pub const TIMER: &str = "timer";
/// The channel of programs that call in.
pub const WEBHOOK: &str = "webhook";
/// The channel of other agents.
pub const AGENT: &str = "agent";
/// The channel of whoever sits at this machine.
pub const TERMINAL: &str = "terminal";
/// The channel of a program that talks to a process of ours in lines.
pub const STDIO: &str = "stdio";
/// The channel of whoever has a key to our server.
pub const HTTP: &str = "http";
/// The owner, among the holders of keys.
const HOLDER_OWNER: &str = "owner";
/// What the name of an entity begins with, among the holders of keys.
const HOLDER_ENTITY: &str = "entity:";
/// Channels that only those can write to who can write to the ledger.
pub const LOCAL: [&str; 3] = [TERMINAL, STDIO, "send"];

/// Whether the name of a channel stands for something of our own, so that no other may have it.
pub fn is_own_channel(name: &str) -> bool {
    LOCAL.contains(&name) || [TIMER, WEBHOOK, AGENT, HTTP].contains(&name)
}

/// Whether whoever asks on a channel reads the answer in the ledger, so that nothing has to be sent.
pub fn reads_the_ledger(channel: &str) -> bool {
    LOCAL.contains(&channel) || channel == HTTP
}

/// Who holds a key, as the sender of what comes with it: an entity, or the owner.
pub fn key_holder(entity: Option<&str>) -> String {
    entity.map_or_else(|| HOLDER_OWNER.to_owned(), |entity| format!("{HOLDER_ENTITY}{entity}"))
}

/// All who are known, ready to be looked up.
#[derive(Clone, Debug, Default)]
pub struct EntityDirectory {
    entities: Vec<Entity>,
    by_identity: HashMap<(String, String), (usize, Option<String>)>,
}

impl EntityDirectory {
    /// All these.
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

    /// Who says this.
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
        // What a stranger calls itself is shown, and decides nothing.
        Principal { name: sender.sender_name.clone(), ..Principal::of(kind) }
    }

    /// Who holds the key that something came with. Only our server says so.
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

/// The principal that an entity is.
pub fn entity_principal(entity: &Entity) -> Principal {
    let kind = match (entity.kind, entity.is_user) {
        // A persona is ours, and acts for an agent, whoever says that it is the owner.
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
