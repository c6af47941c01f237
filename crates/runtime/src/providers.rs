//! The model providers: those of the settings, and those whose key is in the environment.
//!
//! The kernel decides which key goes to which host (see `provider_keys`).
//!
//! Must never: print a key, or use one for a host that only a project's file names.

mod project;
mod well_known;

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use agentry_agentfile::config::Settings;
use agentry_agentfile::manifest::config::{self, ProviderKind};
use agentry_kernel::model_choice::{SelectableProvider, ServedModels};
use agentry_kernel::provider_keys::{ConfiguredProvider, objection, same_host};
use agentry_model::weights::{Kind, WeightStore, catalog};
use agentry_model::{
    HttpSettings, HttpTimeouts, LocalModels, Prices, Protocol, Provider, ProviderRegistry, Proxy,
    RecordingMode,
};
use secrecy::SecretString;

use crate::environment::Environment;
use crate::limits::OLLAMA_LOOK_MS_MAX;
pub use crate::providers::project::{ProviderAddress, of_project};
use crate::providers::well_known::{USUAL, WellKnownProvider, homes, usual};
use crate::redact::Redactor;
use crate::redact::secrets::SecretRegistry;

/// The id of Ollama, a provider on this machine that runs separately.
const OLLAMA: &str = "ollama";
const OLLAMA_ADDRESS: &str = "127.0.0.1:11434";
/// Below all providers with a key.
const OLLAMA_PRIORITY: i64 = i64::MIN + 1;
const LOCAL_PRIORITY: i64 = i64::MIN;

/// The providers, with the facts that the choice of a model needs.
pub struct ProviderSet {
    /// The models of each provider.
    pub servings: ServingList,
    /// The providers.
    pub providers: ProviderRegistry,
    /// The store of weights; None if there is no directory for it.
    pub weights: Option<WeightStore>,
    /// The project's providers that are not used, for lack of trust.
    pub untrusted: Vec<ProviderAddress>,
}

/// The models of each provider, before any provider is probed.
#[derive(Clone)]
pub struct ServingList {
    all: Vec<SelectableProvider>,
    /// The default address of Ollama; None if the settings configure it.
    ollama: Option<String>,
}

/// The facts that the providers of a project are made from.
pub struct ProviderInput<'a> {
    /// The environment of the process.
    pub environment: &'a Environment,
    /// The effective settings.
    pub settings: &'a Settings,
    /// The recording mode for exchanges with providers.
    pub recording: Option<RecordingMode>,
    /// The secrets, each with its receivers.
    pub secrets: &'a SecretRegistry,
    /// Removes the values of secrets from recordings.
    pub redactor: &'a Arc<Redactor>,
    /// The addresses of the project that the owner does not trust.
    pub untrusted: Vec<ProviderAddress>,
    /// Returns the reason why a provider is not used.
    pub why_not: &'a dyn Fn(&ProviderAddress) -> String,
}

/// Returns all providers of this host and project.
pub fn provider_set(input: ProviderInput<'_>) -> ProviderSet {
    let ProviderInput { environment, settings, recording, secrets, redactor, untrusted, why_not } =
        input;
    let plays = matches!(recording, Some(RecordingMode::Play(_)));
    let context = ConfiguredContext { environment, settings, secrets };
    let mut all = Vec::new();
    for (order, (id, said)) in settings.config.providers.iter().enumerate() {
        let refused = untrusted.iter().find(|address| address.provider == *id);
        let own = settings.own_providers().get(id);
        let one = match (refused, own) {
            (None, _) => context.configured(id, said, order),
            (Some(_), Some(own)) => context.configured(id, own, order),
            // The owner's provider of this name is added below.
            (Some(_), None) if usual(id).is_some() || id == OLLAMA => None,
            (Some(address), None) => Some(not_used(said, address, why_not(address), order)),
        };
        all.extend(one);
    }
    for usual in &USUAL {
        if !has(&all, usual.home.id)
            && let Some(one) = implied(environment, usual, all.len(), plays)
        {
            all.push(one);
        }
    }
    let ollama_base = (!has(&all, OLLAMA)).then(|| ollama_base(environment));
    if let Some(base_url) = &ollama_base {
        all.push(ollama(base_url.clone(), all.len()));
    }
    let weights = environment.models.clone().map(WeightStore::open);
    let redactor = redactor.clone();
    let http = HttpSettings {
        proxy: proxy(environment),
        timing: HttpTimeouts::default(),
        tape: recording,
        redact: Arc::new(move |text| redactor.hide(text)),
    };
    let local = weights.clone().map(LocalModels::new);
    let (servings, remote): (Vec<SelectableProvider>, Vec<Option<Provider>>) =
        all.into_iter().map(|one| (one.serving, one.provider)).unzip();
    let providers = ProviderRegistry::new(remote.into_iter().flatten().collect(), http, local);
    let mut servings = ServingList { all: servings, ollama: ollama_base };
    let said = settings.config.providers.values();
    let said = said.into_iter().find(|one| one.kind == Some(ProviderKind::Local));
    if let Some(weights) = &weights {
        servings.all.push(in_the_box(weights, said, servings.all.len()));
    }
    ProviderSet { servings, providers, weights, untrusted }
}

