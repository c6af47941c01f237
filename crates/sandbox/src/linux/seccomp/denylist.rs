//! The system calls that a confined process is refused, always or for certain arguments.
//!
//! Must never: compare more of an argument than the kernel reads; the caller can choose the rest.

use std::collections::BTreeMap;

use libc::{c_int, c_long};
use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::Kind;
use super::calls::{FCHMODAT2, QUEUES};

/// Returns the refused calls for this kind of process.
pub(super) fn rules(kind: Kind) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut denials = SyscallDenials::default();
    denials.always(ALWAYS);
    denials.always(ALWAYS_OLD);
    namespaces(&mut denials)?;
    modes(&mut denials)?;
    personality(&mut denials)?;
    terminals(&mut denials)?;
    sockets(&mut denials, kind)?;
    if kind.is_shared() {
        // These would be those of the whole machine.
        denials.always(QUEUES);
        // The limits of other processes; 0 is the caller.
        denials.when(libc::SYS_prlimit64, vec![is_not(0, 0)?])?;
        priorities(&mut denials)?;
    }
    Ok(denials.into_rules())
}

const ALWAYS: &[c_long] = &[
    // Calls that inspect other processes, or take descriptors from them.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Does the same as other calls, past the filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Changes mounts or the root.
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
    467, // open_tree_attr
    // Leaves the namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Parts of the kernel that are known for holes, and that no program here needs.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_lookup_dcookie,
    libc::SYS_syslog,
    // Opens files by number, past every directory.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Changes the machine.
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
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_clock_settime,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    // Moves memory between the banks of the machine.
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_get_mempolicy,
    libc::SYS_set_mempolicy_home_node,
];

#[cfg(target_arch = "x86_64")]
const ALWAYS_OLD: &[c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];

#[cfg(not(target_arch = "x86_64"))]
const ALWAYS_OLD: &[c_long] = &[
    294, // kexec_file_load
];

fn namespaces(denials: &mut SyscallDenials) -> Result<(), BackendError> {
    // The newer form takes its flags from memory and thus does not exist at all.
    const NEW: [c_int; 7] = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    NEW.iter().try_for_each(|flag| denials.when(libc::SYS_clone, vec![has(0, bits(*flag))?]))
}

/// Refuses setuid and setgid bits on files, and device nodes.
fn modes(denials: &mut SyscallDenials) -> Result<(), BackendError> {
    #[cfg(target_arch = "x86_64")]
    let plain =
        [(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mkdir, 1), (libc::SYS_mknod, 1)];
    #[cfg(not(target_arch = "x86_64"))]
    let plain: [(c_long, u8); 0] = [];
    let at = [
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
        (libc::SYS_mkdirat, 2),
        (libc::SYS_mknodat, 2),
    ];
    for (call, mode) in plain.into_iter().chain(at) {
        for bit in ELEVATING {
            denials.when(call, vec![has(mode, bit)?])?;
        }
    }
    // Without one of these flags the mode argument is an arbitrary register value.
    for creating in [bits(libc::O_CREAT), bits(libc::O_TMPFILE & !libc::O_DIRECTORY)] {
        for bit in ELEVATING {
            #[cfg(target_arch = "x86_64")]
            denials.when(libc::SYS_open, vec![has(1, creating)?, has(2, bit)?])?;
            denials.when(libc::SYS_openat, vec![has(2, creating)?, has(3, bit)?])?;
        }
    }
    for device in [libc::S_IFCHR, libc::S_IFBLK] {
        #[cfg(target_arch = "x86_64")]
        denials.when(libc::SYS_mknod, vec![masked(1, libc::S_IFMT.into(), device.into())?])?;
        denials.when(libc::SYS_mknodat, vec![masked(2, libc::S_IFMT.into(), device.into())?])?;
    }
    Ok(())
}

const ELEVATING: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

fn personality(denials: &mut SyscallDenials) -> Result<(), BackendError> {
    // Linux, Linux32, both with the kernel's release as 2.6, the bare query, and fixed addresses
    // for sanitizers.
    const USUAL: [u64; 6] = [0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];
    let unusual: Result<Vec<_>, _> = USUAL.iter().map(|value| is_not(0, *value)).collect();
    denials.when(libc::SYS_personality, unusual?)
}

fn terminals(denials: &mut SyscallDenials) -> Result<(), BackendError> {
    // Input that is typed or pasted into a terminal by these calls runs outside.
    for request in [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD] {
        denials.when(libc::SYS_ioctl, vec![is(1, u64::from(request as u32))?])?;
    }
    Ok(())
}

