//! All who can be asked, by the names that models are written with.
//!
//! `anthropic/claude-…` is a model of the provider `anthropic`; `local/…` runs in this process; `scripted:<file>`
//! is a file of answers. A name alone is nothing: who serves it is decided before.
//!
//! Must never: choose. What is opened is what was named.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_protocol::message::{ModelFailure, Usage};

use crate::http::{Http, HttpSettings};
use crate::local::Locals;
use crate::prices::Prices;
use crate::provider::{self, Protocol, Provider};
use crate::retry::{Insistent, Patience};
use crate::{Model, NoModel, Scripted};

/// The id of the provider in this process.
pub const LOCAL: &str = "local";
/// What a script's name begins with.
const SCRIPTED: &str = "scripted:";

/// All who can be asked.
#[derive(Default)]
pub struct Providers {
    remote: Vec<Provider>,
    settings: HttpSettings,
    // Opened when it is first needed: most runs of the program never are.
    http: Mutex<Option<Arc<Http>>>,
    local: Option<Locals>,
    patience: Patience,
}

impl Providers {
    /// These, reached in this way.
    pub fn new(remote: Vec<Provider>, settings: HttpSettings, local: Option<Locals>) -> Self {
        Self { remote, settings, local, ..Self::default() }
    }

    /// The model, and those that are asked when it does not answer.
    pub fn open(&self, model: &str, fallbacks: &[String]) -> Result<Arc<dyn Model>, NoModel> {
        if let Some(file) = model.strip_prefix(SCRIPTED) {
            return Ok(Arc::new(Scripted::read(Path::new(file))?));
        }
        let names = std::iter::once(model).chain(fallbacks.iter().map(String::as_str));
        let models = names.map(|name| Ok((name.to_owned(), self.one(name)?)));
        let models = models.collect::<Result<Vec<_>, NoModel>>()?;
        Ok(Arc::new(Insistent::new(models, self.patience)))
    }

    fn one(&self, name: &str) -> Result<Arc<dyn Model>, NoModel> {
        let unknown = || NoModel::Unknown { name: name.to_owned() };
        let (id, model) = name.split_once('/').unwrap_or((name, ""));
        if id == LOCAL {
            let locals = self.local.as_ref().ok_or_else(unknown)?;
            return locals.open(model);
        }
        let provider = self.provider(id).filter(|_| !model.is_empty()).ok_or_else(unknown)?;
        provider::open(&self.http()?, provider, model)
    }

    /// What a provider says it serves.
    pub fn list(
        &self,
        id: &str,
        wait: &dyn Fn(Duration) -> bool,
    ) -> Result<Result<Vec<String>, ModelFailure>, NoModel> {
        let unknown = || NoModel::Unknown { name: id.to_owned() };
        let provider = self.provider(id).ok_or_else(unknown)?;
        Ok(provider::list(&*self.http()?, provider, wait))
    }

    /// What an answer cost, in billionths of a dollar; none means that nobody knows.
    pub fn cost_nano_usd(&self, model: &str, usage: &Usage) -> Option<u64> {
        let (family, name) = self.priced(model);
        Prices::built_in().cost_nano_usd(family, name, usage)
    }

    /// What an answer may cost at most.
    pub fn ceiling_nano_usd(&self, model: &str, bytes: u64, output_max: u64) -> Option<u64> {
        let (family, name) = self.priced(model);
        Prices::built_in().ceiling_nano_usd(family, name, bytes, output_max)
    }

    /// The family under which a model's price stands, and its name there.
    pub fn priced<'a>(&'a self, model: &'a str) -> (&'a str, &'a str) {
        if model.starts_with(SCRIPTED) {
            return ("scripted", model);
        }
        let (id, name) = model.split_once('/').unwrap_or((model, ""));
        let family = match self.provider(id).map(|provider| provider.protocol) {
            Some(Protocol::Anthropic) => "anthropic",
            Some(Protocol::Openai) => "openai",
            Some(Protocol::Gemini) => "gemini",
            // Who speaks this protocol may be anybody; the id says who.
            Some(Protocol::OpenaiChat) | None => id,
        };
        (family, name)
    }

    fn provider(&self, id: &str) -> Option<&Provider> {
        self.remote.iter().find(|provider| provider.id == id)
    }

    fn http(&self) -> Result<Arc<Http>, NoModel> {
        let mut http = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(http) = &*http {
            return Ok(http.clone());
        }
        let opened = Arc::new(Http::new(self.settings.clone())?);
        *http = Some(opened.clone());
        Ok(opened)
    }
}
