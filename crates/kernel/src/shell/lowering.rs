//! Lowers the syntax tree to simple commands, with their order, inputs and written files.
//!
//! Both sides of a condition and every iteration of a loop count as run.
//!
//! Must never: leave out a command that some path through the text would execute.

mod embedded_code;
mod redirect;
mod unwrap;
mod words;
mod wrapper;

use brush_parser::ast;
use brush_parser::ast::{
    AndOr, BinaryPredicate, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
    CompoundList, ExtendedTestExpr, SourceLocation,
};

use super::parse::{ParsedScript, parse};
use super::word::{Kind, scan};
use super::{ShellCommand, ShellFacts, ShellWord, word_split};
use crate::limits::{SHELL_CODE_DEPTH_MAX, SHELL_COMMANDS_MAX};

/// Returns the facts of a whole text.
pub(super) fn lower_text(text: &str) -> ShellFacts {
    let mut lowering = LoweringContext { starts: starts(text), ..LoweringContext::default() };
    lowering.code(text, &ShellContext::default());
    lowering.check_sums(text);
    ShellFacts { commands: lowering.commands, opaque: lowering.opaque }
}

/// True if a text may hold arithmetic: brackets, comparisons, an array index, part of a value.
fn has_sum(text: &str) -> bool {
    let sums = ["((", "$[", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "let ", "-v ", "]=", "]+="];
    let is_piece = |inside: &str| {
        let after = inside.split_once(':').and_then(|(_, after)| after.chars().next());
        inside.contains('[') || after.is_some_and(|c| !"-=?+".contains(c))
    };
    sums.iter().any(|sum| text.contains(sum))
        || text.split("${").skip(1).any(|rest| is_piece(rest.split('}').next().unwrap_or(rest)))
}

/// Returns the byte offsets of characters; empty if all characters are one byte.
fn starts(text: &str) -> Vec<usize> {
    let starts = text.char_indices().map(|(at, _)| at);
    if text.is_ascii() { Vec::new() } else { starts.chain([text.len()]).collect() }
}

/// The commands and state collected while lowering.
#[derive(Default)]
struct LoweringContext {
    commands: Vec<ShellCommand>,
    opaque: Option<String>,
    dir: Option<ShellWord>,
    depth: usize,
    starts: Vec<usize>,
}

/// The surroundings of a command: its wrappers and inputs.
#[derive(Clone, Default)]
struct ShellContext {
    wrappers: Vec<String>,
    fed_by: Vec<usize>,
    /// Variables set for all commands inside.
    assigns: Vec<(String, ShellWord)>,
    /// The text on its standard input, if the command itself contains it.
    input: Option<InlineInput>,
    /// The byte range of the outer command, for nested code.
    place: Option<(usize, usize)>,
    dir: Option<ShellWord>,
}

/// A heredoc or here-string.
#[derive(Clone)]
struct InlineInput {
    text: String,
    exact: bool,
}

impl LoweringContext {
    /// Records why the text is not fully understood; the first reason is kept.
    fn opaque(&mut self, why: impl Into<String>) {
        self.opaque.get_or_insert_with(|| why.into());
    }

    /// Arithmetic executes substitutions in variables, so values must not come from elsewhere.
    fn check_sums(&mut self, text: &str) {
        let reads = ["read", "readarray", "mapfile", "printf", "getopts"];
        let fills = |simple: &ShellCommand| match simple.program() {
            Some("printf") => simple.arguments().iter().any(|word| word.text().starts_with("-v")),
            name => name.is_some_and(|name| reads.contains(&name)),
        };
        let executable = |word: &ShellWord| word.text().contains("$(") || word.text().contains('`');
        let values: Vec<&ShellWord> = self
            .commands
            .iter()
            .flat_map(|simple| &simple.assigns)
            .map(|(_, value)| value)
            .collect();
        let holds = values.iter().any(|value| value.literal().is_some() && executable(value));
        // The output of a substitution may be such a text too.
        let made = values.iter().any(|value| value.literal().is_none() && executable(value));
        let filled = self.commands.iter().any(fills);
        if holds {
            self.opaque("a variable holds text that may be executed");
        }
        if (filled || made) && has_sum(text) {
            self.opaque("a sum or test over what was read");
        }
    }

