//! What is wrong with a file, where, and what to do about it.
//!
//! Findings are gathered, never thrown: one defect must not hide the next.
//!
//! Must never: print, or decide what happens because of a finding.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

pub use crate::code::{Code, Severity};
use crate::limits::FINDINGS_PER_FILE_MAX;
use crate::source::{Source, Span};

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    /// What is wrong, for machines.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The file, as people see it.
    pub file: Arc<str>,
    /// The line, from one.
    pub line: usize,
    /// The column, from one.
    pub column: usize,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The bytes of the file that are meant; used for the caret.
    #[serde(skip)]
    pub span: Span,
}

/// All findings of one reading, with the texts they speak of.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    diagnostics: Vec<Diagnostic>,
    // Keyed by file name; holds each source a finding points into, for the excerpts.
    sources: BTreeMap<Arc<str>, Source>,
    // How many findings each file has; beyond the limit only this number grows.
    counts: BTreeMap<Arc<str>, usize>,
}

impl Findings {
    /// Notes a finding at a place in a text.
    pub fn at(&mut self, code: Code, source: &Source, span: Span, text: impl Into<Text>) {
        let (line, column) = source.position(span.start);
        self.sources.entry(source.file.clone()).or_insert_with(|| source.clone());
        self.push(code, (source.file.clone(), line, column, span), text.into());
    }

    /// Notes a finding about a file as a whole.
    pub fn about(&mut self, code: Code, file: impl Into<Arc<str>>, text: impl Into<Text>) {
        self.push(code, (file.into(), 1, 1, Span::default()), text.into());
    }

    fn push(&mut self, code: Code, place: (Arc<str>, usize, usize, Span), text: Text) {
        let (file, line, column, span) = place;
        let count = self.counts.entry(file.clone()).or_default();
        *count += 1;
        if *count > FINDINGS_PER_FILE_MAX {
            return;
        }
        self.diagnostics.push(Diagnostic {
            code,
            severity: text.severity.unwrap_or(code.severity()),
            file,
            line,
            column,
            message: text.message,
            help: text.help,
            span,
        });
    }

    /// Takes over the findings of another reading.
    pub fn append(&mut self, other: Self) {
        self.diagnostics.extend(other.diagnostics);
        self.sources.extend(other.sources);
        for (file, count) in other.counts {
            *self.counts.entry(file).or_default() += count;
        }
    }

    /// The findings by file, line and column.
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut all: Vec<&Diagnostic> = self.diagnostics.iter().collect();
        all.sort_by_key(|one| (one.file.clone(), one.line, one.column, one.code));
        all.dedup();
        all
    }

    /// The text a finding points into, when it is one.
    pub fn source(&self, file: &str) -> Option<&Source> {
        self.sources.get(file)
    }

    /// Files with more findings than are kept, and how many are not shown.
    pub fn not_shown(&self) -> impl Iterator<Item = (&str, usize)> {
        self.counts.iter().filter_map(|(file, count)| {
            let more = count.checked_sub(FINDINGS_PER_FILE_MAX)?;
            (more > 0).then_some((&**file, more))
        })
    }

    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|one| one.severity == Severity::Error)
    }

    /// Whether a file has an error.
    pub fn has_errors_in(&self, file: &str) -> bool {
        self.diagnostics.iter().any(|one| one.severity == Severity::Error && &*one.file == file)
    }

    /// Makes every warning an error.
    pub fn be_strict(&mut self) {
        for one in &mut self.diagnostics {
            if one.severity == Severity::Warning {
                one.severity = Severity::Error;
            }
        }
    }

    /// How many findings there are.
    pub fn len(&self) -> usize {
        self.diagnostics.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }
}

/// The words of a finding.
pub struct Text {
    message: String,
    help: Option<String>,
    severity: Option<Severity>,
}

impl Text {
    /// What is wrong.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, severity: None }
    }

    /// What to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Another severity than the code usually has.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }
}

impl From<String> for Text {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Text {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

/// The candidate that was probably meant, if one is near enough.
pub fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = written.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).clamp(1, 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean …?" when a candidate is near, else the list of what exists.
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