/// Refuses calls that slow down other processes of a shared process table.
fn priorities(denials: &mut SyscallDenials) -> Result<(), BackendError> {
    // 0 is the caller, of any of these.
    for call in [
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ] {
        denials.when(call, vec![is_not(0, 0)?])?;
    }
    // The first argument says if the second is a process, a group or a user.
    for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        denials.when(call, vec![is_not(0, process)?])?;
        denials.when(call, vec![is_not(1, 0)?])?;
    }
    Ok(())
}

fn sockets(denials: &mut SyscallDenials, kind: Kind) -> Result<(), BackendError> {
    let unix = bits(libc::AF_UNIX);
    denials.when(libc::SYS_socketpair, vec![is_not(0, unix)?])?;
    let mut families = vec![is_not(0, unix)?];
    if !kind.is_shared() {
        families.push(is_not(0, bits(libc::AF_INET))?);
        families.push(is_not(0, bits(libc::AF_INET6))?);
    }
    denials.when(libc::SYS_socket, families)?;
    if !kind.has_unix_sockets() {
        denials.when(libc::SYS_socket, vec![is(0, unix)?])?;
        // One end of a pair of datagram sockets can be connected anew, to any file.
        types_but(denials, libc::SYS_socketpair, &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])?;
    }
    // Above all no raw sockets.
    let usual = [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET];
    types_but(denials, libc::SYS_socket, &usual)?;
    for family in [libc::AF_INET, libc::AF_INET6].map(bits) {
        let packets = masked(1, SOCKET_TYPE, bits(libc::SOCK_SEQPACKET))?;
        denials.when(libc::SYS_socket, vec![is(0, family)?, packets])?;
        // Everything but TCP and UDP: MPTCP, SCTP and others bypass the rules for those two.
        let mut other = vec![is(0, family)?];
        for protocol in [libc::IPPROTO_IP, libc::IPPROTO_TCP, libc::IPPROTO_UDP] {
            other.push(is_not(2, bits(protocol))?);
        }
        denials.when(libc::SYS_socket, other)?;
    }
    // Sends before it has connected, and thus past the checks of connections.
    let early = bits(libc::MSG_FASTOPEN);
    denials.when(libc::SYS_sendto, vec![has(3, early)?])?;
    denials.when(libc::SYS_sendmsg, vec![has(2, early)?])?;
    denials.when(libc::SYS_sendmmsg, vec![has(3, early)?])?;
    // The second of them puts another protocol of the kernel on top.
    [libc::TCP_FASTOPEN_CONNECT, libc::TCP_ULP].into_iter().try_for_each(|option| {
        let level = is(1, bits(libc::IPPROTO_TCP))?;
        denials.when(libc::SYS_setsockopt, vec![level, is(2, bits(option))?])
    })
}

/// The bits of the second argument that name the type of a socket; the others are flags.
const SOCKET_TYPE: u64 = 0xf;

/// Refuses every type of socket that is not among the usual ones.
fn types_but(
    denials: &mut SyscallDenials,
    call: c_long,
    usual: &[c_int],
) -> Result<(), BackendError> {
    (0..=SOCKET_TYPE)
        .filter(|of| !usual.iter().any(|usual| bits(*usual) == *of))
        .try_for_each(|of| denials.when(call, vec![masked(1, SOCKET_TYPE, of)?]))
}

/// The refused calls and arguments.
#[derive(Default)]
struct SyscallDenials {
    // A call without rules is refused for all arguments.
    rules: BTreeMap<i64, Vec<SeccompRule>>,
}

impl SyscallDenials {
    fn always(&mut self, calls: &[c_long]) {
        for call in calls {
            self.rules.insert(*call, Vec::new());
        }
    }

    fn when(&mut self, call: c_long, all: Vec<SeccompCondition>) -> Result<(), BackendError> {
        let rule = SeccompRule::new(all)?;
        match self.rules.get_mut(&call) {
            // It is refused always; a rule would weaken that.
            Some(rules) if rules.is_empty() => {}
            Some(rules) => rules.push(rule),
            None => {
                self.rules.insert(call, vec![rule]);
            }
        }
        Ok(())
    }

    fn into_rules(self) -> BTreeMap<i64, Vec<SeccompRule>> {
        self.rules
    }
}

/// Returns the bits of a C constant as the filter sees them in the low half of an argument.
fn bits(constant: c_int) -> u64 {
    u64::from(constant.cast_unsigned())
}

// The kernel reads 32 bits of each of these arguments; the filter ignores the other half.

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

/// Returns the condition that a bit is set.
fn has(argument: u8, bit: u64) -> Result<SeccompCondition, BackendError> {
    masked(argument, bit, bit)
}

fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, BackendError> {
    let operator = SeccompCmpOp::MaskedEq(mask);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}
