//! The weights with a known name: their sizes, digests, licenses and sources.
//!
//! Must never: use the network, or list weights without a digest.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The text of the list.
const LIST: &str = include_str!("../../data/weights.toml");

/// A model whose weights can be pulled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// The id of the model.
    pub id: String,
    /// The purpose of the model: chat or embeddings.
    pub kind: Kind,
    /// True for the model that is used when none is named.
    #[serde(default)]
    pub default: bool,
    /// True if the model is pulled only when it is named.
    #[serde(default)]
    pub only_by_name: bool,
    /// The license of the weights.
    pub licence: String,
    /// The strengths of the model, in one honest line.
    pub purpose: String,
    /// The repository of the hub, if the hub has it.
    pub hub: Option<HubRepository>,
    /// Its files; the first holds the weights.
    #[serde(rename = "file")]
    pub files: Vec<KnownFile>,
    /// The wheels that carry it in a package index.
    #[serde(rename = "wheel", default)]
    pub wheels: Vec<Wheel>,
}

/// The purpose of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Answers queries.
    Chat,
    /// Turns texts into vectors.
    Embedder,
}

/// A repository of the hub.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubRepository {
    /// The owner and name.
    pub repository: String,
    /// The commit, so that the content cannot change.
    pub revision: String,
}

/// One file of a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFile {
    /// Its path below the directory of the model.
    pub name: String,
    /// Its path in the repository of the hub.
    pub hub: Option<String>,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 digest, in hexadecimal digits.
    pub sha256: String,
    /// The members of wheels that form the file, in order.
    #[serde(default)]
    pub parts: Vec<WheelMember>,
}

/// A member of a wheel that is a part of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WheelMember {
    /// The name of the wheel's project.
    pub wheel: String,
    /// The path inside of the wheel.
    pub member: String,
    /// The size after unpacking, in bytes.
    pub bytes: u64,
}

/// A wheel that carries weights.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    /// The name of the project in the package index.
    pub name: String,
    /// The version of the project.
    pub version: String,
    /// The name of the file.
    pub file: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 digest, in hexadecimal digits.
    pub sha256: String,
}

impl KnownModel {
    /// Returns the size of all its files together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the size of all its wheels together.
    pub fn wheel_bytes(&self) -> u64 {
        self.wheels.iter().map(|wheel| wheel.bytes).sum()
    }
}

/// Returns all models whose weights can be pulled by name.
pub fn catalog() -> &'static [KnownModel] {
    static KNOWN: OnceLock<Vec<KnownModel>> = OnceLock::new();
    KNOWN.get_or_init(|| parse(LIST).expect("the list in the binary was tested"))
}

/// Parses a list in the form of `data/weights.toml`.
pub fn parse(text: &str) -> Result<Vec<KnownModel>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct WeightCatalog {
        model: Vec<KnownModel>,
    }
    let list: WeightCatalog = toml::from_str(text).map_err(|error| error.to_string())?;
    list.model.iter().try_for_each(sound)?;
    Ok(list.model)
}

/// Checks that a model of the list can be pulled.
fn sound(model: &KnownModel) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{}: {what}", model.id));
    if model.files.is_empty() {
        return wrong("it has no files");
    }
    let digests = model.files.iter().map(|file| &file.sha256);
    let mut digests = digests.chain(model.wheels.iter().map(|wheel| &wheel.sha256));
    if !digests.all(|digest| is_digest(digest)) {
        return wrong("a digest does not have 64 small hexadecimal digits");
    }
    let names = model.files.iter().map(|file| file.name.as_str());
    let mut names = names.chain(model.wheels.iter().map(|wheel| wheel.file.as_str()));
    if !names.all(stays_below) {
        return wrong("a file lies outside of the directory of the model");
    }
    for file in model.files.iter().filter(|file| !file.parts.is_empty()) {
        let has_wheel =
            |part: &WheelMember| model.wheels.iter().any(|wheel| wheel.name == part.wheel);
        if !file.parts.iter().all(has_wheel) {
            return wrong("a part is of a wheel that is not listed");
        }
    }
    Ok(())
}

/// True if the text is a SHA-256 digest in our form.
pub(super) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn stays_below(path: &str) -> bool {
    path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_in_the_binary_is_sound() {
        let models = parse(LIST).unwrap();
        assert_eq!(models.iter().filter(|model| model.default).count(), 1);
        for model in &models {
            for file in &model.files {
                let parts: u64 = file.parts.iter().map(|part| part.bytes).sum();
                assert_eq!(parts, file.bytes, "{} {}", model.id, file.name);
            }
        }
    }

    #[test]
    fn a_list_that_could_not_be_pulled_is_refused() {
        let model = |name: &str, digest: &str| {
            format!(
                "[[model]]\nid = \"a\"\nkind = \"chat\"\nlicence = \"x\"\npurpose = \"x\"\n\
                 [[model.file]]\nname = \"{name}\"\nbytes = 1\nsha256 = \"{digest}\"\n"
            )
        };
        let digest = "0".repeat(64);
        assert!(parse(&model("a.gguf", &digest)).is_ok());
        for name in ["../a", "/a", "a/../b", ".hidden", ""] {
            assert!(parse(&model(name, &digest)).unwrap_err().contains("outside"), "{name}");
        }
        assert!(parse(&model("a", "12")).unwrap_err().contains("64 small hexadecimal digits"));
    }
}
