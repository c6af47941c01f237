//! A task and its steps.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let half = bytes.len() / 2;
    agentry_fuzz::read(&agentry_fuzz::tree(&[
        (".agentry/tasks/t/TASK.md", bytes),
        (".agentry/tasks/t/next.md", bytes),
        (".agentry/tasks/u/TASK.md", &bytes[..half]),
        (".agentry/tasks/u/next.md", &bytes[half..]),
    ]));
});
