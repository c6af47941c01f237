//! `agentry console`: opens the console of the server that runs, signed in.
//!
//! The server leaves a file that says where it is; the code that signs in goes through the ledger.
//!
//! Must never: put a code anywhere but into the part of a link that browsers keep to themselves.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use agentry_store::Ledger;
use clap::Args;

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::fault::{Blame, Fault};
use crate::http::auth;

#[derive(Args)]
pub(crate) struct Options {
    /// Only print the link
    #[arg(long)]
    print: bool,
}

/// Says where the server is, for as long as it runs.
pub(super) struct ServerAddressFile(PathBuf);

impl ServerAddressFile {
    /// Puts it up.
    pub(super) fn put(ledger: &Ledger, url: &str) -> Result<Self, Fault> {
        let path = path(ledger);
        let mut options = OpenOptions::new();
        let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
        opened.and_then(|mut file| file.write_all(url.as_bytes())).map_err(|error| {
            Fault::new(Blame::Machine, format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(Self(path))
    }
}

impl Drop for ServerAddressFile {
    fn drop(&mut self) {
        // One that is gone says nothing wrong.
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

fn path(ledger: &Ledger) -> PathBuf {
    ledger.home().root().join("server.url")
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let no_server = || {
        Fault::new(Blame::Caller, "no server runs").hint("start one with `agentry serve --open`")
    };
    if ledger.lock_intake().is_ok() {
        return Err(no_server());
    }
    let url = std::fs::read_to_string(path(&ledger)).map_err(|_| no_server())?;
    let link = link(&ledger, url.trim())?;
    if options.print || !open(&link) {
        writeln!(crate::output::stdout(), "{link}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A link that signs in, once.
pub(super) fn link(ledger: &Ledger, url: &str) -> Result<String, Fault> {
    let code = auth::issue_code(ledger)?;
    Ok(format!("{url}/#code={}", code.text))
}

/// Shows a link in the browser; whether there is one.
pub(super) fn open(link: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = Command::new(program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    opened.is_ok_and(|status| status.success())
}
