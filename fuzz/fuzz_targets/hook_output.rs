//! What the programs of hooks leave behind: of a turn, and of those that look at events.
#![no_main]

use agentry_kernel::event_hook;
use agentry_kernel::hook_output::{HookProgramOutput, read};
use agentry_protocol::hook::{HookResult, HookMoment};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (i8, Option<Vec<u8>>, Vec<u8>)| {
    let (exit_code, file, stdout) = &input;
    let exit_code = i32::from(*exit_code);
    let left = HookProgramOutput { exit_code, file: file.as_deref(), stdout, stderr: "words" };
    for moment in HookMoment::ALL {
        let (result, _) = read(moment, &left);
        let has_a_say = !matches!(result, HookResult::Failed { .. });
        let may_speak = exit_code == 0 || (moment.is_gate() && exit_code == 2);
        assert!(!has_a_say || may_speak, "a program that ended badly has no say");
    }
    event_hook::answer(stdout).map(drop).unwrap_or_default();
});
