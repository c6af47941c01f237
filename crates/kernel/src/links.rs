//! Makes addresses in an outgoing text inert, unless their host is listed.
//!
//! A client that shows a message may fetch a picture or a preview by itself, so an address in an answer can
//! carry data to its host without a click. Every address to a host that nobody listed is therefore written so
//! that no common client turns it into a link: `hxxps[:]//evil[.]example/x`. Markdown links and images become
//! text, and HTML tags with attributes lose their effect. The text is rewritten until nothing is left to
//! rewrite; if that does not come to an end, all signs of markup are taken out.
//!
//! Must never: leave an address to an unlisted host that a client would follow, or change one to a listed host.

use agentry_agentfile::manifest::channels::LinkTreatment;

use crate::chunk;
use crate::limits::LINK_ROUNDS_MAX;

mod address;
mod host;
mod markup;

use host::LinkHosts;

/// What is done with addresses in outgoing texts.
#[derive(Clone, Debug)]
pub struct LinkFilter {
    rule: LinkTreatment,
    hosts: LinkHosts,
}

/// How an address that is not allowed is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkForm {
    /// So that it can be read but not followed.
    Inert,
    /// Not at all; only that there was one.
    Removed,
}

impl LinkFilter {
    /// Creates the policy of a channel: its rule, and the hosts that may be linked to. A name stands for
    /// itself, `*.x` for everything below `x`.
    pub fn new<'a>(rule: LinkTreatment, hosts: impl IntoIterator<Item = &'a str>) -> Self {
        Self { rule, hosts: LinkHosts::new(hosts) }
    }

    /// Leaves every text as it is.
    pub fn allow_all() -> Self {
        Self::new(LinkTreatment::Allow, [])
    }

    /// Rewrites a text in Markdown before it is cut into messages.
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

    /// Rewrites one message as it is about to be sent: leaving out markup or cutting a long word can bring
    /// together or lay bare an address that was none before.
    pub fn rewrite_piece(&self, piece: String, limit: usize) -> Vec<String> {
        let Some(form) = self.form() else { return vec![piece] };
        let written = self.addresses(&piece, form);
        match written.chars().count() <= limit {
            true => vec![written],
            false => chunk::split(&written, limit).into_iter().map(|chunk| chunk.text).collect(),
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
