//! Renders templates in a process of its own, with bounded memory and time.
//!
//! The engine recurses and allocates as a template demands, so a hostile one can crash its process.
//! The supervisor reports such a crash. One process serves many templates, one JSON line each way;
//! after a crash the next template gets a new process.
//!
//! Must never: render in the calling process.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use agentry_kernel::template::{self, TemplateOutcome, TemplateRequest};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::limits::{TEMPLATE_CPU_SECONDS_MAX, TEMPLATE_MEMORY_BYTES_MAX, TEMPLATE_TIME_MAX};

/// The command that makes the binary serve templates.
pub const VERB: &str = "serve-templates";

thread_local! {
    static LAST_WORDS: Cell<String> = const { Cell::new(String::new()) };
}

/// Renders templates in another process.
pub struct Renderer {
    binary: PathBuf,
    process: Option<TemplateProcess>,
}

struct TemplateProcess {
    child: Child,
    input: ChildStdin,
    answers: Receiver<io::Result<String>>,
}

impl Renderer {
    /// Creates a renderer that starts `binary` on first use.
    pub fn new(binary: &Path) -> Self {
        Self { binary: binary.to_owned(), process: None }
    }

    /// Renders a template. Fails only if no process can be started.
    pub fn render(&mut self, request: &TemplateRequest) -> io::Result<TemplateOutcome> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => start(&self.binary)?,
        };
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        let asked = process.input.write_all(line.as_bytes()).and_then(|()| process.input.flush());
        let answer = match asked {
            Ok(()) => process.answers.recv_timeout(TEMPLATE_TIME_MAX),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        match answer {
            Ok(Ok(line)) => {
                let outcome = serde_json::from_str(&line)?;
                self.process = Some(process);
                Ok(outcome)
            }
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Ok(died(process)),
            Err(RecvTimeoutError::Timeout) => {
                stop(process);
                Ok(TemplateOutcome::Budget {
                    what: format!("more than {} s", TEMPLATE_TIME_MAX.as_secs()),
                })
            }
        }
    }
}

impl Drop for Renderer {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            stop(process);
        }
    }
}

fn start(binary: &Path) -> io::Result<TemplateProcess> {
    let mut child = Command::new(binary)
        .arg(VERB)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("the template process has no pipes"));
    };
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok(TemplateProcess { child, input, answers })
}

/// Kills and reaps the process. Its exit does not matter: it has no state, and the next template
/// gets a new one. It may have ended already; then the kill has no effect.
fn stop(process: TemplateProcess) {
    let TemplateProcess { mut child, input, .. } = process;
    drop(input);
    child.kill().and_then(|()| child.wait()).ok();
}

fn died(process: TemplateProcess) -> TemplateOutcome {
    let TemplateProcess { mut child, input, .. } = process;
    drop(input);
    let status = child.wait();
    let signal =
        status.ok().and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
    let too_long = signal == Some(rustix::process::Signal::XCPU.as_raw());
    let what = if too_long {
        format!("more than {TEMPLATE_CPU_SECONDS_MAX} s of processor time")
    } else {
        format!("{}, or it nests too deep", too_much_memory())
    };
    TemplateOutcome::Budget { what }
}

/// Serves templates on standard input and output until end of input, with limits on itself.
pub fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let memory = Some(TEMPLATE_MEMORY_BYTES_MAX);
    setrlimit(Resource::As, Rlimit { current: memory, maximum: memory })?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    // Standard error is discarded; the engine's panic message is kept for the answer.
    panic::set_hook(Box::new(|words| {
        LAST_WORDS.set(words.payload_as_str().unwrap_or_default().to_owned());
    }));
    for line in input.lines() {
        let request: TemplateRequest = serde_json::from_str(&line?)?;
        bound_processor_time()?;
        let outcome =
            panic::catch_unwind(|| template::render(&request)).unwrap_or_else(|_| gave_up());
        let mut answer = serde_json::to_string(&outcome)?;
        answer.push('\n');
        output.write_all(answer.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

fn gave_up() -> TemplateOutcome {
    let words = LAST_WORDS.take();
    // The engine rejects a range that is larger than the address space.
    if words == "capacity overflow" {
        return TemplateOutcome::Budget { what: too_much_memory() };
    }
    // The parser stops at its own limit on nesting.
    if words.contains("stack limit reached") {
        return TemplateOutcome::Budget { what: "it nests too deep".to_owned() };
    }
    let words = words.lines().next().unwrap_or_default();
    let message = format!("the template engine failed: {words}");
    TemplateOutcome::Failed { message, place: None }
}

fn too_much_memory() -> String {
    format!("more than {} MiB of memory", TEMPLATE_MEMORY_BYTES_MAX >> 20)
}

/// Sets the processor limit of the next template above the time used so far.
fn bound_processor_time() -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let until = u64::try_from(used).unwrap_or_default() + 1 + TEMPLATE_CPU_SECONDS_MAX;
    let maximum = getrlimit(Resource::Cpu).maximum;
    setrlimit(Resource::Cpu, Rlimit { current: Some(until), maximum })?;
    Ok(())
}
