//! A provider, which serves models over the network: its address, protocol and key.
//!
//! A base URL is accepted in its usual forms (see `base`). Plain http is for this machine and
//! private networks; a key is never sent over it to a public host. A key is sent to the host of its
//! own base URL and nowhere else.
//!
//! Must never: print a key, follow a redirect, or retry.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agentry_protocol::message::{FailureKind, ModelFailure};
use bytes::Bytes;
use jiff::Timestamp;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Method, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::codec::{CodecInput, KeyHeader, ProtocolCodec};
use crate::http::frames::FrameDecoder;
use crate::http::{Exchange, ProviderClient};
use crate::http_failure::{request_id, retry_after_ms, shown};
use crate::limits::{ERROR_BYTES_MAX, MODELS_BYTES_MAX};
use crate::openai_chat::{ChatDialect, OpenaiChat};
use crate::provider_request::ProviderRequest;
use crate::{Model, ModelAnswer, ModelOpenError, ModelQuery, anthropic, gemini, openai};

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Openai,
    /// OpenAI Chat Completions, which many servers support.
    OpenaiChat,
    /// Google Gemini.
    Gemini,
}

/// A provider, which serves models.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The id, which is the part of a model's name before the slash.
    pub id: String,
    /// The protocol of its API.
    pub protocol: Protocol,
    /// The base URL.
    pub base_url: String,
    /// The key, if the provider needs one.
    pub key: Option<SecretString>,
}

/// Opens a model of a provider by its name; nothing is sent yet.
pub fn open(
    http: &Arc<ProviderClient>,
    provider: &Provider,
    model: &str,
) -> Result<Arc<dyn Model>, ModelOpenError> {
    let line = ProviderEndpoint::new(provider)?;
    Ok(Arc::new(RemoteModel { http: Arc::clone(http), line, model: model.to_owned() }))
}

/// Asks the provider for the names of its models.
pub fn list(
    http: &ProviderClient,
    provider: &Provider,
    wait: &dyn Fn(Duration) -> bool,
) -> Result<Vec<String>, ModelFailure> {
    let line = ProviderEndpoint::new(provider)
        .map_err(|error| ModelFailure::new(FailureKind::InvalidRequest, error.to_string()))?;
    line.list(http, wait).map_err(|failure| line.clean(http, failure))
}

fn wire(protocol: Protocol, base: &Url) -> &'static dyn ProtocolCodec {
    match protocol {
        Protocol::Anthropic => &anthropic::Anthropic,
        Protocol::Openai => &openai::Openai,
        Protocol::OpenaiChat if base.host_str() == Some("api.openai.com") => {
            &const { OpenaiChat::new(ChatDialect::Openai) }
        }
        Protocol::OpenaiChat => &const { OpenaiChat::new(ChatDialect::Compatible) },
        Protocol::Gemini => &gemini::Gemini,
    }
}

/// The checked address of a provider, with its key and protocol.
struct ProviderEndpoint {
    id: String,
    protocol: Protocol,
    wire: &'static dyn ProtocolCodec,
    base: Url,
    key: Option<(HeaderName, HeaderValue)>,
    secret: Option<SecretString>,
}

struct RemoteModel {
    http: Arc<ProviderClient>,
    line: ProviderEndpoint,
    model: String,
}

impl Model for RemoteModel {
    fn ask(&self, question: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure> {
        self.answer(question).map_err(|failure| self.line.clean(&self.http, failure))
    }
}

impl RemoteModel {
    fn answer(&self, question: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure> {
        let line = &self.line;
        let asked =
            CodecInput { request: question.request, model: &self.model, session: question.session };
        let written = line.wire.write(asked);
        let mut outgoing = line.outgoing(Method::POST, &written.path, &written.headers)?;
        outgoing.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        outgoing.headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        outgoing.body = Bytes::from(written.body);
        let mut exchange = self.http.send(outgoing, question.wait)?;
        if exchange.status != 200 {
            return Err(line.refused(exchange));
        }
        let mut reader = line.wire.reader(asked);
        let mut frames = FrameDecoder::new();
        loop {
            while let Some(frame) = frames.next()? {
                if reader.take(&frame, question.hear)? {
                    exchange.finish()?;
                    return Ok(self.signed(reader.finish()?));
                }
            }
            match exchange.next()? {
                Some(piece) => frames.push(piece),
                None => break,
            }
        }
        frames.end()?;
        Ok(self.signed(reader.finish()?))
    }

    fn signed(&self, answer: ModelAnswer) -> ModelAnswer {
        ModelAnswer { model: Some(format!("{}/{}", self.line.id, self.model)), ..answer }
    }
}

impl ProviderEndpoint {
    fn new(provider: &Provider) -> Result<Self, ModelOpenError> {
        let wrong =
            |why: &str| ModelOpenError::Provider { id: provider.id.clone(), why: why.to_owned() };
        let secret = provider.key.clone().filter(|key| !key.expose_secret().trim().is_empty());
        let base = base(provider.protocol, &provider.base_url, secret.is_some())
            .map_err(|why| wrong(&why))?;
        let wire = wire(provider.protocol, &base);
        let key = match &secret {
            Some(secret) => Some(
                key_header(wire.key_header(), secret.expose_secret().trim())
                    .ok_or_else(|| wrong("its key has characters that no key has; set it again"))?,
            ),
            None => None,
        };
        let (id, protocol) = (provider.id.clone(), provider.protocol);
        Ok(Self { id, protocol, wire, base, key, secret })
    }

