//! Programs that leave something behind for the next one in the same sandbox.
//!
//! Must never: be run without a sandbox.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::ExitCode;

use agentry_sandbox::limits::EMPTIED_ENTRIES_MAX;
use libc::c_long;

use crate::attack::raw;

/// The first process of the sandbox.
const FIRST: c_long = 1;

/// Leaves it, and says so.
pub(crate) fn run(kind: &str) -> ExitCode {
    match leave(kind) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{kind}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn leave(kind: &str) -> io::Result<()> {
    let new = c_long::from(libc::IPC_CREAT | 0o600);
    match kind {
        "memory" => raw::share(b'!').map(drop),
        "semaphores" => raw::call(libc::SYS_semget, &[17, 1, new]).map(drop),
        "messages" => raw::call(libc::SYS_msgget, &[17, new]).map(drop),
        "queue" => {
            let flags = c_long::from(libc::O_CREAT | libc::O_RDWR);
            match raw::call(libc::SYS_mq_open, &[raw::address(c"left"), flags, 0o600, 0]) {
                // Landlock lets nobody use it, but it was made before.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
                made => made.map(drop),
            }
        }
        "limit" => {
            let few = libc::rlimit { rlim_cur: 50, rlim_max: 50 };
            let files = c_long::from(libc::RLIMIT_NOFILE);
            raw::call(libc::SYS_prlimit64, &[FIRST, files, raw::address(&few), 0]).map(drop)
        }
        "priority" => {
            let process = c_long::from(libc::PRIO_PROCESS);
            raw::call(libc::SYS_setpriority, &[process, FIRST, 19]).map(drop)
        }
        "scheduler" => {
            let (idle, none) = (c_long::from(libc::SCHED_IDLE), 0_i32);
            raw::call(libc::SYS_sched_setscheduler, &[FIRST, idle, raw::address(&none)]).map(drop)
        }
        "turn" => {
            // Only when nobody else wants the disk.
            let (process, idle) = (1, 3 << 13);
            raw::call(libc::SYS_ioprio_set, &[process, FIRST, idle]).map(drop)
        }
        "connection" => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let client = TcpStream::connect(listener.local_addr()?)?;
            drop(listener.accept()?);
            drop(client);
            Ok(())
        }
        "terminal" => fs::set_permissions("/dev/pts/ptmx", fs::Permissions::from_mode(0o000)),
        "files" => {
            fs::create_dir("/tmp/many")?;
            (0..=EMPTIED_ENTRIES_MAX)
                .try_for_each(|number| fs::write(format!("/tmp/many/{number}"), "").map(drop))
        }
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}
