//! All routes: each says once who may call it, what it takes and what it gives.
//!
//! The server and the document of the API are both made from this. A route that names no scope cannot be
//! written down, so none can be open by accident.
//!
//! Must never: run a route for somebody whose key does not open it.

use std::net::IpAddr;
use std::sync::Arc;

use agentry_protocol::token::TokenScope;
use axum::http::HeaderMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::auth::Caller;
use super::front::one;
use super::refusal::{Code, Refusal};
use super::site::Site;
use super::supervision::Supervision;

/// How a route is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Looks.
    Get,
    /// Does something.
    Post,
}

impl Method {
    /// The word in the document of the API.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
        }
    }
}

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The owner, with a key that has this scope.
    Owner(TokenScope),
    /// Anybody who has a key with this scope; the route sees to it that each gets their own.
    Anybody(TokenScope),
    /// Whoever has a key at all.
    Key,
    /// Whoever signs what they say, or has a key that opens `submit`; the route sees to it.
    Signed,
    /// Anybody: whoever calls it has no key yet.
    Nobody,
}

/// A route that takes no query or no body.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// What a request asks for, once it is known who asks.
pub(crate) struct Asked<Q = Nothing, B = Nothing> {
    /// Who asks.
    pub(crate) caller: Caller,
    /// The parts of the path that the route leaves open, in order.
    pub(crate) path: Vec<String>,
    /// What stands behind the question mark.
    pub(crate) query: Q,
    /// What was sent.
    pub(crate) body: B,
    /// The key under which the same request is done once.
    pub(crate) once: Option<String>,
}

impl<Q, B> Asked<Q, B> {
    /// A part of the path.
    pub(crate) fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }
}

/// A request before its parts are understood.
pub(crate) struct Raw {
    pub(crate) caller: Caller,
    pub(crate) path: Vec<String>,
    pub(crate) query: String,
    pub(crate) body: Vec<u8>,
    pub(crate) headers: HeaderMap,
    /// Where it comes from.
    pub(crate) from: IpAddr,
}

impl Raw {
    /// A part of the path.
    pub(crate) fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }

    /// A header that is there exactly once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        one(&self.headers, name)
    }

    /// The key under which the same request is done once.
    pub(crate) fn once(&self) -> Option<&str> {
        self.header("idempotency-key")
    }
}

/// An answer, ready to be sent.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    /// Headers beside those that all answers have.
    pub(crate) headers: Headers,
}

/// Headers beside those that all answers have.
pub(crate) type Headers = Vec<(&'static str, String)>;

/// What a route does whose answer has headers of its own.
pub(crate) type WithHeaders<B, A> = fn(&Site, Asked<Nothing, B>) -> Result<(A, Headers), Refusal>;

/// What a route does.
pub(crate) type Work = Arc<dyn Fn(&Site, Raw) -> Result<Answer, Refusal> + Send + Sync>;

/// A schema, when the document is made.
pub(crate) type Describe = fn(&mut SchemaGenerator) -> Schema;

/// One route.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// With `{name}` where a part is left open.
    pub(crate) path: &'static str,
    pub(crate) need: Need,
    /// Whether it can leave fewer questions to a person.
    pub(crate) supervision: Supervision,
    /// One line for people.
    pub(crate) words: &'static str,
    pub(crate) query: Describe,
    pub(crate) takes: Takes,
    pub(crate) answer: Gives,
    pub(crate) work: Does,
}

/// What a route takes as its body.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// Nothing.
    Nothing,
    /// JSON.
    Json(Describe),
    /// Text of any type, which the route reads by itself.
    Text,
}

/// What a route gives.
pub(crate) enum Gives {
    /// JSON.
    Json(u16, Describe),
    /// Something else, of this type.
    Other(u16, &'static str),
}

/// How a route does its work.
#[derive(Clone)]
pub(crate) enum Does {
    /// An answer, once.
    Answers(Work),
    /// A stream of events, by its name.
    Streams(super::stream::Kind),
}

/// How a route is called, who may, and one line for people.
type Line = (&'static str, Need, &'static str);

impl Route {
    /// A route that looks.
    pub(crate) fn get<Q, A>(
        path: &'static str,
        need: Need,
        words: &'static str,
        work: fn(&Site, Asked<Q>) -> Result<A, Refusal>,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let answer = Gives::Json(200, describe::<A>);
        let does = move |site: &Site, asked: Asked<Q>| json(200, &work(site, asked)?);
        Self::answering(Method::Get, (path, need, words), answer, does)
    }

    /// A route that does something.
    pub(crate) fn post<B, A>(
        path: &'static str,
        need: Need,
        words: &'static str,
        work: fn(&Site, Asked<Nothing, B>) -> Result<A, Refusal>,
    ) -> Self
    where
        B: DeserializeOwned + JsonSchema + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let answer = Gives::Json(200, describe::<A>);
        let does = move |site: &Site, asked: Asked<Nothing, B>| json(200, &work(site, asked)?);
        Self::answering(Method::Post, (path, need, words), answer, does)
    }

