//! Output of findings: with excerpt, caret, code and help for people, as a JSON array for programs.
//!
//! Must never: change the text of a finding.

use std::io::{self, Write};
use std::ops::Range;

use agentry_agentfile::diagnostic::{Diagnostic, Findings, Severity};
use agentry_kernel::legible_text::is_hidden;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::limits::EXCERPT_BYTES_MAX;

/// Writes findings with excerpts. Returns the number of errors, warnings and notes.
pub fn text(
    findings: &Findings,
    shown: &[&Diagnostic],
    out: &mut dyn Write,
) -> io::Result<FindingCounts> {
    let mut count = FindingCounts::default();
    for one in shown {
        count.add(one.severity);
        writeln!(out, "{}\n", report(&Renderer::styled(), findings, one))?;
    }
    for (file, more) in findings.not_shown() {
        if shown.iter().any(|one| *one.file == *file) {
            writeln!(out, "{file}: {more} more findings are not shown\n")?;
        }
    }
    Ok(count)
}

/// Returns a finding with its excerpt, without color.
pub fn plain(findings: &Findings, one: &Diagnostic) -> String {
    report(&Renderer::plain(), findings, one)
}

fn report(renderer: &Renderer, findings: &Findings, one: &Diagnostic) -> String {
    let level = match one.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let (file, message) = (visible_line(&one.file), visible(&one.message));
    let help = one.help.as_deref().map(visible);
    let title = level.primary_title(message.as_str()).id(one.code.as_str());
    let mut group = Group::with_title(title);
    match findings.source(&one.file) {
        Some(source) => {
            let (excerpt, marked) = excerpt(&source.text, one.span.range());
            let is_cut = excerpt[..marked.start].chars().count() + 1 < one.column;
            let mut snippet = Snippet::source(excerpt).line_start(one.line);
            if is_cut {
                let place = Origin::path(file.as_str()).line(one.line).char_column(one.column);
                group = group.element(place);
            } else {
                snippet = snippet.path(file.as_str());
            }
            group = group.element(snippet.annotation(AnnotationKind::Primary.span(marked)));
        }
        None => group = group.element(Origin::path(file.as_str())),
    }
    if let Some(help) = &help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}

/// Returns the line on which a span begins, and the marked range in it, in whole characters. A line
/// longer than `EXCERPT_BYTES_MAX` is cut around the mark.
fn excerpt(text: &str, span: Range<usize>) -> (&str, Range<usize>) {
    let start = text.floor_char_boundary(span.start);
    let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let begin = text.ceil_char_boundary(begin.max(start.saturating_sub(EXCERPT_BYTES_MAX / 2)));
    let end = text.floor_char_boundary(end.min(start + EXCERPT_BYTES_MAX / 2));
    let stop = text.ceil_char_boundary(span.end.clamp(start, end));
    (&text[begin..end], start - begin..stop - begin)
}

/// Writes findings as one JSON array.
pub fn json(shown: &[&Diagnostic], out: &mut dyn Write) -> io::Result<FindingCounts> {
    let mut count = FindingCounts::default();
    for one in shown {
        count.add(one.severity);
    }
    serde_json::to_writer_pretty(&mut *out, shown)?;
    writeln!(out)?;
    Ok(count)
}

/// The number of findings by severity.
#[derive(Clone, Copy, Debug, Default)]
pub struct FindingCounts {
    /// The number of errors.
    pub errors: usize,
    /// The number of warnings.
    pub warnings: usize,
    /// The number of notes.
    pub notes: usize,
}

impl FindingCounts {
    fn add(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => self.notes += 1,
        }
    }
}

/// Replaces control characters of a text, so that it cannot control a terminal. Line ends and tabs
/// stay.
pub fn visible(text: &str) -> String {
    let plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    text.chars().map(|c| if plain(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Escapes control characters and invisible characters of a text that a person must judge. Line
/// ends and tabs stay.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            _ if c.is_control() || is_hidden(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// Replaces control characters, line ends and tabs of a text.
pub fn visible_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// Returns a number with its noun: `1 error`, `2 errors`.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
