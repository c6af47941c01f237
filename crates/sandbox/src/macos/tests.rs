//! Tests that need no macOS: the texts, and a whole command with a program in place of
//! `sandbox-exec` that confines nothing.

use tempfile::TempDir;

use super::*;

/// The variable with the words that the binary below runs inside.
const INSIDE: &str = "INSIDE";

/// Drops the profile and runs the rest.
const CONFINES_NOTHING: &str = "shift 3; exec \"$@\"";

/// A machine whose binary is this test; the first two lines are the test's own.
fn machine(sandbox_exec: &str) -> (MacosBackend, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = directory.path().join(name);
        // Not by ourselves: a child that another test starts meanwhile would hold the file open,
        // and running it would fail.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\"; chmod 755 \"$0\"";
        let mut shell = std::process::Command::new("/bin/sh");
        let written = shell.args(["-c", write]).arg(&path).arg(text).status().unwrap();
        assert!(written.success());
        path
    };
    let test = std::env::current_exe().unwrap().display().to_string();
    let again = "-q --nocapture --test-threads=2 --ignored --exact";
    let binary = format!(
        "shift; {INSIDE}=\"$*\" exec {test} {again} macos::tests::child_that_is_inside \
         | {{ read -r _; read -r _; exec cat; }}"
    );
    let setup = SandboxSetup {
        binary: script("agentry", &binary),
        path: String::new(),
        quarantine: directory.path().join("quarantine"),
        resolve: crate::egress::system(),
    };
    let program = script("sandbox-exec", sandbox_exec);
    let watches = ProtectionWatcher::new(&setup.quarantine, ConfinementLevel::Seatbelt);
    (MacosBackend { setup, watches, hard_links: HardLinkCache::default(), program }, directory)
}

#[test]
#[ignore = "runs only as the child of another test"]
fn child_that_is_inside() {
    let words = std::env::var(INSIDE).expect("it is told what to do");
    launcher::run(&[], words.split(' ').map(OsString::from)).expect("it becomes something else");
}

fn run(sandbox_exec: &str, program: &str, args: &[&str]) -> Result<ProcessOutcome, Error> {
    let command = Command {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        cwd: Cwd::Path("/".into()),
        env: Vec::new(),
        stdin: None,
        streams: Streams::Apart,
    };
    let limits =
        ConfinementLimits { files: 90, disk_bytes: 8 << 20, ..ConfinementLimits::default() };
    let confinement =
        Confinement { level: ConfinementLevel::Seatbelt, limits, ..Confinement::most_restricted() };
    let job = SandboxJob {
        command: &command,
        confinement: &confinement,
        bounds: &ProcessBounds { time: Duration::from_secs(600), output_bytes_max: 64 * 1024 },
        connected: Arc::new(drop),
        hear: None,
    };
    let (own, _directory) = machine(sandbox_exec);
    Backend::run(&own, &job, &CancelToken::new())
}

#[test]
fn a_command_runs_with_its_limits_and_private_directories() {
    let finished = run(CONFINES_NOTHING, "cat", &["/proc/self/limits"]).unwrap();
    assert_eq!(finished.ending, ProcessEnding::Exited(0));
    let said = String::from_utf8(finished.stdout.whole().unwrap()).unwrap();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Max open files 90 90"), "{said}");
    assert!(said.contains("Max file size 8388608 8388608"), "{said}");
    let finished = run(CONFINES_NOTHING, "env", &[]).unwrap();
    let said = String::from_utf8(finished.stdout.whole().unwrap()).unwrap();
    let value = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let temporary = value("TMPDIR=");
    assert_eq!(value("HOME="), format!("{temporary}/home"));
    assert!(!Path::new(temporary).exists(), "{temporary}");
}

#[test]
fn what_was_not_started_is_told_apart() {
    let error = run(CONFINES_NOTHING, "no-such-program", &[]).unwrap_err().to_string();
    assert_eq!(error, "there is no program `no-such-program`");
    let error = run("echo 'no profile' >&2; exit 65", "true", &[]).unwrap_err().to_string();
    let expected = "the sandbox is broken, nothing was run: cannot build the sandbox: \
                    Exited(65) (no profile)";
    assert_eq!(error, expected);
}

#[test]
fn a_sandbox_that_confines_nothing_is_found_out() {
    let (own, _directory) = machine(CONFINES_NOTHING);
    let escapes = own.try_escapes().unwrap();
    assert!(escapes.len() >= 10);
    assert!(escapes.iter().all(|escape| !escape.stopped), "{escapes:?}");
}

#[test]
fn a_part_that_cannot_be_started_is_a_broken_sandbox() {
    let (own, _directory) = machine("exit 65");
    let error = own.try_escapes().unwrap_err();
    assert!(error.starts_with("the sandbox is broken, nothing was run"), "{error}");
}

#[test]
fn the_command_comes_after_the_profile_and_our_own_binary() {
    let inside = ["command", "{}", "/t/note", "/bin/sh", "-p"].map(OsString::from);
    let line = command_line("(version 1)", Path::new("/usr/local/bin/agentry"), inside);
    let start = ["-p", "(version 1)", "--", "/usr/local/bin/agentry", "serve-sandboxes"];
    let expected = start.into_iter().chain(["command", "{}", "/t/note", "/bin/sh", "-p"]);
    assert_eq!(line, expected.map(OsString::from).collect::<Vec<_>>());
}

#[test]
fn what_was_found_is_in_the_profile_beside_what_is_written() {
    let (own, _directory) = machine(CONFINES_NOTHING);
    let scratch = MacosScratch::new().unwrap();
    let found = [PathBuf::from("/site/deep/.git")];
    let profile = own.profile(&Confinement::most_restricted(), &found, &scratch, None).unwrap();
    let binary = own.setup.binary.display();
    assert!(profile.contains(&format!("{binary}\")")), "{profile}");
    assert!(profile.contains("(deny file-write* (literal \"/site/deep/.git\")"), "{profile}");
    assert!(profile.contains(&*scratch.path.to_string_lossy()), "{profile}");
}

#[test]
fn what_a_denied_link_leads_to_is_denied() {
    let (own, directory) = machine(CONFINES_NOTHING);
    let place = directory.path().canonicalize().unwrap();
    let (link, secret) = (place.join("link"), place.join("secret"));
    std::fs::write(&secret, "secret").unwrap();
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    let deny_read = vec![link.display().to_string()];
    let allow_read = vec![place.display().to_string()];
    let confinement = Confinement { allow_read, deny_read, ..Confinement::most_restricted() };
    let profile = own.profile(&confinement, &[], &MacosScratch::new().unwrap(), None).unwrap();
    let denied = profile.lines().filter(|line| line.starts_with("(deny file-read*"));
    let denied: String = denied.collect();
    assert!(denied.contains(&format!("{}\"", secret.display())), "{profile}");
}

#[test]
fn only_what_the_kernel_holds_is_called_hard() {
    let attestation = attestation(Vec::new());
    let hard = attestation.limits.iter().filter(|limit| limit.hard);
    assert_eq!(hard.map(|limit| &*limit.limit).collect::<Vec<_>>(), ["files"]);
}
