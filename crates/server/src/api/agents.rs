//! Agents as their files define them: settings, prompt, tools, and diagnostics.
//!
//! Must never: present an agent that does not load like one that does.

use agentry_agentfile::agent::{Agent, Persona};
use agentry_agentfile::diagnostic::{Diagnostic, Severity};
use agentry_agentfile::file_tree::lies_in;
use agentry_frontend::agent_report::{self, rule_words};
use agentry_frontend::fault::Fault;
use agentry_frontend::{diagnostics, prompt_preview};
use agentry_kernel::prompt::{Section, SectionName, template_of};
use agentry_protocol::token::TokenScope;
use agentry_protocol::verdict::Verdict;
use agentry_runtime::definitions::definition_cache::DefinitionSnapshot;
use agentry_runtime::definitions::project_loader::{LoadedProject, rendered};
use agentry_runtime::definitions::trust;
use agentry_runtime::report::source_location::DefinitionLocation;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api_error::{ApiError, ApiErrorCode};
use crate::limits::API_FINDINGS_MAX;
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess};
use crate::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::Owner(TokenScope::Read);
    vec![
        ApiRoute::get("/api/agents", read, "All agents, and the diagnostics of the project", all),
        ApiRoute::get("/api/agents/{id}", read, "An agent's resolved definition and prompt", one),
    ]
}

/// All agents of the project.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentsResponse {
    /// Agents, by id, including those that do not load.
    pub(crate) agents: Vec<AgentSummary>,
    /// Diagnostics of the whole project.
    pub(crate) diagnostics: Vec<AgentDiagnostic>,
}

/// An agent in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentSummary {
    /// Id of the agent.
    pub(crate) id: String,
    /// Name of the agent.
    pub(crate) name: String,
    /// Description of its purpose.
    pub(crate) description: Option<String>,
    /// Path of its main file.
    pub(crate) file: String,
    /// Number of errors in its files; an agent with errors may not load.
    pub(crate) errors: usize,
    /// Number of warnings in its files.
    pub(crate) warnings: usize,
    /// True if the agent loads.
    pub(crate) loads: bool,
    /// True if the owner trusts the programs of the agent as they are now.
    pub(crate) trusted: bool,
    /// Model that the agent uses; null if none is available.
    pub(crate) model: Option<String>,
}

/// A diagnostic: an error, a warning or a note about a file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentDiagnostic {
    /// Code of the diagnostic; `agentry explain CODE` explains it.
    pub(crate) code: String,
    /// error, warning or note.
    pub(crate) severity: &'static str,
    /// Path of the file.
    pub(crate) file: String,
    /// Line, from one.
    pub(crate) line: usize,
    /// Column, from one.
    pub(crate) column: usize,
    /// Description of the problem.
    pub(crate) message: String,
    /// Suggested fix; null if there is none.
    pub(crate) help: Option<String>,
    /// Excerpt of the file with the position marked, as plain text.
    pub(crate) rendered: String,
}

/// An agent with its resolved definition.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentDetails {
    /// The agent.
    pub(crate) agent: AgentSummary,
    /// Resolved values, each with its origin; empty if the agent does not load.
    pub(crate) definition: Vec<DefinitionField>,
    /// Prompt at the start of a turn, section by section.
    pub(crate) sections: Vec<AgentPromptSection>,
    /// Reason why there is no prompt; null if there is one.
    pub(crate) prompt_problem: Option<String>,
    /// Diagnostics of its files.
    pub(crate) diagnostics: Vec<AgentDiagnostic>,
    /// Personas that it can use.
    pub(crate) personas: Vec<PersonaSummary>,
    /// Tools, each with the verdict of the agent's rules.
    pub(crate) tools: Vec<ToolSummary>,
    /// Skills of the agent.
    pub(crate) skills: Vec<DefinitionSummary>,
    /// Tasks that the agent can start.
    pub(crate) tasks: Vec<DefinitionSummary>,
}

/// A resolved value of an agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DefinitionField {
    /// Group of the value, such as models or approval.
    pub(crate) group: String,
    /// Name of the value.
    pub(crate) field: String,
    /// The value, as text.
    pub(crate) value: String,
    /// Place of the definition; null for a built-in or externally set value.
    pub(crate) origin: Option<DefinitionLocation>,
    /// Source of a value that no file defines.
    pub(crate) said_by: Option<String>,
}

