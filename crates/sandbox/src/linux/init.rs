//! The init process of a sandbox: builds it, starts the program in it, reaps, and ends it.
//!
//! A sandbox that stays runs one program after the other, and is reset before each of them.
//!
//! At the level `ns` it is process 1 of its own, so that its end is the end of all inside. It runs
//! our code only, without privileges, and the processes it started cannot inspect it.
//!
//! Must never: start the program before every step has worked, or while anything of another is
//! left; outlive the supervisor.

use std::borrow::Cow;
use std::io::{self, PipeWriter, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};

use agentry_protocol::confinement::ConfinementLevel;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, wait, waitpid,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

use crate::limits::{IDLE_END_MS_MAX, MEMORY_LOOK_MS, PROXY_PORT};
use crate::linux::escape_probe;
use crate::linux::fd_channel::FdChannel;
use crate::linux::file_copies::FileCopy;
use crate::linux::mounts::{self, IdMapper, MountTree};
use crate::linux::reset::SandboxBaseline;
use crate::linux::seccomp::SyscallFilter;
use crate::linux::{landlock, lockdown, memory, sys};
use crate::poll::{is_ready, poll_until};
use crate::role::{RoleFn, RoleTable};
use crate::spec::{
    ENTER, InitMessage, InitRequest, ProgramStatus, START, SandboxFailure, SandboxSpec,
    SandboxedProgram, StepContext,
};

/// The inputs of the init process beside the spec.
pub(crate) struct InitInput {
    /// The program's input, output and errors.
    pub(crate) streams: [OwnedFd; 3],
    /// The channel to the supervisor.
    pub(crate) control: FdChannel,
    /// The mounted parts of the machine, if the helper had to open them.
    pub(crate) trees: Option<Vec<MountTree>>,
    /// Small files of the machine.
    pub(crate) copies: Vec<FileCopy>,
    /// The roles that can run in a sandbox.
    pub(crate) roles: RoleTable,
    /// The system calls that the kernel refuses to the program.
    pub(crate) filter: SyscallFilter,
}

/// The message of the program's process when every step has worked, before it becomes the program.
const CONFINED: [u8; 1] = [b'!'];

/// Runs the whole life of the init process.
pub(crate) fn run(spec: &SandboxSpec, given: InitInput) -> ! {
    let InitInput { streams, control, trees, copies, roles, filter } = given;
    let launcher = ProgramLauncher { control: &control, roles, filter: &filter };
    let served = set_up(spec, &control, trees, &copies)
        .and_then(|built| serve(spec, streams, &launcher, &built));
    if let Err(trouble) = served {
        control.send_if_open(&InitMessage::Failed(trouble));
    }
    sys::exit_now(0)
}

/// The result of building.
struct BuiltSandbox {
    reach: SignalScope,
    /// The state to reset to; None if the sandbox runs one program only.
    afresh: Option<SandboxBaseline>,
}

/// The parts of the init process that start a program, each time the sandbox runs one.
struct ProgramLauncher<'a> {
    /// The channel to the supervisor.
    control: &'a FdChannel,
    roles: RoleTable,
    filter: &'a SyscallFilter,
}

/// Runs the program, and the later ones that the supervisor sends.
fn serve(
    spec: &SandboxSpec,
    mut streams: [OwnedFd; 3],
    launcher: &ProgramLauncher<'_>,
    built: &BuiltSandbox,
) -> Result<(), SandboxFailure> {
    let control = launcher.control;
    let children = sys::watch_children().at_step("watch the children")?;
    let mut spec = Cow::Borrowed(spec);
    loop {
        let program = launcher.start(&spec, streams).inspect_err(|_| {
            // The program may run already: the supervisor can be gone before it hears of the start.
            end_others(spec.level, built.reach);
        })?;
        let over = watch(&spec, built.reach, program, &children, control);
        let Some(afresh) = built.afresh.as_ref().filter(|_| over == ProgramExitCause::ByItself)
        else {
            return Ok(());
        };
        // A sandbox that cannot be reset just ends: no one waits for it.
        let ready = afresh.restore().and_then(|()| control.send(&InitMessage::Ready, &[]));
        let Some((program, given)) = ready.ok().and_then(|()| next_program(control)) else {
            return Ok(());
        };
        spec.to_mut().program = program;
        streams = given;
    }
}

