//! TOML as in agentry.toml, whole and one value.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(source) = agentry_fuzz::source(bytes) {
        let mut findings = agentry_agentfile::diagnostic::Findings::default();
        agentry_agentfile::toml::parse(&source, &mut findings);
        agentry_agentfile::toml::parse_value(&source.text);
        agentry_fuzz::check(&findings);
    }
});
