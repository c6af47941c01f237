//! `agentry serve`: takes in what comes from all channels, and answers it.
//!
//! Must never: say that it is ready before it took the way in for itself.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use agentry_model::Delta;
use agentry_protocol::CallId;
use agentry_protocol::envelope::{About, Envelope};
use agentry_runtime::Witness;
use agentry_runtime::channel::SystemClock;
use agentry_runtime::chores::Chores;
use agentry_runtime::desk::{Desk, DeskBell, Furniture, Scope};
use agentry_runtime::reply::Replies;
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::channels;
use crate::engine;
use crate::fault::{Blame, Fault};
use crate::host::Host;
use crate::limits::STOP_TIME_MAX;
use crate::reception::{Asked, Reception};
use crate::render::visible;
use crate::trust;
use crate::verb::absolute_model;

#[derive(Args)]
pub(crate) struct Options {
    /// The directory of the definitions, and where the work is done
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Do the work in another directory
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The agent that answers where nobody else is named
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The model: a name, provider/name, local, or scripted:answers.jsonl
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
}

pub(crate) fn run(host: &Host, options: Options) -> Result<ExitCode, Fault> {
    let model = options.model.as_deref().map(absolute_model).transpose()?;
    let ledger = engine::open_ledger(host)?;
    let engine = engine::engine(host, ledger, &options.dir, options.workspace.as_deref())?;
    let parts = engine.parts.clone();
    let settings = engine.loaded.library.settings.config.clone();
    let project = engine.project.clone();
    for error in trust::untrusted(&parts.ledger, &engine.definitions) {
        say(&format!("warning: {}", engine::fault(error).plain()));
    }
    let reception = Reception::new(host, engine, Asked { agent: options.agent, model })?;
    // There is only one desk, so no channel is started twice.
    let sole = parts.ledger.own_intake().map_err(engine::store_fault)?;
    let channels = channels::start(host, &parts, &settings, &project)?;
    let furniture = Furniture {
        host: parts.clone(),
        office: Arc::new(reception),
        witness: Arc::new(Unwatched),
        say: Arc::new(say),
        limits: channels::limits(&settings.queue),
        replies: Replies::with(channels.adapters.clone()),
        sole,
    };
    let desk = Desk::open(furniture, Scope::All).map_err(engine::fault)?;
    let clock = Arc::new(SystemClock);
    let _chores =
        Chores::start(parts.ledger.clone(), clock, Arc::new(say)).map_err(engine::fault)?;
    stop_on_signal(desk.bell())?;
    writeln!(anstream::stdout(), "ready, ledger in {}", parts.ledger.home().root().display())?;
    let worked = desk.work().map_err(engine::fault);
    channels.stop();
    worked?;
    say("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Tells the operator something.
pub(super) fn say(text: &str) {
    // With nowhere left to write to, the record still has it.
    writeln!(anstream::stderr().lock(), "agentry: {}", visible(text)).unwrap_or_default();
}

/// The first signal lets what runs come to its end for a while; what does not is taken up next time.
fn stop_on_signal(bell: DeskBell) -> Result<(), Fault> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| {
        Fault::new(Blame::Machine, format!("signals cannot be followed: {error}"))
    })?;
    thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            say("stopping; what runs may come to its end");
            bell.stop();
            thread::spawn(|| {
                thread::sleep(STOP_TIME_MAX);
                say("what did not come to its end goes on with the next `agentry serve`");
                std::process::exit(0);
            });
        }
    });
    Ok(())
}

/// Nobody looks on.
pub(super) struct Unwatched;

impl Witness for Unwatched {
    fn recorded(&self, _: &Envelope) {}

    fn heard(&self, _: &About, _: u64, _: &Delta) {}

    fn progressed(&self, _: &About, _: &CallId, _: &str) {}
}
