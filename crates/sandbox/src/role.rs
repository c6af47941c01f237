//! How this binary becomes the helper, and what parts of it can run in a sandbox.
//!
//! Must never: hold logic.

use serde_json::Value;

/// The word that makes the binary the helper.
pub const VERB: &str = "serve-sandboxes";

/// A part of ourselves that can run in a sandbox. It is told something and gives its exit code.
pub type RoleFn = fn(&Value) -> i32;

/// All of them, by name.
pub type RoleTable = &'static [(&'static str, RoleFn)];
