//! The model providers: those of the settings, and those whose key is in the environment.
//!
//! A key goes to one host. A well-known variable belongs to its provider's host, or to the host
//! that the operator sets beside it; a project's file cannot send a key elsewhere.
//!
//! Must never: print a key, or use one for a host that only a project's file names.

mod project;

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use agentry_agentfile::manifest::config::{self, ProviderKind};
use agentry_kernel::model_choice::{SelectableProvider, ServedModels};
use agentry_model::weights::{Kind, WeightStore, catalog};
use agentry_model::{
    HttpSettings, HttpTimeouts, LocalModels, Prices, Protocol, Provider, ProviderRegistry, Proxy,
    RecordingMode,
};
use agentry_runtime::redact::Redactor;
use agentry_runtime::redact::secrets::SecretRegistry;
use secrecy::SecretString;

use crate::addresses::{self, AddressTrust, ProviderAddress};
use crate::cli_context::{CliContext, LoadedProject};
use crate::fault::Fault;
use crate::limits::OLLAMA_LOOK_MS_MAX;

pub(crate) use project::of_project;

/// A provider with a well-known address and key variable.
struct WellKnownProvider {
    id: &'static str,
    protocol: Protocol,
    /// The variables that may hold its key; the first that is set is used.
    keys: &'static [&'static str],
    /// The variable that overrides its address.
    base_variable: Option<&'static str>,
    base_url: &'static str,
    /// The default model; None if a model must be named.
    default_model: Option<&'static str>,
}

/// The well-known providers, by descending preference.
const USUAL: [WellKnownProvider; 7] = [
    WellKnownProvider {
        id: "anthropic",
        protocol: Protocol::Anthropic,
        keys: &["ANTHROPIC_API_KEY"],
        base_variable: Some("ANTHROPIC_BASE_URL"),
        base_url: "https://api.anthropic.com",
        default_model: Some("claude-sonnet-4-5"),
    },
    WellKnownProvider {
        id: "openai",
        protocol: Protocol::Openai,
        keys: &["OPENAI_API_KEY"],
        base_variable: Some("OPENAI_BASE_URL"),
        base_url: "https://api.openai.com/v1",
        default_model: Some("gpt-5"),
    },
    WellKnownProvider {
        id: "gemini",
        protocol: Protocol::Gemini,
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        base_variable: Some("GEMINI_BASE_URL"),
        base_url: "https://generativelanguage.googleapis.com",
        default_model: Some("gemini-2.5-pro"),
    },
    WellKnownProvider {
        id: "openrouter",
        protocol: Protocol::OpenaiChat,
        keys: &["OPENROUTER_API_KEY"],
        base_variable: None,
        base_url: "https://openrouter.ai/api/v1",
        default_model: Some("anthropic/claude-sonnet-4.5"),
    },
    WellKnownProvider {
        id: "groq",
        protocol: Protocol::OpenaiChat,
        keys: &["GROQ_API_KEY"],
        base_variable: None,
        base_url: "https://api.groq.com/openai/v1",
        default_model: None,
    },
    WellKnownProvider {
        id: "mistral",
        protocol: Protocol::OpenaiChat,
        keys: &["MISTRAL_API_KEY"],
        base_variable: None,
        base_url: "https://api.mistral.ai/v1",
        default_model: None,
    },
    WellKnownProvider {
        id: "deepseek",
        protocol: Protocol::OpenaiChat,
        keys: &["DEEPSEEK_API_KEY"],
        base_variable: None,
        base_url: "https://api.deepseek.com/v1",
        default_model: None,
    },
];

/// The id of Ollama, a provider on this machine that runs separately.
const OLLAMA: &str = "ollama";
const OLLAMA_ADDRESS: &str = "127.0.0.1:11434";
/// Below all providers with a key.
const OLLAMA_PRIORITY: i64 = i64::MIN + 1;
const LOCAL_PRIORITY: i64 = i64::MIN;

/// The providers, with the facts that the choice of a model needs.
pub(crate) struct ProviderSet {
    pub(crate) servings: ServingList,
    pub(crate) providers: ProviderRegistry,
    /// The store of weights; None if there is no directory for it.
    pub(crate) weights: Option<WeightStore>,
    /// The project's providers that are not used, for lack of trust.
    pub(crate) untrusted: Vec<ProviderAddress>,
}

/// The models of each provider, before any provider is probed.
#[derive(Clone)]
pub(crate) struct ServingList {
    all: Vec<SelectableProvider>,
    /// The default address of Ollama; None if the settings configure it.
    ollama: Option<String>,
}

