//! The addresses that a project's files name: model providers and MCP servers.
//!
//! They count only after the owner trusted each of them; until then the owner's providers are used.
//!
//! Must never: let a project's file send a prompt to an address that the owner has not trusted.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use agentry_runtime::definitions::project_loader::LoadedProject;
use agentry_runtime::providers;

use crate::address_trust::AddressTrust;
use crate::cli_context::CliContext;
use crate::diagnostics::escaped;
use crate::fault::Fault;

/// Returns a line for each address in a project's files that needs the owner's trust.
pub(crate) fn all(host: &CliContext, loaded: &LoadedProject) -> BTreeSet<String> {
    let providers = providers::of_project(&host.environment, &loaded.library.settings);
    let providers = providers.into_iter().map(|address| address.line);
    providers.chain(loaded.library.project_servers()).collect()
}

/// Shows the addresses of a project, each marked as trusted or new.
pub(crate) fn show(
    lines: &BTreeSet<String>,
    project: &Path,
    trusts: &AddressTrust,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let project = escaped(&project.display().to_string());
    writeln!(out, "Files of the project in {project} name these addresses:")?;
    for line in lines {
        let what = if trusts.contains(line) { "trusted" } else { "new" };
        writeln!(out, "  {what:<8} {}", escaped(line))?;
    }
    Ok(())
}
