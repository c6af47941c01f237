//! The command of the helper, and the roles of this binary that can run in a sandbox.
//!
//! Must never: hold logic.

use serde_json::Value;

/// The command line argument that makes the binary the helper.
pub const VERB: &str = "serve-sandboxes";

/// A role of this binary for use in a sandbox. It gets its arguments and returns its exit code.
pub type RoleFn = fn(&Value) -> i32;

/// All roles, by name.
pub type RoleTable = &'static [(&'static str, RoleFn)];