/// Returns a provider that is not ready, because its address is not trusted.
fn not_used(
    said: &config::ProviderToml,
    address: &ProviderAddress,
    why: String,
    order: usize,
) -> ProviderEntry {
    let serving = SelectableProvider {
        id: address.provider.clone(),
        models: ServedModels::Listed(said.model_allowlist.clone()),
        catalogue: Vec::new(),
        default_model: None,
        priority: said.priority,
        order,
        ready: Err(why),
    };
    ProviderEntry { serving, provider: None }
}

/// Returns the base URL of a configured provider; None if it has no address.
fn address_of(environment: &Environment, id: &str, said: &config::ProviderToml) -> Option<String> {
    let usual = usual(id);
    let protocol = protocol_of(id, said)?;
    let is_ollama = said.kind == Some(ProviderKind::Ollama) || id == OLLAMA;
    let set = usual.and_then(|usual| environment.variable(usual.base_variable?));
    let usual_base = match protocol {
        Protocol::Anthropic => Some(USUAL[0].home.base_url),
        Protocol::Openai => Some(USUAL[1].home.base_url),
        Protocol::Gemini => Some(USUAL[2].home.base_url),
        Protocol::OpenaiChat => usual.map(|usual| usual.home.base_url),
    };
    match (&said.base_url, set) {
        (Some(said), _) => Some(said.clone()),
        (None, Some(set)) => Some(set),
        (None, None) if is_ollama => Some(ollama_base(environment)),
        (None, None) => usual_base.map(str::to_owned),
    }
}

/// Returns the protocol of a configured provider; None if it needs no connection.
fn protocol_of(id: &str, said: &config::ProviderToml) -> Option<Protocol> {
    match said.kind {
        Some(ProviderKind::Anthropic) => Some(Protocol::Anthropic),
        Some(ProviderKind::Openai) => Some(Protocol::Openai),
        Some(ProviderKind::OpenaiChat | ProviderKind::Ollama) => Some(Protocol::OpenaiChat),
        Some(ProviderKind::Gemini) => Some(Protocol::Gemini),
        // A local provider has no address; a scripted one is named by its file.
        Some(ProviderKind::Local | ProviderKind::Scripted) => None,
        None => Some(usual(id).map_or(Protocol::OpenaiChat, |usual| usual.protocol)),
    }
}

/// A provider, with its facts for the choice of a model.
struct ProviderEntry {
    serving: SelectableProvider,
    /// None if the provider needs no connection or is not ready.
    provider: Option<Provider>,
}

fn has(all: &[ProviderEntry], id: &str) -> bool {
    all.iter().any(|one| one.serving.id == id)
}

/// Returns the variables that may hold the key of a configured provider.
fn key_variables<'a>(id: &str, said: &'a config::ProviderToml) -> Vec<&'a str> {
    match said.api_key_env.as_deref() {
        Some(named) => vec![named],
        None => usual(id).map(|usual| usual.home.variables.to_vec()).unwrap_or_default(),
    }
}

/// The facts that configured providers are made from.
struct ConfiguredContext<'a> {
    environment: &'a Environment,
    settings: &'a Settings,
    secrets: &'a SecretRegistry,
}

