//! Decides which processes may share a home and a sandbox: those that act for the same sender, with
//! equal powers, for the same agent in the same project.
//!
//! Must never: give two senders one digest, or a persistent home to an unidentifiable sender.

use agentry_agentfile::manifest::config::HomePersistence;
use agentry_agentfile::sandbox::SandboxLayer;
use agentry_protocol::ContentHash;
use agentry_protocol::access::Bounds;
use agentry_protocol::confinement::ConfinementProfile;
use agentry_protocol::principal::{Principal, PrincipalKind};
use serde_json::json;

use super::ConfinementContext;

/// The folder of persistent homes, below the state directory of the runtime.
const PERSISTENT_HOMES: &str = "persistent-homes";

/// Hashes all values that two processes must have in common to share any lasting state.
pub(super) fn digest(place: &ConfinementContext) -> ContentHash {
    let sender = place.sender.as_ref().map(|bounds| {
        // Every field is listed, so that a new one forces a choice here. Decisions differ, but two
        // with equal powers for one sender share one authority on any channel.
        let Bounds {
            access: _,
            principal,
            channel: _,
            tools,
            credentials,
            data,
            exec,
            requests: _,
        } = bounds;
        json!([principal, tools, credentials, data, exec])
    });
    let parts = json!({
        "project": place.project,
        "workspace": place.workspace,
        "agent": place.agent,
        "sender": sender,
        "credentials": place.credentials,
    });
    ContentHash::of(parts.to_string().as_bytes())
}

/// Returns the path of the persistent home; None unless the operator and all requests want one.
pub(super) fn persistent_home(
    ceiling: &SandboxLayer,
    requests: &[&SandboxLayer],
    place: &ConfinementContext,
    profile: ConfinementProfile,
) -> Option<String> {
    let wanted = ceiling.sandbox.home.persist.unwrap_or_default();
    let asked = requests.iter().filter_map(|layer| layer.sandbox.home.persist);
    let mut all = asked.chain([wanted]);
    let is_wanted = all.all(|persist| persist == HomePersistence::Project);
    let is_known = place.sender.as_ref().is_none_or(|bounds| is_one_person(&bounds.principal));
    let state = place.state.as_ref()?;
    place.agent.as_ref()?;
    match profile {
        ConfinementProfile::Trusted | ConfinementProfile::Host if is_wanted && is_known => {
            let digest = digest(place);
            let name = digest.as_str().rsplit(':').next().unwrap_or_default().to_owned();
            Some(format!("{state}/{PERSISTENT_HOMES}/{name}"))
        }
        ConfinementProfile::Untrusted | ConfinementProfile::Trusted | ConfinementProfile::Host => {
            None
        }
    }
}

/// Returns true if a principal stands for one sender only. Unknown senders all look alike.
fn is_one_person(principal: &Principal) -> bool {
    match principal.kind {
        PrincipalKind::Owner | PrincipalKind::System => true,
        PrincipalKind::Known => principal.entity_id.is_some(),
        PrincipalKind::Webhook => principal.source.is_some(),
        PrincipalKind::Agent => principal.agent_id.is_some(),
        PrincipalKind::Unknown => false,
    }
}
