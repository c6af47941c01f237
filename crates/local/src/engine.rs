//! An opened model: a handle to the thread that owns it.
//!
//! Must never: hold weights itself, or load one file twice with the same settings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::LocalError;
use crate::limits::WAIT_MS_MAX;
use crate::model_summary::{EngineSettings, ModelSummary};
use crate::request::{Generation, GenerationRequest};
use crate::worker::{self, EngineJob, EngineMessage};

/// An opened model. Clones share it; dropping the last clone ends its thread.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<EngineThread>,
}

struct EngineThread {
    card: ModelSummary,
    // Invariant: both are Some until the drop.
    jobs: Option<SyncSender<EngineJob>>,
    thread: Option<JoinHandle<()>>,
}

type EngineCache = Mutex<HashMap<(PathBuf, EngineSettings), Weak<EngineThread>>>;

/// Returns the models that are open in this process.
fn opened() -> &'static EngineCache {
    static OPENED: OnceLock<EngineCache> = OnceLock::new();
    OPENED.get_or_init(Mutex::default)
}

impl Engine {
    /// Opens a GGUF file; a second call with the same file and settings returns the open model.
    pub fn open(file: &Path, settings: &EngineSettings) -> Result<Self, LocalError> {
        let place = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let mut opened = opened().lock().unwrap_or_else(PoisonError::into_inner);
        let entry = (place.clone(), *settings);
        let open = opened.get(&entry).and_then(Weak::upgrade).filter(|shared| shared.lives());
        if let Some(shared) = open {
            return Ok(Self { shared });
        }
        let shared = Arc::new(started(place, *settings)?);
        opened.retain(|_, shared| shared.strong_count() > 0);
        opened.insert(entry, Arc::downgrade(&shared));
        Ok(Self { shared })
    }

    /// Returns the facts about the model.
    #[must_use]
    pub fn summary(&self) -> &ModelSummary {
        &self.shared.card
    }

    /// Answers a request; the requests of several threads are answered one after another.
    pub fn answer(&self, ask: &GenerationRequest<'_>) -> Result<Generation, LocalError> {
        let gone = || LocalError::Engine("its thread has ended".into());
        let stop = Arc::new(AtomicBool::new(false));
        // Small, so that a caller's stop takes effect before many more tokens are written.
        let (heard, hears) = mpsc::sync_channel(1);
        let job = EngineJob {
            request: ask.request.clone(),
            session: ask.session.to_owned(),
            choice: ask.choice,
            seed: ask.seed,
            stop: Arc::clone(&stop),
            heard,
        };
        self.shared.jobs.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
        loop {
            match hears.recv_timeout(Duration::from_millis(WAIT_MS_MAX)) {
                Ok(EngineMessage::Done(said)) => return *said,
                Ok(EngineMessage::Piece(piece)) => (ask.hear)(piece),
                Ok(EngineMessage::Step) | Err(RecvTimeoutError::Timeout) => {
                    if !(ask.go_on)() {
                        stop.store(true, Ordering::Release);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }
}

impl EngineThread {
    fn lives(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for EngineThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            join(thread);
        }
    }
}

/// Waits for the end of the thread. If it panicked, its caller already got an error.
fn join(thread: JoinHandle<()>) {
    thread.join().ok();
}

fn started(file: PathBuf, settings: EngineSettings) -> Result<EngineThread, LocalError> {
    let (jobs, wanted) = mpsc::sync_channel(1);
    let (opened, opens) = mpsc::sync_channel(1);
    let thread = thread::Builder::new()
        .name("local-model".into())
        .spawn(move || worker::run(&file, &settings, &opened, &wanted))
        .map_err(|error| LocalError::Engine(format!("cannot start a thread: {error}")))?;
    let card = opens.recv().unwrap_or_else(|_| {
        Err(LocalError::Engine("it ended while the file was being opened".into()))
    })?;
    Ok(EngineThread { card, jobs: Some(jobs), thread: Some(thread) })
}
