//! A chat on a terminal that can only write lines: one run per prompt.
//!
//! Must never: write a control sequence to the terminal.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use agentry_frontend::fault::Fault;

use super::ChatSetup;

/// Runs a chat line by line.
pub(crate) fn run(opened: ChatSetup) -> Result<ExitCode, Fault> {
    let mut out = agentry_frontend::output::stderr();
    let talk = opened.talk;
    writeln!(out, "agentry: {} in {}", talk.agent, talk.workspace().display())?;
    for note in &opened.notes {
        writeln!(out, "{note}")?;
    }
    writeln!(out, "This terminal supports lines only. /quit ends the chat.")?;
    loop {
        write!(out, "> ")?;
        out.flush()?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => return Ok(ExitCode::SUCCESS),
            command if command.starts_with('/') => {
                writeln!(
                    out,
                    "Commands need a terminal that can move its cursor; only /quit works here."
                )?;
            }
            prompt => {
                let order =
                    talk.order(super::files::resolved(prompt, talk.workspace()), Vec::new());
                if let Err(fault) = (opened.surface.show_run)(&talk.engine, order) {
                    writeln!(out, "{fault}")?;
                }
            }
        }
    }
}
