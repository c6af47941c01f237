//! Ordinary work in the default confinement: compilers, package managers, runtimes and git on real small projects.

use std::path::{Path, PathBuf};
use std::process::Command;

use agentry_protocol::confinement::{
    Confinement, ConfinementLevel, ConfinementProfile, GitAccess, NetworkAccess,
};
use serde_json::{Value, json};

use crate::supervisor::{Supervisor, find, has, skipped, text, users};

/// A project in a directory of its own, with a home that is kept.
struct Project {
    supervisor: Supervisor,
    confinement: Confinement,
}

/// The project, once for each user who has that program.
fn projects(fixture: &str, program: &str) -> Vec<Project> {
    let all = users().into_iter().map(Supervisor::of);
    all.filter_map(|supervisor| Project::of(supervisor, fixture, program)).collect()
}

impl Project {
    fn of(supervisor: Supervisor, fixture: &str, program: &str) -> Option<Self> {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
        let status = Command::new("cp").arg("-rT").arg(&from).arg(&supervisor.dir).status();
        assert!(status.unwrap().success());
        let home = supervisor.dir.with_file_name("home");
        std::fs::create_dir(&home).unwrap();
        supervisor.hand_over(&home);
        supervisor.hand_over(&supervisor.dir);
        let confinement = Confinement {
            profile: ConfinementProfile::Trusted,
            allow_read: toolchains(),
            home: Some(text(&home)),
            ..supervisor.confinement()
        };
        let project = Self { supervisor, confinement };
        let found = project.run(&format!("{program} --version"));
        let works = found["ending"] == json!("Exited(0)");
        if !works {
            skipped(&format!("{:?} cannot use {program}: {found}", project.supervisor.user));
            assert!(!has(program) || is_hidden(program), "{program} is there, and does not work");
        }
        works.then_some(project)
    }

    #[track_caller]
    fn run(&self, script: &str) -> Value {
        let mut wanted = self.supervisor.wanted(&["/bin/sh", "-ec", script]);
        wanted["confinement"] = serde_json::to_value(&self.confinement).unwrap();
        wanted["path"] = json!(std::env::var("PATH").unwrap_or_default());
        self.supervisor.run(&[], &wanted)
    }

    /// The script works, and says this.
    #[track_caller]
    fn check(&self, script: &str, expected: &str) -> String {
        let came = self.run(script);
        let output = came["output"].as_str().unwrap_or_default().to_owned();
        assert_eq!(
            (&came["level"], &came["ending"]),
            (&json!(ConfinementLevel::Ns), &json!("Exited(0)")),
            "{:?}: {script}\n{came:#}\n{output}",
            self.supervisor.user
        );
        assert!(output.contains(expected), "{script}\n{output}");
        assert_eq!(came["violations"], json!([]), "{script}");
        output
    }
}

/// Whether a program lies in a directory that only its owner can look into.
fn is_hidden(program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let path = find(program).unwrap();
    let closed = |above: &Path| {
        above.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o001 == 0)
    };
    path.ancestors().skip(1).any(closed)
}

/// What an operator lets be read: programs of the user on `PATH`, and what belongs to them.
fn toolchains() -> Vec<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found: Vec<PathBuf> = Vec::new();
    for directory in std::env::split_paths(&path) {
        let Ok(directory) = directory.canonicalize() else { continue };
        let of_system = ["/usr", "/bin", "/sbin", "/opt"].map(Path::new);
        if of_system.iter().any(|system| directory.starts_with(system)) {
            continue;
        }
        if directory.ends_with(".cargo/bin") {
            found.extend(directory.ancestors().nth(2).map(|home| home.join(".rustup")));
        }
        match directory.ancestors().find(|it| it.ends_with(".pyenv")) {
            Some(whole) => found.push(whole.to_owned()),
            None => found.push(directory),
        }
    }
    found.retain(|path| path.is_dir());
    found.sort();
    found.dedup();
    found.iter().map(|path| text(path)).collect()
}

#[test]
fn a_program_in_c_is_built_and_tested() {
    for project in projects("c", "cc") {
        project.check("make test", "all tests passed");
        project.check("make test; printf 'a b' | ./build/words", "2 words");
    }
}

#[test]
fn a_cargo_project_is_built_and_tested_without_a_network() {
    for project in projects("cargo", "cargo") {
        project.check("cargo test --offline --workspace 2>&1", "test it_greets ... ok");
        project.check("cargo run --offline -q", "Hello, world! (made by the build script)");
        project.check("cargo build --release --offline 2>&1", "Finished");
    }
}

#[test]
fn an_npm_package_is_installed_and_tested_without_a_network() {
    for project in projects("npm", "npm") {
        project.check("npm install --offline 2>&1", "added 1 package");
        project.check("npm test 2>&1", "it is loud");
    }
}

#[test]
fn node_serves_and_asks_on_its_own_loopback() {
    for project in projects("node", "node") {
        let said = project.check("node server.js", "hello /there");
        assert!(said.contains("worker ran"), "{said}");
    }
}

