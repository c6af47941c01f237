//! Fetches a web page as text.
//!
//! Every hop is checked anew: the name is resolved here, each address is checked, and the
//! connection goes to exactly those addresses. So a redirect cannot reach a forbidden address.
//!
//! Must never: use a proxy of the environment, follow a redirect unchecked, or read without limit.

use std::io::Read;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use agentry_protocol::tool_call::{
    CallMeasurements, OutcomeStatus, RepeatSafety, ToolOutcome, ToolSpec,
};
use agentry_sandbox::address::refusal;
use reqwest::Url;
use reqwest::blocking::{Client, Response};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::parse;
use crate::fetch_rules::FetchRules;
use crate::html::to_markdown;
use crate::limits::{
    FETCH_CONNECT_MS_MAX, FETCH_HOPS_MAX, FETCH_STACK_BYTES, FETCH_STOP_LOOK_MS,
    FETCH_URL_BYTES_MAX,
};
use crate::output::cut_end;
use crate::tool::{Tool, ToolContext, ToolLimits, spec};

pub(crate) struct WebFetch {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebFetchArgs {
    url: String,
}

impl WebFetch {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"url": {"type": "string", "minLength": 1}},
            "required": ["url"],
            "additionalProperties": false
        });
        let description = "Fetch a public web address. Pages come as Markdown.";
        Self { spec: spec("web_fetch", description, parameters, RepeatSafety::Harmless) }
    }
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome {
        let arguments: WebFetchArgs = match parse(input) {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        let start = Instant::now();
        let mut outcome = watched(arguments.url, context);
        outcome.measured.duration_ms = u64::try_from(start.elapsed().as_millis()).ok();
        outcome
    }
}

