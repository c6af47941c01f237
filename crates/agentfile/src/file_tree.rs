//! A directory as a value: its content at one moment.
//!
//! The runtime reads a directory into a `FileTree`; all later code works on this snapshot, so that
//! an agent does not change while it is read. Tests write a tree as a single text.
//!
//! Must never: touch the file system.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use agentry_protocol::{ContentHash, ContentHasher};

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::limits::FILE_BYTES_MAX;
use crate::source::{SourceText, Span};

/// The content of a directory, by path below it.
#[derive(Clone, Debug, Default)]
pub struct FileTree {
    /// The directory as people see it; findings begin with it.
    pub label: String,
    /// The directory's own name, where the label does not end with it (`.` does not).
    pub own_name: Option<String>,
    // Invariant: keys are relative, separated by `/`, without `.` and `..` parts.
    entries: BTreeMap<String, FileTreeEntry>,
}

/// One entry of a directory.
#[derive(Clone, Debug)]
pub enum FileTreeEntry {
    /// A regular file.
    File(FileContent),
    /// An entry that is present and was not read.
    Refused(ReadRefusal),
}

/// A regular file.
#[derive(Clone, Debug)]
pub struct FileContent {
    /// The content; `None` when the file is larger than a definition may be.
    pub bytes: Option<Arc<Vec<u8>>>,
    /// The hash of all of its content.
    pub hash: ContentHash,
    /// Its full length.
    pub length: u64,
    /// True if the file is executable.
    pub executable: bool,
}

/// The reason why an entry was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadRefusal {
    /// A link whose target lies outside of the directory.
    LinkLeavesRoot,
    /// A pipe, socket or device.
    NotARegularFile,
    /// The system's error.
    Unreadable(String),
    /// Too many or too large entries; the text names the limit.
    TooMuch(String),
    /// The time limit of the read.
    Timeout,
    /// A file in the place of a directory, or the reverse; the text names the expected kind.
    WrongKind(String),
    /// A name that is nearly one that is read; the text is the name that was probably meant.
    Misnamed(String),
}