/// A section of a prompt.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentPromptSection {
    /// Name of the section, for programs.
    pub(crate) name: &'static str,
    /// Title of the section, for people.
    pub(crate) title: String,
    /// Length in bytes.
    pub(crate) bytes: usize,
    /// Approximate number of tokens.
    pub(crate) tokens: usize,
    /// True if it belongs to the stable beginning of the prompt, which providers can cache.
    pub(crate) stable: bool,
    /// Text of the section.
    pub(crate) text: String,
    /// Place where the text begins; null if no file holds it.
    pub(crate) origin: Option<DefinitionLocation>,
    /// Reason why the section is omitted; null if it is not.
    pub(crate) left_out: Option<&'static str>,
}

/// A persona of an agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonaSummary {
    /// Id of the persona.
    pub(crate) id: String,
    /// Name of the persona.
    pub(crate) name: String,
    /// First line of its text.
    pub(crate) description: Option<String>,
    /// True if the agent uses it by default.
    pub(crate) is_default: bool,
}

/// A tool of an agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolSummary {
    /// Name of the tool.
    pub(crate) name: String,
    /// allow: no call needs approval; ask: some or all calls do; deny: the tool is not offered.
    pub(crate) verdict: String,
    /// Reason for the verdict.
    pub(crate) why: String,
}

/// A skill or a task in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DefinitionSummary {
    /// Id of the skill or task.
    pub(crate) id: String,
    /// Description of its purpose.
    pub(crate) description: Option<String>,
}

fn all(site: &ServerState, _: ApiRequest<NoParams>) -> Result<AgentsResponse, ApiError> {
    let definite = site.definition_cache.read()?;
    let library = &definite.loaded.library;
    let mut agents: Vec<AgentSummary> =
        library.agents.values().map(|agent| line(site, &definite, agent)).collect();
    let broken = library.broken_agents.iter();
    agents.extend(broken.map(|(id, file)| broken_line(&definite.loaded, id, file)));
    agents.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(AgentsResponse { agents, diagnostics: diagnostics(&definite.loaded, "") })
}

fn one(site: &ServerState, asked: ApiRequest<NoParams>) -> Result<AgentDetails, ApiError> {
    let definite = site.definition_cache.read()?;
    let (loaded, id) = (&definite.loaded, asked.part(0));
    if let Some(file) = loaded.library.broken_agents.get(id) {
        let diagnostics = diagnostics(loaded, directory_of(file));
        return Ok(AgentDetails {
            agent: broken_line(loaded, id, file),
            definition: Vec::new(),
            sections: Vec::new(),
            prompt_problem: Some("the agent does not load".to_owned()),
            diagnostics,
            personas: Vec::new(),
            tools: Vec::new(),
            skills: Vec::new(),
            tasks: Vec::new(),
        });
    }
    let agent = find_agent(&definite, id)?;
    let (sections, prompt_problem) = match sections(&definite, agent) {
        Ok(sections) => (sections, None),
        Err(fault) => (Vec::new(), Some(fault.plain())),
    };
    Ok(AgentDetails {
        agent: line(site, &definite, agent),
        definition: defined(&definite, agent),
        sections,
        prompt_problem,
        diagnostics: diagnostics(loaded, &agent.directory),
        personas: agent.personas.available.iter().map(|one| persona_line(agent, one)).collect(),
        tools: tools(agent),
        skills: skills(loaded, agent),
        tasks: tasks_of(loaded, agent),
    })
}

/// Returns the agent with this id; an error if it is unknown or does not load.
pub(super) fn find_agent<'a>(
    definite: &'a DefinitionSnapshot,
    id: &str,
) -> Result<&'a Agent, ApiError> {
    let library = &definite.loaded.library;
    match (library.agents.get(id), library.broken_agents.get(id)) {
        (Some(agent), _) => Ok(agent),
        (None, Some(file)) => {
            let text = format!("the agent `{id}` ({file}) does not load");
            Err(ApiError::new(ApiErrorCode::Conflict, text)
                .hint("GET /api/agents/{id} shows its diagnostics"))
        }
        (None, None) => {
            Err(ApiError::not_found("agent", id).hint("list them with GET /api/agents"))
        }
    }
}