    /// Lowers a piece of shell code and returns the positions of its commands.
    fn code(&mut self, text: &str, around: &ShellContext) -> Vec<usize> {
        let start = self.commands.len();
        if self.depth >= SHELL_CODE_DEPTH_MAX {
            self.opaque(format!("code in code more than {SHELL_CODE_DEPTH_MAX} deep"));
            return Vec::new();
        }
        self.depth += 1;
        match parse(text) {
            Ok(parsed) => {
                for list in &parsed.program.complete_commands {
                    self.list(&parsed, list, around);
                }
                if !parsed.is_whole() {
                    self.rough(text, around, "a heredoc where none can be");
                }
            }
            Err(why) => self.rough(text, around, why),
        }
        self.depth -= 1;
        (start..self.commands.len()).collect()
    }

    /// Collects the commands of a text that cannot be parsed, as far as possible.
    fn rough(&mut self, text: &str, around: &ShellContext, why: impl Into<String>) {
        self.opaque(why);
        for words in word_split::commands(text) {
            self.settle(ShellCommand { words, ..ShellCommand::default() }, around);
        }
    }

    /// Lowers code that runs in a shell of its own: its `cd` ends with it.
    fn inner(&mut self, text: &str, around: &ShellContext) -> Vec<usize> {
        let dir = self.dir.clone();
        self.dir = around.dir.clone().or_else(|| dir.clone());
        let commands = self.code(text, around);
        self.dir = dir;
        commands
    }

    fn list(&mut self, parsed: &ParsedScript, list: &CompoundList, around: &ShellContext) {
        for item in &list.0 {
            self.pipeline(parsed, &item.0.first, around);
            for next in &item.0.additional {
                match next {
                    AndOr::And(pipeline) | AndOr::Or(pipeline) => {
                        self.pipeline(parsed, pipeline, around);
                    }
                }
            }
        }
    }

    fn pipeline(&mut self, parsed: &ParsedScript, pipeline: &ast::Pipeline, around: &ShellContext) {
        let mut around = around.clone();
        for command in &pipeline.seq {
            let start = self.commands.len();
            self.command(parsed, command, &around);
            // Each part may receive the output of all earlier parts of the pipe.
            around.fed_by.extend(start..self.commands.len());
            around.input = None;
        }
    }

    fn command(&mut self, parsed: &ParsedScript, command: &Command, around: &ShellContext) {
        match command {
            Command::Simple(simple) => self.simple(parsed, simple, around),
            Command::Compound(compound, redirects) => {
                let around = self.around_group(parsed, redirects.as_ref(), around);
                self.compound(parsed, compound, &around);
            }
            Command::Function(function) => {
                self.opaque("it defines a function");
                let around = self.around_group(parsed, function.body.1.as_ref(), around);
                self.note_recursion(parsed, function, &around);
                self.compound(parsed, &function.body.0, &around);
            }
            Command::ExtendedTest(test, redirects) => {
                let around = self.around_group(parsed, redirects.as_ref(), around);
                self.test(parsed, &test.expr, &around);
            }
        }
    }

    /// Keeps a function as a command of its own, so that rules can detect recursion.
    fn note_recursion(
        &mut self,
        parsed: &ParsedScript,
        function: &ast::FunctionDefinition,
        around: &ShellContext,
    ) {
        let words = vec![
            ShellWord::Literal("function".to_owned()),
            ShellWord::Literal(parsed.written(&function.fname.value)),
        ];
        self.push(ShellCommand {
            words,
            wrappers: around.wrappers.clone(),
            ..ShellCommand::default()
        });
    }

    /// Handles a group's redirections: records written files once, passes the input to all inside.
    fn around_group(
        &mut self,
        parsed: &ParsedScript,
        redirects: Option<&ast::RedirectList>,
        around: &ShellContext,
    ) -> ShellContext {
        let mut around = around.clone();
        let mut group =
            ShellCommand { wrappers: around.wrappers.clone(), ..ShellCommand::default() };
        for redirect in redirects.map(|list| list.0.as_slice()).unwrap_or_default() {
            self.redirect(parsed, redirect, &mut group, &mut around);
        }
        if !group.writes.is_empty() || !group.reads.is_empty() {
            group.dir.clone_from(&self.dir);
            self.push(group);
        }
        around
    }

