//! `agentry schema <kind>`: the JSON Schema of a definition file.
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
    /// The kind of file
    #[arg(value_parser = PossibleValuesParser::new(FileKind::PUBLISHED.map(|(name, _)| name)))]
    kind: String,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Fault> {
    let kind = FileKind::PUBLISHED.into_iter().find(|(name, _)| *name == options.kind);
    let (_, kind) = kind.ok_or_else(|| Fault::new(Blame::Us, "the kind of file has no schema"))?;
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", serde_json::to_string_pretty(&kind.schema())?)?;
    Ok(ExitCode::SUCCESS)
}
