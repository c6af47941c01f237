//! `agentry entities`: known people, their relationship to the owner, and their identities.
//!
//! Must never: give one identity to two entities, or make an entity the owner unasked.

use std::io::Write;
use std::process::ExitCode;

use agentry_agentfile::diagnostic::suggestion;
use agentry_protocol::intake::{Entity, EntityKind, Identity};
use agentry_runtime::commands::CommandError;
use agentry_runtime::commands::entities::{self, EntityRequest, TagChange};
use agentry_store::Ledger;
use clap::{Args, Subcommand};

use crate::bootstrap::{self, store_fault};
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::diagnostics::visible_line;
use crate::fault::{Blame, Fault};

#[derive(Subcommand)]
pub(crate) enum EntitiesCommand {
    /// List all entities
    List(EntityListOptions),
    /// Show an entity
    Show(EntityShowOptions),
    /// Add an entity
    Add(AddOptions),
    /// Add an identity: the entity's id on a channel
    Link(LinkOptions),
    /// Remove an identity of an entity
    Unlink(UnlinkOptions),
    /// Add and remove tags: +work -night
    Tag(TagOptions),
    /// Remove an entity
    Remove(RemoveOptions),
}

#[derive(Args)]
pub(crate) struct EntityListOptions {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct EntityShowOptions {
    /// The entity, by id or name
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct AddOptions {
    /// The name that you use for them
    #[arg(long)]
    name: String,
    /// The id for policies and grants [default: from the name]
    #[arg(long)]
    id: Option<String>,
    /// The relationship to you: partner, family, friend, work
    #[arg(long, value_name = "WORD")]
    relationship: Option<String>,
    /// This entity is you, on other channels
    #[arg(long)]
    owner: bool,
    /// A tag that policies can require (repeatable)
    #[arg(long = "tag", value_name = "WORD")]
    tags: Vec<String>,
    /// An id on a channel (repeatable)
    #[arg(long = "identity", value_name = "CHANNEL:ID")]
    identities: Vec<String>,
}

#[derive(Args)]
pub(crate) struct LinkOptions {
    /// The entity, by id or name
    id: String,
    /// The id on a channel
    #[arg(value_name = "CHANNEL:ID")]
    identity: String,
    /// The account of yours that knows this identity
    #[arg(long, value_name = "ID")]
    account: Option<String>,
    /// The account belongs to you or an agent
    #[arg(long)]
    owned: bool,
}

#[derive(Args)]
pub(crate) struct UnlinkOptions {
    /// The entity, by id or name
    id: String,
    /// The id on a channel
    #[arg(value_name = "CHANNEL:ID")]
    identity: String,
}

#[derive(Args)]
pub(crate) struct TagOptions {
    /// The entity, by id or name
    id: String,
    /// +WORD adds a tag, -WORD removes it
    #[arg(value_name = "+WORD|-WORD", required = true, allow_hyphen_values = true)]
    changes: Vec<String>,
}

#[derive(Args)]
pub(crate) struct RemoveOptions {
    /// The entity, by id or name
    id: String,
}

pub(crate) fn run(host: &CliContext, what: &EntitiesCommand) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let all = ledger.entities().map_err(store_fault)?;
    match what {
        EntitiesCommand::List(options) => list(&all, options)?,
        EntitiesCommand::Show(options) => show(find(&all, &options.id)?, options)?,
        EntitiesCommand::Add(options) => add(&ledger, options)?,
        EntitiesCommand::Link(options) => link(&ledger, find(&all, &options.id)?, options)?,
        EntitiesCommand::Unlink(options) => unlink(&ledger, find(&all, &options.id)?, options)?,
        EntitiesCommand::Tag(options) => tag(&ledger, find(&all, &options.id)?, options)?,
        EntitiesCommand::Remove(options) => remove(&ledger, find(&all, &options.id)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds an entity by its id, or by a name that only one entity has.
fn find<'a>(all: &'a [Entity], text: &str) -> Result<&'a Entity, Fault> {
    if let Some(entity) = all.iter().find(|one| one.id == text) {
        return Ok(entity);
    }
    let named: Vec<&Entity> =
        all.iter().filter(|one| one.name.eq_ignore_ascii_case(text)).collect();
    match named.as_slice() {
        [one] => Ok(one),
        [] => {
            let ids: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
            let fault = Fault::new(Blame::Caller, format!("there is no entity `{text}`"));
            Err(if ids.is_empty() {
                fault.hint("add one with `agentry entities add --name …`")
            } else {
                fault.hint(suggestion(text, &ids))
            })
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|one| one.id.as_str()).collect();
            let what = format!("several entities are called `{text}`: {}", ids.join(", "));
            Err(Fault::new(Blame::Caller, what).hint("use the id of one of them"))
        }
    }
}

fn list(all: &[Entity], options: &EntityListOptions) -> Result<(), Fault> {
    let mut out = crate::output::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(all)?)?;
        return Ok(());
    }
    if all.is_empty() {
        writeln!(out, "no entities; only you are known: the user of this terminal is the owner")?;
    }
    for entity in all {
        writeln!(out, "{}", visible_line(&in_one_line(entity)))?;
    }
    Ok(())
}

