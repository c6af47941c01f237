//! `agentry show prompt`: the sections of a prompt, their bytes and tokens, and the text.
//!
//! Equal files give equal bytes, on every machine.
//!
//! Must never: add a byte to the prompt that a model would not see.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use agentry_agentfile::agent::{Agent, Persona};
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::prompt::Prompt;
use clap::Args;
use serde_json::json;

use super::{AgentSelection, OutputFormat, show_agent};
use crate::cli_context::CliContext;
use crate::diagnostics;
use crate::fault::Fault;
use crate::prompt_preview;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    which: AgentSelection,
    /// The persona to use
    #[arg(long)]
    persona: Option<String>,
    /// Print only the text of the prompt
    #[arg(long, conflicts_with = "format")]
    raw: bool,
    /// Output format of the prompt
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let loaded = host.load(&options.which.dir, SkillLevel::Extended)?;
    let agent = show_agent::choose(&loaded, &options.which)?;
    let wanted =
        options.persona.as_deref().or(loaded.library.settings.config.agent.persona.as_deref());
    let (prompt, persona) =
        prompt_preview::of(&loaded.library, agent, wanted, |persona| host.render(agent, persona))?;
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => {
            let mut value = json!(prompt);
            value["agent"] = json!(agent.id);
            value["persona"] = json!(persona.map(|persona| &persona.id));
            value["text"] = json!(prompt.text());
            writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        }
        // Exactly the bytes that a model would see; escaped for terminals only.
        OutputFormat::Text if options.raw && !io::stdout().is_terminal() => {
            io::stdout().write_all(prompt.text().as_bytes())?;
        }
        OutputFormat::Text if options.raw => out.write_all(prompt.text().as_bytes())?,
        OutputFormat::Text => page(&prompt, agent, persona, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn page(
    prompt: &Prompt,
    agent: &Agent,
    persona: Option<&Persona>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let bold = anstyle::Style::new().bold();
    let dim = anstyle::Style::new().dimmed();
    let voice = persona.map(|persona| format!(" as {}", persona.id)).unwrap_or_default();
    writeln!(out, "{bold}prompt of {}{voice}{bold:#}", agent.id)?;
    writeln!(out, "  {:<14} {:>7} {:>7}  {:<6}  source", "section", "bytes", "tokens", "stable")?;
    let (mut bytes, mut tokens) = (0, 0);
    for section in &prompt.sections {
        let name = section.name.as_str();
        match section.left_out {
            Some(why) => {
                writeln!(out, "  {dim}{name:<14} {:>7} {:>7}  {:<6}  {why}{dim:#}", "-", "-", "-")?
            }
            None => {
                let stable = if section.stable { "yes" } else { "no" };
                let source =
                    diagnostics::visible_line(section.source.as_deref().unwrap_or("built"));
                writeln!(
                    out,
                    "  {name:<14} {:>7} {:>7}  {stable:<6}  {source}",
                    section.bytes, section.tokens
                )?;
                bytes += section.bytes;
                tokens += section.tokens;
            }
        }
    }
    writeln!(out, "  {:<14} {bytes:>7} {tokens:>7}", "sum")?;
    writeln!(out, "  stable beginning: {} bytes, {}", prompt.stable_bytes, prompt.stable_hash)?;
    for section in prompt.sections.iter().filter(|section| section.left_out.is_none()) {
        writeln!(
            out,
            "\n{dim}──── {}{dim:#}\n{}",
            section.name.as_str(),
            diagnostics::visible(&section.text)
        )?;
    }
    Ok(())
}
