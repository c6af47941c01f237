//! Control groups, where a part of the tree was delegated to us: memory and processes of one call.
//!
//! Only the unified hierarchy (version 2). A control group that holds processes cannot delegate its
//! controllers, so this process moves to a leaf before the first call is started.
//!
//! Must never: touch a control group that is not ours, or leave one behind that is empty.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use agentry_protocol::confinement::ConfinementLimits;
use rustix::fs::{Access, access};

use crate::limits::{GROUP_REMOVAL_WAIT_MS, GROUP_REMOVALS_MAX};

const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// The leaf that this process moves to.
const OURSELVES: &str = "ourselves";

/// A part of the tree in which a control group can be made for each call.
#[derive(Debug)]
pub(crate) struct Cgroups {
    base: PathBuf,
}

impl Cgroups {
    /// Finds the control group that we were started in, and prepares it for the groups of calls.
    ///
    /// `root` is the mount point of the hierarchy, `own` the text of `/proc/self/cgroup`. Returns
    /// None unless the group has the controllers `memory` and `pids` and belongs to us (or we are
    /// root). Then makes `agentry-<pid>` in it, moves this whole process to the leaf
    /// `agentry-<pid>/ourselves`, and delegates both controllers; the groups of calls are leaves
    /// beside that one. If another process lives in the same group, the kernel refuses to delegate:
    /// then undoes all and returns None. To be called once, before any child.
    pub(crate) fn find(root: &Path, own: &str) -> Option<Self> {
        let group = root.join(unified(own)?);
        is_ours(&group).then_some(())?;
        let base = group.join(format!("agentry-{}", std::process::id()));
        if take(&group, &base).is_err() {
            // Without control groups the limits are soft; the attestation says so.
            give_back(&group, &base);
            return None;
        }
        Some(Self { base })
    }

