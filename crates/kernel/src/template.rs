//! Renders a Liquid template within a budget of steps and output.
//!
//! The engine has no limits of its own, so the runtime calls this in a confined process that also
//! bounds memory and time. The limits here are the same on every machine: elements rendered and
//! bytes written. A missing variable renders as empty and is reported.
//!
//! Must never: be called in the supervisor on an untrusted template.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{self, Write};

use agentry_agentfile::source::SourceText;
use liquid_core::model::{
    KString, KStringCow, KStringRef, Object, ScalarCow, Value, ValueCow, ValueView,
};
use liquid_core::parser;
use liquid_core::runtime::{
    Interrupt, InterruptRegister, PartialStore, Registers, RuntimeBuilder, Template,
};
use liquid_core::{Language, Renderable, Runtime};
use serde::{Deserialize, Serialize};

use crate::limits::{TEMPLATE_OUTPUT_BYTES_MAX, TEMPLATE_STEPS_MAX};

/// A template and its values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TemplateRequest {
    /// The text of the template.
    pub template: String,
    /// The values, by root: agent, user, conversation, turn, persona, facts, args.
    pub values: serde_json::Value,
}

/// The result of rendering a template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateOutcome {
    /// The template was rendered.
    Rendered {
        /// The rendered text.
        text: String,
        /// The dotted names of missing variables.
        missing: Vec<String>,
    },
    /// The template does not parse.
    Syntax {
        /// A description of the error.
        message: String,
        /// The line, from one.
        line: usize,
        /// The column, from one.
        column: usize,
    },
    /// The template exceeds its budget.
    Budget {
        /// The exhausted resource.
        what: String,
    },
    /// The template parses but fails to render.
    Failed {
        /// A description of the error.
        message: String,
        /// The line and column, from one; None if unknown.
        place: Option<(usize, usize)>,
    },
}

/// Renders a template.
pub fn render(request: &TemplateRequest) -> TemplateOutcome {
    let elements = match parser::parse(&request.template, &language()) {
        Ok(elements) => elements,
        Err(error) => return syntax(&error.to_string(), &request.template),
    };
    let values = match liquid_core::model::to_object(&request.values) {
        Ok(values) => values,
        Err(error) => {
            return TemplateOutcome::Failed {
                message: first_line(&error.to_string()),
                place: None,
            };
        }
    };
    run(&Template::new(elements), &values, &request.template)
}

fn run(template: &Template, values: &Object, text: &str) -> TemplateOutcome {
    let inner = RuntimeBuilder::new().set_globals(values).build();
    let runtime =
        BudgetedRuntime { inner: &inner, steps: Cell::new(0), missing: RefCell::default() };
    let mut output = CappedWriter { bytes: Vec::new(), full: false };
    let result = template.render_to(&mut output, &runtime);
    if runtime.is_over() {
        return TemplateOutcome::Budget { what: format!("more than {TEMPLATE_STEPS_MAX} steps") };
    }
    if output.full {
        return TemplateOutcome::Budget {
            what: format!("more than {TEMPLATE_OUTPUT_BYTES_MAX} bytes of text"),
        };
    }
    match result {
        Ok(()) => TemplateOutcome::Rendered {
            text: String::from_utf8_lossy(&output.bytes).into_owned(),
            missing: runtime.missing.into_inner().into_iter().collect(),
        },
        Err(error) => failure(&error.to_string(), text),
    }
}

/// Parses the engine's message on a failed rendering: text, `cause=why`, `filter=name : arguments`.
fn failure(message: &str, template: &str) -> TemplateOutcome {
    let after = |mark: &str| message.lines().find_map(|line| Some(line.split_once(mark)?.1.trim()));
    let mut words = lower_first(&first_line(message));
    if let Some(cause) = after("cause=") {
        words.push_str(&format!(": {}", lower_first(cause)));
    }
    let filter = after("filter=").and_then(|filter| filter.split([' ', ':']).next());
    if let Some(name) = filter {
        words.push_str(&format!(", in the filter `{name}`"));
    }
    TemplateOutcome::Failed {
        message: words,
        place: filter.map(|name| whereabouts(Some(name), template)),
    }
}

