//! The keyring of the system, if this binary was built with it.
//!
//! Must never: fall back to a file silently.

#[cfg(feature = "keyring")]
pub(super) use with::{get, remove, require, set};
#[cfg(not(feature = "keyring"))]
pub(super) use without::{get, remove, require, set};

#[cfg(feature = "keyring")]
mod with {
    use keyring::Entry;
    use secrecy::{ExposeSecret, SecretString};

    use crate::fault::{Blame, Fault};

    const SERVICE: &str = "agentry";

    pub(crate) fn require() -> Result<(), Fault> {
        Ok(())
    }

    pub(crate) fn get(name: &str) -> Result<SecretString, Fault> {
        let got = Entry::new(SERVICE, name).and_then(|entry| entry.get_password());
        got.map(SecretString::from).map_err(|error| fault("read", name, &error))
    }

    pub(crate) fn set(name: &str, value: &SecretString) -> Result<(), Fault> {
        let set =
            Entry::new(SERVICE, name).and_then(|entry| entry.set_password(value.expose_secret()));
        set.map_err(|error| fault("store", name, &error))
    }

    pub(crate) fn remove(name: &str) -> Result<(), Fault> {
        let removed = Entry::new(SERVICE, name).and_then(|entry| entry.delete_credential());
        match removed {
            // The value is already removed, so there is nothing to do.
            Err(keyring::Error::NoEntry) => Ok(()),
            removed => removed.map_err(|error| fault("remove", name, &error)),
        }
    }

    fn fault(doing: &str, name: &str, error: &keyring::Error) -> Fault {
        // Some errors contain the value, so only their kind is reported.
        let why = match error {
            keyring::Error::BadEncoding(_) => "its entry is not text".to_owned(),
            keyring::Error::NoEntry => "it has no such entry".to_owned(),
            other => other.to_string(),
        };
        Fault::new(Blame::Machine, format!("the keyring cannot {doing} `{name}`: {why}"))
            .hint("unlock the keyring, or keep secrets in the file: secrets.store = \"file\"")
    }
}

#[cfg(not(feature = "keyring"))]
mod without {
    use secrecy::SecretString;

    use crate::fault::{Blame, Fault};

    pub(crate) fn require() -> Result<(), Fault> {
        Err(absent())
    }

    pub(crate) fn get(_: &str) -> Result<SecretString, Fault> {
        Err(absent())
    }

    pub(crate) fn set(_: &str, _: &SecretString) -> Result<(), Fault> {
        Err(absent())
    }

    pub(crate) fn remove(_: &str) -> Result<(), Fault> {
        Err(absent())
    }

    fn absent() -> Fault {
        Fault::new(Blame::Caller, "this agentry was built without support for the system keyring")
            .hint("build it with `--features keyring`, or set secrets.store = \"file\"")
    }
}
