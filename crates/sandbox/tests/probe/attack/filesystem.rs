//! Attacks on files: to read, write, link, move or change what lies outside.
//!
//! Must never: write to a file outside that the scene did not make.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps};

use super::raw::{address, call};
use super::{CANARY, Targets, Tried, any, out};

const SWAPS: usize = 10_000;
const FILES_MANY: usize = 5_000;
const DEPTH: usize = 1_100;
/// More than were once repaired after one call.
const PLANTED_MANY: usize = 10_050;
/// Deeper than a look once went.
const PLANTED_DEPTH: usize = 131;
const TIB: u64 = 1 << 40;

/// Reads the secret by some path.
fn read(path: impl AsRef<Path>) -> Tried {
    let mut text = String::new();
    match File::open(path.as_ref()).and_then(|mut file| file.read_to_string(&mut text)) {
        Ok(_) if text.contains(CANARY) => Ok("the secret was read".to_owned()),
        Ok(_) => Err(format!("what was read is not the secret, but {:?}", short(&text))),
        Err(error) => Err(error.to_string()),
    }
}

fn short(text: &str) -> String {
    text.chars().take(20).collect()
}

fn below(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn write(path: impl AsRef<Path>) -> Tried {
    let path = path.as_ref();
    if let Some(parent) = path.parent() {
        // If it cannot be made, the next step says so.
        fs::create_dir_all(parent).unwrap_or_default();
    }
    let opened = OpenOptions::new().create(true).append(true).open(path);
    out(
        opened.and_then(|mut file| file.write_all(b"planted\n")),
        format!("{} was written", path.display()),
    )
}

pub(crate) fn absolute(targets: &Targets) -> Tried {
    read(&targets.files.secret)
}

pub(crate) fn relative(targets: &Targets) -> Tried {
    let outside = Path::new("../outside/secret.txt");
    std::env::set_current_dir(&targets.files.workspace).map_err(|error| error.to_string())?;
    any([
        read(outside),
        read(Path::new("sub/../..").join("outside/secret.txt")),
        read("././/../outside/./secret.txt"),
    ])
}

pub(crate) fn passwords(_: &Targets) -> Tried {
    out(fs::read("/etc/shadow"), "/etc/shadow was read")
}

pub(crate) fn home_of_root(_: &Targets) -> Tried {
    out(fs::read_dir("/root"), "/root was listed")
}

pub(crate) fn listing(targets: &Targets) -> Tried {
    let mut inside = fs::read_dir(&targets.files.outside).map_err(|error| error.to_string())?;
    let is_secret = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name() == "secret.txt")
    };
    if inside.any(is_secret) {
        Ok("the directory was listed".to_owned())
    } else {
        Err("it looks empty".to_owned())
    }
}

pub(crate) fn link_read(targets: &Targets) -> Tried {
    let link = targets.files.workspace.join("link");
    symlink(&targets.files.secret, &link).map_err(|error| error.to_string())?;
    read(link)
}

pub(crate) fn link_write(targets: &Targets) -> Tried {
    let link = targets.files.workspace.join("link");
    symlink(targets.files.outside.join("planted"), &link).map_err(|error| error.to_string())?;
    any([
        write(&link),
        fs::write(&link, "planted")
            .map(|()| "written".to_owned())
            .map_err(|error| error.to_string()),
    ])
}

/// First call: a directory that may be written becomes a link out.
pub(crate) fn root_to_link(targets: &Targets) -> Tried {
    let inner = targets.files.workspace.join("inner");
    let made = fs::remove_dir_all(&inner).and_then(|()| symlink(&targets.files.outside, &inner));
    out(made, "the root is a link now")
}

/// Second call: it is used.
pub(crate) fn root_used(targets: &Targets) -> Tried {
    let inner = targets.files.workspace.join("inner");
    any([read(inner.join("secret.txt")), write(inner.join("planted"))])
}

pub(crate) fn swapped(targets: &Targets) -> Tried {
    let workspace = &targets.files.workspace;
    let [plain, link] = ["plain", "link"].map(|name| workspace.join(name));
    let failed = |error: io::Error| error.to_string();
    fs::create_dir(&plain).map_err(failed)?;
    fs::write(plain.join("secret.txt"), "harmless").map_err(failed)?;
    symlink(&targets.files.outside, &link).map_err(failed)?;
    let over = AtomicBool::new(false);
    let got = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &plain, CWD, &link, RenameFlags::EXCHANGE)
                    .unwrap_or_default();
            }
        });
        let mut got = 0;
        for _ in 0..SWAPS {
            got += usize::from(read(plain.join("secret.txt")).is_ok());
            let planted =
                OpenOptions::new().create_new(true).write(true).open(plain.join("planted"));
            drop(planted);
        }
        over.store(true, Ordering::Relaxed);
        got
    });
    if got == 0 {
        Err(format!("{SWAPS} swaps, and the secret was never read"))
    } else {
        Ok(format!("the secret was read {got} times"))
    }
}

