//! One story: a temporary home and work directory, and commands that run there in a clean environment.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use agentry_agentfile::file_tree::{FileTree, FileTreeEntry};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any command may take on a machine under load; a command that hangs ends here.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(120);

/// The number of a user without rights, under which a story of root can run its commands.
const ORDINARY: &str = "65534";

pub(crate) struct Story {
    root: TempDir,
    environment: Vec<(String, String)>,
    is_ordinary: bool,
}

/// What a command did.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Story {
    /// A work directory with these files: `--- path` begins a file, `--- path +x` an executable one.
    pub(crate) fn new(fixture: &str) -> Self {
        let root = TempDir::new().expect("a temporary directory can be made");
        fs::create_dir_all(root.path().join("home")).expect("the home can be made");
        fs::create_dir_all(root.path().join("work")).expect("the work directory can be made");
        let story = Self { root, environment: Vec::new(), is_ordinary: false };
        story.write(fixture);
        story
    }

    /// A story for each kind of user that this machine can play: the one that runs the tests, and if that is root, an
    /// ordinary one too.
    pub(crate) fn for_each_user(fixture: &str, act: impl Fn(Self)) {
        act(Self::new(fixture));
        if rustix::process::geteuid().is_root() {
            let mut story = Self::new(fixture);
            story.is_ordinary = true;
            story.copy_binary();
            act(story);
        }
    }

    /// Copies the binary to where an ordinary user can see it. A program does this, because a process that another
    /// test starts meanwhile would hold the new file open for writing, and it could not be run.
    fn copy_binary(&self) {
        let mut copy = Command::new("cp");
        copy.arg(env!("CARGO_BIN_EXE_agentry")).arg(self.root.path().join("agentry"));
        assert!(copy.status().expect("cp runs").success());
    }

    /// Starts the command line of the binary: as we are, or as the ordinary user, who then owns all files.
    fn binary(&self) -> Command {
        if !self.is_ordinary {
            return Command::new(env!("CARGO_BIN_EXE_agentry"));
        }
        let owner = format!("{ORDINARY}:{ORDINARY}");
        let mut chown = Command::new("chown");
        // A file that vanishes meanwhile is no failure.
        chown.args(["-RhPf", &owner]).arg(self.root.path());
        chown.status().expect("chown runs");
        let mut command = Command::new("setpriv");
        command.args(["--reuid", ORDINARY, "--regid", ORDINARY, "--clear-groups", "--"]);
        command.arg(self.root.path().join("agentry"));
        command
    }

    /// With a variable in the environment of all commands.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds files below the work directory.
    pub(crate) fn write(&self, fixture: &str) {
        for (path, entry) in FileTree::from_fixture(fixture).below("") {
            let FileTreeEntry::File(file) = entry else { continue };
            self.file(path, file.bytes.as_deref().expect("fixtures are small"));
            if file.executable {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(self.path(path), mode).expect("the mode can be set");
            }
        }
    }

    /// Writes one file below the work directory.
    pub(crate) fn file(&self, path: &str, content: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it lies below")).expect("it can be made");
        fs::write(path, content).expect("the file can be written");
    }

    /// A path below the work directory.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join("work").join(path)
    }

    /// A path below the home.
    pub(crate) fn home(&self, path: &str) -> PathBuf {
        self.root.path().join("home").join(path)
    }

    /// Runs a command in the work directory: exit code, output and errors as one text.
    pub(crate) fn run(&self, command: &str) -> String {
        self.run_in("", command)
    }

    /// Runs a command in a directory below the work directory.
    pub(crate) fn run_in(&self, directory: &str, command: &str) -> String {
        let Ran { code, out, err } = self.ran_in(directory, command);
        let code = code.map_or_else(|| "killed".to_owned(), |code| format!("exit {code}"));
        let mut text = format!("{code}\n");
        for (name, stream) in [("stdout", &out), ("stderr", &err)] {
            if !stream.is_empty() {
                text.push_str(&format!("--- {name}\n{stream}"));
            }
        }
        text
    }

    /// The output of a command that must succeed.
    pub(crate) fn out(&self, command: &str) -> String {
        let Ran { code, out, err } = self.ran_in("", command);
        assert_eq!(code, Some(0), "agentry {command}\n{out}\n{err}");
        out
    }

    /// The JSON that a command prints, whatever its exit code.
    pub(crate) fn json(&self, command: &str) -> Value {
        let Ran { out, err, .. } = self.ran_in("", command);
        serde_json::from_str(&out)
            .unwrap_or_else(|error| panic!("agentry {command}: {error}\n{out}\n{err}"))
    }

    /// The findings of a `check`, one line each.
    pub(crate) fn findings(&self, command: &str) -> String {
        let findings = self.json(&format!("{command} --format json"));
        let line = |one: &Value| {
            let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
            let place = format!("{}:{}:{}", text("file"), one["line"], one["column"]);
            format!("{} {place} {} {}", text("code"), text("severity"), text("message"))
        };
        let lines: Vec<String> =
            findings.as_array().expect("findings are an array").iter().map(line).collect();
        lines.join("\n")
    }

    /// Runs a command and takes its parts.
    pub(crate) fn ran_in(&self, directory: &str, command: &str) -> Ran {
        let output = self.output(directory, &words(command));
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.replace(&*self.root.path().to_string_lossy(), "[tmp]")
        };
        Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    fn command(&self, directory: &str, words: &[String]) -> Command {
        let mut command = self.binary();
        command
            .args(words)
            .current_dir(self.path(directory))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home(""))
            // Many servers run at once.
            .env("AGENTRY_LISTEN", "127.0.0.1:0")
            // No story fetches weights from outside.
            .env("HF_ENDPOINT", "http://127.0.0.1:1")
            .env("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a command to talk with while it runs.
    pub(crate) fn talk(&self, command: &str) -> Talk {
        let mut started = self.command("", &words(command));
        // As a shell does it, so that a key can interrupt it with all that belongs to it.
        started.process_group(0);
        let mut child = started.stdin(Stdio::piped()).spawn().expect("the binary starts");
        let out = child.stdout.take().expect("it has an output");
        let mut err = child.stderr.take().expect("it has errors");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let errors = thread::spawn(move || {
            let mut text = String::new();
            err.read_to_string(&mut text).expect("errors are text");
            text
        });
        let input = child.stdin.take();
        Talk { child, input, lines, errors, heard: Vec::new() }
    }

    /// Makes a named pipe below the work directory.
    pub(crate) fn gate(&self, path: &str) {
        let made = Command::new("mkfifo").arg(self.path(path)).status().expect("mkfifo runs");
        assert!(made.success());
    }

    /// Waits until somebody reads a named pipe, and says something to them.
    pub(crate) fn open_gate(&self, path: &str, content: &str) {
        let (path, content) = (self.path(path), content.to_owned());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(fs::write(path, content)));
        let written = receiver.recv_timeout(COMMAND_TIME_MAX).expect("somebody reads the pipe");
        written.expect("the pipe can be written");
    }

    fn output(&self, directory: &str, words: &[String]) -> Output {
        let mut command = self.command(directory, words);
        let child = command.stdin(Stdio::null()).spawn().expect("the binary starts");
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        let output = receiver.recv_timeout(COMMAND_TIME_MAX);
        output
            .unwrap_or_else(|_| panic!("agentry {} hangs", words.join(" ")))
            .expect("the output can be read")
    }

    /// Runs git in a directory below the work directory and returns its output.
    pub(crate) fn git(&self, directory: &str, words: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(words)
            .current_dir(self.path(directory))
            .env("HOME", self.home(""))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git runs");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {}: {err}", words.join(" "));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// All files below a directory of the work directory, without git's own.
    pub(crate) fn tree(&self, directory: &str) -> String {
        let mut files = Vec::new();
        list(&self.path(directory), "", &mut files);
        files.sort();
        files.join("\n")
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("the file can be read")
    }
}

