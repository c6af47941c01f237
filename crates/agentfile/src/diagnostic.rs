//! Diagnostics: a defect of a file, its place, and a remedy.
//!
//! Findings are collected, never returned as errors: one defect must not hide the next.
//!
//! Must never: print, or decide on the consequences of a finding.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

pub use crate::diagnostic_code::{DiagnosticCode, Severity};
use crate::limits::{CANDIDATES_MAX, FINDINGS_PER_FILE_MAX, MESSAGE_CHARS_MAX};
use crate::source::{SourceText, Span};

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    /// The defect, for machines.
    pub code: DiagnosticCode,
    /// The severity, which may differ from the usual one of the code.
    pub severity: Severity,
    /// The path of the file, as people see it.
    pub file: Arc<str>,
    /// The line, from one.
    pub line: usize,
    /// The column, from one.
    pub column: usize,
    /// The defect, for people.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// The bytes of the file that the caret marks.
    #[serde(skip)]
    pub span: Span,
}

/// The place of a finding in a file.
struct FindingPlace {
    file: Arc<str>,
    line: usize,
    column: usize,
    span: Span,
}

impl Diagnostic {
    /// Returns the finding on one line, without the remedy.
    pub fn brief(&self) -> String {
        format!("{}:{}:{} {} {}", self.file, self.line, self.column, self.code, self.message)
    }
}

/// All findings of one run of the reader, with the texts they refer to.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    diagnostics: Vec<Diagnostic>,
    // Keyed by file name; holds each source a finding points into, for the excerpts.
    sources: BTreeMap<Arc<str>, SourceText>,
    // The number of findings of each file; beyond the limit only these numbers grow.
    counts: BTreeMap<Arc<str>, FindingCount>,
}

#[derive(Clone, Copy, Debug, Default)]
struct FindingCount {
    kept: usize,
    errors_kept: usize,
    not_shown: usize,
    // The part of `not_shown` that is errors, which count as errors all the same.
    errors_not_shown: usize,
}

impl FindingCount {
    /// True if no finding of this severity fits; an error may replace a lesser finding.
    fn is_full_for(&self, severity: Severity) -> bool {
        let kept = if severity == Severity::Error { self.errors_kept } else { self.kept };
        kept >= FINDINGS_PER_FILE_MAX
    }

    fn skip(&mut self, severity: Severity) {
        self.not_shown += 1;
        self.errors_not_shown += usize::from(severity == Severity::Error);
    }
}

impl Findings {
    /// Adds a finding at a place in a text.
    pub fn at(
        &mut self,
        code: DiagnosticCode,
        source: &SourceText,
        span: Span,
        text: impl Into<FindingText>,
    ) {
        let (line, column) = source.position(span.start);
        self.sources.entry(source.file.clone()).or_insert_with(|| source.clone());
        self.push(
            code,
            FindingPlace { file: source.file.clone(), line, column, span },
            text.into(),
        );
    }

    /// Like `at`, for costly messages: the message is made only if the finding is kept.
    pub fn at_with(
        &mut self,
        code: DiagnosticCode,
        source: &SourceText,
        span: Span,
        text: impl FnOnce() -> FindingText,
    ) {
        match self.counts.get_mut(&source.file) {
            Some(count) if count.is_full_for(code.severity()) => count.skip(code.severity()),
            Some(_) | None => self.at(code, source, span, text()),
        }
    }

    /// Adds a finding about a file as a whole.
    pub fn about(
        &mut self,
        code: DiagnosticCode,
        file: impl Into<Arc<str>>,
        text: impl Into<FindingText>,
    ) {
        let place = FindingPlace { file: file.into(), line: 1, column: 1, span: Span::default() };
        self.push(code, place, text.into());
    }

    fn push(&mut self, code: DiagnosticCode, place: FindingPlace, text: FindingText) {
        let FindingPlace { file, line, column, span } = place;
        self.keep(Diagnostic {
            code,
            severity: text.severity.unwrap_or(code.severity()),
            file,
            line,
            column,
            message: shortened(text.message),
            help: text.help.map(shortened),
            span,
        });
    }

