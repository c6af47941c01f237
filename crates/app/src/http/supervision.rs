//! What a request may ask for that leaves fewer questions to a person: it needs `approve`, whatever the route needs.
//!
//! A field of a body that can ask for it has a type of this file, which gives its value out only for a caller whose
//! key opens `approve`. So no route can forget to ask.
//!
//! Must never: give a value out before it is known whose it is.

use agentry_protocol::event::Mode;
use agentry_protocol::token::TokenScope;
use schemars::JsonSchema;
use serde::Deserialize;

use super::api_error::{ApiError, ApiErrorCode};
use super::auth::Caller;

/// Whether a route can leave fewer questions to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supervision {
    /// It cannot.
    Kept,
    /// It can, with these fields of its body; they need `approve`.
    ReducedBy(&'static [&'static str]),
    /// It can, whatever it is called with; it needs `approve`.
    Reduced,
}

impl Supervision {
    /// Checks what can be checked before the body is read.
    pub(crate) fn check(self, caller: &Caller) -> Result<(), ApiError> {
        match self {
            Self::Kept | Self::ReducedBy(_) => Ok(()),
            Self::Reduced => must_approve(caller, "this"),
        }
    }

    /// One sentence for the document of the API.
    pub(crate) fn description(self) -> Option<String> {
        match self {
            Self::Kept => None,
            Self::ReducedBy(fields) => {
                let fields = fields.join("`, `");
                Some(format!(
                    "A key needs `approve` too for `{fields}` where it leaves fewer questions to a person."
                ))
            }
            Self::Reduced => Some("The key needs `approve` too.".to_owned()),
        }
    }
}

/// Refuses what a key without `approve` asks for.
fn must_approve(caller: &Caller, what: &str) -> Result<(), ApiError> {
    if caller.has_scope(TokenScope::Approve) {
        return Ok(());
    }
    let scope = TokenScope::Approve;
    let message = format!(
        "this key does not open `{scope}`, which {what} needs: it leaves fewer questions to a person"
    );
    Err(ApiError::new(ApiErrorCode::Forbidden, message)
        .hint(format!("make a key with `agentry token create --scope submit,{scope}`")))
}

/// A mode that a request asks for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestedMode(Mode);

/// How a mode is written.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it only describes the words")]
pub(crate) enum ModeSchema {
    /// A person is asked.
    Structured,
    /// Calls go ahead inside of the sandbox. The key needs `approve`.
    Wiggum,
}

impl RequestedMode {
    /// The mode, if the caller may ask for it.
    pub(crate) fn authorize(self, caller: &Caller) -> Result<Mode, ApiError> {
        match self.0 {
            Mode::Supervised => Ok(self.0),
            Mode::Autonomous => must_approve(caller, "the mode `wiggum`").map(|()| self.0),
        }
    }
}

/// A limit that a request sets, in place of the configured one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestedLimit(u32);

impl RequestedLimit {
    /// The limit, if the caller may set it.
    pub(crate) fn authorize(self, caller: &Caller) -> Result<u32, ApiError> {
        must_approve(caller, "another limit").map(|()| self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use agentry_protocol::principal::{Principal, PrincipalKind};
    use schemars::generate::SchemaSettings;

    use super::*;
    use crate::http::route::RequestFormat;

    /// Words of fields that leave fewer questions to a person.
    const FIELDS: [&str; 4] = ["mode", "maxIterations", "limits", "maxCalls"];

    fn caller(scopes: &[TokenScope]) -> Caller {
        let principal = Principal::of(PrincipalKind::Owner);
        Caller { principal, scopes: scopes.to_vec(), token: None }
    }

    #[test]
    fn only_a_key_with_approve_gets_a_mode_that_asks_nobody_or_another_limit() {
        let (submits, approves) = (caller(&[TokenScope::Submit]), caller(&[TokenScope::Approve]));
        let (wiggum, structured) =
            (RequestedMode(Mode::Autonomous), RequestedMode(Mode::Supervised));
        let refusal = wiggum.authorize(&submits).unwrap_err();
        assert_eq!(refusal.code, ApiErrorCode::Forbidden);
        assert!(refusal.message.contains("`approve`"), "{}", refusal.message);
        assert_eq!(structured.authorize(&submits), Ok(Mode::Supervised));
        assert_eq!(wiggum.authorize(&approves), Ok(Mode::Autonomous));
        assert!(RequestedLimit(9).authorize(&submits).is_err());
        assert_eq!(RequestedLimit(9).authorize(&approves), Ok(9));
        assert!(Supervision::Reduced.check(&submits).is_err());
        assert!(Supervision::Reduced.check(&approves).is_ok());
    }

    #[test]
    fn every_route_with_such_a_field_says_so_in_the_table() {
        for route in crate::http::routes() {
            let mut generator = SchemaSettings::draft2020_12().into_generator();
            let schema = match route.takes {
                RequestFormat::Json(describe) => describe(&mut generator).to_value(),
                RequestFormat::Empty | RequestFormat::Text => continue,
            };
            let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
            let schema = name.and_then(|name| generator.definitions().get(name)).cloned();
            let fields = schema.and_then(|schema| schema["properties"].as_object().cloned());
            let fields: BTreeMap<_, _> = fields.unwrap_or_default().into_iter().collect();
            let found: Vec<&str> =
                FIELDS.into_iter().filter(|field| fields.contains_key(*field)).collect();
            let said = match route.supervision {
                Supervision::ReducedBy(fields) => fields.to_vec(),
                Supervision::Kept | Supervision::Reduced => Vec::new(),
            };
            assert_eq!(said, found, "{}", route.path);
        }
    }
}
