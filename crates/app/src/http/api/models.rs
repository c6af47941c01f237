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

use super::agents::find_agent;
use crate::definition_cache::{DefinitionCache, DefinitionSnapshot};
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiRoute, RouteAccess};
use crate::http::state::ServerState;
use crate::limits::API_MODELS_MAX;

/// What stands for the provider of a model that is only played.
pub(super) const PLAYED: &str = "scripted";

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::Owner(TokenScope::Read);
    vec![ApiRoute::get("/api/models", read, "Which models an agent may use", models)]
}

/// Models.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelsResponse {
    /// Those that are known.
    pub(crate) models: Vec<ModelAvailability>,
}

/// One model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelAvailability {
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

fn models(site: &ServerState, asked: ApiRequest<ModelsQuery>) -> Result<ModelsResponse, ApiError> {
    let definite = site.reception.read()?;
    let agent = asked
        .query
        .agent
        .as_deref()
        .filter(|id| !id.is_empty())
        .map(|id| find_agent(&definite, id))
        .transpose()?;
    Ok(ModelsResponse { models: of(&site.reception, &definite, agent) })
}

/// The models that providers are known to have, those that the agent gets first.
fn of(
    reception: &DefinitionCache,
    definite: &DefinitionSnapshot,
    agent: Option<&Agent>,
) -> Vec<ModelAvailability> {
    let choice = reception.choice(definite, agent).ok();
    let servings = reception.servings();
    let mut all: Vec<ModelAvailability> =
        choice.iter().flat_map(|choice| chosen(choice, servings)).collect();
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
) -> impl Iterator<Item = ModelAvailability> + 'a {
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
        ModelAvailability { name: name.clone(), provider, allowed: true, default, why: None }
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

fn offered(serving: &SelectableProvider, name: String, agent: Option<&Agent>) -> ModelAvailability {
    let refused = agent.and_then(|agent| may_use(&agent.models, &name).err());
    let why = match (&serving.ready, refused) {
        (Err(why), _) => Some(why.clone()),
        (Ok(()), Some(_)) => Some("the agent may not use it".to_owned()),
        (Ok(()), None) => None,
    };
    ModelAvailability {
        name,
        provider: serving.id.clone(),
        allowed: why.is_none(),
        default: false,
        why,
    }
}