/// Waits for another program; None when none comes.
fn next_program(control: &FdChannel) -> Option<(SandboxedProgram, [OwnedFd; 3])> {
    let until = Instant::now() + Duration::from_millis(IDLE_END_MS_MAX);
    if !is_ready(control, until).ok()? {
        return None;
    }
    match control.receive::<InitRequest>() {
        Ok(Some((InitRequest::Run(program), streams))) => {
            let streams = streams.try_into().ok()?;
            // From here on no other sandbox may run it.
            control.send(&InitMessage::Taken, &[]).ok()?;
            Some((program, streams))
        }
        Ok(Some((InitRequest::Terminate | InitRequest::Kill, _)) | None) | Err(_) => None,
    }
}

/// The processes that a signal to all reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignalScope {
    /// Only the program's descendants.
    Ours,
    /// All processes of the user, so that each descendant must be found.
    Everybody,
}

fn set_up(
    spec: &SandboxSpec,
    control: &FdChannel,
    trees: Option<Vec<MountTree>>,
    copies: &[FileCopy],
) -> Result<BuiltSandbox, SandboxFailure> {
    let mut afresh = None;
    rustix::process::umask(Mode::empty());
    if let (Some(user), ConfinementLevel::Ns | ConfinementLevel::Landlock) = (spec.user, spec.level)
    {
        become_user(user, spec.level).at_step("become an ordinary user")?;
    }
    // Without a process namespace it must outlive the helper, to end the others.
    if spec.level != ConfinementLevel::Landlock {
        // After the change of user, which undoes it.
        set_parent_process_death_signal(Some(Signal::KILL))
            .at_step("bind our life to the helper")?;
    }
    match spec.level {
        ConfinementLevel::Ns => {
            rustix::system::sethostname(b"sandbox").at_step("name the host")?;
            let trees = match trees {
                Some(trees) => trees,
                None => mounts::trees(&spec.view, &mut IdMapper::to(0))?,
            };
            let own = mounts::enter(&spec.view, trees, copies)?;
            loopback().at_step("bring up the loopback interface")?;
            afresh = Some(own).filter(|_| spec.stays);
        }
        // Bubblewrap has done it all.
        ConfinementLevel::Bwrap => {}
        ConfinementLevel::Landlock | ConfinementLevel::Seatbelt | ConfinementLevel::Off => {
            set_child_subreaper(Some(rustix::process::getpid())).at_step("adopt orphans")?;
        }
    }
    if spec.listen {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT));
        let listener = listener.at_step("listen for the proxy")?;
        // It reports when a mount of this sandbox goes because its source on the machine does.
        let mounts = || std::fs::File::open("/proc/self/mountinfo").ok();
        let mounts = spec.reports_mounts.then(mounts).flatten();
        let mut handles = vec![listener.as_fd()];
        handles.extend(mounts.as_ref().map(AsFd::as_fd));
        control.send(&InitMessage::Listening, &handles).at_step("hand out the listener")?;
    }
    // Without it there is a new sandbox for every program.
    let afresh = afresh.and_then(|own| SandboxBaseline::capture(own, &spec.view).ok());
    drop_rights().at_step("give up all rights")?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).at_step("hide ourselves")?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let reach = match spec.level {
        ConfinementLevel::Ns | ConfinementLevel::Bwrap => SignalScope::Ours,
        ConfinementLevel::Landlock | ConfinementLevel::Seatbelt | ConfinementLevel::Off => {
            let bounded = landlock::bound_signals().map_err(lockdown::trouble)?;
            if bounded { SignalScope::Ours } else { SignalScope::Everybody }
        }
    };
    Ok(BuiltSandbox { reach, afresh })
}

/// Becomes the user that files are mapped to. At the level `ns` it is the only one there is.
pub(crate) fn become_user(user: u32, level: ConfinementLevel) -> io::Result<()> {
    let (uid, gid) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(user));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    if level == ConfinementLevel::Ns {
        // The change of user must not have dropped the capability to build.
        let all = capabilities(None)?;
        if !all.permitted.contains(CapabilitySet::SYS_ADMIN) {
            return Err(io::Error::other("the rights to build the sandbox were lost"));
        }
        set_capabilities(None, CapabilitySets { effective: all.permitted, ..all })?;
    }
    Ok(())
}

fn loopback() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    sys::loopback_up(socket.as_fd())
}