impl ConfiguredContext<'_> {
    /// Returns a configured provider; it serves the models on its list.
    fn configured(
        &self,
        id: &str,
        said: &config::ProviderToml,
        order: usize,
    ) -> Option<ProviderEntry> {
        let protocol = protocol_of(id, said)?;
        let base_url = address_of(self.environment, id, said);
        let variables = key_variables(id, said);
        let from_secrets = self.secrets.for_provider(id).into_iter().next().map(|(_, value)| value);
        let key = from_secrets.or_else(|| key_of(self.environment, &variables));
        let shared = ["base_url", "api_key_env"].iter().find_map(|field| self.shared(id, field));
        let facts = ConfiguredProvider {
            id,
            base_url: base_url.as_deref(),
            names_address: said.base_url.is_some(),
            variables: &variables,
            has_key: key.is_some(),
            is_keyless: said.kind == Some(ProviderKind::Ollama) || id == OLLAMA,
            project_file: shared.as_deref(),
        };
        let ready =
            objection(&facts, &homes()).map_or(Ok(()), |objection| Err(objection.to_string()));
        let serving = SelectableProvider {
            id: id.to_owned(),
            models: ServedModels::Listed(said.model_allowlist.clone()),
            catalogue: Vec::new(),
            default_model: said.default_model.clone(),
            priority: said.priority,
            order,
            ready,
        };
        let provider =
            base_url.map(|base_url| Provider { id: id.to_owned(), protocol, base_url, key });
        Some(ProviderEntry { provider: provider.filter(|_| serving.ready.is_ok()), serving })
    }

    /// Returns the project's file that sets a field of a provider, if a project sets it.
    fn shared(&self, id: &str, field: &str) -> Option<String> {
        let pointer = format!("/providers/{}/{field}", id.replace('~', "~0").replace('/', "~1"));
        self.settings.is_shared(&pointer).then(|| self.settings.origin(&pointer).file.to_string())
    }
}

/// Returns an unconfigured well-known provider if its key is set.
fn implied(
    environment: &Environment,
    usual: &WellKnownProvider,
    order: usize,
    plays: bool,
) -> Option<ProviderEntry> {
    let key = key_of(environment, usual.home.variables);
    if key.is_none() && !plays {
        return None;
    }
    let set = usual.base_variable.and_then(|name| environment.variable(name));
    let set = set.filter(|set| !set.trim().is_empty());
    let elsewhere = set.as_deref().is_some_and(|set| !same_host(set, usual.home.base_url));
    // Servers compatible with OpenAI use the older protocol.
    let protocol = match usual.protocol {
        Protocol::Openai if elsewhere => Protocol::OpenaiChat,
        protocol @ (Protocol::Anthropic
        | Protocol::Openai
        | Protocol::OpenaiChat
        | Protocol::Gemini) => protocol,
    };
    let catalogue =
        if elsewhere { vec!["*".to_owned()] } else { Prices::built_in().names(usual.home.id) };
    let serving = SelectableProvider {
        id: usual.home.id.to_owned(),
        models: ServedModels::Any,
        catalogue,
        default_model: usual.default_model.map(str::to_owned),
        priority: 0,
        order,
        ready: Ok(()),
    };
    let base_url = set.unwrap_or_else(|| usual.home.base_url.to_owned());
    let provider = Provider { id: usual.home.id.to_owned(), protocol, base_url, key };
    Some(ProviderEntry { serving, provider: Some(provider) })
}

fn key_of(environment: &Environment, variables: &[&str]) -> Option<SecretString> {
    variables.iter().find_map(|name| {
        environment.variable(name).filter(|key| !key.trim().is_empty()).map(SecretString::from)
    })
}

/// Returns the entry for Ollama, without a check that it is running.
fn ollama(base_url: String, order: usize) -> ProviderEntry {
    let serving = SelectableProvider {
        id: OLLAMA.to_owned(),
        models: ServedModels::Any,
        catalogue: Vec::new(),
        default_model: None,
        priority: OLLAMA_PRIORITY,
        order,
        ready: Ok(()),
    };
    let provider =
        Provider { id: OLLAMA.to_owned(), protocol: Protocol::OpenaiChat, base_url, key: None };
    ProviderEntry { serving, provider: Some(provider) }
}

