//! The world around an attack: a workspace, secrets beside it, listeners, a sibling, and what changed of it.
//!
//! Must never: be the same for two attacks where one could hide what another did.

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use agentry_protocol::confinement::{
    Confinement, ConfinementLevel, ConfinementLimits, ConfinementProfile, NetworkAccess, ReadAccess,
};
use agentry_sandbox::{SandboxSetup, egress, helper, limits};
use tempfile::TempDir;

use crate::attack::{self, CANARY, Files, Others, Targets, raw};
use crate::rows::Setting;

/// The user that workspaces belong to when we are root: not root, and not the sandbox's own.
const OWNER: u32 = 4242;
const MIB: u64 = 1 << 20;

/// What all attacks of one table have in common.
pub(crate) struct Scene {
    pub(crate) level: Option<ConfinementLevel>,
    pub(crate) network: attack::Network,
    pub(crate) others: Others,
    directory: TempDir,
    listeners: (Vec<TcpListener>, UdpSocket, UnixListener, UnixListener, UnixDatagram),
    shared: PathBuf,
}

/// The files of one attack.
pub(crate) struct Plot {
    pub(crate) root: PathBuf,
    owner: Option<u32>,
    _socket: Option<UnixListener>,
    /// Elsewhere than the others, where the sandbox has no files of its own in the way.
    _elsewhere: Option<TempDir>,
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Scene {
    /// Sets the scene for a level; none means that nothing is confined.
    pub(crate) fn new(level: Option<ConfinementLevel>) -> Self {
        let directory =
            tempfile::Builder::new().prefix("probe").tempdir().expect("a directory can be made");
        open_to_all(directory.path());
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let tcp6 = TcpListener::bind("[::1]:0").ok();
        let machine = own_address().and_then(|address| TcpListener::bind((address, 0)).ok());
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let socket = directory.path().join("socket");
        let name = format!("probe-{}", directory.path().display()).replace('/', "-");
        let shared = Path::new("/dev/shm").join(&name);
        fs::write(&shared, CANARY).expect("shared memory can be written");
        let address =
            std::os::unix::net::SocketAddr::from_abstract_name(&name).expect("the name is short");
        let datagrams = std::os::unix::net::SocketAddr::from_abstract_name(format!("{name}-d"))
            .expect("the name is short");
        let sockets = (
            UnixListener::bind(&socket).expect("the path is short"),
            UnixListener::bind_addr(&address).expect("the name is new"),
            UnixDatagram::bind_addr(&datagrams).expect("the name is new"),
        );
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).expect("it is ours");
        let place = |listener: &TcpListener| listener.local_addr().expect("it is bound");
        let network = attack::Network {
            tcp: place(&tcp),
            tcp6: tcp6.as_ref().map(place),
            udp: udp.local_addr().expect("it is bound"),
            machine: machine.as_ref().map(place),
            socket,
            name,
        };
        let others = Others {
            supervisor: rustix::process::getpid().as_raw_nonzero().get(),
            helper: 0,
            sibling: 0,
            shared_memory: raw::share(b'!').expect("memory can be shared"),
        };
        let listeners: Vec<TcpListener> =
            [Some(tcp), tcp6, machine].into_iter().flatten().collect();
        for listener in &listeners {
            listener.set_nonblocking(true).expect("a flag of our own");
        }
        udp.set_nonblocking(true).expect("a flag of our own");
        sockets.0.set_nonblocking(true).expect("a flag of our own");
        sockets.1.set_nonblocking(true).expect("a flag of our own");
        let listeners = (listeners, udp, sockets.0, sockets.1, sockets.2);
        Self { level, network, others, directory, listeners, shared }
    }

    /// What the sandbox needs.
    pub(crate) fn setup(&self) -> SandboxSetup {
        let port = self.network.tcp.port();
        SandboxSetup {
            binary: std::env::current_exe().expect("we have a name"),
            path: String::new(),
            quarantine: self.quarantine(),
            resolve: std::sync::Arc::new(move |host, _| resolve(host, port)),
        }
    }

    pub(crate) fn quarantine(&self) -> PathBuf {
        let quarantine = self.directory.path().join("quarantine");
        fs::create_dir_all(&quarantine).expect("a directory can be made");
        quarantine
    }

    /// The files for one attack.
    pub(crate) fn plot(&self, id: &str, setting: Setting) -> Plot {
        let owner = is_root().then_some(match self.level {
            Some(ConfinementLevel::Landlock) => limits::USER_FIRST,
            Some(_) | None => OWNER,
        });
        let elsewhere = (setting == Setting::Broad).then(|| {
            let place = tempfile::Builder::new().prefix("probe").tempdir_in("/var/tmp");
            let place = place.expect("a directory can be made");
            open_to_all(place.path());
            place
        });
        let around = elsewhere.as_ref().unwrap_or(&self.directory).path().join(id);
        Plot { _elsewhere: elsewhere, ..Plot::lay(around, owner, setting) }
    }

