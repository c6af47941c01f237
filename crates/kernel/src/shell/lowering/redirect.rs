//! Redirections of a command: files read, files written, text on the standard input.
//!
//! Must never: treat a file as a descriptor; `>& name` writes a file.

use brush_parser::ast::{IoFileRedirectKind, IoFileRedirectTarget, IoRedirect};

use super::super::parse::ParsedScript;
use super::super::word::Kind;
use super::super::{ShellCommand, ShellWord};
use super::{InlineInput, LoweringContext, ShellContext};

impl LoweringContext {
    pub(super) fn redirect(
        &mut self,
        parsed: &ParsedScript,
        redirect: &IoRedirect,
        simple: &mut ShellCommand,
        around: &mut ShellContext,
    ) {
        match redirect {
            IoRedirect::File(_, kind, target) => {
                if let Some(word) = self.target(parsed, target, simple, around) {
                    add_file(simple, kind, word);
                }
            }
            IoRedirect::OutputAndError(word, _) => {
                let (word, fed) = self.word(parsed, &word.value, around);
                simple.fed_by.extend(fed);
                simple.writes.push(word);
            }
            IoRedirect::HereDocument(_, document) => {
                let body = parsed.written(&document.doc.value);
                if document.requires_expansion {
                    let (word, fed) = self.scanned(&body, Kind::Body, around);
                    simple.fed_by.extend(fed);
                    let exact = word.literal().is_some();
                    around.input = Some(InlineInput { text: word.text().to_owned(), exact });
                } else {
                    around.input = Some(InlineInput { text: body, exact: true });
                }
            }
            IoRedirect::HereString(_, word) => {
                let (word, fed) = self.word(parsed, &word.value, around);
                simple.fed_by.extend(fed);
                let exact = word.literal().is_some();
                around.input = Some(InlineInput { text: word.text().to_owned(), exact });
            }
        }
    }

    /// Returns the name of a redirection's file; None if it is none.
    fn target(
        &mut self,
        parsed: &ParsedScript,
        target: &IoFileRedirectTarget,
        simple: &mut ShellCommand,
        around: &ShellContext,
    ) -> Option<ShellWord> {
        match target {
            IoFileRedirectTarget::Fd(_) => None,
            IoFileRedirectTarget::ProcessSubstitution(_, process) => {
                let fed = self.process(parsed, process, around);
                simple.fed_by.extend(fed);
                None
            }
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                let (word, fed) = self.word(parsed, &word.value, around);
                simple.fed_by.extend(fed);
                Some(word)
            }
        }
    }
}

/// Adds the file that a redirection reads or writes.
fn add_file(simple: &mut ShellCommand, kind: &IoFileRedirectKind, word: ShellWord) {
    let text = word.text();
    let is_descriptor = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-');
    match kind {
        // Such a name is no file: the shell connects to a host.
        IoFileRedirectKind::Read
            if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") =>
        {
            simple.writes.push(word);
        }
        IoFileRedirectKind::Read => simple.reads.push(word),
        IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput
            if is_descriptor => {}
        IoFileRedirectKind::DuplicateInput => simple.reads.push(word),
        IoFileRedirectKind::Write
        | IoFileRedirectKind::Append
        | IoFileRedirectKind::Clobber
        | IoFileRedirectKind::ReadAndWrite
        | IoFileRedirectKind::DuplicateOutput => simple.writes.push(word),
    }
}
