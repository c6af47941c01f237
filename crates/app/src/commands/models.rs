//! `agentry models`: providers and their models, an agent's choice, and installed models.
//!
//! Must never: send a request, unless `--fetch` asks for it.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use agentry_agentfile::agent::{Agent, AgentModels};
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::model_choice::{
    ModelChoice, ModelChoiceError, ModelPreferences, SelectableProvider, ServedModels, choose,
};
use agentry_model::weights::Kind;
use agentry_model::{LOCAL, Prices};
use agentry_runtime::definitions::project_loader::LoadedProject;
use agentry_runtime::providers::ProviderSet;
use agentry_runtime::secret_store;
use clap::Args;
use serde_json::{Value, json};

use super::pull::sized;
use super::{AgentSelection, OutputFormat, show_agent};
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::diagnostics::{visible, visible_line};
use crate::fault::Fault;
use crate::limits::SHOWN_MODELS_MAX;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    which: AgentSelection,
    /// Ask each provider for its list of models
    #[arg(long)]
    fetch: bool,
    /// Explain the choice as if this model were requested
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Output format of the report
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

/// The list of models from a provider, or the reason of a failure.
type ModelListResult = Result<Vec<String>, String>;

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let loaded = host.load(&options.which.dir, SkillLevel::Extended)?;
    if let Some(fault) = loaded.settings_error().map(Fault::from) {
        return Err(fault.in_a_definition());
    }
    let secrets =
        secret_store::resolve(&host.environment, &loaded.library.settings.config.secrets)?;
    let redactor = Arc::new(secrets.redactor());
    let trusts = bootstrap::address_trust(host, &loaded.root)?;
    let known = bootstrap::providers(host, &loaded, &secrets, &redactor, &trusts);
    trusts.warn(&known.untrusted);
    let servings = known.servings.probe(&known.providers);
    let agent = agent(&loaded, &options.which)?;
    let choice = chosen(&loaded, agent, options.model.as_deref(), &servings);
    let fetched: Vec<Option<ModelListResult>> =
        servings.iter().map(|one| options.fetch.then(|| fetch(&known, one)).flatten()).collect();
    let failed = fetched.iter().flatten().any(Result::is_err);
    let page = ModelsReport {
        known: &known,
        servings: &servings,
        agent,
        choice: &choice,
        fetched: &fetched,
    };
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => writeln!(out, "{}", serde_json::to_string_pretty(&page.as_json())?)?,
        OutputFormat::Text => page.write(&mut out)?,
    }
    Ok(if failed || choice.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the agent whose choice is explained; None if the directory has no agent.
fn agent<'a>(
    loaded: &'a LoadedProject,
    which: &AgentSelection,
) -> Result<Option<&'a Agent>, Fault> {
    let library = &loaded.library;
    if which.agent.is_none() && library.agents.is_empty() && library.broken_agents.is_empty() {
        Ok(None)
    } else {
        show_agent::choose(loaded, which).map(Some)
    }
}

fn chosen(
    loaded: &LoadedProject,
    agent: Option<&Agent>,
    asked: Option<&str>,
    servings: &[SelectableProvider],
) -> Result<ModelChoice, ModelChoiceError> {
    let nothing = AgentModels::default();
    let models = agent.map_or(&nothing, |agent| &agent.models);
    let default = loaded.library.settings.config.agent.model.as_deref();
    choose(&ModelPreferences { asked, agent: models, default }, servings)
}

/// Asks a provider for its models. Returns None if it is local or not ready.
fn fetch(known: &ProviderSet, serving: &SelectableProvider) -> Option<ModelListResult> {
    if serving.id == LOCAL || serving.ready.is_err() {
        return None;
    }
    let listed = known.providers.list(&serving.id, &|_| true);
    Some(match listed {
        Ok(Ok(mut models)) => {
            models.sort();
            Ok(models)
        }
        Ok(Err(failure)) => Err(failure.message),
        Err(error) => Err(error.to_string()),
    })
}

struct ModelsReport<'a> {
    known: &'a ProviderSet,
    servings: &'a [SelectableProvider],
    agent: Option<&'a Agent>,
    choice: &'a Result<ModelChoice, ModelChoiceError>,
    fetched: &'a [Option<ModelListResult>],
}

