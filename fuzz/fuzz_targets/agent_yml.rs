//! An agent program, and an agent of a pack.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    agentry_fuzz::read(&agentry_fuzz::tree(&[
        ("agent.yml", bytes),
        ("AGENT.md", b"a"),
        ("tools/fortune.yml", bytes),
        ("tools/fortune.sh*", b""),
        ("data/facts.yml", bytes),
        ("data/lorebook.yml", bytes),
    ]));
    agentry_fuzz::read(&agentry_fuzz::tree(&[(".agentry/agents/a/AGENT.md", bytes)]));
});
