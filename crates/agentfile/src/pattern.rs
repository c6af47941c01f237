//! Checks regular expressions of definition files, and describes their defects.
//!
//! Must never: accept an expression that cannot run in linear time.

use regex::RegexBuilder;

use crate::diagnostic::FindingText;
use crate::limits::REGEX_BYTES_MAX;

/// Returns the message for an expression that does not compile.
pub(crate) fn defect(pattern: &str) -> Option<FindingText> {
    let error = RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build().err()?;
    let words = error.to_string();
    let words = words.lines().last().unwrap_or_default().trim_start_matches("error: ");
    let text = FindingText::new(format!("the regular expression does not compile: {words}")).help(
        "look-around and back-references are not supported; they cannot be run in linear time",
    );
    Some(text)
}

/// Like `defect`, for an expression that must match a whole text.
pub(crate) fn defect_of_whole(pattern: &str) -> Option<FindingText> {
    // Alone first: `a)(b` compiles only in brackets.
    defect(pattern).or_else(|| defect(&format!("^(?:{pattern})$")))
}
