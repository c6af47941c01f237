//! Every number of a system call, tried once with harmless arguments.
//!
//! Must never: take its lists from the filter that it tests.

use std::collections::BTreeMap;

use libc::{ENOSYS, EPERM, c_long};

use super::{KIND, KINDS, call, filtered};
use crate::ProcessEnding;
use crate::linux::seccomp::Kind;
use crate::linux::tests::{again, say};

const LAST_NUMBER: c_long = 600;
/// Marks a call in the numbering of the third, 32-bit interface of x86-64.
const OTHER_NUMBERING: c_long = 0x4000_0000;

/// Calls that end, block or fork the child, or sync a whole disk; see `arguments` for some.
const SKIPPED: &[c_long] = &[
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_kill,
    libc::SYS_sync,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pause,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    // The kernel calls these itself past every filter, and kills other callers.
    #[cfg(target_arch = "x86_64")]
    335, // uretprobe
    #[cfg(target_arch = "x86_64")]
    336, // uprobe
];

/// The forbidden calls of the attack list.
const FORBIDDEN: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_clone,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_clock_settime,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_lookup_dcookie,
    libc::SYS_syslog,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Calls that must not exist, so that programs use the form that can be checked.
const UNKNOWN: &[c_long] =
    &[libc::SYS_clone3, libc::SYS_memfd_secret, 457, 458, 463, 468, 469, 600];

/// Calls that programs need and a kernel of our minimum version has.
const NEEDED: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_statx,
    libc::SYS_newfstatat,
    libc::SYS_faccessat2,
    libc::SYS_close_range,
    libc::SYS_epoll_pwait2,
    libc::SYS_futex_waitv,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
    libc::SYS_seccomp,
    libc::SYS_memfd_create,
    libc::SYS_copy_file_range,
    libc::SYS_getrandom,
    libc::SYS_membarrier,
    libc::SYS_rseq,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getscheduler,
    libc::SYS_timer_create,
    libc::SYS_timerfd_create,
    libc::SYS_inotify_init1,
    libc::SYS_signalfd4,
    libc::SYS_eventfd2,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_execve,
    libc::SYS_wait4,
    libc::SYS_prctl,
    libc::SYS_getuid,
    libc::SYS_ioctl,
    libc::SYS_connect,
    libc::SYS_renameat2,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_getdents64,
    libc::SYS_pselect6,
];

#[test]
fn a_command_meets_no_forbidden_call_at_any_number() {
    check("command");
}

#[test]
fn our_own_code_meets_no_forbidden_call_at_any_number() {
    check("own");
}

#[test]
fn a_command_without_namespaces_meets_no_forbidden_call_at_any_number() {
    check("command without network");
}

#[track_caller]
fn check(name: &str) {
    let (_, kind) = KINDS.iter().find(|(it, _)| *it == name).expect("it is one of ours");
    let (ending, said) =
        again("linux::seccomp::tests::walk::child_that_walks").env(KIND, name).end();
    assert_eq!(ending, ProcessEnding::Exited(0), "{said}");
    let answers = answers(&said);
    let answer = |number: c_long| answers[&number];

    let tried = (0..=LAST_NUMBER).filter(|number| !SKIPPED.contains(number));
    assert!(tried.clone().all(|number| answers.contains_key(&number)), "one is missing: {said}");
    for number in FORBIDDEN {
        assert_eq!(answer(*number), EPERM, "call {number}");
    }
    for number in UNKNOWN {
        assert_eq!(answer(*number), ENOSYS, "call {number}");
    }
    for number in NEEDED {
        let got = answer(*number);
        assert!(got != EPERM && got != ENOSYS, "call {number} gave {got}");
    }
    assert_eq!(answer(libc::SYS_openat2) != ENOSYS, kind.is_own());
    assert_eq!(answer(libc::SYS_shmget) == EPERM, matches!(kind, Kind::CommandNoNet { .. }));
    for number in tried {
        assert_eq!(answer(number | OTHER_NUMBERING), ENOSYS, "the other call {number}");
    }
}

/// Parses the lines `number errno` of the child.
fn answers(said: &str) -> BTreeMap<c_long, i32> {
    let words = said.lines().filter_map(|line| line.strip_prefix("call ")?.split_once(' '));
    words.map(|(number, errno)| (number.parse().unwrap(), errno.parse().unwrap())).collect()
}

#[test]
#[ignore = "runs only as the child of another test"]
fn child_that_walks() {
    filtered(|_| {
        say("");
        let numbers = (0..=LAST_NUMBER).filter(|number| !SKIPPED.contains(number));
        for number in numbers.clone().chain(numbers.map(|number| number | OTHER_NUMBERING)) {
            // No descriptor, no address, every flag.
            let errno = call(number, [u64::MAX; 6]).err().unwrap_or_default();
            say(format_args!("call {number} {errno}"));
        }
    });
}
