//! Chooses the model of a run, says so where it is not one that the agent names, and sees that it is here.
//!
//! Must never: let a run begin with a model that nobody can ask, or fetch weights without a word.

use std::io::Write;

use agentry_agentfile::agent::Agent;
use agentry_kernel::model_choice::{
    ModelChoice, ModelChoiceError, ModelPreferences, NoModelReason, choose, is_played,
};
use agentry_model::LOCAL;

use crate::bootstrap::ProjectRuntime;
use crate::cli_context::CliContext;
use crate::commands::pull;
use crate::diagnostics::visible;
use crate::fault::{Blame, Fault};

/// The model for an agent, and those that are asked when it does not answer.
pub(crate) fn model(
    engine: &ProjectRuntime,
    agent: &Agent,
    asked: Option<&str>,
) -> Result<ModelChoice, Box<ModelChoiceError>> {
    // A script is no provider's: nothing has to be looked at.
    let servings = if asked.is_some_and(is_played) { &[] } else { engine.servings() };
    let default = engine.loaded.library.settings.config.agent.model.as_deref();
    choose(&ModelPreferences { asked, agent: &agent.models, default }, servings).map_err(Box::new)
}

/// The same for a run that is about to begin: what is unexpected is said, what is missing is fetched.
pub(crate) fn choose_for_run(
    host: &CliContext,
    engine: &ProjectRuntime,
    agent: &Agent,
    asked: Option<&str>,
) -> Result<ModelChoice, Fault> {
    let choice = model(engine, agent, asked).map_err(|none| fault(agent, &none))?;
    if choice.replaced {
        let named = agent.models.candidates.iter().map(|one| one.value.as_str());
        let named: Vec<&str> = named.collect();
        let text = format!(
            "none of the models that `{}` names can be had ({}); using {} (`agentry models` says why)",
            agent.id,
            named.join(", "),
            choice.model
        );
        // With nowhere left to write to, the record still has it.
        writeln!(crate::output::stderr().lock(), "note: {}", visible(&text)).unwrap_or_default();
    }
    fetch_missing(host, engine, &choice.model)?;
    Ok(choice)
}

/// A local model is fetched when it is first wanted, after its size and licence were said.
pub(crate) fn fetch_missing(
    host: &CliContext,
    engine: &ProjectRuntime,
    model: &str,
) -> Result<(), Fault> {
    match (missing(engine, model), &engine.weights) {
        (Some(id), Some(weights)) => pull::on_first_use(host, weights, id),
        (Some(_) | None, _) => Ok(()),
    }
}

/// The local model that can be fetched and was not yet.
pub(crate) fn missing<'a>(engine: &ProjectRuntime, model: &'a str) -> Option<&'a str> {
    let (LOCAL, id) = model.split_once('/')? else { return None };
    let weights = engine.weights.as_ref()?;
    let known = weights.known().iter().any(|one| one.id == id);
    (known && weights.find(id).is_none()).then_some(id)
}

pub(crate) fn fault(agent: &Agent, none: &ModelChoiceError) -> Fault {
    let text = match &none.why {
        NoModelReason::Refused { model, .. } => {
            format!("the agent `{}` may not use the model `{model}`", agent.id)
        }
        NoModelReason::NoProvider => none.to_string(),
    };
    Fault::new(Blame::Caller, text).hint(none.hint())
}
