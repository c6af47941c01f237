//! Runs a program for which the kernel refuses some calls.
//!
//! Must never: be taken back; a filter stays for good.

use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// `call=ERROR`, `call:FIRST=ERROR` for one first argument, `call&BITS=ERROR` where it has all these bits.
pub(crate) fn run(words: &[String]) {
    let end = words.iter().position(|word| word == "--").expect("`--` ends the calls");
    refuse_all(&words[..end]);
    let error = Command::new(&words[end + 1]).args(&words[end + 2..]).exec();
    panic!("cannot run {}: {error}", words[end + 1]);
}

/// Refuses calls to this thread, and to all threads and processes that it starts from now on.
pub(crate) fn refuse_all(words: &[String]) {
    // A filter that refuses filters must come last.
    let (last, first): (Vec<&String>, _) =
        words.iter().partition(|word| word.starts_with("seccomp"));
    for word in first.into_iter().chain(last) {
        refuse(word);
    }
}

fn refuse(word: &str) {
    let (what, error) = word.split_once('=').expect("CALL=ERROR");
    let (name, rule) = match what.split_once([':', '&']) {
        None => (what, None),
        Some((name, value)) => {
            let value: u64 = value.parse().expect("a number");
            let operator =
                if what.contains(':') { SeccompCmpOp::Eq } else { SeccompCmpOp::MaskedEq(value) };
            let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, operator, value);
            let condition = condition.expect("the first argument is one");
            (name, Some(SeccompRule::new(vec![condition]).expect("one condition is a rule")))
        }
    };
    let rules = [(number(name), rule.into_iter().collect())].into();
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno(error)),
        TargetArch::try_from(std::env::consts::ARCH).expect("a machine with filters"),
    );
    let program: seccompiler::BpfProgram =
        filter.and_then(TryInto::try_into).expect("the filter can be made");
    apply_filter(&program).expect("the filter can be installed");
}

fn number(name: &str) -> i64 {
    match name {
        "clone" => libc::SYS_clone,
        "clone3" => libc::SYS_clone3,
        "unshare" => libc::SYS_unshare,
        "landlock_create_ruleset" => libc::SYS_landlock_create_ruleset,
        "landlock_add_rule" => libc::SYS_landlock_add_rule,
        "landlock_restrict_self" => libc::SYS_landlock_restrict_self,
        "seccomp" => libc::SYS_seccomp,
        "prctl" => libc::SYS_prctl,
        "open_tree" => libc::SYS_open_tree,
        "move_mount" => libc::SYS_move_mount,
        "mount_setattr" => libc::SYS_mount_setattr,
        "mount" => libc::SYS_mount,
        "fsopen" => libc::SYS_fsopen,
        "fsmount" => libc::SYS_fsmount,
        "pivot_root" => libc::SYS_pivot_root,
        "umount2" => libc::SYS_umount2,
        "sethostname" => libc::SYS_sethostname,
        "capset" => libc::SYS_capset,
        "setsid" => libc::SYS_setsid,
        "prlimit64" => libc::SYS_prlimit64,
        "close_range" => libc::SYS_close_range,
        "setresuid" => libc::SYS_setresuid,
        "bind" => libc::SYS_bind,
        "signalfd4" => libc::SYS_signalfd4,
        other => panic!("the call {other} is not listed"),
    }
}

fn errno(name: &str) -> u32 {
    let number = match name {
        "EPERM" => libc::EPERM,
        "EACCES" => libc::EACCES,
        "EINVAL" => libc::EINVAL,
        "ENOSYS" => libc::ENOSYS,
        "ENOSPC" => libc::ENOSPC,
        "EOPNOTSUPP" => libc::EOPNOTSUPP,
        other => panic!("the error {other} is not listed"),
    };
    number.cast_unsigned()
}
