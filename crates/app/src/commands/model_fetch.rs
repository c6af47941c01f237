//! The model of a new run: reports a replacement, and downloads a missing local model.
//!
//! Must never: start a run with an unavailable model, or download weights silently.

use agentry_agentfile::agent::Agent;
use agentry_kernel::model_choice::ModelChoice;

use crate::bootstrap::ProjectRuntime;
use crate::cli_context::CliContext;
use crate::commands::pull;
use crate::diagnostics::visible;
use crate::fault::Fault;
use crate::model_choice::{fault, missing, model};
use crate::output::write_stderr_line;

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
        write_stderr_line(&format!("note: {}", visible(&text)));
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
