//! The templates of an agent program, and whether what they name exists.
//!
//! Must never: render a template; see `library`.

use crate::agent::Values;
use crate::diagnostic::Findings;
use crate::file_tree::FileTree;
use crate::source::Source;
use crate::template::{self, Facts, Variables};

/// The texts of the root template and those of the personas.
pub(crate) fn sources(tree: &FileTree) -> Vec<Source> {
    let personas = tree.directories_in("personas").into_iter();
    let paths = personas.map(|persona| format!("personas/{persona}/system.md.liquid"));
    let paths = std::iter::once("prompts/system.md.liquid".to_owned()).chain(paths);
    // What is wrong with them as texts is reported where they are read.
    paths.filter_map(|path| tree.text(&path, &mut Findings::default())).collect()
}

/// Notes a finding for each variable that does not exist or changes from turn to turn.
pub(super) fn check(tree: &FileTree, values: &Values, findings: &mut Findings) {
    let facts = match &values.facts {
        Some(facts) => Facts::Some(&facts.value),
        None if findings.has_errors_in(&tree.shown("data/facts.yml")) => Facts::Unknown,
        None => Facts::None,
    };
    let args = values.args.keys().map(String::as_str).collect();
    let variables = Variables { facts, args };
    for source in sources(tree) {
        template::check(&source, &variables, findings);
    }
}
