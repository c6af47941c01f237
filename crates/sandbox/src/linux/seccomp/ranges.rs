//! A short filter program for a list of calls: it compares with range edges, not with every number.
//!
//! At each installation, so before every command, the kernel translates the program and walks it
//! for every number there is; its length adds to the cost of a spawn.
//!
//! Must never: let a number through that is not in the list, or one of another machine.

use seccompiler::{BpfProgram, sock_filter};

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// The offsets of the call's number and of the machine in the kernel's data, in bytes.
const NUMBER_AT: u32 = 0;
const MACHINE_AT: u32 = 4;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const ERROR: u32 = 0x0005_0000;

#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const MACHINE: u32 = 0xc000_00f3;

/// Allows these calls and answers all others with `error`; calls of another machine kill.
pub(super) fn program(calls: &[libc::c_long], error: u16) -> BpfProgram {
    let refuse = ERROR | u32::from(error);
    let mut program = vec![
        step(LOAD, 0, 0, MACHINE_AT),
        step(JUMP_IF_EQUAL, 1, 0, MACHINE),
        step(RETURN, 0, 0, KILL),
        step(LOAD, 0, 0, NUMBER_AT),
    ];
    for (first, end) in ranges(calls) {
        program.extend([
            // Beyond this range: on to the next one.
            step(JUMP_IF_AT_LEAST, 3, 0, end),
            step(JUMP_IF_AT_LEAST, 0, 1, first),
            step(RETURN, 0, 0, ALLOW),
            step(RETURN, 0, 0, refuse),
        ]);
    }
    program.push(step(RETURN, 0, 0, refuse));
    program
}

fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Returns the first number and the one after the last of each run of numbers, ascending.
fn ranges(calls: &[libc::c_long]) -> Vec<(u32, u32)> {
    let mut numbers: Vec<u32> =
        calls.iter().map(|&call| u32::try_from(call).expect("calls have small numbers")).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, end)) if *end == number => *end += 1,
            Some(_) | None => ranges.push((number, number + 1)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the program's answer to a number, as the kernel would run it.
    fn answer(program: &[sock_filter], machine: u32, number: u32) -> u32 {
        let (mut at, mut held) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at].clone();
            let jump = |yes| usize::from(if yes { jt } else { jf });
            at += 1;
            match code {
                LOAD => held = if k == MACHINE_AT { machine } else { number },
                JUMP_IF_EQUAL => at += jump(held == k),
                JUMP_IF_AT_LEAST => at += jump(held >= k),
                RETURN => return k,
                other => panic!("there is no such step: {other}"),
            }
        }
    }

    #[test]
    fn exactly_the_listed_numbers_are_let_through() {
        for calls in [&[][..], &[0], &[7, 3, 4, 4, 5, 9], &[1, 2, 3, 450]] {
            let program = program(calls, 38);
            for number in (0..600).chain([0x4000_0003, u32::MAX]) {
                let listed = calls.contains(&i64::from(number));
                let expected = if listed { ALLOW } else { ERROR | 38 };
                assert_eq!(answer(&program, MACHINE, number), expected, "{calls:?}: {number}");
                assert_eq!(answer(&program, MACHINE ^ 1, number), KILL);
            }
        }
    }

    #[test]
    fn runs_of_numbers_are_one_range() {
        assert_eq!(ranges(&[5, 1, 2, 3, 9, 3]), [(1, 4), (5, 6), (9, 10)]);
    }
}
