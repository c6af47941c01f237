//! The system calls that no safe library offers, for attackers.
//!
//! Must never: be used by anything but the probe.
#![expect(unsafe_code, reason = "an attacker does not keep to safe libraries")]

use std::io;

use libc::c_long;

/// Makes a system call by its number.
pub(crate) fn call(number: c_long, arguments: &[c_long]) -> io::Result<i64> {
    let at = |index: usize| arguments.get(index).copied().unwrap_or_default();
    // SAFETY: the callers give addresses of things that live until the call returns, or invalid ones.
    let result = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The address of something, as an argument.
pub(crate) fn address<T: ?Sized>(of: &T) -> c_long {
    (&raw const *of).cast::<u8>() as c_long
}

/// Splits the process; 0 in the child. The probe has one thread when it does so.
pub(crate) fn fork() -> io::Result<i32> {
    // SAFETY: there is one thread, so no lock is held by somebody who is not copied.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(pid),
    }
}

/// Ends at once.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}

/// Waits for a child: its status as the system tells it.
pub(crate) fn wait(pid: i32) -> io::Result<i32> {
    let mut status = 0;
    // SAFETY: the status lives until the call returns.
    match unsafe { libc::waitpid(pid, &raw mut status, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(status),
    }
}

/// Runs something in a child, and gives how that ended: the signal, or the code.
pub(crate) fn in_child(run: impl FnOnce() -> i32) -> io::Result<Result<i32, i32>> {
    match fork()? {
        0 => exit(run()),
        pid => {
            let status = wait(pid)?;
            Ok(if libc::WIFSIGNALED(status) {
                Err(libc::WTERMSIG(status))
            } else {
                Ok(libc::WEXITSTATUS(status))
            })
        }
    }
}

/// Ignores a signal.
pub(crate) fn ignore(signal: i32) {
    // SAFETY: ignoring needs no handler.
    unsafe {
        libc::signal(signal, libc::SIG_IGN);
    }
}

/// Asks the kernel by way of the 32-bit interface.
#[cfg(target_arch = "x86_64")]
pub(crate) fn old_interface() -> i32 {
    let answer: i32;
    // SAFETY: 20 is `getpid` there, which changes nothing.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("eax") 20_i32 => answer, lateout("r8") _,
            lateout("r9") _, lateout("r10") _, lateout("r11") _);
    }
    answer
}

/// There is no such thing here.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn old_interface() -> i32 {
    -1
}

/// Reads a piece of shared memory by its number.
pub(crate) fn attach(number: i32) -> io::Result<u8> {
    // SAFETY: the kernel chooses the address; it is read only if there is one.
    unsafe {
        let place = libc::shmat(number, std::ptr::null(), libc::SHM_RDONLY);
        if place as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        let first = *place.cast::<u8>();
        libc::shmdt(place);
        Ok(first)
    }
}

/// Makes a piece of shared memory and gives its number.
pub(crate) fn share(content: u8) -> io::Result<i32> {
    // SAFETY: the piece is as large as what is written to it.
    unsafe {
        let number = libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o666);
        if number == -1 {
            return Err(io::Error::last_os_error());
        }
        let place = libc::shmat(number, std::ptr::null(), 0);
        if place as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        *place.cast::<u8>() = content;
        libc::shmdt(place);
        Ok(number)
    }
}

/// Removes a piece of shared memory.
pub(crate) fn unshare_memory(number: i32) {
    // SAFETY: removal by number.
    unsafe {
        libc::shmctl(number, libc::IPC_RMID, std::ptr::null_mut());
    }
}
