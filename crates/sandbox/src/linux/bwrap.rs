//! The same files through bubblewrap, where own namespaces are refused but bubblewrap's are not.
//!
//! Bubblewrap builds the namespaces and the root; inside of it our own binary takes over as process
//! 1 and does the rest, exactly as it does without bubblewrap.
//!
//! Must never: pass bubblewrap a value that it could take for an option: every path is absolute.

use std::ffi::OsString;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mount::{MountPropagationFlags, MoveMountFlags, mount_change, move_mount};

use crate::limits::SHARED_MEMORY_BYTES_MAX;
use crate::linux::init::InitInput;
use crate::linux::mounts::MountTree;
use crate::role::VERB;
use crate::spec::{BindKind, FilesystemView, SandboxFailure, SandboxSpec, StepContext};

/// The next argument after the helper's command; makes the binary the init process of a sandbox
/// that bubblewrap has built.
pub(crate) const INSIDE: &str = "inside";

/// The path of our own binary inside of the sandbox.
const BINARY: &str = "/run/agentry";

/// Becomes bubblewrap; returns only on failure.
pub(crate) fn run(spec: &SandboxSpec, given: InitInput) -> SandboxFailure {
    match prepare(spec, given) {
        Ok(mut command) => SandboxFailure::new("start bubblewrap", &command.exec()),
        Err(trouble) => trouble,
    }
}

fn prepare(spec: &SandboxSpec, given: InitInput) -> Result<std::process::Command, SandboxFailure> {
    let bubblewrap = bubblewrap().map_err(io::Error::other).at_step("find bubblewrap")?;
    let binary = std::fs::read_link("/proc/self/exe").at_step("find our own binary")?;
    if let Some(trees) = given.trees {
        overlay(&spec.view, trees)?;
    }
    if let Some(user) = spec.user {
        crate::linux::init::become_user(user, spec.level).at_step("become an ordinary user")?;
    }
    let mut held = Vec::new();
    let mut args = arguments(&spec.view, &binary, &mut held).at_step("write for bubblewrap")?;
    let message =
        file(&serde_json::to_vec(spec).map_err(io::Error::from).at_step("write the spec")?)
            .at_step("write the spec")?;
    let [input, output, errors] = given.streams;
    // Bubblewrap's own messages go to the program's errors.
    rustix::stdio::dup2_stderr(&errors).at_step("connect the errors")?;
    args.extend(["--", BINARY, VERB, INSIDE].map(OsString::from));
    for descriptor in [message, given.control.into(), input, output, errors] {
        args.push(descriptor.as_raw_fd().to_string().into());
        held.push(descriptor);
    }
    for descriptor in held {
        fcntl_setfd(&descriptor, FdFlags::empty()).at_step("pass on a descriptor")?;
        // It stays open for bubblewrap and for our binary inside.
        std::mem::forget(descriptor);
    }
    let mut command = std::process::Command::new(bubblewrap);
    command.env_clear().args(args);
    Ok(command)
}

/// Returns the path of bubblewrap, if it exists and only root can have installed it.
fn bubblewrap() -> Result<&'static Path, String> {
    use std::os::unix::fs::MetadataExt;
    let found = ["/usr/bin/bwrap", "/bin/bwrap"].map(Path::new).into_iter().find(|it| it.exists());
    let Some(path) = found else {
        return Err("bubblewrap is not installed".to_owned());
    };
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if metadata.uid() != 0 || metadata.mode() & 0o022 != 0 {
        return Err(format!("{} does not belong to root alone", path.display()));
    }
    Ok(path)
}

/// Maps owners before the start of bubblewrap, which cannot do it and mounts the mapped files.
fn overlay(view: &FilesystemView, trees: Vec<MountTree>) -> Result<(), SandboxFailure> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).at_step("make the mounts private")?;
    for (bind, tree) in view.binds.iter().zip(trees) {
        let (Some(tree), Some(_)) = (tree, bind.lend) else { continue };
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(&tree, "", rustix::fs::CWD, &bind.from, flags)
            .at_step(&format!("lend {}", bind.from.display()))?;
    }
    Ok(())
}

fn arguments(
    view: &FilesystemView,
    binary: &Path,
    held: &mut Vec<OwnedFd>,
) -> io::Result<Vec<OsString>> {
    let mut args: Vec<OsString> = [
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-net",
        "--unshare-cgroup-try",
        "--as-pid-1",
        "--die-with-parent",
        "--new-session",
        "--hostname",
        "sandbox",
        "--clearenv",
    ]
    .map(OsString::from)
    .into();
    let mut say = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
        args.extend(words.iter().map(|word| word.as_ref().to_owned()));
    };
    if view.broad {
        say(&[&"--ro-bind", &"/", &"/", &"--tmpfs", &"/run", &"--tmpfs", &"/sys"]);
    } else {
        say(&[&"--dir", &"/run"]);
    }
    let shared = SHARED_MEMORY_BYTES_MAX.to_string();
    let scratch = view.scratch_bytes.to_string();
    say(&[&"--proc", &"/proc", &"--dev", &"/dev"]);
    say(&[&"--perms", &"1777", &"--size", &shared, &"--tmpfs", &"/dev/shm"]);
    say(&[&"--perms", &"1777", &"--size", &scratch, &"--tmpfs", &"/tmp"]);
    say(&[&"--perms", &"0700", &"--dir", &"/tmp/home"]);
    for (at, target) in &view.links {
        say(&[&"--symlink", target, at]);
    }
    for (at, content) in view.files.iter().filter(|_| !view.broad) {
        let file = file(content.as_bytes())?;
        say(&[&"--ro-bind-data", &file.as_raw_fd().to_string(), at]);
        held.push(file);
    }
    for bind in &view.binds {
        let word = match (bind.kind, bind.optional) {
            // Bubblewrap's own /dev has them.
            (BindKind::Device, _) => continue,
            (BindKind::Read, true) => "--ro-bind-try",
            (BindKind::Read, false) => "--ro-bind",
            (BindKind::Write, _) => "--bind",
        };
        say(&[&word, &bind.from, &bind.to]);
    }
    for path in &view.masks {
        let Ok(metadata) = std::fs::symlink_metadata(path) else { continue };
        if metadata.is_dir() {
            say(&[&"--perms", &"0000", &"--tmpfs", path, &"--remount-ro", path]);
        } else if metadata.is_file() {
            let blank = file(b"")?;
            say(&[&"--perms", &"0000", &"--ro-bind-data", &blank.as_raw_fd().to_string(), path]);
            held.push(blank);
        }
    }
    say(&[&"--ro-bind", &binary, &BINARY]);
    if !view.broad {
        say(&[&"--remount-ro", &"/"]);
    }
    say(&[&"--chdir", &"/"]);
    Ok(args)
}

fn file(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create("content", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}