fn line(site: &ServerState, definite: &DefinitionSnapshot, agent: &Agent) -> AgentSummary {
    let (errors, warnings) = counted(&definite.loaded, &agent.directory);
    let trusted = trust::check_one(&site.parts.ledger, &definite.definitions, agent).is_ok();
    AgentSummary {
        id: agent.id.to_string(),
        name: agent.identity.name.value.clone(),
        description: agent.identity.description.as_ref().map(|text| text.value.clone()),
        file: first_file(agent),
        errors,
        warnings,
        loads: true,
        trusted,
        model: site.definition_cache.choice(definite, Some(agent)).ok().map(|choice| choice.model),
    }
}

fn broken_line(loaded: &LoadedProject, id: &str, file: &str) -> AgentSummary {
    let (errors, warnings) = counted(loaded, directory_of(file));
    AgentSummary {
        id: id.to_owned(),
        name: id.to_owned(),
        description: None,
        file: file.to_owned(),
        errors,
        warnings,
        loads: false,
        trusted: false,
        model: None,
    }
}

/// Returns the path of the file that a person would open first.
fn first_file(agent: &Agent) -> String {
    let name = &agent.identity.name.origin;
    let instructions = agent.texts.instructions.iter().map(|text| &text.origin);
    let mut places = std::iter::once(name).chain(instructions);
    let own = places.find(|origin| origin.line > 0 && lies_in(&origin.file, &agent.directory));
    own.map_or_else(|| agent.directory.clone(), |origin| origin.file.to_string())
}

/// Returns the directory of an agent that does not load, from the path of its file.
pub(super) fn directory_of(file: &str) -> &str {
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
    directory.trim_end_matches("context").trim_end_matches('/')
}

fn of_directory<'a>(
    loaded: &'a LoadedProject,
    directory: &'a str,
) -> impl Iterator<Item = &'a Diagnostic> {
    loaded.findings.sorted().into_iter().filter(move |one| lies_in(&one.file, directory))
}

fn counted(loaded: &LoadedProject, directory: &str) -> (usize, usize) {
    of_directory(loaded, directory).fold((0, 0), |(errors, warnings), one| match one.severity {
        Severity::Error => (errors + 1, warnings),
        Severity::Warning => (errors, warnings + 1),
        Severity::Note => (errors, warnings),
    })
}

fn diagnostics(loaded: &LoadedProject, directory: &str) -> Vec<AgentDiagnostic> {
    let found = of_directory(loaded, directory).take(API_FINDINGS_MAX);
    found
        .map(|one| AgentDiagnostic {
            code: one.code.as_str().to_owned(),
            severity: match one.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            file: one.file.to_string(),
            line: one.line,
            column: one.column,
            message: one.message.clone(),
            help: one.help.clone(),
            rendered: diagnostics::plain(&loaded.findings, one),
        })
        .collect()
}

fn defined(definite: &DefinitionSnapshot, agent: &Agent) -> Vec<DefinitionField> {
    let redactor = &definite.definitions.redactor;
    let parts = agent_report::of(&definite.loaded.library, agent);
    let mut all = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        // The title of the first part is the id of the agent.
        let group = if at == 0 { "agent".to_owned() } else { part.title };
        all.extend(part.lines.into_iter().map(|line| DefinitionField {
            group: group.clone(),
            field: line.name,
            value: redactor.hide(&line.value),
            origin: line.origin.as_ref().and_then(DefinitionLocation::from_origin),
            said_by:
                line.origin.filter(|origin| origin.line == 0).map(|origin| origin.file.to_string()),
        }));
    }
    all
}

fn sections(
    definite: &DefinitionSnapshot,
    agent: &Agent,
) -> Result<Vec<AgentPromptSection>, Fault> {
    let (library, definitions) = (&definite.loaded.library, &definite.definitions);
    let wanted = library.settings.config.agent.persona.as_deref();
    let (prompt, persona) = prompt_preview::of(library, agent, wanted, |persona| {
        let mut renderer = definitions.renderer.lock().unwrap_or_else(|one| one.into_inner());
        Ok(rendered(&mut renderer, agent, persona)?)
    })?;
    let moves = |section: &Section| !section.stable && section.left_out.is_none();
    let end = prompt.sections.iter().position(moves).unwrap_or(prompt.sections.len());
    let section = |(at, section): (usize, &Section)| AgentPromptSection {
        name: section.name.as_str(),
        title: title(section.name, persona),
        bytes: section.bytes,
        tokens: section.tokens,
        stable: at < end && section.left_out.is_none(),
        text: definitions.redactor.hide(&section.text),
        origin: begins(section.name, agent, persona),
        left_out: section.left_out,
    };
    Ok(prompt.sections.iter().enumerate().map(section).collect())
}

