//! The providers that a project's files define and the owner does not use already.
//!
//! Must never: skip a provider because its name equals that of an owner's provider.

use agentry_agentfile::config::Settings;
use agentry_agentfile::manifest::config;
use agentry_agentfile::source::Origin;
use agentry_kernel::provider_keys::{ConfiguredProvider, needs_trust};

use super::{address_of, key_of, key_variables, ollama_base};
use crate::environment::Environment;
use crate::providers::well_known::{USUAL, homes};

/// An address of a provider that only a project's file names.
#[derive(Clone, Debug)]
pub struct ProviderAddress {
    /// The provider's name in the settings.
    pub provider: String,
    /// The base URL that prompts would be sent to.
    pub url: String,
    /// All settings of the provider in one line, which is shown and trusted.
    pub line: String,
    /// The file and line that name the address.
    pub origin: Origin,
}

/// Returns the providers of a project's files with an address that the owner does not use.
pub fn of_project(environment: &Environment, settings: &Settings) -> Vec<ProviderAddress> {
    let own = settings.own_providers();
    let mut owners: Vec<String> =
        own.iter().filter_map(|(id, said)| address_of(environment, id, said)).collect();
    let with_key = USUAL.iter().filter(|usual| key_of(environment, usual.home.variables).is_some());
    owners.extend(with_key.map(|usual| {
        let set = usual.base_variable.and_then(|name| environment.variable(name));
        set.unwrap_or_else(|| usual.home.base_url.to_owned())
    }));
    owners.push(ollama_base(environment));
    let mut all = Vec::new();
    for (id, said) in
        settings.config.providers.iter().filter(|(id, said)| own.get(*id) != Some(*said))
    {
        let Some(url) = address_of(environment, id, said) else { continue };
        let variables = key_variables(id, said);
        let facts = ConfiguredProvider {
            id,
            base_url: Some(&url),
            names_address: said.base_url.is_some(),
            variables: &variables,
            has_key: key_of(environment, &variables).is_some(),
            is_keyless: false,
            project_file: None,
        };
        if needs_trust(&facts, &owners, &homes()) {
            let pointer = format!("/providers/{}", id.replace('~', "~0").replace('/', "~1"));
            let base = format!("{pointer}/base_url");
            let pointer = if said.base_url.is_some() { base } else { pointer };
            let (line, provider) = (described(id, said, &url), id.clone());
            all.push(ProviderAddress { provider, url, line, origin: settings.origin(&pointer) });
        }
    }
    all
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
