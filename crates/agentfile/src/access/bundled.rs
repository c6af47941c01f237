//! The bundled policies. Those that are enabled admit only the owner.
//!
//! Must never: admit another principal by default.

use std::sync::OnceLock;

use super::{Policy, read};
use crate::diagnostic::Findings;
use crate::source::SourceText;

/// The files, by the name that findings and origins show.
pub const STOCK: [(&str, &str); 4] = [
    ("built-in/owner.yml", include_str!("../../data/access/owner.yml")),
    ("built-in/people.yml", include_str!("../../data/access/people.yml")),
    ("built-in/places.yml", include_str!("../../data/access/places.yml")),
    ("built-in/programs.yml", include_str!("../../data/access/programs.yml")),
];

/// Returns the bundled policies.
pub fn bundled_policies() -> &'static [Policy] {
    static READ: OnceLock<Vec<Policy>> = OnceLock::new();
    READ.get_or_init(|| {
        let mut findings = Findings::default();
        let read =
            |(file, text): (&str, &str)| read::parse(&SourceText::new(file, text), &mut findings);
        let policies = STOCK.into_iter().flat_map(read).collect();
        assert!(!findings.has_errors(), "the policies that ship have errors: {findings:?}");
        policies
    })
}
