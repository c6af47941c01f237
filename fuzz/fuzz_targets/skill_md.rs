//! A skill, and a skill that is a single file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    agentry_fuzz::read(&agentry_fuzz::tree(&[(".agentry/skills/a/SKILL.md", bytes)]));
    agentry_fuzz::read(&agentry_fuzz::tree(&[
        ("agent.yml", b"name: a\n"),
        ("AGENT.md", b"a"),
        ("skills/a.md", bytes),
    ]));
});
