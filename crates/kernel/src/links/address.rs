//! Finds addresses in a text, within any markup, and makes those to unlisted hosts inert.
//!
//! Must never: examine a position of the text more than a fixed number of times, or find an address
//! in its own output.

use super::LinkForm;
use super::host::{HostSuffix, LinkHosts, is_dot, looks_like_a_host};
use crate::limits::LINK_PORT_CHARS_MAX;

/// The replacement for a removed address.
pub(super) const REMOVED: &str = "(link removed)";

/// Rewrites all addresses to unlisted hosts.
pub(super) fn rewrite(text: &str, hosts: &LinkHosts, form: LinkForm) -> String {
    rewrite_as(text, hosts, UncertainHostPolicy::Rewrite, form)
}

/// Rewrites only certain addresses: with a scheme, or with a known top-level domain.
pub(super) fn rewrite_certain(text: &str, hosts: &LinkHosts, form: LinkForm) -> String {
    rewrite_as(text, hosts, UncertainHostPolicy::Leave, form)
}

/// The treatment of a name that may be a host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UncertainHostPolicy {
    Rewrite,
    Leave,
}

fn rewrite_as(text: &str, hosts: &LinkHosts, doubt: UncertainHostPolicy, form: LinkForm) -> String {
    let out = String::with_capacity(text.len());
    let mut writer = AddressRewriter { text, hosts, form, doubt, out, done: 0 };
    let mut at = 0;
    while let Some(name) = next_name(text, at) {
        at = writer.name(name.0, name.1);
    }
    writer.out.push_str(&text[writer.done..]);
    writer.out
}

/// Returns true if rewriting would not change the text.
pub(super) fn is_clean(text: &str, hosts: &LinkHosts) -> bool {
    rewrite(text, hosts, LinkForm::Inert) == text
}

/// Returns the range of the next host name or scheme at or after a position.
fn next_name(text: &str, at: usize) -> Option<(usize, usize)> {
    let start = at + text[at..].find(is_of_name)?;
    let end = text[start..].find(|c| !is_of_name(c)).map_or(text.len(), |length| start + length);
    Some((start, end))
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_') || is_dot(c)
}

/// Returns true for characters at which some clients end an address.
fn ends_address(c: char) -> bool {
    !c.is_ascii_graphic() || "<>\"'|,;()[]{}`*^\\".contains(c)
}

struct AddressRewriter<'a> {
    text: &'a str,
    hosts: &'a LinkHosts,
    form: LinkForm,
    doubt: UncertainHostPolicy,
    out: String,
    /// The number of bytes of the text that are already written.
    done: usize,
}

