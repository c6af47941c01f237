//! The binary: parses the command line, runs a command, turns its result into an exit code.
//!
//! Must never: hold logic. Commands have their own files; decisions belong to the kernel.

mod addresses;
mod commands;
mod confirmation;
mod foreign_tree;
mod limits;
mod run_output;
mod signals;
mod text_output;
mod trust;

use std::process::ExitCode;

use agentry_frontend::{
    address_trust, agent_report, approval_text, bootstrap, call_text, channels, cli_context,
    command_faults, diagnostics, event_description, fault, image, model_choice, output,
    prompt_preview, runtime_fault, sandbox_setup, timezone,
};
use agentry_runtime::outbound::agent_events;
use commands::Cli;

fn main() -> ExitCode {
    // The template process is this binary too; it must not read any settings.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == agentry_runtime::definitions::template_process::VERB)
    {
        let served = agentry_runtime::definitions::template_process::serve(
            std::io::stdin().lock(),
            std::io::stdout().lock(),
        );
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    // So is the helper that starts sandboxes.
    if std::env::args_os().nth(1).is_some_and(|word| word == agentry_sandbox::helper::VERB) {
        let served = agentry_sandbox::helper::serve(&sandbox_setup::ROLES);
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    sandbox_setup::harden_process();
    let cli = Cli::read();
    cli.color.apply();
    let done = commands::run(cli);
    agentry_sandbox::private_directory::remove_own();
    match done {
        Ok(code) => code,
        Err(fault) => {
            if fault.is_worth_saying() {
                output::write_stderr_line(&fault.to_string());
            }
            fault.exit_code()
        }
    }
}
