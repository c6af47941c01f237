//! Opening a session: what a run asks of the ledger before its first request, for a short and a long past.
//!
//! Both histories are in files of their own, of the same shape. The past that a model is shown comes after
//! that; it is bounded, and measured apart.
//!
//! Must never: write between two measurements.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::{Ending, Event, TurnPlan};
use agentry_protocol::message::{Message, Usage};
use agentry_protocol::{AgentId, ContentHash, SessionId, SessionKey, TurnId};
use agentry_store::{Error, Ledger};

use crate::meter::{cpu_of, median};

const AGENT: &str = "bench";
const TURNS: [u64; 2] = [100, 10_000];
const TURNS_PER_APPEND: usize = 100;
const ROUNDS: usize = 300;
/// What a run reads at most of the past: so many turns, and so many bytes.
const SHOWN_TURNS: usize = 2_000;
const SHOWN_BYTES: usize = 512 * 1024;
/// A turn is shown the past since the last of these, as if the room had run out there.
const SHOWN_ANEW_AFTER: u64 = 1_000;

/// Leaves the histories below `home`, if one is named: `home/100`, `home/10000`.
pub(crate) fn measure(home: Option<PathBuf>) -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let home = home.unwrap_or_else(|| scratch.path().to_owned());
    let homes = TURNS.map(|turns| home.join(turns.to_string()));
    for (turns, home) in TURNS.iter().zip(&homes) {
        write_history(home, *turns)?;
    }
    println!(
        "\nOpening a session, CPU µs: the median of {ROUNDS} rounds in turns, files in the page \
         cache\n"
    );
    println!(
        "{:<44} {:>10} {:>10} {:>8}",
        "",
        format!("{} turns", TURNS[0]),
        format!("{} turns", TURNS[1]),
        "ratio"
    );
    let ledgers = [crate::open(&homes[0])?, crate::open(&homes[1])?];
    let session = in_turns(ROUNDS, |at| open_session(&ledgers[at]))?;
    print_row("the session, in an open ledger", session);
    let whole = in_turns(ROUNDS, |at| open_session(&crate::open(&homes[at])?))?;
    print_row("the ledger and the session, from nothing", whole);
    let past = in_turns(ROUNDS / 10, |at| read_past(&ledgers[at]))?;
    print_row("then: the past that a model is shown", past);
    Ok(())
}

fn in_turns(
    rounds: usize,
    mut work: impl FnMut(usize) -> Result<(), Error>,
) -> Result<[f64; 2], Error> {
    let mut spent = [Vec::new(), Vec::new()];
    for at in [0, 1] {
        // Fills the caches.
        work(at)?;
    }
    for _ in 0..rounds {
        for (at, spent) in spent.iter_mut().enumerate() {
            let (done, cpu) = cpu_of(|| work(at));
            done?;
            spent.push(micros(cpu));
        }
    }
    Ok(spent.map(median))
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn print_row(name: &str, [short, long]: [f64; 2]) {
    println!("{name:<44} {short:>10.1} {long:>10.1} {:>8.2}", long / short);
}

/// What a run does until it knows where its session stands.
fn open_session(ledger: &Ledger) -> Result<(), Error> {
    let (key, agent) = (SessionKey::new(AGENT), AgentId::new(AGENT));
    let found = ledger.session_named(&key, &agent)?.expect("the session was written");
    let _ownership = ledger.lock_session(&found.id)?;
    assert!(ledger.turn_under_way(&found.id)?.is_none(), "every turn has ended");
    let head = ledger.session(&found.id)?.and_then(|row| row.head);
    let head = head.map(|head| ledger.turn(&head)).transpose()?.flatten();
    assert!(head.is_some_and(|head| head.hash.is_some()), "the session has a head");
    assert!(ledger.approvals_standing(&found.id)?.is_empty(), "nothing was asked");
    Ok(())
}

/// The newest turns, as many as a model could be shown.
fn read_past(ledger: &Ledger) -> Result<(), Error> {
    let head = ledger.session(&session_id())?.and_then(|row| row.head);
    let head = head.expect("the session has a head");
    let mut bytes = 0;
    for turn in ledger.branch(&head, SHOWN_TURNS)?.into_iter().rev() {
        let ended = turn.ended_seq.map(|seq| ledger.entry(seq)).transpose()?.flatten();
        let Some(Event::TurnEnded { messages, .. }) = ended.map(|envelope| envelope.event) else {
            continue;
        };
        bytes += messages.iter().map(length).sum::<usize>();
        if bytes > SHOWN_BYTES {
            break;
        }
    }
    Ok(())
}

fn length(message: &Message) -> usize {
    match message {
        Message::User { content, .. }
        | Message::Tool { content, .. }
        | Message::Assistant { content, .. } => content.len() + 32,
    }
}

fn write_history(home: &Path, turns: u64) -> Result<(), Error> {
    let ledger = crate::open(home)?;
    let about = EntrySubject { session: Some(session_id()), run: None, turn: None };
    let (key, agent) = (SessionKey::new(AGENT), AgentId::new(AGENT));
    let opened = Event::SessionOpened { key, agent, head: None };
    ledger.append(vec![Draft { cause: None, about: about.clone(), event: opened }])?;
    let mut parent_hash = None;
    for first in (0..turns).step_by(TURNS_PER_APPEND) {
        let mut drafts = Vec::new();
        for number in first..turns.min(first + TURNS_PER_APPEND as u64) {
            let about = EntrySubject { turn: Some(turn_id(number)), ..about.clone() };
            let hash = ContentHash::of(&number.to_be_bytes());
            let started = started(number, parent_hash.replace(hash.clone()));
            let draft = |event| Draft { cause: None, about: about.clone(), event };
            drafts.extend([started, ended(number, hash)].map(draft));
        }
        ledger.append(drafts)?;
    }
    Ok(())
}

fn session_id() -> SessionId {
    SessionId::from_number(1)
}

fn turn_id(number: u64) -> TurnId {
    TurnId::from_number(number.into())
}

fn started(number: u64, parent_hash: Option<ContentHash>) -> Event {
    let parent = number.checked_sub(1);
    let shown_from = parent.map(|parent| parent / SHOWN_ANEW_AFTER * SHOWN_ANEW_AFTER);
    Event::TurnStarted(Box::new(TurnPlan {
        parent: parent.map(turn_id),
        parent_hash,
        history_from: shown_from.map(turn_id),
        pruned: agentry_protocol::context::PruningStep::default(),
        compaction: None,
        step: 0,
        prompt: question(number),
        images: Vec::new(),
        charter: serde_json::json!({ "agent": AGENT }),
        standing: std::collections::BTreeMap::new(),
        shaping: Default::default(),
    }))
}

fn ended(number: u64, hash: ContentHash) -> Event {
    let answer = format!("The file number {number} holds the list of what was bought that week.");
    let assistant = Message::Assistant {
        content: answer.clone(),
        thinking: String::new(),
        calls: Vec::new(),
        sealed: None,
    };
    Event::TurnEnded {
        ending: Ending::Done,
        hash,
        usage: Usage::default(),
        result: Some(answer),
        messages: vec![Message::user(question(number)), assistant],
        context: Box::default(),
    }
}

fn question(number: u64) -> String {
    format!("What is in the file number {number}, and who wrote it?")
}