impl AddressRewriter<'_> {
    /// Handles a name; returns the position after it.
    fn name(&mut self, start: usize, end: usize) -> usize {
        match slashes_after_colon(&self.text[end..]) {
            Some(slashes) => self.with_scheme(start, end, slashes),
            None => self.without_scheme(start, end),
        }
    }

    fn with_scheme(&mut self, start: usize, colon: usize, slashes: usize) -> usize {
        let authority = colon + 1 + slashes;
        let scheme = self.text[start..colon].to_ascii_lowercase();
        let (_, host_end) = self.name_at(authority);
        let host = self.text[authority..host_end].trim_end_matches('.');
        let is_whole = authority + host.len() == host_end || self.ends_clause(host_end);
        let is_plain = ["http", "https"].contains(&scheme.as_str()) && slashes == 2;
        if is_plain && is_whole && self.hosts.has(host) && self.ends_authority(host_end) {
            return self.address_end(host_end);
        }
        if self.form == LinkForm::Removed {
            return self.remove(start, authority);
        }
        self.write_until(start);
        self.out.push_str(&inert_scheme(&self.text[start..colon]).replace(is_dot, "[.]"));
        self.out.push_str("[:]");
        self.done = colon + 1;
        self.write_until(authority);
        self.write_inert(host_end);
        host_end.max(authority)
    }

    fn without_scheme(&mut self, start: usize, end: usize) -> usize {
        let run = &self.text[start..end];
        // Dots around a name, and two in a row, belong to the sentence.
        let is_name = run.find(|c| !is_dot(c)).map(|at| start + at);
        let Some(start) = is_name else { return end };
        let mut stop = end;
        let mut was_dot = None;
        for (at, c) in self.text[start..end].char_indices() {
            match (is_dot(c), was_dot) {
                (true, Some(first)) => {
                    stop = first;
                    break;
                }
                (true, None) => was_dot = Some(start + at),
                (false, _) => was_dot = None,
            }
        }
        if let (true, Some(last)) = (stop == end, was_dot) {
            stop = last;
        }
        let name = &self.text[start..stop];
        let dots = self.text[stop..].find(|c| !is_dot(c)).map_or(self.text.len(), |at| stop + at);
        let is_relative =
            self.text[..start].ends_with("//") || self.text[..start].ends_with("\\\\");
        let path = self.path(dots);
        let behind = match (path.is_some() || is_relative, self.doubt) {
            (true, UncertainHostPolicy::Rewrite) => HostSuffix::Path,
            (true, UncertainHostPolicy::Leave) => HostSuffix::CertainPath,
            (false, _) => HostSuffix::Nothing,
        };
        if !looks_like_a_host(name, behind) {
            return stop;
        }
        if (stop == dots || self.ends_clause(dots))
            && self.hosts.has(name)
            && self.ends_authority(dots)
        {
            return if path.is_some() { self.address_end(stop) } else { stop };
        }
        if self.form == LinkForm::Removed {
            return self.remove(start, stop);
        }
        self.write_until(start);
        self.write_inert(stop);
        stop
    }

    /// Returns the range of the name that begins exactly here; it may be empty.
    fn name_at(&self, at: usize) -> (usize, usize) {
        match next_name(self.text, at) {
            Some((start, end)) if start == at => (at, end),
            Some(_) | None => (at, at),
        }
    }

    /// Returns true if an authority ends after this host, with or without a port.
    fn ends_authority(&self, host_end: usize) -> bool {
        let end = self.behind_port(host_end);
        match self.text[end..].chars().next() {
            // Punctuation at the end of a clause is not part of the address.
            Some(':' | '.' | '!' | '~') => self.ends_clause(end + 1),
            Some('/' | '?' | '#') | None => true,
            Some('\\') => false,
            Some(c) => ends_address(c),
        }
    }

    /// Returns true if no word continues here.
    fn ends_clause(&self, at: usize) -> bool {
        let next = self.text[at..].chars().next();
        next.is_none_or(|c| ends_address(c) && c != '\\' && !is_of_name(c))
    }

    fn behind_port(&self, host_end: usize) -> usize {
        let Some(port) = self.text[host_end..].strip_prefix(':') else { return host_end };
        let digits = port.bytes().take(LINK_PORT_CHARS_MAX).take_while(u8::is_ascii_digit).count();
        if digits == 0 { host_end } else { host_end + 1 + digits }
    }

    /// Returns the start of the path or query after a host; None if neither follows.
    fn path(&self, host_end: usize) -> Option<usize> {
        let end = self.behind_port(host_end);
        self.text[end..].starts_with(['/', '?', '\\']).then_some(end)
    }

    fn address_end(&self, from: usize) -> usize {
        self.text[from..].find(ends_address).map_or(self.text.len(), |length| from + length)
    }

    fn write_until(&mut self, at: usize) {
        self.out.push_str(&self.text[self.done..at]);
        self.done = at;
    }

    /// Writes the text up to a position with every dot in brackets.
    fn write_inert(&mut self, end: usize) {
        for c in self.text[self.done..end.max(self.done)].chars() {
            if is_dot(c) {
                self.out.push_str("[.]");
            } else {
                self.out.push(c);
            }
        }
        self.done = end.max(self.done);
    }

    /// Omits an address; returns the position of its end.
    fn remove(&mut self, start: usize, from: usize) -> usize {
        self.write_until(start);
        self.out.push_str(REMOVED);
        self.done = self.address_end(from);
        self.done
    }
}

/// Returns the number of slashes after a colon, if there are at least two.
fn slashes_after_colon(text: &str) -> Option<usize> {
    let behind = text.strip_prefix(':')?;
    let slashes = behind.bytes().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
    (slashes >= 2).then_some(slashes)
}

/// Returns `hxxps` for `https`; other schemes stay, since the colon after them is in brackets.
fn inert_scheme(scheme: &str) -> String {
    let lower = scheme.to_ascii_lowercase();
    match lower.rfind("http") {
        Some(at) => format!("{}xx{}", &scheme[..=at], &scheme[at + 3..]),
        None => scheme.to_owned(),
    }
}

/// Writes the destination of a disallowed link as text.
pub(super) fn destination_as_text(destination: &str, form: LinkForm) -> String {
    match form {
        LinkForm::Removed => REMOVED.trim_matches(['(', ')']).to_owned(),
        LinkForm::Inert => {
            let shown = cut(destination);
            let plain: String = shown.chars().map(plain_sign).collect();
            rewrite(&plain, &LinkHosts::default(), form)
        }
    }
}

fn cut(text: &str) -> String {
    use crate::limits::LINK_SHOWN_CHARS_MAX;
    match text.char_indices().nth(LINK_SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Replaces characters that may be markup by `·`.
fn plain_sign(c: char) -> char {
    let is_kept = c.is_alphanumeric() || "-._/?#:@=%+,;…".contains(c);
    if is_kept { c } else { '·' }
}
