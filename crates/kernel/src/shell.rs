//! Reads a shell command and says what it would run.
//!
//! The text goes through a real grammar; what a program hands on to another (a wrapper, `sh -c`, `xargs`,
//! `find -exec`, a heredoc fed to a shell) is followed. Text that nobody executes is data and raises nothing.
//! What is not fully understood is called opaque. Complete knowledge is needed to allow; a part is enough
//! to refuse.
//!
//! Must never: panic, run anything, or let what it did not understand look harmless.

mod allowlist;
mod downloaded_code;
mod embedded_code;
mod escape;
mod executed_files;
pub(crate) mod git;
pub mod harmless;
mod invocation;
mod lowering;
mod parse;
pub(crate) mod path;
pub(crate) mod program;
mod redirect;
mod sed;
mod unwrap;
mod word;
mod word_split;
mod wrapper;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use allowlist::{AllowlistMatch, check_allowlist};
pub(crate) use allowlist::{refused_variable, steering, writes_file};
pub(crate) use downloaded_code::executes_downloaded;
pub use executed_files::{FileUse, executes};

/// What a command would do, as far as its text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellFacts {
    /// Every simple command that could run, in the order it is met, inner ones before outer ones.
    pub commands: Vec<ShellCommand>,
    /// Why the text is not fully understood; nothing when it is.
    pub opaque: Option<String>,
}

/// One program or builtin with its words, after wrappers such as `env` and `timeout` are taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// The name and the arguments; empty when the command only assigns or redirects.
    pub words: Vec<ShellWord>,
    /// What runs it, outermost first: `sudo`, `xargs`, `bash -c`.
    pub wrappers: Vec<String>,
    /// Variables set for it, or by it.
    pub assigns: Vec<(String, ShellWord)>,
    /// Files that a redirection reads.
    pub reads: Vec<ShellWord>,
    /// Files that a redirection writes.
    pub writes: Vec<ShellWord>,
    /// Places in the list of commands whose output reaches it, by pipe or substitution.
    pub fed_by: Vec<usize>,
    /// Where it runs, if a `cd` came before it.
    pub dir: Option<ShellWord>,
    /// Where it stands in the text, in bytes, if that is known.
    pub place: Option<(usize, usize)>,
}

impl ShellCommand {
    /// The program's name without its folder, if it is known.
    pub fn program(&self) -> Option<&str> {
        let name = self.words.first()?.literal()?;
        Some(name.rsplit('/').next().unwrap_or(name))
    }

    /// The words after the name.
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

/// One word of a command, quotes taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellWord {
    /// Exactly this text.
    Literal(String),
    /// Something the shell makes of this text: a variable, a substitution, a pattern, a home directory.
    Dynamic(String),
}

impl ShellWord {
    /// The text, if it is exactly known.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic(_) => None,
        }
    }

    /// Another text, as well known as this one.
    fn with(&self, text: &str) -> Self {
        match self {
            Self::Literal(_) => Self::Literal(text.to_owned()),
            Self::Dynamic(_) => Self::Dynamic(text.to_owned()),
        }
    }

    /// The text as known, or as written.
    pub fn text(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Dynamic(text) => text,
        }
    }
}

/// Reads a command. Never panics; a text that is too long, too deep or broken is opaque.
pub fn read(command: &str) -> ShellFacts {
    catch_unwind(AssertUnwindSafe(|| lowering::lower_text(command))).unwrap_or_else(|_| {
        ShellFacts {
            opaque: Some("the text could not be read".to_owned()),
            ..ShellFacts::default()
        }
    })
}
