//! `agentry schema <kind>`: the JSON Schema of a definition file.
//!
//! Must never: print another schema than `check` applies.

use std::io::Write;
use std::process::ExitCode;

use agentry_agentfile::schema::FileKind;
use clap::{Args, ValueEnum};

use crate::fault::Fault;

#[derive(Args)]
pub(crate) struct Options {
    /// The kind of file
    kind: Kind,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// The front matter of AGENT.md
    Agent,
    /// agent.yml
    AgentYml,
    /// The front matter of SKILL.md
    Skill,
    /// The front matter of TASK.md
    Task,
    /// The front matter of a later step
    Step,
    /// tools/<name>.yml
    Tool,
    /// context/tool-access.json
    ToolAccess,
    /// agentry.toml
    Config,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Fault> {
    let kind = match options.kind {
        Kind::Agent => FileKind::Agent,
        Kind::AgentYml => FileKind::AgentYml,
        Kind::Skill => FileKind::Skill,
        Kind::Task => FileKind::Task,
        Kind::Step => FileKind::Step,
        Kind::Tool => FileKind::Tool,
        Kind::ToolAccess => FileKind::ToolAccess,
        Kind::Config => FileKind::Config,
    };
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", serde_json::to_string_pretty(&kind.schema())?)?;
    Ok(ExitCode::SUCCESS)
}
