//! A context folder and its tool-access.json.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    agentry_fuzz::read(&agentry_fuzz::tree(&[
        ("context/system_prompt.md", b"a"),
        ("context/tool-access.json", bytes),
        ("context/soul.json", bytes),
        ("context/user_profile.json", bytes),
    ]));
});