/// Drops all capabilities, and every way to get any.
fn drop_rights() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let held = capabilities(None)?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for one in CapabilitySet::all().iter() {
            match remove_capability_from_bounding_set(one) {
                // A kernel may know fewer than we do.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets)?;
    let left = capabilities(None)?;
    if left != sets {
        return Err(io::Error::other(format!("some rights are left: {left:?}")));
    }
    set_no_new_privs(true)?;
    Ok(())
}

impl ProgramLauncher<'_> {
    /// Starts the program, and makes sure that it is the program that runs.
    fn start(&self, spec: &SandboxSpec, streams: [OwnedFd; 3]) -> Result<Pid, SandboxFailure> {
        let (mut reader, writer) = io::pipe().at_step("watch the start")?;
        let Some(pid) = sys::fork().at_step("split off the program")? else {
            drop(reader);
            let trouble = self.become_program(spec, streams, &writer);
            report(&trouble, &writer);
            sys::exit_now(125)
        };
        drop((writer, streams));
        // The end of this pipe is the start of the program: exec closes it.
        let mut text = Vec::new();
        reader.read_to_end(&mut text).at_step("watch the start")?;
        let said = text.strip_prefix(&CONFINED).unwrap_or(&text);
        if !said.is_empty() {
            let trouble = serde_json::from_slice(said);
            return Err(trouble.map_err(io::Error::from).at_step("watch the start")?);
        }
        if text.is_empty() {
            // It died on the way, so this is not the end of the program.
            let died = io::Error::other("the process ended before it was confined");
            return Err(died).at_step("confine the program");
        }
        self.control.send(&InitMessage::Started, &[]).at_step("tell of the start")?;
        Ok(pid)
    }

    /// Confines this process and becomes the program; returns only on failure.
    fn become_program(
        &self,
        spec: &SandboxSpec,
        streams: [OwnedFd; 3],
        mut writer: &PipeWriter,
    ) -> SandboxFailure {
        let confined = confine(spec, streams, self.filter)
            .and_then(|()| writer.write_all(&CONFINED).at_step("tell that all is confined"));
        if let Err(trouble) = confined {
            return trouble;
        }
        match &spec.program {
            SandboxedProgram::Command { program, args, env, .. } => {
                let mut command = std::process::Command::new(program);
                command.args(args).env_clear().envs(env.iter().map(|(name, value)| (name, value)));
                SandboxFailure::new(START, &command.exec())
            }
            SandboxedProgram::Role { name, arguments, .. } => {
                let own: [(&str, RoleFn); 1] = [(escape_probe::ROLE, escape_probe::run)];
                let mut all = own.iter().chain(self.roles);
                let Some((_, role)) = all.find(|(known, _)| *known == name.as_str()) else {
                    let unknown = io::Error::other(format!("there is no part named {name}"));
                    return SandboxFailure::new(START, &unknown);
                };
                if let Err(error) = sys::close_from(3) {
                    return SandboxFailure::new(START, &error);
                }
                let code = role(arguments);
                std::process::exit(code)
            }
        }
    }
}

/// Tells the init process why its child did not become the program. The pipe is open and takes more
/// than this; it fails only if the init process is gone, and the sandbox with it.
fn report(trouble: &SandboxFailure, init: &PipeWriter) {
    serde_json::to_writer(init, trouble).ok();
}

fn confine(
    spec: &SandboxSpec,
    streams: [OwnedFd; 3],
    filter: &SyscallFilter,
) -> Result<(), SandboxFailure> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .at_step("bind the program's life to ours")?;
    sys::let_signals_through().at_step("let signals through")?;
    rustix::process::setsid().at_step("lead a session")?;
    let [input, output, errors] = streams;
    rustix::stdio::dup2_stdin(&input).at_step("connect the input")?;
    rustix::stdio::dup2_stdout(&output).at_step("connect the output")?;
    rustix::stdio::dup2_stderr(&errors).at_step("connect the errors")?;
    sys::close_on_exec_from(3).at_step("close other descriptors")?;
    let (SandboxedProgram::Command { cwd, .. } | SandboxedProgram::Role { cwd, .. }) =
        &spec.program;
    rustix::process::chdir(cwd).at_step(ENTER)?;
    lockdown::apply(spec, filter)
}

/// The cause that ended a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgramExitCause {
    ByItself,
    Terminated,
}

