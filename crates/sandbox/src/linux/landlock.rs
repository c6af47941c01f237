//! The paths that a process may use, enforced by Landlock beneath its mounts.
//!
//! Must never: enforce less than requested and continue; a kernel that cannot is an error.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, AddRuleError, AddRulesError, BitFlags, CompatLevel,
    Compatible, CreateRulesetError, LandlockStatus, PathBeneath, RestrictSelf, RestrictSelfError,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::linux::StepError;

const STEP: &str = "confine paths (Landlock)";

/// The allowed paths of a process; all others are refused.
#[derive(Clone, Debug)]
pub(crate) struct LandlockRules {
    /// Paths that may be read and executed.
    pub(crate) read: Vec<LandlockPath>,
    /// Paths that may also be written and changed; device nodes cannot be made there.
    pub(crate) write: Vec<LandlockPath>,
    /// True if TCP is refused, in and out; effective from version 4 of Landlock.
    pub(crate) deny_tcp: bool,
    /// The version of Landlock below which no program is started.
    pub(crate) abi_min: u32,
}

/// One path, a file or a directory with all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LandlockPath {
    /// The path; a readable one may be a link, which is followed when the rule is made.
    pub(crate) path: PathBuf,
    /// True if it may be missing.
    pub(crate) optional: bool,
}

impl LandlockPath {
    /// Returns a path that must exist.
    pub(crate) fn required(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), optional: false }
    }

    #[cfg(test)]
    /// Returns a path that is left out where it does not exist.
    pub(crate) fn optional(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), optional: true }
    }
}

/// Returns the kernel's version of Landlock; 0 means that it has none.
pub(crate) fn abi() -> u32 {
    // With no flag set this asks for the version and does nothing else.
    let Ok(status) = RestrictSelf::default().no_new_privs(false).apply() else { return 0 };
    match status.landlock {
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            kernel_abi.map_or(effective_abi as u32, i32::cast_unsigned)
        }
    }
}

/// Puts the calling thread, and all that it starts, under the rules for good.
pub(crate) fn restrict(rules: &LandlockRules) -> Result<(), StepError> {
    let found = abi();
    if found < rules.abi_min || found == 0 {
        let why = match found {
            0 => "the kernel has no Landlock, or it was not switched on at boot".to_owned(),
            found => format!("the kernel has version {found}, and {} is needed", rules.abi_min),
        };
        return Err(StepError::refused(STEP, why));
    }
    let abi = ABI::from(i32::try_from(found).unwrap_or(i32::MAX));
    let mut ruleset = created(abi, rules.deny_tcp).map_err(|error| failed(STEP, error))?;
    let everything = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    let write = everything & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    // An earlier confined program may have replaced a writable path by a link.
    let lists = [
        (&rules.read, read, SymlinkPolicy::Followed),
        (&rules.write, write, SymlinkPolicy::Refused),
    ];
    for (list, access, links) in lists {
        for allowed in list {
            ruleset = with(ruleset, allowed, links, access, AccessFs::from_file(abi))?;
        }
    }
    let status = ruleset.restrict_self().map_err(|error| failed(STEP, error))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err(StepError::refused(STEP, "the kernel enforces only a part"))
        }
    }
}

/// Limits signals to this process and its later children. False where the kernel cannot.
pub(crate) fn bound_signals() -> Result<bool, StepError> {
    const STEP: &str = "bounding signals (Landlock)";
    let abi = ABI::from(i32::try_from(abi()).unwrap_or(i32::MAX));
    if !Scope::from_all(abi).contains(Scope::Signal) {
        return Ok(false);
    }
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::Signal)
        .and_then(Ruleset::create)
        .and_then(RulesetCreated::restrict_self);
    let status = ruleset.map_err(|error| failed(STEP, error))?;
    // Our own helper is surely outside: signal 0 only tests for permission.
    let outside = rustix::process::getppid().map(rustix::process::test_kill_process);
    Ok(status.ruleset == RulesetStatus::FullyEnforced
        && outside.is_some_and(|signalled| signalled == Err(rustix::io::Errno::PERM)))
}

/// Returns an empty ruleset that handles every access of this version.
fn created(abi: ABI, deny_tcp: bool) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    // Requesting no scope is an error, so older versions are not asked.
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let network = AccessNet::from_all(abi);
    if deny_tcp && !network.is_empty() {
        ruleset = ruleset.handle_access(network)?;
    }
    ruleset.create()
}

/// The treatment of links in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SymlinkPolicy {
    Followed,
    Refused,
}

