//! `personas/`: the personas that an agent may wear.
//!
//! A persona's SOUL.md and template replace the root ones, each on its own.
//!
//! Must never: give a persona any power. It is a voice.

use agentry_protocol::PersonaId;

use crate::agent::{AgentPersonas, Persona};
use crate::diagnostic::{DiagnosticCode, FindingText, Findings, suggestion};
use crate::file_tree::FileTree;
use crate::manifest::agent_yml::AgentYml;
use crate::markdown;
use crate::schema::ManifestFile;

/// Returns the personas that agent.yml lists.
pub(super) fn read(
    tree: &FileTree,
    yml: Option<&ManifestFile<AgentYml>>,
    findings: &mut Findings,
) -> AgentPersonas {
    let folders = tree.directories_in("personas");
    let Some(yml) = yml else { return AgentPersonas::default() };
    let Some(written) = &yml.manifest.personas else {
        if !yml.lost("/personas") {
            report_unlisted(tree, &folders, &[], findings);
        }
        return AgentPersonas::default();
    };
    let mut available: Vec<Persona> = Vec::new();
    for (at, name) in written.available.iter().enumerate() {
        let span = yml.span(&format!("/personas/available/{at}"));
        if available.iter().any(|known| known.id.as_str() == name) {
            let text =
                FindingText::new(format!("`{name}` is listed twice")).help("remove one of the two");
            findings.at(DiagnosticCode::ListedTwice, &yml.source, span, text);
            continue;
        }
        if !folders.contains(&name.as_str()) {
            let text = FindingText::new(format!("there is no directory personas/{name}"))
                .help(suggestion(name, &folders));
            findings.at(DiagnosticCode::UnknownPersona, &yml.source, span, text);
            continue;
        }
        let text_of = |file: &str, findings: &mut Findings| {
            let path = format!("personas/{name}/{file}");
            tree.get(&path).is_some().then(|| markdown::plain(tree, &path, findings)).flatten()
        };
        let soul = text_of("SOUL.md", findings);
        let template = text_of("system.md.liquid", findings);
        if soul.is_none() && template.is_none() {
            let text = FindingText::new(format!(
                "personas/{name} has neither SOUL.md nor system.md.liquid"
            ))
            .help("write one of them");
            findings.at(DiagnosticCode::PersonaEmpty, &yml.source, span, text);
        }
        let origin = yml.origin(&format!("/personas/available/{at}"));
        available.push(Persona { id: PersonaId::new(name), soul, template, origin });
    }
    if yml.lost("/personas") {
        return AgentPersonas { available, ..AgentPersonas::default() };
    }
    report_unlisted(tree, &folders, &written.available, findings);
    let default = written.default.as_deref().and_then(|name| {
        if written.available.iter().any(|known| known == name) {
            return Some(yml.sourced("/personas/default", PersonaId::new(name)));
        }
        let known: Vec<&str> = written.available.iter().map(String::as_str).collect();
        let text = FindingText::new(format!("the default persona `{name}` is not in `available`"))
            .help(format!("null means the root SOUL.md; {}", suggestion(name, &known)));
        findings.at(
            DiagnosticCode::UnknownPersona,
            &yml.source,
            yml.span("/personas/default"),
            text,
        );
        None
    });
    let router = match written.router {
        Some(router) => yml.sourced("/personas/router", router),
        None => AgentPersonas::default().router,
    };
    AgentPersonas { default, router, available }
}

fn report_unlisted(tree: &FileTree, folders: &[&str], listed: &[String], findings: &mut Findings) {
    for folder in folders.iter().filter(|folder| !listed.iter().any(|name| name == *folder)) {
        let text = FindingText::new(format!("the persona `{folder}` is here but cannot be worn"))
            .help(format!("add `{folder}` to `personas.available` in agent.yml"));
        findings.about(
            DiagnosticCode::PersonaNotListed,
            tree.display_path(&format!("personas/{folder}")),
            text,
        );
    }
}
