//! Attacks on other processes and on the kernel.
//!
//! Must never: signal a process outside with more than the question whether that is possible.

use std::fs::{self, File};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use libc::c_long;

use super::raw::{self, address, call, in_child};
use super::{CANARY, CANARY_VARIABLE, Targets, Tried, any, out, refused};

const LONG: Duration = Duration::from_secs(1_000);
/// An address that is none: nothing comes of a call that is let through.
const BAD: c_long = -1;

/// Leaves the session, loses its parent, closes everything and stays.
pub(crate) fn daemon(_: &Targets) -> Tried {
    let left = in_child(|| {
        rustix::process::setsid().map(drop).unwrap_or_default();
        if raw::fork().unwrap_or(1) != 0 {
            return 0;
        }
        call(libc::SYS_close_range, &[0, c_long::from(u32::MAX), 0]).unwrap_or_default();
        raw::ignore(libc::SIGTERM);
        raw::ignore(libc::SIGHUP);
        sleep(LONG);
        0
    });
    // Whether it is still there is seen from outside.
    left.map_or_else(
        |error| Err(error.to_string()),
        |_| Err("it was left behind, and looked for outside".to_owned()),
    )
}

/// Nobody listens to the request to end, and the life of nobody hangs on another.
pub(crate) fn deaf(_: &Targets) -> Tried {
    let pdeathsig = c_long::from(libc::PR_SET_PDEATHSIG);
    let subreaper = c_long::from(libc::PR_SET_CHILD_SUBREAPER);
    call(libc::SYS_prctl, &[pdeathsig, 0]).unwrap_or_default();
    call(libc::SYS_prctl, &[subreaper, 1]).unwrap_or_default();
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        raw::ignore(signal);
    }
    for _ in 0..3 {
        if raw::fork().unwrap_or(1) == 0 {
            rustix::process::setsid().map(drop).unwrap_or_default();
            if raw::fork().unwrap_or(1) == 0 {
                sleep(LONG);
            }
            sleep(LONG);
        }
    }
    sleep(LONG);
    Ok("nobody ended it".to_owned())
}

/// Stops itself, so that it can neither end nor be asked to.
pub(crate) fn stopped(_: &Targets) -> Tried {
    raw::ignore(libc::SIGTERM);
    if raw::fork().unwrap_or(1) == 0 {
        rustix::process::setsid().map(drop).unwrap_or_default();
    }
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)
        .unwrap_or_default();
    sleep(LONG);
    Ok("nobody ended it".to_owned())
}

/// Runs through processes, each of which lives only until the next is there.
pub(crate) fn runner(_: &Targets) -> Tried {
    raw::ignore(libc::SIGTERM);
    for _ in 0..3 {
        if raw::fork().unwrap_or(1) == 0 {
            rustix::process::setsid().map(drop).unwrap_or_default();
            // It ends when no process can be made any more.
            while let Ok(pid) = raw::fork() {
                if pid != 0 {
                    raw::exit(0);
                }
            }
            raw::exit(0);
        }
    }
    sleep(LONG);
    Ok("nobody ended it".to_owned())
}

pub(crate) fn many_processes(_: &Targets) -> Tried {
    let mut made = 0;
    loop {
        match raw::fork() {
            Ok(0) => {
                sleep(LONG);
                raw::exit(0)
            }
            Ok(_) => made += 1,
            Err(error) => return Err(format!("{error}, after {made}")),
        }
        if made > 2_000 {
            return Ok(format!("{made} processes were made"));
        }
    }
}

pub(crate) fn many_threads(_: &Targets) -> Tried {
    let mut made = 0;
    loop {
        let thread = std::thread::Builder::new().stack_size(64 * 1024).spawn(|| sleep(LONG));
        match thread {
            Ok(_) => made += 1,
            Err(error) => return Err(format!("{error}, after {made}")),
        }
        if made > 2_000 {
            return Ok(format!("{made} threads were made"));
        }
    }
}

/// Tries something on the supervisor, on the helper, on a process in another sandbox and on our first process.
fn others(targets: &Targets, attempt: impl Fn(i32) -> Tried) -> Tried {
    let others = &targets.others;
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // In a table of its own the number may be ours.
    let all = [others.supervisor, others.helper, others.sibling]
        .into_iter()
        .filter(|pid| *pid != own && *pid != 0);
    any(all.map(attempt))
}

/// An answer that only says that there is nothing to be had.
fn nobody(result: io::Result<i64>, what: &str) -> Tried {
    match result {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EBADF)) => {
            Err(format!("{what}: {error}"))
        }
        result => refused(result, what),
    }
}

