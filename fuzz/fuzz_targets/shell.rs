//! A shell command, its allowlist and the danger guard.
#![no_main]

use agentry_kernel::danger::{self, GuardDirectories};
use agentry_kernel::shell;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(command) = std::str::from_utf8(bytes) {
        let facts = shell::read(command);
        let place = GuardDirectories { workspace: "/people/dev/project", home: Some("/people/dev") };
        danger::of_command(command, &place);
        let inside = shell::check_allowlist(&facts, &["ls", "git status", "sed -n"]);
        assert!(facts.opaque.is_none() || inside != shell::AllowlistMatch::Inside, "opaque and allowed");
        for (from, to) in facts.commands.iter().filter_map(|simple| simple.place) {
            assert!(command.get(from..to).is_some(), "no such place: {from}..{to}");
        }
        for (at, simple) in facts.commands.iter().enumerate() {
            assert!(simple.fed_by.iter().all(|fed| *fed < at), "fed by a later command");
        }
    }
});
