//! Errors of the secret stores.
//!
//! Must never: contain the value of a secret.

use std::io;
use std::path::PathBuf;

/// An error of the secret stores.
#[derive(Debug, thiserror::Error)]
pub enum SecretStoreError {
    /// There is no state directory that could hold the file.
    #[error("no directory for secrets: HOME is not set")]
    NoDirectory,
    /// The value of a secret cannot be used.
    #[error("the secret `{name}` cannot be used: {why}")]
    Value {
        /// The name of the secret.
        name: String,
        /// The reason.
        why: String,
    },
    /// The file or its directory cannot be used safely.
    #[error("the secrets in {} are not used: {why}", path.display())]
    Unusable {
        /// The path of the file or directory.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Others have access to the file or its directory.
    #[error("the secrets in {} are not used: others can access it (mode {mode:o})", path.display())]
    Exposed {
        /// The path of the file or directory.
        path: PathBuf,
        /// The permission bits that it has.
        mode: u32,
        /// The permission bits that it must have.
        wanted: u32,
    },
    /// The file or its directory cannot be read or written.
    #[error("cannot {doing} the secrets in {}: {source}", path.display())]
    Io {
        /// The operation: read or write.
        doing: &'static str,
        /// The path of the file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The keyring of the system failed.
    #[error("the keyring cannot {doing} `{name}`: {why}")]
    Keyring {
        /// The operation: read, store or remove.
        doing: &'static str,
        /// The name of the secret.
        name: String,
        /// The reason.
        why: String,
    },
    /// This binary has no support for the keyring of the system.
    #[error("this agentry was built without support for the system keyring")]
    NoKeyring,
}