pub(crate) fn trace(targets: &Targets) -> Tried {
    const SEIZE: c_long = 0x4206;
    others(targets, |pid| nobody(call(libc::SYS_ptrace, &[SEIZE, pid.into(), 0, 0]), "tracing"))
}

pub(crate) fn trace_first(_: &Targets) -> Tried {
    let of = |file: &str| {
        let path = format!("/proc/1/{file}");
        match fs::read(&path) {
            Ok(content) if content.is_empty() => Err("it is empty".to_owned()),
            read => out(read, format!("{path} was read")),
        }
    };
    any([
        of("environ"),
        of("mem"),
        of("auxv"),
        out(fs::read_link("/proc/1/fd/0"), "its handles were read"),
        out(fs::read_link("/proc/1/exe"), "its program was read"),
    ])
}

pub(crate) fn read_memory(targets: &Targets) -> Tried {
    others(targets, |pid| {
        nobody(call(libc::SYS_process_vm_readv, &[pid.into(), BAD, 1, BAD, 1, 0]), "reading memory")
    })
}

pub(crate) fn take_handle(targets: &Targets) -> Tried {
    others(targets, |pid| {
        let handle = call(libc::SYS_pidfd_open, &[pid.into(), 0]);
        let handle = handle.map_err(|error| error.to_string())?;
        refused(call(libc::SYS_pidfd_getfd, &[handle, 0, 0]), "taking a handle")
    })
}

fn look(targets: &Targets, file: &str) -> Tried {
    others(targets, |pid| {
        let path = format!("/proc/{pid}/{file}");
        let read = if file == "fd" {
            // Their numbers may be listed; what they are must not be.
            let first = fs::read_dir(&path).and_then(|mut inside| {
                inside.next().unwrap_or(Err(io::ErrorKind::NotFound.into()))
            });
            first.and_then(|first| fs::read_link(first.path())).map(drop)
        } else if file == "mem" {
            File::open(&path).map(drop)
        } else {
            fs::read(&path).and_then(|text| {
                if text.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
            })
        };
        out(read, format!("{path} was read"))
    })
}

pub(crate) fn look_at_memory(targets: &Targets) -> Tried {
    look(targets, "mem")
}

pub(crate) fn look_at_environment(targets: &Targets) -> Tried {
    look(targets, "environ")
}

pub(crate) fn look_at_maps(targets: &Targets) -> Tried {
    look(targets, "maps")
}

pub(crate) fn look_at_handles(targets: &Targets) -> Tried {
    look(targets, "fd")
}

pub(crate) fn look_at_arguments(targets: &Targets) -> Tried {
    others(targets, |pid| {
        let text = fs::read(format!("/proc/{pid}/cmdline")).map_err(|error| error.to_string())?;
        let known = !text.is_empty() && !text.windows(6).any(|part| part == b"attack");
        if known {
            Ok("the arguments of another process were read".to_owned())
        } else {
            Err("it is another process".to_owned())
        }
    })
}

pub(crate) fn signal(targets: &Targets) -> Tried {
    others(targets, |pid| nobody(call(libc::SYS_kill, &[pid.into(), 0]), "a signal"))
}

pub(crate) fn signal_by_handle(targets: &Targets) -> Tried {
    others(targets, |pid| {
        let handle =
            call(libc::SYS_pidfd_open, &[pid.into(), 0]).map_err(|error| error.to_string())?;
        nobody(call(libc::SYS_pidfd_send_signal, &[handle, 0, 0, 0]), "a signal")
    })
}

/// Kills its first process, or all there are; the sandbox must end or go on, and nobody outside be hurt.
pub(crate) fn kill_first(_: &Targets) -> Tried {
    let pid = rustix::process::getppid().map_or(1, |pid| pid.as_raw_nonzero().get());
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSTOP] {
        call(libc::SYS_kill, &[pid.into(), signal.into()]).unwrap_or_default();
    }
    // Still there, and heard: the first process lives.
    Err("it lives on".to_owned())
}

