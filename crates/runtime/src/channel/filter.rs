//! The filters of a channel.
//!
//! Must never: pass an event that an `exclude` matches.

use agentry_agentfile::manifest::channels::{ChannelFilter, FilterField, FilterKind};
use agentry_kernel::access::pattern_matches;
use agentry_protocol::inbound::{ContentType, Inbound};

/// True if no `exclude` matches, and one of the `include`s does, if there are any.
pub(super) fn lets_in(filters: &[ChannelFilter], inbound: &Inbound) -> bool {
    let fits =
        |filter: &&ChannelFilter| pattern_matches(&filter.pattern, value(filter.field, inbound));
    let of = |kind| filters.iter().filter(move |filter| filter.kind == kind);
    !of(FilterKind::Exclude).any(|filter| fits(&filter))
        && (of(FilterKind::Include).next().is_none()
            || of(FilterKind::Include).any(|filter| fits(&filter)))
}

/// Returns the text that a filter tests; a missing field is an empty text.
fn value(field: FilterField, inbound: &Inbound) -> &str {
    let place = &inbound.place;
    let part = match field {
        FilterField::Content => Some(&inbound.body.content),
        FilterField::SenderId => Some(&inbound.sender.sender_id),
        FilterField::SenderName => inbound.sender.sender_name.as_ref(),
        FilterField::PeerId => place.peer_id.as_ref(),
        FilterField::AccountId => place.account_id.as_ref(),
        FilterField::Guild => place.guild.as_ref(),
        FilterField::ThreadId => place.thread_id.as_ref(),
        FilterField::EventType => inbound.event_type.as_ref(),
        FilterField::PeerKind => return place.peer_kind.map_or("", |kind| kind.as_str()),
        FilterField::ContentType => return content_type(inbound.body.content_type),
    };
    part.map_or("", String::as_str)
}

fn content_type(kind: ContentType) -> &'static str {
    match kind {
        ContentType::Text => "text",
        ContentType::Image => "image",
        ContentType::Audio => "audio",
        ContentType::Video => "video",
        ContentType::File => "file",
        ContentType::Reaction => "reaction",
    }
}