    /// Makes the control group of one call; `name` is one plain file name.
    pub(crate) fn create(&self, name: &str, limits: &ConfinementLimits) -> io::Result<Cgroup> {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
            || name == OURSELVES
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{name}` cannot be the name of a control group"),
            ));
        }
        let group = Cgroup::make(self.base.join(name))?;
        group.limit(limits)?;
        Ok(group)
    }
}

/// Returns the path of the unified hierarchy in `/proc/self/cgroup`, below the mount.
fn unified(own: &str) -> Option<&Path> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // A group outside of our namespace of control groups starts with `..`, and is not ours.
    let path = Path::new(path);
    path.components().all(|part| matches!(part, Component::Normal(_))).then_some(path)
}

fn is_ours(group: &Path) -> bool {
    let user = rustix::process::geteuid();
    let owned = fs::metadata(group).is_ok_and(|it| user.is_root() || it.uid() == user.as_raw());
    let needed = ["cgroup.procs", "cgroup.subtree_control"];
    owned
        && access(group, Access::WRITE_OK).is_ok()
        && needed.iter().all(|file| access(group.join(file), Access::WRITE_OK).is_ok())
        && has_controllers(group)
}

fn has_controllers(group: &Path) -> bool {
    let Ok(text) = fs::read_to_string(group.join("cgroup.controllers")) else { return false };
    CONTROLLERS.iter().all(|wanted| text.split_whitespace().any(|it| it == *wanted))
}

fn take(group: &Path, base: &Path) -> io::Result<()> {
    let leaf = base.join(OURSELVES);
    fs::create_dir_all(&leaf)?;
    move_to(&leaf)?;
    for parent in [group, base] {
        let all: Vec<String> = CONTROLLERS.iter().map(|name| format!("+{name}")).collect();
        fs::write(parent.join("cgroup.subtree_control"), all.join(" "))?;
    }
    Ok(())
}

/// Undoes `take` as far as it got.
fn give_back(group: &Path, base: &Path) {
    undo(move_to(group));
    undo(fs::remove_dir(base.join(OURSELVES)));
    undo(fs::remove_dir(base));
}

/// Accepts the result of a step back. A step that was not done cannot be undone, so its error is
/// no failure.
fn undo(step: io::Result<()>) {
    step.ok();
}

/// Moves this process with all of its threads.
fn move_to(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// The control group of one call; it is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Cgroup {
    dir: PathBuf,
}

impl Cgroup {
    /// Returns its path, for a process that is to be born in it.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    #[cfg(test)]
    /// Moves a process into it, with all that it starts from now on.
    pub(crate) fn add(&self, pid: u32) -> io::Result<()> {
        self.write("cgroup.procs", &pid.to_string())
    }

    /// Kills every process in it at once.
    pub(crate) fn kill(&self) -> io::Result<()> {
        self.write("cgroup.kill", "1")
    }

    /// Kills the processes that are left in it. This is a second way to end them: the first way is
    /// the init process, so an error, as of a kernel that cannot do it, leaves no process behind.
    pub(crate) fn kill_rest(&self) {
        self.kill().ok();
    }

    /// Returns the number of processes that were killed because the memory was used up.
    pub(crate) fn oom_kills(&self) -> io::Result<u64> {
        let text = fs::read_to_string(self.dir.join("memory.events"))?;
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.trim().parse().ok()).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "`memory.events` has no line `oom_kill`")
        })
    }

    fn make(dir: PathBuf) -> io::Result<Self> {
        fs::create_dir(&dir)?;
        Ok(Self { dir })
    }

    fn limit(&self, limits: &ConfinementLimits) -> io::Result<()> {
        self.write("memory.max", &limits.memory_bytes.to_string())?;
        // A machine without swap does not have the file, and then there is nothing to forbid.
        match self.write("memory.swap.max", "0") {
            Err(_) if !self.dir.join("memory.swap.max").exists() => {}
            written => written?,
        }
        self.write("memory.oom.group", "1")?;
        self.write("pids.max", &limits.processes.to_string())
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.dir.join(file), text)
            .map_err(|cause| io::Error::new(cause.kind(), format!("cannot write {file}: {cause}")))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..GROUP_REMOVALS_MAX {
            // Killed processes remain in the group until they are gone.
            match fs::remove_dir(&self.dir) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    sleep(Duration::from_millis(GROUP_REMOVAL_WAIT_MS));
                }
                Ok(()) | Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tests::{again, in_child, say};

    const LIMITS: ConfinementLimits = ConfinementLimits {
        timeout_ms: 1_000,
        memory_bytes: 1 << 30,
        processes: 64,
        disk_bytes: 1 << 20,
        files: 100,
    };
    const OWN: &str = "1:name=systemd:/else\n0::/user/app.scope\n";

    /// Makes files that look like a delegated control group.
    fn tree(controllers: &str) -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("user/app.scope");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("cgroup.controllers"), controllers).unwrap();
        fs::write(group.join("cgroup.procs"), "").unwrap();
        fs::write(group.join("cgroup.subtree_control"), "").unwrap();
        (root, group)
    }

    fn read(path: PathBuf) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn we_move_to_a_leaf_and_hand_the_controllers_down() {
        let (root, group) = tree("cpu memory pids\n");
        let groups = Cgroups::find(root.path(), OWN).unwrap();
        let pid = std::process::id().to_string();
        let base = group.join(format!("agentry-{pid}"));
        assert_eq!(groups.base, base);
        assert_eq!(read(base.join("ourselves/cgroup.procs")), pid);
        assert_eq!(read(group.join("cgroup.subtree_control")), "+memory +pids");
        assert_eq!(read(base.join("cgroup.subtree_control")), "+memory +pids");
    }

    #[test]
    fn a_call_gets_a_group_with_its_limits_and_counts_its_kills() {
        let (root, _group) = tree("memory pids");
        let groups = Cgroups::find(root.path(), OWN).unwrap();
        let call = groups.create("call-7", &LIMITS).unwrap();
        let file = |name: &str| read(call.dir().join(name));
        assert_eq!(file("memory.max"), "1073741824");
        assert_eq!(file("memory.swap.max"), "0");
        assert_eq!(file("memory.oom.group"), "1");
        assert_eq!(file("pids.max"), "64");
        call.add(4711).unwrap();
        assert_eq!(file("cgroup.procs"), "4711");
        call.kill().unwrap();
        assert_eq!(file("cgroup.kill"), "1");
        assert!(call.oom_kills().is_err());
        fs::write(call.dir().join("memory.events"), "oom 9\noom_kill 3\noom_group_kill 1\n")
            .unwrap();
        assert_eq!(call.oom_kills().unwrap(), 3);
    }

    #[test]
    fn a_group_is_removed_when_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let group = Cgroup::make(dir.path().join("call")).unwrap();
        assert!(dir.path().join("call").is_dir());
        drop(group);
        assert!(!dir.path().join("call").exists());
    }

    #[test]
    fn there_are_no_groups_without_both_controllers() {
        let (root, group) = tree("cpu io memory");
        assert!(Cgroups::find(root.path(), OWN).is_none());
        assert_eq!(read(group.join("cgroup.procs")), "");
    }

    #[test]
    fn there_are_no_groups_in_an_old_or_foreign_hierarchy() {
        let (root, _group) = tree("memory pids");
        assert!(Cgroups::find(root.path(), "4:memory:/user/app.scope\n").is_none());
        assert!(Cgroups::find(root.path(), "0::/../app.scope\n").is_none());
        assert!(Cgroups::find(root.path(), "0::/nowhere\n").is_none());
    }

    #[test]
    fn what_was_begun_is_put_back_when_the_controllers_cannot_be_handed_down() {
        let (root, group) = tree("memory pids");
        // Stands for the kernel's refusal when another process lives in the group.
        fs::remove_file(group.join("cgroup.subtree_control")).unwrap();
        fs::create_dir(group.join("cgroup.subtree_control")).unwrap();
        assert!(Cgroups::find(root.path(), OWN).is_none());
        assert_eq!(read(group.join("cgroup.procs")), std::process::id().to_string());
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        let (root, _group) = tree("memory pids");
        let groups = Cgroups::find(root.path(), OWN).unwrap();
        for name in ["", ".", "..", "a/b", "/a", "ourselves"] {
            let error = groups.create(name, &LIMITS).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    fn a_real_group_kills_what_is_in_it_and_goes_away() {
        let dirs = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
        let made = dirs.iter().map(Path::new).find_map(|dir| {
            dir.join("cgroup.procs").exists().then_some(())?;
            Cgroup::make(dir.join(format!("agentry-test-{}", std::process::id()))).ok()
        });
        let Some(group) = made else {
            say("skipped: no control group can be made here");
            return;
        };
        let mut child = again("linux::cgroup::tests::child_that_waits").start();
        assert_eq!(child.line(), "ready");
        if let Err(error) = group.add(child.id()) {
            say(format_args!("skipped: a process cannot be moved here: {error}"));
            return;
        }
        group.kill().unwrap();
        assert_eq!(child.signal(), Some(libc::SIGKILL));
        let dir = group.dir().to_owned();
        drop(group);
        assert!(!dir.exists());
    }

    #[test]
    #[ignore = "runs only as the child of another test"]
    fn child_that_waits() {
        in_child(|| {
            say("ready");
            io::stdin().read_line(&mut String::new()).unwrap();
        });
    }
}
