//! Builds the files of a sandbox: parts of the machine, read-only or writable, and nothing else.
//!
//! Everything is held by handles. A part of the machine is resolved once, without following a link,
//! and afterwards no path of the machine is used again.
//!
//! Must never: follow a link, or leave a part of the machine writable by accident: a flag that
//! cannot be set is an error.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
    mount_change, move_mount, open_tree, unmount,
};

use crate::limits::{ROOT_BYTES_MAX, SHARED_MEMORY_BYTES_MAX};
use crate::linux::file_copies::FileCopy;
use crate::linux::sys::{
    self, ForkSide, MountChange, NO_DEVICES, NO_SETUID, READ_ONLY, mount_setattr,
};
use crate::spec::{BindKind, BindMount, FileOwner, FilesystemView, SandboxFailure, StepContext};

/// A part of the machine, opened and not yet attached; None if it is missing and optional.
pub(crate) type MountTree = Option<OwnedFd>;

/// Directories to build the new root in; their old content is not needed by then.
const PLACES: [&str; 3] = ["/tmp", "/mnt", "/proc"];

/// Opens the parts of the machine that a sandbox sees.
pub(crate) fn trees(
    view: &FilesystemView,
    lender: &mut IdMapper,
) -> Result<Vec<MountTree>, SandboxFailure> {
    view.binds.iter().map(|bind| tree(bind, lender)).collect()
}

fn tree(bind: &BindMount, lender: &mut IdMapper) -> Result<MountTree, SandboxFailure> {
    let shown = bind.from.display();
    let found = match find(CWD, &bind.from) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) if bind.optional => {
            return Ok(None);
        }
        found => found.at_step(&format!("find {shown}"))?,
    };
    let step = format!("mount {shown}");
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(&found, "", flags).at_step(&step)?;
    let set = match bind.kind {
        BindKind::Read => READ_ONLY | NO_SETUID | NO_DEVICES,
        BindKind::Write => NO_SETUID | NO_DEVICES,
        BindKind::Device => NO_SETUID,
    };
    let change = MountChange { recursive: true, set, owners: None };
    mount_setattr(tree.as_fd(), change).at_step(&step)?;
    if let Some(owner) = bind.lend {
        lend(&tree, bind, owner, lender)?;
    }
    Ok(Some(tree))
}

/// Maps the owner of the files to the sandbox's own user. A failure for read-only files is ignored.
fn lend(
    tree: &OwnedFd,
    bind: &BindMount,
    owner: FileOwner,
    lender: &mut IdMapper,
) -> Result<(), SandboxFailure> {
    let step = format!("lend {}", bind.from.display());
    let owners = lender.owners(owner).at_step(&step)?;
    let change = MountChange { owners: Some(owners), ..MountChange::default() };
    match mount_setattr(tree.as_fd(), change) {
        Err(_) if bind.kind == BindKind::Read => Ok(()),
        result => result.at_step(&step),
    }
}

/// Opens a path below a directory, without following any link.
fn find(root: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(
        root,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )
}

/// Maps owners of mounted files: the owner on the disk appears as the sandbox's own user.
pub(crate) struct IdMapper {
    user: u32,
    known: HashMap<FileOwner, OwnedFd>,
}

impl IdMapper {
    /// Maps owners to this user.
    pub(crate) fn to(user: u32) -> Self {
        Self { user, known: HashMap::new() }
    }

    fn owners(&mut self, owner: FileOwner) -> io::Result<BorrowedFd<'_>> {
        if !self.known.contains_key(&owner) {
            let namespace = mapping(owner, self.user)?;
            self.known.insert(owner, namespace);
        }
        Ok(self.known[&owner].as_fd())
    }
}

/// Makes a user namespace that lives only as long as its handle.
fn mapping(owner: FileOwner, user: u32) -> io::Result<OwnedFd> {
    let (reader, writer) = io::pipe()?;
    match sys::clone(sys::USERS)? {
        ForkSide::Child => {
            drop(writer);
            // No byte is ever written; the pipe ends when the mapping is done.
            let ended = io::copy(&mut &reader, &mut io::sink());
            sys::exit_now(i32::from(ended.is_err()))
        }
        ForkSide::Parent { pid, .. } => {
            let number = pid.as_raw_nonzero();
            let map = |file: &str, id: u32| {
                std::fs::write(format!("/proc/{number}/{file}"), format!("{id} {user} 1"))
            };
            let taken = map("uid_map", owner.user)
                .and_then(|()| map("gid_map", owner.group))
                .and_then(|()| std::fs::File::open(format!("/proc/{number}/ns/user")));
            drop(writer);
            rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty())?;
            Ok(taken?.into())
        }
    }
}

/// The file systems of a sandbox that its program can change and that belong to it alone.
pub(crate) struct WritableMounts {
    /// Temporary files.
    pub(crate) scratch: OwnedFd,
    /// Shared memory.
    pub(crate) shared: OwnedFd,
    /// Terminals.
    pub(crate) terminals: OwnedFd,
}

