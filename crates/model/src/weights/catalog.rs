//! The weights we know by name: their sizes, digests, licences and places.
//!
//! Must never: ask the network, or know weights without a digest.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The list itself.
const LIST: &str = include_str!("../../data/weights.toml");

/// A model whose weights can be pulled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    /// What people call it.
    pub id: String,
    /// What it does.
    pub kind: Kind,
    /// Whether it is the one that is meant when none is named.
    #[serde(default)]
    pub default: bool,
    /// Whether it is taken only by those who name it.
    #[serde(default)]
    pub only_by_name: bool,
    /// The licence of the weights.
    pub licence: String,
    /// What it is good for, in one honest line.
    pub purpose: String,
    /// Where the hub has it.
    pub hub: Option<HubRepository>,
    /// Its files; the first holds the weights.
    #[serde(rename = "file")]
    pub files: Vec<KnownFile>,
    /// The wheels that carry it in a package index.
    #[serde(rename = "wheel", default)]
    pub wheels: Vec<Wheel>,
}

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It answers.
    Chat,
    /// It turns texts into vectors.
    Embedder,
}

/// A repository of the hub.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubRepository {
    /// Its owner and name.
    pub repository: String,
    /// The commit, so that nothing changes under us.
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
    /// Its size.
    pub bytes: u64,
    /// Its digest, in hexadecimal digits.
    pub sha256: String,
    /// What it is put together from, in order.
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
    /// Its size when it is unpacked.
    pub bytes: u64,
}

/// A wheel that carries weights.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    /// The name of its project in the package index.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The name of the file.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Its digest, in hexadecimal digits.
    pub sha256: String,
}

impl KnownModel {
    /// The size of all its files together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The size of all its wheels together.
    pub fn wheel_bytes(&self) -> u64 {
        self.wheels.iter().map(|wheel| wheel.bytes).sum()
    }
}

/// All models whose weights can be pulled by name.
pub fn catalog() -> &'static [KnownModel] {
    static KNOWN: OnceLock<Vec<KnownModel>> = OnceLock::new();
    KNOWN.get_or_init(|| parse(LIST).expect("the list in the binary was tested"))
}

/// A list as it is written in `data/weights.toml`.
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

/// Whether a model of the list can be pulled at all.
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

/// Whether this is a SHA-256 as we write it.
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
