//! Real programs under the filter.
//!
//! Must never: fail because a program is not installed; it prints so.

use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{KIND, KINDS, filtered};
use crate::linux::tests::{again, say};

/// The variable with the child's script for the shell.
const SCRIPT: &str = "AGENTRY_TEST_SCRIPT";
const DIR: &str = "AGENTRY_TEST_DIR";

/// Runs a script in an empty directory under every command filter, and checks its output.
#[track_caller]
fn check(program: &str, script: &str, expected: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|dir| dir.join(program).is_file()) {
        say(format_args!("skipped: there is no {program} here"));
        return;
    }
    for (name, kind) in KINDS.iter().filter(|(_, kind)| !kind.is_own()) {
        let dir = tempfile::tempdir().expect("a directory can be made");
        let said = again("linux::seccomp::tests::programs::child_that_becomes_a_shell")
            .env(KIND, *name)
            .env(SCRIPT, script)
            .env(DIR, dir.path())
            .env("HOME", std::env::var_os("HOME").unwrap_or_default())
            .run();
        assert!(said.contains(expected), "{program} as {kind:?}: {said}");
    }
}

#[test]
#[ignore = "runs only as the child of another test"]
fn child_that_becomes_a_shell() {
    filtered(|_| {
        let dir = std::env::var_os(DIR).unwrap();
        let script = format!("set -eu; {}", std::env::var(SCRIPT).unwrap());
        let error = Command::new("/bin/sh").arg("-c").arg(script).current_dir(dir).exec();
        panic!("the shell was not started: {error}");
    });
}

#[test]
fn a_shell_runs_a_pipeline_with_children_in_the_background() {
    let script = "mkdir -p a/b; touch a/b/c; chmod 700 a; ln -s b a/d; \
        (seq 1 5000 | sort -rn | head -n 1 > out) & wait; \
        find . -type f | sort | tr '\n' ' '; cat out; ls -ln a > /dev/null; cp -a a e; rm -r e";
    check("bash", &format!("bash -euc '{script}'", script = script.replace('\'', "'\\''")), "5000");
}

#[test]
fn git_makes_a_repository_and_a_commit() {
    let script = "git init -q . && echo text > file && git add file && \
        git -c user.name=n -c user.email=e@x commit -q -m first && git log --format=made:%s && \
        git gc -q && git fsck";
    check("git", script, "made:first");
}

#[test]
fn a_compiler_makes_a_program_that_runs() {
    let script = "printf '%s\n' '#include <stdio.h>' '#include <pthread.h>' \
        'static void *f(void *x) { puts(\"hello from a thread\"); return x; }' \
        'int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); return pthread_join(t, 0); }' \
        > hello.c && cc -pthread -o hello hello.c && ./hello";
    check("cc", script, "hello from a thread");
}

#[test]
fn python_uses_threads_and_processes() {
    let script = "python3 -c 'import subprocess, threading, tempfile, shutil, os
t = threading.Thread(target=lambda: None); t.start(); t.join()
d = tempfile.mkdtemp(); open(d + \"/x\", \"w\").write(\"y\"); shutil.copytree(d, \"copy\"); shutil.rmtree(d)
print(subprocess.run([\"echo\", \"from\", \"python\"], capture_output=True, text=True).stdout)'";
    check("python3", script, "from python");
}

#[test]
fn node_uses_files_workers_and_processes() {
    let script = "node -e 'const { Worker } = require(\"worker_threads\");
require(\"fs\").writeFileSync(\"x\", \"y\");
new Worker(\"1\", { eval: true }).on(\"exit\", () =>
  console.log(\"from\", require(\"child_process\").execFileSync(\"echo\", [\"node\"]).toString()));'";
    check("node", script, "from node");
}

#[test]
fn a_rust_compiler_makes_a_program_that_runs() {
    // The toolchains' directory may be named by a variable only, which the shell does not inherit.
    let kept = std::env::var("RUSTUP_HOME")
        .map_or_else(|_| String::new(), |kept| format!("export RUSTUP_HOME='{kept}'; "));
    let script = "echo 'fn main() { println!(\"{}\", std::thread::spawn(|| \"from rust\")\
        .join().unwrap()); }' > a.rs && rustc a.rs && ./a";
    check("rustc", &format!("{kept}{script}"), "from rust");
}

#[test]
fn java_starts() {
    check("java", "java -Xmx64m -version && echo started", "started");
}