    fn compound(
        &mut self,
        parsed: &ParsedScript,
        compound: &CompoundCommand,
        around: &ShellContext,
    ) {
        match compound {
            CompoundCommand::Arithmetic(sum) => self.sum(parsed, &sum.expr.value, around),
            CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater] {
                    self.sum(parsed, part.as_ref().map_or("", |part| &part.value), around);
                }
                self.list(parsed, &clause.body.list, around);
            }
            CompoundCommand::BraceGroup(group) => self.list(parsed, &group.list, around),
            CompoundCommand::Subshell(group) => {
                let dir = self.dir.clone();
                self.list(parsed, &group.list, around);
                self.dir = dir;
            }
            CompoundCommand::ForClause(clause) => self.for_each(parsed, clause, around),
            CompoundCommand::CaseClause(clause) => {
                self.word(parsed, &clause.value.value, around);
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(parsed, &pattern.value, around);
                    }
                    case.cmd.iter().for_each(|list| self.list(parsed, list, around));
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(parsed, &clause.condition, around);
                self.list(parsed, &clause.then, around);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(parsed, list, around));
                    self.list(parsed, &other.body, around);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(parsed, &clause.0, around);
                self.list(parsed, &clause.1.list, around);
            }
            CompoundCommand::Coprocess(process) => self.command(parsed, &process.body, around),
        }
    }

    /// Records each value of the loop variable as an assignment.
    fn for_each(
        &mut self,
        parsed: &ParsedScript,
        clause: &ast::ForClauseCommand,
        around: &ShellContext,
    ) {
        let mut assigns = Vec::new();
        let mut fed_by = Vec::new();
        for value in clause.values.iter().flatten() {
            let (word, fed) = self.word(parsed, &value.value, around);
            assigns.push((clause.variable_name.clone(), word));
            fed_by.extend(fed);
        }
        let wrappers = around.wrappers.clone();
        self.push(ShellCommand { assigns, wrappers, fed_by, ..ShellCommand::default() });
        self.list(parsed, &clause.body.list, around);
    }

    fn test(&mut self, parsed: &ParsedScript, test: &ExtendedTestExpr, around: &ShellContext) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(parsed, left, around);
                self.test(parsed, right, around);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.test(parsed, inner, around);
            }
            ExtendedTestExpr::UnaryTest(_, word) => self.operand(parsed, &word.value, around),
            ExtendedTestExpr::BinaryTest(kind, left, right) => {
                self.operand(parsed, &left.value, around);
                self.operand(parsed, &right.value, around);
                let is_sum = matches!(
                    kind,
                    BinaryPredicate::ArithmeticEqualTo
                        | BinaryPredicate::ArithmeticNotEqualTo
                        | BinaryPredicate::ArithmeticLessThan
                        | BinaryPredicate::ArithmeticLessThanOrEqualTo
                        | BinaryPredicate::ArithmeticGreaterThan
                        | BinaryPredicate::ArithmeticGreaterThanOrEqualTo
                );
                let sides = [&left.value, &right.value].map(|side| parsed.written(side));
                if is_sum && sides.iter().any(|side| side.contains("$(") || side.contains('`')) {
                    self.opaque("a sum over what a command prints");
                }
            }
        }
    }

    /// Checks an operand: it may be arithmetic, and an array index in arithmetic is executed.
    fn operand(&mut self, parsed: &ParsedScript, written: &str, around: &ShellContext) {
        let (word, _) = self.word(parsed, written, around);
        if word.literal().is_some_and(|text| text.contains("$(") || text.contains('`')) {
            self.opaque("a test on text that may be executed");
        }
    }

    fn sum(&mut self, parsed: &ParsedScript, written: &str, around: &ShellContext) {
        let scanned = scan(&parsed.written(written), Kind::Body);
        for code in &scanned.code {
            self.opaque("a sum over what a command prints");
            self.inner(code, around);
        }
        scanned.opaque.into_iter().for_each(|why| self.opaque(why));
    }

    fn simple(
        &mut self,
        parsed: &ParsedScript,
        command: &ast::SimpleCommand,
        around: &ShellContext,
    ) {
        let mut around = around.clone();
        let mut simple =
            ShellCommand { place: self.place(command, &around), ..ShellCommand::default() };
        around.place = simple.place;
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in prefix {
            self.item(parsed, item, &mut simple, &mut around);
        }
        if let Some(name) = &command.word_or_name {
            self.argument(parsed, &name.value, &mut simple, &around);
        }
        for item in suffix {
            self.item(parsed, item, &mut simple, &mut around);
        }
        self.settle(simple, &around);
    }

    fn place(&self, command: &ast::SimpleCommand, around: &ShellContext) -> Option<(usize, usize)> {
        if self.depth > 1 {
            return around.place;
        }
        let span = command.location()?;
        let byte = |at: usize| self.starts.get(at).copied().unwrap_or(at);
        Some((byte(span.start.index), byte(span.end.index)))
    }

    fn item(
        &mut self,
        parsed: &ParsedScript,
        item: &Item,
        simple: &mut ShellCommand,
        around: &mut ShellContext,
    ) {
        match item {
            Item::IoRedirect(redirect) => self.redirect(parsed, redirect, simple, around),
            Item::Word(word) => self.argument(parsed, &word.value, simple, around),
            // After the name an assignment is an argument, interpreted by the program.
            Item::AssignmentWord(_, word) if !simple.words.is_empty() => {
                self.argument(parsed, &word.value, simple, around);
            }
            Item::AssignmentWord(assignment, _) => {
                self.assignment(parsed, assignment, simple, around);
            }
            Item::ProcessSubstitution(_, process) => {
                let fed = self.process(parsed, process, around);
                simple.fed_by.extend(fed);
                simple.words.push(ShellWord::Dynamic("<(…)".to_owned()));
            }
        }
    }

    fn process(
        &mut self,
        parsed: &ParsedScript,
        process: &ast::SubshellCommand,
        around: &ShellContext,
    ) -> Vec<usize> {
        let start = self.commands.len();
        let dir = self.dir.clone();
        self.list(
            parsed,
            &process.list,
            &ShellContext { fed_by: Vec::new(), input: None, ..around.clone() },
        );
        self.dir = dir;
        (start..self.commands.len()).collect()
    }

    /// Adds a complete command: wrappers are removed, code inside is followed.
    fn settle(&mut self, mut simple: ShellCommand, around: &ShellContext) {
        simple.wrappers.clone_from(&around.wrappers);
        simple.fed_by.extend(&around.fed_by);
        simple.assigns.extend(around.assigns.iter().cloned());
        simple.place = simple.place.or(around.place);
        simple.dir = simple.dir.or_else(|| self.dir.clone());
        unwrap::settle(self, simple, around.input.as_ref());
    }

    /// Keeps a command, within the limit.
    fn push(&mut self, mut simple: ShellCommand) {
        if self.commands.len() >= SHELL_COMMANDS_MAX {
            self.opaque(format!("more than {SHELL_COMMANDS_MAX} commands"));
            return;
        }
        simple.fed_by.sort_unstable();
        simple.fed_by.dedup();
        if matches!(simple.program(), Some("cd" | "pushd" | "popd")) {
            self.enter(&simple);
        }
        self.commands.push(simple);
    }

    fn enter(&mut self, simple: &ShellCommand) {
        let operand = simple.arguments().iter().find(|word| !word.text().starts_with('-'));
        let target = operand.cloned().unwrap_or_else(|| ShellWord::Dynamic("~".to_owned()));
        self.dir = Some(entered(self.dir.as_ref(), target));
    }
}

/// Returns the directory after a `cd` from another one.
fn entered(dir: Option<&ShellWord>, target: ShellWord) -> ShellWord {
    let is_relative = target.literal().is_some_and(|text| !text.starts_with('/'));
    match dir.filter(|_| is_relative) {
        Some(dir) => dir.with(&format!("{}/{}", dir.text(), target.text())),
        None => target,
    }
}
