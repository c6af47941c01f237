//! Derives the visible files of a sandbox, and its program's environment, from a confinement.
//!
//! Computed again for every call, so that a file created a moment ago is hidden as well.
//!
//! Must never: decide what may be seen; the confinement has decided it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use agentry_protocol::confinement::{ANY_DEPTH, Confinement, ConfinementLevel, ReadAccess, denies};

use crate::limits::{COPY_BYTES_MAX, MASKS_MAX, PROXY_PORT};
use crate::protect::secret_name::SecretName;
use crate::protect::secrets::{self, HardLinkCache};
use crate::spec::{BindKind, BindMount, FileOwner, FilesystemView, LandlockAccess};

/// The system's own programs and libraries.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"];

/// Configuration files of the machine that programs need. None of them is a secret.
const SETTINGS: [&str; 26] = [
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/pki",
    "/etc/protocols",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/rpc",
    "/etc/services",
    "/etc/ssl",
    "/etc/terminfo",
    "/etc/timezone",
];

const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The default `PATH`.
const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The path inside the sandbox of a home that is kept.
const HOME_KEPT: &str = "/run/home";
/// The path inside the sandbox of a home that is discarded.
const HOME_THROWN_AWAY: &str = "/tmp/home";

/// Paths with special treatment, found just before the call.
#[derive(Clone, Debug, Default)]
pub(crate) struct RestrictedPaths {
    /// Paths inside writable directories that must not be changed.
    pub(crate) protected: Vec<PathBuf>,
    /// Paths that must not be read.
    pub(crate) hidden: Vec<PathBuf>,
}

/// The paths on the machine that a sandbox depends on, besides those of its confinement.
#[derive(Clone, Copy)]
pub(crate) struct SandboxPaths<'a> {
    pub(crate) restricted: &'a RestrictedPaths,
    /// The temporary directory of its program; None if the sandbox has a file system of its own.
    pub(crate) scratch: Option<&'a Path>,
}

/// The home directory as the sandbox sees it.
pub(crate) fn home(confinement: &Confinement) -> &'static str {
    if confinement.home.is_some() { HOME_KEPT } else { HOME_THROWN_AWAY }
}

/// Returns true if the path is one of those that every sandbox sees.
pub(crate) fn is_of_system(path: &str) -> bool {
    let path = Path::new(path);
    let own = ["/proc", "/dev", "/tmp", "/run", "/etc/passwd", "/etc/group", "/etc/hosts"];
    let roots = SYSTEM.iter().chain(&SETTINGS).chain(&own).map(Path::new);
    roots.into_iter().any(|root| path.starts_with(root) || root.starts_with(path))
}

/// Returns the paths that entries of a confinement match at this moment.
pub(crate) fn expand(entries: &[String]) -> Vec<PathBuf> {
    expand_with(entries, &mut RealPathCache::default())
}

fn expand_with(entries: &[String], real: &mut RealPathCache) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.contains(ANY_DEPTH)) {
        if !entry.ends_with('*') {
            paths.push(PathBuf::from(entry));
            continue;
        }
        let around = Path::new(entry).parent().map(std::fs::read_dir);
        let Some(Ok(around)) = around else { continue };
        let inside = around.filter_map(|inside| Some(inside.ok()?.path()));
        paths.extend(inside.filter(|path| denies(entry, &path.to_string_lossy())));
    }
    // The targets of links count as well.
    let led_to: Vec<PathBuf> = paths.iter().filter_map(|path| real.path(path)).collect();
    paths.extend(led_to);
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the paths to hide now. Hides the visible target of a link instead of the link itself.
///
/// `known` lists the hidden paths that a scan of the writable directories already found.
pub(crate) fn hidden(
    confinement: &Confinement,
    known: Option<&[PathBuf]>,
    hard_links: &HardLinkCache,
) -> io::Result<Vec<PathBuf>> {
    let written: Vec<&Path> = confinement.allow_write.iter().map(Path::new).collect();
    let mut roots = SecretName::roots(&confinement.deny_read);
    if known.is_some() {
        roots.retain(|root| !written.iter().any(|one| root.starts_with(one)));
    }
    let mut found = secrets::find(&roots, &confinement.deny_read)?;
    found.extend(known.unwrap_or_default().iter().cloned());
    let mut paths = named_hidden(confinement, found);
    let mut seen = SecretName::roots(&confinement.deny_read);
    seen.extend(written.iter().map(|path| path.to_path_buf()));
    paths.extend(hard_links.other_names(&paths, &seen)?);
    paths.sort();
    paths.dedup();
    if paths.len() > MASKS_MAX {
        return Err(io::Error::other(format!(
            "{} files must be hidden, at most {MASKS_MAX} can be; move some of them elsewhere",
            paths.len()
        )));
    }
    Ok(paths)
}

