//! Calls that are refused for some of their arguments only.
//!
//! Must never: take an answer of the kernel for one of the filter; an allowed call may fail.

use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

use libc::{ENOSYS, EPERM, c_int, c_long};
use rustix::io::Errno;
use rustix::net::{SocketAddrUnix, connect};

use super::{KIND, KINDS, call, filtered};
use crate::linux::seccomp::Kind;
use crate::linux::tests::again;

/// The answer of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The filter passed the call to the kernel, with any result.
    Passed,
    Refused,
    Unknown,
}
use Answer::{Passed, Refused, Unknown};

struct Case(&'static str, c_long, [u64; 6], Answer);

#[test]
fn arguments_are_told_apart_in_every_kind() {
    for (name, _) in KINDS {
        again("linux::seccomp::tests::arguments::child_that_tries").env(KIND, name).run();
    }
}

#[test]
#[ignore = "runs only as the child of another test"]
fn child_that_tries() {
    let dir = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(dir.path().join("file")).unwrap();
    let path = CString::new(dir.path().join("file").to_str().unwrap()).unwrap();
    let fresh = CString::new(dir.path().join("fresh").to_str().unwrap()).unwrap();
    let fd = file.as_raw_fd() as u64;
    let (path, fresh) = (path.as_ptr() as u64, fresh.as_ptr() as u64);
    filtered(|kind| {
        let mut cases = modes(path, fresh, fd);
        cases.extend(sockets(kind));
        cases.extend(others());
        cases.push(Case(
            "limits of a process by its number",
            libc::SYS_prlimit64,
            [std::process::id().into(), libc::RLIMIT_CORE.into(), 0, 0, 0, 0],
            if kind.is_shared() { Refused } else { Passed },
        ));
        cases.extend(priorities(kind));
        let wrong: Vec<String> = cases.iter().filter_map(wrong).collect();
        std::fs::remove_dir_all(dir.path()).unwrap();
        assert!(wrong.is_empty(), "{kind:?}: {wrong:#?}");
    });
}

fn wrong(Case(name, number, args, expected): &Case) -> Option<String> {
    let got = call(*number, *args);
    let answer = match got {
        Err(EPERM) => Refused,
        Err(ENOSYS) => Unknown,
        Ok(_) | Err(_) => Passed,
    };
    (answer != *expected).then(|| format!("{name}: {got:?}, expected {expected:?}"))
}

const AT: u64 = libc::AT_FDCWD as u64;
/// A value for the half of an argument that the kernel does not read.
const HIGH: u64 = 0xdead_beef_0000_0000;

fn modes(path: u64, fresh: u64, fd: u64) -> Vec<Case> {
    let creating = (libc::O_CREAT | libc::O_WRONLY) as u64;
    let temporary = (libc::O_TMPFILE | libc::O_WRONLY) as u64;
    let reading = libc::O_RDONLY as u64;
    let (pipe, character) = (u64::from(libc::S_IFIFO), u64::from(libc::S_IFCHR));
    let cases = vec![
        Case("fchmod", libc::SYS_fchmod, [fd, 0o755, 0, 0, 0, 0], Passed),
        Case("fchmod setuid", libc::SYS_fchmod, [fd, 0o4755, 0, 0, 0, 0], Refused),
        Case("fchmod setgid", libc::SYS_fchmod, [fd, 0o2755, 0, 0, 0, 0], Refused),
        Case("fchmod setuid high", libc::SYS_fchmod, [fd, HIGH | 0o4755, 0, 0, 0, 0], Refused),
        Case("fchmod sticky", libc::SYS_fchmod, [fd, 0o1755, 0, 0, 0, 0], Passed),
        Case("fchmodat", libc::SYS_fchmodat, [AT, path, 0o644, 0, 0, 0], Passed),
        Case("fchmodat setuid", libc::SYS_fchmodat, [AT, path, 0o4644, 0, 0, 0], Refused),
        Case("fchmodat2 setuid", 452, [AT, path, 0o4644, 0, 0, 0], Refused),
        Case("openat", libc::SYS_openat, [AT, fresh, creating, 0o644, 0, 0], Passed),
        Case("openat setuid", libc::SYS_openat, [AT, fresh, creating, 0o4755, 0, 0], Refused),
        Case("openat setgid", libc::SYS_openat, [AT, fresh, creating, 0o2755, 0, 0], Refused),
        Case("openat nameless", libc::SYS_openat, [AT, fresh, temporary, 0o4755, 0, 0], Refused),
        // Without a flag that makes a file this argument is an arbitrary register value.
        Case("openat, no mode", libc::SYS_openat, [AT, path, reading, 0o6755, 0, 0], Passed),
        Case("mkdirat setgid", libc::SYS_mkdirat, [AT, fresh, 0o2755, 0, 0, 0], Refused),
        Case("mknodat setuid", libc::SYS_mknodat, [AT, fresh, 0o104_755, 0, 0, 0], Refused),
        Case("mknodat device", libc::SYS_mknodat, [AT, fresh, character, 0, 0, 0], Refused),
        Case("mknodat pipe", libc::SYS_mknodat, [AT, fresh, pipe | 0o600, 0, 0, 0], Passed),
    ];
    cases.into_iter().chain(old_modes(path, fresh)).collect()
}

#[cfg(target_arch = "x86_64")]
fn old_modes(path: u64, fresh: u64) -> Vec<Case> {
    let creating = (libc::O_CREAT | libc::O_WRONLY) as u64;
    let reading = libc::O_RDONLY as u64;
    vec![
        Case("chmod", libc::SYS_chmod, [path, 0o755, 0, 0, 0, 0], Passed),
        Case("chmod setuid", libc::SYS_chmod, [path, 0o4755, 0, 0, 0, 0], Refused),
        Case("creat setuid", libc::SYS_creat, [fresh, 0o4755, 0, 0, 0, 0], Refused),
        Case("open setuid", libc::SYS_open, [fresh, creating, 0o4755, 0, 0, 0], Refused),
        Case("open, no mode", libc::SYS_open, [path, reading, 0o6755, 0, 0, 0], Passed),
        Case("mkdir setuid", libc::SYS_mkdir, [fresh, 0o4755, 0, 0, 0, 0], Refused),
        Case("mknod device", libc::SYS_mknod, [fresh, 0o60_600, 0, 0, 0, 0], Refused),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn old_modes(_path: u64, _fresh: u64) -> Vec<Case> {
    Vec::new()
}

fn sockets(kind: Kind) -> Vec<Case> {
    let network = if kind.is_shared() { Refused } else { Passed };
    let files = if kind.has_unix_sockets() { Passed } else { Refused };
    let socket = |name, family: c_int, of: c_int, protocol: u64, answer| {
        Case(name, libc::SYS_socket, [family as u64, of as u64, protocol, 0, 0, 0], answer)
    };
    let (stream, datagram, raw) = (libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW);
    let (inet, inet6, unix) = (libc::AF_INET, libc::AF_INET6, libc::AF_UNIX);
    let pair = |name, family: c_int, of: c_int, answer| {
        Case(name, libc::SYS_socketpair, [family as u64, of as u64, 0, u64::MAX, 0, 0], answer)
    };
    let early = libc::MSG_FASTOPEN as u64;
    vec![
        socket("tcp", inet, stream | libc::SOCK_CLOEXEC, 0, network),
        socket("tcp by number", inet, stream, 6, network),
        socket("udp", inet6, datagram | libc::SOCK_NONBLOCK, 17, network),
        socket("unix", unix, stream, 0, files),
        socket("unix packets", unix, libc::SOCK_SEQPACKET, 0, files),
        socket("raw", inet, raw, 1, Refused),
        socket("raw, not to be inherited", inet, raw | libc::SOCK_CLOEXEC, 255, Refused),
        socket("old packets", inet, 10, 0, Refused),
        socket("ping", inet, datagram, 1, Refused),
        socket("mptcp", inet, stream, 262, Refused),
        socket("mptcp 6", inet6, stream, 262, Refused),
        socket("mptcp high", inet, stream, HIGH | 262, Refused),
        socket("sctp", inet, stream, 132, Refused),
        socket("sctp by type", inet, libc::SOCK_SEQPACKET, 0, Refused),
        socket("dccp", inet, 6, 33, Refused),
        socket("netlink", libc::AF_NETLINK, raw, 0, Refused),
        socket("netlink datagram", libc::AF_NETLINK, datagram, 0, Refused),
        socket("packet", libc::AF_PACKET, raw, 0, Refused),
        socket("vsock", libc::AF_VSOCK, stream, 0, Refused),
        socket("alg", libc::AF_ALG, libc::SOCK_SEQPACKET, 0, Refused),
        socket("bluetooth", libc::AF_BLUETOOTH, raw, 0, Refused),
        socket("rds", libc::AF_RDS, libc::SOCK_SEQPACKET, 0, Refused),
        pair("pair", unix, stream | libc::SOCK_CLOEXEC, Passed),
        pair("pair of packets", unix, libc::SOCK_SEQPACKET, Passed),
        // One end can be connected anew, to any file; see the test below.
        pair("pair of datagrams", unix, datagram | libc::SOCK_CLOEXEC, files),
        pair("pair of raw", unix, raw, files),
        pair("pair of tipc", libc::AF_TIPC, stream, Refused),
        Case("sendto early", libc::SYS_sendto, [u64::MAX, 0, 0, early, 0, 0], Refused),
        Case("sendmsg early", libc::SYS_sendmsg, [u64::MAX, 0, early, 0, 0, 0], Refused),
        Case("sendmmsg early", libc::SYS_sendmmsg, [u64::MAX, 0, 0, early, 0, 0], Refused),
        Case("sendto", libc::SYS_sendto, [u64::MAX, 0, 0, 0x4000, 0, 0], Passed),
        Case("connect early", libc::SYS_setsockopt, [u64::MAX, 6, 30, 0, 0, 0], Refused),
        Case("another protocol", libc::SYS_setsockopt, [u64::MAX, 6, 31, 0, 0, 0], Refused),
        Case("no delay", libc::SYS_setsockopt, [u64::MAX, 6, 1, 0, 0, 0], Passed),
    ]
}

fn others() -> Vec<Case> {
    let ioctl = |name, request: u64, answer| {
        Case(name, libc::SYS_ioctl, [u64::MAX, request, 0, 0, 0, 0], answer)
    };
    let personality = |name, value: u64, answer| {
        Case(name, libc::SYS_personality, [value, 0, 0, 0, 0, 0], answer)
    };
    let clone = |name, flag: c_int| {
        Case(name, libc::SYS_clone, [flag as u32 as u64, 0, 0, 0, 0, 0], Refused)
    };
    vec![
        ioctl("type", libc::TIOCSTI, Refused),
        ioctl("type, high", HIGH | libc::TIOCSTI, Refused),
        ioctl("paste", libc::TIOCLINUX, Refused),
        ioctl("paste, high", HIGH | libc::TIOCLINUX, Refused),
        ioctl("count", libc::FIONREAD, Passed),
        ioctl("size of the window", libc::TIOCGWINSZ, Passed),
        ioctl("not to block", libc::FIONBIO, Passed),
        personality("which personality", 0xffff_ffff, Passed),
        personality("no random addresses", 0x4_0000, Passed),
        personality("read implies execute", 0x40_0000, Refused),
        personality("zero page", 0x10_0000, Refused),
        personality("usual", 0, Passed),
        clone("new user", libc::CLONE_NEWUSER),
        clone("new mounts", libc::CLONE_NEWNS),
        clone("new processes", libc::CLONE_NEWPID),
        clone("new network", libc::CLONE_NEWNET | libc::SIGCHLD),
        clone("new queues", libc::CLONE_NEWIPC),
        clone("new names", libc::CLONE_NEWUTS),
        clone("new groups", libc::CLONE_NEWCGROUP),
        Case("signal", libc::SYS_kill, [std::process::id().into(), 0, 0, 0, 0, 0], Passed),
        Case("own limits", libc::SYS_prlimit64, [0, libc::RLIMIT_CORE.into(), 0, 0, 0, 0], Passed),
        Case("clone3", libc::SYS_clone3, [0; 6], Unknown),
    ]
}

/// A process may change itself; others only where it sees none but its own.
fn priorities(kind: Kind) -> Vec<Case> {
    let other = if kind.is_shared() { Refused } else { Passed };
    let (own, user) = (std::process::id().into(), rustix::process::getuid().as_raw().into());
    let (process, of_user) = (u64::from(libc::PRIO_PROCESS), u64::from(libc::PRIO_USER));
    vec![
        Case("own priority", libc::SYS_setpriority, [process, 0, 0, 0, 0, 0], Passed),
        Case("priority by number", libc::SYS_setpriority, [process, own, 0, 0, 0, 0], other),
        Case("priority of a user", libc::SYS_setpriority, [of_user, user, 0, 0, 0, 0], other),
        Case("disk priority by number", libc::SYS_ioprio_set, [1, own, 2 << 13, 0, 0, 0], other),
        Case("processors by number", libc::SYS_sched_setaffinity, [own, 0, 0, 0, 0, 0], other),
        Case("policy by number", libc::SYS_sched_setscheduler, [own, 0, 0, 0, 0, 0], other),
    ]
}

/// The reason why a pair of datagram sockets is refused where Unix sockets are.
#[test]
fn only_a_pair_of_datagram_sockets_can_be_turned_to_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let _host = UnixDatagram::bind(&path).unwrap();
    let (one, _other) = UnixDatagram::pair().unwrap();
    one.connect(&path).unwrap();

    let path = dir.path().join("stream");
    let _host = UnixListener::bind(&path).unwrap();
    let address = SocketAddrUnix::new(&path).unwrap();
    let (one, other) = UnixStream::pair().unwrap();
    assert_eq!(connect(&one, &address), Err(Errno::ISCONN));
    drop(other);
    assert_eq!(connect(&one, &address), Err(Errno::ISCONN));
}