pub(crate) fn make_slow(targets: &Targets) -> Tried {
    const PROCESS: c_long = 0;
    const USER: c_long = 2;
    let user = c_long::from(rustix::process::getuid().as_raw());
    let of_user = || match call(libc::SYS_setpriority, &[USER, user, 1]) {
        Ok(_) => {
            // Seen from outside: whether others of the user were made slow.
            let nice = fs::read_to_string(format!("/proc/{}/stat", targets.others.supervisor))
                .unwrap_or_default();
            let nice = nice
                .rsplit_once(") ")
                .and_then(|(_, rest)| rest.split(' ').nth(16))
                .unwrap_or("?")
                .to_owned();
            if nice == "1" {
                Ok("the supervisor was made slow".to_owned())
            } else {
                Err("only ourselves were made slow".to_owned())
            }
        }
        Err(error) => Err(error.to_string()),
    };
    let others = others(targets, |pid| {
        any([
            nobody(call(libc::SYS_setpriority, &[PROCESS, pid.into(), 1]), "setpriority"),
            nobody(call(libc::SYS_ioprio_set, &[1, pid.into(), 3 << 13]), "ioprio_set"),
            nobody(
                call(libc::SYS_sched_setaffinity, &[pid.into(), 8, address(&u64::MAX)]),
                "sched_setaffinity",
            ),
            nobody(
                call(libc::SYS_sched_setscheduler, &[pid.into(), 5, address(&0_u64)]),
                "sched_setscheduler",
            ),
        ])
    });
    any([others, of_user()])
}

pub(crate) fn limit_others(targets: &Targets) -> Tried {
    others(targets, |pid| nobody(call(libc::SYS_prlimit64, &[pid.into(), 7, 0, BAD]), "prlimit"))
}

pub(crate) fn new_namespace(_: &Targets) -> Tried {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
        0x80,
    ];
    any(flags.map(|flag| refused(call(libc::SYS_unshare, &[flag.into()]), "unshare")))
}