fn title(name: SectionName, persona: Option<&Persona>) -> String {
    match (name, persona) {
        (SectionName::Soul, Some(persona)) => format!("Soul of {}", persona.id),
        (SectionName::Soul, None) => "Soul".to_owned(),
        (SectionName::Instructions, _) => "Instructions".to_owned(),
        (SectionName::User, _) => "User".to_owned(),
        (SectionName::Template, _) => "Template".to_owned(),
        (SectionName::Tools, _) => "Tools".to_owned(),
        (SectionName::Skills, _) => "Skills".to_owned(),
        (SectionName::Rules, _) => "Workspace rules".to_owned(),
        (SectionName::HookOutput, _) => "Output of hooks".to_owned(),
    }
}

/// Returns the place where the text of a section begins.
fn begins(
    name: SectionName,
    agent: &Agent,
    persona: Option<&Persona>,
) -> Option<DefinitionLocation> {
    let texts = &agent.texts;
    let text = match name {
        SectionName::Instructions => texts.instructions.as_ref(),
        SectionName::Soul => {
            persona.and_then(|persona| persona.soul.as_ref()).or(texts.soul.as_ref())
        }
        SectionName::User => texts.user.as_ref(),
        SectionName::Template => template_of(agent, persona),
        SectionName::Rules => texts.rules.as_ref(),
        SectionName::Tools | SectionName::Skills | SectionName::HookOutput => None,
    };
    text.and_then(|text| DefinitionLocation::from_origin(&text.origin))
}

fn persona_line(agent: &Agent, persona: &Persona) -> PersonaSummary {
    let default = agent.personas.default.as_ref().map(|default| &default.value);
    let soul = persona.soul.as_ref().map(|soul| soul.value.as_str()).unwrap_or_default();
    let mut lines = soul.lines().map(|line| line.trim_start_matches('#').trim());
    PersonaSummary {
        id: persona.id.to_string(),
        name: persona.id.to_string(),
        description: lines.find(|line| !line.is_empty()).map(str::to_owned),
        is_default: default == Some(&persona.id),
    }
}

fn tools(agent: &Agent) -> Vec<ToolSummary> {
    let powers = &agent.powers;
    let offered = powers.toolset.iter().map(|tool| {
        let (verdict, why) = ruled(agent, tool.name.as_str());
        ToolSummary { name: tool.name.to_string(), verdict: verdict.to_string(), why }
    });
    let left_out = powers.left_out.iter().map(|one| ToolSummary {
        name: one.name.clone(),
        verdict: Verdict::Deny.to_string(),
        why: one.why.clone(),
    });
    offered.chain(left_out).collect()
}

/// Returns the agent rules' verdict on a tool without a call; the first matching rule counts.
fn ruled(agent: &Agent, tool: &str) -> (Verdict, String) {
    let mut words = Vec::new();
    let mut goes_ahead = true;
    let rules = agent.powers.tool_rules.iter().filter(|rule| rule.subject == tool);
    for rule in rules {
        words.push(format!("{} ({})", rule_words(rule), rule.origin));
        goes_ahead &= rule.allow;
        if rule.when.is_empty() {
            let verdict = if goes_ahead { Verdict::Allow } else { Verdict::Ask };
            return (verdict, words.join("; "));
        }
    }
    words.push("any other call needs approval".to_owned());
    (Verdict::Ask, words.join("; "))
}

fn skills(loaded: &LoadedProject, agent: &Agent) -> Vec<DefinitionSummary> {
    let one = |id: &str| {
        let skill = loaded.library.skill(agent, id);
        let description = skill.map(|skill| skill.description.value.clone());
        DefinitionSummary { id: id.to_owned(), description }
    };
    agent.skills.iter().map(|id| one(id.value.as_str())).collect()
}

fn tasks_of(loaded: &LoadedProject, agent: &Agent) -> Vec<DefinitionSummary> {
    let one = |id: &str| {
        let task = loaded.library.tasks.get(id);
        let description = task.and_then(|task| task.description.as_ref());
        DefinitionSummary {
            id: id.to_owned(),
            description: description.map(|text| text.value.clone()),
        }
    };
    agent.tasks.iter().map(|id| one(id.value.as_str())).collect()
}
