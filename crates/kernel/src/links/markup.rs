//! Rewrites Markdown links, images and HTML to unlisted hosts as text.
//!
//! Must never: trust the appearance of the text; only a parser's reading of it counts.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::LinkForm;
use super::address::{destination_as_text, is_clean};
use super::host::LinkHosts;

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A range of a text, and its replacement.
struct TextEdit {
    range: Range<usize>,
    text: String,
}

/// Writes links and images to unlisted hosts as text, and breaks tags with attributes.
pub(super) fn links_as_text(text: &str, hosts: &LinkHosts, form: LinkForm) -> String {
    let mut edits: Vec<TextEdit> = Vec::new();
    // The outermost link under rewriting; the next round handles links inside it.
    let mut open: Option<OpenLink> = None;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        if let Some(link) = &mut open {
            if let Event::Start(Tag::Link { .. } | Tag::Image { .. }) = &event {
                link.depth += 1;
            } else if let Event::End(TagEnd::Link | TagEnd::Image) = &event {
                if link.depth == 0 {
                    edits.extend(open.take().map(|link| link.edit(text, form)));
                    continue;
                }
                link.depth -= 1;
            }
            link.label = Some(link.label.as_ref().map_or(range.clone(), |label| {
                label.start.min(range.start)..label.end.max(range.end)
            }));
            continue;
        }
        if let Event::Html(_) | Event::InlineHtml(_) = event {
            let broken = broken_tags(&text[range.clone()]);
            edits.extend(broken.map(|text| TextEdit { range, text }));
            continue;
        }
        let (dest_url, kind) = if let Event::Start(Tag::Link { dest_url, .. }) = event {
            (dest_url, "")
        } else if let Event::Start(Tag::Image { dest_url, .. }) = event {
            (dest_url, "image: ")
        } else {
            continue;
        };
        if !is_allowed(&dest_url, hosts) {
            open = Some(OpenLink::new(range, destination_as_text(&dest_url, form), kind));
        }
    }
    edited(text, &edits)
}

/// A link under rewriting.
struct OpenLink {
    range: Range<usize>,
    label: Option<Range<usize>>,
    address: String,
    kind: &'static str,
    depth: usize,
}

impl OpenLink {
    fn new(range: Range<usize>, address: String, kind: &'static str) -> Self {
        Self { range, label: None, address, kind, depth: 0 }
    }

    fn edit(self, text: &str, form: LinkForm) -> TextEdit {
        let Self { range, label, address, kind, .. } = self;
        let label = label.map_or("", |label| &text[label]);
        let is_same = label.is_empty()
            || form == LinkForm::Inert && destination_as_text(label, form) == address;
        let text = match (is_same, kind) {
            (true, "") => address,
            (true, kind) => format!("({kind}{address})"),
            (false, kind) => format!("{label} ({kind}{address})"),
        };
        TextEdit { range, text }
    }
}

/// True if a destination has no host or a listed one, however a browser or chat client reads it.
fn is_allowed(destination: &str, hosts: &LinkHosts) -> bool {
    let is_skipped = |c: &char| !matches!(c, '\t' | '\n' | '\r');
    let address: String = destination.chars().filter(is_skipped).collect();
    let address = address.trim_matches(|c: char| c <= ' ').to_lowercase();
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let scheme_end = address.find(|c: char| !(c.is_ascii_alphanumeric() || "+.-".contains(c)));
    let scheme =
        scheme_end.filter(|end| address[*end..].starts_with(':')).map(|end| &address[..end]);
    let starts_with_host = address.starts_with("//")
        || address.starts_with("\\\\")
        || address.starts_with("/\\")
        || address.starts_with("\\/");
    let authority = |rest: &str| {
        let rest = rest.trim_start_matches(is_slash);
        rest.split(['/', '\\', '?', '#']).next().unwrap_or_default().to_owned()
    };
    match scheme {
        Some("http" | "https") => {
            hosts.has_authority(&authority(&address[scheme_end_of(&address)..]))
        }
        // `ok.example:443/x` has no scheme, but looks like it.
        Some(name) if name.contains('.') => is_clean(&address, hosts),
        Some(_) => false,
        None if starts_with_host => hosts.has_authority(&authority(&address)),
        None => is_clean(&address, hosts),
    }
}

