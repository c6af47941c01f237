//! `agentry send`: sends a message to an agent as a channel would, and waits for the answer.
//!
//! The event is recorded first. If a server is running, it answers; otherwise this process answers
//! this event and those that wait before it in the same session.
//!
//! Must never: process a message twice because it was sent twice with the same id.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agentry_kernel::identity::LOCAL;
use agentry_protocol::inbound::{ChannelAddress, EventId, Inbound, PeerKind, Sender};
use agentry_protocol::inbound_request::{
    InboundMetadata, InboundRequest, RequestField, RouteTarget,
};
use agentry_runtime::channel::InboundAcceptance;
use agentry_runtime::definitions::definition_cache::{CliSelection, Confirmation};
use agentry_runtime::dispatch::dispatcher::{Dispatcher, DispatcherOptions, DispatcherScope};
use agentry_runtime::inbound::receive::receive;
use agentry_runtime::inbound::trace;
use agentry_runtime::outbound::reply::ReplySender;
use agentry_server::limits::SERVER_LOOK_TIME;
use agentry_store::{DeliveryStatus, EntryFilter, InboundRow, InboundStatus, IntakeLock, Ledger};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::serve::SilentObserver;
use crate::bootstrap::{self, new_uuid_number};
use crate::channels;
use crate::cli_context::CliContext;
use crate::confirmation;
use crate::diagnostics::visible;
use crate::fault::{Blame, Fault};
use crate::limits::LINE_BYTES_MAX;
use crate::model_choice::absolute_model;
use crate::output::log_line;