/// Builds the new root from the parts and enters it. No other file remains visible.
pub(crate) fn enter(
    view: &FilesystemView,
    trees: Vec<MountTree>,
    copies: &[FileCopy],
) -> Result<WritableMounts, SandboxFailure> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).at_step("make the mounts private")?;
    let proc = new_file_system("proc", &[], MountAttrFlags::MOUNT_ATTR_NOEXEC);
    let proc = proc.at_step("mount /proc")?;
    let root = if view.broad { whole_machine() } else { empty_root() };
    let root = root.at_step("make the root")?;
    let place = PLACES.iter().find(|place| Path::new(place).is_dir()).copied().unwrap_or("/");
    attach(&root, CWD, Path::new(place)).at_step("make the root")?;
    let root = SandboxRoot { root, writable: !view.broad };
    let own = root.basics(view, copies)?;
    root.place(proc.as_fd(), Path::new("/proc"), FileType::Directory).at_step("mount /proc")?;
    for (bind, tree) in view.binds.iter().zip(trees) {
        let Some(tree) = tree else { continue };
        root.bind(bind, &tree)?;
    }
    root.hide(view)?;
    root.seal().at_step("make the root read-only")?;
    root.become_root().at_step("enter the root")?;
    Ok(own)
}

fn empty_root() -> io::Result<OwnedFd> {
    let bytes = ROOT_BYTES_MAX.to_string();
    new_file_system("tmpfs", &[("size", &bytes), ("mode", "0755")], MountAttrFlags::empty())
}

fn whole_machine() -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, "/", flags)?;
    let set = READ_ONLY | NO_SETUID | NO_DEVICES;
    mount_setattr(tree.as_fd(), MountChange { recursive: true, set, owners: None })?;
    Ok(tree)
}

pub(crate) fn new_file_system(
    kind: &str,
    options: &[(&str, &str)],
    more: MountAttrFlags,
) -> io::Result<OwnedFd> {
    let made = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(&made, *name, *value)?;
    }
    fsconfig_create(&made)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | more;
    Ok(fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

fn attach(tree: impl AsFd, at: impl AsFd, path: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(tree, "", at, path, flags)?)
}

/// The new root while it is built.
struct SandboxRoot {
    root: OwnedFd,
    /// True if directories can be made in it.
    writable: bool,
}

impl SandboxRoot {
    /// Makes the parts of every sandbox: devices, temporary files, generated settings.
    fn basics(
        &self,
        view: &FilesystemView,
        copies: &[FileCopy],
    ) -> Result<WritableMounts, SandboxFailure> {
        let (shared, terminals) = self.devices().at_step("make /dev")?;
        let (bytes, files) = (view.scratch_bytes, (view.scratch_bytes / 4096).max(64));
        let (bytes, files) = (bytes.to_string(), files.to_string());
        let options = [("size", &*bytes), ("nr_inodes", &*files), ("mode", "1777")];
        let scratch = new_file_system("tmpfs", &options, MountAttrFlags::empty());
        let scratch = scratch.at_step("make /tmp")?;
        self.place(scratch.as_fd(), Path::new("/tmp"), FileType::Directory).at_step("make /tmp")?;
        self.make_dir("tmp/home", 0o700).at_step("make a home")?;
        self.empty_dir("run").at_step("make /run")?;
        if !self.writable {
            self.empty_dir("sys").at_step("hide /sys")?;
        }
        for (at, content) in copies {
            self.write(at, content).at_step(&format!("write {}", at.display()))?;
        }
        for (at, content) in &view.files {
            self.write(at, content.as_bytes()).at_step(&format!("write {}", at.display()))?;
        }
        for (at, target) in &view.links {
            self.make_parents(at)
                .and_then(|()| match rustix::fs::symlinkat(target, &self.root, below(at)) {
                    Err(Errno::EXIST) => Ok(()),
                    result => result.map_err(Into::into),
                })
                .at_step(&format!("link {}", at.display()))?;
        }
        Ok(WritableMounts { scratch, shared, terminals })
    }