    fn keep(&mut self, one: Diagnostic) {
        let count = self.counts.entry(one.file.clone()).or_default();
        if count.is_full_for(one.severity) {
            count.skip(one.severity);
            return;
        }
        count.errors_kept += usize::from(one.severity == Severity::Error);
        if count.kept < FINDINGS_PER_FILE_MAX {
            count.kept += 1;
            self.diagnostics.push(one);
            return;
        }
        let lesser = |kept: &Diagnostic| kept.file == one.file && kept.severity < Severity::Error;
        if let Some(at) = self.diagnostics.iter().rposition(lesser) {
            count.skip(self.diagnostics[at].severity);
            self.diagnostics[at] = one;
        }
    }

    /// Adds all findings of another collection.
    pub fn append(&mut self, other: Self) {
        self.sources.extend(other.sources);
        for one in other.diagnostics {
            self.keep(one);
        }
        for (file, more) in other.counts {
            let count = self.counts.entry(file).or_default();
            count.not_shown += more.not_shown;
            count.errors_not_shown += more.errors_not_shown;
        }
    }

    /// Returns the findings ordered by file, line and column.
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut all: Vec<&Diagnostic> = self.diagnostics.iter().collect();
        all.sort_by_key(|one| (one.file.clone(), one.line, one.column, one.code));
        all.dedup();
        all
    }

    /// Returns the text of a file that has a finding; `None` for other files.
    pub fn source(&self, file: &str) -> Option<&SourceText> {
        self.sources.get(file)
    }

    /// Returns files with more findings than are kept, each with the number not shown.
    pub fn not_shown(&self) -> impl Iterator<Item = (&str, usize)> {
        let counts = self.counts.iter().filter(|(_, count)| count.not_shown > 0);
        counts.map(|(file, count)| (&**file, count.not_shown))
    }

    /// True if any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|one| one.severity == Severity::Error)
            || self.counts.values().any(|count| count.errors_not_shown > 0)
    }

    /// True if a file has an error.
    pub fn has_errors_in(&self, file: &str) -> bool {
        self.diagnostics.iter().any(|one| one.severity == Severity::Error && &*one.file == file)
            || self.counts.get(file).is_some_and(|count| count.errors_not_shown > 0)
    }

    /// Turns every warning into an error.
    pub fn promote_warnings(&mut self) {
        for one in &mut self.diagnostics {
            if one.severity == Severity::Warning {
                one.severity = Severity::Error;
            }
        }
    }

    /// Returns the number of findings that are kept.
    pub fn len(&self) -> usize {
        self.diagnostics.len()
    }

    /// True if there is no finding.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }
}

/// The message of a finding, with help and severity if given.
pub struct FindingText {
    message: String,
    help: Option<String>,
    severity: Option<Severity>,
}

impl FindingText {
    /// Creates the message that describes the defect.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, severity: None }
    }

    /// Adds the remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets a severity other than the usual one of the code.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }
}

impl From<String> for FindingText {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for FindingText {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

/// Shortens a message, since the text it quotes may be a megabyte.
fn shortened(text: String) -> String {
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Returns the candidate that was probably meant, if one is near enough.
pub fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = written.to_lowercase();
    let length = lower.chars().count();
    let allowed = |candidate: &str| (candidate.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .take(CANDIDATES_MAX)
        // A name of a megabyte would cost a table of that width for each candidate.
        .filter(|candidate| length.abs_diff(candidate.chars().count()) <= allowed(candidate))
        .map(|candidate| {
            (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, candidate)| *distance <= allowed(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns "did you mean …?" if a candidate is near, else the list of candidates.
pub fn suggestion(written: &str, candidates: &[&str]) -> String {
    const SHOWN: usize = 12;
    match nearest(written, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => "nothing of this kind exists here".to_owned(),
        None => {
            let mut known: Vec<&str> = candidates.to_vec();
            known.sort_unstable();
            let more = known.len().saturating_sub(SHOWN);
            known.truncate(SHOWN);
            let tail = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("known here: {}{tail}", known.join(", "))
        }
    }
}
