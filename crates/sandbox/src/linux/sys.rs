//! The system calls that no safe library offers.
//!
//! The helper that calls these has one thread; that is why `fork` and `clone` are safe here.
//!
//! Must never: hold logic. One function is one call.
#![expect(unsafe_code, reason = "these calls have no safe form; each is made in one place only")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;

/// The side of a fork on which it returns.
pub(crate) enum ForkSide {
    /// The calling process.
    Parent {
        /// The new process.
        pid: Pid,
        /// A handle on it.
        handle: OwnedFd,
    },
    /// The new process.
    Child,
}

/// Every namespace that a confined process gets for its own.
pub(crate) const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP;

/// The user namespace only.
pub(crate) const USERS: i32 = libc::CLONE_NEWUSER;

/// The mount namespace only.
pub(crate) const MOUNTS: i32 = libc::CLONE_NEWNS;

/// Forks this process; the child is in namespaces of its own.
pub(crate) fn clone(namespaces: i32) -> io::Result<ForkSide> {
    let mut handle: RawFd = -1;
    let flags = namespaces | libc::CLONE_PIDFD;
    // The older call: containers often answer that the newer one does not exist. SAFETY: without a
    // stack of its own the child continues on a copy of ours, as after a fork; this process has one
    // thread, so no lock is held by a thread that is not copied. The third argument receives the
    // handle; the last two are not used without their flags.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone,
            i64::from(flags | libc::SIGCHLD),
            0_usize,
            &raw mut handle,
            0_usize,
            0_usize,
        )
    };
    match i32::try_from(pid).ok().filter(|pid| *pid >= 0) {
        None => Err(io::Error::last_os_error()),
        Some(0) => Ok(ForkSide::Child),
        Some(pid) => {
            let pid = Pid::from_raw(pid).expect("the system numbers processes from 1");
            // SAFETY: the system has just put a new descriptor there, and no other code knows it.
            let handle = unsafe { OwnedFd::from_raw_fd(handle) };
            Ok(ForkSide::Parent { pid, handle })
        }
    }
}

/// Forks this process. The C library knows of it, so the child may start threads.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Returns a process's session. Kernel threads have none, which the safe form cannot return.
pub(crate) fn session_of(pid: i32) -> Option<i32> {
    // SAFETY: takes and gives a number.
    let session = unsafe { libc::getsid(pid) };
    (session > 0).then_some(session)
}

/// A change to a mount.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MountChange<'a> {
    /// True if it applies to all mounts below, too.
    pub(crate) recursive: bool,
    /// Flags that are added.
    pub(crate) set: u64,
    /// The user namespace that maps the owners of the files.
    pub(crate) owners: Option<BorrowedFd<'a>>,
}

/// Flag for [`MountChange`]: read-only.
pub(crate) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
/// Flag for [`MountChange`]: setuid bits of programs are ignored.
pub(crate) const NO_SETUID: u64 = libc::MOUNT_ATTR_NOSUID;
/// Flag for [`MountChange`]: devices cannot be opened.
pub(crate) const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV;

/// Changes a mount that is held by a handle.
pub(crate) fn mount_setattr(mount: BorrowedFd<'_>, change: MountChange<'_>) -> io::Result<()> {
    // SAFETY: all-zero is the documented empty value of this structure of plain numbers.
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    attributes.attr_set = change.set;
    if let Some(owners) = change.owners {
        attributes.attr_set |= libc::MOUNT_ATTR_IDMAP;
        attributes.userns_fd = u64::try_from(owners.as_raw_fd()).expect("handles are positive");
    }
    let flags = libc::AT_EMPTY_PATH | if change.recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string; the structure lives until the call returns and its
    // size is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw mut attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: all-zero is a valid value of this structure of numbers and arrays of them.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l'.cast_signed();
    request.ifr_name[1] = b'o'.cast_signed();
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP).expect("the flag is one");
    // SAFETY: the request is a whole structure that lives until the call returns.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns a descriptor that becomes readable when a child ends; blocks the signal instead.
pub(crate) fn watch_children() -> io::Result<OwnedFd> {
    // SAFETY: the set is written by `sigemptyset` before it is read.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Unblocks the signals that `watch_children` blocks.
pub(crate) fn let_signals_through() -> io::Result<()> {
    // SAFETY: the set is written by `sigemptyset` before it is read.
    let result = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Signals every process of this process namespace but the caller, its first process.
pub(crate) fn signal_all(signal: i32) {
    // SAFETY: a call with two numbers. It fails only when no process is left.
    unsafe {
        libc::kill(-1, signal);
    }
}

/// Closes descriptors from this one on when another program is started.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC)
}

/// Closes every descriptor from this one on. None of them may be used any more.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    close_range(first, 0)
}

fn close_range(first: u32, flags: u32) -> io::Result<()> {
    // SAFETY: the callers are about to end or to start another program, and use none of them again.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ends this process at once, without the steps of an ordinary end.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}

/// Makes a system call by its number, to see if the filter allows it. All arguments are numbers,
/// also in place of addresses, so that an allowed call has no effect.
pub(crate) fn attempt(number: libc::c_long, arguments: [libc::c_long; 5]) -> io::Result<()> {
    let [one, two, three, four, five] = arguments;
    // SAFETY: the callers pass calls that do nothing to this process if addresses are invalid.
    let result = unsafe { libc::syscall(number, one, two, three, four, five, 0) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns the scheduling attributes of this process, as the kernel reports them.
pub(crate) fn scheduling() -> io::Result<[u64; 7]> {
    let mut attributes = [0_u64; 7];
    let bytes = size_of_val(&attributes);
    // SAFETY: the kernel writes at most as many bytes as the argument says, into numbers that may
    // have any value; 0 is the caller.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), bytes, 0) };
    if result == 0 { Ok(attributes) } else { Err(io::Error::last_os_error()) }
}

/// Returns the I/O priority of this process.
pub(crate) fn disk_turn() -> io::Result<i64> {
    const PROCESS: i32 = 1;
    // SAFETY: a call with two numbers; 0 is the caller.
    match unsafe { libc::syscall(libc::SYS_ioprio_get, PROCESS, 0) } {
        -1 => Err(io::Error::last_os_error()),
        turn => Ok(turn),
    }
}

/// Takes over a descriptor that another program has left to this one.
pub(crate) fn inherit(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the one caller names descriptors that were opened for it before it was started.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}
