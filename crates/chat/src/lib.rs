//! A chat in the terminal: one loop that handles events and draws.
//!
//! Must never: wait for anything but the next event, leave the terminal in raw mode, or know HTTP.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod call;
mod chat_session;
mod command;
mod completion;
mod editor;
mod events;
mod export;
mod files;
mod highlight;
mod history;
mod keys;
pub mod limits;
mod live_rows;
mod markdown;
mod plain;
mod question;
mod recent_turns;
mod screen;
mod scroll;
mod shell;
mod shell_run;
mod snapshot;
mod stream;
mod style;
mod turn;
mod turn_control;
mod wrap;

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Stdout, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use agentry_agentfile::sandbox::SandboxLayers;
use agentry_frontend::bootstrap::ProjectRuntime;
use agentry_frontend::cli_context::CliContext;
use agentry_frontend::fault::{Blame, Fault};
use agentry_frontend::output::write_stderr_line;
use agentry_protocol::confinement::ConfinementLevel;
use agentry_runtime::RunRequest;
use agentry_runtime::environment::Environment;
use agentry_sandbox::CancelToken;
use call::FinishedChatCall;
pub use chat_session::{ChatSession, last_run, new_key, sessions};
use editor::PromptEditor;
use events::{ChatEvent, send_if_open};
use history::PromptHistory;
use ratatui::crossterm::event::Event as Input;
use ratatui::style::Style;
use screen::{Screen, TerminalSize};
use scroll::{Kind, ScrollbackBuffer};
use style::{BAD, DIM, StyleMode, WARN, span};
use turn::ChatTurn;

use crate::limits::{CHAT_FRAME_MS, CHAT_SPINNER_MS};

/// The setup of a chat.
pub struct ChatSetup {
    /// The session of the chat.
    pub talk: ChatSession,
    /// Notes to show at the start.
    pub notes: Vec<String>,
    /// The kind of session.
    pub start: ChatStart,
    /// Functions of the command line that the chat calls.
    pub surface: ChatSurface,
}

/// Functions of the command line that a chat calls.
#[derive(Clone, Copy)]
pub struct ChatSurface {
    /// Admits and runs one request, and shows it line by line.
    pub show_run: fn(&ProjectRuntime, RunRequest) -> Result<(), Fault>,
    /// Returns the report of `agentry doctor`; the second argument is the settings' sandbox part.
    pub doctor_report: fn(&Environment, &SandboxLayers) -> String,
}

/// Kind of session that a chat starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatStart {
    /// A new session, or a session by its name.
    New,
    /// A continued session.
    Continued,
}

/// Use of the typed text.
#[derive(Default)]
enum InputMode {
    /// A prompt for the agent, or a command.
    #[default]
    Prompt,
    /// The reason of a denial.
    Reason,
    /// A search in the history: the text to find, and the number of matches to skip.
    Search(String, usize),
}

/// The state of the chat.
pub(crate) struct TerminalChat<'a> {
    host: &'a CliContext,
    surface: ChatSurface,
    talk: ChatSession,
    wake: Sender<ChatEvent>,
    screen: Screen<Stdout>,
    scroll: ScrollbackBuffer,
    typed: ChatInput,
    turn: Option<ChatTurn>,
    /// The running shell command of the user: its text, its start, and the token that stops it.
    shell: Option<(String, Instant, CancelToken)>,
    backlog: ChatBacklog,
    leave: Option<ExitCode>,
}

/// The typed text, the history and the completions.
struct ChatInput {
    edit: PromptEditor,
    typing: InputMode,
    history: PromptHistory,
    offers: completion::CompletionList,
    /// The index of the completion that was inserted last.
    chosen: Option<usize>,
    files: Option<Vec<String>>,
}

/// State that waits for later turns or frames.
#[derive(Default)]
struct ChatBacklog {
    /// Prompts that wait for the end of the turn.
    queue: VecDeque<String>,
    /// Texts to send with the next prompt.
    context: Vec<String>,
    past: Option<FinishedChatCall>,
    /// A hint that is shown for `MOMENT`, and its start.
    hint: Option<(String, Instant)>,
    /// The time of the first Ctrl-C.
    leaving: Option<Instant>,
}

