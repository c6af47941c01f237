//! The processes of a channel's adapter, one after the other.
//!
//! Must never: reap a process whose group may still have to be killed.

use std::io::{BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{io, thread};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use secrecy::ExposeSecret;

use super::adapter_context::AdapterContext;
use super::clock::Latch;
use super::config::{AdapterConfig, StartError};
use super::line_reader;
use crate::limits::{
    ADAPTER_COMPLAINT_BYTES_MAX, ADAPTER_COMPLAINTS_MS_MAX, ADAPTER_END_MS_MAX,
    ADAPTER_LINE_BYTES_MAX, ADAPTER_LINES_WAITING_MAX,
};
use crate::redact::TextEdges;

/// Starts a process with only the given environment, in a process group of its own.
pub(super) fn spawn(config: &AdapterConfig) -> Result<Child, StartError> {
    let env = config.env.iter().map(|(name, value)| (name, value.expose_secret()));
    let child = Command::new(&config.program)
        .args(&config.args)
        .current_dir(&config.directory)
        .env_clear()
        .envs(env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    child.map_err(|error| StartError::Spawn {
        channel: config.channel.clone(),
        program: config.program.clone(),
        error,
    })
}

/// A running process with the queue of its input lines.
pub(super) struct AdapterProcess {
    child: Child,
    group: Pid,
    life: u64,
    lines: SyncSender<String>,
    told: Receiver<String>,
}

/// Registers a process with the adapter, so that other threads can use it.
pub(super) fn register_process(shared: &AdapterContext, child: Child) -> AdapterProcess {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let group = group.expect("the system gives processes such numbers");
    let (lines, told) = sync_channel(ADAPTER_LINES_WAITING_MAX);
    let life = shared.begin(group, lines.clone());
    AdapterProcess { child, group, life, lines, told }
}

/// Restarts the process each time it ends, until the adapter is stopped.
pub(super) fn supervise(shared: &Arc<AdapterContext>, first: AdapterProcess) {
    let mut next = Some(first);
    loop {
        let process = next
            .take()
            .map_or_else(|| spawn(&shared.config).map(|child| register_process(shared, child)), Ok);
        match process {
            Ok(process) => live(shared, process),
            Err(error) => shared.end(&error.to_string()),
        }
        if shared.stop.is_set() || !shared.back_off() {
            break;
        }
    }
    shared.ended.set();
}

/// Serves one process from its start to its end.
fn live(shared: &Arc<AdapterContext>, process: AdapterProcess) {
    let AdapterProcess { mut child, group, life, lines, told } = process;
    let hearing = Arc::new(OutputReadState::default());
    if let Some(stdin) = child.stdin.take() {
        on_thread(shared, move |_| tell(stdin, &told));
    }
    if let Some(stderr) = child.stderr.take() {
        let hearing = Arc::clone(&hearing);
        on_thread(shared, move |shared| {
            note_complaints(shared, stderr);
            hearing.complained.set();
        });
    }
    match child.stdout.take() {
        Some(stdout) => {
            let hearing = Arc::clone(&hearing);
            on_thread(shared, move |shared| {
                hear(shared, stdout, life, &lines, &hearing);
                hearing.done.set();
            });
        }
        None => hearing.done.set(),
    }
    // It stays as a zombie, so that its group id cannot be reused.
    while waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        .is_err_and(|error| error == rustix::io::Errno::INTR)
    {}
    shared.end_group();
    let ended = child.wait();
    hearing.finish(shared);
    shared.end(&ending(&ended));
}

/// Runs `work` on a new thread. If that fails, the pipe in it closes and the process ends.
fn on_thread(shared: &Arc<AdapterContext>, work: impl FnOnce(&AdapterContext) + Send + 'static) {
    let shared = Arc::clone(shared);
    let name = format!("channel {}", shared.config.channel);
    if thread::Builder::new().name(name).spawn(move || work(&shared)).is_err() {
        // The closure, and the pipe in it, are dropped already.
    }
}

/// The progress of reading a process's output.
#[derive(Default)]
struct OutputReadState {
    done: Arc<Latch>,
    /// Set when all error lines were read.
    complained: Arc<Latch>,
    /// True while the sink handles a line.
    is_taking: AtomicBool,
}

impl OutputReadState {
    /// Waits until all output of the process was handled. Another process that holds the output
    /// open is not waited for.
    fn finish(&self, shared: &AdapterContext) {
        shared.clock.wait(ADAPTER_COMPLAINTS_MS_MAX, &self.complained);
        while !shared.clock.wait(ADAPTER_END_MS_MAX, &self.done) {
            if shared.stop.is_set() || !self.is_taking.load(Ordering::SeqCst) {
                return;
            }
        }
    }
}

fn hear(
    shared: &AdapterContext,
    stdout: impl Read,
    life: u64,
    lines: &SyncSender<String>,
    hearing: &OutputReadState,
) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        let read = line_reader::next(&mut stdout, &mut line, ADAPTER_LINE_BYTES_MAX);
        if !shared.is_current(life) {
            return;
        }
        number += 1;
        let heard = match read {
            line_reader::LineRead::End => return,
            line_reader::LineRead::Line if line.trim_ascii().is_empty() => continue,
            line_reader::LineRead::Line => Ok(line.as_slice()),
            line_reader::LineRead::TooLong => Err("the line has more than 1 MiB"),
        };
        hearing.is_taking.store(true, Ordering::SeqCst);
        shared.hear(heard, number, lines);
        hearing.is_taking.store(false, Ordering::SeqCst);
        // One long line must not keep its memory for ever.
        line.shrink_to(ADAPTER_COMPLAINT_BYTES_MAX);
    }
}

fn tell(mut stdin: ChildStdin, told: &Receiver<String>) {
    for mut line in told {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}

fn note_complaints(shared: &AdapterContext, stderr: impl Read) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        let ends = match line_reader::next(&mut stderr, &mut line, ADAPTER_COMPLAINT_BYTES_MAX) {
            line_reader::LineRead::End => return,
            line_reader::LineRead::Line => TextEdges::Whole,
            line_reader::LineRead::TooLong => TextEdges::Cut,
        };
        shared.complain(&String::from_utf8_lossy(&line), ends);
    }
}

fn ending(ended: &io::Result<ExitStatus>) -> String {
    match ended {
        Ok(status) => format!("the program ended ({status})"),
        Err(error) => format!("the program ended ({error})"),
    }
}
