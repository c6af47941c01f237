//! The binary: reads the command line, calls a verb, turns what came of it into an exit code.
//!
//! Must never: hold logic. What a verb does stands in its file; what is decided stands in the kernel.

mod access;
mod addresses;
mod asked;
mod channels;
mod chat;
mod choice;
mod enforce;
mod engine;
mod env;
mod fault;
mod foreign_tree;
mod host;
mod http;
mod image;
mod interrupt;
mod known;
mod limits;
mod lines;
mod output;
mod programs;
mod progress;
mod prompt;
mod providers;
mod reception;
mod render;
mod resolved;
mod secret;
mod stage;
mod trees;
mod trust;
mod verb;
mod zone;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use verb::Cli;

fn main() -> ExitCode {
    // The template process is this binary too; it must not read any settings.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == agentry_runtime::template_process::VERB)
    {
        let served = agentry_runtime::template_process::serve(
            std::io::stdin().lock(),
            std::io::stdout().lock(),
        );
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    // So is the helper that starts sandboxes.
    if std::env::args_os().nth(1).is_some_and(|word| word == agentry_sandbox::helper::VERB) {
        let served = agentry_sandbox::helper::serve(&enforce::ROLES);
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    enforce::close_ourselves();
    let cli = Cli::parse();
    cli.color.apply();
    let done = verb::run(cli);
    agentry_sandbox::private_directory::remove_own();
    match done {
        Ok(code) => code,
        Err(fault) => {
            if fault.is_worth_saying() {
                let mut stderr = output::stderr().lock();
                // With nowhere left to write to, the exit code is all that can be said.
                writeln!(stderr, "{fault}").unwrap_or_default();
            }
            fault.exit_code()
        }
    }
}