/// The time in which a second Ctrl-C quits, and that a hint is shown.
const MOMENT: Duration = Duration::from_secs(2);

/// Runs a chat until the user quits. A dumb terminal gets the plain chat.
pub fn run(host: &CliContext, opened: ChatSetup) -> Result<ExitCode, Fault> {
    if host.environment.variable("TERM").is_none_or(|term| term == "dumb" || term.is_empty()) {
        return plain::run(opened);
    }
    let (sender, receiver) = mpsc::channel();
    let size = TerminalSize::now().unwrap_or(TerminalSize { columns: 80, rows: 24 });
    let guard = TerminalGuard::take(&sender)?;
    events::listen(&sender);
    events::watch_signals(&sender);
    let mut chat = TerminalChat::new(host, opened.surface, opened.talk, sender, size);
    chat.greet(&opened.notes, opened.start);
    let code = chat.work(&receiver);
    let cleared = chat.screen.clear();
    chat.detach_turn(&receiver);
    let (key, said) = (chat.talk.key.clone(), chat.talk.session.is_some());
    let unfinished = chat.turn.is_some();
    drop(guard);
    cleared?;
    if said {
        let mut out = agentry_frontend::output::stdout().lock();
        let what =
            if unfinished { "The turn is not finished. Continue it with" } else { "Continue with" };
        writeln!(out, "{what}: agentry chat --resume {key}")?;
    }
    code
}

/// Restores the terminal on drop.
struct TerminalGuard;

impl TerminalGuard {
    fn take(wake: &Sender<ChatEvent>) -> Result<Self, Fault> {
        screen::enter_raw_mode().map_err(|error| {
            Fault::new(Blame::Machine, format!("cannot set up the terminal: {error}"))
                .hint("pipe a prompt instead, as in `echo hello | agentry`")
        })?;
        let (wake, main) = (Mutex::new(wake.clone()), std::thread::current().id());
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == main {
                screen::restore_terminal();
                write_stderr_line(&format!("\n{panic}"));
            } else if let Ok(wake) = wake.lock() {
                send_if_open(&wake, ChatEvent::ThreadPanicked(panic.to_string()));
            }
        }));
        Ok(Self)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            drop(std::panic::take_hook());
        }
        screen::restore_terminal();
    }
}

/// Returns the style mode, from --color, NO_COLOR and the terminal.
fn ink() -> StyleMode {
    let choice = anstream::ColorChoice::global();
    let wanted = match choice {
        anstream::ColorChoice::Never => false,
        anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => true,
        anstream::ColorChoice::Auto => {
            let none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            !none && io::stdout().is_terminal()
        }
    };
    if wanted { StyleMode::Color } else { StyleMode::Plain }
}

impl<'a> TerminalChat<'a> {
    fn new(
        host: &'a CliContext,
        surface: ChatSurface,
        talk: ChatSession,
        wake: Sender<ChatEvent>,
        size: TerminalSize,
    ) -> Self {
        let typed = ChatInput {
            edit: PromptEditor::default(),
            typing: InputMode::default(),
            history: PromptHistory::open(host.environment.state.as_deref()),
            offers: completion::CompletionList::default(),
            chosen: None,
            files: None,
        };
        Self {
            host,
            surface,
            talk,
            wake,
            screen: Screen::new(io::stdout(), ink(), size),
            scroll: ScrollbackBuffer::default(),
            typed,
            turn: None,
            shell: None,
            backlog: ChatBacklog::default(),
            leave: None,
        }
    }