impl FileTree {
    /// Creates an empty tree with a label.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), own_name: None, entries: BTreeMap::new() }
    }

    /// Reads a whole tree from one text: `--- path` begins a file, `--- path +x` an executable one.
    /// The common indentation of the text is removed.
    pub fn from_fixture(text: &str) -> Self {
        let indent = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| line.len() - line.trim_start_matches(' ').len())
            .min()
            .unwrap_or_default();
        let mut tree = Self::default();
        let mut current: Option<(&str, bool, String)> = None;
        for line in text.lines() {
            let line = line.get(indent..).unwrap_or_default();
            match line.strip_prefix("--- ") {
                Some(name) => {
                    tree.insert_text(current.take());
                    let (path, executable) = match name.trim().strip_suffix(" +x") {
                        Some(path) => (path, true),
                        None => (name.trim(), false),
                    };
                    current = Some((path, executable, String::new()));
                }
                None => {
                    if let Some((_, _, content)) = &mut current {
                        content.push_str(line);
                        content.push('\n');
                    }
                }
            }
        }
        tree.insert_text(current);
        tree
    }

    fn insert_text(&mut self, file: Option<(&str, bool, String)>) {
        if let Some((path, executable, content)) = file {
            self.insert(
                path,
                FileTreeEntry::File(FileContent::new(content.into_bytes(), executable)),
            );
        }
    }

    /// Adds an entry, or replaces the entry at this path.
    pub fn insert(&mut self, path: impl Into<String>, entry: FileTreeEntry) {
        self.entries.insert(path.into(), entry);
    }

    /// Returns the entry at a path.
    pub fn get(&self, path: &str) -> Option<&FileTreeEntry> {
        self.entries.get(path)
    }

    /// Returns the regular file at a path.
    pub fn file(&self, path: &str) -> Option<&FileContent> {
        match self.entries.get(path)? {
            FileTreeEntry::File(file) => Some(file),
            FileTreeEntry::Refused(_) => None,
        }
    }

    /// Returns all entries below a directory, with paths from the root of the tree, in order.
    pub fn below<'a>(
        &'a self,
        directory: &str,
    ) -> impl Iterator<Item = (&'a str, &'a FileTreeEntry)> + 'a {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        self.entries
            .range(prefix.clone()..)
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .map(|(path, entry)| (path.as_str(), entry))
    }

    /// Returns the names of the files directly in a directory.
    pub fn files_in<'a>(
        &'a self,
        directory: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a FileContent)> + 'a {
        let skip = if directory.is_empty() { 0 } else { directory.len() + 1 };
        self.below(directory).filter_map(move |(path, entry)| match entry {
            FileTreeEntry::File(file) if !path[skip..].contains('/') => Some((&path[skip..], file)),
            FileTreeEntry::File(_) | FileTreeEntry::Refused(_) => None,
        })
    }

    /// Returns the names of the directories directly in a directory.
    pub fn directories_in(&self, directory: &str) -> Vec<&str> {
        let skip = if directory.is_empty() { 0 } else { directory.len() + 1 };
        let mut names: Vec<&str> = self
            .below(directory)
            .filter_map(|(path, _)| path[skip..].split_once('/').map(|(name, _)| name))
            .collect();
        names.dedup();
        names
    }

    /// Returns the part of the tree below a directory, as a tree of its own.
    pub fn subtree(&self, directory: &str) -> Self {
        let skip = if directory.is_empty() { 0 } else { directory.len() + 1 };
        let entries = self
            .below(directory)
            .map(|(path, entry)| (path[skip..].to_owned(), entry.clone()))
            .collect();
        let own_name = directory.is_empty().then(|| self.own_name.clone()).flatten();
        Self { label: self.display_path(directory), own_name, entries }
    }

    /// Returns the name of the directory itself.
    pub fn name(&self) -> String {
        let last =
            || self.label.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
        let name = self.own_name.clone().unwrap_or_else(last);
        if name.is_empty() || name == "." { "agent".to_owned() } else { name }
    }

    /// Returns a path as people see it.
    pub fn display_path(&self, path: &str) -> String {
        match (self.label.as_str(), path) {
            ("", path) => path.to_owned(),
            (label, "") => label.to_owned(),
            (label, path) => format!("{}/{path}", label.trim_end_matches('/')),
        }
    }

    /// Returns the text of a file. Defects of the encoding go to the findings.
    pub fn text(&self, path: &str, findings: &mut Findings) -> Option<SourceText> {
        let file = match self.entries.get(path)? {
            FileTreeEntry::File(file) => file,
            FileTreeEntry::Refused(refusal) => {
                let (code, text) = refusal.diagnostic();
                findings.about(code, self.display_path(path), text);
                return None;
            }
        };
        let Some(bytes) = &file.bytes else {
            let text = FindingText::new(format!("the file has {} bytes", file.length))
                .help(format!("a definition has at most {FILE_BYTES_MAX} bytes"));
            findings.about(DiagnosticCode::TooLarge, self.display_path(path), text);
            return None;
        };
        decode_utf8(self.display_path(path), bytes, findings)
    }

    /// Adds a finding for every entry that is present and was not read.
    pub fn report_refusals(&self, findings: &mut Findings) {
        for (path, entry) in &self.entries {
            if let FileTreeEntry::Refused(refusal) = entry {
                let (code, text) = refusal.diagnostic();
                findings.about(code, self.display_path(path), text);
            }
        }
    }

    /// Returns one hash over all files of the tree: paths, content, and executable bits.
    pub fn hash(&self) -> ContentHash {
        let mut hasher = ContentHasher::default();
        for (path, entry) in &self.entries {
            if let FileTreeEntry::File(file) = entry {
                let mode: &[u8] = if file.executable { b"x" } else { b"-" };
                hasher.part(path.as_bytes()).part(mode).part(file.hash.as_str().as_bytes());
            }
        }
        hasher.finish()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if the tree has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl FileContent {
    /// Creates a file with this content.
    pub fn new(bytes: Vec<u8>, executable: bool) -> Self {
        let hash = ContentHash::of(&bytes);
        let length = bytes.len() as u64;
        let kept = bytes.len() <= FILE_BYTES_MAX;
        Self { bytes: kept.then(|| Arc::new(bytes)), hash, length, executable }
    }
}

impl ReadRefusal {
    /// Returns the code and the message of the refusal.
    pub(crate) fn diagnostic(&self) -> (DiagnosticCode, FindingText) {
        match self {
            Self::LinkLeavesRoot => (
                DiagnosticCode::LinkLeavesRoot,
                FindingText::new("this link leads out of the directory, so it is not followed")
                    .help("copy what it points to, or link to something inside"),
            ),
            Self::NotARegularFile => (
                DiagnosticCode::NotARegularFile,
                FindingText::new("this is a pipe, a socket or a device")
                    .help("put a regular file here"),
            ),
            Self::Unreadable(why) => (
                DiagnosticCode::Unreadable,
                FindingText::new(format!("this is there but cannot be read: {why}"))
                    .help("make sure that it exists and that you may read it"),
            ),
            Self::TooMuch(what) => (
                DiagnosticCode::TooManyFiles,
                FindingText::new(format!("there is more here than may be read: {what}"))
                    .help("move what does not belong to the definition elsewhere"),
            ),
            Self::WrongKind(expected) => (
                DiagnosticCode::NotARegularFile,
                FindingText::new(format!("{expected} is expected here, and this is not one"))
                    .help("rename it, or put the right thing here"),
            ),
            Self::Misnamed(meant) => (
                DiagnosticCode::Misnamed,
                FindingText::new("this is not read, because of its name")
                    .help(format!("did you mean `{meant}`?")),
            ),
            Self::Timeout => (
                DiagnosticCode::ReadTimeout,
                FindingText::new("reading did not end in time")
                    .help("check the disk or network mount"),
            ),
        }
    }
}

impl fmt::Display for ReadRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::LinkLeavesRoot => "a link that leads out of the directory".to_owned(),
            Self::NotARegularFile => "a pipe, a socket or a device".to_owned(),
            Self::Unreadable(why) => why.clone(),
            Self::TooMuch(what) => format!("there is more than may be read: {what}"),
            Self::Timeout => "reading did not end in time".to_owned(),
            Self::WrongKind(expected) => format!("{expected} is expected here"),
            Self::Misnamed(meant) => format!("did you mean `{meant}`?"),
        })
    }
}

/// True if a path is a directory or lies below it. Everything lies in the directory without a name.
pub fn lies_in(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Decodes text: removes a byte order mark, ends every line with `\n`.
pub(crate) fn decode_utf8(
    file: String,
    bytes: &[u8],
    findings: &mut Findings,
) -> Option<SourceText> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let source = SourceText::new(file, unix_lines(&good));
            let end = source.text.len();
            let text = FindingText::new("the bytes from here on are not UTF-8")
                .help("save the file as UTF-8");
            findings.at(DiagnosticCode::NotUtf8, &source, Span::new(end, end), text);
            return None;
        }
    };
    let source = SourceText::new(file, unix_lines(text));
    if let Some(at) = source.text.find('\0') {
        let text = FindingText::new("a NUL byte stands here")
            .help("remove it; definitions are plain text");
        findings.at(DiagnosticCode::NulByte, &source, Span::new(at, at + 1), text);
        return None;
    }
    Some(source)
}

fn unix_lines(text: &str) -> Arc<str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}
