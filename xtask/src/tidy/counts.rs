//! Counts that may only go down: names, shapes, cycles and prose, each with its budget.
//!
//! Must never: let a count rise, or a budget stay above its count.

use crate::limits::FINDING_PLACES_MAX;
use crate::tidy::{
    TidyFinding, code_shape,
    cycles::{Cycle, cycles},
    doc_comments::prose,
    tree::SourceTree,
    type_names::{self, TypeDefinition},
};

/// The budgets stand here, so that lowering one is a change of one line.
const BUDGETS: &str = "xtask/src/tidy/counts.rs";

/// A count with its budget, and the places that it counts.
pub(crate) struct BudgetedCount {
    pub(crate) name: &'static str,
    pub(crate) budget: usize,
    pub(crate) count: usize,
    places: Vec<String>,
    remedy: &'static str,
}

impl BudgetedCount {
    fn of(name: &'static str, budget: usize, places: Vec<String>, remedy: &'static str) -> Self {
        Self { name, budget, count: places.len(), places, remedy }
    }

    fn finding(&self) -> Option<TidyFinding> {
        let Self { name, budget, count, .. } = self;
        if count < budget {
            let remedy = format!("Lower the budget of \"{name}\" to {count}");
            return Some(TidyFinding::new(
                BUDGETS,
                1,
                format!("{name}: {count}, budget {budget}"),
                remedy,
            ));
        }
        (count > budget).then(|| {
            let mut places: Vec<&str> = self.places.iter().map(String::as_str).collect();
            places.truncate(FINDING_PLACES_MAX);
            let problem = format!("{name}: {count}, budget {budget}: {}", places.join(", "));
            TidyFinding::new(BUDGETS, 1, problem, self.remedy)
        })
    }
}

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    counts(tree).iter().filter_map(BudgetedCount::finding).collect()
}

/// Returns all counts of the tree.
pub(crate) fn counts(tree: &SourceTree) -> Vec<BudgetedCount> {
    let mut counts = counts_of_names(tree);
    counts.extend(counts_of_shapes(tree));
    counts.extend(counts_of_cycles(tree));
    counts.extend(counts_of_prose(tree));
    counts
}

fn counts_of_names(tree: &SourceTree) -> Vec<BudgetedCount> {
    let definitions = type_names::definitions(tree);
    let glossary = type_names::glossary_types(tree, &definitions);
    vec![
        BudgetedCount::of(
            "type names that a crate defines twice",
            0,
            groups(&type_names::shared_in_room(&definitions)),
            "Add the qualifier that tells the type from its neighbours",
        ),
        BudgetedCount::of(
            "type names that the workspace defines twice",
            0,
            groups(&type_names::shared_in_workspace(&definitions)),
            "Add the qualifier that tells the type from its neighbours",
        ),
        BudgetedCount::of(
            "types named by a participle",
            0,
            type_names::participles(&definitions).into_iter().map(place).collect(),
            "Name the thing by a noun",
        ),
        BudgetedCount::of(
            "types of the glossary that are not defined once",
            0,
            glossary.iter().map(|(name, count)| format!("{name} ({count} times)")).collect(),
            "Rename the other type, or mend docs/glossary.md",
        ),
    ]
}

fn counts_of_shapes(tree: &SourceTree) -> Vec<BudgetedCount> {
    const ERROR_REMEDY: &str = "Handle the error, return it, or log it with its cause";
    let lines = |found: Vec<code_shape::CodeLine>| {
        found.iter().map(|one| format!("{}:{}", one.path, one.line)).collect()
    };
    vec![
        BudgetedCount::of(
            "functions with a tuple parameter",
            0,
            lines(code_shape::tuple_parameters(tree)),
            "Give the group of arguments a struct with a name",
        ),
        BudgetedCount::of(
            "errors discarded with `.unwrap_or_default();`",
            0,
            lines(code_shape::defaults_of_errors(tree)),
            ERROR_REMEDY,
        ),
        // Each is the body of a small function that does only this, and whose doc says why the error
        // does not matter: a message to a thread, process or client that may be gone, a signal to a
        // process that may have ended, the join of a thread that reports its own panic, the removal
        // of a temporary file after a first error, a line to stderr, and what a `Drop` leaves behind.
        BudgetedCount::of(
            "errors discarded with `.ok();`",
            39,
            lines(code_shape::ignored_errors(tree)),
            ERROR_REMEDY,
        ),
        BudgetedCount::of(
            "matches on a bool",
            0,
            lines(code_shape::bool_matches(tree)),
            "Use `if` and `else`",
        ),
    ]
}

fn counts_of_cycles(tree: &SourceTree) -> Vec<BudgetedCount> {
    let cycles = cycles(tree);
    vec![
        modules_in_cycles("top modules in import cycles", 0, &cycles, |one| one.parent.is_empty()),
        modules_in_cycles("nested modules in import cycles", 0, &cycles, |one| {
            !one.parent.is_empty()
        }),
    ]
}

fn counts_of_prose(tree: &SourceTree) -> Vec<BudgetedCount> {
    let prose = prose(tree);
    let places = |found: &[(String, usize)]| {
        found.iter().map(|(path, line)| format!("{path}:{line}")).collect()
    };
    vec![
        BudgetedCount::of(
            "doc summaries that begin with a clause",
            0,
            places(&prose.clauses),
            "Begin with the noun, or with a verb in the third person",
        ),
        BudgetedCount::of(
            "words in comments that name nothing",
            0,
            places(&prose.vague),
            "Name who or what it is",
        ),
    ]
}

fn modules_in_cycles(
    name: &'static str,
    budget: usize,
    cycles: &[Cycle],
    counts: impl Fn(&Cycle) -> bool,
) -> BudgetedCount {
    let places = cycles.iter().filter(|one| counts(one)).flat_map(|one| {
        let Cycle { room, parent, modules } = one;
        let parts = move |module| {
            [room, parent, module].into_iter().filter(|part: &&String| !part.is_empty())
        };
        modules.iter().map(move |module| parts(module).cloned().collect::<Vec<_>>().join("::"))
    });
    BudgetedCount::of(
        name,
        budget,
        places.collect(),
        "Move what both need into a module below them",
    )
}

fn groups(groups: &[Vec<&TypeDefinition>]) -> Vec<String> {
    groups.iter().filter_map(|group| group.first()).map(|one| place(one)).collect()
}

fn place(one: &TypeDefinition) -> String {
    format!("{} ({}:{})", one.name, one.path, one.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(budget: usize, places: &[&str]) -> Option<String> {
        let places = places.iter().map(|place| (*place).to_owned()).collect();
        BudgetedCount::of("things", budget, places, "Mend it").finding().map(|one| one.to_string())
    }

    #[test]
    fn a_count_may_neither_rise_nor_stay_below_its_budget() {
        assert_eq!(count(1, &["a"]), None);
        let risen = "xtask/src/tidy/counts.rs:1: things: 2, budget 1: a, b. Mend it.";
        assert_eq!(count(1, &["a", "b"]).as_deref(), Some(risen));
        let fallen = "xtask/src/tidy/counts.rs:1: things: 1, budget 2. \
                      Lower the budget of \"things\" to 1.";
        assert_eq!(count(2, &["a"]).as_deref(), Some(fallen));
    }
}
