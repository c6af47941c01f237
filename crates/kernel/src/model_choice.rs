//! Chooses the model of a run from the agent's preferences, the settings and the providers.
//!
//! A candidate is sent to the serving provider with the highest priority. The first match is the
//! model; later matches are its fallbacks.
//!
//! Must never: let an agent use a model that it may not, or replace the one a person requested.

mod attempt;

use agentry_agentfile::agent::AgentModels;

pub use attempt::{
    CandidateAttempt, CandidateOutcome, CandidateSource, ModelChoiceError, NoModelReason,
};

/// The ID of the provider that needs no network.
pub const LOCAL: &str = "local";
/// The prefixes of names that replay a script or a recording instead of a model.
const PLAYED: [&str; 2] = ["scripted:", "cassette:"];
/// The end of the name of a settings file.
const SETTINGS_END: &str = "agentry.toml";
/// The beginnings of the names of other sources of settings.
const SETTINGS_BEGIN: [&str; 2] = ["environment ", "flag "];

/// A provider, with the data that the choice depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableProvider {
    /// Its ID in the settings.
    pub id: String,
    /// The models that it serves.
    pub models: ServedModels,
    /// The models that it is known to serve if it accepts any name; a final `*` matches the rest.
    pub catalogue: Vec<String>,
    /// The model to use if an agent names none.
    pub default_model: Option<String>,
    /// The priority; the highest is first.
    pub priority: i64,
    /// Its position in the settings, which decides between equal priorities.
    pub order: usize,
    /// The reason why it cannot be used now, or Ok.
    pub ready: Result<(), String>,
}

/// The models that a provider serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServedModels {
    /// Exactly these: its `model_allowlist`.
    Listed(Vec<String>),
    /// The models of its catalogue, and any name that is qualified with its ID.
    Any,
}

/// The preferences of the person, the agent and the settings.
#[derive(Clone, Copy, Debug)]
pub struct ModelPreferences<'a> {
    /// The model that a person requests with `--model`.
    pub asked: Option<&'a str>,
    /// The models named by the agent's files.
    pub agent: &'a AgentModels,
    /// The model of the settings: `model` under `[agent]`.
    pub default: Option<&'a str>,
}

/// The result of the choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// The provider and the model, such as `openai/gpt-4.1`.
    pub model: String,
    /// The models to use when it fails, in order.
    pub fallbacks: Vec<String>,
    /// True if the agent names models and this is none of them.
    pub replaced: bool,
    /// All candidates that were considered.
    pub steps: Vec<CandidateAttempt>,
}

/// Chooses a model and its fallbacks.
pub fn choose(
    wanted: &ModelPreferences<'_>,
    providers: &[SelectableProvider],
) -> Result<ModelChoice, ModelChoiceError> {
    let mut search = ModelSearch::new(wanted.agent, providers);
    if let Some(asked) = wanted.asked {
        may_use(wanted.agent, asked)?;
        search.look(asked, CandidateSource::Asked);
        return search.end(wanted, true);
    }
    let own = own(wanted.agent);
    for name in &own {
        search.look(name, CandidateSource::Agent);
    }
    let settings = wanted.agent.candidates.iter().map(|one| one.value.as_str());
    let settings: Vec<&str> = settings.filter(|name| !own.contains(name)).collect();
    for name in settings.into_iter().chain(wanted.default) {
        if !search.seen(name) {
            search.look(name, CandidateSource::Settings);
        }
    }
    if search.found.is_empty() {
        search.look_for_any();
    }
    search.end(wanted, false)
}

/// Checks whether an agent may use a model, before its provider is known.
pub fn may_use(agent: &AgentModels, model: &str) -> Result<(), ModelChoiceError> {
    let permit = AllowedModels::of(agent);
    let rest = model.split_once('/').map(|(_, rest)| rest);
    let fits = |name: &str| {
        let unqualified = name.split_once('/').map(|(_, rest)| rest);
        name == model
            || Some(name) == rest
            || unqualified == Some(model)
            || (name == LOCAL && model.split_once('/').is_some_and(|(id, _)| id == LOCAL))
    };
    if is_played(model) || permit.open() || permit.names.iter().any(|name| fits(name)) {
        return Ok(());
    }
    Err(permit.refusal(model, Vec::new()))
}

/// Returns true if a name is that of a script or a recording.
pub fn is_played(name: &str) -> bool {
    PLAYED.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the models that the agent's own files name; the settings are not the agent's.
fn own(agent: &AgentModels) -> Vec<&str> {
    let own = agent.candidates.iter().filter(|one| {
        let file = &one.origin.file;
        let set = SETTINGS_BEGIN.iter().any(|beginning| file.starts_with(beginning));
        !(set || file.ends_with(SETTINGS_END))
    });
    own.map(|one| one.value.as_str()).collect()
}

/// The models that an agent may use.
struct AllowedModels<'a> {
    /// The models that its files name; empty if they name none.
    names: Vec<&'a str>,
    /// True if it may use no other models.
    bound: bool,
}

