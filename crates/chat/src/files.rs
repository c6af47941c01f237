//! Files that a prompt refers to with `@`.
//!
//! The prompt has the path only, not the content: the agent reads the file with its tools.
//!
//! Must never: refer to a file outside of the workspace.

use std::path::{Component, Path, PathBuf};

/// File extensions of images.
const PICTURES: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// Replaces each `@path` of an existing file by its path relative to the workspace.
pub(crate) fn resolved(prompt: &str, workspace: &Path) -> String {
    let mut out = String::with_capacity(prompt.len());
    for word in prompt.split_inclusive(char::is_whitespace) {
        let path = word.trim_end();
        let space = &word[path.len()..];
        match named(path, workspace) {
            Some(below) => out.push_str(&format!("@{}{space}", below.display())),
            None => out.push_str(word),
        }
    }
    out
}

/// Returns the images that a prompt refers to.
pub(crate) fn attachments(prompt: &str, workspace: &Path) -> Vec<PathBuf> {
    let named = prompt.split_whitespace().filter_map(|word| named(word, workspace));
    let ending = |path: &PathBuf| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    named.filter(|path| ending(path).is_some_and(|one| PICTURES.contains(&one.as_str()))).collect()
}

/// Returns the existing file that a word refers to, relative to the workspace.
fn named(word: &str, workspace: &Path) -> Option<PathBuf> {
    let written = Path::new(word.strip_prefix('@')?);
    let mut below = PathBuf::new();
    let inner = written.strip_prefix(workspace).unwrap_or(written);
    for part in inner.components() {
        match part {
            Component::Normal(name) => below.push(name),
            Component::CurDir => {}
            Component::ParentDir if below.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    workspace.join(&below).exists().then_some(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_workspace() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("src")).unwrap();
        std::fs::write(place.path().join("src/a.rs"), "").unwrap();
        std::fs::write(place.path().join("b.PNG"), "").unwrap();
        let full = place.path().join("src/a.rs");
        let prompt =
            format!("see @./src/../src/a.rs and\n@{} or @../x @none me@src", full.display());
        let expected = "see @src/a.rs and\n@src/a.rs or @../x @none me@src";
        assert_eq!(resolved(&prompt, place.path()), expected);
        assert_eq!(attachments("look @b.PNG @src/a.rs", place.path()), [PathBuf::from("b.PNG")]);
    }
}