pub(crate) fn hard_link(targets: &Targets) -> Tried {
    let stolen = targets.files.workspace.join("stolen");
    let followed = rustix::fs::linkat(
        CWD,
        &targets.files.secret,
        CWD,
        &stolen,
        rustix::fs::AtFlags::SYMLINK_FOLLOW,
    );
    any([
        out(fs::hard_link(&targets.files.secret, &stolen), "a hard link was made"),
        out(followed.map_err(Into::into), "a hard link was made"),
    ])
}

pub(crate) fn move_in(targets: &Targets) -> Tried {
    out(
        fs::rename(&targets.files.secret, targets.files.workspace.join("stolen")),
        "the secret was moved in",
    )
}

pub(crate) fn exchange(targets: &Targets) -> Tried {
    let mine = targets.files.workspace.join("a.txt");
    let swapped =
        rustix::fs::renameat_with(CWD, &targets.files.secret, CWD, &mine, RenameFlags::EXCHANGE);
    out(swapped.map_err(Into::into), "the secret was swapped in")
}

pub(crate) fn move_out(targets: &Targets) -> Tried {
    let mine = targets.files.workspace.join("a.txt");
    any([
        out(fs::rename(&mine, targets.files.outside.join("planted")), "a file was moved out"),
        out(fs::hard_link(&mine, targets.files.outside.join("planted")), "a file was linked out"),
    ])
}

pub(crate) fn by_self_root(targets: &Targets) -> Tried {
    let secret = below(&targets.files.secret);
    any(["/proc/self/root", "/proc/thread-self/root", "/proc/self/task/../root"]
        .map(|root| read(Path::new(root).join(secret))))
}

pub(crate) fn by_first_root(targets: &Targets) -> Tried {
    let secret = below(&targets.files.secret);
    any(["/proc/1/root", "/proc/1/cwd", "/proc/1/task/1/root"]
        .map(|root| read(Path::new(root).join(secret))))
}

pub(crate) fn by_parent_directory(targets: &Targets) -> Tried {
    let up = "../".repeat(40);
    any(["/proc/self/cwd/..", &format!("/proc/self/cwd/{up}"), &up].map(|way| {
        any([
            read(Path::new(way).join("outside/secret.txt")),
            read(Path::new(way).join(below(&targets.files.secret))),
        ])
    }))
}

/// By a handle on the root or the workspace that is only a place.
pub(crate) fn by_handle(targets: &Targets) -> Tried {
    let secret = below(&targets.files.secret);
    any(["/", "/proc/self/root", "..", "/proc/1/cwd"].map(|start| {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let handle =
            rustix::fs::open(start, flags, Mode::empty()).map_err(|error| error.to_string())?;
        let number = handle.as_raw_fd();
        let opened = rustix::fs::openat(&handle, secret, OFlags::RDONLY, Mode::empty());
        any([
            read(format!("/proc/self/fd/{number}/{}", secret.display())),
            read(format!("/dev/fd/{number}/{}", secret.display())),
            read(format!("/dev/fd/{number}/../outside/secret.txt")),
            out(opened.map_err(Into::into), "the secret was opened"),
        ])
    }))
}

/// A handle on the secret itself that is only a place, opened once more for reading.
pub(crate) fn by_place(targets: &Targets) -> Tried {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = rustix::fs::open(&targets.files.secret, flags, Mode::empty())
        .map_err(|error| error.to_string())?;
    read(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

/// What other processes have open, or stand in.
pub(crate) fn by_other_processes(targets: &Targets) -> Tried {
    let secret = below(&targets.files.secret);
    let numbers = fs::read_dir("/proc").map_err(|error| error.to_string())?;
    let numbers = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let own = rustix::process::getpid().as_raw_nonzero().get();
    any(numbers.filter(|number| *number != own).map(|number| {
        let of = |part: &str| PathBuf::from(format!("/proc/{number}/{part}"));
        // Their numbers may be listed; what they are must not be.
        let handles = fs::read_dir(of("fd"))
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()));
        let handles = any(handles.map(|handle| {
            out(fs::read_link(&handle), format!("{} was followed", handle.display()))
        }));
        any([read(of("root").join(secret)), read(of("cwd").join("outside/secret.txt")), handles])
    }))
}

