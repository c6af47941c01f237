//! The cut between front matter and body.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(source) = agentry_fuzz::source(bytes) {
        let mut findings = agentry_agentfile::diagnostic::Findings::default();
        agentry_agentfile::front_matter::split(&source);
        let tree = agentry_fuzz::tree(&[("f.md", bytes)]);
        for reading in [
            agentry_agentfile::markdown::FrontMatterStrictness::Exact,
            agentry_agentfile::markdown::FrontMatterStrictness::Forgiving,
        ] {
            agentry_agentfile::markdown::read(&tree, "f.md", reading, &mut findings);
        }
        agentry_fuzz::check(&findings);
    }
});
