//! The settings in all four layers, and .mcp.json.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(source) = agentry_fuzz::source(bytes) {
        let mut findings = agentry_agentfile::diagnostic::Findings::default();
        let line = source.text.lines().next().unwrap_or_default().to_owned();
        let layers = agentry_agentfile::config::ConfigLayers {
            user: Some(source.clone()),
            project: Some(source.clone()),
            agent: Some(source.clone()),
            environment: [("AGENTRY_AGENT_MODEL".to_owned(), line.clone())].into(),
            flags: vec![line],
        };
        agentry_agentfile::config::layered(&layers, &mut findings).all();
        agentry_fuzz::check(&findings);
    }
    agentry_fuzz::read(&agentry_fuzz::tree(&[(".mcp.json", bytes)]));
});
