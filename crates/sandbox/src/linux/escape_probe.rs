//! Some twenty escapes from a sandbox, tried from the inside when a level is opened.
//!
//! They run in a throw-away sandbox, in our own code. A level with a successful one is not used.
//!
//! Must never: do harm when it succeeds: it opens, looks and closes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentry_protocol::confinement::{ConfinementLevel, Escape};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::linux::sys;

/// The name of the role.
pub(crate) const ROLE: &str = "escapes";

/// The targets outside of the sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProbeTargets {
    /// The enforcing level.
    pub(crate) level: ConfinementLevel,
    /// A file with some content.
    pub(crate) file: PathBuf,
    /// A socket in the file system.
    pub(crate) socket: PathBuf,
    /// A socket with an abstract name.
    pub(crate) name: String,
    /// A listener on the machine's loopback interface.
    pub(crate) listener: SocketAddr,
    /// The process of the supervisor.
    pub(crate) supervisor: i32,
}

/// Tries all escapes, and prints their results.
pub(crate) fn run(arguments: &Value) -> i32 {
    let Ok(targets) = serde_json::from_value::<ProbeTargets>(arguments.clone()) else { return 2 };
    let escapes = all(&targets);
    let text = serde_json::to_string(&escapes).unwrap_or_default();
    i32::from(io::stdout().write_all(text.as_bytes()).is_err())
}

fn all(targets: &ProbeTargets) -> Vec<Escape> {
    let mut escapes = files(targets);
    escapes.extend(processes(targets));
    escapes.extend(calls());
    escapes.extend(network(targets));
    escapes
}

fn tried(attempt: &str, result: io::Result<()>) -> Escape {
    let (stopped, answer) = match result {
        Ok(()) => (false, "it worked".to_owned()),
        Err(error) => (true, error.to_string()),
    };
    Escape { attempt: attempt.to_owned(), stopped, answer }
}

fn files(targets: &ProbeTargets) -> Vec<Escape> {
    let write = |path: &Path| OpenOptions::new().append(true).create(true).open(path).map(drop);
    let beside = targets.file.with_extension("planted");
    let around = Path::new("/proc/self/root").join(below(&targets.file));
    let through = Path::new("/proc/1/root").join(below(&targets.file));
    let set_user = || {
        let path = std::env::temp_dir().join("set-user");
        let file = File::create(&path)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o4755))
    };
    vec![
        tried("read a file outside", File::open(&targets.file).map(drop)),
        tried("read it by way of /proc/self/root", File::open(around).map(drop)),
        tried("read it by way of process 1", File::open(through).map(drop)),
        tried("write beside it", write(&beside)),
        tried("write a program of the system", write(Path::new("/usr/bin/planted"))),
        tried("read the passwords of the machine", File::open("/etc/shadow").map(drop)),
        tried("make a program that changes the user", set_user()),
    ]
}

fn below(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn processes(targets: &ProbeTargets) -> Vec<Escape> {
    let environment = format!("/proc/{}/environ", targets.supervisor);
    let looked = std::fs::read(environment).and_then(|content| {
        // Inside of its own namespace the number belongs to another process, perhaps to ours.
        if targets.level == ConfinementLevel::Landlock || !content.is_empty() {
            Ok(())
        } else {
            Err(io::Error::other("it is another process"))
        }
    });
    let rights = rustix::thread::capabilities(None).map_err(io::Error::from).and_then(|held| {
        let none = held.effective.is_empty() && held.permitted.is_empty();
        if none { Err(io::Error::other("there are none")) } else { Ok(()) }
    });
    let gain = rustix::thread::no_new_privs()
        .map_err(io::Error::from)
        .and_then(|set| if set { Err(io::Error::other("it is ruled out")) } else { Ok(()) });
    let descriptors = std::fs::read_dir("/proc/self/fd").and_then(|entries| {
        let open = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        // A fourth descriptor is open to list them.
        if open.filter(|number: &i32| *number > 3).count() == 0 {
            Err(io::Error::other("there are three"))
        } else {
            Ok(())
        }
    });
    vec![
        tried("look into the supervisor", looked),
        tried("use a right of root", rights),
        tried("gain rights from a program", gain),
        tried("use a descriptor of the supervisor", descriptors),
    ]
}

fn calls() -> Vec<Escape> {
    use libc::{
        SYS_add_key, SYS_bpf, SYS_chroot, SYS_io_uring_setup, SYS_mount, SYS_open_by_handle_at,
        SYS_perf_event_open, SYS_ptrace, SYS_setns, SYS_unshare, SYS_userfaultfd,
    };
    let user = i64::from(libc::CLONE_NEWUSER);
    // An invalid address: a call that passes the filter answers EFAULT or EINVAL, else EPERM.
    let bad = -1;
    [
        ("make a namespace", SYS_unshare, [user, 0, 0, 0, 0]),
        ("enter a namespace", SYS_setns, [0, 0, 0, 0, 0]),
        ("mount something", SYS_mount, [bad, bad, bad, 0, 0]),
        ("change the root", SYS_chroot, [bad, 0, 0, 0, 0]),
        ("trace a process", SYS_ptrace, [16, 1, 0, 0, 0]),
        ("use io_uring", SYS_io_uring_setup, [1, bad, 0, 0, 0]),
        ("load a program into the kernel", SYS_bpf, [5, bad, 16, 0, 0]),
        ("use the kernel's keys", SYS_add_key, [bad, bad, 0, 0, 0]),
        ("handle page faults", SYS_userfaultfd, [1 << 20, 0, 0, 0, 0]),
        ("read performance counters", SYS_perf_event_open, [bad, 0, -1, -1, 0]),
        ("open a file by its number", SYS_open_by_handle_at, [-1, bad, 0, 0, 0]),
    ]
    .into_iter()
    .map(|(attempt, number, arguments)| {
        let result = sys::attempt(number, arguments);
        let stopped = match &result {
            Ok(()) => false,
            Err(error) => {
                matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS | libc::EACCES))
            }
        };
        Escape { stopped, ..tried(attempt, result) }
    })
    .collect()
}

fn network(targets: &ProbeTargets) -> Vec<Escape> {
    let time = Duration::from_millis(200);
    let family = |number: u16, kind| {
        let family = AddressFamily::from_raw(number);
        socket_with(family, kind, SocketFlags::CLOEXEC, None).map(drop).map_err(io::Error::from)
    };
    let datagram = UdpSocket::bind("0.0.0.0:0")
        .and_then(|socket| socket.send_to(b"x", "192.0.2.1:53").map(drop));
    let named = std::os::unix::net::SocketAddr::from_abstract_name(&targets.name)
        .and_then(|address| UnixStream::connect_addr(&address).map(drop));
    let mut escapes = vec![
        tried(
            "connect to the machine",
            TcpStream::connect_timeout(&targets.listener, time).map(drop),
        ),
        tried("send a datagram", datagram),
        tried("connect to a named socket", named),
        tried("talk to the kernel's network", family(16, SocketType::RAW)),
        tried("talk to the hypervisor", family(40, SocketType::STREAM)),
        tried("read packets", family(17, SocketType::RAW)),
    ];
    escapes.push(tried("connect to a socket file", UnixStream::connect(&targets.socket).map(drop)));
    escapes
}
