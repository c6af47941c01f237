//! `agentry serve`: runs the server: HTTP API, web console and channels.
//!
//! Must never: report readiness before it holds the intake lock.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use agentry_model::Delta;
use agentry_protocol::CallId;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_runtime::RunObserver;
use agentry_runtime::channel::SystemClock;
use agentry_runtime::definitions::definition_cache::{CliSelection, Confirmation};
use agentry_runtime::dispatch::dispatcher::{
    Dispatcher, DispatcherHandle, DispatcherOptions, DispatcherScope,
};
use agentry_runtime::dispatch::maintenance::MaintenanceThread;
use agentry_runtime::outbound::reply::ReplySender;
use agentry_sandbox::private_directory;
use agentry_server::auth::Authenticator;
use agentry_server::limits::STREAMS_END_TIME_MAX;
use agentry_server::listen::{ListenOptions, ProxyNetwork};
use agentry_server::{DeltaSink, ServerState, StreamHub};
use agentry_store::{Error as StoreError, IntakeHolder, IntakeLock, Ledger};
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::bootstrap;
use crate::channels;
use crate::cli_context::CliContext;
use crate::commands::console::{self, ServerAddressFile};
use crate::confirmation;
use crate::fault::{Blame, Fault};
use crate::limits::{INTAKE_LOOK_TIME, INTAKE_WAIT_TIME_MAX, STOP_TIME_MAX};
use crate::model_choice::absolute_model;
use crate::output::log_line;
use crate::trust;

#[derive(Args)]
pub(crate) struct Options {
    /// The directory of the definitions, and the workspace
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Use another directory as the workspace
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The agent that answers if no other is named
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// NAME, PROVIDER/NAME, local, or scripted:answers.jsonl
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Open the console in the browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    listen: ListenArguments,
}

/// The options of the server's address.
#[derive(Args)]
struct ListenArguments {
    /// Listen on this address; also AGENTRY_LISTEN [default: 127.0.0.1:3000]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Accept requests for this host name too (repeatable)
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Use this TLS certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Use this private key for the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Run behind a proxy that terminates TLS
    #[arg(long, requires = "host")]
    behind_proxy: bool,
    /// Trust X-Forwarded-For of this address or network (repeatable) [default: loopback]
    #[arg(long, value_name = "ADDRESS", requires = "behind_proxy")]
    trusted_proxy: Vec<ProxyNetwork>,
    /// Require no key; loopback addresses only, for development
    #[arg(long)]
    insecure_loopback: bool,
}

impl ListenArguments {
    fn into_options(self) -> ListenOptions {
        ListenOptions {
            listen: self.listen,
            host: self.host,
            tls_cert: self.tls_cert,
            tls_key: self.tls_key,
            behind_proxy: self.behind_proxy,
            trusted_proxy: self.trusted_proxy,
            insecure_loopback: self.insecure_loopback,
        }
    }
}

