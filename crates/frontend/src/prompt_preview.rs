//! The prompt of an agent from its files alone, before any turn.
//!
//! Must never: add a byte to the prompt that a model would not see.

use agentry_agentfile::agent::{Agent, Persona};
use agentry_agentfile::diagnostic::suggestion;
use agentry_agentfile::library::Library;
use agentry_kernel::prompt::{Prompt, PromptSources, assemble};

use crate::fault::{Blame, Fault};

/// Returns the prompt, and its persona: the wanted one, else the agent's default.
pub fn of<'a>(
    library: &Library,
    agent: &'a Agent,
    wanted: Option<&str>,
    render: impl FnOnce(Option<&Persona>) -> Result<Option<String>, Fault>,
) -> Result<(Prompt, Option<&'a Persona>), Fault> {
    let persona = persona(agent, wanted)?;
    let template = render(persona)?;
    let skills = agent.skills.iter().filter_map(|id| library.skill(agent, id.value.as_str()));
    let prompt = assemble(&PromptSources {
        agent,
        persona,
        skills: skills.collect(),
        template: template.as_deref(),
        hook_output: None,
    });
    Ok((prompt, persona))
}

fn persona<'a>(agent: &'a Agent, wanted: Option<&str>) -> Result<Option<&'a Persona>, Fault> {
    let default = agent.personas.default.as_ref().map(|default| default.value.as_str());
    let Some(name) = wanted.or(default) else { return Ok(None) };
    let available = &agent.personas.available;
    let found = available.iter().find(|persona| persona.id.as_str() == name);
    found.map(Some).ok_or_else(|| {
        let known: Vec<&str> = available.iter().map(|persona| persona.id.as_str()).collect();
        Fault::new(Blame::Caller, format!("the agent `{}` has no persona `{name}`", agent.id))
            .hint(suggestion(name, &known))
    })
}
