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
mod wrap;

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Stdout, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use agentry_protocol::approval::Answer;
use agentry_protocol::envelope::{Draft, Envelope};
use agentry_protocol::event::Event;
use agentry_runtime::run::{End, Outcome};
use agentry_sandbox::Stop;
use agentry_store::Filter;
use ratatui::crossterm::event::Event as Input;
use ratatui::crossterm::terminal;
use ratatui::style::Style;

use crate::engine;
use crate::fault::{Blame, Fault};
use crate::host::Host;
use crate::limits::{CHAT_FRAME_MS, CHAT_SPINNER_MS};
use call::Past;
use edit::Edit;
use history::History;
use ink::{BAD, DIM, Ink, WARN, span};
use screen::Screen;
use scroll::{Kind, Scroll};
use shell::Ran;
use snapshot::Snapshots;
use turn::{Purpose, Steer, Turn};
use wake::{Begin, Wake};

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
    shell: Option<(String, Instant, Stop)>,
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

/// How long a turn that is left may take to record that.
const LETTING_GO: Duration = Duration::from_millis(500);
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
    let (key, said) = (chat.talk.key.clone(), chat.talk.session.is_some());
    chat.let_go(&receiver);
    let unfinished = chat.turn.is_some();
    drop(guard);
    cleared?;
    if said {
        let mut out = anstream::stdout().lock();
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
        for note in notes {
            self.note(note, WARN);
        }
        let found = self.talk.row().ok().flatten().is_some();
        if start == Start::GoOn || found {
            self.go_on();
        }
    }

    /// Shows the end of the session, and takes up what was not finished.
    fn go_on(&mut self) {
        let columns = self.screen.width();
        if let Err(error) = tail::show(&self.talk, &mut self.scroll, columns) {
            self.note(&engine::store_fault(error).plain(), BAD);
        }
        match self.talk.unfinished() {
            Ok(Some(run)) => {
                let filter = Filter { run: Some(run.clone()), ..Filter::default() };
                let past = self.talk.ledger().read_from(0, &filter, usize::MAX >> 1);
                let past = past.unwrap_or_default();
                let prompt = past.iter().find_map(|one| {
                    let Event::PromptReceived { content } = &one.event else { return None };
                    Some(content.clone())
                });
                self.show_you(&prompt.unwrap_or_default(), "not finished");
                self.begin(Begin::Resume(run), Purpose::Answer);
                if let Some(turn) = &mut self.turn {
                    turn.recall(&past);
                }
            }
            Ok(None) => {}
            Err(error) => self.note(&engine::store_fault(error).plain(), BAD),
        }
    }

    fn begin(&mut self, what: Begin, purpose: Purpose) {
        let snapshots = Snapshots::of(self.talk.workspace(), self.talk.key.as_str());
        let handle = wake::begin(&self.talk.engine, what, snapshots, &self.wake);
        self.turn = Some(Turn::new(purpose, handle));
    }

    fn show_you(&mut self, text: &str, how: &str) {
        let columns = self.screen.width();
        self.scroll.add(Kind::You, turn::you(text, how, columns), columns);
    }

    /// Sends a prompt as a turn of its own.
    fn send(&mut self, text: &str) {
        let pictures = files::attachments(text, self.talk.workspace());
        let mut prompt = files::resolved(text, self.talk.workspace());
        for context in self.desk.context.drain(..).rev() {
            prompt = format!("{context}\n\n{prompt}");
        }
        self.show_you(text, "");
        if !pictures.is_empty() {
            self.note("Pictures are named to the agent, not shown to it.", WARN);
        }
        let order = Box::new(self.talk.order(prompt));
        self.begin(Begin::Order(order), Purpose::Answer);
    }

    /// Says something to the turn under way.
    fn steer(&mut self, text: &str) {
        let Some(turn) = &mut self.turn else { return };
        let Some(about) = turn.about.clone() else {
            // The turn is not on disk yet; it comes right after.
            self.desk.queue.push_back(text.to_owned());
            return;
        };
        let content = files::resolved(text, self.talk.workspace());
        let content = self.talk.engine.parts.redactor.hide(&content);
        let event = Event::SteerReceived { content };
        match self.talk.ledger().append(vec![Draft { cause: None, about, event }]) {
            Ok(recorded) => {
                let seq = recorded.first().map_or(0, |envelope| envelope.seq);
                if let Some(turn) = &mut self.turn {
                    turn.steers.push(Steer { seq, text: text.to_owned() });
                }
                self.show_you(text, "while it works");
            }
            Err(error) => self.note(&format!("It was not taken: {error}"), BAD),
        }
    }

    /// Asks the turn or the command under way to end.
    fn cancel(&mut self) {
        if let Some((_, _, stop)) = &self.shell {
            stop.stop();
        }
        let Some(turn) = &mut self.turn else { return };
        if turn.cancelled {
            return;
        }
        turn.cancelled = true;
        let Some(about) = turn.about.clone() else { return };
        if let Err(error) = crate::verb::record_cancel(&self.talk.engine.parts, &about) {
            self.note(&format!("It cannot be interrupted: {error}"), BAD);
        }
    }

    fn answer(&mut self, answer: Answer) {
        let columns = self.screen.width();
        let Some(turn) = &mut self.turn else { return };
        let Some(question) = turn.questions.pop_front() else { return };
        let row = question::answered(&answer);
        let approval = question.approval.id;
        let event = Event::ApprovalAnswered { approval, answer };
        let draft = Draft { cause: None, about: question.about, event };
        match self.talk.engine.parts.ledger.append(vec![draft]) {
            Ok(_) => self.scroll.attach(row, columns),
            Err(error) => self.note(&format!("The answer was not taken: {error}"), BAD),
        }
    }

    fn entry(&mut self, envelope: &Envelope) {
        let columns = self.screen.width();
        let Some(turn) = &mut self.turn else { return };
        // A turn that was interrupted before it was on disk.
        let late = turn.cancelled && matches!(envelope.event, Event::TurnStarted(_));
        let news = turn.entry(envelope, &mut self.scroll, columns);
        if news.settled.is_some() {
            self.typed.typing = Typing::Prompt;
        }
        if let Some(past) = news.past {
            self.desk.past = Some(past);
        }
        if late {
            let about = envelope.about.clone();
            crate::verb::record_cancel(&self.talk.engine.parts, &about).unwrap_or_default();
        }
    }

    fn over(&mut self, outcome: Result<Outcome, String>) {
        let Some(mut turn) = self.turn.take() else { return };
        let columns = self.screen.width();
        turn.end(&mut self.scroll, columns);
        self.typed.typing = Typing::Prompt;
        match &outcome {
            Ok(Outcome { end: End::Paused(_), .. }) => {
                self.note("The turn waits for an answer.", WARN)
            }
            Ok(Outcome { end: End::Ended { .. }, .. }) => {}
            Err(why) => self.note(why, BAD),
        }
        // What the turn did not hear any more is said next.
        for steer in turn.steers.drain(..).rev() {
            self.desk.queue.push_front(steer.text);
        }
        if turn.cancelled || outcome.is_err() {
            let waiting: Vec<String> = self.desk.queue.drain(..).collect();
            if !waiting.is_empty() && self.typed.edit.is_empty() {
                self.typed.edit.set(&waiting.join("\n"));
            }
            return;
        }
        if turn.purpose == Purpose::Summary {
            self.compacted(turn.said);
        }
        if let Some(next) = self.desk.queue.pop_front() {
            self.submit(&next);
        }
    }

    /// A turn that only waits for an answer is left in order, so that it can be taken up.
    fn let_go(&mut self, receiver: &Receiver<Wake>) {
        let Some(turn) = &self.turn else { return };
        turn.handle.leave_alone();
        if turn.questions.is_empty() && !turn.cancelled {
            return;
        }
        let until = Instant::now() + LETTING_GO;
        while let Ok(wake) = receiver.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            if let Wake::Over(outcome) = wake {
                if let Ok(Outcome { end: End::Ended { .. }, .. }) = *outcome {
                    self.turn = None;
                }
                return;
            }
        }
    }

    fn ran(&mut self, ran: Ran) {
        self.shell = None;
        let columns = self.screen.width();
        let rows = call::block(&ran.outcome.text, Style::new(), columns);
        self.scroll.add(Kind::Call, rows, columns);
        if ran.told {
            self.desk.context.push(ran.context());
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
