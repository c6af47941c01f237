//! `agentry fork`: a new session that goes on from a turn.
//!
//! Must never: change the session that the turn belongs to.

use std::io::Write;
use std::process::ExitCode;

use agentry_protocol::envelope::{About, Draft};
use agentry_protocol::event::Event;
use agentry_protocol::{SessionId, SessionKey};
use clap::Args;

use crate::engine;
use crate::fault::{Blame, Fault};
use crate::host::Host;

#[derive(Args)]
pub(crate) struct Options {
    /// The turn, by its id or a part of it
    turn: String,
    /// The name of the new session
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
}

pub(crate) fn run(host: &Host, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let id = ledger.find_turn(&options.turn).map_err(engine::store_fault)?;
    let turn = ledger.turn(&id).map_err(engine::store_fault)?;
    let turn = turn.filter(|turn| turn.ended_seq.is_some());
    let turn = turn.ok_or_else(|| {
        Fault::new(Blame::Caller, format!("{id} is not over, so nothing can go on from it"))
            .hint("resume or cancel its run first, or fork the turn before it")
    })?;
    let of = turn.session.as_ref().map(|session| ledger.session(session)).transpose();
    let of = of.map_err(engine::store_fault)?.flatten();
    let of = of.ok_or_else(|| Fault::new(Blame::Us, format!("{id} has no session")))?;
    let session = SessionId::from_number(engine::new_number());
    let key = options.session.clone().unwrap_or_else(|| format!("fork-{session}"));
    let event = Event::SessionOpened {
        key: SessionKey::new(&key),
        agent: of.agent.clone(),
        head: Some(id.clone()),
    };
    let about = About { session: Some(session.clone()), run: None, turn: None };
    ledger.append(vec![Draft { cause: None, about, event }]).map_err(engine::store_fault)?;
    let mut out = anstream::stdout().lock();
    writeln!(out, "{session}")?;
    writeln!(out, "  agentry run --agent {} --session {key} …", of.agent)?;
    Ok(ExitCode::SUCCESS)
}
