//! The variables of a template, without rendering it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(source) = agentry_fuzz::source(bytes) {
        let mut findings = agentry_agentfile::diagnostic::Findings::default();
        let facts = serde_json::json!({ "a": { "b": 1 } });
        let variables = agentry_agentfile::template::TemplateVariables {
            facts: agentry_agentfile::template::TemplateFacts::Some(&facts),
            args: ["tone"].into(),
        };
        agentry_agentfile::template::check(&source, &variables, &mut findings);
        agentry_agentfile::template::uses_changing_values(&source.text);
        agentry_fuzz::check(&findings);
    }
});