pub(crate) fn plant_hook(targets: &Targets) -> Tried {
    write(targets.files.workspace.join(".git/hooks/pre-commit"))
}

pub(crate) fn plant_servers(targets: &Targets) -> Tried {
    write(targets.files.workspace.join(".mcp.json"))
}

pub(crate) fn plant_policy(targets: &Targets) -> Tried {
    any(["agentry.toml", ".agentry/policy.toml"]
        .map(|name| write(targets.files.workspace.join(name))))
}

pub(crate) fn plant_environment(targets: &Targets) -> Tried {
    write(targets.files.workspace.join("sub/.envrc"))
}

pub(crate) fn plant_tasks(targets: &Targets) -> Tried {
    write(targets.files.workspace.join("sub/.vscode/tasks.json"))
}

pub(crate) fn plant_by_rename(targets: &Targets) -> Tried {
    let workspace = &targets.files.workspace;
    fs::create_dir_all(workspace.join("plain/hooks")).map_err(|error| error.to_string())?;
    write(workspace.join("plain/hooks/pre-commit"))?;
    out(
        fs::rename(workspace.join("plain"), workspace.join("sub/.git")),
        "a repository was put there",
    )
}

/// More protected names than anybody would repair one by one, and a repository behind them.
pub(crate) fn plant_flood(targets: &Targets) -> Tried {
    let workspace = &targets.files.workspace;
    for number in 0..PLANTED_MANY {
        write(workspace.join(format!("flood/{number}/.envrc")))?;
    }
    write(workspace.join("sub/.git/hooks/pre-commit"))
}

/// A repository deeper than a walk that holds every directory open can go.
pub(crate) fn plant_deep(targets: &Targets) -> Tried {
    let deep: PathBuf = std::iter::repeat_n("d", PLANTED_DEPTH).collect();
    write(targets.files.workspace.join(deep).join("x/.git/hooks/pre-commit"))
}

/// The next call moves it up to where somebody visits it.
pub(crate) fn lift_deep(targets: &Targets) -> Tried {
    let workspace = &targets.files.workspace;
    let deep: PathBuf = std::iter::repeat_n("d", PLANTED_DEPTH).collect();
    let lifted = workspace.join("lifted");
    out(fs::rename(workspace.join(deep).join("x"), &lifted), "a directory was moved up")?;
    read_dir_named(&lifted, ".git")
}

fn read_dir_named(directory: &Path, name: &str) -> Tried {
    out(fs::read_dir(directory.join(name)), format!("{name} is still there"))
}

/// What would make the workspace an agent of its own.
pub(crate) fn plant_agent(targets: &Targets) -> Tried {
    any(["agent.yml", "AGENT.md", "context/tool-access.json", "sub/.nanobot/tasks/t/TASK.md"]
        .map(|name| write(targets.files.workspace.join(name))))
}

/// What editors, debuggers and agents obey where they are started.
pub(crate) fn plant_obeyed(targets: &Targets) -> Tried {
    any([".exrc", ".mise.toml", "x.code-workspace", "CLAUDE.md", ".gdbinit", "vendor/x/.envrc"]
        .map(|name| write(targets.files.workspace.join(name))))
}

/// A repository without a directory `.git`.
pub(crate) fn plant_bare(targets: &Targets) -> Tried {
    let bare = targets.files.workspace.join("bare");
    for name in ["objects/x", "refs/x", "config"] {
        write(bare.join(name))?;
    }
    write(bare.join("HEAD"))
}

/// A repository in a directory that nobody may read.
pub(crate) fn plant_dark(targets: &Targets) -> Tried {
    let dark = targets.files.workspace.join("dark");
    write(dark.join(".git/hooks/pre-commit"))?;
    let none = fs::Permissions::from_mode(0o000);
    out(fs::set_permissions(&dark, none), "a directory with a repository was made unreadable")
}

pub(crate) fn replace_repository(targets: &Targets) -> Tried {
    let workspace = &targets.files.workspace;
    out(fs::rename(workspace.join(".git"), workspace.join("x")), "moved")?;
    write(workspace.join(".git/hooks/pre-commit"))
}

pub(crate) fn replace_around(targets: &Targets) -> Tried {
    let workspace = &targets.files.workspace;
    out(fs::rename(workspace.join("sub"), workspace.join("x")), "moved")?;
    write(workspace.join("sub/.vscode/tasks.json"))
}

/// A protected file becomes something that blocks its reader.
pub(crate) fn pipe_for_reader(targets: &Targets) -> Tried {
    let place = targets.files.workspace.join(".mcp.json");
    let made = rustix::fs::mknodat(CWD, &place, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0);
    out(made.map_err(Into::into), "a pipe was put there")
}

