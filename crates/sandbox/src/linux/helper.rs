//! The helper: a second process of this binary, with one thread and an empty memory, that starts
//! sandboxes.
//! The supervisor has many threads and secrets and must not fork. So it starts the helper once and
//! sends it specs. The helper's standard input is the channel; when it closes, the helper ends.
//!
//! Must never: read settings or files of agents; start a thread; outlive the supervisor.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use agentry_protocol::confinement::ConfinementLevel;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal};
use rustix::thread::{CapabilitySet, capabilities};

use crate::linux::fd_channel::FdChannel;
use crate::linux::file_copies::FileCopyCache;
use crate::linux::init::{self, InitInput};
use crate::linux::mounts::{self, IdMapper};
use crate::linux::seccomp::{Kind, SyscallFilter};
use crate::linux::sys::{self, ForkSide};
use crate::linux::{bwrap, lockdown};
use crate::process_signal::signal_group;
use crate::spec::{InitMessage, SandboxFailure, SandboxSpec, SpawnReply, StepContext};

pub use crate::role::{RoleFn, RoleTable, VERB};

/// Serves until the supervisor is gone.
///
/// # Errors
/// When the channel to the supervisor fails.
pub fn serve(roles: RoleTable) -> io::Result<()> {
    let mut words = std::env::args().skip(2);
    if words.next().as_deref() == Some(bwrap::INSIDE) {
        return serve_inside(roles, words);
    }
    // This keeps the terminal's interrupt key away: the supervisor ends programs in its own way.
    lead_session();
    // The helper ends when the supervisor's channel closes. A parent-death signal is not used: the
    // kernel takes the thread that started the helper for its parent.
    let supervisor = FdChannel::from(rustix::io::dup(io::stdin())?);
    rustix::io::fcntl_setfd(&supervisor, rustix::io::FdFlags::CLOEXEC)?;
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    let mut helper = SandboxSpawner {
        roles,
        lenders: HashMap::new(),
        filters: HashMap::new(),
        copies: FileCopyCache::default(),
        running: Vec::new(),
    };
    let served = helper.serve(supervisor);
    // Also after a failure: the supervisor can be gone before it is answered.
    for (pid, _) in &helper.running {
        end_group(*pid);
    }
    served
}

/// Becomes the init process of a sandbox that bubblewrap has built.
fn serve_inside(roles: RoleTable, words: impl Iterator<Item = String>) -> io::Result<()> {
    let numbers: Vec<i32> = words.filter_map(|word| word.parse().ok()).collect();
    let Ok([message, control, input, output, errors]) = <[i32; 5]>::try_from(numbers) else {
        return Err(io::Error::other("the descriptors are not five"));
    };
    let spec: SandboxSpec = serde_json::from_reader(std::fs::File::from(sys::inherit(message)))?;
    let streams = [input, output, errors].map(sys::inherit);
    let control = FdChannel::from(sys::inherit(control));
    let filter = SyscallFilter::new(lockdown::kind(&spec)).map_err(|failed| failed.cause)?;
    init::run(&spec, InitInput { streams, control, trees: None, copies: Vec::new(), roles, filter })
}

struct SandboxSpawner {
    roles: RoleTable,
    lenders: HashMap<u32, IdMapper>,
    filters: HashMap<Kind, SyscallFilter>,
    copies: FileCopyCache,
    running: Vec<(Pid, OwnedFd)>,
}

impl SandboxSpawner {
    fn serve(&mut self, mut supervisor: FdChannel) -> io::Result<()> {
        while self.wait(&supervisor)? {
            let Some((spec, streams)) = supervisor.receive::<SandboxSpec>()? else { break };
            let begun;
            (supervisor, begun) = self.begin(&spec, streams, supervisor);
            match (begun, self.running.last()) {
                (Ok(()), Some((_, handle))) => {
                    supervisor.send(&SpawnReply::Begun, &[handle.as_fd()])?
                }
                (Ok(()), None) => return Err(io::Error::other("a sandbox was lost")),
                (Err(trouble), _) => supervisor.send(&SpawnReply::Failed(trouble), &[])?,
            }
        }
        Ok(())
    }

