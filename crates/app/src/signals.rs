//! Ctrl-C and SIGTERM cancel the run; a second signal ends the process.
//!
//! A cancelled run stops its commands first; a process that exits at once would leave them running.
//!
//! Must never: lose entries of the ledger. The run can always be resumed.

use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use agentry_protocol::envelope::EntrySubject;
use agentry_runtime::Host;
use agentry_runtime::commands::{CommandError, runs};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

type CurrentRun = Mutex<Option<(Arc<Host>, EntrySubject)>>;

/// Makes signals cancel this run from now on, instead of an earlier one.
pub(crate) fn cancel_on_signal(parts: &Arc<Host>, about: &EntrySubject) {
    static CURRENT: OnceLock<CurrentRun> = OnceLock::new();
    let first = CURRENT.get().is_none();
    let current = CURRENT.get_or_init(Mutex::default);
    *current.lock().unwrap_or_else(|one| one.into_inner()) = Some((parts.clone(), about.clone()));
    if first && let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) {
        thread::spawn(move || {
            for (count, signal) in signals.forever().enumerate() {
                let now = current.lock().unwrap_or_else(|one| one.into_inner()).clone();
                let asked = now.map(|(parts, about)| runs::cancel(&parts.ledger, &about));
                // A run that has just ended is about to leave, and needs no cancel.
                let is_told = matches!(asked, Some(Ok(_) | Err(CommandError::RunEnded(_))));
                if count > 0 || !is_told {
                    agentry_sandbox::private_directory::remove_own();
                    std::process::exit(128 + signal);
                }
            }
        });
    }
}
