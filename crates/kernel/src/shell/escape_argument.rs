//! An argument by which a read-only program does more than read.
//!
//! Must never: decide which argument that is; see `escape` and `sed`.

/// An argument that makes a program do more than its name says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EscapeArgument {
    /// Its position among the words.
    pub(super) at: usize,
    /// The reason, for a person.
    pub(super) why: &'static str,
}