    /// Makes the directory of devices; its shared memory and its terminals are file systems.
    fn devices(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        self.empty_dir("dev")?;
        let bytes = SHARED_MEMORY_BYTES_MAX.to_string();
        let options = [("size", &*bytes), ("mode", "1777")];
        let shared = new_file_system("tmpfs", &options, MountAttrFlags::empty())?;
        self.place(shared.as_fd(), Path::new("/dev/shm"), FileType::Directory)?;
        let options = [("ptmxmode", "0666"), ("mode", "0620")];
        let terminals = fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
        for (name, value) in options {
            fsconfig_set_string(&terminals, name, value)?;
        }
        fsconfig_create(&terminals)?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let terminals = fsmount(&terminals, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
        self.place(terminals.as_fd(), Path::new("/dev/pts"), FileType::Directory)?;
        for (link, target) in [
            ("dev/fd", "/proc/self/fd"),
            ("dev/stdin", "/proc/self/fd/0"),
            ("dev/stdout", "/proc/self/fd/1"),
            ("dev/stderr", "/proc/self/fd/2"),
            ("dev/ptmx", "pts/ptmx"),
        ] {
            rustix::fs::symlinkat(target, &self.root, link)?;
        }
        Ok((shared, terminals))
    }

    /// Makes an empty directory, also over an existing one of the machine.
    fn empty_dir(&self, path: &str) -> io::Result<()> {
        if self.writable {
            return self.make_dir(path, 0o755);
        }
        let bytes = ROOT_BYTES_MAX.to_string();
        let options = [("size", &*bytes), ("mode", "0755")];
        let empty = new_file_system("tmpfs", &options, MountAttrFlags::empty())?;
        self.place(empty.as_fd(), Path::new(path), FileType::Directory)
    }

    fn bind(&self, bind: &BindMount, tree: &OwnedFd) -> Result<(), SandboxFailure> {
        let step = format!("mount {}", bind.to.display());
        let kind = rustix::fs::statat(tree, "", AtFlags::EMPTY_PATH).at_step(&step)?.st_mode;
        let placed = self.place(tree.as_fd(), &bind.to, FileType::from_raw_mode(kind));
        match placed {
            Err(error) if bind.optional && error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                Ok(())
            }
            placed => placed.at_step(&step),
        }
    }

    /// Mounts an unreadable empty file or directory over each hidden path.
    fn hide(&self, view: &FilesystemView) -> Result<(), SandboxFailure> {
        if view.masks.is_empty() {
            return Ok(());
        }
        let (dir, file) = self.blanks().at_step("make a mask")?;
        for path in &view.masks {
            let step = format!("hide {}", path.display());
            let found = match find(&self.root, below(path)) {
                // An invisible path needs no hiding; a link's target is hidden by its own name.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                found => found.at_step(&step)?,
            };
            let mode = rustix::fs::fstat(&found).at_step(&step)?.st_mode;
            let blank = if FileType::from_raw_mode(mode).is_dir() { &dir } else { &file };
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_EMPTY_PATH;
            let blank = open_tree(blank, "", flags).at_step(&step)?;
            let set = READ_ONLY | NO_SETUID | NO_DEVICES;
            mount_setattr(blank.as_fd(), MountChange { recursive: false, set, owners: None })
                .at_step(&step)?;
            let flags =
                MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
            move_mount(&blank, "", &found, "", flags).at_step(&step)?;
        }
        Ok(())
    }

    /// Makes an empty directory and an empty file that no program can open.
    fn blanks(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        self.make_dir("run/hidden", 0o700)?;
        self.make_dir("run/hidden/directory", 0o000)?;
        self.make_file("run/hidden/file", 0o000)?;
        let found = |path| find(&self.root, Path::new(path));
        Ok((found("run/hidden/directory")?, found("run/hidden/file")?))
    }

    /// Attaches a tree, and makes its mount point if possible.
    fn place(&self, tree: BorrowedFd<'_>, at: &Path, kind: FileType) -> io::Result<()> {
        let at = below(at);
        let target = match find(&self.root, at) {
            Err(Errno::NOENT) => {
                let make = || match kind {
                    FileType::Directory => self.make_dir(at, 0o755),
                    _ => self.make_file(at, 0o444),
                };
                match make() {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        self.make_parents(at)?;
                        make()?;
                    }
                    made => made?,
                }
                find(&self.root, at)?
            }
            found => found?,
        };
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(move_mount(tree, "", target, "", flags)?)
    }

    fn write(&self, at: &Path, content: &[u8]) -> io::Result<()> {
        use std::io::Write as _;
        self.make_parents(at)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.root, below(at), flags, Mode::from_raw_mode(0o444)) {
            Ok(file) => std::fs::File::from(file).write_all(content),
            // The whole machine is mounted, with a file of its own.
            Err(Errno::EXIST | Errno::ROFS) if !self.writable => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn make_parents(&self, at: &Path) -> io::Result<()> {
        let mut path = PathBuf::new();
        for part in below(at).parent().into_iter().flat_map(Path::components) {
            let Component::Normal(part) = part else { continue };
            path.push(part);
            self.make_dir(&path, 0o755)?;
        }
        Ok(())
    }

    fn make_dir(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.root, path.as_ref(), Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            // In a read-only part of the machine the directory may exist already.
            Err(Errno::ROFS) if find(&self.root, path.as_ref()).is_ok() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn make_file(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(&self.root, path.as_ref(), flags, Mode::from_raw_mode(mode))?;
        Ok(())
    }

    fn seal(&self) -> io::Result<()> {
        let change = MountChange { recursive: false, set: READ_ONLY, owners: None };
        mount_setattr(self.root.as_fd(), change)
    }

    /// Replaces the old root, and unmounts it with everything in it.
    fn become_root(self) -> io::Result<()> {
        rustix::process::fchdir(&self.root)?;
        rustix::process::pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        std::env::set_current_dir("/")
    }
}

/// Returns a path of the sandbox relative to its root.
fn below(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
