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

use super::auth::Caller;
use super::refusal::{Code, Refusal};

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
    pub(crate) fn check(self, caller: &Caller) -> Result<(), Refusal> {
        match self {
            Self::Kept | Self::ReducedBy(_) => Ok(()),
            Self::Reduced => must_approve(caller, "this"),
        }
    }

    /// One sentence for the document of the API.
    pub(crate) fn words(self) -> Option<String> {
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
fn must_approve(caller: &Caller, what: &str) -> Result<(), Refusal> {
    if caller.may(TokenScope::Approve) {
        return Ok(());
    }
    let scope = TokenScope::Approve;
    let message = format!(
        "this key does not open `{scope}`, which {what} needs: it leaves fewer questions to a person"
    );
    Err(Refusal::new(Code::Forbidden, message)
        .hint(format!("make a key with `agentry token create --scope submit,{scope}`")))
}

/// A mode that a request asks for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct AskedMode(Mode);

/// How a mode is written.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it only describes the words")]
pub(crate) enum ModeWord {
    /// A person is asked.
    Structured,
    /// Calls go ahead inside of the sandbox. The key needs `approve`.
    Wiggum,
}

impl AskedMode {
    /// The mode, if the caller may ask for it.
    pub(crate) fn allowed(self, caller: &Caller) -> Result<Mode, Refusal> {
        match self.0 {
            Mode::Supervised => Ok(self.0),
            Mode::Autonomous => must_approve(caller, "the mode `wiggum`").map(|()| self.0),
        }
    }
}

/// A limit that a request sets, in place of the configured one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct AskedLimit(u32);

impl AskedLimit {
    /// The limit, if the caller may set it.
    pub(crate) fn allowed(self, caller: &Caller) -> Result<u32, Refusal> {
        must_approve(caller, "another limit").map(|()| self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use agentry_protocol::principal::{Principal, PrincipalKind};
    use schemars::generate::SchemaSettings;

    use super::*;
    use crate::http::table::Takes;

    /// Words of fields that leave fewer questions to a person.
    const FIELDS: [&str; 4] = ["mode", "maxIterations", "limits", "maxCalls"];

    fn caller(scopes: &[TokenScope]) -> Caller {
        let principal = Principal::of(PrincipalKind::Owner);
        Caller { principal, scopes: scopes.to_vec(), token: None }
    }

    #[test]
    fn only_a_key_with_approve_gets_a_mode_that_asks_nobody_or_another_limit() {
        let (submits, approves) = (caller(&[TokenScope::Submit]), caller(&[TokenScope::Approve]));
        let (wiggum, structured) = (AskedMode(Mode::Autonomous), AskedMode(Mode::Supervised));
        let refusal = wiggum.allowed(&submits).unwrap_err();
        assert_eq!(refusal.code, Code::Forbidden);
        assert!(refusal.message.contains("`approve`"), "{}", refusal.message);
        assert_eq!(structured.allowed(&submits), Ok(Mode::Supervised));
        assert_eq!(wiggum.allowed(&approves), Ok(Mode::Autonomous));
        assert!(AskedLimit(9).allowed(&submits).is_err());
        assert_eq!(AskedLimit(9).allowed(&approves), Ok(9));
        assert!(Supervision::Reduced.check(&submits).is_err());
        assert!(Supervision::Reduced.check(&approves).is_ok());
    }

    #[test]
    fn every_route_with_such_a_field_says_so_in_the_table() {
        for route in crate::http::routes() {
            let mut generator = SchemaSettings::draft2020_12().into_generator();
            let schema = match route.takes {
                Takes::Json(describe) => describe(&mut generator).to_value(),
                Takes::Nothing | Takes::Text => continue,
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