fn named_hidden(confinement: &Confinement, found: Vec<PathBuf>) -> Vec<PathBuf> {
    let roots =
        || confinement.allow_read.iter().chain(&confinement.allow_write).chain(&confinement.home);
    // The confined program may have made the link: it must not hide what the next call needs.
    let is_named = |path: &Path| {
        let path = path.to_string_lossy();
        confinement.deny_read.iter().any(|entry| denies(entry, &path))
    };
    let is_seen = |path: &Path| {
        let broad = confinement.reading == ReadAccess::Broad && path.is_file();
        broad || roots().map(Path::new).any(|root| path.starts_with(root) && path != root)
    };
    let mut real = RealPathCache::default();
    let mut paths = expand_with(&confinement.deny_read, &mut real);
    let led_to: Vec<PathBuf> = found.iter().filter_map(|path| real.path(path)).collect();
    paths.extend(found.into_iter().chain(led_to));
    let mut is_plain =
        |path: &Path| real.path(path).map_or(!path.is_symlink(), |real| real == path);
    paths.retain(|path| is_plain(path) && (is_named(path) || is_seen(path)));
    paths
}

/// Resolved paths by directory; many paths lie in few directories, so each is resolved once.
#[derive(Default)]
struct RealPathCache(HashMap<PathBuf, Option<PathBuf>>);

impl RealPathCache {
    /// Returns the path without links, or None if it does not exist.
    fn path(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let found = match (path.parent(), path.file_name()) {
            (Some(around), Some(name)) => self.path(around).and_then(|around| {
                let path = around.join(name);
                let kind = path.symlink_metadata().ok()?.file_type();
                if kind.is_symlink() { path.canonicalize().ok() } else { Some(path) }
            }),
            // The root, or a path that ends with `..`.
            (None, _) | (_, None) => path.canonicalize().ok(),
        };
        self.0.insert(path.to_owned(), found.clone());
        found
    }
}

/// Returns the files that a sandbox sees. `user` is the id it runs as if this process is root.
pub(crate) fn view(
    confinement: &Confinement,
    user: Option<u32>,
    found: &RestrictedPaths,
) -> FilesystemView {
    let broad = confinement.reading == ReadAccess::Broad;
    let mut view = FilesystemView {
        broad,
        scratch_bytes: confinement.limits.disk_bytes,
        ..FilesystemView::default()
    };
    let read = |path: PathBuf, lend| BindMount {
        to: path.clone(),
        from: path,
        kind: BindKind::Read,
        lend,
        optional: true,
    };
    if !broad {
        system(&mut view, confinement.level);
    }
    for path in DEVICES.map(PathBuf::from) {
        view.binds.push(BindMount { kind: BindKind::Device, ..read(path, None) });
    }
    view.files.extend(made_up(user));
    let owner = |path: &Path| {
        let metadata = user.and_then(|_| std::fs::metadata(path).ok());
        metadata.map(|metadata| FileOwner { user: metadata.uid(), group: metadata.gid() })
    };
    for path in confinement.allow_read.iter().map(PathBuf::from) {
        let lend = owner(&path);
        view.binds.push(read(path, lend));
    }
    for path in confinement.allow_write.iter().map(PathBuf::from) {
        let lend = owner(&path);
        let bind = BindMount { kind: BindKind::Write, optional: false, ..read(path, lend) };
        view.binds.push(bind);
    }
    if let Some(home) = &confinement.home {
        let lend = owner(Path::new(home));
        let bind = read(home.into(), lend);
        let (kind, to) = (BindKind::Write, HOME_KEPT.into());
        view.binds.push(BindMount { kind, to, optional: false, ..bind });
    }
    // Its owner must match the owner of the mount it is seen through.
    let lender = |path: &Path| {
        let around = confinement.allow_write.iter().map(Path::new);
        let around = around.filter(|root| path.starts_with(root));
        around.max_by_key(|root| root.components().count()).and_then(owner)
    };
    for path in &found.protected {
        view.binds.push(read(path.clone(), lender(path)));
    }
    view.binds.sort_by_key(|bind| bind.to.components().count());
    view.masks.clone_from(&found.hidden);
    view
}

