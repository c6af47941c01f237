//! Chooses the model of a run, reports a replacement, and downloads a missing local model.
//!
//! Must never: start a run with an unavailable model, or download weights silently.

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

/// Chooses the model of an agent, and its fallbacks.
pub(crate) fn model(
    engine: &ProjectRuntime,
    agent: &Agent,
    asked: Option<&str>,
) -> Result<ModelChoice, Box<ModelChoiceError>> {
    // A scripted model has no provider, so none is probed.
    let servings = if asked.is_some_and(is_played) { &[] } else { engine.servings() };
    let default = engine.loaded.library.settings.config.agent.model.as_deref();
    choose(&ModelPreferences { asked, agent: &agent.models, default }, servings).map_err(Box::new)
}

/// Chooses the model of a new run: reports a replacement, and downloads missing weights.
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
            "no model of `{}` is available ({}); using {} (`agentry models` explains why)",
            agent.id,
            named.join(", "),
            choice.model
        );
        // If stderr is closed, the ledger still has it.
        writeln!(crate::output::stderr().lock(), "note: {}", visible(&text)).unwrap_or_default();
    }
    fetch_missing(host, engine, &choice.model)?;
    Ok(choice)
}

/// Downloads a missing local model, after its size and license were shown.
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

/// Returns the id of a local model that is known but not installed.
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