    /// Waits for the supervisor and reaps ended children. False when the supervisor is gone.
    fn wait(&mut self, supervisor: &FdChannel) -> io::Result<bool> {
        loop {
            let mut fds = vec![PollFd::new(supervisor, PollFlags::IN)];
            fds.extend(self.running.iter().map(|(_, handle)| PollFd::new(handle, PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
            drop(fds);
            let mut over = ready[1..].iter().map(|flags| !flags.is_empty());
            self.running.retain(|(pid, _)| {
                let is_over = over.next().unwrap_or_default();
                if is_over {
                    end_group(*pid);
                    init::reap_child(*pid);
                }
                !is_over
            });
            if !ready[0].is_empty() {
                return Ok(true);
            }
        }
    }

    /// Starts a sandbox. Returns the channel of the supervisor, which the new process does not get.
    fn begin(
        &mut self,
        spec: &SandboxSpec,
        mut streams: Vec<OwnedFd>,
        supervisor: FdChannel,
    ) -> (FdChannel, Result<(), SandboxFailure>) {
        let members = if streams.len() > 4 { streams.pop() } else { None };
        let given = match self.prepare(spec, streams) {
            Ok(given) => given,
            Err(trouble) => return (supervisor, Err(trouble)),
        };
        let pipe = io::pipe().at_step("make a pipe");
        let namespaces = match (spec.level, &given.trees) {
            (ConfinementLevel::Ns, _) => sys::NAMESPACES,
            (_, Some(_)) => sys::MOUNTS,
            (_, None) => 0,
        };
        let step = if namespaces == 0 { "split off a process" } else { "make namespaces" };
        let split =
            pipe.and_then(|pipe| sys::clone(namespaces).at_step(step).map(|forked| (pipe, forked)));
        match split {
            Err(trouble) => (supervisor, Err(trouble)),
            Ok(((mut go, ready), ForkSide::Child)) => {
                drop((ready, supervisor));
                let mut word = [0];
                match go.read_exact(&mut word) {
                    Ok(()) if spec.level == ConfinementLevel::Bwrap => {
                        through_bubblewrap(spec, given)
                    }
                    Ok(()) => init::run(spec, given),
                    Err(_) => sys::exit_now(1),
                }
            }
            Ok(((_, ready), ForkSide::Parent { pid, handle })) => {
                drop(given);
                self.running.push((pid, handle));
                let mapped = match spec.level {
                    ConfinementLevel::Ns => map_users(pid, spec.user).at_step("map the user"),
                    ConfinementLevel::Bwrap
                    | ConfinementLevel::Seatbelt
                    | ConfinementLevel::Landlock
                    | ConfinementLevel::Off => Ok(()),
                };
                let counted = members.map(std::fs::File::from).map_or(Ok(()), |mut members| {
                    members.write_all(pid.as_raw_nonzero().to_string().as_bytes())
                });
                // Without this message the new process ends by itself.
                let begun = mapped
                    .and_then(|()| counted.at_step("enter the control group"))
                    .and_then(|()| (&ready).write_all(&[1]).at_step("let the sandbox begin"));
                (supervisor, begun)
            }
        }
    }

    /// Returns the filter of this kind; it is compiled once.
    fn filter(&mut self, kind: Kind) -> Result<SyscallFilter, SandboxFailure> {
        if let Some(filter) = self.filters.get(&kind) {
            return Ok(filter.clone());
        }
        let filter = SyscallFilter::new(kind).map_err(lockdown::trouble)?;
        self.filters.insert(kind, filter.clone());
        Ok(filter)
    }

    fn prepare(
        &mut self,
        spec: &SandboxSpec,
        streams: Vec<OwnedFd>,
    ) -> Result<InitInput, SandboxFailure> {
        let mut streams = streams.into_iter();
        let (Some(input), Some(output), Some(errors), Some(control)) =
            (streams.next(), streams.next(), streams.next(), streams.next())
        else {
            let missing = io::Error::other("some descriptors are missing");
            return Err(SandboxFailure::new("take over the streams", &missing));
        };
        let trees = match (spec.level, spec.user) {
            (ConfinementLevel::Ns | ConfinementLevel::Bwrap, Some(user)) if can_mount() => {
                let lender = self.lenders.entry(user).or_insert_with(|| IdMapper::to(user));
                Some(mounts::trees(&spec.view, lender)?)
            }
            _ => None,
        };
        let streams = [input, output, errors];
        lockdown::cores();
        let filter = self.filter(lockdown::kind(spec))?;
        let copies =
            self.copies.load(&spec.view.copies).at_step("read the settings of the machine")?;
        let (control, roles) = (FdChannel::from(control), self.roles);
        Ok(InitInput { streams, control, trees, copies, roles, filter })
    }
}

/// Kills the process group of a bubblewrap. It has several processes that wait for each other, so
/// that one can wait for ever if another failed early. No other process is in the group.
fn end_group(leader: Pid) {
    // The leader is not reaped yet, so its number is not reused. The group may not exist.
    signal_group(leader, Signal::KILL);
}

/// Becomes the leader of a session, and so of a process group. This fails only for the leader of a
/// group, which is what matters; a helper that leads one was started without a terminal.
fn lead_session() {
    rustix::process::setsid().ok();
}

fn through_bubblewrap(spec: &SandboxSpec, given: InitInput) -> ! {
    // The process leads a group, so that all its children can be ended with it.
    lead_session();
    let control = given.control.try_clone();
    let trouble = bwrap::run(spec, given);
    if let Ok(control) = control {
        control.send_if_open(&InitMessage::Failed(trouble));
    }
    sys::exit_now(1)
}

/// Returns true if this process has all privileges of root and can map owners by mounts.
fn can_mount() -> bool {
    capabilities(None).is_ok_and(|held| held.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Maps one user into the new namespace, with the number it has outside.
fn map_users(pid: Pid, user: Option<u32>) -> io::Result<()> {
    let write = |file: &str, text: String| {
        std::fs::write(format!("/proc/{}/{file}", pid.as_raw_nonzero()), text)
    };
    let uid = user.unwrap_or_else(|| rustix::process::getuid().as_raw());
    let gid = user.unwrap_or_else(|| rustix::process::getgid().as_raw());
    if user.is_none() {
        write("setgroups", "deny".to_owned())?;
    }
    write("gid_map", format!("{gid} {gid} 1"))?;
    write("uid_map", format!("{uid} {uid} 1"))
}