fn system(view: &mut FilesystemView, level: ConfinementLevel) {
    for path in SYSTEM.map(PathBuf::from) {
        match std::fs::read_link(&path) {
            Ok(target) => view.links.push((path, target)),
            Err(_) => view.binds.push(BindMount {
                from: path.clone(),
                to: path,
                kind: BindKind::Read,
                lend: None,
                optional: true,
            }),
        }
    }
    for SystemSetting { from, to, is_small } in settings() {
        let (from, to) = (from.clone(), to.into());
        if *is_small && level == ConfinementLevel::Ns {
            view.copies.push(to);
        } else {
            view.binds.push(BindMount {
                from,
                to,
                kind: BindKind::Read,
                lend: None,
                optional: true,
            });
        }
    }
    view.links.push(("/var/tmp".into(), "/tmp".into()));
    view.links.push(("/var/run".into(), "/run".into()));
}

/// The resolved paths of `SETTINGS`; resolved once, since only an administrator moves them.
fn settings() -> &'static [SystemSetting] {
    static FOUND: OnceLock<Vec<SystemSetting>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let found = |to: &'static str| {
            let from = Path::new(to).canonicalize().ok()?;
            let metadata = from.metadata().ok()?;
            let is_small = metadata.is_file() && metadata.len() <= COPY_BYTES_MAX;
            Some(SystemSetting { from, to, is_small })
        };
        SETTINGS.into_iter().filter_map(found).collect()
    })
}

/// A configuration file or directory of the machine.
struct SystemSetting {
    from: PathBuf,
    to: &'static str,
    is_small: bool,
}

/// Generates the user, group and host files; they list only the sandbox's own user and host.
fn made_up(user: Option<u32>) -> Vec<(PathBuf, String)> {
    let uid = user.unwrap_or_else(|| rustix::process::getuid().as_raw());
    let gid = user.unwrap_or_else(|| rustix::process::getgid().as_raw());
    let people = format!(
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n\
         agent:x:{uid}:{gid}:agent:{HOME_KEPT}:/bin/bash\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    );
    let groups = format!("root:x:0:\nagent:x:{gid}:\nnogroup:x:65534:\n");
    let hosts = "127.0.0.1 localhost\n::1 localhost\n127.0.0.1 sandbox\n";
    let names = "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n";
    [
        ("/etc/passwd", people),
        ("/etc/group", groups),
        ("/etc/hosts", hosts.to_owned()),
        ("/etc/nsswitch.conf", names.to_owned()),
        ("/etc/resolv.conf", "# there is no name service in here\n".to_owned()),
        ("/etc/hostname", "sandbox\n".to_owned()),
    ]
    .map(|(path, content)| (path.into(), content))
    .into()
}

