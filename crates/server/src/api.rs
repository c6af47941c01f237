//! The routes of the API, one module per topic.
//!
//! Must never: depend on the transport of a request.

mod access;
mod agents;
mod approvals;
mod artifacts;
pub(super) mod entries;
mod grants;
mod health;
mod history;
mod me;
pub(super) mod messages;
mod metrics;
mod models;
mod policies;
mod provenance;
mod resource_usage;
mod resume;
mod runs;
mod sessions;
mod stats;
mod tasks;
pub(super) mod visibility;
mod webhooks;

use super::route::ApiRoute;

/// Returns all routes except the OpenAPI document.
pub(super) fn routes() -> Vec<ApiRoute> {
    let all = [
        me::routes(),
        messages::routes(),
        sessions::routes(),
        runs::routes(),
        resume::routes(),
        entries::routes(),
        provenance::routes(),
        approvals::routes(),
        grants::routes(),
        agents::routes(),
        history::routes(),
        models::routes(),
        tasks::routes(),
        access::routes(),
        health::routes(),
        stats::routes(),
        artifacts::routes(),
        webhooks::routes(),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use schemars::generate::SchemaSettings;

    use super::*;
    use crate::route::{RequestFormat, ResponseFormat};

    #[test]
    fn every_route_is_there_once_and_has_a_schema_with_a_name_of_its_own() {
        let mut generator = SchemaSettings::openapi3().into_generator();
        let mut seen = BTreeSet::new();
        for route in routes() {
            assert!(seen.insert(format!("{:?} {}", route.method, route.path)), "{}", route.path);
            (route.query)(&mut generator);
            match route.takes {
                RequestFormat::Json(describe) => drop(describe(&mut generator)),
                RequestFormat::Empty | RequestFormat::Text => {}
            }
            match route.answer {
                ResponseFormat::Json(_, describe) => drop(describe(&mut generator)),
                ResponseFormat::Other(..) => {}
            }
        }
        // The generator adds a number to the second schema of a name.
        let names = generator.definitions().keys();
        let doubles: Vec<&String> =
            names.filter(|name| name.ends_with(|c: char| c.is_ascii_digit())).collect();
        assert_eq!(doubles, Vec::<&String>::new());
    }
}
