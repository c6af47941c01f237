//! `agentry access test`: the decision about an event, and each policy's part in it.
//!
//! Exit 0: allowed. Exit 3: denied. Exit 2: the command or the policies are wrong.
//!
//! Must never: record anything, or admit an event.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use agentry_agentfile::access::LocalTime;
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::access::{AccessPolicies, AccessQuery, allows_tool};
use agentry_protocol::access::{
    AttributedName, Credentials, Decision, Effect, Grant, PolicyContribution, PolicyOutcome,
};
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::intake::Entity;
use agentry_protocol::principal::Principal;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::principals;
use crate::bootstrap;
use crate::cli_context::{CliContext, host_tool_names};
use crate::diagnostics::visible_line;
use crate::fault::Fault;
use crate::timezone::{self, OwnerTimeZone};

/// The exit codes, as shown in the help.
const EXITS: &str = "Exit codes: 0 the event would be allowed, 3 it would be denied.";

#[derive(Args)]
#[command(after_help = EXITS)]
pub(crate) struct Options {
    /// The sender: owner, unknown, an entity, or invented
    ///
    /// One of owner, unknown, system, webhook:SOURCE, agent:ID, the id or name of an entity, or an
    /// invented person such as relationship:friend,tag:x,name:Casey.
    #[arg(long, value_name = "WHO", value_delimiter = ',', required = true)]
    principal: Vec<String>,
    #[command(flatten)]
    place: EventOriginOptions,
    /// Time: 23:30, sat 23:30, 2026-11-16T23:30 [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// The project whose policies decide
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The channel and address that an event comes from.
#[derive(Args)]
struct EventOriginOptions {
    /// The channel, such as terminal, discord or timer
    #[arg(long, value_name = "CHANNEL")]
    channel: String,
    /// The kind of peer
    #[arg(long, value_enum, value_name = "KIND")]
    peer_kind: Option<Kind>,
    /// The peer: a person, a group or a channel
    #[arg(long, value_name = "ID")]
    peer: Option<String>,
    /// The sender's id on the channel
    #[arg(long, value_name = "ID")]
    sender: Option<String>,
    /// The account of yours that receives the event
    #[arg(long, value_name = "ID")]
    account: Option<String>,
    /// The server or workspace
    #[arg(long, value_name = "ID")]
    guild: Option<String>,
    /// The kind of event, such as timer
    #[arg(long, value_name = "TYPE")]
    event_type: Option<String>,
    /// The hook that a timer starts
    #[arg(long, value_name = "ID")]
    hook: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// One person
    Dm,
    /// Several people
    Group,
    /// A channel that everyone may join
    Channel,
}

impl From<Kind> for PeerKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Dm => Self::Dm,
            Kind::Group => Self::Group,
            Kind::Channel => Self::Channel,
        }
    }
}

/// A query with its decision.
struct AccessTest<'a> {
    access: &'a AccessPolicies,
    asked: AccessQuery<'a>,
    decision: Decision,
    zone: &'a OwnerTimeZone,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let loaded = host.load(&options.dir, SkillLevel::Extended)?;
    if let Some(fault) = loaded.settings_error().map(Fault::from) {
        return Err(fault.in_a_definition());
    }
    let access = loaded.policies()?;
    let zone = timezone::of(&loaded.library.settings)?;
    let now = bootstrap::ledger_now(host)?;
    let (time, now) = match &options.at {
        Some(text) => zone.trial(text, now)?,
        None => (zone.local(now), now),
    };
    let (entities, grants) = known(host)?;
    let principal = principals::principal(&options.principal, &entities)?;
    let asked = asked(&principal, &options.place, time);
    let decision = access.decide(&asked, &grants, now);
    let effect = decision.effect;
    let trial = AccessTest { access: &access, asked, decision, zone: &zone };
    let mut out = crate::output::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&trial.as_json())?)?
    } else {
        trial.write(&mut out)?
    }
    Ok(match effect {
        Effect::Allow => ExitCode::SUCCESS,
        Effect::Deny => ExitCode::from(3),
    })
}

/// Reads the entities and grants; both are empty if there is no ledger. Creates no ledger.
fn known(host: &CliContext) -> Result<(Vec<Entity>, Vec<Grant>), Fault> {
    if !bootstrap::has_ledger(host) {
        return Ok((Vec::new(), Vec::new()));
    }
    let ledger = bootstrap::open_ledger(host)?;
    let entities = ledger.entities().map_err(bootstrap::store_fault)?;
    Ok((entities, ledger.grants(true).map_err(bootstrap::store_fault)?))
}

fn asked<'a>(
    principal: &'a Principal,
    place: &'a EventOriginOptions,
    time: LocalTime,
) -> AccessQuery<'a> {
    AccessQuery {
        principal,
        sender_id: place.sender.as_deref(),
        channel: &place.channel,
        peer_kind: place.peer_kind.map(PeerKind::from),
        peer_id: place.peer.as_deref(),
        account: place.account.as_deref(),
        guild: place.guild.as_deref(),
        hook_id: place.hook.as_deref(),
        event_type: place.event_type.as_deref(),
        time,
    }
}