/// Fetches in a separate thread: resolving and connecting cannot be interrupted, only abandoned.
/// The thread ends by itself at the deadline.
fn watched(url: String, context: &ToolContext<'_>) -> ToolOutcome {
    let deadline = Instant::now() + Duration::from_millis(context.bounds.fetch_ms);
    let hops = Fetcher { rules: context.fetch.clone(), bounds: context.bounds, deadline };
    let (sender, receiver) = mpsc::channel();
    let work = move || send_if_open(&sender, hops.fetch(&url).unwrap_or_else(|outcome| outcome));
    let thread = std::thread::Builder::new().name("fetch".to_owned()).stack_size(FETCH_STACK_BYTES);
    if let Err(error) = thread.spawn(work) {
        return ToolOutcome::failed(format!("The address was not fetched: {error}."));
    }
    loop {
        match receiver.recv_timeout(Duration::from_millis(FETCH_STOP_LOOK_MS)) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Disconnected) => {
                return ToolOutcome::failed("The answer could not be read: its content is broken.");
            }
            Err(RecvTimeoutError::Timeout) if context.stop.is_stopped() => {
                return ToolOutcome::new(OutcomeStatus::Stopped, "Stopped before an answer came.");
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                return timed_out(context.bounds.fetch_ms);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Sends the outcome to the waiting call. A call that was stopped has closed the channel, and needs
/// no outcome.
fn send_if_open(call: &Sender<ToolOutcome>, outcome: ToolOutcome) {
    call.send(outcome).ok();
}

fn timed_out(fetch_ms: u64) -> ToolOutcome {
    ToolOutcome::failed(format!("No complete answer within {fetch_ms} ms."))
}

struct Fetcher {
    rules: FetchRules,
    bounds: ToolLimits,
    deadline: Instant,
}

impl Fetcher {
    fn fetch(&self, given: &str) -> Result<ToolOutcome, ToolOutcome> {
        if given.len() > FETCH_URL_BYTES_MAX {
            return Err(ToolOutcome::failed("The address is too long."));
        }
        let mut url = Url::parse(given)
            .map_err(|error| ToolOutcome::failed(format!("`{given}` is no address: {error}.")))?;
        for _ in 0..=FETCH_HOPS_MAX {
            let response = self.hop(&url)?;
            match next(&url, &response)? {
                Some(next) => url = next,
                None => return self.read(&url, response),
            }
        }
        Err(ToolOutcome::failed(format!("`{given}` leads on more than {FETCH_HOPS_MAX} times.")))
    }

    fn hop(&self, url: &Url) -> Result<Response, ToolOutcome> {
        let (host, addresses) = self.checked(url)?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let failed = |error: reqwest::Error| {
            if error.is_timeout() {
                timed_out(self.bounds.fetch_ms)
            } else {
                ToolOutcome::failed(format!("`{url}` cannot be fetched: {}.", causes(&error)))
            }
        };
        let client = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .resolve_to_addrs(&host, &addresses)
            .connect_timeout(left.min(Duration::from_millis(FETCH_CONNECT_MS_MAX)))
            .timeout(left)
            .user_agent(concat!("agentry/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(failed)?;
        let accepted = "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5";
        let response = client.get(url.clone()).header(ACCEPT, accepted).send().map_err(failed)?;
        // The pinned addresses ensure this; the check detects a failure of the pin.
        match response.remote_addr() {
            Some(peer) if !addresses.iter().any(|address| address.ip() == peer.ip()) => {
                Err(ToolOutcome::refused(format!("`{url}` was answered from another address.")))
            }
            Some(_) | None => Ok(response),
        }
    }

    /// Returns the host and its addresses, if all of them may be fetched.
    fn checked(&self, url: &Url) -> Result<(String, Vec<SocketAddr>), ToolOutcome> {
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = url.scheme();
            return Err(ToolOutcome::refused(format!(
                "`{scheme}` addresses are not fetched, only http and https."
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ToolOutcome::refused("An address with a user name in it is not fetched."));
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(ToolOutcome::failed(format!("`{url}` names no host.")));
        };
        if let Some(why) = self.rules.refuses(host, port) {
            return Err(ToolOutcome::refused(format!(
                "denied by sandbox: {host}:{port}: {why}. A person who is asked about the call can \
                 allow it."
            )));
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = match bare.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => (bare, port)
                .to_socket_addrs()
                .map_err(|error| {
                    ToolOutcome::failed(format!("The host `{host}` cannot be found: {error}."))
                })?
                .collect(),
        };
        if addresses.is_empty() {
            return Err(ToolOutcome::failed(format!("The host `{host}` has no address.")));
        }
        if !self.rules.allows(host, port)
            && let Some(why) = addresses
                .iter()
                .filter(|address| !self.rules.counts_as_public(address.ip()))
                .find_map(|address| refusal(address.ip()))
        {
            return Err(ToolOutcome::refused(format!(
                "`{url}` is not fetched: its host is {why}."
            )));
        }
        Ok((host.to_owned(), addresses))
    }

    fn read(&self, url: &Url, response: Response) -> Result<ToolOutcome, ToolOutcome> {
        let status = response.status();
        let kind = content_type(response.headers());
        let length = response.content_length();
        let mut notes = vec![format!("{url}"), status.as_u16().to_string(), kind.essence.clone()];
        let mut is_cut = false;
        let text = if kind.is_text() {
            let (bytes, is_body_cut) = self.body(response)?;
            is_cut = is_body_cut;
            if is_cut {
                notes.push(format!("cut after {} bytes", self.bounds.fetch_bytes));
            }
            let decoded = kind.decode(&bytes);
            if kind.is_page() {
                to_markdown(&decoded, url.as_str()).ok_or_else(|| {
                    ToolOutcome::failed(format!("`{url}` nests too deep to read."))
                })?
            } else {
                decoded
            }
        } else {
            let bytes = length.map_or("unknown size".to_owned(), |bytes| format!("{bytes} bytes"));
            format!("A file of type {}, {bytes}; it is not shown as text.", kind.essence)
        };
        let chars_max = usize::try_from(self.bounds.fetch_output_chars).unwrap_or(usize::MAX);
        let shown = cut_end(&text, chars_max);
        let is_ok = status.is_success();
        Ok(ToolOutcome {
            status: if is_ok { OutcomeStatus::Done } else { OutcomeStatus::Failed },
            text: format!("[{}]\n{}", notes.join(", "), shown.text),
            measured: CallMeasurements {
                truncated: is_cut || shown.is_cut,
                ..CallMeasurements::default()
            },
        })
    }

    /// Reads up to the limit and returns true if there was more. Counted after decompression.
    fn body(&self, response: Response) -> Result<(Vec<u8>, bool), ToolOutcome> {
        let bytes_max = self.bounds.fetch_bytes;
        let mut bytes = Vec::new();
        let mut bounded = response.take(bytes_max.saturating_add(1));
        if let Err(error) = bounded.read_to_end(&mut bytes) {
            if Instant::now() >= self.deadline {
                return Err(timed_out(self.bounds.fetch_ms));
            }
            return Err(ToolOutcome::failed(format!("The answer broke off: {}.", causes(&error))));
        }
        let length = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let is_cut = bytes.len() > length;
        bytes.truncate(length);
        Ok((bytes, is_cut))
    }
}

/// Returns the target of a redirect, or None.
fn next(url: &Url, response: &Response) -> Result<Option<Url>, ToolOutcome> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let joined = location.to_str().ok().and_then(|location| url.join(location).ok());
    joined
        .map(Some)
        .ok_or_else(|| ToolOutcome::failed(format!("`{url}` leads on to what is no address.")))
}

struct MediaType {
    essence: String,
    charset: String,
}

fn content_type(headers: &HeaderMap) -> MediaType {
    let written = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let written = written.unwrap_or("application/octet-stream").to_lowercase();
    let mut parts = written.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_owned();
    let charset = parts.find_map(|part| part.strip_prefix("charset=")).unwrap_or_default();
    let charset = charset.trim_matches('"').to_owned();
    MediaType { essence, charset }
}

impl MediaType {
    fn is_page(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }

    fn is_text(&self) -> bool {
        let essence = self.essence.as_str();
        self.is_page()
            || essence.starts_with("text/")
            || essence.ends_with("+json")
            || essence.ends_with("+xml")
            || matches!(
                essence,
                "application/json"
                    | "application/xml"
                    | "application/javascript"
                    | "application/x-ndjson"
                    | "application/yaml"
                    | "application/toml"
            )
    }

    fn decode(&self, bytes: &[u8]) -> String {
        match self.charset.as_str() {
            // One byte is one character; close enough for the Windows variant.
            "iso-8859-1" | "latin1" | "windows-1252" => {
                bytes.iter().copied().map(char::from).collect()
            }
            _ => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

/// Joins an error with all its causes, since the outermost message says little.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let deeper = error.to_string();
        if !text.contains(&deeper) {
            text.push_str(": ");
            text.push_str(&deeper);
        }
        cause = error.source();
    }
    text
}