    fn outgoing(
        &self,
        method: Method,
        path: &str,
        extra: &[(&'static str, String)],
    ) -> Result<ProviderRequest, ModelFailure> {
        let wrong = |what: &str| {
            let message = format!("the request cannot be sent: {what}");
            ModelFailure::new(FailureKind::InvalidRequest, message)
        };
        let mut headers = HeaderMap::new();
        for (name, value) in extra {
            let value = HeaderValue::from_str(value)
                .map_err(|_| wrong(&format!("the header {name} has a value that none may have")))?;
            headers.insert(HeaderName::from_static(name), value);
        }
        if let Some((name, value)) = &self.key {
            headers.insert(name.clone(), value.clone());
        }
        let url = address(self.protocol, &self.base, path)
            .ok_or_else(|| wrong("its address is not one"))?;
        Ok(ProviderRequest { method, url, headers, body: Bytes::new() })
    }

    fn list(
        &self,
        http: &ProviderClient,
        wait: &dyn Fn(Duration) -> bool,
    ) -> Result<Vec<String>, ModelFailure> {
        let extra = self.wire.list_headers();
        let mut outgoing = self.outgoing(Method::GET, self.wire.models_path(), &extra)?;
        outgoing.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let mut exchange = http.send(outgoing, wait)?;
        if exchange.status != 200 {
            return Err(self.refused(exchange));
        }
        let mut body = Vec::new();
        while let Some(piece) = exchange.next()? {
            body.extend_from_slice(&piece);
            if body.len() > MODELS_BYTES_MAX {
                let message = format!("the list of models has more than {MODELS_BYTES_MAX} bytes");
                return Err(ModelFailure::new(FailureKind::Malformed, message));
            }
        }
        self.wire.models(&String::from_utf8_lossy(&body))
    }

    /// Reads an error answer and names its failure.
    fn refused(&self, mut exchange: Exchange<'_>) -> ModelFailure {
        let mut body = Vec::new();
        // The part lost by a break is not needed to name the failure.
        while let Ok(Some(piece)) = exchange.next() {
            let room = ERROR_BYTES_MAX - body.len();
            body.extend_from_slice(&piece[..room.min(piece.len())]);
            if body.len() == ERROR_BYTES_MAX {
                break;
            }
        }
        let status = exchange.status;
        let mut failure = match status {
            300..400 => {
                let to = exchange.headers.get(LOCATION).and_then(|value| value.to_str().ok());
                let message = format!(
                    "the address redirects to {} (status {status}); nothing was sent there; if that is right, \
                     make it the base URL",
                    shown(to.unwrap_or("nowhere"))
                );
                ModelFailure::new(FailureKind::InvalidRequest, message)
            }
            _ => self.wire.failure(status, &String::from_utf8_lossy(&body)),
        };
        if failure.retry_after_ms.is_none() {
            failure.retry_after_ms = retry_after_ms(&exchange.headers, Timestamp::now());
        }
        if let Some(id) = request_id(&exchange.headers).filter(|id| !failure.message.contains(id)) {
            failure.message.push_str(&format!(" (request {id})"));
        }
        failure
    }

    /// Returns the failure with the provider's name and without secrets.
    fn clean(&self, http: &ProviderClient, failure: ModelFailure) -> ModelFailure {
        let mut message = http.redact(&failure.message);
        if let Some(secret) = &self.secret {
            message = message.replace(secret.expose_secret().trim(), "[key]");
        }
        ModelFailure { message: format!("{}: {message}", self.id), ..failure }
    }
}

fn key_header(how: KeyHeader, key: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = match how {
        KeyHeader::Bearer => (AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {key}"))),
        KeyHeader::Named(name) => (HeaderName::from_static(name), HeaderValue::from_str(key)),
    };
    let mut value = value.ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

// A base URL is accepted in its usual forms:
// - Anthropic: `https://api.anthropic.com` (ANTHROPIC_BASE_URL); a version `/v1` may follow.
// - OpenAI, both protocols: `https://api.openai.com/v1` (OPENAI_BASE_URL), with the version; a host
//   alone gets `/v1`, and any given path stays as it is.
// - Gemini: `https://generativelanguage.googleapis.com`; a version `/v1beta` may follow.
// A slash at the end changes nothing.
/// Checks the base URL; the result's path ends without a slash.
fn base(protocol: Protocol, text: &str, has_key: bool) -> Result<Url, String> {
    let shown = shown(text);
    let mut url = Url::parse(text.trim())
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| format!("its base URL `{shown}` is not an http or https address"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "its base URL holds a name or a password; put the key where keys are".to_owned()
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("its base URL `{shown}` has a query; leave out what comes after `?`"));
    }
    if url.scheme() == "http" && has_key && !is_near(&url) {
        return Err(format!(
            "its base URL `{shown}` would send the key unencrypted to a public host; write https"
        ));
    }
    let path = url.path().trim_end_matches('/');
    let path = match protocol {
        Protocol::Anthropic => path.strip_suffix("/v1").unwrap_or(path),
        Protocol::Gemini => {
            path.strip_suffix("/v1beta").or_else(|| path.strip_suffix("/v1")).unwrap_or(path)
        }
        Protocol::Openai | Protocol::OpenaiChat if path.is_empty() => "/v1",
        Protocol::Openai | Protocol::OpenaiChat => path,
    }
    .to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Returns the address of a path below the base.
fn address(protocol: Protocol, base: &Url, path: &str) -> Option<Url> {
    let path = match protocol {
        // The base has the version already.
        Protocol::Openai | Protocol::OpenaiChat => match path.strip_prefix("/v1") {
            Some(rest) if rest.starts_with('/') => rest,
            Some(_) | None => path,
        },
        Protocol::Anthropic | Protocol::Gemini => path,
    };
    Url::parse(&format!("{}{path}", base.as_str().trim_end_matches('/'))).ok()
}

/// True if the host is this machine or in a private network.
fn is_near(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => {
            ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local()
        }
        // A name without a dot is on the local network, as are these endings.
        Err(_) => {
            !host.contains('.')
                || [".localhost", ".local", ".internal", ".home.arpa"]
                    .iter()
                    .any(|ending| host.ends_with(ending))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address_of(protocol: Protocol, given: &str, path: &str) -> String {
        let base = base(protocol, given, true).expect("a base URL");
        address(protocol, &base, path).expect("an address").to_string()
    }

    #[test]
    fn a_base_url_is_taken_as_people_write_it() {
        use Protocol::{Anthropic, Gemini, Openai, OpenaiChat};
        for (protocol, given, path, whole) in [
            (Anthropic, "https://a.example", "/v1/messages", "https://a.example/v1/messages"),
            (Anthropic, "https://a.example/v1/", "/v1/messages", "https://a.example/v1/messages"),
            (Anthropic, "https://a.example/x/", "/v1/models", "https://a.example/x/v1/models"),
            (Openai, "https://a.example/v1", "/responses", "https://a.example/v1/responses"),
            (Openai, "https://a.example/v1", "/v1/responses", "https://a.example/v1/responses"),
            (OpenaiChat, "http://127.0.0.1:11434", "/models", "http://127.0.0.1:11434/v1/models"),
            (
                OpenaiChat,
                "https://a.example/api/paas/v4/",
                "/models",
                "https://a.example/api/paas/v4/models",
            ),
            (
                Gemini,
                "https://a.example/v1beta",
                "/v1beta/models?x=1",
                "https://a.example/v1beta/models?x=1",
            ),
            (Gemini, "https://a.example", "/v1beta/models", "https://a.example/v1beta/models"),
        ] {
            assert_eq!(address_of(protocol, given, path), whole, "{given}");
        }
    }

    #[test]
    fn a_key_is_not_sent_in_the_clear_to_a_public_host() {
        let refused = |url: &str| base(Protocol::Anthropic, url, true).err();
        assert!(refused("http://api.example.com").unwrap().contains("write https"));
        assert!(refused("http://8.8.8.8").is_some());
        for near in [
            "http://localhost:1",
            "http://127.0.0.1",
            "http://[::1]:80",
            "http://10.1.2.3",
            "http://ollama:11434",
            "http://box.local",
        ] {
            assert_eq!(refused(near), None, "{near}");
        }
        assert!(base(Protocol::Anthropic, "http://api.example.com", false).is_ok());
        for wrong in [
            "",
            "ftp://a",
            "a.example",
            "https://u:p@a.example",
            "https://a.example/?k=1",
            "file:///x",
        ] {
            assert!(refused(wrong).is_some(), "{wrong}");
        }
    }
}