impl<'a> AllowedModels<'a> {
    fn of(agent: &'a AgentModels) -> Self {
        let allowed = agent.allowed.iter().map(|one| one.value.as_str());
        let names = own(agent).into_iter().chain(allowed).collect();
        Self { names, bound: agent.bound }
    }

    fn open(&self) -> bool {
        !self.bound || self.names.is_empty()
    }

    fn has(&self, id: &str, model: &str) -> bool {
        let is = |name: &str| {
            let written = name.split_once('/');
            name == model || written == Some((id, model)) || (name == LOCAL && id == LOCAL)
        };
        self.open() || self.names.iter().any(|name| is(name))
    }

    fn refusal(&self, model: &str, steps: Vec<CandidateAttempt>) -> ModelChoiceError {
        let may = self.names.iter().map(|&name| name.to_owned()).collect();
        ModelChoiceError { why: NoModelReason::Refused { model: model.to_owned(), may }, steps }
    }
}

/// A provider that serves a candidate, and the candidate's name there.
struct ProviderMatch<'a> {
    provider: &'a SelectableProvider,
    model: String,
}

/// The state of the search for a model.
struct ModelSearch<'a> {
    permit: AllowedModels<'a>,
    /// The providers in descending priority.
    providers: Vec<&'a SelectableProvider>,
    steps: Vec<CandidateAttempt>,
    /// The matches in order, each with the source of its candidate.
    found: Vec<(String, CandidateSource)>,
}

impl<'a> ModelSearch<'a> {
    fn new(agent: &'a AgentModels, providers: &'a [SelectableProvider]) -> Self {
        let mut providers: Vec<&SelectableProvider> = providers.iter().collect();
        providers.sort_by(|one, other| {
            let priority = other.priority.cmp(&one.priority);
            priority.then(one.order.cmp(&other.order)).then(one.id.cmp(&other.id))
        });
        Self { permit: AllowedModels::of(agent), providers, steps: Vec::new(), found: Vec::new() }
    }

    fn seen(&self, name: &str) -> bool {
        self.steps.iter().any(|step| step.candidate == name)
    }

    /// Adds every available provider that serves a candidate.
    fn look(&mut self, name: &str, said: CandidateSource) {
        if is_played(name) {
            return self.take(name, said, None, name.to_owned());
        }
        let matches = self.matches(name);
        let mut unserved = Vec::new();
        for provider in &self.providers {
            if !matches.iter().any(|found| found.provider.id == provider.id) {
                let why = not_served(provider, name);
                unserved.push(step(name, said, Some(&provider.id), CandidateOutcome::Skipped(why)));
            }
        }
        if matches.is_empty() && unserved.is_empty() {
            let none = CandidateOutcome::Skipped("there is no provider".to_owned());
            unserved.push(step(name, said, None, none));
        }
        for ProviderMatch { provider, model } in matches {
            let full = format!("{}/{model}", provider.id);
            match &provider.ready {
                Err(why) => {
                    let outcome = CandidateOutcome::NotReady(why.clone());
                    self.steps.push(step(name, said, Some(&provider.id), outcome));
                }
                Ok(()) if !self.may(&provider.id, &model, said) => {
                    let outcome = CandidateOutcome::Refused;
                    self.steps.push(step(name, said, Some(&provider.id), outcome));
                }
                Ok(()) => self.take(name, said, Some(&provider.id), full),
            }
        }
        self.steps.append(&mut unserved);
    }

    /// Adds the default model of the first available provider that has one.
    fn look_for_any(&mut self) {
        for provider in self.providers.clone() {
            let Some(model) = default_of(provider) else {
                let why = "it has no model to begin with".to_owned();
                self.steps.push(step(
                    "",
                    CandidateSource::Provider,
                    Some(&provider.id),
                    CandidateOutcome::Skipped(why),
                ));
                continue;
            };
            let outcome = match &provider.ready {
                Err(why) => CandidateOutcome::NotReady(why.clone()),
                Ok(()) if !self.may(&provider.id, model, CandidateSource::Provider) => {
                    CandidateOutcome::Refused
                }
                Ok(()) => {
                    let full = format!("{}/{model}", provider.id);
                    return self.take(model, CandidateSource::Provider, Some(&provider.id), full);
                }
            };
            self.steps.push(step(model, CandidateSource::Provider, Some(&provider.id), outcome));
        }
    }

    /// True for models that the agent names; for others only if none of those is available.
    fn may(&self, id: &str, model: &str, said: CandidateSource) -> bool {
        match said {
            CandidateSource::Asked | CandidateSource::Agent => self.permit.has(id, model),
            CandidateSource::Settings | CandidateSource::Provider => {
                let own = self.found.iter().any(|(_, said)| *said == CandidateSource::Agent);
                self.permit.has(id, model) || (!own && !self.permit.bound)
            }
        }
    }

