//! `agentry schema <kind>`: the JSON Schema of a definition file, or the OpenAPI document.
//!
//! Must never: print another schema than `check` applies.

use std::io::Write;
use std::process::ExitCode;

use agentry_agentfile::schema::FileKind;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::fault::{Blame, Fault};

#[derive(Args)]
pub(crate) struct Options {
    /// The kind of file, or `api` for the OpenAPI document
    #[arg(value_parser = PossibleValuesParser::new(kinds()))]
    kind: String,
}

/// The kind that prints the OpenAPI document of the server.
const API: &str = "api";

fn kinds() -> impl Iterator<Item = &'static str> {
    FileKind::PUBLISHED.into_iter().map(|(name, _)| name).chain([API])
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Fault> {
    if options.kind == API {
        let document = serde_json::to_string_pretty(&agentry_server::document())?;
        writeln!(crate::output::stdout(), "{document}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let kind = FileKind::PUBLISHED.into_iter().find(|(name, _)| *name == options.kind);
    let (_, kind) = kind.ok_or_else(|| Fault::new(Blame::Us, "the kind of file has no schema"))?;
    let mut out = crate::output::stdout().lock();
    writeln!(out, "{}", serde_json::to_string_pretty(&kind.schema())?)?;
    Ok(ExitCode::SUCCESS)
}
