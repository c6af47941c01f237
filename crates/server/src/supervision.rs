//! Requests that reduce approval questions: they need `approve`, in addition to the route's scope.
//!
//! A body field that can do so has a type of this module, whose value is accessible only with a
//! caller that has the scope `approve`. So no route can forget the check.
//!
//! Must never: return such a value without checking the caller.

use agentry_protocol::event::Mode;
use agentry_protocol::token::TokenScope;
use schemars::JsonSchema;
use serde::Deserialize;

use super::api_error::{ApiError, ApiErrorCode};
use super::auth::Caller;

/// The ways in which a route can reduce approval questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supervision {
    /// None.
    Kept,
    /// By these fields of its body; they need `approve`.
    ReducedBy(&'static [&'static str]),
    /// Always; every call needs `approve`.
    Reduced,
}

impl Supervision {
    /// Checks what is known before the body is read.
    pub(crate) fn check(self, caller: &Caller) -> Result<(), ApiError> {
        match self {
            Self::Kept | Self::ReducedBy(_) => Ok(()),
            Self::Reduced => must_approve(caller, "this request"),
        }
    }

    /// Returns a sentence for the OpenAPI document; none if `approve` is never needed.
    pub(crate) fn description(self) -> Option<String> {
        match self {
            Self::Kept => None,
            Self::ReducedBy(fields) => {
                let fields = fields.join("`, `");
                Some(format!(
                    "Also needs the scope `approve` if `{fields}` reduces approval questions."
                ))
            }
            Self::Reduced => Some("Also needs the scope `approve`.".to_owned()),
        }
    }
}

/// Fails if the caller's key lacks `approve`; `what` names the field or action.
fn must_approve(caller: &Caller, what: &str) -> Result<(), ApiError> {
    if caller.has_scope(TokenScope::Approve) {
        return Ok(());
    }
    let scope = TokenScope::Approve;
    let message = format!(
        "the key lacks the scope `{scope}`, which {what} needs: it reduces approval questions"
    );
    Err(ApiError::new(ApiErrorCode::Forbidden, message)
        .hint(format!("create a key with `agentry token create --scope submit,{scope}`")))
}

/// The mode of a run, as a request names it; unchecked until `authorize`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestedMode(Mode);

/// Mode of a run.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema of the variants is used")]
pub(crate) enum ModeSchema {
    /// Supervised: a call that no rule allows needs the approval of a person.
    Structured,
    /// Autonomous: calls run in the sandbox without approval. Needs the scope `approve`.
    Wiggum,
}

impl RequestedMode {
    /// Returns the mode; the autonomous mode needs the scope `approve`.
    pub(crate) fn authorize(self, caller: &Caller) -> Result<Mode, ApiError> {
        match self.0 {
            Mode::Supervised => Ok(self.0),
            Mode::Autonomous => must_approve(caller, "the mode `wiggum`").map(|()| self.0),
        }
    }
}

/// A limit that replaces the configured one; unchecked until `authorize`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestedLimit(u32);

impl RequestedLimit {
    /// Returns the limit; it needs the scope `approve`.
    pub(crate) fn authorize(self, caller: &Caller) -> Result<u32, ApiError> {
        must_approve(caller, "a changed limit").map(|()| self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use agentry_protocol::principal::{Principal, PrincipalKind};
    use schemars::generate::SchemaSettings;

    use super::*;
    use crate::route::RequestFormat;

    /// Fields that can reduce approval questions.
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
        for route in crate::routes() {
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
