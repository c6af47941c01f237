//! Secrets from the file, the environment and the keyring, with their receivers.
//!
//! Must never: put a value into a message, or use one from a file that others may read.

mod error;
mod file;
mod keyring;

use agentry_agentfile::manifest::config;
use secrecy::{ExposeSecret, SecretString};

use crate::environment::Environment;
use crate::limits::{SECRET_BYTES_MAX, SECRET_CHARS_MIN, SECRET_NAME_CHARS_MAX};
use crate::redact::secrets::{Secret, SecretReceiver, SecretRegistry, variable};
pub use crate::secret_store::error::SecretStoreError;
use crate::secret_store::file::SecretFile;

/// A stored value, by its storage.
#[derive(Clone, Debug)]
enum StoredSecret {
    /// A value in the secrets file.
    File(SecretString),
    /// A value in the keyring of the system.
    Keyring,
}

/// The facts about a secret, without its value.
pub struct SecretStatus {
    /// The name of the secret.
    pub name: String,
    /// The source of its value.
    pub place: SecretLocation,
    /// The receivers that the settings declare.
    pub receivers: Vec<SecretReceiver>,
    /// The environment variable that passes the value to a receiver.
    pub variable: String,
}

/// Source of a secret's value.
pub enum SecretLocation {
    /// The file of secrets.
    File,
    /// The keyring of the system.
    Keyring,
    /// An environment variable; true if it is set.
    Environment(String, bool),
    /// No source: the settings declare the secret, but it has no value.
    Nowhere,
}

/// Returns all secrets with a value, for a command that runs agents.
pub fn resolve(
    environment: &Environment,
    settings: &config::SecretsToml,
) -> Result<SecretRegistry, SecretStoreError> {
    if settings.store == Some(config::SecretStore::Keyring) {
        keyring::require()?;
    }
    let kept = SecretFile::of(environment).map_or(Ok(Default::default()), |store| store.read())?;
    let mut all = Vec::new();
    for known in list(environment, settings)? {
        let value = match &known.place {
            SecretLocation::Environment(variable, _) => environment.secret(variable),
            SecretLocation::File | SecretLocation::Keyring | SecretLocation::Nowhere => {
                match kept.get(&known.name) {
                    Some(StoredSecret::File(value)) => Some(value.clone()),
                    Some(StoredSecret::Keyring) => Some(keyring::get(&known.name)?),
                    None => None,
                }
            }
        };
        let Some(value) = value else { continue };
        check_value(&value)
            .map_err(|why| SecretStoreError::Value { name: known.name.clone(), why })?;
        let SecretStatus { name, receivers, variable, .. } = known;
        all.push(Secret { name, value, receivers, variable });
    }
    Ok(SecretRegistry::new(all, environment.secrets.clone()))
}

/// Returns all stored or declared secrets, sorted by name.
pub fn list(
    environment: &Environment,
    settings: &config::SecretsToml,
) -> Result<Vec<SecretStatus>, SecretStoreError> {
    let kept = SecretFile::of(environment).map_or(Ok(Default::default()), |store| store.read())?;
    let mut names: Vec<&String> = kept.keys().chain(settings.named.keys()).collect();
    names.sort();
    names.dedup();
    let unsaid = config::SecretUse::default();
    let known = names.into_iter().map(|name| {
        let said = settings.named.get(name).unwrap_or(&unsaid);
        let place = match (&said.env, kept.get(name)) {
            (Some(variable), _) => {
                let is_set = environment.secret(variable).is_some();
                SecretLocation::Environment(variable.clone(), is_set)
            }
            (None, Some(StoredSecret::File(_))) => SecretLocation::File,
            (None, Some(StoredSecret::Keyring)) => SecretLocation::Keyring,
            (None, None) => SecretLocation::Nowhere,
        };
        SecretStatus {
            name: name.clone(),
            place,
            // The settings were checked, so each receiver parses.
            receivers: said.receivers.iter().filter_map(|one| one.parse().ok()).collect(),
            variable: said.variable.clone().unwrap_or_else(|| variable(name)),
        }
    });
    Ok(known.collect())
}

/// Stores a value in the file or the keyring, as the settings say.
pub fn keep(
    environment: &Environment,
    settings: &config::SecretsToml,
    name: &str,
    value: SecretString,
) -> Result<(), SecretStoreError> {
    let store = SecretFile::of(environment).ok_or(SecretStoreError::NoDirectory)?;
    let kept = match settings.store {
        Some(config::SecretStore::Keyring) => {
            keyring::set(name, &value)?;
            StoredSecret::Keyring
        }
        Some(config::SecretStore::File) | None => StoredSecret::File(value),
    };
    store.change(|all| drop(all.insert(name.to_owned(), kept)))
}

/// Removes a value. Returns false if there is none.
pub fn forget(environment: &Environment, name: &str) -> Result<bool, SecretStoreError> {
    let Some(store) = SecretFile::of(environment) else { return Ok(false) };
    match store.read()?.get(name) {
        None => return Ok(false),
        Some(StoredSecret::Keyring) => keyring::remove(name)?,
        Some(StoredSecret::File(_)) => {}
    }
    store.change(|all| drop(all.remove(name)))?;
    Ok(true)
}

/// Checks a name; the error says which form is valid.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if name == "store" {
        return Err("`store` is reserved for a setting".to_owned());
    }
    if name.is_empty()
        || name.len() > SECRET_NAME_CHARS_MAX
        || !name.chars().all(is_plain)
        || name.starts_with(['-', '.', '_'])
    {
        return Err(format!(
            "use 1 to {SECRET_NAME_CHARS_MAX} lower-case letters, digits and `-`, `_` or `.`, such as \
             github-token"
        ));
    }
    Ok(())
}

/// Checks a value. The error never contains the value itself.
pub fn check_value(value: &SecretString) -> Result<(), String> {
    let value = value.expose_secret();
    if value.chars().count() < SECRET_CHARS_MIN {
        return Err(format!(
            "its value has fewer than {SECRET_CHARS_MIN} characters, so it could not be \
             recognized and redacted"
        ));
    }
    if value.len() > SECRET_BYTES_MAX {
        return Err(format!("its value has more than {SECRET_BYTES_MAX} bytes"));
    }
    if value.contains('\0') {
        return Err("its value has a NUL character, which no variable can contain".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_small_and_plain() {
        for right in ["github", "github-token", "a", "2fa", "x.y_z"] {
            assert_eq!(check_name(right), Ok(()), "{right}");
        }
        let long = "a".repeat(SECRET_NAME_CHARS_MAX + 1);
        for wrong in ["", "GitHub", "a b", "-a", ".a", "store", "a/b", "é", &long] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_value_has_a_shortest_and_a_longest_form() {
        let check = |text: &str| check_value(&text.into());
        assert!(check("12345").is_err() && check("123456").is_ok());
        assert!(check(&"x".repeat(SECRET_BYTES_MAX)).is_ok());
        assert!(check(&"x".repeat(SECRET_BYTES_MAX + 1)).is_err());
        assert!(check("123\0abc").is_err());
        let refusal = check("pa55w").expect_err("it is too short");
        assert!(!refusal.contains("pa55w"), "{refusal}");
    }
}
