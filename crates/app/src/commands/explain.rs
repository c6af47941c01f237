//! `agentry explain <code>`: the page of a diagnostic code.
//!
//! Must never: lack a page for a code (`tidy` checks).

use std::io::Write;
use std::process::ExitCode;

use agentry_agentfile::diagnostic::suggestion;
use agentry_agentfile::diagnostic_code::DiagnosticCode;
use clap::Args;
use rust_embed::RustEmbed;

use crate::fault::{Blame, Fault};

#[derive(RustEmbed)]
#[folder = "../../docs/errors"]
struct ErrorPages;

#[derive(Args)]
pub(crate) struct Options {
    /// The code, such as E0401 [default: list all codes]
    code: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Fault> {
    let mut out = crate::output::stdout().lock();
    let Some(written) = &options.code else {
        for code in DiagnosticCode::ALL {
            writeln!(out, "{code}  {}", code.title())?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let known: Vec<&str> = DiagnosticCode::ALL.iter().map(|code| code.as_str()).collect();
    let code = DiagnosticCode::parse(written).ok_or_else(|| {
        Fault::new(Blame::Caller, format!("there is no code `{written}`"))
            .hint(format!("`agentry explain` lists all codes; {}", suggestion(written, &known)))
    })?;
    let page = ErrorPages::get(&format!("{code}.md"))
        .ok_or_else(|| Fault::new(Blame::Us, format!("the page of {code} is missing")))?;
    writeln!(out, "{}", String::from_utf8_lossy(&page.data).trim_end())?;
    Ok(ExitCode::SUCCESS)
}
