//! The server: HTTP for programs, and the console for people.
//!
//! Route handlers are plain functions that may block on a disk; only network I/O is asynchronous.
//!
//! Must never: run a request before its caller is authenticated; decide; know the command line.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod api;
mod api_error;
mod assets;
pub mod auth;
mod blocking;
mod delta_sink;
mod entry_json;
mod header_value;
mod hub;
pub mod limits;
pub mod listen;
mod openapi;
mod proxy;
mod rate_limit;
mod request_guard;
mod route;
mod route_access;
mod server;
mod sse;
mod state;
mod subscribe;
mod supervision;

use std::sync::Arc;

use agentry_frontend::fault::Fault;
use agentry_protocol::token::TokenScope;
pub use delta_sink::DeltaSink;
pub use hub::StreamHub;
use listen::ListenSocket;
use route::{ApiRequest, ApiRoute, RouteAccess};
pub use server::HttpServer;
pub use state::ServerState;

/// Starts the HTTP server on a bound socket and returns a handle that stops it.
pub fn start(site: Arc<ServerState>, place: ListenSocket) -> Result<HttpServer, Fault> {
    HttpServer::start(site, place.listener, place.tls, routes())
}

/// Returns all routes of the API, the route of its OpenAPI document included.
fn routes() -> Vec<ApiRoute> {
    let mut routes = api::routes();
    routes.push(ApiRoute::get(
        "/api/openapi.json",
        RouteAccess::AnyCaller(TokenScope::Read),
        "This OpenAPI document",
        |_, _: ApiRequest| Ok(openapi::OpenApiDocument(document())),
    ));
    routes
}

/// Returns the OpenAPI document of all routes.
pub fn document() -> serde_json::Value {
    openapi::document(&routes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_every_route_once() {
        let routes = routes();
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let count: usize =
            paths.values().filter_map(|path| path.as_object()).map(|path| path.len()).sum();
        assert_eq!(count, routes.len());
        assert_eq!(document["openapi"], "3.1.0");
    }

    #[test]
    fn the_guide_says_of_every_route_whether_it_leaves_fewer_questions_to_a_person() {
        let guide = include_str!("../../../docs/guide/server.md");
        let rows: Vec<&str> = guide.lines().filter(|line| line.starts_with("| `")).collect();
        for route in routes() {
            let name = format!("`{} {}`", route.method.as_str().to_uppercase(), route.path);
            let row = rows.iter().find(|row| row.contains(&name));
            let row = row.unwrap_or_else(|| panic!("the guide has no row for {name}"));
            let scope = match route.need {
                RouteAccess::Owner(scope) | RouteAccess::AnyCaller(scope) => {
                    format!("| `{scope}` |")
                }
                RouteAccess::AnyKey => "| any key |".to_owned(),
                RouteAccess::Signed => "| a signature, or `submit` |".to_owned(),
                RouteAccess::Unauthenticated => "| a code |".to_owned(),
            };
            assert!(row.contains(&scope), "{name} needs {scope}: {row}");
            let needs_more = route.supervision != supervision::Supervision::Kept;
            assert_eq!(row.ends_with("| `approve` |"), needs_more, "{row}");
        }
    }
}
