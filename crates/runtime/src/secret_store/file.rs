//! The file of secrets: `secrets/secrets.json` below the state directory, for its owner alone.
//!
//! Must never: read the file if others may read or write it, or write half of it.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::limits::SECRETS_FILE_BYTES_MAX;
use crate::secret_store::StoredSecret;
use crate::secret_store::error::SecretStoreError;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// The permission bits of the group and others.
const OTHERS: u32 = 0o077;

/// The file of secrets.
pub(crate) struct SecretFile {
    directory: PathBuf,
}

/// The format of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretFileContent {
    version: u32,
    secrets: BTreeMap<String, SecretFileEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretFileEntry {
    /// None if the value is in the keyring.
    value: Option<String>,
}

impl SecretFile {
    /// Returns the file of this user; None if there is no state directory.
    pub(crate) fn of(environment: &Environment) -> Option<Self> {
        let directory = environment.state.as_ref()?.join("secrets");
        Some(Self { directory })
    }

    /// Returns the path of the file.
    fn path(&self) -> PathBuf {
        self.directory.join("secrets.json")
    }

    /// Reads all stored secrets; empty if there is no file.
    pub(crate) fn read(&self) -> Result<BTreeMap<String, StoredSecret>, SecretStoreError> {
        let path = self.path();
        match fs::symlink_metadata(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(broken("read", &self.directory, error)),
            Ok(metadata) => own(&self.directory, &metadata, DIRECTORY_MODE)?,
        }
        let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            opened => opened.map_err(|error| broken("read", &path, error))?,
        };
        let metadata = file.metadata().map_err(|error| broken("read", &path, error))?;
        own(&path, &metadata, FILE_MODE)?;
        let mut text = String::new();
        let read = file.take(SECRETS_FILE_BYTES_MAX).read_to_string(&mut text);
        let text = SecretString::from(text);
        read.map_err(|error| broken("read", &path, error))?;
        let written: SecretFileContent =
            serde_json::from_str(text.expose_secret()).map_err(|error| {
                // The error text may contain a value; its position does not.
                let place = format!("line {}, column {}", error.line(), error.column());
                unusable(&path, &format!("its format is not valid ({place})"))
            })?;
        if written.version != 1 {
            return Err(unusable(&path, "another version of agentry wrote it"));
        }
        let kept = |entry: SecretFileEntry| {
            entry.value.map_or(StoredSecret::Keyring, |one| StoredSecret::File(one.into()))
        };
        Ok(written.secrets.into_iter().map(|(name, entry)| (name, kept(entry))).collect())
    }

    /// Changes the secrets atomically; concurrent changes wait for each other.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, StoredSecret>),
    ) -> Result<(), SecretStoreError> {
        let fault = |error: io::Error| broken("write", &self.path(), error);
        if !self.directory.exists() {
            let made =
                DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(&self.directory);
            made.map_err(&fault)?;
        }
        let lock = File::open(&self.directory).map_err(&fault)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)
            .map_err(|error| fault(error.into()))?;
        let mut all = self.read()?;
        change(&mut all);
        self.write(&all).and_then(|()| lock.sync_all()).map_err(fault)
    }

    fn write(&self, all: &BTreeMap<String, StoredSecret>) -> io::Result<()> {
        let entry = |kept: &StoredSecret| match kept {
            StoredSecret::File(value) => json!({ "value": value.expose_secret() }),
            StoredSecret::Keyring => json!({ "value": null }),
        };
        let secrets: serde_json::Map<String, Value> =
            all.iter().map(|(name, kept)| (name.clone(), entry(kept))).collect();
        let text = serde_json::to_string_pretty(&json!({ "version": 1, "secrets": secrets }))?;
        let text = SecretString::from(text);
        let unfinished = self.directory.join("secrets.json.unfinished");
        // The lock is held, so this file was left by a process that died.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&unfinished)?;
        file.write_all(text.expose_secret().as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, self.path())
    }
}

/// Fails if a file or directory is a link, belongs to another user, or is open to others.
fn own(path: &Path, metadata: &fs::Metadata, mode: u32) -> Result<(), SecretStoreError> {
    let is_right = match mode {
        DIRECTORY_MODE => metadata.is_dir(),
        _ => metadata.is_file(),
    };
    if !is_right {
        return Err(unusable(path, "it is a link, or of the wrong type"));
    }
    let us = rustix::process::geteuid().as_raw();
    if metadata.uid() != us {
        let why = format!("it belongs to user {}, not to you ({us})", metadata.uid());
        return Err(unusable(path, &why));
    }
    if metadata.mode() & OTHERS != 0 {
        let path = path.to_owned();
        let (mode, wanted) = (metadata.mode() & 0o777, mode);
        return Err(SecretStoreError::Exposed { path, mode, wanted });
    }
    Ok(())
}

fn unusable(path: &Path, why: &str) -> SecretStoreError {
    SecretStoreError::Unusable { path: path.to_owned(), why: why.to_owned() }
}

fn broken(doing: &'static str, path: &Path, source: io::Error) -> SecretStoreError {
    SecretStoreError::Io { doing, path: path.to_owned(), source }
}
