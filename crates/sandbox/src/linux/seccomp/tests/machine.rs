//! The calls of the older, 32-bit machine that this one can still emulate.
//!
//! Must never: change anything, should the call be answered after all.

use super::{KIND, filtered};
use crate::ProcessEnding;
use crate::linux::tests::{again, say};

#[test]
fn the_calls_of_another_machine_kill_the_process() {
    let child = "linux::seccomp::tests::machine::child_that_calls_as_another_machine";
    let (ending, said) = again(child).env(KIND, "command").end();
    // A kernel without these calls ends the process by itself.
    let ended = matches!(ending, ProcessEnding::Signalled(libc::SIGSYS | libc::SIGSEGV));
    assert!(ended, "{ending:?}: {said}");
}

#[test]
#[ignore = "runs only as the child of another test"]
#[expect(unsafe_code, reason = "no library makes the calls of another machine")]
fn child_that_calls_as_another_machine() {
    const GETPID: u32 = 20;
    filtered(|_| {
        let answer: u32;
        // SAFETY: the call takes no arguments and changes nothing.
        unsafe { std::arch::asm!("int 0x80", inlateout("eax") GETPID => answer) };
        say(format_args!("it was answered: {answer}"));
    });
}
