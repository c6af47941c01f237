//! `agentry console`: opens the web console of the running server, signed in.
//!
//! The server writes its address to a file; the sign-in code is issued through the ledger.
//!
//! Must never: put a code anywhere but into the fragment of a link, which browsers do not send.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use agentry_server::auth;
use agentry_store::Ledger;
use clap::Args;

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::fault::{Blame, Fault};
use crate::output::log_line;

#[derive(Args)]
pub(crate) struct Options {
    /// Print the link instead of opening a browser
    #[arg(long)]
    print: bool,
}

/// The file with the address of the running server; removed on drop.
pub(super) struct ServerAddressFile(PathBuf);

impl ServerAddressFile {
    /// Writes the file, readable by the owner only.
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
        match std::fs::remove_file(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let path = self.0.display();
                log_line(&format!(
                    "{path} not removed, so it names a server that is gone: {error}"
                ));
            }
            Ok(()) | Err(_) => {}
        }
    }
}

fn path(ledger: &Ledger) -> PathBuf {
    ledger.home().root().join("server.url")
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let no_server = || {
        Fault::new(Blame::Caller, "no server is running")
            .hint("start one with `agentry serve --open`")
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

/// Returns a link that signs a browser in, once.
pub(super) fn link(ledger: &Ledger, url: &str) -> Result<String, Fault> {
    let code = auth::issue_code(ledger)?;
    Ok(format!("{url}/#code={}", code.text))
}

/// Opens a link in the browser. Returns false if no browser could be started.
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
