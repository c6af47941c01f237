//! The llama.cpp engine in this process: started once, with its log kept away from the terminal.
//!
//! Must never: write to the terminal, or be started twice.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::{LogOptions, send_logs_to_tracing};
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Dispatch, Event, Level, Metadata, Subscriber, dispatcher};

use crate::error::LocalError;
use crate::limits::LOG_LINES_MAX;

/// Returns the engine of this process; starts it on the first call.
pub(crate) fn backend() -> Result<&'static LlamaBackend, LocalError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    BACKEND
        .get_or_init(|| {
            send_logs_to_tracing(LogOptions::default());
            LlamaBackend::init().map_err(|error| error.to_string())
        })
        .as_ref()
        .map_err(|error| LocalError::Engine(error.clone()))
}

/// Runs `work` and returns its result with the last warnings that the engine logged meanwhile.
pub(crate) fn capture_log<T>(work: impl FnOnce() -> T) -> (T, String) {
    let lines = WarningLog::default();
    let kept = Arc::clone(&lines.0);
    let result = dispatcher::with_default(&Dispatch::new(lines), work);
    let lines = kept.lock().unwrap_or_else(PoisonError::into_inner);
    (result, lines.join("; "))
}

/// A log that keeps the last warnings of a thread.
#[derive(Default)]
struct WarningLog(Arc<Mutex<Vec<String>>>);

impl Subscriber for WarningLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = MessageVisitor(String::new());
        event.record(&mut line);
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line.0.trim().to_owned());
        if lines.len() > LOG_LINES_MAX {
            lines.remove(0);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct MessageVisitor(String);

impl Visit for MessageVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.0.push_str(value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.push_str(&format!("{value:?}"));
        }
    }
}

/// Loads the weights of a file as mapped pages, which the system may evict.
pub(crate) fn load_weights(file: &Path) -> Result<LlamaModel, LocalError> {
    let backend = backend()?;
    let parameters = LlamaModelParams::default().with_use_mmap(true);
    let (model, log) = capture_log(|| LlamaModel::load_from_file(backend, file, &parameters));
    model.map_err(|error| LocalError::NotLoaded {
        file: file.to_owned(),
        why: if log.is_empty() { error.to_string() } else { log },
    })
}
