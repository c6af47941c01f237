//! YAML as in agent.yml, exact and forgiving.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(source) = agentry_fuzz::source(bytes) {
        let mut findings = agentry_agentfile::diagnostic::Findings::default();
        let all = agentry_agentfile::source::Span::new(0, source.text.len());
        agentry_agentfile::yaml::parse(&source, all, &mut findings);
        agentry_agentfile::yaml::parse_forgiving(&source, all, &mut findings);
        agentry_fuzz::check(&findings);
    }
});
