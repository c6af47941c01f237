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

    use crate::secret_store::error::SecretStoreError;

    const SERVICE: &str = "agentry";

    pub(crate) fn require() -> Result<(), SecretStoreError> {
        Ok(())
    }

    pub(crate) fn get(name: &str) -> Result<SecretString, SecretStoreError> {
        let got = Entry::new(SERVICE, name).and_then(|entry| entry.get_password());
        got.map(SecretString::from).map_err(|error| fault("read", name, &error))
    }

    pub(crate) fn set(name: &str, value: &SecretString) -> Result<(), SecretStoreError> {
        let set =
            Entry::new(SERVICE, name).and_then(|entry| entry.set_password(value.expose_secret()));
        set.map_err(|error| fault("store", name, &error))
    }

    pub(crate) fn remove(name: &str) -> Result<(), SecretStoreError> {
        let removed = Entry::new(SERVICE, name).and_then(|entry| entry.delete_credential());
        match removed {
            // The value is already removed, so there is nothing to do.
            Err(keyring::Error::NoEntry) => Ok(()),
            removed => removed.map_err(|error| fault("remove", name, &error)),
        }
    }

    fn fault(doing: &'static str, name: &str, error: &keyring::Error) -> SecretStoreError {
        // Some errors contain the value, so only their kind is reported.
        let why = match error {
            keyring::Error::BadEncoding(_) => "its entry is not text".to_owned(),
            keyring::Error::NoEntry => "it has no such entry".to_owned(),
            other => other.to_string(),
        };
        SecretStoreError::Keyring { doing, name: name.to_owned(), why }
    }
}

#[cfg(not(feature = "keyring"))]
mod without {
    use secrecy::SecretString;

    use crate::secret_store::error::SecretStoreError;

    pub(crate) fn require() -> Result<(), SecretStoreError> {
        Err(SecretStoreError::NoKeyring)
    }

    pub(crate) fn get(_: &str) -> Result<SecretString, SecretStoreError> {
        Err(SecretStoreError::NoKeyring)
    }

    pub(crate) fn set(_: &str, _: &SecretString) -> Result<(), SecretStoreError> {
        Err(SecretStoreError::NoKeyring)
    }

    pub(crate) fn remove(_: &str) -> Result<(), SecretStoreError> {
        Err(SecretStoreError::NoKeyring)
    }
}
