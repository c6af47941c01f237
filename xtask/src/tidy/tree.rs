//! The files of the repository, as the rules see them: each with its path, size and text.
//!
//! Must never: look at what git ignores, or keep the text of a file that is too large to be one.

use std::{path::Path, process::Command};

use crate::{
    child, failure::CommandFailure, limits::TRACKED_FILE_BYTES_MAX, tidy::rust_text::RustText,
};

pub(crate) struct SourceTree {
    pub(crate) files: Vec<TreeFile>,
}

pub(crate) struct TreeFile {
    /// From the root of the repository, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Empty if the file is not text.
    pub(crate) text: String,
    /// Empty if the file is not Rust.
    pub(crate) rust: RustText,
}

impl SourceTree {
    /// Reads every file that is tracked, or would be with `git add --all`.
    pub(crate) fn read(root: &Path) -> Result<SourceTree, CommandFailure> {
        let listed = child::stdout_of(Command::new("git").current_dir(root).args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ]))?;
        let mut paths: Vec<&str> = listed
            .split(|&byte| byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| {
                std::str::from_utf8(path).map_err(|_| {
                    let path = String::from_utf8_lossy(path);
                    CommandFailure::new(format!(
                        "The path {path} is not valid UTF-8. Rename that file."
                    ))
                })
            })
            .collect::<Result<_, CommandFailure>>()?;
        paths.sort_unstable();
        // A file in conflict is listed once for each side.
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            files.extend(read_file(root, path)?);
        }
        Ok(SourceTree { files })
    }

    pub(crate) fn file(&self, path: &str) -> Option<&TreeFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &TreeFile> {
        self.files.iter().filter(|file| file.is_rust())
    }
}

/// Returns None for a file that was deleted but not yet committed, and for a special file.
fn read_file(root: &Path, path: &str) -> Result<Option<TreeFile>, CommandFailure> {
    let full = root.join(path);
    let Ok(metadata) = full.symlink_metadata() else { return Ok(None) };
    if !metadata.is_file() {
        return Ok(None);
    }
    let text = if metadata.len() <= TRACKED_FILE_BYTES_MAX {
        let content =
            std::fs::read(&full).map_err(|error| CommandFailure::file("read", &full, &error))?;
        String::from_utf8(content).ok().filter(|text| !text.contains('\0')).unwrap_or_default()
    } else {
        String::new()
    };
    Ok(Some(TreeFile::new(path, metadata.len(), text)))
}

impl TreeFile {
    pub(crate) fn new(path: &str, bytes: u64, text: String) -> TreeFile {
        let rust = RustText::split(if path.ends_with(".rs") { &text } else { "" });
        TreeFile { path: path.to_owned(), bytes, text, rust }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns the folder of the crate it belongs to: `kernel` for all below `crates/kernel`.
    pub(crate) fn room(&self) -> Option<&str> {
        if self.path.starts_with("xtask/") {
            return Some("xtask");
        }
        self.path.strip_prefix("crates/")?.split_once('/').map(|(room, _)| room)
    }

    /// Returns the path within its crate: `src/lib.rs`, `tests/it/main.rs`.
    pub(crate) fn path_in_room(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        match (self.room(), path.split_once('/')) {
            (Some(_), Some((_, rest))) => rest,
            (Some(_) | None, _) => "",
        }
    }

    /// Returns true for Rust in the `src` of one of our crates.
    pub(crate) fn is_source(&self) -> bool {
        self.is_rust() && self.path_in_room().starts_with("src/")
    }

    /// Returns true for Rust that only tests use: below a directory `tests`, or a test module in its
    /// own file.
    pub(crate) fn is_test(&self) -> bool {
        let within = self.path_in_room();
        let is_below_tests = within.starts_with("tests/") || within.contains("/tests/");
        self.is_rust() && (is_below_tests || (self.is_source() && self.name() == "tests.rs"))
    }

    /// Returns the lines of code with their numbers; comments and literals are blank.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.rust.code)
    }

    /// Returns the lines of code before a final test module; none in a test file.
    pub(crate) fn product_code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let count = if self.is_test() { 0 } else { self.product_line_count() };
        numbered(&self.rust.code).take(count)
    }

    /// Returns the number of lines before the test module that ends the file.
    pub(crate) fn product_line_count(&self) -> usize {
        let lines: Vec<&str> = self.rust.code.lines().collect();
        trailing_test_module(&lines).unwrap_or(lines.len())
    }
}

pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// Returns the line of `#[cfg(test)] mod tests { … }`, if nothing follows it. The formatter puts
/// both the attribute and the closing brace at the start of a line.
fn trailing_test_module(lines: &[&str]) -> Option<usize> {
    let start = lines.iter().rposition(|line| line.trim_end() == "#[cfg(test)]")?;
    let opening = lines[start + 1..].iter().find(|line| !line.starts_with("#["))?;
    if !(opening.starts_with("mod ") && opening.trim_end().ends_with('{')) {
        return None;
    }
    let closing = start + lines[start..].iter().position(|line| line.trim_end() == "}")?;
    lines[closing + 1..].iter().all(|line| line.trim().is_empty()).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_product_lines(text: &str, expected: usize) {
        let file = TreeFile::new("crates/kernel/src/lib.rs", 0, text.to_owned());
        assert_eq!(file.product_line_count(), expected);
    }

    #[test]
    fn a_test_module_at_the_end_does_not_count() {
        check_product_lines("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n", 2);
    }

    #[test]
    fn a_test_module_with_another_attribute_does_not_count() {
        check_product_lines("fn a() {}\n#[cfg(test)]\n#[path = \"x\"]\nmod tests {\n}\n", 1);
    }

    #[test]
    fn a_test_module_in_the_middle_counts() {
        check_product_lines("#[cfg(test)]\nmod tests {\n}\nfn a() {}\n", 4);
    }

    #[test]
    fn a_test_module_elsewhere_counts_as_a_line() {
        check_product_lines("#[cfg(test)]\nmod fixture;\nfn a() {\n}\n", 4);
    }

    #[test]
    fn a_path_knows_its_room() {
        let file = TreeFile::new("crates/kernel/src/turn/gate.rs", 0, String::new());
        assert_eq!((file.room(), file.path_in_room()), (Some("kernel"), "src/turn/gate.rs"));
        assert!(file.is_source() && !file.is_test());

        let file = TreeFile::new("xtask/src/main.rs", 0, String::new());
        assert_eq!((file.room(), file.path_in_room()), (Some("xtask"), "src/main.rs"));

        let file = TreeFile::new("crates/app/tests/it/main.rs", 0, String::new());
        assert!(file.is_test() && !file.is_source());

        let file = TreeFile::new("crates/store/src/backend/tests/memory.rs", 0, String::new());
        assert!(file.is_test() && file.is_source());

        let file = TreeFile::new("docs/glossary.md", 0, String::new());
        assert_eq!((file.room(), file.path_in_room()), (None, ""));
    }
}
