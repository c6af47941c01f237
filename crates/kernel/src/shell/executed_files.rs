//! Lists the files that a command may execute; an approval of the command is bound to them.
//!
//! Programs that read instructions from their working directory (`make`, `npm`, `cargo` …) are in a
//! table with the names of those files. Every word that looks like a path is listed too; the caller
//! inspects the file and decides whether it is a program.
//!
//! Must never: treat a file as harmless because its name is not understood.

use std::collections::BTreeMap;

use super::program::{interpreter, is_shell};
use super::{ShellCommand, ShellFacts, ShellWord, read};
use crate::limits::{EXECUTED_CANDIDATES_MAX, INTERPRETER_OPERANDS_MAX};

/// The use of a file by a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileUse {
    /// It may be data or a program.
    Named,
    /// It is executed, or controls what is executed.
    Executed,
}

/// The instruction files of programs, relative to the working directory.
#[rustfmt::skip]
const INSTRUCTIONS: &[(&[&str], &[&str])] = &[
    (&["make", "gmake", "bmake"], &["GNUmakefile", "makefile", "Makefile", "BSDmakefile"]),
    (&["npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "corepack"], &["package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"]),
    (&["deno"], &["deno.json", "deno.jsonc", "package.json"]),
    (&["cargo", "rustc"], &["Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"]),
    (&["go"], &["go.mod", "go.work"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"]),
    (&["rake"], &["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"]),
    (&["bundle", "bundler"], &["Gemfile", "Rakefile"]),
    (&["gradle", "gradlew"], &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"]),
    (&["mvn", "mvnw"], &["pom.xml"]),
    (&["ant"], &["build.xml"]),
    (&["cmake", "ctest"], &["CMakeLists.txt", "CMakePresets.json"]),
    (&["ninja"], &["build.ninja"]),
    (&["meson"], &["meson.build"]),
    (&["bazel"], &["WORKSPACE", "MODULE.bazel", "BUILD", "BUILD.bazel", ".bazelrc"]),
    (&["scons"], &["SConstruct", "Sconstruct", "sconstruct"]),
    (&["pip", "pip3", "uv", "poetry", "pipenv", "hatch", "pdm"], &["pyproject.toml", "setup.py", "setup.cfg", "Pipfile"]),
    (&["pytest", "py.test", "tox", "nox"], &["conftest.py", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "noxfile.py"]),
    (&["invoke", "inv", "fab"], &["tasks.py", "fabfile.py"]),
    (&["mix", "iex"], &["mix.exs"]),
    (&["composer"], &["composer.json"]),
    (&["docker", "podman"], &["Dockerfile", "Containerfile", "compose.yml", "compose.yaml", "docker-compose.yml", "docker-compose.yaml"]),
    (&["docker-compose", "podman-compose"], &["compose.yml", "compose.yaml", "docker-compose.yml", "docker-compose.yaml"]),
    (&["vagrant"], &["Vagrantfile"]),
    (&["pre-commit"], &[".pre-commit-config.yaml"]),
    (&["lefthook"], &["lefthook.yml", "lefthook.yaml", "lefthook.toml"]),
    (&["direnv"], &[".envrc"]),
    (&["tsc", "vite", "webpack", "rollup", "jest", "vitest", "eslint", "playwright"], &["package.json", "tsconfig.json", "vite.config.js", "vite.config.ts", "webpack.config.js", "rollup.config.js", "jest.config.js", "vitest.config.ts", "eslint.config.js", "playwright.config.ts"]),
];

/// Returns the files that a command names, relative to its directory, each with its use.
pub fn executes(command: &str) -> BTreeMap<String, FileUse> {
    let facts = read(command);
    let mut found = FileUses::default();
    for simple in &facts.commands {
        found.of_simple(simple);
    }
    found.of_text(command, &facts);
    found.0
}

#[derive(Default)]
struct FileUses(BTreeMap<String, FileUse>);

impl FileUses {
    fn add(&mut self, simple: Option<&ShellCommand>, path: &str, uses: FileUse) {
        if path.is_empty() || self.0.len() >= EXECUTED_CANDIDATES_MAX {
            return;
        }
        // After a `cd` to an unknown place, the file may be relative to either directory.
        let dir = simple.and_then(|simple| simple.dir.as_ref()).and_then(ShellWord::literal);
        let there = dir.filter(|_| !path.starts_with('/')).map(|dir| format!("{dir}/{path}"));
        for path in there.into_iter().chain([path.to_owned()]) {
            let known = self.0.entry(path).or_insert(uses);
            *known = (*known).max(uses);
        }
    }

    fn of_simple(&mut self, simple: &ShellCommand) {
        let Some(program) = simple.program() else { return };
        if let Some(path) = simple.words[0].literal().filter(|path| path.contains('/')) {
            self.add(Some(simple), path, FileUse::Executed);
        }
        for (_, files) in INSTRUCTIONS.iter().filter(|(names, _)| names.contains(&program)) {
            files.iter().for_each(|file| self.add(Some(simple), file, FileUse::Executed));
            self.elsewhere(simple, files);
        }
        let runs_files = is_shell(program)
            || interpreter(program).is_some()
            || matches!(program, "source" | "." | "awk" | "gawk" | "mawk" | "sed" | "go" | "env");
        let operands = simple.arguments().iter().map(ShellWord::text);
        let operands: Vec<&str> = operands.filter(|text| !text.starts_with('-')).collect();
        if runs_files {
            for path in operands.iter().take(INTERPRETER_OPERANDS_MAX) {
                self.add(Some(simple), path, FileUse::Executed);
            }
        }
        self.of_module(simple);
        self.of_options(simple);
    }

    /// Handles `make -C dir` and `npm --prefix dir`: the files of another directory.
    fn elsewhere(&mut self, simple: &ShellCommand, files: &[&str]) {
        let words: Vec<&str> = simple.arguments().iter().map(ShellWord::text).collect();
        for word in &words {
            let directory = word.split_once('=').map_or(*word, |(_, value)| value);
            let directory = directory.strip_prefix("-C").unwrap_or(directory);
            if !directory.is_empty() && !directory.starts_with('-') {
                for file in files {
                    self.add(Some(simple), &format!("{directory}/{file}"), FileUse::Executed);
                }
            }
        }
    }

    /// Handles `python3 -m pkg.tool`.
    fn of_module(&mut self, simple: &ShellCommand) {
        let words = simple.arguments();
        let at = words.iter().position(|word| word.text() == "-m");
        let module = at.and_then(|at| words.get(at + 1)).and_then(ShellWord::literal);
        if let Some(module) = module {
            let path = module.replace('.', "/");
            for file in [format!("{path}.py"), format!("{path}/__main__.py")] {
                self.add(Some(simple), &file, FileUse::Executed);
            }
        }
    }

    /// Handles files in options: `-f file`, `-ffile`, `--file=file`, `--eval=file`.
    fn of_options(&mut self, simple: &ShellCommand) {
        for word in simple.arguments() {
            let text = word.text();
            if let Some((_, value)) = text.split_once('=') {
                self.add(Some(simple), value, FileUse::Executed);
            } else if text.starts_with('-') && !text.starts_with("--") && text.is_char_boundary(2) {
                self.add(Some(simple), text.get(2..).unwrap_or_default(), FileUse::Executed);
            }
        }
        let words = simple.arguments();
        for (option, value) in words.iter().zip(words.iter().skip(1)) {
            if matches!(
                option.text(),
                "-f" | "--file"
                    | "--makefile"
                    | "--config"
                    | "-c"
                    | "--init-file"
                    | "--rcfile"
                    | "-r"
                    | "--require"
                    | "--import"
                    | "--script"
            ) {
                self.add(Some(simple), value.text(), FileUse::Executed);
            }
        }
    }

    /// Adds all texts that look like paths, quoted or not; those of an opaque text may be executed.
    fn of_text(&mut self, command: &str, facts: &ShellFacts) {
        let uses = if facts.opaque.is_some() { FileUse::Executed } else { FileUse::Named };
        let is_path = |c: char| c.is_alphanumeric() || "._/+-@%,:~".contains(c);
        for word in command.split(|c| !is_path(c)) {
            self.add(None, word, uses);
        }
        for simple in &facts.commands {
            for word in simple.words.iter().chain(&simple.reads) {
                self.add(Some(simple), word.text(), uses);
            }
            // A file that a shell or an interpreter reads from its standard input.
            let program = simple.program().unwrap_or_default();
            if is_shell(program) || interpreter(program).is_some() {
                simple
                    .reads
                    .iter()
                    .for_each(|file| self.add(Some(simple), file.text(), FileUse::Executed));
            }
        }
    }
}
