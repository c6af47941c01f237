//! Tasks: what there is to do, and having it done.
//!
//! Must never: begin a task without something that it needs.

use std::collections::BTreeMap;

use agentry_protocol::token::TokenScope;
use agentry_runtime::plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::messages::{self, ApiMessage, BY_MODE, MessageReceipt};
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiRoute, NoParams, RouteAccess};
use crate::http::state::ServerState;
use crate::http::supervision::{ModeSchema, RequestedMode};

pub(crate) fn routes() -> Vec<ApiRoute> {
    let submit = RouteAccess::Owner(TokenScope::Submit);
    vec![
        ApiRoute::get("/api/tasks", RouteAccess::Owner(TokenScope::Read), "All tasks", tasks),
        ApiRoute::post(
            "/api/tasks/{id}/runs",
            submit,
            "Have a task done, in a session of its own",
            run,
        )
        .supervision(BY_MODE)
        .status(202),
    ]
}

/// Tasks.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TasksResponse {
    /// All that load.
    pub(crate) tasks: Vec<TaskSummary>,
}

/// One task.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskSummary {
    /// Its id.
    pub(crate) id: String,
    /// The agent of its first step; null means the one that is asked.
    pub(crate) agent: Option<String>,
    /// What it does.
    pub(crate) description: Option<String>,
    /// What it is given.
    pub(crate) inputs: Vec<TaskInput>,
}

/// An input of a task.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskInput {
    /// Its name.
    pub(crate) name: String,
    /// What it is.
    pub(crate) description: String,
    /// The value when none is given; without it the input is required.
    pub(crate) default: Option<String>,
}

/// What a task is to be done with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TaskRunBody {
    /// Its inputs, by name; those with a default may be left out.
    #[serde(default)]
    inputs: BTreeMap<String, String>,
    /// Who does the steps that name nobody.
    agent: Option<String>,
    /// The model.
    model: Option<String>,
    /// The mode; `wiggum` needs a key that opens `approve`.
    #[schemars(with = "Option<ModeSchema>")]
    mode: Option<RequestedMode>,
}

fn tasks(site: &ServerState, _: ApiRequest<NoParams>) -> Result<TasksResponse, ApiError> {
    let definite = site.reception.read()?;
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
    let definite = site.reception.read()?;
    let (library, id) = (&definite.loaded.library, asked.part(0));
    if let Some(file) = library.broken_tasks.get(id) {
        return Err(ApiError::conflict(format!("the task `{id}` ({file}) does not load"))
            .hint("`agentry check` shows what is wrong with it"));
    }
    let task = library
        .tasks
        .get(id)
        .ok_or_else(|| ApiError::not_found("task", id).hint("list them with GET /api/tasks"))?;
    let TaskRunBody { inputs, agent, model, mode } = asked.body;
    plan::inputs(Some(task), &inputs)?;
    // The task says who, unless somebody says otherwise.
    let first = task.steps.first().and_then(|step| step.agent.as_ref());
    let agent = agent.or_else(|| first.map(|agent| agent.value.to_string()));
    let (text, task) = (task.id.to_string(), Some((task.id.clone(), inputs)));
    let message = ApiMessage { text, agent, model, mode, task, ..ApiMessage::default() };
    messages::accept_message(site, &asked.caller, message, asked.once.as_deref())
}
