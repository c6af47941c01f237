//! Some escapes from a sandbox of macOS, tried from the inside when it is opened.
//!
//! Must never: do harm when it succeeds: it opens, looks and closes.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufRead as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use agentry_protocol::confinement::Escape;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the role.
pub(super) const ROLE: &str = "escapes";

/// The targets outside of the sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MacosProbeTargets {
    /// A file with some content.
    pub(super) file: PathBuf,
    /// A socket in the file system.
    pub(super) socket: PathBuf,
    /// A listener on the machine's loopback interface.
    pub(super) listener: SocketAddr,
    /// The process of the supervisor.
    pub(super) supervisor: i32,
}

/// Waits for a question, tries all escapes, and answers with their results.
pub(super) fn run(arguments: &Value) -> i32 {
    let Ok(targets) = serde_json::from_value::<MacosProbeTargets>(arguments.clone()) else {
        return 2;
    };
    let asked = io::stdin().lock().read_line(&mut String::new());
    let Ok(mut answer) = serde_json::to_string(&all(&targets)) else { return 3 };
    answer.push('\n');
    let mut output = io::stdout().lock();
    let said = output.write_all(answer.as_bytes()).and_then(|()| output.flush());
    i32::from(asked.and(said).is_err())
}

fn all(targets: &MacosProbeTargets) -> Vec<Escape> {
    let directory = targets.file.parent().unwrap_or(&targets.file);
    let beside = targets.file.with_extension("planted");
    let write = OpenOptions::new().append(true).create(true).open(beside);
    let set_user = || {
        let file = File::create(std::env::temp_dir().join("set-user"))?;
        file.set_permissions(Permissions::from_mode(0o4755))
    };
    let time = Duration::from_millis(200);
    let datagram = UdpSocket::bind("127.0.0.1:0")
        .and_then(|socket| socket.send_to(b"x", targets.listener).map(drop));
    let signal = Pid::from_raw(targets.supervisor)
        .map_or(Ok(()), |pid| test_kill_process(pid).map_err(io::Error::from));
    vec![
        tried("read a file outside", File::open(&targets.file).map(drop)),
        tried("list a directory outside", std::fs::read_dir(directory).map(drop)),
        tried("write a file outside", write.map(drop)),
        tried("remove a file outside", std::fs::remove_file(&targets.file)),
        tried("make a program that changes the user", set_user()),
        tried("signal the supervisor", signal),
        tried(
            "connect to the machine",
            TcpStream::connect_timeout(&targets.listener, time).map(drop),
        ),
        tried("listen for others", TcpListener::bind("127.0.0.1:0").map(drop)),
        tried("send a datagram", datagram),
        tried("connect to a socket file", UnixStream::connect(&targets.socket).map(drop)),
    ]
}

fn tried(attempt: &str, result: io::Result<()>) -> Escape {
    let (stopped, answer) = match result {
        Ok(()) => (false, "it worked".to_owned()),
        Err(error) => (true, error.to_string()),
    };
    Escape { attempt: attempt.to_owned(), stopped, answer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::macos::probe_fixture::MacosProbeFixture;

    #[test]
    fn without_a_sandbox_every_way_leads_out() {
        let bait = MacosProbeFixture::create().unwrap();
        let escapes = all(&bait.targets);
        let stopped: Vec<&Escape> = escapes.iter().filter(|escape| escape.stopped).collect();
        assert!(stopped.is_empty(), "{stopped:?}");
    }
}
