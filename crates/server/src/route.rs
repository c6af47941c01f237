//! The route table: each route declares its access, request format and response format once.
//!
//! The server and the OpenAPI document are both made from this table. `RouteAccess` has no default,
//! so no route can be open by accident.
//!
//! Must never: run a route for a caller whose key lacks the scope of the route.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::api_error::{ApiError, ApiErrorCode};
use super::auth::Caller;
use super::header_value::single_header;
pub(crate) use super::route_access::RouteAccess;
use super::state::ServerState;
use super::supervision::Supervision;

/// The HTTP method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteMethod {
    /// Reads; changes nothing.
    Get,
    /// Changes state or starts work.
    Post,
}

impl RouteMethod {
    /// Returns the lower-case name of the method, as OpenAPI documents write it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
        }
    }
}

/// Parameters of a route without a query or without a body.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// A request with its parts parsed, from an authenticated caller.
pub(crate) struct ApiRequest<Q = NoParams, B = NoParams> {
    /// The authenticated caller.
    pub(crate) caller: Caller,
    /// The values of the path's placeholders, in order.
    pub(crate) path: Vec<String>,
    /// The parsed query string.
    pub(crate) query: Q,
    /// The parsed JSON body.
    pub(crate) body: B,
    /// The `Idempotency-Key` header; the server runs a request once per key.
    pub(crate) once: Option<String>,
}

impl<Q, B> ApiRequest<Q, B> {
    /// Returns the value of the placeholder at this index; empty if there is none.
    pub(crate) fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }
}

/// An authenticated request before its query and body are parsed.
pub(crate) struct RawRequest {
    pub(crate) caller: Caller,
    pub(crate) path: Vec<String>,
    pub(crate) query: String,
    pub(crate) body: Vec<u8>,
    pub(crate) headers: HeaderMap,
    /// The address of the client, from `RequestGuard::client_address`.
    pub(crate) from: IpAddr,
}

impl RawRequest {
    /// Returns the value of the placeholder at this index; empty if there is none.
    pub(crate) fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }

    /// Returns the value of a header that occurs exactly once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        single_header(&self.headers, name)
    }

    /// Returns the `Idempotency-Key` header.
    pub(crate) fn idempotency_key(&self) -> Option<&str> {
        self.header("idempotency-key")
    }
}

/// A complete response, ready to send.
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    /// Headers in addition to those of every response.
    pub(crate) headers: ResponseHeaders,
}

/// Headers that a response has in addition to those of every response.
pub(crate) type ResponseHeaders = Vec<(&'static str, String)>;

/// The handler of a route whose response has headers of its own.
pub(crate) type HeaderHandlerFn<B, A> =
    fn(&ServerState, ApiRequest<NoParams, B>) -> Result<(A, ResponseHeaders), ApiError>;

/// The handler of a route; it may block.
pub(crate) type HandlerFn =
    Arc<dyn Fn(&ServerState, RawRequest) -> Result<ApiResponse, ApiError> + Send + Sync>;

/// Adds the schema of a type to a generator when the OpenAPI document is made.
pub(crate) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// A route: its path, access, formats and handler.
pub(crate) struct ApiRoute {
    pub(crate) method: RouteMethod,
    /// The path; `{name}` is a placeholder.
    pub(crate) path: &'static str,
    pub(crate) need: RouteAccess,
    /// The ways in which the route can reduce approval questions.
    pub(crate) supervision: Supervision,
    /// The summary for people: one line.
    pub(crate) words: &'static str,
    pub(crate) query: SchemaFn,
    pub(crate) takes: RequestFormat,
    pub(crate) answer: ResponseFormat,
    pub(crate) work: RouteHandler,
}

/// The format of a route's request body.
#[derive(Clone, Copy)]
pub(crate) enum RequestFormat {
    /// No body.
    Empty,
    /// JSON with this schema.
    Json(SchemaFn),
    /// Text of any content type; the handler parses it.
    Text,
}

/// The format of a route's response, with its HTTP status.
pub(crate) enum ResponseFormat {
    /// JSON with this schema.
    Json(u16, SchemaFn),
    /// A body of this content type, without a schema.
    Other(u16, &'static str),
}

/// The way in which a route answers.
#[derive(Clone)]
pub(crate) enum RouteHandler {
    /// One response.
    Response(HandlerFn),
    /// A stream of server-sent events of this kind.
    Stream(super::sse::Kind),
}

/// Path, access and summary of a route.
struct RouteSignature {
    path: &'static str,
    need: RouteAccess,
    words: &'static str,
}

impl ApiRoute {
    /// Returns a `GET` route with a JSON response.
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
        Self::answering(RouteMethod::Get, RouteSignature { path, need, words }, answer, does)
    }

    /// Returns a `POST` route with a JSON body and a JSON response.
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
        Self::answering(RouteMethod::Post, RouteSignature { path, need, words }, answer, does)
    }

    /// Returns a `POST` route whose handler also returns headers for its response.
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
        Self::answering(RouteMethod::Post, RouteSignature { path, need, words }, answer, does)
    }

    /// Returns a `GET` route whose response is not JSON.
    pub(crate) fn raw(
        path: &'static str,
        need: RouteAccess,
        words: &'static str,
        content_type: &'static str,
        work: fn(&ServerState, ApiRequest) -> Result<ApiResponse, ApiError>,
    ) -> Self {
        Self::answering(
            RouteMethod::Get,
            RouteSignature { path, need, words },
            ResponseFormat::Other(200, content_type),
            work,
        )
    }

    /// Returns a `POST` route with a body of any content type; its handler gets the raw request.
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

    /// Returns a route that answers with server-sent events.
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
        signature: RouteSignature,
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
        let RouteSignature { path, need, words } = signature;
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

    /// Sets how the route can reduce approval questions; it then needs `approve` too.
    pub(crate) fn supervision(mut self, supervision: Supervision) -> Self {
        self.supervision = supervision;
        self
    }

    /// Sets the status of successful responses, instead of 200.
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

/// Returns the request format for a body type; `NoParams` means no body.
fn taken<B: JsonSchema + 'static>() -> RequestFormat {
    if std::any::TypeId::of::<B>() == std::any::TypeId::of::<NoParams>() {
        RequestFormat::Empty
    } else {
        RequestFormat::Json(describe::<B>)
    }
}

/// Returns the page size: the requested one, or `usual`; an error outside 1 to `most`.
pub(crate) fn page_size(
    wanted: Option<usize>,
    usual: usize,
    most: usize,
) -> Result<usize, ApiError> {
    let wanted = wanted.unwrap_or(usual);
    if (1..=most).contains(&wanted) {
        Ok(wanted)
    } else {
        Err(ApiError::invalid(format!("`limit` must be between 1 and {most}")))
    }
}

/// Serializes a value to a JSON response with this status.
pub(crate) fn json(status: u16, value: &impl Serialize) -> Result<ApiResponse, ApiError> {
    let body = serde_json::to_vec(value).map_err(|error| {
        ApiError::new(ApiErrorCode::Internal, format!("cannot serialize the response: {error}"))
    })?;
    Ok(ApiResponse { status, content_type: "application/json", body, headers: Vec::new() })
}

pub(crate) fn read_query<Q: DeserializeOwned>(text: &str) -> Result<Q, ApiError> {
    serde_urlencoded::from_str(text)
        .map_err(|error| ApiError::invalid(format!("invalid query: {error}")))
}

/// Parses a JSON body; an empty body counts as an empty object.
pub(crate) fn read_body<B: DeserializeOwned>(bytes: &[u8]) -> Result<B, ApiError> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::invalid(format!("invalid request body: {error}")))
}
