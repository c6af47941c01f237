//! Lowers the words of a command: its arguments, its assignments, and the code inside them.
//!
//! Must never: skip a word that it cannot read; such a command is opaque.

use brush_parser::ast;
use brush_parser::ast::{AssignmentName, AssignmentValue};

use super::super::parse::ParsedScript;
use super::super::word::{Kind, scan};
use super::super::{ShellCommand, ShellWord};
use super::{LoweringContext, ShellContext};

impl LoweringContext {
    pub(super) fn argument(
        &mut self,
        parsed: &ParsedScript,
        written: &str,
        simple: &mut ShellCommand,
        around: &ShellContext,
    ) {
        let (word, fed) = self.word(parsed, written, around);
        simple.words.push(word);
        simple.fed_by.extend(fed);
    }

    pub(super) fn assignment(
        &mut self,
        parsed: &ParsedScript,
        assignment: &ast::Assignment,
        simple: &mut ShellCommand,
        around: &ShellContext,
    ) {
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name.clone(),
            AssignmentName::ArrayElementName(name, index) => {
                self.sum(parsed, index, around);
                name.clone()
            }
        };
        let values: Vec<&str> = match &assignment.value {
            AssignmentValue::Scalar(word) => vec![&word.value],
            AssignmentValue::Array(words) => words.iter().map(|(_, word)| &*word.value).collect(),
        };
        for value in values {
            let (word, fed) = self.word(parsed, value, around);
            simple.fed_by.extend(fed);
            simple.assigns.push((name.clone(), word));
        }
    }

    /// Lowers one word, and the commands whose output it contains.
    pub(super) fn word(
        &mut self,
        parsed: &ParsedScript,
        written: &str,
        around: &ShellContext,
    ) -> (ShellWord, Vec<usize>) {
        self.scanned(&parsed.written(written), Kind::Word, around)
    }

    pub(super) fn scanned(
        &mut self,
        written: &str,
        kind: Kind,
        around: &ShellContext,
    ) -> (ShellWord, Vec<usize>) {
        let scanned = scan(written, kind);
        let mut fed = Vec::new();
        for code in &scanned.code {
            fed.extend(self.inner(code, &ShellContext { input: None, ..around.clone() }));
        }
        scanned.opaque.into_iter().for_each(|why| self.opaque(why));
        (scanned.word(), fed)
    }
}