pub(crate) fn run(host: &CliContext, options: Options) -> Result<ExitCode, Fault> {
    let model = options.model.as_deref().map(absolute_model).transpose()?;
    let ledger = bootstrap::open_ledger(host)?;
    let engine = bootstrap::engine(host, ledger, &options.dir, options.workspace.as_deref())?;
    let parts = engine.parts.clone();
    let settings = engine.loaded.library.settings.config.clone();
    let project = engine.project.clone();
    for error in trust::untrusted(&parts.ledger, &engine.definitions) {
        log_line(&format!("warning: {}", bootstrap::fault(error).plain()));
    }
    if let Some(line) = confirmation::require_confirmed(host, &parts.ledger, &engine.loaded)? {
        log_line(&line);
    }
    let asked = CliSelection { agent: options.agent, model };
    let definition_cache = bootstrap::definition_cache(host, engine, asked, Confirmation::Needed)?;
    let definition_cache = Arc::new(definition_cache);
    // The intake lock is taken first, so that no channel is started twice.
    let sole = own_intake(&parts.ledger)?;
    allow_many_files();
    let bound = options.listen.into_options().bind(|name| host.environment.variable(name))?;
    let channels = channels::start(host, &parts, &settings, &project)?;
    let hub = StreamHub::start(parts.ledger.clone(), parts.follower.clone())
        .map_err(|error| Fault::new(Blame::Machine, format!("cannot start a thread: {error}")))?;
    let dispatcher_options = DispatcherOptions {
        host: parts.clone(),
        definition_source: definition_cache.clone(),
        observer: Arc::new(DeltaSink(hub.clone())),
        say: Arc::new(log_line),
        limits: channels::limits(&settings.queue),
        replies: ReplySender::with(channels.adapters.clone()),
        sole,
    };
    let dispatcher =
        Dispatcher::open(dispatcher_options, DispatcherScope::All).map_err(bootstrap::fault)?;
    let clock = Arc::new(SystemClock);
    let _chores = MaintenanceThread::start(parts.ledger.clone(), clock, Arc::new(log_line))
        .map_err(bootstrap::fault)?;
    stop_on_signal(dispatcher.handle(), hub.clone())?;
    let url = bound.url.clone();
    let (front, socket) = bound.into_parts();
    let is_insecure = front.is_insecure;
    let site = ServerState {
        parts: parts.clone(),
        definition_cache,
        adapters: channels.adapters.clone(),
        project,
        started: parts.ledger.now(),
        front,
        keys: Authenticator::new(parts.ledger.clone()),
        hub,
    };
    let server = agentry_server::start(Arc::new(site), socket)?;
    let sign = ServerAddressFile::put(&parts.ledger, &url)?;
    greet(&parts.ledger, &url, is_insecure, options.open)?;
    let worked = dispatcher.work().map_err(bootstrap::fault);
    drop(sign);
    server.stop();
    channels.stop();
    worked?;
    log_line("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Takes the intake lock. Waits for a process that answers one message, but not for a server.
fn own_intake(ledger: &Ledger) -> Result<IntakeLock, Fault> {
    let until = Instant::now() + INTAKE_WAIT_TIME_MAX;
    let mut is_told = false;
    loop {
        let busy = match ledger.lock_intake_as(IntakeHolder::Server) {
            Ok(sole) => return Ok(sole),
            Err(error) => error,
        };
        let StoreError::IntakeBusy { pid, taker: IntakeHolder::Once, .. } = &busy else {
            return Err(bootstrap::store_fault(busy));
        };
        if Instant::now() >= until {
            return Err(
                bootstrap::store_fault(busy).hint("wait for it or stop it, then start again")
            );
        }
        if !is_told {
            let who = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            let most = INTAKE_WAIT_TIME_MAX.as_secs();
            log_line(&format!("waiting up to {most} s for `agentry send`{who} to finish"));
            is_told = true;
        }
        thread::sleep(INTAKE_LOOK_TIME);
    }
}

/// Prints the address of the server and that it is ready.
fn greet(ledger: &Ledger, url: &str, is_insecure: bool, wants_browser: bool) -> Result<(), Fault> {
    let link =
        if wants_browser && !is_insecure { console::link(ledger, url)? } else { url.to_owned() };
    let mut out = crate::output::stdout().lock();
    let is_shown = wants_browser && console::open(&link);
    match (is_insecure, wants_browser && !is_shown) {
        (true, _) => {
            writeln!(
                out,
                "{url} (--insecure-loopback: every user of this machine has full access)"
            )?;
        }
        (false, true) => writeln!(out, "{link}")?,
        (false, false) => writeln!(out, "{url} (`agentry console` signs a browser in)")?,
    }
    writeln!(out, "ready, ledger in {}", ledger.home().root().display())?;
    Ok(())
}

/// Raises the limit of open files, one per connection.
fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        log_line(&format!("limit of open files not raised, so fewer connections fit: {error}"));
    }
}

/// Lets active runs finish for a while after the first signal; a second signal exits at once.
fn stop_on_signal(bell: DispatcherHandle, hub: Arc<StreamHub>) -> Result<(), Fault> {
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Fault::new(Blame::Machine, format!("cannot handle signals: {error}")))?;
    thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                private_directory::remove_own();
                std::process::exit(128 + signal);
            }
            log_line("stopping: waiting for active runs to finish");
            bell.stop();
            let hub = hub.clone();
            thread::spawn(move || {
                thread::sleep(STOP_TIME_MAX);
                log_line("stopping now: the next `agentry serve` resumes the unfinished runs");
                hub.close();
                thread::sleep(STREAMS_END_TIME_MAX);
                private_directory::remove_own();
                std::process::exit(0);
            });
        }
    });
    Ok(())
}

/// An observer that ignores everything.
pub(super) struct SilentObserver;

impl RunObserver for SilentObserver {
    fn on_entry(&self, _: &Envelope) {}

    fn on_delta(&self, _: &EntrySubject, _: u64, _: &Delta) {}

    fn on_progress(&self, _: &EntrySubject, _: &CallId, _: &str) {}
}
