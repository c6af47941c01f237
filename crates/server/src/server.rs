//! Accepts connections, reads requests, and sends the responses of the route handlers.
//!
//! Handlers that may block on a disk run on a thread pool; the async threads do network I/O only.
//!
//! Must never: hold more of a request than the limit allows, or wait for a peer without a timeout.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use agentry_frontend::fault::{Blame, Fault};
use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use http_body_util::{BodyExt, Limited};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tower_service::Service;

use super::api_error::{ApiError, ApiErrorBody, ApiErrorCode};
use super::assets;
use super::blocking::blocking;
use super::header_value::single_header;
use super::request_guard::ClientRequest;
use super::route::{
    ApiResponse, ApiRoute, RawRequest, RequestFormat, RouteAccess, RouteHandler, RouteMethod,
};
use super::state::ServerState;
use super::subscribe;
use crate::limits::{
    ANSWER_THREADS_MAX, BODY_BYTES_MAX, BODY_TIME_MAX, CONNECTIONS_MAX, HEAD_BYTES_MAX,
    HEAD_TIME_MAX, HEADERS_MAX, STREAMS_END_TIME_MAX, UNREAD_TIME_MAX,
};

/// Security headers of every response; they restrict what a browser may do with it.
const HEADERS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self' data:; font-src 'self'; manifest-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types agentry dompurify svelte-trusted-html",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("x-robots-tag", "noindex"),
];

/// The running HTTP server.
pub struct HttpServer {
    runtime: Runtime,
    stop: watch::Sender<bool>,
    /// One permit for each connection up to the limit.
    room: Arc<Semaphore>,
    site: Arc<ServerState>,
}

impl HttpServer {
    /// Binds the routes to a listener and begins to accept connections.
    pub(crate) fn start(
        site: Arc<ServerState>,
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        routes: Vec<ApiRoute>,
    ) -> Result<Self, Fault> {
        let machine = |error: std::io::Error| {
            Fault::new(Blame::Machine, format!("cannot start the server: {error}"))
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(ANSWER_THREADS_MAX)
            .thread_name("http")
            .enable_all()
            .build()
            .map_err(machine)?;
        listener.set_nonblocking(true).map_err(machine)?;
        let (stop, stopped) = watch::channel(false);
        let router = router(&site, routes);
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(machine)?
        };
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        runtime.spawn(accept(listener, tls, router, stopped, room.clone()));
        Ok(Self { runtime, stop, room, site })
    }

    /// Stops accepting, closes all streams, and waits a short time for clients to leave.
    pub fn stop(self) {
        self.stop.send_replace(true);
        self.site.hub.close();
        let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
        let over = self.room.acquire_many_owned(all);
        // Connections that are still open after the timeout are cut off.
        let waited = async { tokio::time::timeout(STREAMS_END_TIME_MAX, over).await };
        drop(self.runtime.block_on(waited));
        self.runtime.shutdown_timeout(STREAMS_END_TIME_MAX);
    }
}

async fn accept(
    listener: tokio::net::TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    mut stopped: watch::Receiver<bool>,
    room: Arc<Semaphore>,
) {
    loop {
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            _ = stopped.changed() => return,
        };
        let Ok((stream, peer)) = taken else {
            // Out of file descriptors, or a peer that left: the next attempt may succeed.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let Ok(place) = room.clone().try_acquire_owned() else { continue };
        prepare(&stream);
        let (tls, router, stopped) = (tls.clone(), router.clone(), stopped.clone());
        tokio::spawn(async move {
            match tls {
                None => talk(stream, peer, router, stopped).await,
                Some(tls) => {
                    let agreed = tokio::time::timeout(HEAD_TIME_MAX, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = agreed {
                        talk(stream, peer, router, stopped).await;
                    }
                }
            }
            drop(place);
        });
    }
}

/// Sends small data at once, and drops a peer that acknowledges nothing in time.
fn prepare(stream: &tokio::net::TcpStream) {
    accept_optional(stream.set_nodelay(true));
    let ms = u32::try_from(UNREAD_TIME_MAX.as_millis()).unwrap_or(u32::MAX);
    #[cfg(target_os = "linux")]
    accept_optional(sockopt::set_tcp_user_timeout(stream, ms));
}

/// Accepts the result of an option of a connection. A system may lack the option, and a peer may be
/// gone already; the connection works without it, or ends by itself.
fn accept_optional<E>(set: Result<(), E>) {
    set.ok();
}

async fn talk<S>(stream: S, peer: SocketAddr, router: Router, mut stopped: watch::Receiver<bool>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut router = router.clone();
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(PeerAddress(peer));
            let answered = router.call(request).await;
            answered.map(finished)
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Errors of a connection matter only to its peer.
        _ = connection.as_mut() => return,
        _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
    }
    connection.await.unwrap_or(());
}

/// The address of the connection's peer, which may be a proxy.
#[derive(Clone, Copy)]
struct PeerAddress(SocketAddr);