impl ModelsReport<'_> {
    fn write(&self, out: &mut dyn Write) -> Result<(), Fault> {
        let bold = anstyle::Style::new().bold();
        let whose = self.agent.map_or_else(String::new, |agent| format!(" of {}", agent.id));
        let steps = match self.choice {
            Ok(choice) => {
                writeln!(out, "{bold}model{whose}{bold:#}  {}", visible_line(&choice.model))?;
                for model in &choice.fallbacks {
                    writeln!(out, "  then {}", visible_line(model))?;
                }
                if choice.replaced {
                    writeln!(out, "  none of the agent's models is available")?;
                }
                &choice.steps
            }
            Err(none) => {
                writeln!(out, "{bold}model{whose}{bold:#}  none available")?;
                writeln!(out, "  {}", visible(&none.hint()))?;
                &none.steps
            }
        };
        for step in steps {
            writeln!(out, "  · {}", visible_line(&step.to_string()))?;
        }
        writeln!(out, "\n{bold}providers{bold:#}")?;
        for (serving, fetched) in self.servings.iter().zip(self.fetched) {
            write_serving(out, serving, fetched.as_ref())?;
        }
        writeln!(out, "\n{bold}on this machine{bold:#}")?;
        self.write_weights(out)?;
        writeln!(out, "\nprices as of {}", Prices::built_in().dated())?;
        Ok(())
    }

    fn write_weights(&self, out: &mut dyn Write) -> Result<(), Fault> {
        let Some(weights) = &self.known.weights else {
            return Ok(writeln!(out, "  no directory for weights: HOME is not set")?);
        };
        let installed = weights.installed();
        for one in &installed {
            let purpose = weights.known().iter().find(|known| known.id == one.id);
            let purpose = purpose.map_or("your own", |known| known.purpose.as_str());
            let (id, size) = (visible_line(&one.id), sized(one.bytes));
            let licence = visible_line(&one.licence);
            writeln!(out, "  {id:<22} installed  {size:>8}  {licence:<12} {purpose}")?;
        }
        for one in
            weights.known().iter().filter(|one| !installed.iter().any(|here| here.id == one.id))
        {
            let (id, size, licence, purpose) =
                (&one.id, sized(one.bytes()), &one.licence, &one.purpose);
            writeln!(out, "  {id:<22} -          {size:>8}  {licence:<12} {purpose}")?;
        }
        Ok(())
    }

    fn as_json(&self) -> Value {
        let choice = match self.choice {
            Ok(choice) => json!({
                "model": choice.model, "fallbacks": choice.fallbacks, "replaced": choice.replaced,
                "steps": choice.steps.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }),
            Err(none) => json!({
                "model": null, "hint": none.hint(),
                "steps": none.steps.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }),
        };
        let providers = self.servings.iter().zip(self.fetched).map(|(one, fetched)| {
            let fetched = fetched.as_ref().map(|fetched| match fetched {
                Ok(models) => json!({ "models": models }),
                Err(why) => json!({ "error": why }),
            });
            json!({
                "id": one.id, "priority": one.priority, "ready": one.ready.is_ok(),
                "why": one.ready.as_ref().err(), "models": served(one),
                "default_model": one.default_model, "fetched": fetched,
            })
        });
        let installed = self.known.weights.as_ref().map(|weights| weights.installed());
        let installed: Vec<Value> = installed
            .into_iter()
            .flatten()
            .map(|one| {
                let kind = match one.kind {
                    Kind::Chat => "chat",
                    Kind::Embedder => "embedder",
                };
                json!({ "id": one.id, "kind": kind, "bytes": one.bytes, "licence": one.licence })
            })
            .collect();
        json!({
            "agent": self.agent.map(|agent| agent.id.as_str()),
            "choice": choice,
            "providers": providers.collect::<Vec<Value>>(),
            "installed": installed,
            "prices": Prices::built_in().dated(),
        })
    }
}

fn served(serving: &SelectableProvider) -> &[String] {
    match &serving.models {
        ServedModels::Listed(models) => models,
        ServedModels::Any => &serving.catalogue,
    }
}

fn write_serving(
    out: &mut dyn Write,
    serving: &SelectableProvider,
    fetched: Option<&ModelListResult>,
) -> Result<(), Fault> {
    let id = visible_line(&serving.id);
    match &serving.ready {
        Ok(()) => writeln!(out, "  {id:<12} ready")?,
        Err(why) => writeln!(out, "  {id:<12} {}", visible_line(why))?,
    }
    let (models, origin) = match fetched {
        Some(Err(why)) => {
            writeln!(out, "    {}", visible(why))?;
            (served(serving), "named")
        }
        Some(Ok(models)) => (models.as_slice(), "served"),
        None => (served(serving), "named"),
    };
    for model in models.iter().take(SHOWN_MODELS_MAX) {
        writeln!(out, "    {}", visible_line(model))?;
    }
    let more = models.len().saturating_sub(SHOWN_MODELS_MAX);
    if more > 0 {
        writeln!(out, "    … and {more} more {origin}; --format json lists all")?;
    }
    Ok(())
}