/// A command under way.
pub(crate) struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: JoinHandle<String>,
    heard: Vec<String>,
}

impl Talk {
    /// Interrupts it as the key does: with everything that is in its group.
    pub(crate) fn interrupt(&self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let group = group.expect("processes are numbered from 1");
        kill_process_group(group, Signal::INT).expect("it runs");
    }

    /// Kills it with everything that is in its group.
    pub(crate) fn kill(mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let group = group.expect("processes are numbered from 1");
        kill_process_group(group, Signal::KILL).expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Says one line.
    pub(crate) fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is still listened to");
        writeln!(input, "{line}").expect("the line can be written");
    }

    /// Hears until an event of this kind, whole texts only.
    pub(crate) fn hear(&mut self, kind: &str) -> Value {
        loop {
            let line = self.lines.recv_timeout(COMMAND_TIME_MAX);
            let line = line.unwrap_or_else(|_| panic!("no {kind} after {:#?}", self.heard));
            self.heard.push(line.clone());
            let event: Value = serde_json::from_str(&line).expect("a line is JSON");
            if event["type"] == kind && event["isPartial"] != true {
                return event;
            }
        }
    }

    /// Hears until a line with this in it.
    pub(crate) fn hear_line(&mut self, text: &str) {
        while !self.heard.last().is_some_and(|line| line.contains(text)) {
            let line = self.lines.recv_timeout(COMMAND_TIME_MAX);
            self.heard.push(line.unwrap_or_else(|_| panic!("no {text} after {:#?}", self.heard)));
        }
    }

