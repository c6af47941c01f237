//! Targets outside of the sandbox that must not be reached.
//!
//! Must never: be of any worth.

use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use super::escape_probe::MacosProbeTargets;
use crate::private_directory::PrivateDirectory;

/// The targets of the escapes; removed on drop.
pub(super) struct MacosProbeFixture {
    pub(super) targets: MacosProbeTargets,
    _directory: PrivateDirectory,
    _listener: TcpListener,
    _socket: UnixListener,
}

impl MacosProbeFixture {
    pub(super) fn create() -> io::Result<Self> {
        let directory = PrivateDirectory::new()?;
        let at = directory.path().canonicalize()?;
        let (file, socket) = (at.join("bait"), at.join("socket"));
        std::fs::write(&file, "not for you")?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let supervisor = rustix::process::getpid().as_raw_nonzero().get();
        let targets = MacosProbeTargets {
            file,
            socket: socket.clone(),
            listener: listener.local_addr()?,
            supervisor,
        };
        let socket = UnixListener::bind(socket)?;
        Ok(Self { targets, _directory: directory, _listener: listener, _socket: socket })
    }
}
