//! A chat in the terminal: one loop that takes what happens, and draws.
//!
//! Must never: wait for anything but the next thing that happens, or leave the terminal changed behind.

mod call;
mod command;
mod complete;
mod draw;
mod edit;
mod export;
mod files;
mod highlight;
mod history;
mod ink;
mod keys;
mod markdown;
mod plain;
mod question;
mod screen;
mod scroll;
mod shell;
mod snapshot;
mod stream;
mod tail;
mod talk;
mod turn;
mod wake;
mod work;
mod wrap;

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Stdout, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use agentry_protocol::confinement::ConfinementLevel;
use agentry_sandbox::CancelToken;
use ratatui::crossterm::event::Event as Input;
use ratatui::crossterm::terminal;
use ratatui::style::Style;

use crate::fault::{Blame, Fault};
use crate::host::Host;
use crate::limits::{CHAT_FRAME_MS, CHAT_SPINNER_MS};
use call::Past;
use edit::Edit;
use history::History;
use ink::{BAD, DIM, Ink, WARN, span};
use screen::Screen;
use scroll::{Kind, Scroll};
use turn::Turn;
use wake::Wake;

pub(crate) use talk::{Talk, last_run, new_key, sessions};

/// What a chat begins with.
pub(crate) struct Opened {
    pub(crate) talk: Talk,
    /// What the person should know first.
    pub(crate) notes: Vec<String>,
    pub(crate) start: Start,
}

/// Whether something was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A new talk, or a session by its name.
    Fresh,
    /// One that is gone on with.
    GoOn,
}

/// What the typed text is for.
#[derive(Default)]
enum Typing {
    /// The agent, or a command.
    #[default]
    Prompt,
    /// The reason of a no.
    Reason,
    /// Something that was typed before: what is looked for, and how many finds are skipped.
    Search(String, usize),
}

/// The chat.
pub(crate) struct Chat<'a> {
    host: &'a Host,
    talk: Talk,
    wake: Sender<Wake>,
    screen: Screen<Stdout>,
    scroll: Scroll,
    typed: Typed,
    turn: Option<Turn>,
    /// A command of the person that is under way.
    shell: Option<(String, Instant, CancelToken)>,
    desk: Desk,
    leave: Option<ExitCode>,
}

/// What is typed, was typed, and is offered.
struct Typed {
    edit: Edit,
    typing: Typing,
    history: History,
    offers: complete::Offers,
    /// Which offer was taken last.
    chosen: Option<usize>,
    files: Option<Vec<String>>,
}

/// What lies ready for later.
#[derive(Default)]
struct Desk {
    /// Prompts that wait for the turn to end.
    queue: VecDeque<String>,
    /// What goes along with the next prompt.
    context: Vec<String>,
    past: Option<Past>,
    /// A word that is shown for a moment.
    hint: Option<(String, Instant)>,
    /// When leaving was asked for first.
    leaving: Option<Instant>,
}

/// How long a second Ctrl-C counts, and a word is shown.
const MOMENT: Duration = Duration::from_secs(2);

/// Runs a chat until somebody leaves it.
pub(crate) fn run(host: &Host, opened: Opened) -> Result<ExitCode, Fault> {
    if host.environment.variable("TERM").is_none_or(|term| term == "dumb" || term.is_empty()) {
        return plain::run(opened);
    }
    let (sender, receiver) = mpsc::channel();
    let size = terminal::size().unwrap_or((80, 24));
    let guard = Guard::take(&sender)?;
    wake::listen(&sender);
    wake::watch_signals(&sender);
    let mut chat = Chat::new(host, opened.talk, sender, size);
    chat.greet(&opened.notes, opened.start);
    let code = chat.work(&receiver);
    let cleared = chat.screen.clear();
    chat.let_go(&receiver);
    let (key, said) = (chat.talk.key.clone(), chat.talk.session.is_some());
    let unfinished = chat.turn.is_some();
    drop(guard);
    cleared?;
    if said {
        let mut out = crate::output::stdout().lock();
        let what =
            if unfinished { "The turn is not finished. It goes on with" } else { "Go on with" };
        writeln!(out, "{what}: agentry chat --resume {key}")?;
    }
    code
}

/// Gives the terminal back when it goes.
struct Guard;

impl Guard {
    fn take(wake: &Sender<Wake>) -> Result<Self, Fault> {
        screen::take().map_err(|error| {
            Fault::new(Blame::Machine, format!("the terminal cannot be used: {error}"))
                .hint("pipe a prompt in instead, as in `echo hello | agentry`")
        })?;
        let (wake, main) = (Mutex::new(wake.clone()), std::thread::current().id());
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == main {
                screen::give_back();
                writeln!(io::stderr(), "\r\n{panic}").unwrap_or_default();
            } else if let Ok(wake) = wake.lock() {
                wake.send(Wake::Broken(panic.to_string())).unwrap_or_default();
            }
        }));
        Ok(Self)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            drop(std::panic::take_hook());
        }
        screen::give_back();
    }
}