#[test]
fn python_makes_an_environment_and_installs_a_local_package() {
    for project in projects("python", "python3") {
        if project.run("python3 -c 'import ensurepip'")["ending"] != json!("Exited(0)") {
            skipped(&format!("{:?} has a python without ensurepip", project.supervisor.user));
            continue;
        }
        project.check("python3 -m venv env && ls env/bin", "pip");
        let install = "env/bin/pip install --no-index ./wordy 2>&1";
        project.check(install, "Successfully installed wordy-1.0");
        project.check("env/bin/python app/test_app.py 2>&1", "OK");
    }
}

#[test]
fn java_compiles_and_runs() {
    for project in projects("java", "javac") {
        project.check("javac Hello.java && java Hello", "hello from java");
    }
}

const BEGIN_REPOSITORY: &str = "git init -q -b main . && git config user.name A && git config user.email a@b.c \
    && printf 'one\\n' > a && git add a && git commit -qm first && printf 'one\\ntwo\\n' > a";

/// A repository that was made outside.
fn repository(project: &Project) {
    let mut command = Command::new("sh");
    command.args(["-ec", BEGIN_REPOSITORY]).current_dir(&project.supervisor.dir);
    // Root makes what is somebody else's.
    let settings =
        [("COUNT", "1"), ("KEY_0", "safe.directory"), ("VALUE_0", "*"), ("GLOBAL", "/dev/null")];
    command.envs(settings.map(|(name, value)| (format!("GIT_CONFIG_{name}"), value)));
    assert!(command.status().unwrap().success());
    project.supervisor.hand_over(&project.supervisor.dir);
}

#[test]
fn git_looks_at_a_repository_that_it_may_only_read() {
    for project in projects("node", "git") {
        repository(&project);
        project.check("git status --short", " M a");
        project.check("git log --oneline", "first");
        project.check("git diff", "+two");
        project.check("git blame a", "one");
        let refused = project.run("git add a && git commit -qm second");
        assert_ne!(refused["ending"], json!("Exited(0)"), "{refused}");
        project.check("git log --oneline | wc -l", "1");
    }
}

#[test]
fn git_works_in_a_repository_that_it_may_write() {
    for mut project in projects("node", "git") {
        repository(&project);
        project.confinement.git = GitAccess::Write;
        project.check("git add a && git commit -qm second && git log --oneline | wc -l", "2");
        project.check("git branch other && git switch -q other && git branch", "* other");
        project.check("echo three >> a && git commit -qam third && git switch -q main", "");
        project.check("git merge -q other && git log --oneline | wc -l", "3");
        project.check("echo four >> a && git stash -q && git stash pop 2>&1", "modified:");
        project.check("git tag v1 && git gc -q && git worktree list && git tag", "v1");
    }
}

/// Words that a registry's name is put together from, and what of it is reached.
const REGISTRIES: [(&str, &[&[&str]]); 3] = [
    ("cargo", &[&["index", "crates", "io"], &["static", "crates", "io"]]),
    ("npm", &[&["registry", "npmjs", "org"]]),
    ("pip", &[&["pypi", "org"], &["files", "pythonhosted", "org"]]),
];

/// Lets the hosts of a registry be reached, also where this machine has its own at an address that is not
/// public. Says false where it cannot be reached.
fn allow_registry(project: &mut Project, tool: &str) -> bool {
    use std::net::{TcpStream, ToSocketAddrs};
    let (_, hosts) = REGISTRIES.into_iter().find(|(name, _)| *name == tool).unwrap();
    let allow: Vec<String> = hosts.iter().map(|parts| parts.join(".")).collect();
    let addresses: Vec<_> = allow
        .iter()
        .flat_map(|host| (host.as_str(), 443).to_socket_addrs().into_iter().flatten())
        .collect();
    let wait = std::time::Duration::from_secs(5);
    if !addresses.iter().any(|address| TcpStream::connect_timeout(address, wait).is_ok()) {
        skipped(&format!("the registry of {tool} is not reached from here"));
        return false;
    }
    let addresses = addresses.iter().map(|address| address.ip().to_string()).collect();
    project.confinement.network = NetworkAccess::Domains { allow, addresses };
    true
}

#[test]
fn cargo_fetches_from_an_allowed_registry() {
    for mut project in projects("cargo", "cargo") {
        if allow_registry(&mut project, "cargo") {
            let manifest = project.supervisor.file("Cargo.toml");
            let text = std::fs::read_to_string(&manifest).unwrap();
            std::fs::write(
                manifest,
                text.replace("[dependencies]", "[dependencies]\nitoa = \"1\""),
            )
            .unwrap();
            project.check("cargo fetch 2>&1", "Downloaded itoa");
        }
    }
}

#[test]
fn npm_installs_from_an_allowed_registry() {
    for mut project in projects("npm", "npm") {
        if allow_registry(&mut project, "npm") {
            project.check("npm install is-odd@3.0.1 --no-audit --no-fund 2>&1", "added");
        }
    }
}

#[test]
fn pip_downloads_from_an_allowed_registry() {
    for mut project in projects("python", "pip") {
        if allow_registry(&mut project, "pip") {
            project.check("pip download --no-deps idna==3.7 2>&1", "Successfully downloaded idna");
        }
    }
}