    /// The same, with headers that come of the answer.
    pub(crate) fn with_headers<B, A>(
        path: &'static str,
        need: Need,
        words: &'static str,
        work: WithHeaders<B, A>,
    ) -> Self
    where
        B: DeserializeOwned + JsonSchema + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let does = move |site: &Site, asked: Asked<Nothing, B>| {
            let (value, headers) = work(site, asked)?;
            Ok(Answer { headers, ..json(200, &value)? })
        };
        let answer = Gives::Json(200, describe::<A>);
        Self::answering(Method::Post, (path, need, words), answer, does)
    }

    /// A route that gives something that is not JSON.
    pub(crate) fn raw(
        path: &'static str,
        need: Need,
        words: &'static str,
        content_type: &'static str,
        work: fn(&Site, Asked) -> Result<Answer, Refusal>,
    ) -> Self {
        Self::answering(Method::Get, (path, need, words), Gives::Other(200, content_type), work)
    }

    /// A route that takes text, whatever its type, and looks at the headers.
    pub(crate) fn text<A>(
        path: &'static str,
        need: Need,
        words: &'static str,
        work: fn(&Site, &Raw) -> Result<A, Refusal>,
    ) -> Self
    where
        A: Serialize + JsonSchema + 'static,
    {
        let does = move |site: &Site, raw: Raw| json(200, &work(site, &raw)?);
        Self {
            method: Method::Post,
            path,
            need,
            supervision: Supervision::Kept,
            words,
            query: describe::<Nothing>,
            takes: Takes::Text,
            answer: Gives::Json(200, describe::<A>),
            work: Does::Answers(Arc::new(does)),
        }
    }

    /// A stream of events.
    pub(crate) fn stream<Q, B>(
        method: Method,
        path: &'static str,
        need: Need,
        words: &'static str,
        kind: super::stream::Kind,
    ) -> Self
    where
        Q: JsonSchema + 'static,
        B: JsonSchema + 'static,
    {
        Self {
            method,
            path,
            need,
            supervision: Supervision::Kept,
            words,
            query: describe::<Q>,
            takes: taken::<B>(),
            answer: Gives::Other(200, "text/event-stream"),
            work: Does::Streams(kind),
        }
    }

    fn answering<Q, B>(
        method: Method,
        (path, need, words): Line,
        answer: Gives,
        work: impl Fn(&Site, Asked<Q, B>) -> Result<Answer, Refusal> + Send + Sync + 'static,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + 'static,
        B: DeserializeOwned + JsonSchema + 'static,
    {
        let does = move |site: &Site, raw: Raw| {
            let once = raw.once().map(str::to_owned);
            let query = read_query(&raw.query)?;
            let body = read_body(&raw.body)?;
            let Raw { caller, path, .. } = raw;
            work(site, Asked { caller, path, query, body, once })
        };
        Self {
            method,
            path,
            need,
            supervision: Supervision::Kept,
            words,
            query: describe::<Q>,
            takes: taken::<B>(),
            answer,
            work: Does::Answers(Arc::new(does)),
        }
    }

    /// The same, which can leave fewer questions to a person.
    pub(crate) fn supervision(mut self, supervision: Supervision) -> Self {
        self.supervision = supervision;
        self
    }

    /// The same, answered with another status.
    pub(crate) fn status(mut self, status: u16) -> Self {
        if let Gives::Json(given, _) = &mut self.answer {
            *given = status;
        }
        if let Does::Answers(work) = &self.work {
            let work = work.clone();
            self.work = Does::Answers(Arc::new(move |site, raw| {
                work(site, raw).map(|answer| Answer { status, ..answer })
            }));
        }
        self
    }
}

fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A body of this type; a route that needs nothing takes none.
fn taken<B: JsonSchema + 'static>() -> Takes {
    match std::any::TypeId::of::<B>() == std::any::TypeId::of::<Nothing>() {
        true => Takes::Nothing,
        false => Takes::Json(describe::<B>),
    }
}

/// How many rows a page has, if the caller may say so.
pub(crate) fn page_size(
    wanted: Option<usize>,
    usual: usize,
    most: usize,
) -> Result<usize, Refusal> {
    let wanted = wanted.unwrap_or(usual);
    match (1..=most).contains(&wanted) {
        true => Ok(wanted),
        false => Err(Refusal::invalid(format!("`limit` is a number from 1 to {most}"))),
    }
}

/// An answer in JSON.
pub(crate) fn json(status: u16, value: &impl Serialize) -> Result<Answer, Refusal> {
    let body = serde_json::to_vec(value).map_err(|error| {
        Refusal::new(Code::Internal, format!("the answer cannot be written: {error}"))
    })?;
    Ok(Answer { status, content_type: "application/json", body, headers: Vec::new() })
}

pub(crate) fn read_query<Q: DeserializeOwned>(text: &str) -> Result<Q, Refusal> {
    serde_urlencoded::from_str(text)
        .map_err(|error| Refusal::invalid(format!("the query cannot be understood: {error}")))
}

/// A body that is not there is an empty object.
pub(crate) fn read_body<B: DeserializeOwned>(bytes: &[u8]) -> Result<B, Refusal> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes)
        .map_err(|error| Refusal::invalid(format!("the body cannot be understood: {error}")))
}