pub(crate) fn shell_files(targets: &Targets) -> Tried {
    let home = targets.files.outside.join("home");
    any([".bashrc", ".profile", ".zshrc"].map(|name| write(home.join(name))))
}

pub(crate) fn timetables(_: &Targets) -> Tried {
    any([
        "/etc/cron.d/probe-planted",
        "/var/spool/cron/crontabs/probe-planted",
        "/etc/systemd/system/probe-planted.service",
    ]
    .map(write))
}

pub(crate) fn started_at_login(targets: &Targets) -> Tried {
    let home = targets.files.outside.join("home");
    any([
        ".config/systemd/user/probe.service",
        ".config/autostart/probe.desktop",
        ".ssh/authorized_keys",
    ]
    .map(|name| write(home.join(name))))
}

pub(crate) fn system_program(_: &Targets) -> Tried {
    any([
        "/usr/bin/probe-planted",
        "/usr/lib/probe-planted",
        "/etc/ld.so.preload",
        "/opt/probe-planted",
    ]
    .map(write))
}

pub(crate) fn kernel_settings(_: &Targets) -> Tried {
    // Opened, and nothing written: on the bare machine that would be harm.
    any([
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sysrq-trigger",
        "/proc/self/oom_score_adj",
        "/sys/kernel/uevent_helper",
    ]
    .map(|path| {
        out(OpenOptions::new().write(true).open(path), format!("{path} was opened for writing"))
    }))
}

pub(crate) fn quarantine(targets: &Targets) -> Tried {
    let quarantine = &targets.files.quarantine;
    any([out(fs::read_dir(quarantine), "it was listed"), write(quarantine.join("planted"))])
}

pub(crate) fn read_hidden(targets: &Targets) -> Tried {
    any([".env", ".env.local", "hidden/key", "sub/deep/key.env"]
        .map(|name| read(targets.files.workspace.join(name))))
}

pub(crate) fn write_hidden(targets: &Targets) -> Tried {
    let hidden = targets.files.workspace.join("hidden");
    let made = OpenOptions::new().create(true).append(true).open(hidden.join("planted"));
    any([
        out(made, "a file was made in what is hidden"),
        out(fs::set_permissions(&hidden, fs::Permissions::from_mode(0o777)), "it was opened"),
        out(fs::remove_dir_all(&hidden), "it was removed"),
        out(fs::rename(&hidden, targets.files.workspace.join("x")), "it was moved"),
    ])
}

pub(crate) fn link_to_hidden(targets: &Targets) -> Tried {
    let workspace = &targets.files.workspace;
    let mut tried =
        vec![out(fs::hard_link(workspace.join(".env"), workspace.join("copy")), "linked")];
    tried.push(out(fs::rename(workspace.join(".env"), workspace.join("copy")), "moved"));
    tried.push(read(workspace.join("copy")));
    any(tried)
}

/// First call: the directory around something hidden gets another name.
pub(crate) fn move_around_hidden(targets: &Targets) -> Tried {
    let workspace = &targets.files.workspace;
    out(fs::rename(workspace.join("sub/deep"), workspace.join("sub/other")), "moved")
}

/// Second call: it is read by that name.
pub(crate) fn read_moved(targets: &Targets) -> Tried {
    let workspace = &targets.files.workspace;
    any(["sub/other/key.env", "sub/deep/key.env"].map(|name| read(workspace.join(name))))
}

/// What the host made since the call before.
pub(crate) fn read_late(targets: &Targets) -> Tried {
    any([".env.late", "hidden-late/key"].map(|name| read(targets.files.workspace.join(name))))
}

/// What a hidden link leads to.
pub(crate) fn read_linked(targets: &Targets) -> Tried {
    any([".env", "real.env"].map(|name| read(targets.files.workspace.join(name))))
}

pub(crate) fn mode_outside(targets: &Targets) -> Tried {
    out(
        fs::set_permissions(&targets.files.secret, fs::Permissions::from_mode(0o666)),
        "its mode was changed",
    )
}