#[derive(Args)]
pub(crate) struct Options {
    /// The message (`-` reads it from standard input)
    message: String,
    #[command(flatten)]
    target: TargetOptions,
    #[command(flatten)]
    from: SenderOptions,
    /// The directory of the definitions, without a server
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// The agent that answers, without a server
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The model, without a server
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Do not wait; a server answers now or later
    #[arg(long)]
    no_wait: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The target; without one, the policies decide.
#[derive(Args, Clone)]
#[group(multiple = false)]
struct TargetOptions {
    /// The session, by its name
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// A turn to continue in a new session
    #[arg(long, value_name = "TURN")]
    thread: Option<String>,
    /// A persona or agent, in its main session
    #[arg(long, value_name = "NAME")]
    persona: Option<String>,
}

/// The sender and the origin of the message; to try what other senders would get.
#[derive(Args)]
struct SenderOptions {
    /// The id of the message; each id is answered once
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The channel to send from
    #[arg(long, value_name = "NAME", default_value = "send")]
    channel: String,
    /// The sender's id on the channel
    #[arg(long, value_name = "SENDER")]
    from: Option<String>,
    /// The sender's display name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The peer: a person, a group or a channel
    #[arg(long, value_name = "ID")]
    peer: Option<String>,
    /// The kind of peer
    #[arg(long, value_enum, default_value_t = PeerKindArg::Dm)]
    peer_kind: PeerKindArg,
    /// The account of yours that receives it
    #[arg(long, value_name = "ID")]
    account: Option<String>,
    /// The server or workspace of the channel
    #[arg(long, value_name = "ID")]
    guild: Option<String>,
    /// The thread on the channel
    #[arg(long, value_name = "ID")]
    channel_thread: Option<String>,
    /// Extra fields for hooks, as a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// The type of the event
    #[arg(long, value_name = "TYPE")]
    event_type: Option<String>,
}

impl TargetOptions {
    fn requested(&self) -> Option<RouteTarget> {
        let Self { session, thread, persona } = self.clone();
        let session = session.map(|session| RouteTarget::Session { session, persona: None });
        let thread = thread.map(|thread| RouteTarget::Thread { thread, persona: None });
        let persona = persona.map(|persona| RouteTarget::Persona { persona });
        session.or(thread).or(persona)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PeerKindArg {
    Dm,
    Group,
    Channel,
}

pub(crate) fn run(host: &CliContext, options: Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let inbound = inbound(&options, ledger.now())?;
    let event = inbound.event_id.clone();
    let redactor = host.redactor()?;
    let received = receive(&ledger, &redactor, inbound).map_err(bootstrap::fault)?;
    let seq = received.seq;
    if received.taken == InboundAcceptance::Repeated {
        log_line(&format!("{event} was received before, as entry {seq}; showing its result"));
    }
    if options.no_wait {
        return no_wait(&ledger, &event, options.json);
    }
    loop {
        match ledger.lock_intake() {
            // No server is running: this process answers.
            Ok(sole) => {
                if let Some(row) = settled(&ledger, &event)? {
                    return report(&ledger, &row, options.json);
                }
                work(host, ledger.clone(), sole, &event, &options)?;
                let row = known(&ledger, &event)?;
                return report(&ledger, &row, options.json);
            }
            Err(agentry_store::Error::IntakeBusy { .. }) => {
                if let Some(row) = wait(&ledger, &event, seq)? {
                    return report(&ledger, &row, options.json);
                }
                log_line("the process that was answering has exited");
            }
            Err(error) => return Err(bootstrap::store_fault(error)),
        }
    }
}

/// Answers the event in this process, without a server.
fn work(
    host: &CliContext,
    ledger: Ledger,
    sole: IntakeLock,
    event: &EventId,
    options: &Options,
) -> Result<(), Fault> {
    let model = options.model.as_deref().map(absolute_model).transpose()?;
    let engine = bootstrap::engine(host, ledger, &options.dir, None)?;
    let parts = engine.parts.clone();
    confirmation::report(&parts.ledger, &engine.loaded)?;
    let limits = channels::limits(&engine.loaded.library.settings.config.queue);
    let asked = CliSelection { agent: options.agent.clone(), model };
    let definition_cache =
        bootstrap::definition_cache(host, engine, asked, Confirmation::NotNeeded)?;
    let dispatcher_options = DispatcherOptions {
        host: parts,
        definition_source: Arc::new(definition_cache),
        observer: Arc::new(SilentObserver),
        say: Arc::new(log_line),
        limits,
        replies: ReplySender::local_only(),
        sole,
    };
    let dispatcher = Dispatcher::open(dispatcher_options, DispatcherScope::One(event.clone()));
    dispatcher.and_then(Dispatcher::work).map_err(bootstrap::fault)
}

fn inbound(options: &Options, now: u64) -> Result<Inbound, Fault> {
    let SenderOptions { id, channel, from, name, peer, account, guild, channel_thread, .. } =
        &options.from;
    let content = match options.message.as_str() {
        "-" => {
            let mut text = String::new();
            let read = io::stdin().take(LINE_BYTES_MAX as u64).read_to_string(&mut text);
            read.map_err(|error| {
                Fault::new(Blame::Caller, format!("cannot read the message: {error}"))
            })?;
            text
        }
        text => text.to_owned(),
    };
    if content.trim().is_empty() {
        return Err(Fault::new(Blame::Caller, "the message is empty"));
    }
    let is_local = LOCAL.contains(&channel.as_str());
    let sender_id = match from {
        Some(from) => from.clone(),
        None if is_local => "local".to_owned(),
        None => {
            return Err(Fault::new(
                Blame::Caller,
                format!("the channel `{channel}` needs a sender"),
            )
            .hint("name the sender with --from"));
        }
    };
    let source = id.clone().unwrap_or_else(|| uuid::Uuid::from_u128(new_uuid_number()).to_string());
    let place = ChannelAddress {
        channel: channel.clone(),
        account_id: account.clone(),
        peer_id: peer.clone().or_else(|| Some(sender_id.clone())),
        peer_kind: Some(match options.from.peer_kind {
            PeerKindArg::Dm => PeerKind::Dm,
            PeerKindArg::Group => PeerKind::Group,
            PeerKindArg::Channel => PeerKind::Channel,
        }),
        guild: guild.clone(),
        thread_id: channel_thread.clone(),
        reply_to_id: None,
    };
    let sender = Sender { sender_id, sender_name: name.clone() };
    let mut inbound = Inbound::new(&source, now, place, sender)
        .map_err(|wrong| Fault::new(Blame::Caller, wrong.to_string()))?;
    inbound.event_type.clone_from(&options.from.event_type);
    if let Some(text) = &options.from.metadata {
        inbound.metadata = metadata(text)?;
    }
    let target = options.target.requested();
    Ok(inbound
        .with_text(content)
        .with_request(InboundRequest { target, ..InboundRequest::default() }))
}

/// Parses the extra fields for hooks. The message chooses its session by options only.
fn metadata(text: &str) -> Result<InboundMetadata, Fault> {
    let fields: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        Fault::new(Blame::Caller, format!("--metadata is not a JSON object: {error}"))
            .hint("write it as in '{\"kind\": \"charge\"}'")
    })?;
    if let Some(name) = fields.keys().find(|name| RequestField::named(name).is_some()) {
        let what = format!("--metadata cannot have a field `{name}`, which the runtime reserves");
        return Err(Fault::new(Blame::Caller, what)
            .hint("choose the session with --session, --thread or --persona"));
    }
    Ok(InboundMetadata::from_outside(fields))
}

fn no_wait(ledger: &Ledger, event: &EventId, json: bool) -> Result<ExitCode, Fault> {
    if json {
        writeln!(
            crate::output::stdout(),
            "{}",
            json!({ "event_id": event, "status": "received" })
        )?;
    } else {
        writeln!(crate::output::stdout(), "{event}")?;
    }
    if ledger.lock_intake().is_ok() {
        log_line("no server is running; `agentry serve` will answer the message");
    }
    Ok(ExitCode::SUCCESS)
}

fn known(ledger: &Ledger, event: &EventId) -> Result<InboundRow, Fault> {
    let row = ledger.inbound(event).map_err(bootstrap::store_fault)?;
    row.ok_or_else(|| Fault::new(Blame::Machine, format!("{event} is no longer in the ledger")))
}

/// Returns the event's row once its state is final or needs a person; else None.
fn settled(ledger: &Ledger, event: &EventId) -> Result<Option<InboundRow>, Fault> {
    let row = known(ledger, event)?;
    let about = row.run.as_ref().map(|run| ledger.inbounds_of_run(run)).transpose();
    let about = about.map_err(bootstrap::store_fault)?.unwrap_or_default();
    let waits =
        |one: &InboundRow| one.delivery.is_some_and(|one| one.status == DeliveryStatus::Pending);
    let is_sent = !about.iter().any(waits);
    let over = row.status.is_settled() && is_sent || row.status == InboundStatus::Paused;
    Ok(over.then_some(row))
}

/// Waits for the server to handle the event. Returns None if the server has exited.
fn wait(ledger: &Ledger, event: &EventId, seq: u64) -> Result<Option<InboundRow>, Fault> {
    let mut tail = ledger.tail(seq, EntryFilter::default()).map_err(bootstrap::store_fault)?;
    loop {
        if let Some(row) = settled(ledger, event)? {
            return Ok(Some(row));
        }
        let came = tail.next(SERVER_LOOK_TIME).map_err(bootstrap::store_fault)?;
        if came.is_empty() && ledger.lock_intake().is_ok() {
            return Ok(None);
        }
    }
}

/// Prints the answer or the trace, and returns the exit code.
fn report(ledger: &Ledger, row: &InboundRow, json: bool) -> Result<ExitCode, Fault> {
    let run = row.run.as_ref().map(|run| ledger.run(run)).transpose();
    let run = run.map_err(bootstrap::store_fault)?.flatten();
    let ending = run.as_ref().and_then(|run| run.ending);
    let answer = trace::answer(ledger, row).map_err(bootstrap::fault)?;
    if json {
        let trace = trace::of(ledger, &row.id).map_err(bootstrap::fault)?;
        let trace = serde_json::to_value(&trace).unwrap_or_default();
        let told = json!({
            "event_id": row.id,
            "status": row.status.as_str(),
            "run_id": row.run,
            "answer": answer,
            "trace": trace,
        });
        writeln!(crate::output::stdout(), "{told}")?;
    } else {
        if let Some(answer) = &answer {
            writeln!(crate::output::stdout(), "{}", visible(answer.trim_end()))?;
        }
        if let Some(why) = trouble(ledger, row)? {
            log_line(&why);
        }
    }
    Ok(ExitCode::from(match (row.status, ending) {
        (InboundStatus::Answered | InboundStatus::Stored | InboundStatus::Sent, _) => 0,
        (InboundStatus::Denied, _) => 3,
        (InboundStatus::Paused, _) => 4,
        (_, Some(ending)) => bootstrap::ending_code(ending),
        (_, None) => 1,
    }))
}

/// Returns the problem that the user must know about, if any.
fn trouble(ledger: &Ledger, row: &InboundRow) -> Result<Option<String>, Fault> {
    let trace = trace::of(ledger, &row.id).map_err(bootstrap::fault)?;
    let last = trace.as_ref().and_then(|trace| {
        let stages = trace.pipeline.iter();
        stages.rev().find(|stage| stage.stage != "ledger").map(|stage| stage.result.clone())
    });
    Ok(match row.status {
        InboundStatus::Answered | InboundStatus::Stored | InboundStatus::Sent => None,
        InboundStatus::Paused => {
            let run = row.run.as_ref().map_or("", |run| run.as_str());
            Some(format!(
                "waiting for approval: run `agentry approvals`, then `agentry resume {run}`"
            ))
        }
        InboundStatus::Received
        | InboundStatus::Denied
        | InboundStatus::Hooked
        | InboundStatus::Waiting
        | InboundStatus::Steering
        | InboundStatus::Taken
        | InboundStatus::Running
        | InboundStatus::Failed
        | InboundStatus::Unrun => last,
    })
}
