//! The choice of a model for a run, from the providers of this host.
//!
//! Must never: choose an unavailable model.

use std::path::Path;

use agentry_agentfile::agent::Agent;
use agentry_kernel::model_choice::{
    ModelChoice, ModelChoiceError, ModelPreferences, NoModelReason, choose, is_played,
};
use agentry_model::LOCAL;

use crate::bootstrap::ProjectRuntime;
use crate::fault::{Blame, Fault};

/// Chooses the model of an agent, and its fallbacks.
pub fn model(
    engine: &ProjectRuntime,
    agent: &Agent,
    asked: Option<&str>,
) -> Result<ModelChoice, Box<ModelChoiceError>> {
    // A scripted model has no provider, so none is probed.
    let servings = if asked.is_some_and(is_played) { &[] } else { engine.servings() };
    let default = engine.loaded.library.settings.config.agent.model.as_deref();
    choose(&ModelPreferences { asked, agent: &agent.models, default }, servings).map_err(Box::new)
}

/// Returns the id of a local model that is known but not installed.
pub fn missing<'a>(engine: &ProjectRuntime, model: &'a str) -> Option<&'a str> {
    let (LOCAL, id) = model.split_once('/')? else { return None };
    let weights = engine.weights.as_ref()?;
    let known = weights.known().iter().any(|one| one.id == id);
    (known && weights.find(id).is_none()).then_some(id)
}

/// Turns a missing model into a fault with a hint.
pub fn fault(agent: &Agent, none: &ModelChoiceError) -> Fault {
    let text = match &none.why {
        NoModelReason::Refused { model, .. } => {
            format!("the agent `{}` may not use the model `{model}`", agent.id)
        }
        NoModelReason::NoProvider => none.to_string(),
    };
    Fault::new(Blame::Caller, text).hint(none.hint())
}

/// Makes the path of a scripted model absolute, so that it is found from any directory.
pub fn absolute_model(model: &str) -> Result<String, Fault> {
    let Some(file) = model.strip_prefix("scripted:") else { return Ok(model.to_owned()) };
    let path = std::path::absolute(Path::new(file)).map_err(|error| {
        Fault::new(Blame::Caller, format!("`{file}` is not a file name: {error}"))
    })?;
    Ok(format!("scripted:{}", path.display()))
}
