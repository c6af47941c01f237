//! Sentences for the generated files, drawn from word lists by a small counter of its own.
//!
//! Must never: write text that YAML or a template language would read as more than words.

const VERBS: [&str; 10] = [
    "review",
    "draft",
    "parse",
    "convert",
    "summarize",
    "audit",
    "translate",
    "plan",
    "measure",
    "migrate",
];
const NOUNS: [&str; 11] = [
    "invoices",
    "changelogs",
    "logs",
    "schemas",
    "tests",
    "tickets",
    "contracts",
    "diagrams",
    "queries",
    "releases",
    "budgets",
];
const ROLES: [&str; 7] =
    ["builder", "reviewer", "writer", "analyst", "keeper", "scout", "translator"];
const MANNERS: [&str; 9] = [
    "step by step",
    "with the team's own words",
    "without touching the originals",
    "in small batches",
    "against the written rules",
    "from the newest to the oldest",
    "and note every assumption",
    "and stop at the first doubt",
    "with one example for each case",
];
const PURPOSES: [&str; 8] = [
    "so that a reviewer can follow each change",
    "so that the result can be repeated by somebody else",
    "before anything is sent to a customer",
    "until the list of open questions is empty",
    "while the originals stay where they are",
    "as the handbook of the project asks",
    "even when the input is larger than expected",
    "whenever a person asks for a second look",
];

const STEPS: std::ops::RangeInclusive<usize> = 7..=12;
const PITFALLS: usize = 3;

pub(crate) struct SentenceGenerator {
    index: usize,
    // Only advances; a draw never depends on anything else.
    state: u64,
}

impl SentenceGenerator {
    pub(crate) fn of(index: usize) -> SentenceGenerator {
        SentenceGenerator { index, state: index as u64 }
    }

    pub(crate) fn verb(&self) -> &'static str {
        VERBS[self.index % VERBS.len()]
    }

    pub(crate) fn noun(&self) -> &'static str {
        NOUNS[self.index % NOUNS.len()]
    }

    pub(crate) fn role(&self) -> &'static str {
        ROLES[self.index % ROLES.len()]
    }

    /// Returns a capital letter, words, a period. No colon, quote or brace.
    pub(crate) fn sentence(&mut self) -> String {
        let (verb, noun) = (self.drawn(&VERBS), self.drawn(&NOUNS));
        let (manner, purpose) = (self.drawn(&MANNERS), self.drawn(&PURPOSES));
        let (initial, rest) = verb.split_at(1);
        format!("{}{rest} the {noun} {manner}, {purpose}.", initial.to_uppercase())
    }

    pub(crate) fn skill_body(&mut self, name: &str) -> String {
        let (opening, steps, pitfalls) = (self.sentence(), self.steps(), self.pitfalls());
        let (verb, noun) = (self.verb(), self.noun());
        format!(
            "# {name}\n\n{opening}\n\n## Steps\n\n{steps}\n## Example\n\n\
             ```text\n{verb} {noun} --from drafts --to results\n3 files read, 1 question left\n\
             ```\n\n## Pitfalls\n\n{pitfalls}"
        )
    }

    pub(crate) fn agent_body(&mut self, name: &str) -> String {
        let (role, opening) = (self.role(), self.sentence());
        let (steps, pitfalls) = (self.steps(), self.pitfalls());
        format!(
            "# {name}\n\nYou are the {role} of a small team. {opening}\n\n\
             ## How you work\n\n{steps}\n## What you avoid\n\n{pitfalls}"
        )
    }

    fn steps(&mut self) -> String {
        let spread = STEPS.end() - STEPS.start() + 1;
        let count = STEPS.start() + self.draw() % spread;
        (1..=count).map(|number| format!("{number}. {}\n", self.sentence())).collect()
    }

    fn pitfalls(&mut self) -> String {
        (0..PITFALLS).map(|_| format!("- {}\n", self.sentence())).collect()
    }

    fn drawn(&mut self, words: &[&'static str]) -> &'static str {
        words[self.draw() % words.len()]
    }

    /// Draws by SplitMix64, cut to the bits that every machine's index can hold.
    fn draw(&mut self) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed >> 40) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_plain_words() {
        let mut prose = SentenceGenerator::of(7);
        for _ in 0..1_000 {
            let sentence = prose.sentence();
            assert!(sentence.starts_with(char::is_uppercase), "{sentence}");
            assert!(!sentence.contains([':', '"', '#', '{', '\n']), "{sentence}");
        }
    }

    #[test]
    fn different_numbers_say_different_things() {
        assert_ne!(
            SentenceGenerator::of(1).skill_body("x"),
            SentenceGenerator::of(111).skill_body("x")
        );
    }
}