/// Returns all providers of this host and project.
pub(crate) fn provider_set(
    host: &CliContext,
    loaded: &LoadedProject,
    (secrets, redactor): (&SecretRegistry, &Arc<Redactor>),
    trusts: &AddressTrust,
) -> Result<ProviderSet, Fault> {
    let tape = host.tape();
    let plays = matches!(tape, Some(RecordingMode::Play(_)));
    let settings = &loaded.library.settings;
    let untrusted = addresses::untrusted(host, settings, trusts);
    let mut all = Vec::new();
    for (order, (id, said)) in settings.config.providers.iter().enumerate() {
        let refused = untrusted.iter().find(|address| address.provider == *id);
        let own = settings.own_providers().get(id);
        let one = match (refused, own) {
            (None, _) => configured(host, loaded, secrets, (id, said), order),
            (Some(_), Some(own)) => configured(host, loaded, secrets, (id, own), order),
            // The owner's provider of this name is added below.
            (Some(_), None) if usual(id).is_some() || id == OLLAMA => None,
            (Some(address), None) => Some(not_used(said, (address, trusts), order)),
        };
        all.extend(one);
    }
    for usual in &USUAL {
        if !has(&all, usual.id)
            && let Some(one) = implied(host, usual, all.len(), plays)
        {
            all.push(one);
        }
    }
    let ollama_base = (!has(&all, OLLAMA)).then(|| ollama_base(host));
    if let Some(base_url) = &ollama_base {
        all.push(ollama(base_url.clone(), all.len()));
    }
    let weights = host.environment.models.clone().map(WeightStore::open);
    let redactor = redactor.clone();
    let settings = HttpSettings {
        proxy: proxy(host),
        timing: HttpTimeouts::default(),
        tape,
        redact: Arc::new(move |text| redactor.hide(text)),
    };
    let local = weights.clone().map(LocalModels::new);
    let (servings, remote): (Vec<SelectableProvider>, Vec<Option<Provider>>) =
        all.into_iter().map(|one| (one.serving, one.provider)).unzip();
    let providers = ProviderRegistry::new(remote.into_iter().flatten().collect(), settings, local);
    let mut servings = ServingList { all: servings, ollama: ollama_base };
    let said = loaded.library.settings.config.providers.values();
    let said = said.into_iter().find(|one| one.kind == Some(ProviderKind::Local));
    if let Some(weights) = &weights {
        servings.all.push(in_the_box(weights, said, servings.all.len()));
    }
    Ok(ProviderSet { servings, providers, weights, untrusted })
}

/// Returns a provider that is not ready, because its address is not trusted.
fn not_used(
    said: &config::ProviderToml,
    (address, trusts): (&ProviderAddress, &AddressTrust),
    order: usize,
) -> ProviderEntry {
    let serving = SelectableProvider {
        id: address.provider.clone(),
        models: ServedModels::Listed(said.model_allowlist.clone()),
        catalogue: Vec::new(),
        default_model: None,
        priority: said.priority,
        order,
        ready: Err(trusts.why_not(address)),
    };
    ProviderEntry { serving, provider: None }
}