    fn work(&mut self, receiver: &Receiver<ChatEvent>) -> Result<ExitCode, Fault> {
        let frame = Duration::from_millis(CHAT_FRAME_MS);
        loop {
            self.draw()?;
            let drawn = Instant::now();
            if let Some(code) = self.leave {
                return Ok(code);
            }
            let mut wake = match self.wakes_in() {
                Some(time) => receiver.recv_timeout(time).ok(),
                None => receiver.recv().ok(),
            };
            // Events within one frame are drawn together; typed input is drawn at once.
            while let Some(one) = wake {
                let typed = matches!(one, ChatEvent::Input(_));
                self.take(one)?;
                let left =
                    if typed { Duration::ZERO } else { frame.saturating_sub(drawn.elapsed()) };
                wake = self.leave.is_none().then(|| next(receiver, left)).flatten();
            }
        }
    }

    /// Returns the time until the screen changes without an event; None if it does not.
    fn wakes_in(&self) -> Option<Duration> {
        let works = self.turn.is_some() || self.shell.is_some();
        let spinner = works.then(|| Duration::from_millis(CHAT_SPINNER_MS));
        let hint =
            self.backlog.hint.as_ref().map(|(_, since)| MOMENT.saturating_sub(since.elapsed()));
        spinner.into_iter().chain(hint).min()
    }

    fn take(&mut self, wake: ChatEvent) -> Result<(), Fault> {
        let columns = self.screen.width();
        match wake {
            ChatEvent::Input(Input::Key(key)) => self.key(key),
            ChatEvent::Input(Input::Paste(text)) => self.pasted(&text),
            // Each frame reads the size first: the terminal may change before the event arrives.
            ChatEvent::Input(
                Input::Resize(..) | Input::FocusGained | Input::FocusLost | Input::Mouse(_),
            ) => {}
            ChatEvent::InputClosed => self.leave = Some(ExitCode::FAILURE),
            ChatEvent::Signal(signal) => self.signal(signal),
            ChatEvent::RunStarted(about) => {
                self.talk.session = about.session.clone();
                if let Some(turn) = &mut self.turn {
                    turn.about = Some(about);
                }
            }
            ChatEvent::Entry(envelope) => self.entry(&envelope),
            ChatEvent::Delta(delta) => {
                if let Some(turn) = &mut self.turn {
                    turn.piece(&delta);
                }
            }
            ChatEvent::RunEnded(outcome) => self.finish_turn(*outcome),
            ChatEvent::Shell(ran) => self.ran(*ran),
            ChatEvent::Rows(rows) => self.scroll.add(Kind::Page, rows, columns),
            ChatEvent::Progress(line) => self.note(&format!("… {line}"), DIM),
            ChatEvent::ThreadPanicked(why) => {
                self.scroll.note(&format!("Internal error: {why}"), BAD, columns);
            }
        }
        Ok(())
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            signal_hook::consts::SIGINT => self.interrupt(),
            _ => self.leave = Some(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))),
        }
    }

    /// Adds a note of the chat itself to the scrollback.
    fn note(&mut self, text: &str, style: Style) {
        let columns = self.screen.width();
        self.scroll.note(text, style, columns);
    }

    fn greet(&mut self, notes: &[String], start: ChatStart) {
        let columns = self.screen.width();
        let head = [
            span("agentry", style::BOLD),
            span(format!("  {} in {}", self.talk.agent, self.talk.workspace().display()), DIM),
        ];
        let head = wrap::cut(&style::joined(head), columns);
        self.scroll.add(Kind::Note, [head], columns);
        self.note("/help shows commands and keys", DIM);
        if self.talk.engine.definitions.level == ConfinementLevel::Off {
            self.note("The sandbox is off: commands can do everything that you can.", WARN);
        }
        for note in notes {
            self.note(note, WARN);
        }
        let found = self.talk.row().ok().flatten().is_some();
        if start == ChatStart::Continued || found {
            self.resume_session();
        }
    }
}

/// Returns the next event that is pending or arrives within a time.
fn next(receiver: &Receiver<ChatEvent>, within: Duration) -> Option<ChatEvent> {
    receiver
        .try_recv()
        .ok()
        .or_else(|| if within.is_zero() { None } else { receiver.recv_timeout(within).ok() })
}
