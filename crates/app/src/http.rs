//! The server: HTTP for programs, and the console for people.
//!
//! Routes are plain functions that may wait for a disk; only what moves bytes is asynchronous.
//!
//! Must never: do what a request asks for before it is known who asks.

mod api;
mod audience;
pub(crate) mod auth;
mod front;
mod hub;
pub(crate) mod listen;
mod open;
mod openapi;
mod pages;
mod refusal;
mod server;
mod shown;
mod site;
mod stream;
mod table;

use std::sync::Arc;

pub(crate) use audience::Audience;
pub(crate) use hub::Hub;
pub(crate) use server::Server;
pub(crate) use site::Site;

use crate::fault::Fault;
use agentry_protocol::token::Scope;
use listen::Place;
use table::{Asked, Need, Route};

/// Begins to answer requests.
pub(crate) fn start(site: Arc<Site>, place: Place) -> Result<Server, Fault> {
    Server::start(site, place.listener, place.tls, routes())
}

/// All routes.
fn routes() -> Vec<Route> {
    let mut routes = api::routes();
    routes.push(Route::get(
        "/api/openapi.json",
        Need::Anybody(Scope::Read),
        "This document",
        |_, _: Asked| Ok(openapi::Document(document())),
    ));
    routes
}

/// The document of the API.
pub(crate) fn document() -> serde_json::Value {
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
}
