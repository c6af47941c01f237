//! Routes an admitted event: its session, its delivery and its text.
//!
//! Access chose the session. Only the owner may name another one; all other senders get the chosen
//! one, and a thread of the channel has its own session below it.
//!
//! Must never: let a sender's value lead to a session that access did not choose.

use std::str::FromStr;

use agentry_protocol::access::{Decision, Delivery, SessionChoice};
use agentry_protocol::inbound::{Inbound, PeerKind};
use agentry_protocol::inbound_request::{RequestField, RouteTarget, RunOverrides};
use agentry_protocol::intake::{QueuePreferences, QueueSettings, SenderKind, UnrunReason};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::{ContentHash, SessionKey, TurnId};
use serde::Serialize;

use crate::access::slug;
use crate::limits::{ATTACHED_MAX, NAME_CHARS_MAX, PATH_CHARS_MAX, SESSION_KEY_BYTES_MAX};
use crate::mailbox::directive::{self, Directive};
use crate::mailbox::settings::{DeliveryLevels, settings};
use crate::mailbox::{AuthorityFilter, MailboxSender, ReplyAddress};

/// The routing decision for an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// Deliver it to a session.
    To(Box<Destination>),
    /// Set the queue preferences of its session; None resets them.
    Queue(Destination, Option<QueuePreferences>),
    /// Stop running turns and waiting items.
    Stop(Destination, AuthorityFilter),
    /// Start no turn, for this reason.
    Unrun(UnrunReason, String),
}

/// The destination of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Destination {
    /// The key of the session.
    pub key: SessionKey,
    /// The turn at which a new session with this key starts.
    pub head: Option<TurnId>,
    /// The persona or agent that answers.
    pub persona: Option<String>,
    /// The kind of the sender.
    pub source: SenderKind,
    /// The text of the message.
    pub text: String,
    /// The queue preferences of the message itself.
    pub inline: QueuePreferences,
}

/// Returns the options for the run that answers an event. Only the owner's options count.
pub fn run_overrides(inbound: &Inbound, principal: &Principal) -> RunOverrides {
    let requested = inbound.request().run.as_ref();
    let of_owner = requested.filter(|_| principal.kind == PrincipalKind::Owner);
    of_owner.cloned().unwrap_or_default()
}

/// Routes an admitted event.
pub fn route(inbound: &Inbound, principal: &Principal, decision: &Decision) -> Route {
    let source = match source(inbound, principal) {
        Ok(source) => source,
        Err(why) => return Route::Unrun(why, String::new()),
    };
    let plain = match directive::read(&inbound.body.content) {
        Ok(plain) => plain,
        Err(unreadable) => return Route::Unrun(UnrunReason::BadDirective, unreadable.to_string()),
    };
    let mut to = match destination(inbound, principal, decision.session.as_ref()) {
        Ok((key, head, persona)) => Destination {
            key,
            head,
            persona,
            source,
            text: plain.text,
            inline: QueuePreferences::default(),
        },
        Err(why) => return Route::Unrun(UnrunReason::NoAgent, why),
    };
    match plain.directive {
        None => match delivery(inbound) {
            Ok(mode) => {
                to.inline.mode = mode;
                Route::To(Box::new(to))
            }
            Err(why) => Route::Unrun(UnrunReason::BadDirective, why),
        },
        Some(Directive::Message(wish)) => {
            to.inline = wish;
            Route::To(Box::new(to))
        }
        Some(Directive::Session(_) | Directive::Default) if is_shared(inbound, principal) => {
            let why = "only the owner says how the messages of a group wait";
            Route::Unrun(UnrunReason::BadDirective, why.to_owned())
        }
        Some(Directive::Stop) => {
            let whose = match principal.kind {
                PrincipalKind::Owner => AuthorityFilter::Everyone,
                PrincipalKind::Known
                | PrincipalKind::Unknown
                | PrincipalKind::System
                | PrincipalKind::Webhook
                | PrincipalKind::Agent => {
                    AuthorityFilter::Of(authority(inbound, principal, decision))
                }
            };
            Route::Stop(to, whose)
        }
        Some(Directive::Session(wish)) => Route::Queue(to, Some(wish)),
        Some(Directive::Default) => Route::Queue(to, None),
    }
}