/// Whether colors are wanted here.
fn ink() -> Ink {
    let choice = anstream::ColorChoice::global();
    let wanted = match choice {
        anstream::ColorChoice::Never => false,
        anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => true,
        anstream::ColorChoice::Auto => {
            let none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            !none && io::stdout().is_terminal()
        }
    };
    if wanted { Ink::Color } else { Ink::Plain }
}

impl<'a> Chat<'a> {
    fn new(host: &'a Host, talk: Talk, wake: Sender<Wake>, size: (u16, u16)) -> Self {
        let typed = Typed {
            edit: Edit::default(),
            typing: Typing::default(),
            history: History::open(host.environment.state.as_deref()),
            offers: complete::Offers::default(),
            chosen: None,
            files: None,
        };
        Self {
            host,
            talk,
            wake,
            screen: Screen::new(io::stdout(), ink(), size),
            scroll: Scroll::default(),
            typed,
            turn: None,
            shell: None,
            desk: Desk::default(),
            leave: None,
        }
    }

    fn work(&mut self, receiver: &Receiver<Wake>) -> Result<ExitCode, Fault> {
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
            // What comes within one frame is drawn in one go; what is typed is drawn at once.
            while let Some(one) = wake {
                let typed = matches!(one, Wake::Input(_));
                self.take(one)?;
                let left =
                    if typed { Duration::ZERO } else { frame.saturating_sub(drawn.elapsed()) };
                wake = self.leave.is_none().then(|| next(receiver, left)).flatten();
            }
        }
    }

    /// When something changes on the screen by itself.
    fn wakes_in(&self) -> Option<Duration> {
        let works = self.turn.is_some() || self.shell.is_some();
        let spinner = works.then(|| Duration::from_millis(CHAT_SPINNER_MS));
        let hint = self.desk.hint.as_ref().map(|(_, since)| MOMENT.saturating_sub(since.elapsed()));
        spinner.into_iter().chain(hint).min()
    }

    fn take(&mut self, wake: Wake) -> Result<(), Fault> {
        let columns = self.screen.width();
        match wake {
            Wake::Input(Input::Key(key)) => self.key(key),
            Wake::Input(Input::Paste(text)) => self.pasted(&text),
            // Every drawing looks at the size first: the terminal may have it before we are told.
            Wake::Input(
                Input::Resize(..) | Input::FocusGained | Input::FocusLost | Input::Mouse(_),
            ) => {}
            Wake::Deaf => self.leave = Some(ExitCode::FAILURE),
            Wake::Signal(signal) => self.signal(signal),
            Wake::Began(about) => {
                self.talk.session = about.session.clone();
                if let Some(turn) = &mut self.turn {
                    turn.about = Some(about);
                }
            }
            Wake::Entry(envelope) => self.entry(&envelope),
            Wake::Piece(delta) => {
                if let Some(turn) = &mut self.turn {
                    turn.piece(&delta);
                }
            }
            Wake::Over(outcome) => self.over(*outcome),
            Wake::Shell(ran) => self.ran(*ran),
            Wake::Rows(rows) => self.scroll.add(Kind::Page, rows, columns),
            Wake::Progress(line) => self.note(&format!("… {line}"), DIM),
            Wake::Broken(why) => {
                self.scroll.note(&format!("Something broke down: {why}"), BAD, columns);
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

    /// Says something of the chat's own.
    fn note(&mut self, text: &str, style: Style) {
        let columns = self.screen.width();
        self.scroll.note(text, style, columns);
    }

    fn greet(&mut self, notes: &[String], start: Start) {
        let columns = self.screen.width();
        let head = [
            span("agentry", ink::BOLD),
            span(format!("  {} in {}", self.talk.agent, self.talk.workspace().display()), DIM),
        ];
        let head = wrap::cut(&ink::joined(head), columns);
        self.scroll.add(Kind::Note, [head], columns);
        self.note("/help shows commands and keys", DIM);
        if self.talk.engine.definitions.level == ConfinementLevel::Off {
            self.note("The sandbox is off: commands can do whatever you can.", WARN);
        }
        for note in notes {
            self.note(note, WARN);
        }
        let found = self.talk.row().ok().flatten().is_some();
        if start == Start::GoOn || found {
            self.go_on();
        }
    }
}

/// The next thing that happened, at once or within a moment.
fn next(receiver: &Receiver<Wake>, within: Duration) -> Option<Wake> {
    receiver.try_recv().ok().or_else(|| match within.is_zero() {
        true => None,
        false => receiver.recv_timeout(within).ok(),
    })
}
