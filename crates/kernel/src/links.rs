//! Makes addresses in an outgoing text inert, unless their host is listed.
//!
//! A client that shows a message may fetch an image or a preview by itself, so an address in an
//! answer can send data to its host without a click. An address to an unlisted host is therefore
//! written so that no common client links it: `hxxps[:]//evil[.]example/x`. Markdown links and
//! images become text, and HTML tags with attributes lose their effect. Rewriting repeats until the
//! text is stable; if it does not become so, all markup characters are removed.
//!
//! Must never: leave a live address to an unlisted host, or change one to a listed host.

use agentry_agentfile::manifest::channels::LinkTreatment;

use crate::chunk;
use crate::limits::LINK_ROUNDS_MAX;

mod address;
mod host;
mod markup;

use host::LinkHosts;

/// The treatment of addresses in outgoing texts.
#[derive(Clone, Debug)]
pub struct LinkFilter {
    rule: LinkTreatment,
    hosts: LinkHosts,
}

/// The form in which an address to an unlisted host is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkForm {
    /// Readable, but not a link.
    Inert,
    /// Removed, with a remark in its place.
    Removed,
}

impl LinkFilter {
    /// Creates the filter of a channel: its rule, and the hosts that may be linked to. A name
    /// matches itself, `*.x` every name below `x`.
    pub fn new<'a>(rule: LinkTreatment, hosts: impl IntoIterator<Item = &'a str>) -> Self {
        Self { rule, hosts: LinkHosts::new(hosts) }
    }

    /// Creates a filter that leaves every text unchanged.
    pub fn allow_all() -> Self {
        Self::new(LinkTreatment::Allow, [])
    }

    /// Rewrites a Markdown text before it is split into messages.
    pub fn rewrite(&self, text: &str) -> String {
        let Some(form) = self.form() else { return text.to_owned() };
        let mut now = text.to_owned();
        for _ in 0..LINK_ROUNDS_MAX {
            let next = markup::links_as_text(&now, &self.hosts, form);
            let next = self.addresses(&next, form);
            let next = markup::joined_as_text(&next, |text| self.addresses(text, form));
            let next = markup::cut_out_as_text(&next, |text| {
                address::rewrite_certain(text, &self.hosts, form)
            });
            if next == now {
                return now;
            }
            now = next;
        }
        self.addresses(&markup::without_signs(&now), form)
    }

    /// Rewrites one message before it is sent: removing markup or splitting a long word can join or
    /// expose an address that was not one before.
    pub fn rewrite_piece(&self, piece: String, limit: usize) -> Vec<String> {
        let Some(form) = self.form() else { return vec![piece] };
        let written = self.addresses(&piece, form);
        if written.chars().count() <= limit {
            vec![written]
        } else {
            chunk::split(&written, limit).into_iter().map(|chunk| chunk.text).collect()
        }
    }

    fn form(&self) -> Option<LinkForm> {
        match self.rule {
            LinkTreatment::Allow => None,
            LinkTreatment::Neutralize => Some(LinkForm::Inert),
            LinkTreatment::Remove => Some(LinkForm::Removed),
        }
    }

    fn addresses(&self, text: &str, form: LinkForm) -> String {
        address::rewrite(text, &self.hosts, form)
    }
}