/// Routes work that hooks request because of an event. Access chose the session by that event.
pub fn hook_route(
    origin: &Inbound,
    principal: &Principal,
    decision: &Decision,
    text: &str,
) -> Result<Destination, String> {
    let (key, head, persona) = destination(origin, principal, decision.session.as_ref())?;
    let source = match principal.kind {
        PrincipalKind::System => SenderKind::Timer,
        PrincipalKind::Agent => SenderKind::Agent,
        PrincipalKind::Owner
        | PrincipalKind::Known
        | PrincipalKind::Unknown
        | PrincipalKind::Webhook => SenderKind::Program,
    };
    Ok(Destination {
        key,
        head,
        persona,
        source,
        text: text.to_owned(),
        inline: QueuePreferences::default(),
    })
}

/// Returns the kind of sender. Timers and webhooks start a turn only if a hook requests it.
fn source(inbound: &Inbound, principal: &Principal) -> Result<SenderKind, UnrunReason> {
    match principal.kind {
        PrincipalKind::Owner | PrincipalKind::Known | PrincipalKind::Unknown => {
            let is_program = inbound.request().is_program;
            Ok(if is_program { SenderKind::Program } else { SenderKind::Person })
        }
        PrincipalKind::Agent => Ok(SenderKind::Agent),
        PrincipalKind::System | PrincipalKind::Webhook => Err(UnrunReason::NoHook),
    }
}

fn is_shared(inbound: &Inbound, principal: &Principal) -> bool {
    let group = matches!(inbound.place.peer_kind, Some(PeerKind::Group | PeerKind::Channel));
    group && principal.kind != PrincipalKind::Owner
}

type SessionTarget = (SessionKey, Option<TurnId>, Option<String>);

fn destination(
    inbound: &Inbound,
    principal: &Principal,
    choice: Option<&SessionChoice>,
) -> Result<SessionTarget, String> {
    let persona = choice.and_then(|choice| choice.persona.as_deref()).map(str::to_owned);
    match target(inbound)? {
        Some(_) if principal.kind != PrincipalKind::Owner => {
            return Err("only the owner says where a message goes".to_owned());
        }
        Some(RouteTarget::Session { session, persona: named }) => {
            return Ok((SessionKey::new(session), None, named.clone().or(persona)));
        }
        Some(RouteTarget::Thread { thread, persona: named }) => {
            let key = SessionKey::new(format!("fork-{}", slug(inbound.event_id.as_str())));
            return Ok((key, Some(TurnId::new(thread)), named.clone().or(persona)));
        }
        Some(RouteTarget::Persona { persona: name }) => {
            let key = SessionKey::new(format!("{}:main", slug(name)));
            return Ok((key, None, Some(name.clone())));
        }
        None => {}
    }
    let Some(choice) = choice else {
        return Err("no policy that lets it in says which session it goes to".to_owned());
    };
    let mut key = choice.key.clone();
    if let Some(thread) = &inbound.place.thread_id {
        key.push_str(":thread:");
        key.push_str(&slug(thread));
    }
    if key.len() > SESSION_KEY_BYTES_MAX {
        return Err(format!("the session key of `{}` comes out too long", choice.policy));
    }
    Ok((SessionKey::new(key), None, persona))
}

/// Returns the delivery that the sender chose for a busy session. An older entry may record a
/// word that is none.
fn delivery(inbound: &Inbound) -> Result<Option<Delivery>, String> {
    let requested = inbound.request().delivery;
    match inbound.metadata.recorded(RequestField::Delivery) {
        Some(value) if requested.is_none() => Err(match value.as_str().map(Delivery::from_str) {
            Some(Err(unknown)) => unknown.to_string(),
            Some(Ok(_)) | None => format!("the delivery {value} is no word"),
        }),
        Some(_) | None => Ok(requested),
    }
}

/// Returns the destination that the sender chose. Fails if the entry records one that is none.
fn target(inbound: &Inbound) -> Result<Option<&RouteTarget>, String> {
    let Some(value) = inbound.metadata.recorded(RequestField::Target) else { return Ok(None) };
    let names = match &inbound.request().target {
        Some(
            RouteTarget::Session { session: place, persona }
            | RouteTarget::Thread { thread: place, persona },
        ) => [Some(place), persona.as_ref()],
        Some(RouteTarget::Persona { persona }) => [Some(persona), None],
        None => [None, None],
    };
    let is_name = |name: &String| {
        !name.is_empty()
            && name.len() <= SESSION_KEY_BYTES_MAX
            && !name.chars().any(char::is_control)
    };
    let is_readable = inbound.request().target.is_some();
    if is_readable && names.into_iter().flatten().all(is_name) {
        return Ok(inbound.request().target.as_ref());
    }
    Err(format!("the target {value} is not a session or a thread, a persona, or one of both kinds"))
}