/// Returns the position after the colon of a scheme.
fn scheme_end_of(address: &str) -> usize {
    address.find(':').map_or(0, |at| at + 1)
}

/// Breaks all HTML tags that have attributes; None if there are none.
fn broken_tags(html: &str) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in html.match_indices('<') {
        let rest = &html[at + 1..];
        if !is_plain_tag(rest) && !rest.starts_with(|c: char| c.is_whitespace()) {
            out.push_str(&html[done..=at]);
            out.push(' ');
            done = at + 1;
        }
    }
    out.push_str(&html[done..]);
    (out != html).then_some(out)
}

/// Matches `b>`, `/b>` or `br/>`.
fn is_plain_tag(behind: &str) -> bool {
    let name = behind.strip_prefix('/').unwrap_or(behind);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let rest = name[end..].trim_start_matches(' ');
    (1..=20).contains(&end) && (rest.starts_with('>') || rest.starts_with("/>"))
}

/// Writes blocks as plain text if markup, escapes or entities assemble an address in them.
pub(super) fn joined_as_text(text: &str, rewrite: impl Fn(&str) -> String) -> String {
    let mut edits = Vec::new();
    let mut depth = 0_usize;
    let mut shown = String::new();
    let mut block = 0..0;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        if depth == 0 {
            shown.clear();
            block = range.clone();
        }
        if let Event::Start(tag) = event {
            depth += 1;
            if is_block(&tag) && !shown.is_empty() {
                shown.push('\n');
            }
        } else if let Event::End(_) = event {
            depth = depth.saturating_sub(1);
        } else if let Event::Text(piece) | Event::Code(piece) = event {
            shown.push_str(&piece);
        } else if let Event::SoftBreak | Event::HardBreak = event {
            shown.push('\n');
        }
        if depth == 0 {
            let written = rewrite(&shown);
            if written != shown {
                let end = text[block.clone()].trim_end_matches('\n').len() + block.start;
                let text = escaped(&written);
                edits.push(TextEdit { range: block.start..end, text });
            }
        }
    }
    edited(text, &edits)
}

/// Rewrites addresses that markup cuts out of a longer one: in `https://ok.example/_evil.com_` a
/// client that parses the emphasis first sees `evil.com` alone.
pub(super) fn cut_out_as_text(text: &str, rewrite: impl Fn(&str) -> String) -> String {
    let mut edits = Vec::new();
    let mut part: Option<(Range<usize>, String)> = None;
    let mut end_part = |part: &mut Option<(Range<usize>, String)>| {
        let Some((range, shown)) = part.take() else { return };
        let written = rewrite(&shown);
        if written != shown {
            let is_plain = text[range.clone()] == shown;
            let text = if is_plain { written } else { escaped(&written) };
            edits.push(TextEdit { range, text });
        }
    };
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        if let Event::Text(piece) = event {
            let (whole, shown) = part.get_or_insert_with(|| (range.clone(), String::new()));
            whole.end = range.end;
            shown.push_str(&piece);
        } else {
            end_part(&mut part);
        }
    }
    end_part(&mut part);
    edited(text, &edits)
}

fn is_block(tag: &Tag<'_>) -> bool {
    !matches!(
        tag,
        Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
    )
}

/// Escapes all markup characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_[]<>&#!|~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Removes all characters that may be markup.
pub(super) fn without_signs(text: &str) -> String {
    text.chars().map(|c| if "\\`*_[]<>&#!|~(){}^$".contains(c) { ' ' } else { c }).collect()
}

/// Applies edits, which are in order and do not overlap.
fn edited(text: &str, edits: &[TextEdit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits.iter().filter(|edit| edit.range.start <= edit.range.end) {
        if edit.range.start < done {
            continue;
        }
        out.push_str(&text[done..edit.range.start]);
        out.push_str(&edit.text);
        done = edit.range.end;
    }
    out.push_str(&text[done..]);
    out
}