fn in_one_line(entity: &Entity) -> String {
    let mut words = vec![entity.id.clone(), entity.name.clone()];
    words.extend(entity.is_user.then(|| "the owner".to_owned()));
    words.extend(entity.relationship.clone());
    words.extend(entity.tags.iter().map(|tag| format!("+{tag}")));
    words.extend(entity.identities.iter().map(entities::written));
    words.join("  ")
}

fn show(entity: &Entity, options: &EntityShowOptions) -> Result<(), Fault> {
    let mut out = crate::output::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(entity)?)?;
        return Ok(());
    }
    let kind = match entity.kind {
        EntityKind::Person => "person",
        EntityKind::Persona => "persona",
    };
    let none = || "-".to_owned();
    let mut lines = vec![
        ("id", entity.id.clone()),
        ("name", entity.name.clone()),
        ("type", kind.to_owned()),
        ("owner", if entity.is_user { "yes" } else { "no" }.to_owned()),
        ("relationship", entity.relationship.clone().unwrap_or_else(none)),
        ("tags", if entity.tags.is_empty() { none() } else { entity.tags.join(", ") }),
    ];
    for identity in &entity.identities {
        let account = identity.account_id.iter().map(|id| format!(", for our account {id}"));
        let owned = identity.is_owned.then(|| ", owned by us".to_owned());
        let rest: String = account.chain(owned).collect();
        lines.push(("identity", format!("{}{rest}", entities::written(identity))));
    }
    for (what, line) in lines {
        writeln!(out, "{what:<13} {}", visible_line(&line))?;
    }
    Ok(())
}

fn add(ledger: &Ledger, options: &AddOptions) -> Result<(), Fault> {
    let identities = options.identities.iter().map(|text| entities::parse_identity(text));
    let request = EntityRequest {
        name: options.name.clone(),
        id: options.id.clone(),
        relationship: options.relationship.clone(),
        is_owner: options.owner,
        tags: options.tags.clone(),
        identities: identities.collect::<Result<_, _>>().map_err(command_fault)?,
    };
    tell(&entities::add(ledger, request).map_err(command_fault)?)
}

fn link(ledger: &Ledger, entity: &Entity, options: &LinkOptions) -> Result<(), Fault> {
    let identity = Identity {
        account_id: options.account.clone(),
        is_owned: options.owned,
        ..entities::parse_identity(&options.identity).map_err(command_fault)?
    };
    tell(&entities::link(ledger, &entity.id, identity).map_err(command_fault)?)
}

fn unlink(ledger: &Ledger, entity: &Entity, options: &UnlinkOptions) -> Result<(), Fault> {
    let identity = entities::parse_identity(&options.identity).map_err(command_fault)?;
    let changed = entities::unlink(ledger, &entity.id, &identity).map_err(|error| {
        let is_unknown = matches!(error, CommandError::UnknownIdentity { .. });
        let fault = command_fault(error);
        if !is_unknown || entity.identities.is_empty() {
            return fault;
        }
        let known: Vec<String> = entity.identities.iter().map(entities::written).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        fault.hint(suggestion(&options.identity, &known))
    })?;
    tell(&changed)
}

fn tag(ledger: &Ledger, entity: &Entity, options: &TagOptions) -> Result<(), Fault> {
    let change = |text: &String| match text.split_at_checked(1) {
        Some(("+", tag)) => Ok(TagChange::Add(tag.to_owned())),
        Some(("-", tag)) => Ok(TagChange::Remove(tag.to_owned())),
        Some(_) | None => {
            let what = format!("`{text}` neither adds nor removes a tag");
            Err(Fault::new(Blame::Caller, what).hint("write +work or -work"))
        }
    };
    let changes: Vec<TagChange> = options.changes.iter().map(change).collect::<Result<_, _>>()?;
    tell(&entities::change_tags(ledger, &entity.id, &changes).map_err(command_fault)?)
}

fn remove(ledger: &Ledger, entity: &Entity) -> Result<(), Fault> {
    let Entity { id, name, .. } = entities::remove(ledger, &entity.id).map_err(command_fault)?;
    let line = visible_line(&format!("removed {id} ({name})"));
    writeln!(crate::output::stdout().lock(), "{line}")?;
    Ok(())
}

fn tell(entity: &Entity) -> Result<(), Fault> {
    writeln!(crate::output::stdout().lock(), "{}", visible_line(&in_one_line(entity)))?;
    Ok(())
}
