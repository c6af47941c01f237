//! Tries a level before it is used, and attests its strength.
//!
//! Must never: accept a level that one escape got through.

use std::io::{self, Write};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use agentry_protocol::confinement::{Attestation, ConfinementLevel, Escape, LimitEnforcement};

use crate::linux::escape_probe::ProbeTargets;
use crate::linux::{landlock, sandbox_user};
use crate::private_directory::PrivateDirectory;

/// Targets outside of the sandbox that must not be reached; removed on drop.
pub(crate) struct ProbeFixture {
    pub(crate) targets: ProbeTargets,
    _directory: PrivateDirectory,
    _listener: TcpListener,
    _sockets: [UnixListener; 2],
}

impl ProbeFixture {
    pub(crate) fn create(level: ConfinementLevel) -> io::Result<Self> {
        let directory = PrivateDirectory::new()?;
        let (file, socket) = (directory.path().join("bait"), directory.path().join("socket"));
        std::fs::File::create(&file)?.write_all(b"not for you")?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let name = format!("agentry-bait-{}", directory.path().display());
        let named = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        let sockets = [UnixListener::bind(&socket)?, named];
        let supervisor = rustix::process::getpid().as_raw_nonzero().get();
        let targets = ProbeTargets {
            level,
            file,
            socket,
            name,
            listener: listener.local_addr()?,
            supervisor,
        };
        Ok(Self { targets, _directory: directory, _listener: listener, _sockets: sockets })
    }
}

/// Returns the attestation of a level from the results of the escapes.
pub(crate) fn attestation(
    level: ConfinementLevel,
    escapes: Vec<Escape>,
    cgroup: bool,
) -> Attestation {
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    let own_namespaces = matches!(level, ConfinementLevel::Ns | ConfinementLevel::Bwrap);
    let limit = |limit: &str, hard, by: &str| LimitEnforcement {
        limit: limit.to_owned(),
        hard,
        by: by.to_owned(),
    };
    let memory = if cgroup {
        limit("memory", true, "a control group")
    } else {
        limit(
            "memory",
            false,
            "a limit for each process, and a look at their sum ten times a second",
        )
    };
    let processes = match (cgroup, own_namespaces) {
        (true, _) => limit("processes", true, "a control group"),
        (false, true) => limit("processes", true, "a limit in its own namespace"),
        (false, false) => {
            limit("processes", false, "a limit shared with all processes of the user")
        }
    };
    let disk = if own_namespaces {
        limit("disk", true, "a temporary file system of that size, and a limit for each file")
    } else {
        limit("disk", false, "a limit for each file")
    };
    Attestation {
        level,
        kernel,
        landlock_abi: landlock::abi(),
        own_user: sandbox_user::has_own_users(),
        limits: vec![
            limit("time", true, "the supervisor, which ends the whole tree"),
            memory,
            processes,
            disk,
            limit("files", true, "a limit for each process"),
        ],
        escapes,
    }
}