    /// Finds the helper and the sibling once they are there.
    pub(crate) fn find_others(&mut self, marker: &str) {
        let own = self.others.supervisor;
        for (pid, line) in processes() {
            if line.contains(helper::VERB) && parent(pid) == Some(own) {
                self.others.helper = pid;
            }
            if line.contains(marker) {
                self.others.sibling = pid;
            }
        }
    }

    pub(crate) fn targets(&self, plot: &Plot, marker: &str) -> Targets {
        Targets {
            files: Files {
                workspace: plot.workspace(),
                outside: plot.outside(),
                secret: plot.outside().join("secret.txt"),
                quarantine: self.quarantine(),
            },
            others: self.others.clone(),
            network: self.network.clone(),
            marker: marker.to_owned(),
        }
    }

    /// Who came to our listeners although nobody could.
    pub(crate) fn visitors(&self) -> Vec<&'static str> {
        let (tcp, udp, socket, named, datagrams) = &self.listeners;
        let mut came = Vec::new();
        if tcp.iter().any(|listener| listener.accept().is_ok()) {
            came.push("somebody connected by TCP");
        }
        if udp.recv(&mut [0]).is_ok() {
            came.push("somebody sent a datagram");
        }
        datagrams.set_nonblocking(true).expect("a flag of our own");
        if socket.accept().is_ok() || named.accept().is_ok() || datagrams.recv(&mut [0]).is_ok() {
            came.push("somebody connected to a socket");
        }
        came
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        raw::unshare_memory(self.others.shared_memory);
        fs::remove_file(&self.shared).unwrap_or_default();
    }
}

fn resolve(host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
    let answer: &[&str] = match host {
        "inward.test" => &["127.0.0.1"],
        "half.test" => &["192.0.2.1", "127.0.0.1"],
        "metadata.test" => &["169.254.169.254"],
        _ => &[],
    };
    Ok(answer
        .iter()
        .filter_map(|text| text.parse().ok())
        .map(|address| SocketAddr::new(address, port))
        .collect())
}

/// An address of the machine that is not the loopback's; no packet is sent to find it.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

impl Plot {
    fn lay(root: PathBuf, owner: Option<u32>, setting: Setting) -> Self {
        let made = |path: PathBuf, content: &str| {
            fs::create_dir_all(path.parent().expect("it is in a directory"))
                .expect("a directory can be made");
            fs::write(path, content).expect("a file can be written");
        };
        let (workspace, outside) = (root.join("ws"), root.join("outside"));
        for (name, content) in [
            ("a.txt", "mine"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/config", "[core]\n"),
            (".git/hooks/README", "none\n"),
            ("sub/b.txt", "mine"),
            ("sub/.vscode/settings.json", "{}"),
            ("sub/deep/key.env", CANARY),
            (".env.local", CANARY),
            ("hidden/key", CANARY),
            ("inner/c.txt", "mine"),
        ] {
            made(workspace.join(name), content);
        }
        if setting == Setting::HiddenLink {
            made(workspace.join("real.env"), CANARY);
            symlink("real.env", workspace.join(".env")).expect("a link can be made");
        } else {
            made(workspace.join(".env"), CANARY);
        }
        for (name, content) in [
            ("secret.txt", CANARY),
            ("home/.bashrc", "# mine\n"),
            ("home/.ssh/authorized_keys", "mine\n"),
        ] {
            made(outside.join(name), content);
        }
        let place = match setting {
            Setting::SocketInside => Some(workspace.join("socket")),
            Setting::Broad => Some(outside.join("socket")),
            Setting::Plain
            | Setting::Hidden
            | Setting::RootInRoot
            | Setting::ShortTime
            | Setting::FewProcesses
            | Setting::SmallDisk
            | Setting::Hosts
            | Setting::HiddenLink => None,
        };
        let socket = place.map(|place| {
            let listener = UnixListener::bind(&place).expect("the path is short");
            fs::set_permissions(place, fs::Permissions::from_mode(0o777)).expect("it is ours");
            listener
        });
        let plot = Self { root, owner, _socket: socket, _elsewhere: None };
        plot.give(&plot.workspace());
        plot
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.join("ws")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    /// Whose the workspace is.
    pub(crate) fn owner(&self) -> u32 {
        self.owner.unwrap_or_else(|| rustix::process::getuid().as_raw())
    }

    /// Everything below a directory belongs to the owner of the workspace.
    fn give(&self, path: &Path) {
        let Some(owner) = self.owner else { return };
        std::os::unix::fs::lchown(path, Some(owner), Some(owner)).expect("we are root");
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            for entry in fs::read_dir(path).expect("it is there") {
                self.give(&entry.expect("it is there").path());
            }
        }
    }

    /// What a person does after the first call: more that is hidden.
    pub(crate) fn hide_more(&self) {
        let hidden = self.workspace().join("hidden-late");
        fs::create_dir(&hidden).expect("a directory can be made");
        fs::write(hidden.join("key"), CANARY).expect("a file can be written");
        let late = self.workspace().join(".env.late");
        fs::write(&late, CANARY).expect("a file can be written");
        self.give(&hidden);
        self.give(&late);
    }

    /// A pipe in the workspace that both sides know.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.workspace().join(name);
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe can be made");
        if let Some(owner) = self.owner {
            chown(&path, Some(owner), Some(owner)).expect("we are root");
        }
        path
    }

