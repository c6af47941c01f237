//! The access that a route requires of its callers.
//!
//! Must never: have a default; every route names its access.

use agentry_protocol::token::TokenScope;

/// The access that a route requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteAccess {
    /// The owner, with a key that has this scope.
    Owner(TokenScope),
    /// Any caller whose key has this scope; the handler limits each caller to their own data.
    AnyCaller(TokenScope),
    /// Any caller with a valid key, of any scope.
    AnyKey,
    /// A signed request, or a key with the scope `submit`; the handler checks the signature.
    Signed,
    /// Any caller, without a key: signing in.
    Unauthenticated,
}
