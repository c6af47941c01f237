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

use super::api_error::{ApiError, ApiErrorCode};
use super::auth::Caller;
use super::request_guard::single_header;
use super::state::ServerState;
use super::supervision::Supervision;

/// How a route is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteMethod {
    /// Looks.
    Get,
    /// Does something.
    Post,
}

impl RouteMethod {
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
pub(crate) enum RouteAccess {
    /// The owner, with a key that has this scope.
    Owner(TokenScope),
    /// Anybody who has a key with this scope; the route sees to it that each gets their own.
    AnyCaller(TokenScope),
    /// Whoever has a key at all.
    AnyKey,
    /// Whoever signs what they say, or has a key that opens `submit`; the route sees to it.
    Signed,
    /// Anybody: whoever calls it has no key yet.
    Unauthenticated,
}

/// A route that takes no query or no body.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// What a request asks for, once it is known who asks.
pub(crate) struct ApiRequest<Q = NoParams, B = NoParams> {
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

impl<Q, B> ApiRequest<Q, B> {
    /// A part of the path.
    pub(crate) fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }
}

/// A request before its parts are understood.
pub(crate) struct RawRequest {
    pub(crate) caller: Caller,
    pub(crate) path: Vec<String>,
    pub(crate) query: String,
    pub(crate) body: Vec<u8>,
    pub(crate) headers: HeaderMap,
    /// Where it comes from.
    pub(crate) from: IpAddr,
}

impl RawRequest {
    /// A part of the path.
    pub(crate) fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }

    /// A header that is there exactly once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        single_header(&self.headers, name)
    }

    /// The key under which the same request is done once.
    pub(crate) fn idempotency_key(&self) -> Option<&str> {
        self.header("idempotency-key")
    }
}

/// An answer, ready to be sent.
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    /// Headers beside those that all answers have.
    pub(crate) headers: ResponseHeaders,
}

