//! The templates of an agent program, and the check of their variables.
//!
//! Must never: render a template; see `library`.

use crate::agent::AgentValues;
use crate::diagnostic::Findings;
use crate::file_tree::{FileTree, ReadRefusal};
use crate::source::SourceText;
use crate::template::{self, TemplateFacts, TemplateVariables};

/// Returns the texts of the root template and those of the personas.
pub(crate) fn sources(tree: &FileTree) -> Vec<SourceText> {
    let personas = tree.directories_in("personas").into_iter();
    let paths = personas.map(|persona| format!("personas/{persona}/system.md.liquid"));
    let paths = std::iter::once("prompts/system.md.liquid".to_owned()).chain(paths);
    // Defects of their encoding are reported where the files are read.
    paths.filter_map(|path| tree.text(&path, &mut Findings::default())).collect()
}

/// Adds a finding for each entry with a name similar to one that is read.
pub(super) fn report_misnamed(tree: &FileTree, findings: &mut Findings) {
    let mut look = |directory: &str, read: &[&str], is_near: &dyn Fn(&str) -> bool, meant: &str| {
        for (name, _) in tree.files_in(directory).filter(|(name, _)| !read.contains(name)) {
            if is_near(&name.to_lowercase()) {
                let (code, text) = ReadRefusal::Misnamed(meant.to_owned()).diagnostic();
                findings.about(code, tree.display_path(&format!("{directory}/{name}")), text);
            }
        }
    };
    let template: &dyn Fn(&str) -> bool =
        &|name| name.contains("liquid") || name.starts_with("system.");
    let soul: &dyn Fn(&str) -> bool = &|name| name.starts_with("soul");
    look("prompts", &["system.md.liquid"], template, "system.md.liquid");
    look("data", &["facts.yml"], &|name| name.starts_with("fact"), "facts.yml");
    look("data", &["lorebook.yml"], &|name| name.starts_with("lorebook"), "lorebook.yml");
    for persona in tree.directories_in("personas") {
        let directory = format!("personas/{persona}");
        look(&directory, &["system.md.liquid"], template, "system.md.liquid");
        look(&directory, &["SOUL.md"], soul, "SOUL.md");
    }
}

/// Adds a finding for each variable that does not exist or changes from turn to turn.
pub(super) fn check(tree: &FileTree, values: &AgentValues, findings: &mut Findings) {
    let facts = match &values.facts {
        Some(facts) => TemplateFacts::Some(&facts.value),
        None if findings.has_errors_in(&tree.display_path("data/facts.yml")) => {
            TemplateFacts::Unknown
        }
        None => TemplateFacts::None,
    };
    let args = values.args.keys().map(String::as_str).collect();
    let variables = TemplateVariables { facts, args };
    for source in sources(tree) {
        template::check(&source, &variables, findings);
    }
}