    fn take(&mut self, name: &str, said: CandidateSource, provider: Option<&str>, full: String) {
        let outcome = match self.found.first() {
            None => CandidateOutcome::Taken(full.clone()),
            Some(_) if self.found.iter().any(|(one, _)| *one == full) => {
                CandidateOutcome::Skipped("it is on the list already".to_owned())
            }
            // A script replaces all models, so no paid model is its fallback.
            Some((first, _)) if is_played(first) && !is_played(&full) => {
                CandidateOutcome::Skipped("a script stands for all models".to_owned())
            }
            Some(_) => CandidateOutcome::Fallback(full.clone()),
        };
        if matches!(outcome, CandidateOutcome::Taken(_) | CandidateOutcome::Fallback(_)) {
            self.found.push((full, said));
        }
        self.steps.push(step(name, said, provider, outcome));
    }

    /// Returns the providers that serve a name: first as qualified by an ID, then unqualified.
    fn matches(&self, name: &str) -> Vec<ProviderMatch<'a>> {
        let mut all: Vec<ProviderMatch<'a>> = Vec::new();
        let qualified = name.split_once('/');
        for &provider in &self.providers {
            let model = match qualified {
                Some((id, rest)) if id == provider.id && serves_own(provider, rest) => rest,
                Some(_) => continue,
                None if name == LOCAL && provider.id == LOCAL => match default_of(provider) {
                    Some(model) => model,
                    None => continue,
                },
                None => continue,
            };
            all.push(ProviderMatch { provider, model: model.to_owned() });
        }
        for &provider in &self.providers {
            let known = all.iter().any(|found| found.provider.id == provider.id);
            if !known && serves_bare(provider, name) {
                all.push(ProviderMatch { provider, model: name.to_owned() });
            }
        }
        all
    }

    fn end(
        self,
        wanted: &ModelPreferences<'_>,
        alone: bool,
    ) -> Result<ModelChoice, ModelChoiceError> {
        let Self { permit, steps, found, .. } = self;
        let mut found = found.into_iter();
        let Some((model, said)) = found.next() else {
            return Err(match wanted.asked {
                Some(asked)
                    if steps.iter().any(|step| step.outcome == CandidateOutcome::Refused) =>
                {
                    permit.refusal(asked, steps)
                }
                Some(_) | None => ModelChoiceError { why: NoModelReason::NoProvider, steps },
            });
        };
        let replaced = match said {
            CandidateSource::Asked | CandidateSource::Agent => false,
            CandidateSource::Settings | CandidateSource::Provider => !own(wanted.agent).is_empty(),
        };
        let fallbacks = found.map(|(model, _)| model).filter(|_| !alone).collect();
        Ok(ModelChoice { model, fallbacks, replaced, steps })
    }
}

fn step(
    name: &str,
    said: CandidateSource,
    provider: Option<&str>,
    outcome: CandidateOutcome,
) -> CandidateAttempt {
    let provider = provider.map(str::to_owned);
    CandidateAttempt { candidate: name.to_owned(), said, provider, outcome }
}

/// Returns true if a provider serves a name that is qualified with its ID.
fn serves_own(provider: &SelectableProvider, rest: &str) -> bool {
    match &provider.models {
        ServedModels::Listed(list) => list.iter().any(|one| one == rest),
        ServedModels::Any => !rest.is_empty(),
    }
}

fn serves_bare(provider: &SelectableProvider, name: &str) -> bool {
    let list = match &provider.models {
        ServedModels::Listed(list) => list,
        ServedModels::Any => &provider.catalogue,
    };
    list.iter().any(|one| match one.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => one == name,
    })
}

/// Returns the model of a provider to use if no model is named.
fn default_of(provider: &SelectableProvider) -> Option<&str> {
    let default = provider.default_model.as_deref();
    let (default, list) = match &provider.models {
        ServedModels::Listed(list) => (default.filter(|one| list.iter().any(|of| of == one)), list),
        ServedModels::Any => (default, &provider.catalogue),
    };
    default.or_else(|| list.iter().map(String::as_str).find(|one| !one.ends_with('*')))
}

fn not_served(provider: &SelectableProvider, name: &str) -> String {
    match &provider.models {
        ServedModels::Listed(list) if list.is_empty() => {
            format!("its `model_allowlist` under [providers.{}] is empty", provider.id)
        }
        ServedModels::Listed(_) => {
            format!("its `model_allowlist` under [providers.{}] has no `{name}`", provider.id)
        }
        ServedModels::Any if provider.id == LOCAL => "it is not installed".to_owned(),
        ServedModels::Any => format!("it is not known to have `{name}`"),
    }
}
