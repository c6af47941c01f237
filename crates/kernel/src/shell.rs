//! Reads a shell command and says what it would run.
//!
//! The text goes through a real grammar; what a program hands on to another (a wrapper, `sh -c`, `xargs`,
//! `find -exec`, a heredoc fed to a shell) is followed. Text that nobody executes is data and raises nothing.
//! What is not fully understood is called opaque. Complete knowledge is needed to allow; a part is enough
//! to refuse.
//!
//! Must never: panic, run anything, or let what it did not understand look harmless.

mod code;
mod downloaded;
mod escape;
mod executes;
pub(crate) mod git;
pub mod harmless;
mod invocation;
mod lower;
mod parse;
pub(crate) mod path;
pub(crate) mod program;
mod redirect;
mod rough;
mod sed;
mod unwrap;
mod within;
mod word;
mod wrapper;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use downloaded::executes_downloaded;
pub use executes::{Use, executes};
pub use within::{Allowlist, within};
pub(crate) use within::{refused_variable, steering, writes_file};

/// What a command would do, as far as its text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Every simple command that could run, in the order it is met, inner ones before outer ones.
    pub commands: Vec<Simple>,
    /// Why the text is not fully understood; nothing when it is.
    pub opaque: Option<String>,
}

/// One program or builtin with its words, after wrappers such as `env` and `timeout` are taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// The name and the arguments; empty when the command only assigns or redirects.
    pub words: Vec<Word>,
    /// What runs it, outermost first: `sudo`, `xargs`, `bash -c`.
    pub wrappers: Vec<String>,
    /// Variables set for it, or by it.
    pub assigns: Vec<(String, Word)>,
    /// Files that a redirection reads.
    pub reads: Vec<Word>,
    /// Files that a redirection writes.
    pub writes: Vec<Word>,
    /// Places in the list of commands whose output reaches it, by pipe or substitution.
    pub fed_by: Vec<usize>,
    /// Where it runs, if a `cd` came before it.
    pub dir: Option<Word>,
    /// Where it stands in the text, in bytes, if that is known.
    pub place: Option<(usize, usize)>,
}

impl Simple {
    /// The program's name without its folder, if it is known.
    pub fn program(&self) -> Option<&str> {
        let name = self.words.first()?.literal()?;
        Some(name.rsplit('/').next().unwrap_or(name))
    }

    /// The words after the name.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

impl fmt::Display for Simple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.words.iter().map(Word::text).collect();
        f.write_str(&words.join(" "))
    }
}

/// One word of a command, quotes taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Exactly this text.
    Literal(String),
    /// Something the shell makes of this text: a variable, a substitution, a pattern, a home directory.
    Dynamic(String),
}

impl Word {
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
pub fn read(command: &str) -> Facts {
    catch_unwind(AssertUnwindSafe(|| lower::whole(command))).unwrap_or_else(|_| Facts {
        opaque: Some("the text could not be read".to_owned()),
        ..Facts::default()
    })
}
