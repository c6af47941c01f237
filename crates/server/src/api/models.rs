//! The models that an agent may use.
//!
//! Must never: report a model as available that the agent may not use.

use agentry_agentfile::agent::Agent;
use agentry_kernel::model_choice::{
    ModelChoice, SelectableProvider, ServedModels, is_played, may_use,
};
use agentry_protocol::token::TokenScope;
use agentry_runtime::definitions::definition_cache::{DefinitionCache, DefinitionSnapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::find_agent;
use crate::api_error::ApiError;
use crate::limits::API_MODELS_MAX;
use crate::route::{ApiRequest, ApiRoute, RouteAccess};
use crate::state::ServerState;

/// The provider name of a scripted model.
pub(super) const PLAYED: &str = "scripted";

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::Owner(TokenScope::Read);
    vec![ApiRoute::get("/api/models", read, "Models that an agent may use", models)]
}

/// Models.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelsResponse {
    /// Known models.
    pub(crate) models: Vec<ModelAvailability>,
}

/// A model, and its availability.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelAvailability {
    /// Provider and model, as `provider/model`.
    pub(crate) name: String,
    /// Id of the provider.
    pub(crate) provider: String,
    /// True if the agent may use it and its provider is available.
    pub(crate) allowed: bool,
    /// True if the agent uses it by default.
    pub(crate) default: bool,
    /// Reason why it is unavailable; null if it is available.
    pub(crate) why: Option<String>,
}

/// The agent whose models to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ModelsQuery {
    /// Id of the agent. Default: none, only the settings count.
    pub(crate) agent: Option<String>,
}

fn models(site: &ServerState, asked: ApiRequest<ModelsQuery>) -> Result<ModelsResponse, ApiError> {
    let definite = site.definition_cache.read()?;
    let agent = asked
        .query
        .agent
        .as_deref()
        .filter(|id| !id.is_empty())
        .map(|id| find_agent(&definite, id))
        .transpose()?;
    Ok(ModelsResponse { models: of(&site.definition_cache, &definite, agent) })
}

/// Returns the known models, with the agent's own choice and its fallbacks first.
fn of(
    definition_cache: &DefinitionCache,
    definite: &DefinitionSnapshot,
    agent: Option<&Agent>,
) -> Vec<ModelAvailability> {
    let choice = definition_cache.choice(definite, agent).ok();
    let servings = definition_cache.servings();
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

/// Returns the known models of a provider; one that accepts any name may have more.
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
