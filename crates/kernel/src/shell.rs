//! Parses a shell command and lists the commands that it would run.
//!
//! A real grammar parses the text; a program that runs another one (a wrapper, `sh -c`, `xargs`,
//! `find -exec`, a heredoc fed to a shell) is followed. Text that is not executed is data and
//! raises no finding. Text that cannot be understood completely is opaque. Complete knowledge is
//! needed to allow; partial knowledge is enough to refuse.
//!
//! Must never: panic, run a program, or let text that it did not understand look harmless.

mod allowlist;
mod downloaded_code;
mod escape;
mod escape_argument;
mod executed_files;
pub(crate) mod git;
pub mod harmless;
mod inline_code;
mod invocation;
mod lowering;
mod parse;
pub(crate) mod path;
pub(crate) mod program;
mod sed;
mod word;
mod word_split;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use allowlist::{AllowlistMatch, check_allowlist};
pub(crate) use allowlist::{refused_variable, steering, writes_file};
pub(crate) use downloaded_code::executes_downloaded;
pub use executed_files::{FileUse, executes};

/// The commands that a text would run, as far as the text tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellFacts {
    /// Every simple command that could run, in order of discovery, inner ones before outer ones.
    pub commands: Vec<ShellCommand>,
    /// The reason why the text is not fully understood; None if it is.
    pub opaque: Option<String>,
}

/// One program or builtin with its words, without wrappers such as `env` and `timeout`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// The name and the arguments; empty if the command only assigns or redirects.
    pub words: Vec<ShellWord>,
    /// Its wrappers, outermost first: `sudo`, `xargs`, `bash -c`.
    pub wrappers: Vec<String>,
    /// Variables set for it, or by it.
    pub assigns: Vec<(String, ShellWord)>,
    /// Files that a redirection reads.
    pub reads: Vec<ShellWord>,
    /// Files that a redirection writes.
    pub writes: Vec<ShellWord>,
    /// The positions of commands whose output reaches it, by pipe or substitution.
    pub fed_by: Vec<usize>,
    /// The directory in which it runs, if a `cd` precedes it.
    pub dir: Option<ShellWord>,
    /// Its byte range in the text; None if unknown.
    pub place: Option<(usize, usize)>,
}

impl ShellCommand {
    /// Returns the program's name without its folder; None if it is not known.
    pub fn program(&self) -> Option<&str> {
        let name = self.words.first()?.literal()?;
        Some(name.rsplit('/').next().unwrap_or(name))
    }

    /// Returns the words after the name.
    pub fn arguments(&self) -> &[ShellWord] {
        self.words.get(1..).unwrap_or_default()
    }
}

impl fmt::Display for ShellCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.words.iter().map(ShellWord::text).collect();
        f.write_str(&words.join(" "))
    }
}

/// One word of a command, without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellWord {
    /// Exactly this text.
    Literal(String),
    /// The source of an expansion: a variable, a substitution, a pattern, a home directory.
    Dynamic(String),
}

impl ShellWord {
    /// Returns the text if it is exactly known.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic(_) => None,
        }
    }

    /// Replaces the text and keeps the kind.
    fn with(&self, text: &str) -> Self {
        match self {
            Self::Literal(_) => Self::Literal(text.to_owned()),
            Self::Dynamic(_) => Self::Dynamic(text.to_owned()),
        }
    }

    /// Returns the exact text, or the source of the expansion.
    pub fn text(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Dynamic(text) => text,
        }
    }
}

/// Parses a command. Never panics; a text that is too long, too deep or broken is opaque.
pub fn read(command: &str) -> ShellFacts {
    catch_unwind(AssertUnwindSafe(|| lowering::lower_text(command))).unwrap_or_else(|_| {
        ShellFacts {
            opaque: Some("the text could not be read".to_owned()),
            ..ShellFacts::default()
        }
    })
}
