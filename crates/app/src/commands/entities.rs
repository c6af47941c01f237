//! `agentry entities`: known people, their relationship to the owner, and their identities.
//!
//! Must never: give one identity to two entities, or make an entity the owner unasked.

mod validation;

use std::io::Write;
use std::process::ExitCode;

use agentry_agentfile::diagnostic::suggestion;
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::intake::{AccessChange, Entity, EntityKind, Identity};
use agentry_store::Ledger;
use clap::{Args, Subcommand};

use crate::bootstrap::{self, store_fault};
use crate::cli_context::CliContext;
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
        EntitiesCommand::Add(options) => add(&ledger, &all, options)?,
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
    words.extend(entity.identities.iter().map(validation::written));
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
        lines.push(("identity", format!("{}{rest}", validation::written(identity))));
    }
    for (what, line) in lines {
        writeln!(out, "{what:<13} {}", visible_line(&line))?;
    }
    Ok(())
}

fn add(ledger: &Ledger, all: &[Entity], options: &AddOptions) -> Result<(), Fault> {
    let name = validation::name(&options.name)?;
    let id = match &options.id {
        Some(id) => validation::id(id)?,
        None => validation::id_of(&name)?,
    };
    if let Some(other) = all.iter().find(|one| one.id == id) {
        let what = format!("the id `{id}` is taken by {}", other.name);
        return Err(Fault::new(Blame::Caller, what).hint("choose another id with --id"));
    }
    if let Some(owner) = all.iter().find(|one| one.is_user && options.owner) {
        let what = format!("the owner already exists as `{}`", owner.id);
        return Err(Fault::new(Blame::Caller, what).hint(format!(
            "add another identity of yours: agentry entities link {} CHANNEL:ID",
            owner.id
        )));
    }
    let mut identities: Vec<Identity> = Vec::new();
    for text in &options.identities {
        let identity = validation::identity(text)?;
        if !identities.contains(&identity) {
            identities.push(identity);
        }
    }
    let mut tags: Vec<String> = Vec::new();
    for tag in &options.tags {
        validation::add_tag(&mut tags, tag)?;
    }
    let relationship = options.relationship.as_deref().map(validation::relationship).transpose()?;
    let (kind, is_user) = (EntityKind::Person, options.owner);
    keep(ledger, Entity { id, kind, name, is_user, relationship, tags, identities })
}

fn link(ledger: &Ledger, entity: &Entity, options: &LinkOptions) -> Result<(), Fault> {
    let account = options.account.as_deref().map(validation::account).transpose()?;
    let identity = Identity {
        account_id: account,
        is_owned: options.owned,
        ..validation::identity(&options.identity)?
    };
    let mut entity = entity.clone();
    // Linking an identity again replaces its account and its `owned` mark.
    entity.identities.retain(|one| !validation::is_same(one, &identity));
    entity.identities.push(identity);
    keep(ledger, entity)
}

fn unlink(ledger: &Ledger, entity: &Entity, options: &UnlinkOptions) -> Result<(), Fault> {
    let identity = validation::identity(&options.identity)?;
    let mut changed = entity.clone();
    changed.identities.retain(|one| !validation::is_same(one, &identity));
    if changed == *entity {
        let known: Vec<String> = entity.identities.iter().map(validation::written).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let what = format!("`{}` has no identity {}", entity.id, options.identity);
        let fault = Fault::new(Blame::Caller, what);
        return Err(if known.is_empty() {
            fault
        } else {
            fault.hint(suggestion(&options.identity, &known))
        });
    }
    keep(ledger, changed)
}

fn tag(ledger: &Ledger, entity: &Entity, options: &TagOptions) -> Result<(), Fault> {
    let mut changed = entity.clone();
    for change in &options.changes {
        match change.split_at_checked(1) {
            Some(("+", tag)) => validation::add_tag(&mut changed.tags, tag)?,
            Some(("-", tag)) => changed.tags.retain(|one| one != tag),
            Some(_) | None => {
                let what = format!("`{change}` neither adds nor removes a tag");
                return Err(Fault::new(Blame::Caller, what).hint("write +work or -work"));
            }
        }
    }
    if changed == *entity {
        writeln!(crate::output::stdout().lock(), "{}", visible_line(&in_one_line(entity)))?;
        return Ok(());
    }
    keep(ledger, changed)
}

fn remove(ledger: &Ledger, entity: &Entity) -> Result<(), Fault> {
    let (id, name) = (entity.id.clone(), &entity.name);
    append(ledger, AccessChange::EntityRemoved { entity: id.clone() })?;
    writeln!(
        crate::output::stdout().lock(),
        "{}",
        visible_line(&format!("removed {id} ({name})"))
    )?;
    Ok(())
}

fn keep(ledger: &Ledger, entity: Entity) -> Result<(), Fault> {
    let line = in_one_line(&entity);
    append(ledger, AccessChange::EntityChanged { entity: Box::new(entity) })?;
    writeln!(crate::output::stdout().lock(), "{}", visible_line(&line))?;
    Ok(())
}

fn append(ledger: &Ledger, change: AccessChange) -> Result<(), Fault> {
    let draft = Draft { cause: None, about: EntrySubject::default(), event: Event::Access(change) };
    ledger.append(vec![draft]).map_err(store_fault)?;
    Ok(())
}
