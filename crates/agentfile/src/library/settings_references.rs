//! Checks that the settings name an agent and a persona that exist.
//!
//! Must never: change the library.

use crate::config::Settings;
use crate::diagnostic::{DiagnosticCode, FindingText, Findings, suggestion};
use crate::name_index::{DefinitionHealth, NameIndex};

use super::Library;

/// Reports the references of the settings that are broken.
pub(super) fn check(
    settings: &Settings,
    index: &NameIndex,
    library: &Library,
    findings: &mut Findings,
) {
    check_persona(settings, library, findings);
    check_default_agent(settings, index, findings);
}

/// Checks that the persona of the settings is one of an agent's.
fn check_persona(settings: &Settings, library: &Library, findings: &mut Findings) {
    let Some(persona) = &settings.config.agent.persona else { return };
    let agents = library.agents.values();
    let known: Vec<&str> = agents
        .flat_map(|agent| agent.personas.available.iter().map(|persona| persona.id.as_str()))
        .collect();
    if !library.agents.is_empty() && !known.contains(&persona.as_str()) {
        let text = FindingText::new(format!("no agent here has the persona `{persona}`"))
            .help(suggestion(persona, &known));
        settings.report(DiagnosticCode::UnknownPersona, "/agent/persona", text, findings);
    }
}

fn check_default_agent(settings: &Settings, index: &NameIndex, findings: &mut Findings) {
    let Some(default) = &settings.config.agent.default else { return };
    let pointer = "/agent/default";
    match index.agents.get(default) {
        Some(DefinitionHealth::Valid) => {}
        Some(DefinitionHealth::Broken(file)) => {
            let text = FindingText::new(format!("the default agent `{default}` does not load"))
                .help(format!("mend {file} first"));
            settings.report(DiagnosticCode::BrokenReference, pointer, text, findings);
        }
        None => {
            let known: Vec<&str> = index.agents.keys().map(String::as_str).collect();
            let text = FindingText::new(format!("no agent has the id `{default}`"))
                .help(suggestion(default, &known));
            settings.report(DiagnosticCode::UnknownAgent, pointer, text, findings);
        }
    }
}