fn with(
    ruleset: RulesetCreated,
    allowed: &LandlockPath,
    links: SymlinkPolicy,
    access: BitFlags<AccessFs>,
    access_of_files: BitFlags<AccessFs>,
) -> Result<RulesetCreated, StepError> {
    let step = || format!("{STEP}: allow {}", allowed.path.display());
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = match links {
        SymlinkPolicy::Followed => rustix::fs::open(&allowed.path, flags, Mode::empty()),
        SymlinkPolicy::Refused => {
            let resolve = ResolveFlags::NO_SYMLINKS;
            rustix::fs::openat2(CWD, &allowed.path, flags, Mode::empty(), resolve)
        }
    };
    let path = match opened.map_err(io::Error::from) {
        Ok(path) => path,
        Err(cause) if allowed.optional && is_missing(&cause) => return Ok(ruleset),
        Err(cause) => return Err(StepError::new(step(), cause)),
    };
    let is_directory = is_directory(&path).map_err(|cause| StepError::new(step(), cause))?;
    let access = if is_directory { access } else { access & access_of_files };
    ruleset.add_rule(PathBeneath::new(path, access)).map_err(|error| failed(&step(), error))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Inspects the opened path itself, so that it cannot be replaced in between.
fn is_directory(path: &OwnedFd) -> io::Result<bool> {
    let stat = rustix::fs::fstat(path)?;
    Ok(rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir())
}

/// Converts an error, and keeps the system's error number where there is one.
fn failed(step: &str, error: RulesetError) -> StepError {
    match error {
        RulesetError::CreateRuleset(CreateRulesetError::CreateRulesetCall { source, .. })
        | RulesetError::AddRules(AddRulesError::Fs(AddRuleError::AddRuleCall { source, .. }))
        | RulesetError::RestrictSelf(
            RestrictSelfError::SetNoNewPrivsCall { source, .. }
            | RestrictSelfError::RestrictSelfCall { source, .. },
        ) => StepError::new(step, source),
        other => StepError::refused(step, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
    use std::path::Path;
    use std::process::Command;

    use rustix::fs::{FileType, mknodat};

    use super::*;
    use crate::linux::tests::{again, in_child, say};

    /// The variable with the child's path to try or process to signal.
    const PLACE: &str = "AGENTRY_TEST_PLACE";
    const ABI_MIN: u32 = 3;

    fn place() -> PathBuf {
        std::env::var_os(PLACE).expect("the parent names a place").into()
    }

    fn rules(read: Vec<LandlockPath>, write: Vec<LandlockPath>) -> LandlockRules {
        LandlockRules { read, write, deny_tcp: false, abi_min: ABI_MIN }
    }

    fn system() -> Vec<LandlockPath> {
        ["/usr", "/lib", "/lib64", "/bin", "/etc"].map(LandlockPath::optional).into()
    }

    /// Returns true, and prints a line, if this kernel cannot be tested.
    fn is_missing_here(abi_min: u32) -> bool {
        let missing = abi() < abi_min;
        if missing {
            say(format_args!("skipped: the kernel has version {} of Landlock", abi()));
        }
        missing
    }

    fn is_refused<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    }

    #[test]
    fn a_process_uses_what_it_may_and_nothing_else() {
        if is_missing_here(ABI_MIN) {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        for name in ["read", "write/a", "write/b", "hidden"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        for name in ["read/file", "hidden/file", "write/a/file"] {
            fs::write(dir.path().join(name), "text").unwrap();
        }
        fs::copy("/bin/true", dir.path().join("hidden/true")).unwrap();
        fs::copy("/bin/true", dir.path().join("read/true")).unwrap();
        again("linux::landlock::tests::child_that_uses_paths").env(PLACE, dir.path()).run();
        assert_eq!(fs::read_to_string(dir.path().join("read/file")).unwrap(), "text");
        assert_eq!(fs::read_to_string(dir.path().join("hidden/file")).unwrap(), "text");
    }

    #[test]
    #[ignore = "runs only as the child of another test"]
    fn child_that_uses_paths() {
        in_child(|| {
            let dir = place();
            let [read, write, hidden] = ["read", "write", "hidden"].map(|name| dir.join(name));
            let mut readable = system();
            readable.push(LandlockPath::required(&read));
            let writable = [write.as_path(), Path::new("/dev/null")].map(LandlockPath::required);
            restrict(&rules(readable, writable.into())).unwrap();

            assert_eq!(fs::read_to_string(read.join("file")).unwrap(), "text");
            assert!(Command::new(read.join("true")).status().unwrap().success());
            assert!(is_refused(fs::write(read.join("new"), "")));
            assert!(is_refused(OpenOptions::new().append(true).open(read.join("file"))));
            assert!(is_refused(
                rustix::fs::open(read.join("file"), OFlags::TRUNC, Mode::empty())
                    .map_err(io::Error::from)
            ));
            assert!(is_refused(fs::remove_file(read.join("file"))));

            fs::write(write.join("a/new"), "more").unwrap();
            fs::write(write.join("a/new"), "").unwrap();
            fs::rename(write.join("a/new"), write.join("b/new")).unwrap();
            fs::hard_link(write.join("b/new"), write.join("a/linked")).unwrap();
            fs::create_dir(write.join("c")).unwrap();
            fs::remove_dir(write.join("c")).unwrap();
            // The system reports different devices, so that a program copies instead.
            assert!(fs::rename(write.join("a/file"), read.join("file")).is_err());
            assert!(fs::hard_link(read.join("file"), write.join("stolen")).is_err());
            // A device of number 0 needs no capability, so only the rule prevents it.
            let node = mknodat(CWD, write.join("node"), FileType::CharacterDevice, Mode::RUSR, 0);
            assert!(is_refused(node.map_err(io::Error::from)));

            assert!(is_refused(fs::read(hidden.join("file"))));
            assert!(is_refused(fs::read_dir(&hidden)));
            assert!(is_refused(Command::new(hidden.join("true")).status()));
            fs::write("/dev/null", "gone").unwrap();
            assert!(is_refused(OpenOptions::new().write(true).open("/dev/zero")));
        });
    }

    #[test]
    fn a_path_that_is_missing_is_named_unless_it_may_be() {
        if is_missing_here(ABI_MIN) {
            return;
        }
        again("linux::landlock::tests::child_with_missing_paths").run();
    }

    #[test]
    #[ignore = "runs only as the child of another test"]
    fn child_with_missing_paths() {
        in_child(|| {
            let missing = rules(vec![LandlockPath::required("/nowhere/at/all")], Vec::new());
            let error = restrict(&missing).unwrap_err();
            assert_eq!(error.cause.raw_os_error(), Some(libc::ENOENT));
            assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
            // No rule was enforced halfway.
            fs::read_dir("/usr").unwrap();
            let optional = rules(system(), vec![LandlockPath::optional("/nowhere/at/all")]);
            restrict(&optional).unwrap();
            assert!(is_refused(fs::read_dir("/")));
        });
    }

    #[test]
    fn a_kernel_that_is_too_old_is_an_error_and_confines_nothing() {
        let wanted = LandlockRules { abi_min: abi() + 1, ..rules(system(), Vec::new()) };
        let error = restrict(&wanted).unwrap_err();
        assert!(error.to_string().contains("is needed"), "{error}");
        fs::read_dir("/").unwrap();
    }

    #[test]
    fn tcp_is_refused_both_ways() {
        if is_missing_here(4) {
            return;
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        again("linux::landlock::tests::child_that_connects").env(PLACE, port).run();
    }

    #[test]
    #[ignore = "runs only as the child of another test"]
    fn child_that_connects() {
        in_child(|| {
            let port: u16 = place().to_str().unwrap().parse().unwrap();
            restrict(&rules(system(), Vec::new())).unwrap();
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            let closed = LandlockRules { deny_tcp: true, ..rules(system(), Vec::new()) };
            restrict(&closed).unwrap();
            assert!(is_refused(TcpStream::connect((Ipv4Addr::LOCALHOST, port))));
            assert!(is_refused(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))));
        });
    }

    #[test]
    fn signals_and_nameless_sockets_do_not_reach_out() {
        if is_missing_here(6) {
            return;
        }
        let name = format!("agentry-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let _listener = UnixListener::bind_addr(&address).unwrap();
        again("linux::landlock::tests::child_that_reaches_out").env(PLACE, name).run();
    }

    #[test]
    #[ignore = "runs only as the child of another test"]
    fn child_that_reaches_out() {
        in_child(|| {
            let name = place().to_str().unwrap().to_owned();
            let address = SocketAddr::from_abstract_name(name).unwrap();
            let parent = rustix::process::getppid().unwrap();
            UnixStream::connect_addr(&address).unwrap();
            rustix::process::test_kill_process(parent).unwrap();
            restrict(&rules(system(), Vec::new())).unwrap();
            assert!(is_refused(UnixStream::connect_addr(&address)));
            let signal = rustix::process::test_kill_process(parent);
            assert!(is_refused(signal.map_err(io::Error::from)));
        });
    }
}