/// Returns the base URL of a configured provider; None if it has no address.
fn address_of(host: &CliContext, (id, said): (&str, &config::ProviderToml)) -> Option<String> {
    let usual = usual(id);
    let protocol = protocol_of(id, said)?;
    let is_ollama = said.kind == Some(ProviderKind::Ollama) || id == OLLAMA;
    let set = usual.and_then(|usual| host.environment.variable(usual.base_variable?));
    let usual_base = match protocol {
        Protocol::Anthropic => Some(USUAL[0].base_url),
        Protocol::Openai => Some(USUAL[1].base_url),
        Protocol::Gemini => Some(USUAL[2].base_url),
        Protocol::OpenaiChat => usual.map(|usual| usual.base_url),
    };
    match (&said.base_url, set) {
        (Some(said), _) => Some(said.clone()),
        (None, Some(set)) => Some(set),
        (None, None) if is_ollama => Some(ollama_base(host)),
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

/// Returns true if two addresses are equal, apart from a slash at the end.
fn same_address(one: &str, other: &str) -> bool {
    one.trim().trim_end_matches('/') == other.trim().trim_end_matches('/')
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

fn usual(id: &str) -> Option<&'static WellKnownProvider> {
    USUAL.iter().find(|usual| usual.id == id)
}

/// Returns a configured provider; it serves the models on its list.
fn configured(
    host: &CliContext,
    loaded: &LoadedProject,
    secrets: &SecretRegistry,
    (id, said): (&String, &config::ProviderToml),
    order: usize,
) -> Option<ProviderEntry> {
    let usual = usual(id);
    let protocol = protocol_of(id, said)?;
    let is_ollama = said.kind == Some(ProviderKind::Ollama) || id == OLLAMA;
    let base_url = address_of(host, (id, said));
    let named = said.api_key_env.as_deref();
    let variables: Vec<&str> = match named {
        Some(named) => vec![named],
        None => usual.map(|usual| usual.keys.to_vec()).unwrap_or_default(),
    };
    let from_secrets = secrets.for_provider(id).into_iter().next().map(|(_, value)| value);
    let key = from_secrets.or_else(|| key_of(host, &variables));
    let base = base_url.as_deref().unwrap_or_default();
    let at_home = variables.iter().all(|variable| {
        USUAL.iter().filter(|one| one.keys.contains(variable)).any(|one| {
            let own = usual.is_some_and(|usual| usual.id == one.id) && said.base_url.is_none();
            own || same_host(base, one.base_url)
        })
    });
    let shared = ["base_url", "api_key_env"].iter().find_map(|field| shared(loaded, id, field));
    let shared = shared.filter(|_| !at_home);
    let ready = match (&base_url, shared, &key) {
        (None, ..) => Err(format!("the settings have no address for `{id}`: set its base_url")),
        (Some(_), Some(file), Some(_)) => Err(format!(
            "{file} sets the address of `{id}`, and keys are only sent to hosts from your own settings"
        )),
        (Some(_), _, None) if !variables.is_empty() && !is_ollama => {
            Err(format!("{} is not set", variables.join(" or ")))
        }
        (Some(_), _, _) => Ok(()),
    };
    let serving = SelectableProvider {
        id: id.clone(),
        models: ServedModels::Listed(said.model_allowlist.clone()),
        catalogue: Vec::new(),
        default_model: said.default_model.clone(),
        priority: said.priority,
        order,
        ready,
    };
    let provider = base_url.map(|base_url| Provider { id: id.clone(), protocol, base_url, key });
    Some(ProviderEntry { provider: provider.filter(|_| serving.ready.is_ok()), serving })
}

/// Returns the project's file that sets a field of a provider, if a project sets it.
fn shared(loaded: &LoadedProject, id: &str, field: &str) -> Option<String> {
    let settings = &loaded.library.settings;
    let pointer = format!("/providers/{}/{field}", id.replace('~', "~0").replace('/', "~1"));
    settings.is_shared(&pointer).then(|| settings.origin(&pointer).file.to_string())
}

/// Returns an unconfigured well-known provider if its key is set.
fn implied(
    host: &CliContext,
    usual: &WellKnownProvider,
    order: usize,
    plays: bool,
) -> Option<ProviderEntry> {
    let key = key_of(host, usual.keys);
    if key.is_none() && !plays {
        return None;
    }
    let set = usual.base_variable.and_then(|name| host.environment.variable(name));
    let set = set.filter(|set| !set.trim().is_empty());
    let elsewhere = set.as_deref().is_some_and(|set| !same_host(set, usual.base_url));
    // Servers compatible with OpenAI use the older protocol.
    let protocol = match usual.protocol {
        Protocol::Openai if elsewhere => Protocol::OpenaiChat,
        protocol => protocol,
    };
    let catalogue =
        if elsewhere { vec!["*".to_owned()] } else { Prices::built_in().names(usual.id) };
    let serving = SelectableProvider {
        id: usual.id.to_owned(),
        models: ServedModels::Any,
        catalogue,
        default_model: usual.default_model.map(str::to_owned),
        priority: 0,
        order,
        ready: Ok(()),
    };
    let base_url = set.unwrap_or_else(|| usual.base_url.to_owned());
    let provider = Provider { id: usual.id.to_owned(), protocol, base_url, key };
    Some(ProviderEntry { serving, provider: Some(provider) })
}

fn key_of(host: &CliContext, variables: &[&str]) -> Option<SecretString> {
    variables.iter().find_map(|name| {
        host.environment.variable(name).filter(|key| !key.trim().is_empty()).map(SecretString::from)
    })
}

fn same_host(one: &str, other: &str) -> bool {
    let host = |url: &str| {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase()
    };
    host(one) == host(other)
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
fn ollama_base(host: &CliContext) -> String {
    let set = host.environment.variable("OLLAMA_HOST").filter(|set| !set.trim().is_empty());
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
fn proxy(host: &CliContext) -> Proxy {
    let variable = |names: &[&str]| {
        let values = names.iter().filter_map(|name| host.environment.variable(name));
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
    pub(crate) fn probe(&self, providers: &ProviderRegistry) -> Vec<SelectableProvider> {
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
