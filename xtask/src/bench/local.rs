//! The bundled local model: its speed beside the engine alone, and the share of right tool choices.
//!
//! The comparison is with the loop of the engine's own `llama-bench`, one token after the other, in
//! a small program that is linked with the very same libraries; and with that tool itself, if
//! `LLAMA_BENCH` names it or it is installed.
//!
//! Must never: compare runs with other weights or other threads.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{bench::measure, child, failure::CommandFailure, limits::BENCH_LOCAL_ROUNDS};

/// The name of each local model, the variable that names its file, and the file's name.
const MODELS: [(&str, &str, &str); 2] = [
    ("tiny", "AGENTRY_TEST_MODEL", "smollm2-135m"),
    ("default", "AGENTRY_BENCH_MODEL", "qwen2.5-coder-1.5b"),
];
const TOKENS: &str = "96";

pub(crate) fn run(root: &Path) -> Result<(), CommandFailure> {
    println!("\n## The model in the box");
    let found: Vec<(&str, PathBuf)> = MODELS
        .into_iter()
        .filter_map(|(name, variable, file)| Some((name, weights(variable, file)?)))
        .collect();
    for (name, variable, file) in MODELS {
        if !found.iter().any(|(other, _)| *other == name) {
            println!("The {name} model is not here: run `agentry pull {file}`, or set {variable}.");
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let ours = built(root)?;
    let target = child::target_directory(root)?;
    let theirs = reference(root, &target)?;
    for (name, file) in &found {
        speed(name, file, &ours, &theirs)?;
    }
    for (name, file) in &found {
        println!("\nThe {name} model, 6 tools:");
        let mut command = Command::new(&ours);
        command.arg("choice").arg(file).arg(measure::cores().to_string());
        if !child::succeeds(&mut command)? {
            return Err(CommandFailure::new(format!("`{}` failed.", child::spelled(&command))));
        }
    }
    Ok(())
}

/// Returns the file that a variable names, or that `agentry pull` has stored.
fn weights(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(file) = env::var_os(variable).map(PathBuf::from) {
        return file.is_file().then_some(file);
    }
    let home = env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local/share")))?;
    let folder = fs::read_dir(home.join("agentry/models")).ok()?;
    let folders = folder.filter_map(Result::ok).map(|entry| entry.path());
    let ours = folders.filter(|path| {
        let folder = path.file_name().map(|folder| folder.to_string_lossy().to_lowercase());
        folder.is_some_and(|folder| folder.starts_with(name))
    });
    ours.filter_map(|path| fs::read_dir(path).ok())
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "gguf"))
}

fn built(root: &Path) -> Result<PathBuf, CommandFailure> {
    let mut build = child::cargo(root);
    build.args(["build", "--profile", "fast", "--package", "agentry-local", "--example", "figure"]);
    println!("$ {}", child::spelled(&build));
    if !child::succeeds(&mut build)? {
        return Err(CommandFailure::new(
            "The build of the example failed; the compiler says why above.",
        ));
    }
    Ok(child::target_directory(root)?.join("fast/examples/figure"))
}

/// Builds the engine alone, with the libraries that our own program is linked with.
fn reference(root: &Path, target: &Path) -> Result<PathBuf, CommandFailure> {
    let engine = engine_folder(&target.join("fast/build"))?;
    let program = target.join("fast/local-reference");
    let mut compile = Command::new("c++");
    compile.args(["-O2", "-std=c++17", "-o"]).arg(&program);
    compile.arg(root.join("xtask/src/bench/local_reference.cpp"));
    compile.arg("-I").arg(engine.join("include")).arg("-L").arg(engine.join("lib"));
    compile.args(["-lllama", "-lggml", "-lggml-cpu", "-lggml-base", "-lpthread", "-ldl", "-lm"]);
    if child::succeeds(&mut compile)? {
        return Ok(program);
    }
    Err(CommandFailure::new(format!("`{}` failed.", child::spelled(&compile))))
}

/// Returns the folder of the engine's libraries; the newest, if it was built twice.
fn engine_folder(builds: &Path) -> Result<PathBuf, CommandFailure> {
    let entries =
        fs::read_dir(builds).map_err(|error| CommandFailure::file("read", builds, &error))?;
    let mut found: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("out"))
        .filter_map(|out| {
            let written = fs::metadata(out.join("lib/libllama.a")).ok()?.modified().ok()?;
            Some((written, out))
        })
        .collect();
    found.sort();
    found.pop().map(|(_, out)| out).ok_or_else(|| {
        CommandFailure::new(format!(
            "There is no libllama.a under {}. Build again.",
            builds.display()
        ))
    })
}

/// Prints ours and theirs, run in turns, the best of each: other programs may be busy here.
fn speed(name: &str, file: &Path, ours: &Path, theirs: &Path) -> Result<(), CommandFailure> {
    let threads = measure::cores().to_string();
    let tool = own_tool();
    let (mut best_ours, mut best_theirs, mut best_tool) = (0.0_f64, 0.0_f64, 0.0_f64);
    for _ in 0..BENCH_LOCAL_ROUNDS {
        let mut command = Command::new(ours);
        best_ours = best_ours.max(number(command.arg("speed").arg(file).arg(&threads))?);
        let mut command = Command::new(theirs);
        best_theirs = best_theirs.max(number(command.arg(file).arg(&threads).arg(TOKENS))?);
        if let Some(tool) = &tool {
            best_tool = best_tool.max(tool_speed(tool, file, &threads)?);
        }
    }
    let ratio = best_ours / best_theirs;
    println!(
        "\nThe {name} model, {threads} threads, best of {BENCH_LOCAL_ROUNDS}: {best_ours:.1} tokens/s, \
         the engine alone {best_theirs:.1}; {ratio:.2} of it (wanted: 0.90)"
    );
    if tool.is_some() {
        println!("llama-bench: {best_tool:.1} tokens/s; {:.2} of it", best_ours / best_tool);
    }
    Ok(())
}

fn number(command: &mut Command) -> Result<f64, CommandFailure> {
    let printed = child::stdout_of(command)?;
    let text = String::from_utf8_lossy(&printed);
    text.trim().parse().map_err(|_| {
        CommandFailure::new(format!("`{}` printed no number but: {text}", child::spelled(command)))
    })
}

/// Returns the path of the engine's own tool, where it is installed.
fn own_tool() -> Option<PathBuf> {
    let named = env::var_os("LLAMA_BENCH").map(PathBuf::from);
    let tool = named.unwrap_or_else(|| "llama-bench".into());
    child::answers(Command::new(&tool).arg("--help")).then_some(tool)
}

fn tool_speed(tool: &Path, file: &Path, threads: &str) -> Result<f64, CommandFailure> {
    let mut command = Command::new(tool);
    command
        .arg("-m")
        .arg(file)
        .args(["-t", threads, "-p", "0", "-n", TOKENS, "-r", "1", "-o", "json"]);
    let printed = child::stdout_of(&mut command)?;
    let runs: serde_json::Value = serde_json::from_slice(&printed).unwrap_or_default();
    runs[0]["avg_ts"].as_f64().ok_or_else(|| {
        CommandFailure::new(format!("`{}` printed no speed.", child::spelled(&command)))
    })
}