/// Returns Liquid as documented: the standard tags, blocks and filters. Includes are disabled, and
/// so is `date`: it reads the clock, and equal files must give an equal prompt.
fn language() -> Language {
    use liquid_lib::stdlib;
    let mut language = Language::empty();
    macro_rules! register {
        ($register:ident: $($name:literal => $plugin:expr),* $(,)?) => {
            $(language.$register.register($name.to_owned(), $plugin.into());)*
        };
    }
    register!(tags: "assign" => stdlib::AssignTag, "break" => stdlib::BreakTag,
        "continue" => stdlib::ContinueTag, "cycle" => stdlib::CycleTag,
        "increment" => stdlib::IncrementTag, "decrement" => stdlib::DecrementTag);
    register!(blocks: "raw" => stdlib::RawBlock, "if" => stdlib::IfBlock,
        "unless" => stdlib::UnlessBlock, "ifchanged" => stdlib::IfChangedBlock,
        "for" => stdlib::ForBlock, "tablerow" => stdlib::TableRowBlock,
        "comment" => stdlib::CommentBlock, "capture" => stdlib::CaptureBlock,
        "case" => stdlib::CaseBlock);
    register!(filters: "abs" => stdlib::Abs, "append" => stdlib::Append, "at_least" => stdlib::AtLeast,
        "at_most" => stdlib::AtMost, "capitalize" => stdlib::Capitalize, "ceil" => stdlib::Ceil,
        "compact" => stdlib::Compact, "concat" => stdlib::Concat,
        "default" => stdlib::Default, "divided_by" => stdlib::DividedBy, "downcase" => stdlib::Downcase,
        "escape" => stdlib::Escape, "escape_once" => stdlib::EscapeOnce, "first" => stdlib::First,
        "floor" => stdlib::Floor, "join" => stdlib::Join, "last" => stdlib::Last,
        "lstrip" => stdlib::Lstrip, "map" => stdlib::Map, "minus" => stdlib::Minus,
        "modulo" => stdlib::Modulo, "newline_to_br" => stdlib::NewlineToBr, "plus" => stdlib::Plus,
        "prepend" => stdlib::Prepend, "remove" => stdlib::Remove, "remove_first" => stdlib::RemoveFirst,
        "replace" => stdlib::Replace, "replace_first" => stdlib::ReplaceFirst,
        "reverse" => stdlib::Reverse, "round" => stdlib::Round, "rstrip" => stdlib::Rstrip,
        "size" => stdlib::Size, "slice" => stdlib::Slice, "sort" => stdlib::Sort,
        "sort_natural" => stdlib::SortNatural, "split" => stdlib::Split, "strip" => stdlib::Strip,
        "strip_html" => stdlib::StripHtml, "strip_newlines" => stdlib::StripNewlines,
        "times" => stdlib::Times, "truncate" => stdlib::Truncate,
        "truncatewords" => stdlib::TruncateWords, "uniq" => stdlib::Uniq, "upcase" => stdlib::Upcase,
        "url_decode" => stdlib::UrlDecode, "url_encode" => stdlib::UrlEncode, "where" => stdlib::Where);
    language
}

/// Parses the engine's message on a syntax error: `--> line:column`, the line, a mark, `= text`,
/// and `requested=name` for an unknown name.
fn syntax(message: &str, template: &str) -> TemplateOutcome {
    let after = |mark: &str| message.lines().find_map(|line| Some(line.split_once(mark)?.1.trim()));
    let place = after("--> ").and_then(|place| {
        let (line, column) = place.split_once(':')?;
        Some((line.parse().ok()?, column.parse().ok()?))
    });
    let words = after("= ").map_or_else(|| first_line(message), str::to_owned);
    let unknown = after("requested=").or_else(|| after("requested filter="));
    let (line, column) = place.unwrap_or_else(|| whereabouts(unknown, template));
    let words = words.trim_end_matches('.');
    let message = match unknown {
        Some(name) => format!("{} `{name}`", lower_first(words)),
        None => lower_first(words),
    };
    TemplateOutcome::Syntax { message, line, column }
}

/// Locates an unknown filter, for which the engine reports no place: it follows a bar.
fn whereabouts(name: Option<&str>, template: &str) -> (usize, usize) {
    let behind_a_bar = |name: &str| {
        template
            .match_indices(name)
            .map(|(at, _)| at)
            .find(|at| template[..*at].trim_end().ends_with('|'))
    };
    let byte = name.and_then(behind_a_bar).unwrap_or_default();
    SourceText::new("template", template).position(byte)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn first_line(message: &str) -> String {
    let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().trim_start_matches("liquid: ").to_owned()
}

/// A runtime that counts rendered elements. When the budget is exhausted, every loop breaks.
struct BudgetedRuntime<'a> {
    inner: &'a dyn Runtime,
    steps: Cell<u64>,
    missing: RefCell<BTreeSet<String>>,
}

impl BudgetedRuntime<'_> {
    fn is_over(&self) -> bool {
        self.steps.get() > TEMPLATE_STEPS_MAX
    }

    fn note_missing(&self, path: &[ScalarCow<'_>]) {
        let parts: Vec<String> = path.iter().map(|part| part.to_kstr().to_string()).collect();
        self.missing.borrow_mut().insert(parts.join("."));
    }
}

