//! The plan of a run: its steps, its inputs and the hashes of its definitions.
//!
//! Must never: perform any of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentry_agentfile::task::Task;
use agentry_kernel::danger;
use agentry_protocol::confinement::Confinement;
use agentry_protocol::event::{Event, RunInputs, RunModels, RunPlan, StepPlan, TurnPlan};
use agentry_protocol::{AgentId, ContentHash, RunId, TaskId};
use agentry_store::{EntryFilter, Ledger};

use crate::definitions::Definitions;
use crate::error::Error;
use crate::run_request::RunRequest;
use crate::run_request::RunSettings;

/// The `uses` value of a step that only compacts older turns.
pub const COMPACT: &str = "compact";
/// The input that names the focus of a summary.
pub(crate) const FOCUS: &str = "focus";

/// Returns the plan of a run from the ledger.
pub fn recorded(ledger: &Ledger, run: &RunId) -> Result<RunPlan, Error> {
    let filter = EntryFilter { run: Some(run.clone()), ..EntryFilter::default() };
    let entries = ledger.read_from(0, &filter, 8)?;
    let plan = entries.into_iter().find_map(|envelope| {
        if let Event::RunCreated(plan) = envelope.event { Some(*plan) } else { None }
    });
    plan.ok_or_else(|| Error::Halted(format!("{run} has no plan in the ledger")))
}

/// Returns the confinement of a turn from its charter.
pub fn confinement(plan: &TurnPlan) -> Option<Confinement> {
    let recorded = plan.charter.pointer("/authority/confinement")?.clone();
    serde_json::from_value(recorded).ok()
}

/// The agent of a call and the confinement of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallScope {
    /// The agent.
    pub agent: AgentId,
    /// The confinement of each process of the call.
    pub confinement: Confinement,
}

/// Returns the agent and the confinement of a turn's calls from its charter.
pub fn call_scope(plan: &TurnPlan) -> Option<CallScope> {
    let agent = serde_json::from_value(plan.charter.get("agent")?.clone()).ok()?;
    Some(CallScope { agent, confinement: confinement(plan)? })
}

/// Builds the plan of a run from its request.
pub(crate) fn of_order(definitions: &Definitions, order: &RunRequest) -> Result<RunPlan, Error> {
    let library = &definitions.library;
    let task = order.task.as_ref().map(|id| task_named(definitions, id)).transpose()?;
    let mut agent = order.agent.clone();
    let steps: Vec<StepPlan> = match task {
        None => {
            let (id, uses) = ("s1".to_owned(), "prompt".to_owned());
            let persona = order.terms.persona.clone();
            vec![StepPlan { id, uses, agent: agent.clone(), persona }]
        }
        Some(task) => task
            .steps
            .iter()
            .enumerate()
            .map(|(at, step)| {
                agent = step.agent.as_ref().map_or(agent.clone(), |one| one.value.clone());
                let uses = format!("step:{}", step.file);
                let id = format!("s{}", at + 1);
                StepPlan { id, uses, agent: agent.clone(), persona: None }
            })
            .collect(),
    };
    let mut files: BTreeMap<String, ContentHash> = BTreeMap::new();
    for step in &steps {
        let agent = definitions.agent(&step.agent)?;
        files.insert(agent.directory.clone(), agent.hash.clone());
        let skills = agent.skills.iter();
        for skill in skills.filter_map(|id| library.skill(agent, id.value.as_str())) {
            files.insert(skill.body.origin.file.to_string(), skill.hash.clone());
        }
    }
    if let Some(task) = task {
        let file = task.steps.first().map(|step| step.body.origin.file.to_string());
        files.insert(file.unwrap_or_else(|| task.id.to_string()), task.hash.clone());
    }
    Ok(RunPlan {
        agent: order.agent.clone(),
        task: order.task.clone(),
        prompt: order.prompt.clone(),
        given: RunInputs {
            images: order.images.clone(),
            inputs: inputs(task, &order.inputs)?,
            inbounds: order.inbounds.clone(),
            bounds: order.terms.bounds.clone().map(Box::new),
        },
        asked: RunModels {
            model: order.terms.model.clone(),
            fallbacks: order.terms.fallbacks.clone(),
        },
        mode: order.terms.mode,
        limits: order.terms.limits,
        check: check(definitions, order, task)?,
        workspace: definitions.workspace.display().to_string(),
        project: order.project.clone(),
        steps,
        files,
    })
}

