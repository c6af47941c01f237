//! The file beside the script of an event hook.

use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::event_hook::{self, HookManifest};
use agentry_protocol::event_hook::HookMode;

fn read(text: &str) -> (Option<HookManifest>, Vec<String>) {
    let mut findings = Findings::default();
    let manifest = event_hook::read(text, "hooks/urgent.yml", &mut findings);
    let lines = findings.sorted();
    let lines = lines.iter().map(|one| {
        format!("{} {} {}:{}:{}", one.code, one.severity, one.file, one.line, one.column)
    });
    (manifest, lines.collect())
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let (manifest, lines) = read(text);
    assert_eq!(lines, expected);
    assert!(manifest.is_none());
}

#[test]
fn all_fields_are_read() {
    let (manifest, lines) = read(
        "name: urgent
description: Looks for what cannot wait
mode: one-shot
triggers:
  principal: { type: [owner, known], relationship: family }
  event: { channels: [chat], types: [message], direction: received, metadata: { a: 1 } }
config: { words: [now, help] }
timeout_ms: 2000
model: true
",
    );
    assert_eq!(lines, [""; 0]);
    let manifest = manifest.unwrap();
    assert_eq!(
        (manifest.name.as_str(), manifest.timeout_ms, manifest.model),
        ("urgent", 2000, true)
    );
    assert_eq!(manifest.mode, HookMode::OneShot);
    assert_eq!(manifest.triggers.event.unwrap().channels, ["chat"]);
    assert_eq!(manifest.config["words"][1], "help");
}

#[test]
fn what_is_not_said_has_its_usual_value() {
    let manifest = read("name: a\n").0.unwrap();
    assert_eq!((manifest.timeout_ms, manifest.mode), (5000, HookMode::Persistent));
    assert!(manifest.config.is_empty() && manifest.triggers.principal.is_none());
    assert_eq!(read("name: a\nmodel: true\n").0.unwrap().timeout_ms, 30_000);
    assert_eq!(read("name: a\nmode: one_shot\n").0.unwrap().mode, HookMode::OneShot);
}

#[test]
fn a_key_that_is_not_known_is_an_error_at_its_line() {
    check("name: a\nmodell: true\n", &["E0301 error hooks/urgent.yml:2:1"]);
    check(
        "name: a\ntriggers:\n  event:\n    chanels: [x]\n",
        &["E0301 error hooks/urgent.yml:4:5"],
    );
    check("name: a\ntriggers:\n  who: x\n", &["E0301 error hooks/urgent.yml:3:3"]);
}

#[test]
fn values_have_limits() {
    let long = format!("name: {}\n", "a".repeat(65));
    check(&long, &["E0305 error hooks/urgent.yml:1:7"]);
    check("name: Urgent\n", &["E0305 error hooks/urgent.yml:1:7"]);
    check("name: a\ntimeout_ms: 0\n", &["E0305 error hooks/urgent.yml:2:13"]);
    check("name: a\ntimeout_ms: 30001\n", &["E0305 error hooks/urgent.yml:2:13"]);
    check("name: a\nmode: sometimes\n", &["E0304 error hooks/urgent.yml:2:7"]);
    let config = format!("name: a\nconfig:\n  text: {}\n", "x".repeat(16 * 1024));
    check(&config, &["E0305 error hooks/urgent.yml:3:3"]);
}

#[test]
fn a_file_that_is_no_map_is_refused() {
    check("description: x\n", &["E0302 error hooks/urgent.yml:1:1"]);
    check("- a\n", &["E0209 error hooks/urgent.yml:1:1"]);
    check("name: [\n", &["E0201 error hooks/urgent.yml:1:7"]);
    check("name: a\0\n", &["E0103 error hooks/urgent.yml:1:8"]);
    let huge = format!("name: a\n# {}\n", "x".repeat(1024 * 1024));
    check(&huge, &["E0102 error hooks/urgent.yml:1:1"]);
}