pub(crate) fn new_namespace_by_clone(_: &Targets) -> Tried {
    let plain = |flag: i32| match call(
        libc::SYS_clone,
        &[c_long::from(flag | libc::SIGCHLD), 0, 0, 0, 0],
    ) {
        Ok(0) => raw::exit(0),
        result => refused(result, "clone"),
    };
    let newer = {
        // flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls
        let arguments: [u64; 8] =
            [libc::CLONE_NEWUSER as u64, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
        match call(libc::SYS_clone3, &[address(&arguments), 64]) {
            Ok(0) => raw::exit(0),
            result => refused(result, "clone3"),
        }
    };
    any([plain(libc::CLONE_NEWUSER), plain(libc::CLONE_NEWUSER | libc::CLONE_NEWNS), newer])
}

pub(crate) fn enter_namespace(targets: &Targets) -> Tried {
    use std::os::fd::AsRawFd;
    let processes =
        [rustix::process::getpid().as_raw_nonzero().get(), 1, targets.others.supervisor];
    any(processes
        .into_iter()
        .flat_map(|pid| ["user", "mnt", "net", "pid"].map(|kind| (pid, kind)))
        .map(|(pid, kind)| {
            let file =
                File::open(format!("/proc/{pid}/ns/{kind}")).map_err(|error| error.to_string())?;
            refused(call(libc::SYS_setns, &[file.as_raw_fd().into(), 0]), "setns")
        }))
}

pub(crate) fn mounts(_: &Targets) -> Tried {
    let (tmpfs, place, dot) =
        (c"tmpfs".as_ptr() as c_long, c"/tmp".as_ptr() as c_long, c".".as_ptr() as c_long);
    let at = c_long::from(libc::AT_FDCWD);
    any([
        refused(call(libc::SYS_mount, &[tmpfs, place, tmpfs, 0, 0]), "mount"),
        refused(call(libc::SYS_fsopen, &[tmpfs, 0]), "fsopen"),
        refused(call(libc::SYS_open_tree, &[at, place, 1]), "open_tree"),
        refused(call(libc::SYS_move_mount, &[at, place, at, place, 0]), "move_mount"),
        refused(call(libc::SYS_mount_setattr, &[at, place, 0, BAD, 32]), "mount_setattr"),
        refused(call(libc::SYS_fspick, &[at, place, 0]), "fspick"),
        refused(call(libc::SYS_pivot_root, &[dot, dot]), "pivot_root"),
        refused(call(467, &[at, place, 1, BAD, 32]), "open_tree_attr"),
    ])
}

pub(crate) fn unmount_mask(targets: &Targets) -> Tried {
    let path = format!("{}\0", targets.files.workspace.join("hidden").display());
    any([0, 2]
        .map(|flags| refused(call(libc::SYS_umount2, &[address(path.as_str()), flags]), "umount")))
}

pub(crate) fn change_root(_: &Targets) -> Tried {
    refused(call(libc::SYS_chroot, &[c"/tmp".as_ptr() as c_long]), "chroot")
}

pub(crate) fn ring(_: &Targets) -> Tried {
    any([
        refused(call(libc::SYS_io_uring_setup, &[1, BAD]), "io_uring_setup"),
        refused(call(libc::SYS_io_uring_enter, &[-1, 0, 0, 0, 0, 0]), "io_uring_enter"),
        refused(call(libc::SYS_io_uring_register, &[-1, 0, 0, 0]), "io_uring_register"),
    ])
}

pub(crate) fn old_interface(_: &Targets) -> Tried {
    match in_child(|| i32::from(raw::old_interface() <= 0)) {
        Ok(Ok(0)) => Ok("the old interface answered".to_owned()),
        Ok(Ok(_)) => Err("there is none".to_owned()),
        Ok(Err(signal)) => Err(format!("killed by signal {signal}")),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn other_interface(_: &Targets) -> Tried {
    const X32: c_long = 0x4000_0000;
    match in_child(|| i32::from(call(X32 | libc::SYS_getpid, &[]).is_err())) {
        Ok(Ok(0)) => Ok("the interface for short addresses answered".to_owned()),
        Ok(Ok(_)) => Err("there is none".to_owned()),
        Ok(Err(signal)) => Err(format!("killed by signal {signal}")),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn kernel_parts(_: &Targets) -> Tried {
    any([
        refused(call(libc::SYS_keyctl, &[0, -3, 0]), "keyctl"),
        refused(call(libc::SYS_add_key, &[BAD, BAD, 0, 0, 0]), "add_key"),
        refused(call(libc::SYS_request_key, &[BAD, BAD, 0, 0]), "request_key"),
        refused(call(libc::SYS_bpf, &[5, BAD, 16]), "bpf"),
        refused(call(libc::SYS_perf_event_open, &[BAD, 0, -1, -1, 0]), "perf_event_open"),
        refused(call(libc::SYS_userfaultfd, &[1]), "userfaultfd"),
        refused(call(libc::SYS_open_by_handle_at, &[-1, BAD, 0]), "open_by_handle_at"),
        refused(call(libc::SYS_name_to_handle_at, &[-1, BAD, BAD, BAD, 0]), "name_to_handle_at"),
        refused(call(libc::SYS_fanotify_init, &[0, 0]), "fanotify_init"),
    ])
}

pub(crate) fn machine_settings(_: &Targets) -> Tried {
    any([
        refused(call(libc::SYS_sethostname, &[BAD, 4]), "sethostname"),
        refused(call(libc::SYS_clock_settime, &[0, BAD]), "clock_settime"),
        refused(call(libc::SYS_settimeofday, &[BAD, 0]), "settimeofday"),
        refused(call(libc::SYS_reboot, &[0, 0, 0, 0]), "reboot"),
        refused(call(libc::SYS_init_module, &[BAD, 0, BAD]), "init_module"),
        refused(call(libc::SYS_kexec_load, &[0, 0, 0, 0]), "kexec_load"),
        refused(call(libc::SYS_swapoff, &[BAD]), "swapoff"),
        refused(call(libc::SYS_syslog, &[10, 0, 0]), "syslog"),
        refused(call(libc::SYS_personality, &[0x040_0000]), "personality"),
    ])
}

pub(crate) fn become_root(_: &Targets) -> Tried {
    let zero = [0, 0, 0];
    let became = |call_number, what| match call(call_number, &zero) {
        Ok(_) if rustix::process::geteuid().is_root() => Ok(format!("{what} made us root")),
        Ok(_) => Err(format!("{what} changed nothing")),
        Err(error) => Err(format!("{what}: {error}")),
    };
    let held = rustix::thread::capabilities(None).map_err(|error| error.to_string())?;
    let held = if held.permitted.is_empty() {
        Err("no rights are held".to_owned())
    } else {
        Ok(format!("{:?} is held", held.permitted))
    };
    any([
        became(libc::SYS_setuid, "setuid"),
        became(libc::SYS_setresuid, "setresuid"),
        became(libc::SYS_setgid, "setgid"),
        held,
    ])
}

/// Programs that change the user; ours lies beside our own binary when the scene could make it.
pub(crate) fn set_user_programs(_: &Targets) -> Tried {
    let own =
        std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("set-user");
    let mut tried = Vec::new();
    if own.exists() {
        let output = Command::new(own).args(["attack", "whoami", "{}"]).output();
        tried.push(match output {
            Ok(output) if output.stdout.starts_with(b"0") => Ok("we became root".to_owned()),
            Ok(output) => {
                Err(format!("it ran as {}", String::from_utf8_lossy(&output.stdout).trim()))
            }
            Err(error) => Err(error.to_string()),
        });
    }
    // Without a password `su` of nobody but root does something.
    for program in ["/usr/bin/su", "/usr/bin/sudo", "/usr/bin/pkexec"]
        .into_iter()
        .filter(|path| Path::new(path).exists())
    {
        let args: &[&str] = if program.ends_with("/su") { &["-c", "id -u"] } else { &["id", "-u"] };
        let output = Command::new(program).args(args).stdin(std::process::Stdio::null()).output();
        tried.push(match output {
            Ok(output) if output.stdout.trim_ascii() == b"0" => {
                Ok(format!("{program} made us root"))
            }
            Ok(output) => Err(format!(
                "{program}: {}",
                String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default()
            )),
            Err(error) => Err(error.to_string()),
        });
    }
    any(tried)
}

pub(crate) fn named_socket(targets: &Targets) -> Tried {
    let address =
        SocketAddr::from_abstract_name(&targets.network.name).map_err(|error| error.to_string())?;
    let datagram = UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(b"x", &address));
    any([out(UnixStream::connect_addr(&address), "connected"), out(datagram, "sent")])
}

pub(crate) fn socket_file(targets: &Targets) -> Tried {
    let mut places = vec![targets.network.socket.clone()];
    let known = [
        "/run/docker.sock",
        "/var/run/docker.sock",
        "/run/dbus/system_bus_socket",
        "/run/podman/podman.sock",
        "/run/systemd/private",
        "/dev/log",
        "/run/user/1000/bus",
    ];
    places.extend(known.map(Into::into));
    places.extend(std::env::var_os("SSH_AUTH_SOCK").map(Into::into));
    any(places
        .into_iter()
        .map(|place| out(UnixStream::connect(&place), format!("connected to {}", place.display()))))
}

/// A socket that a program outside has put into the workspace.
pub(crate) fn socket_inside(targets: &Targets) -> Tried {
    out(UnixStream::connect(targets.files.workspace.join("socket")), "connected")
}

pub(crate) fn handles(_: &Targets) -> Tried {
    let open = fs::read_dir("/proc/self/fd").map_err(|error| error.to_string())?;
    let open: Vec<i32> =
        open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    // One more is open to list them.
    let more: Vec<&i32> = open.iter().filter(|number| **number > 3).collect();
    let kinds: Vec<String> = open
        .iter()
        .filter(|number| **number < 3)
        .filter_map(|number| {
            Some(fs::read_link(format!("/proc/self/fd/{number}")).ok()?.display().to_string())
        })
        .collect();
    let is_plain =
        |kind: &String| kind.starts_with("pipe:") || kind == "/dev/null" || kind.ends_with("/null");
    if more.is_empty() && kinds.iter().all(is_plain) {
        Err("0, 1 and 2 only, pipes and /dev/null".to_owned())
    } else {
        Ok(format!("{open:?} {kinds:?}"))
    }
}

pub(crate) fn terminal(_: &Targets) -> Tried {
    use std::os::fd::AsRawFd;
    let byte = b'x';
    let on = |descriptor: i32| {
        refused(call(libc::SYS_ioctl, &[descriptor.into(), 0x5412, address(&byte)]), "TIOCSTI")
    };
    let own = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty")
        .map_err(|error| error.to_string());
    let multiplexer = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/ptmx")
        .map_err(|error| error.to_string());
    any([
        own.and_then(|terminal| on(terminal.as_raw_fd())),
        multiplexer.and_then(|terminal| on(terminal.as_raw_fd())),
    ])
}

pub(crate) fn shared_memory(targets: &Targets) -> Tried {
    match raw::attach(targets.others.shared_memory) {
        Ok(b'!') => Ok("memory of another process was read".to_owned()),
        Ok(_) => Err("it is another piece".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// What others of the machine have put into the memory that all share.
pub(crate) fn shared_files(targets: &Targets) -> Tried {
    let name = Path::new("/dev/shm").join(&targets.network.name);
    match fs::read(&name) {
        Ok(content) if content.starts_with(CANARY.as_bytes()) => {
            Ok("a file of another process was read".to_owned())
        }
        read => out(read, "a file of another process was read"),
    }
}

pub(crate) fn environment(_: &Targets) -> Tried {
    let found = |text: &[u8]| text.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
    let own = std::env::vars_os()
        .any(|(name, value)| name == CANARY_VARIABLE || found(value.as_encoded_bytes()));
    let first = fs::read("/proc/1/environ").is_ok_and(|text| found(&text));
    let told = fs::read("/proc/self/environ").is_ok_and(|text| found(&text));
    if own || first || told {
        Ok("the secret is in the environment".to_owned())
    } else {
        Err("no secret is in the environment".to_owned())
    }
}