/// Returns the task of a plan, in its present definition.
pub(crate) fn task<'a>(
    definitions: &'a Definitions,
    plan: &RunPlan,
) -> Result<Option<&'a Task>, Error> {
    plan.task.as_ref().map(|id| task_named(definitions, id)).transpose()
}

fn task_named<'a>(definitions: &'a Definitions, id: &TaskId) -> Result<&'a Task, Error> {
    let tasks = &definitions.library.tasks;
    tasks.get(id.as_str()).ok_or_else(|| Error::Definition(format!("there is no task `{id}`")))
}

/// Returns the check command: the requested one, else the task's. Refuses a dangerous one.
fn check(
    definitions: &Definitions,
    order: &RunRequest,
    task: Option<&Task>,
) -> Result<Option<String>, Error> {
    let of_task = || Some(task?.check.as_ref()?.value.clone());
    let Some(command) = order.terms.check.clone().or_else(of_task) else { return Ok(None) };
    let workspace = definitions.workspace.display().to_string();
    let place =
        danger::GuardDirectories { workspace: &workspace, home: definitions.home.as_deref() };
    match danger::of_command(&command, &place) {
        None => Ok(Some(command)),
        Some(found) => {
            let why = found.why;
            Err(Error::Definition(format!("the check `{command}` is refused as dangerous: {why}")))
        }
    }
}

/// Returns the settings for the charter of a step.
pub(crate) fn terms(plan: &RunPlan, at: usize) -> RunSettings {
    RunSettings {
        model: plan.asked.model.clone(),
        fallbacks: plan.asked.fallbacks.clone(),
        mode: plan.mode,
        limits: plan.limits,
        check: plan.check.clone(),
        persona: plan.steps.get(at).and_then(|step| step.persona.clone()),
        bounds: plan.given.bounds.as_deref().cloned(),
        shaping: Default::default(),
    }
}

/// Returns the prompt of a turn: that of the run, or the text of a step with its inputs.
pub(crate) fn prompt(plan: &RunPlan, task: Option<&Task>, at: usize) -> String {
    let Some(step) = task.and_then(|task| task.steps.get(at)) else { return plan.prompt.clone() };
    let mut text = step.body.value.trim().to_owned();
    for (name, value) in &plan.given.inputs {
        for form in [format!("{{{{input.{name}}}}}"), format!("{{{{ input.{name} }}}}")] {
            text = text.replace(&form, value);
        }
    }
    if !plan.given.inputs.is_empty() {
        let inputs = serde_json::to_string_pretty(&plan.given.inputs).unwrap_or_default();
        write!(text, "\n\nInputs:\n```json\n{inputs}\n```").expect("a string takes everything");
    }
    text
}

/// Returns a task's inputs with defaults. Fails on unknown and missing inputs.
pub fn inputs(
    task: Option<&Task>,
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Error> {
    let declared = task.map(|task| task.inputs.as_slice()).unwrap_or_default();
    let names: Vec<&str> = declared.iter().map(|one| one.value.name.as_str()).collect();
    if let Some(unknown) = given.keys().find(|name| !names.contains(&name.as_str())) {
        let known = match names.as_slice() {
            [] => "it takes none".to_owned(),
            names => format!("it takes: {}", names.join(", ")),
        };
        return Err(Error::Definition(format!("there is no input `{unknown}`; {known}")));
    }
    let mut all = BTreeMap::new();
    for input in declared.iter().map(|one| &one.value) {
        let value = given.get(&input.name).cloned().or_else(|| input.default.clone());
        let value = value.ok_or_else(|| {
            let name = &input.name;
            Error::Definition(format!("the input `{name}` is missing; give --input {name}=…"))
        })?;
        all.insert(input.name.clone(), value);
    }
    Ok(all)
}
