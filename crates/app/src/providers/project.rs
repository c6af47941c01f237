//! The providers that a project's files define and the owner does not use already.
//!
//! Must never: skip a provider because its name equals that of an owner's provider.

use agentry_agentfile::config::Settings;
use agentry_agentfile::manifest::config;

use super::{USUAL, address_of, key_of, ollama_base, same_address, usual};
use crate::addresses::ProviderAddress;
use crate::cli_context::CliContext;

/// Returns the providers of a project's files with an address that the owner does not use.
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

/// Returns true if a provider at its usual address lacks its key, so that nothing is sent.
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

/// Describes a provider in one line: all settings that decide what is sent and where.
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