/// Returns the address of Ollama from `OLLAMA_HOST`: a host, with or without scheme and port.
fn ollama_base(environment: &Environment) -> String {
    let set = environment.variable("OLLAMA_HOST").filter(|set| !set.trim().is_empty());
    let set = set.unwrap_or_else(|| OLLAMA_ADDRESS.to_owned());
    let (scheme, rest) = set.trim().split_once("://").unwrap_or(("http", set.trim()));
    let rest = rest.trim_end_matches('/');
    // The variable may also hold the address that the server listens on.
    let rest = rest.replacen("0.0.0.0", "127.0.0.1", 1);
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if has_port || scheme == "https" { "" } else { ":11434" };
    format!("{scheme}://{rest}{port}/v1")
}

fn listens(base_url: &str) -> bool {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let address = rest.split('/').next().unwrap_or_default();
    let Ok(mut addresses) = address.to_socket_addrs() else { return false };
    let wait = Duration::from_millis(OLLAMA_LOOK_MS_MAX);
    addresses.any(|address| TcpStream::connect_timeout(&address, wait).is_ok())
}

/// Returns the proxies from the usual environment variables.
fn proxy(environment: &Environment) -> Proxy {
    let variable = |names: &[&str]| {
        let values = names.iter().filter_map(|name| environment.variable(name));
        values.into_iter().find(|value| !value.trim().is_empty())
    };
    Proxy {
        https: variable(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
        // A client of a CGI script can set the upper-case name, so it comes second.
        http: variable(&["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"]),
        no_proxy: variable(&["NO_PROXY", "no_proxy"]),
    }
}

impl ServingList {
    /// Returns the list with the state of Ollama, and its models if no other provider is ready.
    pub fn probe(&self, providers: &ProviderRegistry) -> Vec<SelectableProvider> {
        let mut all = self.all.clone();
        let others = all
            .iter()
            .any(|one| one.id != OLLAMA && one.id != agentry_model::LOCAL && one.ready.is_ok());
        let ollama = all.iter_mut().find(|one| one.id == OLLAMA);
        if let (Some(base_url), Some(ollama)) = (&self.ollama, ollama) {
            look_into_ollama(ollama, base_url, (!others).then_some(providers));
        }
        all
    }
}

/// Sets the models of a running Ollama, the first as default; else marks it as not ready.
fn look_into_ollama(
    ollama: &mut SelectableProvider,
    base_url: &str,
    providers: Option<&ProviderRegistry>,
) {
    if !listens(base_url) {
        ollama.ready = Err(format!("nothing answers at {base_url}"));
        return;
    }
    match providers.map(|providers| providers.list(OLLAMA, &|_| true)) {
        None => {}
        Some(Ok(Ok(models))) => {
            ollama.default_model = models.first().cloned();
            ollama.catalogue = models;
        }
        Some(Ok(Err(failure))) => ollama.ready = Err(failure.message),
        Some(Err(error)) => ollama.ready = Err(error.to_string()),
    }
}

/// Returns the built-in local provider: installed models, and models that can be downloaded.
fn in_the_box(
    weights: &WeightStore,
    said: Option<&config::ProviderToml>,
    order: usize,
) -> SelectableProvider {
    let installed = weights.installed().into_iter().filter(|one| one.kind == Kind::Chat);
    let installed: Vec<String> = installed.map(|one| one.id).collect();
    let default = catalog().iter().find(|one| one.default).map(|one| one.id.clone());
    // An installed model is preferred to a download, unless it is for experiments only.
    let is_good = |id: &&String| !catalog().iter().any(|one| one.id == **id && one.only_by_name);
    let here = || installed.iter().find(is_good).cloned();
    let default = default.filter(|id| installed.contains(id) || here().is_none()).or_else(here);
    let mut catalogue = installed;
    for one in catalog().iter().filter(|one| one.kind == Kind::Chat) {
        if !catalogue.contains(&one.id) {
            catalogue.push(one.id.clone());
        }
    }
    let models = said.map(|said| ServedModels::Listed(said.model_allowlist.clone()));
    SelectableProvider {
        id: agentry_model::LOCAL.to_owned(),
        models: models.unwrap_or(ServedModels::Any),
        catalogue,
        default_model: said.and_then(|said| said.default_model.clone()).or(default),
        priority: said.map_or(LOCAL_PRIORITY, |said| said.priority),
        order,
        ready: Ok(()),
    }
}