/// Returns the queue settings of an event. A policy's delivery precedes all other levels.
pub fn delivery_settings(
    to: &Destination,
    decision: &Decision,
    levels: DeliveryLevels,
) -> QueueSettings {
    let mut waits = settings(to.source, &DeliveryLevels { inline: to.inline, ..levels });
    if let Some(said) = &decision.modifiers.delivery {
        waits.mode = said.value;
    }
    waits
}

/// Returns the sender for the mailbox. Two people never are one sender, even with equal powers.
pub fn sender(inbound: &Inbound, principal: &Principal, decision: &Decision) -> MailboxSender {
    MailboxSender {
        authority: authority(inbound, principal, decision),
        place: reply_address(inbound),
    }
}

/// Returns the hash of the principal and its powers.
pub fn authority(inbound: &Inbound, principal: &Principal, decision: &Decision) -> ContentHash {
    #[derive(Serialize)]
    struct AuthorityFields<'a> {
        kind: PrincipalKind,
        who: [Option<&'a str>; 4],
        tools: &'a agentry_protocol::access::ToolBounds,
        credentials: &'a agentry_protocol::access::Credentials,
        data: &'a agentry_protocol::access::AttributedDisclosureLevel,
        exec: &'a [agentry_protocol::access::AttributedName],
    }
    let stranger = principal.entity_id.is_none() && principal.kind == PrincipalKind::Unknown;
    let who = [
        principal.entity_id.as_deref(),
        principal.source.as_deref(),
        principal.agent_id.as_deref(),
        stranger.then_some(inbound.sender.sender_id.as_str()),
    ];
    let whole = AuthorityFields {
        kind: principal.kind,
        who,
        tools: &decision.tools,
        credentials: &decision.credentials,
        data: &decision.data,
        exec: &decision.exec,
    };
    let bytes = serde_json::to_vec(&whole).expect("powers are plain JSON");
    ContentHash::of(&bytes)
}

/// Returns the origin of an event as the mailbox stores it, for the answer.
pub fn reply_address(inbound: &Inbound) -> ReplyAddress {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    ReplyAddress {
        channel: inbound.place.channel.clone(),
        account: text(&inbound.place.account_id),
        peer: text(&inbound.place.peer_id),
        thread: text(&inbound.place.thread_id),
    }
}

/// Returns a note on the sender for the agent; None if the owner writes in private.
pub fn sender_note(inbound: &Inbound, principal: &Principal) -> Option<String> {
    let group = matches!(inbound.place.peer_kind, Some(PeerKind::Group | PeerKind::Channel));
    if principal.kind == PrincipalKind::Owner && !group {
        return None;
    }
    let name = plain(principal.name.as_deref().unwrap_or("somebody"), NAME_CHARS_MAX);
    let is = principal.relationship.as_deref().unwrap_or_else(|| principal.kind.as_str());
    let kind = inbound.place.peer_kind.map_or_else(String::new, |kind| format!(", {kind}"));
    Some(format!("[From {name} ({is}) on {}{kind}]", inbound.place.channel))
}

/// Appends a line for each attachment to the text. The attachments themselves are not read.
pub fn text_with_attachments(text: String, inbound: &Inbound) -> String {
    let attached = inbound.body.attachments.iter().take(ATTACHED_MAX).map(|one| {
        let size = one.size_bytes.map_or_else(String::new, |size| format!(", {size} bytes"));
        let path = one.path.as_deref().map(|path| format!(" at {}", plain(path, PATH_CHARS_MAX)));
        let (name, kind) =
            (plain(&one.filename, NAME_CHARS_MAX), plain(&one.content_type, NAME_CHARS_MAX));
        format!("[Attached: {name} ({kind}{size}){}]", path.unwrap_or_default())
    });
    let lines: Vec<String> =
        [text].into_iter().filter(|text| !text.is_empty()).chain(attached).collect();
    lines.join("\n")
}

/// Cleans a sender's word so that it cannot look like a note of ours.
pub(crate) fn plain(word: &str, chars_max: usize) -> String {
    let is_plain = |sign: &char| !sign.is_control() && !['[', ']'].contains(sign);
    word.chars().filter(is_plain).take(chars_max).collect()
}
