//! The init process at moments that cannot be reached from outside.

use std::io::Read;

use agentry_protocol::confinement::{ConfinementLevel, ConfinementLimits};
use rustix::net::{SendFlags, send};

use super::{InitInput, run};
use crate::linux::fd_channel::FdChannel;
use crate::linux::seccomp::SyscallFilter;
use crate::linux::tests::{again, in_child, say};
use crate::linux::{lockdown, sys};
use crate::spec::{FilesystemView, LandlockAccess, SandboxSpec, SandboxedProgram};

#[test]
fn nothing_is_left_when_the_supervisor_goes_before_it_is_told_of_the_start() {
    let said = again("linux::init::tests::goes_before_it_is_told").run();
    assert!(said.contains("all are gone"), "{said}");
}

#[test]
#[ignore = "runs as a child"]
fn goes_before_it_is_told() {
    in_child(|| {
        let (supervisor, control) = FdChannel::pair().unwrap();
        // The channel is full, so it waits where it reports the start.
        while send(&control, b"full", SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok() {}
        let (mut reader, writer) = std::io::pipe().unwrap();
        let null = || std::fs::File::open("/dev/null").unwrap().into();
        let spec = spec("(setsid sleep 1000 &); sleep 1000 & printf x; sleep 1000");
        let Some(_) = sys::fork().unwrap() else {
            drop((supervisor, reader));
            let filter = SyscallFilter::new(lockdown::kind(&spec)).unwrap();
            let streams = [null(), writer.into(), null()];
            let (trees, copies, roles): (_, _, &[_]) = (None, Vec::new(), &[]);
            run(&spec, InitInput { streams, control, trees, copies, roles, filter })
        };
        drop((control, writer));
        reader.read_exact(&mut [0]).unwrap();
        drop(supervisor);
        // Ends when no process holds the output any more.
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        say("all are gone");
    });
}

fn spec(script: &str) -> SandboxSpec {
    SandboxSpec {
        authority: None,
        level: ConfinementLevel::Landlock,
        user: None,
        view: FilesystemView::default(),
        fence: LandlockAccess { read: vec!["/".into()], write: Vec::new() },
        unix_sockets: false,
        listen: false,
        limits: ConfinementLimits::default(),
        reports_mounts: false,
        stays: false,
        program: SandboxedProgram::Command {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: "/".into(),
        },
    }
}
