//! Sends requests to providers and returns their answers, piece by piece.
//!
//! One thread with one small runtime carries all exchanges of the process, so that connections are
//! reused from step to step. It starts with the first request, and ends with the last owner.
//! Callers block, and check at intervals whether the answer is still wanted.
//!
//! Must never: follow a redirect, read the environment, or show a key.

mod client;
mod exchange;
pub(crate) mod frames;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use agentry_protocol::message::{FailureKind, ModelFailure};
use reqwest::Client;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::limits::{CONNECT_MS, FIRST_BYTE_MS, IDLE_MS, LOOKUP_THREADS_MAX};
use crate::provider_request::ProviderRequest;
use crate::recording::{Recorder, RecordingError, RecordingMode, RedactFn};

pub(crate) use exchange::Exchange;

/// The HTTP client for all providers; one per process.
pub struct ProviderClient {
    settings: HttpSettings,
    tape: Option<Recorder>,
    running: Mutex<HttpState>,
}

/// The settings of the HTTP client.
#[derive(Clone)]
pub struct HttpSettings {
    /// The proxies.
    pub proxy: Proxy,
    /// The time limits.
    pub timing: HttpTimeouts,
    /// The recording to write or replay, if any.
    pub tape: Option<RecordingMode>,
    /// Removes secrets from recordings and from messages of failures.
    pub redact: RedactFn,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            proxy: Proxy::default(),
            timing: HttpTimeouts::default(),
            tape: None,
            redact: Arc::new(str::to_owned),
        }
    }
}

/// Proxies in their usual environment variables. This machine itself is never reached through one.
#[derive(Clone, Default)]
pub struct Proxy {
    /// The proxy for https: the value of HTTPS_PROXY.
    pub https: Option<String>,
    /// The proxy for http: the value of HTTP_PROXY.
    pub http: Option<String>,
    /// Hosts that need no proxy: the value of NO_PROXY.
    pub no_proxy: Option<String>,
}

/// The time limits of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// The limit of a connection attempt.
    pub connect: Duration,
    /// The limit from the request to the first byte of the body.
    pub first_byte: Duration,
    /// The limit between two pieces of the body.
    pub idle: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_millis(CONNECT_MS),
            first_byte: Duration::from_millis(FIRST_BYTE_MS),
            idle: Duration::from_millis(IDLE_MS),
        }
    }
}

/// The reason why no request can be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// A proxy's address is invalid.
    #[error("{variable} is not the address of a proxy; write http://host:port, or unset it")]
    Proxy {
        /// The variable that sets it.
        variable: &'static str,
    },
    /// The recording cannot be used.
    #[error(transparent)]
    Tape(#[from] RecordingError),
}

/// The clients and the thread, each created at the first use.
#[derive(Default)]
struct HttpState {
    /// The client for plain http, which never loads a certificate.
    plain: Option<Client>,
    /// The client for https.
    secure: Option<Client>,
    carrier: Option<HttpThread>,
}

/// The thread that carries the exchanges.
struct HttpThread {
    handle: Handle,
    // The thread ends when this is dropped.
    stop: Option<oneshot::Receiver<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProviderClient {
    /// Checks the settings; nothing is started or sent yet.
    pub fn new(settings: HttpSettings) -> Result<Self, HttpError> {
        client::check(&settings.proxy)?;
        let tape = match &settings.tape {
            Some(tape) => Some(Recorder::open(tape, Arc::clone(&settings.redact))?),
            None => None,
        };
        Ok(Self { settings, tape, running: Mutex::default() })
    }

    /// Sends a request and waits for the status of the answer.
    pub(crate) fn send<'a>(
        &'a self,
        outgoing: ProviderRequest,
        wait: &'a dyn Fn(Duration) -> bool,
    ) -> Result<Exchange<'a>, ModelFailure> {
        let recording = match &self.tape {
            Some(Recorder::Playing(deck)) => return Exchange::play(deck, &outgoing, wait),
            Some(Recorder::Recording(writer)) => Some(writer.begin(&outgoing)),
            None => None,
        };
        let (client, handle) =
            self.ready(client::needs_tls(&outgoing.url, &self.settings.proxy))?;
        Exchange::begin(
            exchange::ExchangeTransport { client, handle, timing: self.settings.timing },
            outgoing,
            recording,
            wait,
        )
    }

    /// Returns the text without secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        (self.settings.redact)(text)
    }

    fn ready(&self, tls: bool) -> Result<(Client, Handle), ModelFailure> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let running = &mut *running;
        let slot = if tls { &mut running.secure } else { &mut running.plain };
        let client = match slot {
            Some(client) => client.clone(),
            None => slot.insert(client::build(&self.settings, tls)?).clone(),
        };
        let handle = match &running.carrier {
            Some(carrier) => carrier.handle.clone(),
            None => running.carrier.insert(HttpThread::start()?).handle.clone(),
        };
        Ok((client, handle))
    }
}

impl fmt::Debug for ProviderClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A proxy's address may hold a password.
        f.debug_struct("Http").field("timing", &self.settings.timing).finish_non_exhaustive()
    }
}

impl HttpThread {
    fn start() -> Result<Self, ModelFailure> {
        let failed = |error: std::io::Error| {
            let message = format!("the thread for requests cannot be started: {error}");
            ModelFailure::new(FailureKind::Other, message)
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(LOOKUP_THREADS_MAX)
            .enable_all()
            .build()
            .map_err(failed)?;
        let handle = runtime.handle().clone();
        let (mut owner, stop) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("http".to_owned())
            .spawn(move || {
                runtime.block_on(owner.closed());
                // A lookup of a name may hang for long; the shutdown does not wait for it.
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for HttpThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            join(thread);
        }
    }
}

/// Waits for the end of the thread. The exchange that a panic broke has reported it.
fn join(thread: JoinHandle<()>) {
    thread.join().ok();
}
