//! Tasks: the list of definitions, and starting one.
//!
//! Must never: start a task without a required input.

use std::collections::BTreeMap;

use agentry_protocol::token::TokenScope;
use agentry_runtime::definitions::plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::messages::{self, ApiMessage, BY_MODE, MessageReceipt};
use crate::api_error::ApiError;
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess};
use crate::state::ServerState;
use crate::supervision::{ModeSchema, RequestedMode};

pub(crate) fn routes() -> Vec<ApiRoute> {
    let submit = RouteAccess::Owner(TokenScope::Submit);
    vec![
        ApiRoute::get("/api/tasks", RouteAccess::Owner(TokenScope::Read), "All tasks", tasks),
        ApiRoute::post("/api/tasks/{id}/runs", submit, "Run a task in a new session", run)
            .supervision(BY_MODE)
            .status(202),
    ]
}

/// Tasks.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TasksResponse {
    /// All tasks that load.
    pub(crate) tasks: Vec<TaskSummary>,
}

/// A task.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskSummary {
    /// Id of the task.
    pub(crate) id: String,
    /// Id of the agent of its first step; null for the agent that the request names.
    pub(crate) agent: Option<String>,
    /// Description of its purpose.
    pub(crate) description: Option<String>,
    /// Inputs of the task.
    pub(crate) inputs: Vec<TaskInput>,
}

/// An input of a task.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskInput {
    /// Name of the input.
    pub(crate) name: String,
    /// Description of the input.
    pub(crate) description: String,
    /// Default value; null if the input is required.
    pub(crate) default: Option<String>,
}

/// The inputs and settings of a task run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TaskRunBody {
    /// Values by input name; inputs with a default are optional.
    #[serde(default)]
    inputs: BTreeMap<String, String>,
    /// Id of the agent for steps that name none.
    agent: Option<String>,
    /// Model of the run.
    model: Option<String>,
    /// Mode of the run; `wiggum` needs a key with the scope `approve`.
    #[schemars(with = "Option<ModeSchema>")]
    mode: Option<RequestedMode>,
}

fn tasks(site: &ServerState, _: ApiRequest<NoParams>) -> Result<TasksResponse, ApiError> {
    let definite = site.definition_cache.read()?;
    let one = |task: &agentry_agentfile::task::Task| TaskSummary {
        id: task.id.to_string(),
        agent: task
            .steps
            .first()
            .and_then(|step| step.agent.as_ref())
            .map(|agent| agent.value.to_string()),
        description: task.description.as_ref().map(|text| text.value.clone()),
        inputs: task
            .inputs
            .iter()
            .map(|input| TaskInput {
                name: input.value.name.clone(),
                description: input.value.description.clone(),
                default: input.value.default.clone(),
            })
            .collect(),
    };
    Ok(TasksResponse { tasks: definite.loaded.library.tasks.values().map(one).collect() })
}

fn run(
    site: &ServerState,
    asked: ApiRequest<NoParams, TaskRunBody>,
) -> Result<MessageReceipt, ApiError> {
    let definite = site.definition_cache.read()?;
    let (library, id) = (&definite.loaded.library, asked.part(0));
    if let Some(file) = library.broken_tasks.get(id) {
        return Err(ApiError::conflict(format!("the task `{id}` ({file}) does not load"))
            .hint("`agentry check` shows its errors"));
    }
    let task = library
        .tasks
        .get(id)
        .ok_or_else(|| ApiError::not_found("task", id).hint("list them with GET /api/tasks"))?;
    let TaskRunBody { inputs, agent, model, mode } = asked.body;
    plan::inputs(Some(task), &inputs)?;
    // The task names the agent, unless the request does.
    let first = task.steps.first().and_then(|step| step.agent.as_ref());
    let agent = agent.or_else(|| first.map(|agent| agent.value.to_string()));
    let (text, task) = (task.id.to_string(), Some((task.id.clone(), inputs)));
    let message = ApiMessage { text, agent, model, mode, task, ..ApiMessage::default() };
    messages::accept_message(site, &asked.caller, message, asked.once.as_deref())
}