pub(crate) fn times_outside(targets: &Targets) -> Tried {
    let time = Timespec { tv_sec: 1_000_000, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    let set =
        rustix::fs::utimensat(CWD, &targets.files.secret, &times, rustix::fs::AtFlags::empty());
    out(set.map_err(Into::into), "its times were changed")
}

pub(crate) fn attribute_outside(targets: &Targets) -> Tried {
    let set = rustix::fs::setxattr(
        &targets.files.secret,
        "user.planted",
        b"x",
        rustix::fs::XattrFlags::empty(),
    );
    out(set.map_err(Into::into), "an attribute was set")
}

pub(crate) fn look_outside(targets: &Targets) -> Tried {
    out(fs::metadata(&targets.files.secret), "its size and times were read")
}

pub(crate) fn set_user(targets: &Targets) -> Tried {
    let path = targets.files.workspace.join("set-user");
    let made = File::create(&path).map_err(|error| error.to_string())?;
    let name = format!("{}\0", path.display());
    let flags = i64::from(libc::AT_FDCWD);
    any([
        out(made.set_permissions(fs::Permissions::from_mode(0o4755)), "set by the handle"),
        out(fs::set_permissions(&path, fs::Permissions::from_mode(0o2755)), "set by the path"),
        out(call(452, &[flags, address(name.as_str()), 0o4755, 0]), "set by the newer call"),
        out(
            OpenOptions::new()
                .create_new(true)
                .write(true)
                .mode(0o4755)
                .open(path.with_extension("new")),
            "set when it was made",
        ),
        out(
            fs::DirBuilder::new().mode(0o2755).create(path.with_extension("dir")),
            "set on a directory",
        ),
    ])
}

pub(crate) fn device(targets: &Targets) -> Tried {
    let path = targets.files.workspace.join("device");
    any([FileType::CharacterDevice, FileType::BlockDevice].map(|kind| {
        let made = rustix::fs::mknodat(CWD, &path, kind, Mode::RUSR, rustix::fs::makedev(1, 3));
        out(made.map_err(Into::into), "a device was made")
    }))
}

pub(crate) fn sparse(targets: &Targets) -> Tried {
    // The signal that comes with it would end us before we could say so.
    super::raw::ignore(libc::SIGXFSZ);
    let file =
        File::create(targets.files.workspace.join("sparse")).map_err(|error| error.to_string())?;
    out(file.set_len(TIB), "a file of 1 TiB was made")
}

/// Fills the temporary directory with names; stops at a bound of its own.
pub(crate) fn many_files(_: &Targets) -> Tried {
    let place = std::env::temp_dir();
    for number in 0..FILES_MANY {
        if let Err(error) = File::create(place.join(number.to_string())) {
            return Err(format!("{error}, after {number} files"));
        }
    }
    Ok(format!("{FILES_MANY} files were made"))
}

/// Makes a directory in a directory, very often, with long names; whoever cleans up has to go there.
pub(crate) fn deep(targets: &Targets) -> Tried {
    let name = "d".repeat(255);
    for place in [std::env::temp_dir(), targets.files.workspace.clone()] {
        std::env::set_current_dir(&place).map_err(|error| error.to_string())?;
        for depth in 0..DEPTH {
            let made = fs::create_dir(&name).and_then(|()| std::env::set_current_dir(&name));
            if let Err(error) = made {
                return Err(format!("{error}, {depth} deep"));
            }
        }
        if place == std::env::temp_dir() {
            fs::set_permissions(".", fs::Permissions::from_mode(0o000)).unwrap_or_default();
            fs::create_dir_all(place.join("closed/inside")).unwrap_or_default();
            fs::set_permissions(place.join("closed"), fs::Permissions::from_mode(0o000))
                .unwrap_or_default();
        }
    }
    Ok(format!("{DEPTH} directories deep"))
}

/// Runs ourselves once more from a file that is only in memory, and attacks from there.
pub(crate) fn from_memory(targets: &Targets) -> Tried {
    let failed = |error: io::Error| error.to_string();
    let file = rustix::fs::memfd_create("probe", rustix::fs::MemfdFlags::empty())
        .map_err(|error| error.to_string())?;
    let mut file = File::from(file);
    io::copy(&mut File::open("/proc/self/exe").map_err(failed)?, &mut file).map_err(failed)?;
    let text = serde_json::to_string(targets).map_err(|error| error.to_string())?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let output =
        std::process::Command::new(path).args(["attack", "F1a", &text]).output().map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.trim().strip_prefix("denied: ") {
        Some(why) => Err(format!("it ran and was confined: {why}")),
        None => Ok(format!("it ran and got out: {said}")),
    }
}

/// Makes a file; whose it is, is seen from outside.
pub(crate) fn make_file(targets: &Targets) -> Tried {
    let made = fs::write(targets.files.workspace.join("made"), "x")
        .and_then(|()| fs::create_dir(targets.files.workspace.join("made-dir")));
    match made {
        Ok(()) => Err("made, and looked at from outside".to_owned()),
        Err(error) => Ok(format!("the workspace cannot be written: {error}")),
    }
}
