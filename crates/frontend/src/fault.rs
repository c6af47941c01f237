//! An error for a person: its message, who can act, and a hint.
//!
//! Must never: lose the cause, or blame the reader.

use std::fmt;
use std::process::ExitCode;

use crate::diagnostics::visible;

/// Party that can fix a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The user of the command.
    Caller,
    /// The author of the agent.
    Agent,
    /// The operator of the machine.
    Machine,
    /// The owner, who sets access policies and trust.
    Access,
    /// The developers of Agentry.
    Us,
    /// No one: the reader of the output closed it.
    Reader,
}

/// An error for a person.
#[derive(Debug)]
pub struct Fault {
    blame: Blame,
    message: String,
    hint: Option<String>,
}

impl Fault {
    /// Creates a fault without a hint.
    pub fn new(blame: Blame, message: impl Into<String>) -> Self {
        Self { blame, message: message.into(), hint: None }
    }

    /// Adds a hint: what to do about the fault.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Blames the caller instead of the agent, for commands that cannot run a broken definition.
    pub fn in_a_definition(mut self) -> Self {
        if self.blame == Blame::Agent {
            self.blame = Blame::Caller;
        }
        self
    }

    /// Returns the party that can fix the fault.
    pub fn blame(&self) -> Blame {
        self.blame
    }

    /// Returns the message and the hint.
    pub fn into_parts(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }

    /// Returns true if the fault is to be shown to a person.
    pub fn is_worth_saying(&self) -> bool {
        self.blame != Blame::Reader
    }

    /// Returns the exit code: 2 for a wrong command, 1 for a wrong definition or machine, 3 for
    /// denied access, 70 for a defect of ours.
    pub fn code(&self) -> u8 {
        match self.blame {
            Blame::Caller => 2,
            Blame::Access => 3,
            Blame::Agent | Blame::Machine | Blame::Reader => 1,
            Blame::Us => 70,
        }
    }

    /// Returns the exit code for `main`.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// Returns the message and the hint, without color.
    pub fn plain(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let red = anstyle::AnsiColor::Red.on_default().bold();
        let cyan = anstyle::AnsiColor::Cyan.on_default().bold();
        write!(f, "{red}error{red:#}: {}", visible(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, "\n {cyan}help{cyan:#}: {}", visible(hint)),
            None => Ok(()),
        }
    }
}

/// Converts an error of standard output, which is closed or full.
impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        let blame = match error.kind() {
            std::io::ErrorKind::BrokenPipe => Blame::Reader,
            _ => Blame::Machine,
        };
        Self::new(blame, format!("cannot write the output: {error}"))
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::new(Blame::Us, format!("cannot write this as JSON: {error}"))
    }
}
