//! An error as a person sees it: what happened, who can act, what to do.
//!
//! Must never: lose the cause, or blame the reader.

use std::fmt;
use std::process::ExitCode;

use crate::diagnostics::visible;

/// Who can do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// Whoever typed the command.
    Caller,
    /// Whoever wrote the agent.
    Agent,
    /// Whoever runs the machine.
    Machine,
    /// Whoever says who may; by the access policies nobody else can.
    Access,
    /// We.
    Us,
    /// Nobody: the reader of the output has seen enough.
    Reader,
}

/// An error for a person.
#[derive(Debug)]
pub(crate) struct Fault {
    blame: Blame,
    message: String,
    hint: Option<String>,
}

impl Fault {
    /// What happened.
    pub(crate) fn new(blame: Blame, message: impl Into<String>) -> Self {
        Self { blame, message: message.into(), hint: None }
    }

    /// What to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, where a definition that is broken is a wrong use: nothing can run.
    pub(crate) fn in_a_definition(mut self) -> Self {
        if self.blame == Blame::Agent {
            self.blame = Blame::Caller;
        }
        self
    }

    /// Who can do something about it.
    pub(crate) fn blame(&self) -> Blame {
        self.blame
    }

    /// What happened, and what to do.
    pub(crate) fn into_parts(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }

    /// Whether there is anything to say to a person.
    pub(crate) fn is_worth_saying(&self) -> bool {
        self.blame != Blame::Reader
    }

    /// 2 for a wrong command, 1 for a wrong definition or machine, 3 for what access denies, 70 for a defect of
    /// ours.
    pub(crate) fn code(&self) -> u8 {
        match self.blame {
            Blame::Caller => 2,
            Blame::Access => 3,
            Blame::Agent | Blame::Machine | Blame::Reader => 1,
            Blame::Us => 70,
        }
    }

    /// The same for the system.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// What happened and what to do, without color.
    pub(crate) fn plain(&self) -> String {
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

/// Standard output is gone or full.
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
