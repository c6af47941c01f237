//! The providers that a project's own files define, as far as they are not the owner's anyway.
//!
//! Must never: pass over a provider because it shares a name with one of the owner's.

use agentry_agentfile::config::Settings;
use agentry_agentfile::manifest::config;

use super::{USUAL, address_of, key_of, ollama_base, same_address, usual};
use crate::addresses::ProviderAddress;
use crate::cli_context::CliContext;

/// The providers of a project's files whose address the owner does not use anyway.
pub(crate) fn of_project(host: &CliContext, settings: &Settings) -> Vec<ProviderAddress> {
    let own = settings.own_providers();
    let mut owners: Vec<String> =
        own.iter().filter_map(|(id, said)| address_of(host, (id, said))).collect();
    owners.extend(USUAL.iter().filter(|usual| key_of(host, usual.keys).is_some()).map(|usual| {
        let set = usual.base_variable.and_then(|name| host.environment.variable(name));
        set.unwrap_or_else(|| usual.base_url.to_owned())
    }));
    owners.push(ollama_base(host));
    let mut all = Vec::new();
    for (id, said) in
        settings.config.providers.iter().filter(|(id, said)| own.get(*id) != Some(*said))
    {
        let Some(url) = address_of(host, (id, said)) else { continue };
        let is_owners = owners.iter().any(|one| same_address(one, &url));
        if !is_owners && !waits_for_a_key(host, (id, said), &url) {
            let pointer = format!("/providers/{}", id.replace('~', "~0").replace('/', "~1"));
            let base = format!("{pointer}/base_url");
            let pointer = if said.base_url.is_some() { base } else { pointer };
            let (line, provider) = (described(id, said, &url), id.clone());
            all.push(ProviderAddress { provider, url, line, origin: settings.origin(&pointer) });
        }
    }
    all
}

/// Whether a provider at its usual address lacks the key without which nothing is sent to it.
fn waits_for_a_key(
    host: &CliContext,
    (id, said): (&str, &config::ProviderToml),
    url: &str,
) -> bool {
    let named = said.api_key_env.as_deref().map(|name| vec![name]);
    let variables =
        named.or_else(|| usual(id).map(|usual| usual.keys.to_vec())).unwrap_or_default();
    let is_usual = |variable: &&str| {
        let mut all = USUAL.iter().filter(|usual| usual.keys.contains(variable));
        all.any(|usual| same_address(usual.base_url, url))
    };
    !variables.is_empty() && variables.iter().all(is_usual) && key_of(host, &variables).is_none()
}

/// A provider in one line: all that decides what is sent where.
fn described(id: &str, said: &config::ProviderToml, url: &str) -> String {
    let kind = said.kind.and_then(|kind| serde_json::to_value(kind).ok());
    let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or("openai-chat").to_owned();
    let key =
        said.api_key_env.as_ref().map_or_else(String::new, |name| format!(", key from {name}"));
    let models = said.model_allowlist.join(", ");
    let default = said.default_model.as_ref();
    let default = default.map_or_else(String::new, |name| format!(", default {name}"));
    format!(
        "provider {id}: {url} ({kind}, priority {}{key}; models {models}{default})",
        said.priority
    )
}
