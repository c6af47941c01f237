//! Which model a run asks: the agent's wishes, the settings and the providers at hand, put in one order.
//!
//! A candidate goes to the provider with the highest priority that serves it. What matches first is the
//! model; what matches later is asked when that one fails.
//!
//! Must never: let an agent use a model that it may not, or choose another than a person asked for.

mod attempt;

use agentry_agentfile::agent::AgentModels;

pub use attempt::{
    CandidateAttempt, CandidateOutcome, CandidateSource, ModelChoiceError, NoModelReason,
};

/// The provider that needs no network.
pub const LOCAL: &str = "local";
/// What begins the name of something that only plays a model.
const PLAYED: [&str; 2] = ["scripted:", "cassette:"];
/// How the name of a file with settings ends.
const SETTINGS_END: &str = "agentry.toml";
/// How the names of other places of settings begin.
const SETTINGS_BEGIN: [&str; 2] = ["environment ", "flag "];

/// A provider, as far as the choice needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableProvider {
    /// Its name in the settings.
    pub id: String,
    /// What it serves.
    pub models: ServedModels,
    /// What it is known to have, for one that serves any name; a `*` at the end stands for the rest.
    pub catalogue: Vec<String>,
    /// The model to use when an agent names none.
    pub default_model: Option<String>,
    /// The highest is asked first.
    pub priority: i64,
    /// Its place in the settings, which decides between equals.
    pub order: usize,
    /// Why it cannot be asked now.
    pub ready: Result<(), String>,
}

/// What a provider serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServedModels {
    /// These and no others: its `model_allowlist`.
    Listed(Vec<String>),
    /// What its catalogue has, and any name that is written with its id.
    Any,
}

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct ModelPreferences<'a> {
    /// What a person asks for: `--model`.
    pub asked: Option<&'a str>,
    /// What the agent's files say.
    pub agent: &'a AgentModels,
    /// The model of the settings: `model` under `[agent]`.
    pub default: Option<&'a str>,
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// The provider and the model, such as `openai/gpt-4.1`.
    pub model: String,
    /// Who is asked next when it fails, in order.
    pub fallbacks: Vec<String>,
    /// Whether the agent names models, and this is none of them.
    pub replaced: bool,
    /// Everything that was looked at.
    pub steps: Vec<CandidateAttempt>,
}

/// Chooses a model.
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

/// Whether an agent may use a model, before it is known who serves it.
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

/// Whether a name is that of a script or a recording.
pub fn is_played(name: &str) -> bool {
    PLAYED.iter().any(|prefix| name.starts_with(prefix))
}

/// The models that the agent's own files name; the one of the settings is not the agent's.
fn own(agent: &AgentModels) -> Vec<&str> {
    let own = agent.candidates.iter().filter(|one| {
        let file = &one.origin.file;
        let set = SETTINGS_BEGIN.iter().any(|beginning| file.starts_with(beginning));
        !(set || file.ends_with(SETTINGS_END))
    });
    own.map(|one| one.value.as_str()).collect()
}

/// What an agent may use.
struct AllowedModels<'a> {
    /// By its own words; none means anything.
    names: Vec<&'a str>,
    /// Whether it takes no others.
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

/// A provider that has a candidate, and what the candidate is called there.
struct ProviderMatch<'a> {
    provider: &'a SelectableProvider,
    model: String,
}

/// The search so far.
struct ModelSearch<'a> {
    permit: AllowedModels<'a>,
    /// The providers in the order in which they are asked.
    providers: Vec<&'a SelectableProvider>,
    steps: Vec<CandidateAttempt>,
    /// What was found, in order, with who said it.
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

    /// Takes every provider that serves a candidate and can be asked.
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

    /// The default of the first provider that can be asked and has one.
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

    /// Others than those it names are for an agent only where none of those can be had.
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
            // What a script does not say is not asked of somebody who costs money.
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

    /// The providers that serve a name: as it is written with a provider's id, then as it is.
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

/// Whether a provider serves a name that is written with its id.
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

/// What a provider is asked for when nobody names a model.
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