/// Waits until the program has ended, the supervisor asks for the end, or is gone.
fn watch(
    spec: &SandboxSpec,
    reach: SignalScope,
    program: Pid,
    children: &OwnedFd,
    control: &FdChannel,
) -> ProgramExitCause {
    // The limit for each process bounds our own code; checks for a whole session are a waste.
    let look_every = match &spec.program {
        SandboxedProgram::Command { .. } => Duration::from_millis(MEMORY_LOOK_MS),
        SandboxedProgram::Role { .. } => Duration::from_millis(spec.limits.timeout_ms),
    };
    let mut next_look = Instant::now() + look_every;
    let mut out_of_memory = false;
    loop {
        let mut fds = [
            PollFd::new(children, PollFlags::IN),
            PollFd::new(control, PollFlags::IN | PollFlags::HUP),
        ];
        if poll_until(&mut fds, Some(next_look)).is_err() {
            return ProgramExitCause::Terminated;
        }
        let (child, spoken) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if child && let Some(status) = reap(program, children) {
            let left_behind = end_others(spec.level, reach);
            let word = InitMessage::Ended { status, left_behind, out_of_memory };
            let told = control.send(&word, &[]);
            return if told.is_ok() && !out_of_memory {
                ProgramExitCause::ByItself
            } else {
                ProgramExitCause::Terminated
            };
        }
        if spoken {
            match control.receive::<InitRequest>() {
                Ok(Some((InitRequest::Terminate, _))) => signal_others(reach, libc::SIGTERM),
                // Or the supervisor is gone, or sends invalid messages.
                Ok(Some((InitRequest::Kill | InitRequest::Run(_), _)) | None) | Err(_) => {
                    end_others(spec.level, reach);
                    return ProgramExitCause::Terminated;
                }
            }
        }
        if Instant::now() >= next_look {
            next_look = Instant::now() + look_every;
            if is_out_of_memory(spec) {
                out_of_memory = true;
                signal_others(reach, libc::SIGKILL);
            }
        }
    }
}

fn is_out_of_memory(spec: &SandboxSpec) -> bool {
    let proc = Path::new("/proc");
    let processes = match spec.level {
        ConfinementLevel::Ns | ConfinementLevel::Bwrap => {
            memory::processes(proc).unwrap_or_default()
        }
        // The process table lists processes of all users.
        ConfinementLevel::Landlock | ConfinementLevel::Seatbelt | ConfinementLevel::Off => {
            crate::linux::process_tree::descendants_of_us()
        }
    };
    memory::exceeds(proc, processes, spec.limits.memory_bytes)
}

/// Reaps ended children; returns the program's status if it is among them.
fn reap(program: Pid, children: &OwnedFd) -> Option<ProgramStatus> {
    let mut buffer = [0; 1024];
    while rustix::io::read(children, &mut buffer).is_ok_and(|length| length > 0) {}
    let mut found = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == program {
            found = Some(status_of(status));
        }
    }
    found
}

fn status_of(status: WaitStatus) -> ProgramStatus {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ProgramStatus::Exited(code),
        (None, signal) => ProgramStatus::Signalled(signal.unwrap_or_default()),
    }
}

fn signal_others(reach: SignalScope, signal: i32) {
    match reach {
        SignalScope::Ours => sys::signal_all(signal),
        SignalScope::Everybody => crate::linux::process_tree::signal_descendants(signal),
    }
}

/// Ends all remaining processes, and returns their number.
fn end_others(level: ConfinementLevel, reach: SignalScope) -> usize {
    let left = match (level, reach) {
        (ConfinementLevel::Ns | ConfinementLevel::Bwrap, _) => {
            memory::processes(Path::new("/proc")).map_or(0, |left| left.len())
        }
        (_, SignalScope::Ours) => crate::linux::process_tree::descendants_of_us().len(),
        (_, SignalScope::Everybody) => return crate::linux::process_tree::kill_descendants(),
    };
    // One call for all: no process can be born in between and stay.
    sys::signal_all(libc::SIGKILL);
    // Orphans become ours, so no process is left when there is none to wait for.
    while wait(WaitOptions::empty()).is_ok() {}
    left
}

/// Reaps one ended child of the helper, without waiting. An error means that it was reaped before.
pub(crate) fn reap_child(pid: Pid) {
    waitpid(Some(pid), WaitOptions::NOHANG).ok();
}

#[cfg(test)]
mod tests;
