//! Findings for people: the excerpt, the caret, the code, the help. And for machines: one JSON array.
//!
//! Must never: change what a finding says.

use std::io::{self, Write};

use agentry_agentfile::diagnostic::{Diagnostic, Findings, Severity};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Writes findings with excerpts. Returns how many errors, warnings and notes there were.
pub(crate) fn text(
    findings: &Findings,
    shown: &[&Diagnostic],
    out: &mut dyn Write,
) -> io::Result<Count> {
    let mut count = Count::default();
    for one in shown {
        count.add(one.severity);
        writeln!(out, "{}\n", report(findings, one))?;
    }
    for (file, more) in findings.not_shown() {
        writeln!(out, "{file}: {more} more findings are not shown\n")?;
    }
    Ok(count)
}

fn report(findings: &Findings, one: &Diagnostic) -> String {
    let level = match one.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(one.message.as_str()).id(one.code.as_str());
    let source = findings.source(&one.file);
    let mut group = Group::with_title(title);
    let place = format!("{}:{}:{}", one.file, one.line, one.column);
    match source {
        Some(source) => {
            let end = source.text.len();
            let start = one.span.start.min(end);
            let line_end = source.text[start..].find('\n').map_or(end, |at| start + at);
            let stop = one.span.end.clamp(start, line_end.max(start));
            let snippet = Snippet::source(&*source.text).path(&*source.file).line_start(1);
            group = group.element(snippet.annotation(AnnotationKind::Primary.span(start..stop)));
        }
        None => group = group.element(Level::NOTE.with_name(Some("in")).message(place)),
    }
    if let Some(help) = &one.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    Renderer::styled().render(&[group])
}

/// Writes findings as one JSON array.
pub(crate) fn json(shown: &[&Diagnostic], out: &mut dyn Write) -> io::Result<Count> {
    let mut count = Count::default();
    for one in shown {
        count.add(one.severity);
    }
    serde_json::to_writer_pretty(&mut *out, shown)?;
    writeln!(out)?;
    Ok(count)
}

/// How many findings of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    /// Errors.
    pub(crate) errors: usize,
    /// Warnings.
    pub(crate) warnings: usize,
    /// Notes.
    pub(crate) notes: usize,
}

impl Count {
    fn add(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => self.notes += 1,
        }
    }
}

/// `1 error`, `2 errors`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