fn finished(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn router(site: &Arc<ServerState>, routes: Vec<ApiRoute>) -> Router {
    let mut router = Router::new();
    for route in routes {
        let filter = match route.method {
            RouteMethod::Get => MethodFilter::GET,
            RouteMethod::Post => MethodFilter::POST,
        };
        let (site, path, route) = (site.clone(), route.path, Arc::new(route));
        let serve = move |params: RawPathParams, request: Request| {
            let (site, route) = (site.clone(), route.clone());
            let path = params.iter().map(|(_, value)| value.to_owned()).collect();
            async move { answered(serve(site, route, path, request).await) }
        };
        router = router.route(path, on(filter, serve));
    }
    let paged = site.clone();
    let unknown = site.clone();
    router
        .fallback(move |request: Request| {
            let site = paged.clone();
            async move { answered(page(&site, &request)) }
        })
        .method_not_allowed_fallback(move |request: Request| {
            let site = unknown.clone();
            async move { answered(wrong_method(&site, &request)) }
        })
}

fn answered(result: Result<Response, ApiError>) -> Response {
    result.unwrap_or_else(|refusal| {
        let mut answer = ApiResponse {
            status: refusal.code.status(),
            content_type: "application/json",
            body: Vec::new(),
            headers: Vec::new(),
        };
        if let Some(seconds) = refusal.retry_after {
            answer.headers.push(("retry-after", seconds.to_string()));
        }
        if refusal.code == ApiErrorCode::Unauthenticated {
            answer.headers.push(("www-authenticate", "Bearer".to_owned()));
        }
        answer.body = serde_json::to_vec(&ApiErrorBody { error: refusal }).unwrap_or_default();
        response(answer)
    })
}

fn response(answer: ApiResponse) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    for (name, value) in answer.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.append(HeaderName::from_static(name), value);
        }
    }
    response
}

async fn serve(
    site: Arc<ServerState>,
    route: Arc<ApiRoute>,
    path: Vec<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    site.front.check_origin(&parts.method, &parts.headers)?;
    let peer = parts.extensions.get::<PeerAddress>().map(|peer| peer.0.ip());
    let peer = peer.ok_or_else(|| {
        ApiError::new(ApiErrorCode::Internal, "the connection has no peer address")
    })?;
    let from = site.front.client_address(peer, &parts.headers);
    let method = parts.method.clone();
    let (identifying, headers, need) = (site.clone(), parts.headers.clone(), route.need);
    let caller = blocking(move || {
        let request = ClientRequest { method: &method, headers: &headers, from };
        identifying.front.caller(&identifying.keys, &request, need)
    })
    .await?;
    route.supervision.check(&caller)?;
    let body = read(&parts.headers, body, route.takes).await?;
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let raw = RawRequest { caller, path, query, body, headers: parts.headers, from };
    match route.work.clone() {
        RouteHandler::Stream(kind) => subscribe::stream(site, kind, raw).await,
        RouteHandler::Response(work) => {
            let working = site.clone();
            let answer = blocking(move || work(&working, raw)).await;
            let was_wrong =
                matches!(&answer, Err(refusal) if refusal.code == ApiErrorCode::Unauthenticated);
            if was_wrong && [RouteAccess::Unauthenticated, RouteAccess::Signed].contains(&need) {
                site.front.rates.count_wrong_key(from, None)?;
            }
            answer.map(response)
        }
    }
}

async fn read(
    headers: &axum::http::HeaderMap,
    body: Body,
    takes: RequestFormat,
) -> Result<Vec<u8>, ApiError> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(ApiError::new(
            ApiErrorCode::Unsupported,
            "the header `Content-Encoding` is not supported",
        ));
    }
    let collecting = Limited::new(body, BODY_BYTES_MAX).collect();
    let collected = tokio::time::timeout(BODY_TIME_MAX, collecting).await;
    let collected = collected
        .map_err(|_| {
            ApiError::new(ApiErrorCode::Timeout, "timeout while reading the request body")
        })?
        .map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                let message = format!("the request body is larger than {BODY_BYTES_MAX} bytes");
                ApiError::new(ApiErrorCode::TooLarge, message)
            } else {
                ApiError::invalid("cannot read the request body")
            }
        })?;
    let bytes = collected.to_bytes().to_vec();
    if matches!(takes, RequestFormat::Text) {
        return Ok(bytes);
    }
    let kind = single_header(headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !bytes.is_empty() && !kind.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::new(ApiErrorCode::Unsupported, "the request body must be JSON")
            .hint("send `Content-Type: application/json`"));
    }
    Ok(bytes)
}

/// Serves a file of the console. These files are public, so no key is needed.
fn page(site: &ServerState, request: &Request) -> Result<Response, ApiError> {
    site.front.check_origin(request.method(), request.headers())?;
    let path = request.uri().path();
    let is_page = [axum::http::Method::GET, axum::http::Method::HEAD].contains(request.method());
    let is_api = ["/api", "/run", "/webhooks"].iter().any(|root| {
        path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let accepts = single_header(request.headers(), "accept-encoding").unwrap_or_default();
    let found = (is_page && !is_api).then(|| assets::page(path, accepts)).flatten();
    let found = found.ok_or_else(|| {
        ApiError::new(ApiErrorCode::NotFound, "no such route or page")
            .hint("GET /api/openapi.json lists all routes")
    })?;
    let lasting = "public, max-age=31536000, immutable";
    let mut headers =
        vec![("cache-control", if found.is_lasting { lasting } else { "no-cache" }.to_owned())];
    headers.push(("vary", "accept-encoding".to_owned()));
    headers.extend(found.encoding.map(|encoding| ("content-encoding", encoding.to_owned())));
    let (body, content_type) = (found.body, found.content_type);
    Ok(response(ApiResponse { status: 200, content_type, body, headers }))
}

fn wrong_method(site: &ServerState, request: &Request) -> Result<Response, ApiError> {
    site.front.check_origin(request.method(), request.headers())?;
    Err(ApiError::new(ApiErrorCode::WrongMethod, "method not allowed")
        .hint("GET /api/openapi.json lists all routes"))
}