impl AccessTest<'_> {
    fn as_json(&self) -> Value {
        let AccessQuery { channel, peer_kind, peer_id, account, guild, .. } = self.asked;
        let AccessQuery { hook_id, event_type, sender_id, time, .. } = self.asked;
        let tool = |name: &agentry_protocol::tool::ToolName| {
            let answer = allows_tool(&self.decision, name);
            json!({ "name": name, "allowed": answer.is_allowed(), "why": answer.to_string() })
        };
        let tools: Vec<Value> = host_tool_names().iter().map(tool).collect();
        json!({
            "effect": self.decision.effect,
            "why": self.why(),
            "principal": self.asked.principal,
            "event": {
                "channel": channel, "peer_kind": peer_kind, "peer_id": peer_id, "account": account,
                "guild": guild, "hook_id": hook_id, "event_type": event_type,
                "sender_id": sender_id, "at": time.to_string(), "timezone": self.zone.name(),
            },
            "decision": self.decision,
            "tools": tools,
            "policies": self.access.parts(&self.asked),
        })
    }

    /// Returns the reason of a denial, or the policies that allow.
    fn why(&self) -> String {
        match &self.decision.deny_reason {
            Some(reason) => reason.to_string(),
            None => {
                let is_allowing = |one: &&PolicyContribution| one.part == PolicyOutcome::Allowed;
                let by = self.decision.matched.iter().filter(is_allowing);
                let by: Vec<String> = by.map(|one| format!("`{}`", one.policy)).collect();
                format!("allowed by {}", by.join(", "))
            }
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "who       {}", who(self.asked.principal))?;
        writeln!(out, "event     {}", self.event())?;
        writeln!(out, "decision  {}: {}", self.decision.effect, visible_line(&self.why()))?;
        if self.decision.effect == Effect::Allow {
            writeln!(out)?;
            self.write_powers(out)?;
        }
        writeln!(out, "\npolicies, by priority")?;
        let parts = self.access.parts(&self.asked);
        let widest = parts.iter().map(|one| one.policy.len()).max().unwrap_or_default();
        for (part, policy) in parts.iter().zip(self.access.policies()) {
            let (name, priority) = (&part.policy, policy.priority);
            let line = format!("  {priority:>3}  {name:<widest$}  {}", part.part);
            writeln!(out, "{}", visible_line(&line))?;
        }
        Ok(())
    }

    fn event(&self) -> String {
        let AccessQuery { channel, peer_kind, peer_id, account, guild, .. } = self.asked;
        let mut words = vec![channel.to_owned()];
        words.extend(peer_kind.map(|kind| kind.to_string()));
        let rest = [
            ("peer", peer_id),
            ("sender", self.asked.sender_id),
            ("account", account),
            ("guild", guild),
            ("type", self.asked.event_type),
            ("hook", self.asked.hook_id),
        ];
        let said = rest.into_iter().filter_map(|(what, id)| Some(format!("{what} {}", id?)));
        words.extend(said);
        words.push(format!("at {} ({})", self.asked.time, self.zone.name()));
        visible_line(&words.join(", "))
    }

    fn write_powers(&self, out: &mut dyn Write) -> io::Result<()> {
        let decision = &self.decision;
        for (at, name) in host_tool_names().iter().enumerate() {
            let head = if at == 0 { "tools" } else { "" };
            let answer = allows_tool(decision, name);
            let word = if answer.is_allowed() { "yes" } else { "no" };
            let name = name.to_string();
            let line = format!("{head:<12} {name:<12} {word:<4} {answer}");
            writeln!(out, "{}", visible_line(&line))?;
        }
        let credentials = match &decision.credentials {
            Credentials::All(from) => format!("all ({from})"),
            Credentials::Named(named) => list(named),
        };
        let data = format!("{} ({})", decision.data.level, decision.data.from);
        let (session, persona) = match &decision.session {
            Some(one) => {
                let persona = one.persona.as_ref();
                let persona = persona.map(|persona| format!("{persona} (policy {})", one.policy));
                (format!("{} (policy {})", one.key, one.policy), persona)
            }
            None => ("the agent's own, as no policy names one".to_owned(), None),
        };
        let mut lines = vec![("credentials", credentials), ("data", data), ("session", session)];
        lines.extend(persona.map(|persona| ("persona", persona)));
        if !decision.exec.is_empty() {
            lines.push(("commands", list(&decision.exec)));
        }
        let modifiers = &decision.modifiers;
        lines.extend(
            modifiers
                .delivery
                .as_ref()
                .map(|said| ("queue_mode", format!("{} (policy {})", said.value, said.policy))),
        );
        lines.extend(
            modifiers
                .delay_response
                .as_ref()
                .map(|said| ("delayed", format!("{} (policy {})", said.value, said.policy))),
        );
        for (what, line) in lines {
            writeln!(out, "{what:<12} {}", visible_line(&line))?;
        }
        Ok(())
    }
}

fn list(named: &[AttributedName]) -> String {
    let one = |one: &AttributedName| format!("{} ({})", one.name, one.from);
    if named.is_empty() {
        "none".to_owned()
    } else {
        named.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

fn who(principal: &Principal) -> String {
    let Principal { kind, entity_id, name, relationship, tags, source, agent_id } = principal;
    let mut words = vec![kind.to_string()];
    words.extend([name, source, agent_id].into_iter().flatten().cloned());
    words.extend(entity_id.as_ref().map(|id| format!("id {id}")));
    words.extend(relationship.as_ref().map(|one| format!("relationship {one}")));
    words.extend(tags.iter().map(|tag| format!("tag {tag}")));
    visible_line(&words.join(", "))
}