impl Runtime for BudgetedRuntime<'_> {
    fn partials(&self) -> &dyn PartialStore {
        self.inner.partials()
    }

    fn name(&self) -> Option<KStringRef<'_>> {
        self.inner.name()
    }

    fn roots(&self) -> BTreeSet<KStringCow<'_>> {
        self.inner.roots()
    }

    fn try_get(&self, path: &[ScalarCow<'_>]) -> Option<ValueCow<'_>> {
        self.inner.try_get(path)
    }

    fn get(&self, path: &[ScalarCow<'_>]) -> liquid_core::Result<ValueCow<'_>> {
        Ok(self.inner.try_get(path).unwrap_or_else(|| {
            self.note_missing(path);
            ValueCow::Owned(Value::Nil)
        }))
    }

    fn set_global(&self, name: KString, value: Value) -> Option<Value> {
        self.inner.set_global(name, value)
    }

    fn set_index(&self, name: KString, value: Value) -> Option<Value> {
        self.inner.set_index(name, value)
    }

    fn get_index<'a>(&'a self, name: &str) -> Option<ValueCow<'a>> {
        self.inner.get_index(name)
    }

    // The engine requests the registers after each element and after each round of a loop.
    fn registers(&self) -> &Registers {
        self.steps.set(self.steps.get() + 1);
        let registers = self.inner.registers();
        if self.is_over() {
            registers.get_mut::<InterruptRegister>().set(Interrupt::Break);
        }
        registers
    }
}

/// A writer that fails beyond the output budget.
struct CappedWriter {
    bytes: Vec<u8>,
    full: bool,
}

impl Write for CappedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > TEMPLATE_OUTPUT_BYTES_MAX {
            self.full = true;
            return Err(io::Error::other("the output budget is used up"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(template: &str) -> TemplateOutcome {
        let values = serde_json::json!({
            "agent": { "name": "Ada" }, "user": { "name": null }, "facts": { "list": [1, 2, 3] },
        });
        render(&TemplateRequest { template: template.to_owned(), values })
    }

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let TemplateOutcome::Rendered { text, .. } = outcome(template) else {
            panic!("{template}: {:?}", outcome(template));
        };
        assert_eq!(text, expected, "{template}");
    }

    #[test]
    fn values_and_conditions_render() {
        check("Hi {{ agent.name }}{% if user.name %}, {{ user.name }}{% endif %}!", "Hi Ada!");
        check("{% for i in facts.list %}{{ i }}{% endfor %}", "123");
    }

    #[test]
    fn a_missing_variable_is_nothing_and_is_named() {
        check("{{ nope.x | default: 'y' }}", "y");
        let missing = vec!["nope.x".to_owned()];
        assert_eq!(
            outcome("a{{ nope.x }}"),
            TemplateOutcome::Rendered { text: "a".to_owned(), missing }
        );
    }

    #[test]
    fn a_syntax_error_has_its_place() {
        for (template, expected) in [
            ("one\n  {{ agent. }}\n", (2, 12, "expected Identifier")),
            ("a\n{{ agent.name | shout }}", (2, 17, "unknown filter `shout`")),
            ("{% foo %}", (1, 4, "unknown tag `foo`")),
            ("a\n{% if x %}", (2, 11, "unclosed block. {% endif %} tag expected")),
        ] {
            let TemplateOutcome::Syntax { line, column, message } = outcome(template) else {
                panic!("{:?}", outcome(template));
            };
            assert_eq!((line, column, message.as_str()), expected, "{template}");
        }
    }

    #[test]
    fn a_failure_says_what_and_where() {
        let message =
            "invalid argument: can't divide by zero, in the filter `divided_by`".to_owned();
        let failed = TemplateOutcome::Failed { message, place: Some((2, 9)) };
        assert_eq!(outcome("a\n{{ 10 | divided_by: 0 }}"), failed);
    }

    #[test]
    fn nothing_can_be_included() {
        assert!(matches!(outcome("{% include 'x' %}"), TemplateOutcome::Syntax { .. }));
        assert!(matches!(outcome("{% render '../x' %}"), TemplateOutcome::Syntax { .. }));
    }

    #[test]
    fn a_loop_ends_with_the_step_budget() {
        let nested = "{% for i in (1..1000) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}";
        assert!(matches!(outcome(nested), TemplateOutcome::Budget { .. }), "{:?}", outcome(nested));
    }

    #[test]
    fn output_ends_with_the_output_budget() {
        let bomb = "{% for i in (1..90000) %}0123456789{% endfor %}";
        assert!(matches!(outcome(bomb), TemplateOutcome::Budget { .. }), "{:?}", outcome(bomb));
    }
}
