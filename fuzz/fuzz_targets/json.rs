//! JSON as in soul.json.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(source) = agentry_fuzz::source(bytes) {
        let mut findings = agentry_agentfile::diagnostic::Findings::default();
        agentry_agentfile::json::parse(&source, &mut findings);
        agentry_fuzz::check(&findings);
    }
});