/// Headers beside those that all answers have.
pub(crate) type ResponseHeaders = Vec<(&'static str, String)>;

/// What a route does whose answer has headers of its own.
pub(crate) type HeaderHandlerFn<B, A> =
    fn(&ServerState, ApiRequest<NoParams, B>) -> Result<(A, ResponseHeaders), ApiError>;

/// What a route does.
pub(crate) type HandlerFn =
    Arc<dyn Fn(&ServerState, RawRequest) -> Result<ApiResponse, ApiError> + Send + Sync>;

/// A schema, when the document is made.
pub(crate) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// One route.
pub(crate) struct ApiRoute {
    pub(crate) method: RouteMethod,
    /// With `{name}` where a part is left open.
    pub(crate) path: &'static str,
    pub(crate) need: RouteAccess,
    /// Whether it can leave fewer questions to a person.
    pub(crate) supervision: Supervision,
    /// One line for people.
    pub(crate) words: &'static str,
    pub(crate) query: SchemaFn,
    pub(crate) takes: RequestFormat,
    pub(crate) answer: ResponseFormat,
    pub(crate) work: RouteHandler,
}

/// What a route takes as its body.
#[derive(Clone, Copy)]
pub(crate) enum RequestFormat {
    /// Nothing.
    Empty,
    /// JSON.
    Json(SchemaFn),
    /// Text of any type, which the route reads by itself.
    Text,
}

/// What a route gives.
pub(crate) enum ResponseFormat {
    /// JSON.
    Json(u16, SchemaFn),
    /// Something else, of this type.
    Other(u16, &'static str),
}

/// How a route does its work.
#[derive(Clone)]
pub(crate) enum RouteHandler {
    /// An answer, once.
    Response(HandlerFn),
    /// A stream of events, by its name.
    Stream(super::sse::Kind),
}

/// How a route is called, who may, and one line for people.
type RouteSignature = (&'static str, RouteAccess, &'static str);

impl ApiRoute {
    /// A route that looks.
    pub(crate) fn get<Q, A>(
        path: &'static str,
        need: RouteAccess,
        words: &'static str,
        work: fn(&ServerState, ApiRequest<Q>) -> Result<A, ApiError>,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let answer = ResponseFormat::Json(200, describe::<A>);
        let does = move |site: &ServerState, asked: ApiRequest<Q>| json(200, &work(site, asked)?);
        Self::answering(RouteMethod::Get, (path, need, words), answer, does)
    }

    /// A route that does something.
    pub(crate) fn post<B, A>(
        path: &'static str,
        need: RouteAccess,
        words: &'static str,
        work: fn(&ServerState, ApiRequest<NoParams, B>) -> Result<A, ApiError>,
    ) -> Self
    where
        B: DeserializeOwned + JsonSchema + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let answer = ResponseFormat::Json(200, describe::<A>);
        let does = move |site: &ServerState, asked: ApiRequest<NoParams, B>| {
            json(200, &work(site, asked)?)
        };
        Self::answering(RouteMethod::Post, (path, need, words), answer, does)
    }

    /// The same, with headers that come of the answer.
    pub(crate) fn with_headers<B, A>(
        path: &'static str,
        need: RouteAccess,
        words: &'static str,
        work: HeaderHandlerFn<B, A>,
    ) -> Self
    where
        B: DeserializeOwned + JsonSchema + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let does = move |site: &ServerState, asked: ApiRequest<NoParams, B>| {
            let (value, headers) = work(site, asked)?;
            Ok(ApiResponse { headers, ..json(200, &value)? })
        };
        let answer = ResponseFormat::Json(200, describe::<A>);
        Self::answering(RouteMethod::Post, (path, need, words), answer, does)
    }

    /// A route that gives something that is not JSON.
    pub(crate) fn raw(
        path: &'static str,
        need: RouteAccess,
        words: &'static str,
        content_type: &'static str,
        work: fn(&ServerState, ApiRequest) -> Result<ApiResponse, ApiError>,
    ) -> Self {
        Self::answering(
            RouteMethod::Get,
            (path, need, words),
            ResponseFormat::Other(200, content_type),
            work,
        )
    }

    /// A route that takes text, whatever its type, and looks at the headers.
    pub(crate) fn text<A>(
        path: &'static str,
        need: RouteAccess,
        words: &'static str,
        work: fn(&ServerState, &RawRequest) -> Result<A, ApiError>,
    ) -> Self
    where
        A: Serialize + JsonSchema + 'static,
    {
        let does = move |site: &ServerState, raw: RawRequest| json(200, &work(site, &raw)?);
        Self {
            method: RouteMethod::Post,
            path,
            need,
            supervision: Supervision::Kept,
            words,
            query: describe::<NoParams>,
            takes: RequestFormat::Text,
            answer: ResponseFormat::Json(200, describe::<A>),
            work: RouteHandler::Response(Arc::new(does)),
        }
    }

    /// A stream of events.
    pub(crate) fn stream<Q, B>(
        method: RouteMethod,
        path: &'static str,
        need: RouteAccess,
        words: &'static str,
        kind: super::sse::Kind,
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
            answer: ResponseFormat::Other(200, "text/event-stream"),
            work: RouteHandler::Stream(kind),
        }
    }

    fn answering<Q, B>(
        method: RouteMethod,
        (path, need, words): RouteSignature,
        answer: ResponseFormat,
        work: impl Fn(&ServerState, ApiRequest<Q, B>) -> Result<ApiResponse, ApiError>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + 'static,
        B: DeserializeOwned + JsonSchema + 'static,
    {
        let does = move |site: &ServerState, raw: RawRequest| {
            let once = raw.idempotency_key().map(str::to_owned);
            let query = read_query(&raw.query)?;
            let body = read_body(&raw.body)?;
            let RawRequest { caller, path, .. } = raw;
            work(site, ApiRequest { caller, path, query, body, once })
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
            work: RouteHandler::Response(Arc::new(does)),
        }
    }

    /// The same, which can leave fewer questions to a person.
    pub(crate) fn supervision(mut self, supervision: Supervision) -> Self {
        self.supervision = supervision;
        self
    }

    /// The same, answered with another status.
    pub(crate) fn status(mut self, status: u16) -> Self {
        if let ResponseFormat::Json(given, _) = &mut self.answer {
            *given = status;
        }
        if let RouteHandler::Response(work) = &self.work {
            let work = work.clone();
            self.work = RouteHandler::Response(Arc::new(move |site, raw| {
                work(site, raw).map(|answer| ApiResponse { status, ..answer })
            }));
        }
        self
    }
}

fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A body of this type; a route that needs nothing takes none.
fn taken<B: JsonSchema + 'static>() -> RequestFormat {
    match std::any::TypeId::of::<B>() == std::any::TypeId::of::<NoParams>() {
        true => RequestFormat::Empty,
        false => RequestFormat::Json(describe::<B>),
    }
}

/// How many rows a page has, if the caller may say so.
pub(crate) fn page_size(
    wanted: Option<usize>,
    usual: usize,
    most: usize,
) -> Result<usize, ApiError> {
    let wanted = wanted.unwrap_or(usual);
    match (1..=most).contains(&wanted) {
        true => Ok(wanted),
        false => Err(ApiError::invalid(format!("`limit` is a number from 1 to {most}"))),
    }
}

/// An answer in JSON.
pub(crate) fn json(status: u16, value: &impl Serialize) -> Result<ApiResponse, ApiError> {
    let body = serde_json::to_vec(value).map_err(|error| {
        ApiError::new(ApiErrorCode::Internal, format!("the answer cannot be written: {error}"))
    })?;
    Ok(ApiResponse { status, content_type: "application/json", body, headers: Vec::new() })
}

pub(crate) fn read_query<Q: DeserializeOwned>(text: &str) -> Result<Q, ApiError> {
    serde_urlencoded::from_str(text)
        .map_err(|error| ApiError::invalid(format!("the query cannot be understood: {error}")))
}

/// A body that is not there is an empty object.
pub(crate) fn read_body<B: DeserializeOwned>(bytes: &[u8]) -> Result<B, ApiError> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::invalid(format!("the body cannot be understood: {error}")))
}