/// Returns the Landlock paths. At the level `ns` everything in the view may be read.
pub(crate) fn fence(confinement: &Confinement, scratch: Option<&Path>) -> LandlockAccess {
    let mut write: Vec<PathBuf> = confinement.allow_write.iter().map(PathBuf::from).collect();
    match confinement.level {
        ConfinementLevel::Ns | ConfinementLevel::Bwrap => {
            let own = ["/tmp", "/dev", home(confinement)];
            write.extend(own.map(PathBuf::from));
            LandlockAccess { read: vec!["/".into()], write }
        }
        ConfinementLevel::Landlock | ConfinementLevel::Seatbelt | ConfinementLevel::Off => {
            // The temporary directory may be named through a link.
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            write.extend(scratch.map(real));
            write.extend(DEVICES.map(PathBuf::from));
            write.extend(confinement.home.iter().map(PathBuf::from));
            let mut read: Vec<PathBuf> = match confinement.reading {
                ReadAccess::Broad => vec!["/".into()],
                ReadAccess::Strict => SYSTEM.iter().chain(&SETTINGS).map(PathBuf::from).collect(),
            };
            read.extend(
                ["/proc", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"].map(Into::into),
            );
            read.extend(confinement.allow_read.iter().map(PathBuf::from));
            read.retain(|path| path.exists());
            LandlockAccess { read, write }
        }
    }
}

/// Returns the environment of a program before the call's own variables. `path` is the user's
/// `PATH`; entries that the sandbox does not see are left out. `scratch` is the temporary directory
/// of a process that has no file system of its own.
pub(crate) fn environment(
    confinement: &Confinement,
    path: &str,
    scratch: Option<&Path>,
) -> Vec<(OsString, OsString)> {
    let (home, temporary) = match scratch {
        None => (home(confinement).to_owned(), "/tmp".to_owned()),
        // Without a file system of its own, the process uses both directories of the machine.
        Some(scratch) => {
            let home = confinement.home.clone();
            let thrown_away = || scratch.join("home").display().to_string();
            (home.unwrap_or_else(thrown_away), scratch.display().to_string())
        }
    };
    let seen = |directory: &&str| {
        let directory = Path::new(directory);
        let within = |root: &String| directory.starts_with(root);
        directory.is_absolute()
            && (confinement.reading == ReadAccess::Broad
                || confinement.allow_read.iter().any(within))
    };
    let mut programs: Vec<&str> = path.split(':').filter(seen).collect();
    programs.dedup();
    programs.push(PROGRAMS);
    let cargo = format!("{home}/.cargo");
    let mut env = vec![
        ("PATH", programs.join(":")),
        ("HOME", home),
        ("CARGO_HOME", cargo),
        ("LANG", "C.UTF-8".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("USER", "agent".to_owned()),
        ("TMPDIR", temporary),
    ];
    for (variable, directory) in [("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")] {
        let found = confinement.allow_read.iter().find(|path| path.ends_with(directory));
        env.extend(found.map(|path| (variable, path.clone())));
    }
    let mut env: Vec<(OsString, OsString)> =
        env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    match confinement.level {
        ConfinementLevel::Ns | ConfinementLevel::Bwrap | ConfinementLevel::Off => {
            env.extend(proxy(PROXY_PORT))
        }
        // There is no proxy, or only the code that starts it knows its port.
        ConfinementLevel::Landlock | ConfinementLevel::Seatbelt => {}
    }
    env
}

/// Returns the environment variables that point programs to the proxy.
pub(crate) fn proxy(port: u16) -> Vec<(OsString, OsString)> {
    let (http, socks) = (format!("http://127.0.0.1:{port}"), format!("socks5h://127.0.0.1:{port}"));
    let mut env = Vec::new();
    for variable in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
        env.push((variable, http.clone()));
    }
    env.extend([("ALL_PROXY", socks.clone()), ("all_proxy", socks)]);
    env.push(("npm_config_proxy", http.clone()));
    env.push(("npm_config_https_proxy", http.clone()));
    env.push(("CARGO_HTTP_PROXY", http));
    env.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_where_the_system_says() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/inner")).unwrap();
        std::fs::write(root.join("real/inner/file"), "").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink(root.join("link/inner/file"), root.join("real/again")).unwrap();
        let mut real = RealPathCache::default();
        for path in [
            "real/inner/file",
            "link/inner/file",
            "link/again",
            "dangling",
            "dangling/more",
            "missing/more",
            "real/inner/file/below",
            "real/inner/../again",
            "link/..",
        ] {
            let path = root.join(path);
            assert_eq!(real.path(&path), path.canonicalize().ok(), "{}", path.display());
        }
    }

    #[test]
    fn the_directories_around_and_in_what_is_shared_belong_to_the_system() {
        for (path, expected) in [
            ("/", true),
            ("/etc", true),
            ("/usr", true),
            ("/usr/lib/x", true),
            ("/etc/passwd", true),
            ("/data/someone", false),
            ("/etc/shadow", false),
        ] {
            assert_eq!(is_of_system(path), expected, "{path}");
        }
    }

    /// Directories that are named by a confinement, and files in them.
    struct Scene {
        dir: tempfile::TempDir,
    }

    impl Scene {
        fn new(files: &[&str]) -> Self {
            let scene = Self { dir: tempfile::tempdir().unwrap() };
            for file in files {
                let path = scene.at(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "").unwrap();
            }
            scene
        }

        fn at(&self, path: &str) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join(path)
        }

        fn texts(&self, paths: &[&str]) -> Vec<String> {
            paths.iter().map(|path| self.at(path).to_str().unwrap().to_owned()).collect()
        }

        #[track_caller]
        fn check_hidden(
            &self,
            confinement: &Confinement,
            known: Option<&[&str]>,
            expected: &[&str],
        ) {
            let known: Option<Vec<PathBuf>> =
                known.map(|known| known.iter().map(|path| self.at(path)).collect());
            let paths = hidden(confinement, known.as_deref(), &HardLinkCache::default()).unwrap();
            let expected: Vec<PathBuf> = expected.iter().map(|path| self.at(path)).collect();
            assert_eq!(paths, expected);
        }
    }

    #[test]
    fn an_entry_with_a_star_means_what_begins_so_and_a_link_also_its_end() {
        let scene = Scene::new(&["name1", "name2", "no-name", "end"]);
        std::os::unix::fs::symlink("end", scene.at("link")).unwrap();
        let entries = scene.texts(&["name*", "link", "missing", "missing/x*", "**/no-name"]);
        let expected = ["end", "link", "missing", "name1", "name2"].map(|path| scene.at(path));
        assert_eq!(expand(&entries), expected);
    }

    #[test]
    fn what_was_found_already_in_writable_directories_is_not_looked_for_again() {
        let scene = Scene::new(&["work/sub/.env", "work/sub/deep/.env", "home/.env", "other/x"]);
        let confinement = Confinement {
            allow_write: scene.texts(&["other", "work"]),
            deny_read: scene.texts(&["home/**/.env", "work/sub/**/.env"]),
            ..Confinement::most_restricted()
        };
        let all = ["home/.env", "work/sub/.env", "work/sub/deep/.env"];
        scene.check_hidden(&confinement, None, &all);
        scene.check_hidden(&confinement, Some(&["work/sub/.env"]), &all[..2]);
    }

    #[test]
    fn what_is_named_is_hidden_whether_it_is_there_or_not_but_never_a_link() {
        let scene = Scene::new(&["outside/key"]);
        std::os::unix::fs::symlink("nowhere", scene.at("outside/dangling")).unwrap();
        let named = ["outside/dangling", "outside/key", "outside/missing"];
        let confinement =
            Confinement { deny_read: scene.texts(&named), ..Confinement::most_restricted() };
        scene.check_hidden(&confinement, None, &named[1..]);
    }

    #[test]
    fn the_end_of_a_hidden_link_is_hidden_where_it_can_be_seen() {
        for (target, reading, is_hidden) in [
            ("work/file", ReadAccess::Strict, true),
            ("work/inner", ReadAccess::Strict, true),
            ("read/file", ReadAccess::Strict, true),
            ("home/file", ReadAccess::Strict, true),
            ("outside/file", ReadAccess::Strict, false),
            ("outside/file", ReadAccess::Broad, true),
            ("outside", ReadAccess::Broad, false),
            // It must not hide what the next call works in.
            ("work", ReadAccess::Strict, false),
        ] {
            let files = ["work/file", "work/inner/file", "read/file", "home/file", "outside/file"];
            let scene = Scene::new(&files);
            std::os::unix::fs::symlink(scene.at(target), scene.at("work/link")).unwrap();
            let confinement = Confinement {
                reading,
                allow_read: scene.texts(&["read"]),
                allow_write: scene.texts(&["work"]),
                home: scene.texts(&["home"]).pop(),
                deny_read: scene.texts(&["work/link"]),
                ..Confinement::most_restricted()
            };
            let expected = if is_hidden { vec![target] } else { Vec::new() };
            scene.check_hidden(&confinement, None, &expected);
        }
    }

    #[test]
    fn more_than_can_be_hidden_is_refused() {
        let scene = Scene::new(&[]);
        let deny_read = scene.texts(&["**/key*"]);
        let confinement = Confinement {
            allow_write: scene.texts(&[""]),
            deny_read,
            ..Confinement::most_restricted()
        };
        for (count, is_refused) in [(MASKS_MAX, false), (MASKS_MAX + 1, true)] {
            let known: Vec<PathBuf> =
                (0..count).map(|number| scene.at(&format!("key{number}"))).collect();
            let hidden = hidden(&confinement, Some(&known), &HardLinkCache::default());
            assert_eq!(hidden.is_err(), is_refused, "{count}");
        }
    }

    #[test]
    fn what_is_protected_looks_as_owned_as_what_it_lies_in() {
        let scene = Scene::new(&["work/sub/.git/config", "other/x"]);
        let allow_write = scene.texts(&["other", "work", "work/sub"]);
        let confinement = Confinement { allow_write, ..Confinement::most_restricted() };
        let path = scene.at("work/sub/.git");
        let found = RestrictedPaths { protected: vec![path.clone()], hidden: Vec::new() };
        let owner = scene.at("work/sub").metadata().unwrap();
        let owner = Some(FileOwner { user: owner.uid(), group: owner.gid() });
        for (user, expected) in [(Some(1_000), owner), (None, None)] {
            let view = view(&confinement, user, &found);
            let bind = view.binds.iter().find(|bind| bind.from == path).unwrap();
            assert_eq!((bind.lend, bind.kind), (expected, BindKind::Read));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn small_settings_are_copied_only_into_own_namespaces() {
        let copies = |level| {
            let confinement = Confinement { level, ..Confinement::most_restricted() };
            view(&confinement, None, &RestrictedPaths::default()).copies
        };
        assert!(!copies(ConfinementLevel::Ns).is_empty());
        assert_eq!(copies(ConfinementLevel::Bwrap), Vec::<PathBuf>::new());
    }

    #[test]
    fn programs_are_looked_for_only_where_the_sandbox_sees_them() {
        for (reading, expected) in [
            (ReadAccess::Strict, "/opt/tools/bin:"),
            (ReadAccess::Broad, "/opt/tools/bin:/data/someone/bin:"),
        ] {
            let allow_read = vec!["/opt/tools".to_owned(), "/srv".to_owned()];
            let confinement = Confinement { reading, allow_read, ..Confinement::most_restricted() };
            let path = "relative:/opt/tools/bin:/data/someone/bin";
            let environment = environment(&confinement, path, None);
            let (_, programs) = environment.iter().find(|(name, _)| name == "PATH").unwrap();
            assert_eq!(programs.to_str().unwrap(), format!("{expected}{PROGRAMS}"));
        }
    }

    #[test]
    fn a_toolchain_that_may_be_read_is_named_by_its_variable() {
        let allow_read = vec!["/data/someone/.rustup".to_owned(), "/.pyenv/x".to_owned()];
        let confinement = Confinement { allow_read, ..Confinement::most_restricted() };
        let environment = environment(&confinement, "", None);
        let value = |variable: &str| {
            let found = environment.iter().find(|(name, _)| name == variable);
            found.map(|(_, value)| value.to_str().unwrap())
        };
        assert_eq!(value("RUSTUP_HOME"), Some("/data/someone/.rustup"));
        assert_eq!(value("PYENV_ROOT"), None);
    }
}