    pub(crate) fn confinement(&self, level: ConfinementLevel, setting: Setting) -> Confinement {
        let at = |name: &str| self.workspace().join(name).display().to_string();
        let binary = std::env::current_exe().expect("we have a name");
        let mut allow_write = vec![self.workspace().display().to_string()];
        let mut limits = ConfinementLimits {
            timeout_ms: 20_000,
            disk_bytes: 64 * MIB,
            ..ConfinementLimits::default()
        };
        let mut network = NetworkAccess::None;
        let mut reading = ReadAccess::Strict;
        let hidden = [".env", ".env.*", "hidden", "hidden-late", "sub/deep/key.env"];
        // Landlock cannot hide; there it is asked for only by those who are to be refused.
        let is_asked = matches!(setting, Setting::Hidden | Setting::HiddenLink | Setting::Broad);
        let mut deny_read: Vec<String> = if level == ConfinementLevel::Landlock && !is_asked {
            Vec::new()
        } else {
            hidden.map(at).into()
        };
        match setting {
            Setting::RootInRoot => allow_write.push(at("inner")),
            Setting::FewProcesses => limits.processes = 64,
            Setting::SmallDisk => limits.disk_bytes = 4 * MIB,
            Setting::Hosts => {
                let allow = ["ok.test", "inward.test", "half.test", "metadata.test"]
                    .map(str::to_owned)
                    .into();
                network = NetworkAccess::Domains { allow, addresses: Vec::new() };
            }
            Setting::Broad => {
                reading = ReadAccess::Broad;
                deny_read.push(self.outside().join("secret.txt").display().to_string());
            }
            Setting::Plain
            | Setting::ShortTime
            | Setting::Hidden
            | Setting::HiddenLink
            | Setting::SocketInside => {}
        }
        Confinement {
            level,
            profile: ConfinementProfile::Trusted,
            allow_read: vec![binary.parent().expect("it is in a directory").display().to_string()],
            allow_write,
            reading,
            deny_read,
            network,
            limits,
            ..Confinement::most_restricted()
        }
    }

    /// What is outside, told in lines.
    pub(crate) fn outside_now(&self) -> Vec<String> {
        let mut lines = Vec::new();
        tell(&self.outside(), &mut lines);
        tell(&self.root.with_file_name("quarantine").join("planted"), &mut lines);
        lines
    }

    /// What is protected in the workspace, told in lines.
    pub(crate) fn protected_now(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for name in [
            ".git",
            "sub/.git",
            "sub/.vscode",
            ".mcp.json",
            "agentry.toml",
            ".agentry",
            "sub/.envrc",
            "x",
            "lifted/.git",
            "flood/0/.envrc",
            "flood/10049/.envrc",
            "agent.yml",
            "AGENT.md",
            "context/tool-access.json",
            "sub/.nanobot",
            ".exrc",
            ".mise.toml",
            "x.code-workspace",
            "CLAUDE.md",
            ".gdbinit",
            "vendor/x/.envrc",
            "bare/HEAD",
            "dark/.git",
        ] {
            tell(&self.workspace().join(name), &mut lines);
        }
        lines
    }
}

fn tell(path: &Path, lines: &mut Vec<String>) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    let content = if metadata.is_file() {
        let mut text = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(4096).read_to_end(&mut text))
            .unwrap_or_default();
        text.escape_ascii().to_string()
    } else {
        String::new()
    };
    lines.push(format!(
        "{} {:o} {} {} {content}",
        path.display(),
        metadata.mode(),
        metadata.uid(),
        metadata.nlink()
    ));
    if metadata.is_dir() {
        let mut inside: Vec<PathBuf> = fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        inside.sort();
        for path in inside {
            tell(&path, lines);
        }
    }
}

/// The processes of the machine, with their arguments.
pub(crate) fn processes() -> Vec<(i32, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            Some((pid, String::from_utf8_lossy(&line).replace('\0', " ")))
        })
        .collect()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// The system's names; the scene's own are enough for all but a command that is tried by hand.
pub(crate) fn system_names() -> egress::Resolver {
    egress::system()
}
