//! All available models, by the names in manifests and settings.
//!
//! `anthropic/claude-…` is a model of the provider `anthropic`; `local/…` runs in this process;
//! `scripted:<file>` is a file of answers. A name alone is unknown here.
//!
//! Must never: choose a model. It opens the named one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_protocol::message::ModelFailure;

use crate::http::{HttpSettings, ProviderClient};
use crate::local::LocalModels;
use crate::provider::{self, Protocol, Provider};
use crate::retry::{RetryPolicy, RetryingModel};
use crate::{Model, ModelOpenError, ScriptedModel};

/// The id of the provider in this process.
pub const LOCAL: &str = "local";
/// The prefix of a script's name.
const SCRIPTED: &str = "scripted:";

/// The available providers and local models.
#[derive(Default)]
pub struct ProviderRegistry {
    remote: Vec<Provider>,
    settings: HttpSettings,
    // Created at the first use, since most runs of the program need none.
    http: Mutex<Option<Arc<ProviderClient>>>,
    local: Option<LocalModels>,
    patience: RetryPolicy,
}

impl ProviderRegistry {
    /// Creates a registry of these providers, reached with these HTTP settings.
    pub fn new(remote: Vec<Provider>, settings: HttpSettings, local: Option<LocalModels>) -> Self {
        Self { remote, settings, local, ..Self::default() }
    }

    /// Opens the model, with the fallbacks that are queried if it fails.
    pub fn open(
        &self,
        model: &str,
        fallbacks: &[String],
    ) -> Result<Arc<dyn Model>, ModelOpenError> {
        if let Some(file) = model.strip_prefix(SCRIPTED) {
            return Ok(Arc::new(ScriptedModel::read(Path::new(file))?));
        }
        let names = std::iter::once(model).chain(fallbacks.iter().map(String::as_str));
        let models = names.map(|name| Ok((name.to_owned(), self.one(name)?)));
        let models = models.collect::<Result<Vec<_>, ModelOpenError>>()?;
        Ok(Arc::new(RetryingModel::new(models, self.patience)))
    }

    fn one(&self, name: &str) -> Result<Arc<dyn Model>, ModelOpenError> {
        let unknown = || ModelOpenError::Unknown { name: name.to_owned() };
        let (id, model) = name.split_once('/').unwrap_or((name, ""));
        if id == LOCAL {
            let locals = self.local.as_ref().ok_or_else(unknown)?;
            return locals.open(model);
        }
        let provider = self.provider(id).filter(|_| !model.is_empty()).ok_or_else(unknown)?;
        provider::open(&self.http()?, provider, model)
    }

    /// Asks a provider for the names of its models.
    pub fn list(
        &self,
        id: &str,
        wait: &dyn Fn(Duration) -> bool,
    ) -> Result<Result<Vec<String>, ModelFailure>, ModelOpenError> {
        let unknown = || ModelOpenError::Unknown { name: id.to_owned() };
        let provider = self.provider(id).ok_or_else(unknown)?;
        Ok(provider::list(&*self.http()?, provider, wait))
    }

    /// Returns the name of each provider in the table of prices, by provider id.
    pub fn families(&self) -> BTreeMap<String, String> {
        let family = |provider: &Provider| {
            let family = match provider.protocol {
                Protocol::Anthropic => "anthropic",
                Protocol::Openai => "openai",
                Protocol::Gemini => "gemini",
                // Any server may use this protocol, so the id names the family.
                Protocol::OpenaiChat => provider.id.as_str(),
            };
            (provider.id.clone(), family.to_owned())
        };
        self.remote.iter().map(family).collect()
    }

    fn provider(&self, id: &str) -> Option<&Provider> {
        self.remote.iter().find(|provider| provider.id == id)
    }

    fn http(&self) -> Result<Arc<ProviderClient>, ModelOpenError> {
        let mut http = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(http) = &*http {
            return Ok(http.clone());
        }
        let opened = Arc::new(ProviderClient::new(self.settings.clone())?);
        *http = Some(opened.clone());
        Ok(opened)
    }
}