    /// The last line that was heard.
    pub(crate) fn last_line(&self) -> &str {
        self.heard.last().map_or("", String::as_str)
    }

    /// Says no more, hears the rest, and takes the exit code.
    pub(crate) fn end(mut self) -> Ran {
        drop(self.input.take());
        loop {
            match self.lines.recv_timeout(COMMAND_TIME_MAX) {
                Ok(line) => self.heard.push(line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs after {:#?}", self.heard),
            }
        }
        let status = self.child.wait().expect("it ends");
        let err = self.errors.join().expect("errors are read");
        let out = self.heard.iter().map(|line| format!("{line}\n")).collect();
        Ran { code: status.code(), out, err }
    }
}

/// Events as lines, without pieces of texts, and without what is the same on each.
pub(crate) fn events(out: &str) -> String {
    let mut lines = Vec::new();
    for line in out.lines() {
        let mut event: Value = serde_json::from_str(line).expect("a line is JSON");
        if event["isPartial"] == true {
            continue;
        }
        let fields = event.as_object_mut().expect("an event is an object");
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let same =
            ["type", "seq", "runId", "sessionId", "turnId", "usage", "toolCallId", "isPartial"];
        fields.retain(|key, _| !same.contains(&key.as_str()) && (key != "model" || kind != "init"));
        let rest: Vec<String> =
            fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
        lines.push(format!("{kind} {}", rest.join(" ")));
    }
    ids(&lines.join("\n"))
}

/// A text with its ids numbered as they come, and with no durations.
pub(crate) fn ids(text: &str) -> String {
    const ID_CHARS: usize = 26;
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let prefix = ["run_", "ses_", "trn_", "call_", "apr_", "acc_", "stdio_"];
        let prefix = prefix.into_iter().find(|prefix| rest.starts_with(prefix));
        let id = prefix.and_then(|prefix| rest.get(..prefix.len() + ID_CHARS));
        match (prefix, id) {
            (Some(prefix), Some(id)) if id[prefix.len()..].chars().all(char::is_alphanumeric) => {
                let count = known.keys().filter(|one| one.starts_with(prefix)).count() + 1;
                let short = known.entry(id.to_owned()).or_insert(format!("{prefix}{count}"));
                out.push_str(short);
                rest = &rest[id.len()..];
            }
            _ => {
                let next = rest.chars().next().expect("it is not empty");
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    untimed(&out)
}

/// `[exit code 1, 0.02 s]` takes as long as it takes, and a process has the number it has.
fn untimed(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_measured = |at: usize| {
        let seconds = words
            .get(at + 1)
            .is_some_and(|next| *next == "s" || next.starts_with("s]") || next.starts_with("s,"));
        let process = at > 0 && words[at - 1] == "process";
        (seconds && words[at].contains('.')) || process
    };
    let words = (0..words.len()).map(|at| match (is_measured(at), words[at].ends_with('\n')) {
        (true, true) => "…\n",
        (true, false) => "…",
        (false, _) => words[at],
    });
    words.collect::<Vec<_>>().join(" ")
}

fn list(directory: &Path, below: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("the directory can be read") {
        let entry = entry.expect("the entry can be read");
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if !entry.file_type().expect("the entry has a type").is_dir() {
            files.push(name);
        } else if name != ".git" {
            list(&entry.path(), &format!("{name}/"), files);
        }
    }
}

/// The words of a command; a word in single quotes may have spaces.
pub(crate) fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.trim().chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is always one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
