//! Ctrl-C and SIGTERM ask the run to end; a second one ends the process.
//!
//! A run that is asked to end stops its commands first. A process that just goes away would leave them.
//!
//! Must never: lose the record. Whatever happens, the run can be taken up again.

use std::sync::Arc;
use std::sync::{Mutex, OnceLock};
use std::thread;

use agentry_protocol::envelope::EntrySubject;
use agentry_runtime::Host;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::commands::record_cancel;

type CurrentRun = Mutex<Option<(Arc<Host>, EntrySubject)>>;

/// From now on, signals are for this run.
pub(crate) fn cancel_on_signal(parts: &Arc<Host>, about: &EntrySubject) {
    static CURRENT: OnceLock<CurrentRun> = OnceLock::new();
    let first = CURRENT.get().is_none();
    let current = CURRENT.get_or_init(Mutex::default);
    *current.lock().unwrap_or_else(|one| one.into_inner()) = Some((parts.clone(), about.clone()));
    if first && let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) {
        thread::spawn(move || {
            for (count, signal) in signals.forever().enumerate() {
                let now = current.lock().unwrap_or_else(|one| one.into_inner()).clone();
                let asked = now.map(|(parts, about)| record_cancel(&parts, &about));
                if count > 0 || !matches!(asked, Some(Ok(()))) {
                    agentry_sandbox::private_directory::remove_own();
                    std::process::exit(128 + signal);
                }
            }
        });
    }
}
