//! Resumes a run without a process: one that `agentry run` left, or that waited for an answer.
//!
//! Must never: resume a run of another project, whose files the server does not read.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use agentry_frontend::output::log_line;
use agentry_model::Delta;
use agentry_protocol::CallId;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::token::TokenScope;
use agentry_runtime::{Attendance, RunObserver, Runner, SessionInbox};

use super::runs::{RunControlReceipt, check_project};
use super::visibility;
use crate::DeltaSink;
use crate::api_error::{ApiError, ApiErrorCode};
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess};
use crate::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let words = "Resume a run that no process works on";
    vec![
        ApiRoute::post(
            "/api/runs/{id}/resume",
            RouteAccess::Owner(TokenScope::Submit),
            words,
            resume,
        )
        .status(202),
    ]
}

fn resume(
    site: &ServerState,
    asked: ApiRequest<NoParams, NoParams>,
) -> Result<RunControlReceipt, ApiError> {
    let row = visibility::visible_run(site, &asked.caller, asked.part(0))?;
    check_project(site, &row.id, "resume")?;
    let definitions = site.definition_cache.read()?.definitions;
    let (begun, progress) = mpsc::channel();
    let observer =
        Arc::new(ResumeObserver { begun: begun.clone(), outer: DeltaSink(site.hub.clone()) });
    let (host, run) = (site.parts.clone(), row.id);
    let working = move || {
        let (attendance, post) = (Attendance::Absent, SessionInbox::default());
        let runner = Runner { host, definitions: &definitions, observer, attendance, post };
        if let Err(error) = runner.resume(&run) {
            // The client may have disconnected; the operator reads this line in any case.
            log_line(&format!("run {run} not resumed: {error}"));
            answer(&begun, Err(error.into()));
        }
    };
    let spawned = thread::Builder::new().name(format!("resume {}", asked.part(0))).spawn(working);
    spawned.map_err(|error| {
        ApiError::new(ApiErrorCode::Unavailable, format!("cannot start a thread: {error}"))
    })?;
    let broke =
        |_| Err(ApiError::new(ApiErrorCode::Internal, "the run crashed; see the server's log"));
    progress.recv().unwrap_or_else(broke).map(|seq| RunControlReceipt { seq })
}

/// Reports the start of the resumed run to the waiting request; forwards all else to the sink.
struct ResumeObserver {
    begun: Sender<Result<u64, ApiError>>,
    outer: DeltaSink,
}

/// Answers the waiting request. It waits for one answer and then closes the channel; a later one,
/// as when the resumed run fails, is in the log and in the ledger.
fn answer(request: &Sender<Result<u64, ApiError>>, outcome: Result<u64, ApiError>) {
    request.send(outcome).ok();
}

impl RunObserver for ResumeObserver {
    fn on_entry(&self, envelope: &Envelope) {
        if let Event::RunResumed {} = &envelope.event {
            answer(&self.begun, Ok(envelope.seq));
        }
        self.outer.on_entry(envelope);
    }

    fn on_delta(&self, about: &EntrySubject, asked: u64, delta: &Delta) {
        self.outer.on_delta(about, asked, delta);
    }

    fn on_progress(&self, about: &EntrySubject, call: &CallId, line: &str) {
        self.outer.on_progress(about, call, line);
    }
}
