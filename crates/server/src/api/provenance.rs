//! The route that explains an entry of the ledger.
//!
//! Must never: report a decision that is not recorded.

use agentry_protocol::token::TokenScope;
use agentry_runtime::report::provenance::{DefinitionLookup, Provenance, provenance_of};
use agentry_runtime::report::source_location::{DefinitionLocation, SourceReader};

use crate::api_error::ApiError;
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess};
use crate::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![ApiRoute::get(
        "/api/entries/{seq}/why",
        RouteAccess::Owner(TokenScope::Read),
        "The decisions that led to an entry",
        why,
    )]
}

fn why(site: &ServerState, asked: ApiRequest<NoParams>) -> Result<Provenance, ApiError> {
    let unknown = || ApiError::not_found("entry", asked.part(0));
    let seq = asked.part(0).parse().map_err(|_| unknown())?;
    let definite = site.definition_cache.read()?;
    let (project, redactor) = (site.project.as_path(), &*site.parts.redactor);
    let sources = SourceReader { definite: &definite, project, redactor };
    let policy = |name: &str| {
        let policy = definite.access.policies().find(|policy| *policy.name.value == *name)?;
        DefinitionLocation::from_origin(&policy.name.origin)
    };
    let agent = |id: &str| {
        let agent = definite.loaded.library.agents.get(id)?;
        let instructions = agent.texts.instructions.iter().map(|text| &text.origin);
        let mut origins = std::iter::once(&agent.identity.name.origin).chain(instructions);
        origins.find_map(DefinitionLocation::from_origin)
    };
    let line = |place: &DefinitionLocation| sources.line(place);
    let lookup = DefinitionLookup { policy: &policy, agent: &agent, line: &line };
    let links = provenance_of(&site.parts.ledger, &lookup, seq)?.ok_or_else(unknown)?;
    Ok(Provenance { seq, links })
}
