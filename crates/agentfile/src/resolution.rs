//! The surroundings against which an agent is resolved, and the parts that its forms share.
//!
//! Must never: know the files of one form of agent; `program`, `pack` and `context_folder` do.

use std::collections::{BTreeMap, HashSet};

use agentry_protocol::{SkillId, TaskId};

use crate::agent::AgentModels;
use crate::config::Settings;
use crate::manifest::agent_md::AgentMd;
use crate::name_index::{DefinitionHealth, NameIndex};
use crate::schema::ManifestFile;
use crate::scope::{DefinitionScope, NameSelection};
use crate::skill::SkillLevel;
use crate::source::{Origin, SourcedValue};

/// The names and settings against which an agent is resolved.
pub struct ResolveContext<'a> {
    /// All names that a reference may use.
    pub index: &'a NameIndex,
    /// The project's and the user's settings.
    pub settings: &'a Settings,
    /// The environment variables that limit the tools.
    pub environment: &'a BTreeMap<String, String>,
    /// The strictness for skills.
    pub level: SkillLevel,
    /// The rules of the workspace.
    pub rules: Option<&'a SourcedValue<String>>,
}

/// Returns the models that the front matter names.
pub(crate) fn models_of(doc: &ManifestFile<AgentMd>) -> AgentModels {
    let manifest = &doc.manifest;
    let allowed = manifest.allowed_models.iter().enumerate();
    AgentModels {
        candidates: manifest.model.iter().map(|name| doc.sourced("/model", name.clone())).collect(),
        allowed: allowed
            .map(|(at, name)| doc.sourced(&format!("/allowed_models/{at}"), name.clone()))
            .collect(),
        bound: manifest.model.is_some() || !manifest.allowed_models.is_empty(),
        temperature: manifest.temperature.map(|value| doc.sourced("/temperature", value)),
        max_tokens: manifest.max_tokens.map(|value| doc.sourced("/max_tokens", value)),
    }
}

/// Returns the models without repetitions; the first of equals stays.
pub(crate) fn each_once(models: Vec<SourcedValue<String>>) -> Vec<SourcedValue<String>> {
    let mut seen = HashSet::new();
    models.into_iter().filter(|model| seen.insert(model.value.clone())).collect()
}

/// Returns the skills of a scope that load.
pub(crate) fn skills_of(scope: &DefinitionScope, index: &NameIndex) -> Vec<SourcedValue<SkillId>> {
    let ids = chosen(&scope.skills, &index.skills);
    ids.into_iter().map(|(id, origin)| SourcedValue::new(SkillId::new(id), origin)).collect()
}

/// Returns the tasks of a scope that load.
pub(crate) fn tasks_of(scope: &DefinitionScope, index: &NameIndex) -> Vec<SourcedValue<TaskId>> {
    let ids = chosen(&scope.tasks, &index.tasks);
    ids.into_iter().map(|(id, origin)| SourcedValue::new(TaskId::new(id), origin)).collect()
}

fn chosen(
    choice: &NameSelection,
    known: &BTreeMap<String, DefinitionHealth>,
) -> Vec<(String, Origin)> {
    let good = |id: &str| known.get(id) == Some(&DefinitionHealth::Valid);
    let mut ids: Vec<(String, Origin)> = choice
        .names
        .iter()
        .filter(|name| good(&name.value))
        .map(|name| (name.value.clone(), name.origin.clone()))
        .collect();
    if choice.inherit {
        let named: HashSet<String> = ids.iter().map(|(id, _)| id.clone()).collect();
        let inherited = known.keys().filter(|id| good(id) && !named.contains(*id));
        ids.extend(inherited.map(|id| (id.clone(), Origin::named("inherit"))));
    }
    ids
}
