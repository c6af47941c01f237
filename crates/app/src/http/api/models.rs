//! Models, as an agent may use them.
//!
//! Must never: say that a model can be had that the agent may not use.

use agentry_agentfile::agent::Agent;
use agentry_kernel::model_choice::{
    ModelChoice, SelectableProvider, ServedModels, is_played, may_use,
};
use agentry_protocol::token::TokenScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::named;
use crate::http::refusal::Refusal;
use crate::http::site::Site;
use crate::http::table::{Asked, Need, Route};
use crate::limits::API_MODELS_MAX;
use crate::reception::{Definite, Reception};

/// What stands for the provider of a model that is only played.
pub(super) const PLAYED: &str = "scripted";

pub(crate) fn routes() -> Vec<Route> {
    let read = Need::Owner(TokenScope::Read);
    vec![Route::get("/api/models", read, "Which models an agent may use", models)]
}

/// Models.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Models {
    /// Those that are known.
    pub(crate) models: Vec<Model>,
}

/// One model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Model {
    /// The provider and the model, as they are asked for.
    pub(crate) name: String,
    /// The provider.
    pub(crate) provider: String,
    /// Whether the agent may use it and the provider can be asked.
    pub(crate) allowed: bool,
    /// Whether it is the one that the agent gets.
    pub(crate) default: bool,
    /// Why it is not to be had, if it is not.
    pub(crate) why: Option<String>,
}

/// Which agent is meant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ModelsQuery {
    /// The agent; models of the settings alone, if none is named.
    pub(crate) agent: Option<String>,
}

fn models(site: &Site, asked: Asked<ModelsQuery>) -> Result<Models, Refusal> {
    let definite = site.reception.read()?;
    let agent = asked
        .query
        .agent
        .as_deref()
        .filter(|id| !id.is_empty())
        .map(|id| named(&definite, id))
        .transpose()?;
    Ok(Models { models: of(&site.reception, &definite, agent) })
}

/// The models that providers are known to have, those that the agent gets first.
fn of(reception: &Reception, definite: &Definite, agent: Option<&Agent>) -> Vec<Model> {
    let choice = reception.choice(definite, agent).ok();
    let servings = reception.servings();
    let mut all: Vec<Model> = choice.iter().flat_map(|choice| chosen(choice, servings)).collect();
    for serving in servings {
        for name in named_by(serving) {
            let full = format!("{}/{name}", serving.id);
            if all.len() >= API_MODELS_MAX {
                return all;
            }
            if !all.iter().any(|model| model.name == full) {
                all.push(offered(serving, full, agent));
            }
        }
    }
    all
}

fn chosen<'a>(
    choice: &'a ModelChoice,
    servings: &'a [SelectableProvider],
) -> impl Iterator<Item = Model> + 'a {
    let first = std::iter::once((&choice.model, true));
    let all = first.chain(choice.fallbacks.iter().map(|model| (model, false)));
    all.map(|(name, default)| {
        let provider = servings.iter().find(|one| {
            name.strip_prefix(one.id.as_str()).is_some_and(|rest| rest.starts_with('/'))
        });
        let provider = match provider {
            Some(serving) => serving.id.clone(),
            None if is_played(name) => PLAYED.to_owned(),
            None => String::new(),
        };
        Model { name: name.clone(), provider, allowed: true, default, why: None }
    })
}

/// What a provider is known to have; one that takes any name has more.
fn named_by(serving: &SelectableProvider) -> impl Iterator<Item = &String> {
    let list = match &serving.models {
        ServedModels::Listed(models) => models,
        ServedModels::Any => &serving.catalogue,
    };
    list.iter().filter(|name| !name.ends_with('*'))
}

fn offered(serving: &SelectableProvider, name: String, agent: Option<&Agent>) -> Model {
    let refused = agent.and_then(|agent| may_use(&agent.models, &name).err());
    let why = match (&serving.ready, refused) {
        (Err(why), _) => Some(why.clone()),
        (Ok(()), Some(_)) => Some("the agent may not use it".to_owned()),
        (Ok(()), None) => None,
    };
    Model { name, provider: serving.id.clone(), allowed: why.is_none(), default: false, why }
}
