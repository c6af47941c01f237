//! `cargo xtask fuzz-api`: sends the server thousands of requests, valid and invalid by its own
//! document, and checks that it never breaks down.
//!
//! Schemathesis makes the requests, from a virtual environment in the target directory. Endless
//! streams are left out; some ids are real ones, so that requests pass the first checks.
//!
//! Must never: fuzz a server that is in use.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    bench::{
        project::{AGENT, BenchProject},
        scratch,
        server::{BenchServer, BenchServerOptions},
    },
    build, child,
    failure::CommandFailure,
    server_client::ServerClient,
};

const PACKAGE: &str = "schemathesis==4.32.5";
/// The request rate that the server allows one key.
const RATE: &str = "180/s";
const EXAMPLES: &str = "60";
const SCOPES: &str = "read,submit,approve,admin,audit";
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// Left out because the request could revoke the key that the requests are made with.
const LEFT_OUT: [&str; 1] = ["/api/tokens/{id}/revoke"];
/// An existing task and an existing webhook.
const TASK: &str = "look";
const SOURCE: &str = "plain";
/// The paths that list ids of all kinds, and the field that has them.
const LISTS: [(&str, &str, &str); 6] = [
    ("/api/sessions", "sessions", "id"),
    ("/api/runs", "runs", "id"),
    ("/api/approvals?status=all", "approvals", "id"),
    ("/api/agents", "agents", "id"),
    ("/api/audit", "records", "id"),
    ("/api/inbounds", "inbounds", "eventId"),
];

pub(crate) fn run(root: &Path, binary: Option<&str>) -> Result<(), CommandFailure> {
    let target = child::target_directory(root)?;
    let binary = match binary {
        // It is started in another directory.
        Some(binary) => fs::canonicalize(binary)
            .map_err(|error| CommandFailure::file("find", Path::new(binary), &error))?,
        None => build::agentry(root)?,
    };
    let program = prepare(&target.join("fuzz-venv"))?;
    let project = BenchProject::write(&binary)?;
    let write = json!({ "name": "Bash", "input": { "command": "echo seen" } });
    let script = [json!({ "text": "I look.", "tool_calls": [write] }), json!({ "text": "Seen." })];
    project.file("say.jsonl", &script.map(|line| format!("{line}\n")).concat())?;
    let homes = scratch()?;
    let home = homes.path().join("home");
    project.file(&format!(".agentry/tasks/{TASK}/TASK.md"), "---\nname: Look\n---\nLook.\n")?;
    let settings = &format!("[webhooks.{SOURCE}]\n");
    let serving =
        BenchServerOptions { project: &project, home: &home, script: "say.jsonl", settings };
    let mut server = BenchServer::start(&serving)?;
    let key = serving.key(SCOPES)?;
    let mut asking = ServerClient::new(&server.address, vec![key.clone()]);
    asking.begin_sessions(3, AGENT)?;
    let document = document(&mut asking)?;
    let file = homes.path().join("openapi.json");
    fs::write(&file, document.to_string())
        .map_err(|error| CommandFailure::file("write", &file, &error))?;

    let mut fuzz = Command::new(program);
    fuzz.arg("run").arg(&file).args(["--url", &format!("http://{}", server.address)]);
    fuzz.args(["--header", &format!("Authorization: Bearer {key}")]);
    fuzz.args(["--checks", "not_a_server_error", "--max-examples", EXAMPLES]);
    fuzz.args(["--rate-limit", RATE, "--phases", "examples,coverage,fuzzing"]);
    fuzz.args(["--request-timeout", "40", "--continue-on-failure", "--warnings", "off"]);
    fuzz.current_dir(homes.path());
    let passed = child::succeeds(&mut fuzz)?;
    // The server still runs and answers.
    asking.get("/api/me")?;
    server.stop()?;
    if passed {
        Ok(())
    } else {
        Err(CommandFailure::new(
            "The server broke down over a request, or was too slow. Mend what it says above; `cargo xtask fuzz-api` \
             tries again.",
        ))
    }
}

fn prepare(venv: &Path) -> Result<PathBuf, CommandFailure> {
    let program = venv.join("bin").join("schemathesis");
    let (_, version) = PACKAGE.split_once("==").unwrap_or_default();
    let said = child::stdout_of(Command::new(&program).arg("--version")).unwrap_or_default();
    if !String::from_utf8_lossy(&said).trim_end().ends_with(version) {
        let python = venv.join("bin").join("python");
        child::stdout_of(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
        child::stdout_of(Command::new(python).args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
    }
    Ok(program)
}

/// Returns the server's own document, without endless streams, and with existing ids.
fn document(asking: &mut ServerClient) -> Result<Value, CommandFailure> {
    let mut document = asking.get("/api/openapi.json")?;
    let mut ids = vec![json!("1"), json!(TASK), json!(SOURCE)];
    for (path, list, field) in LISTS {
        let listed = asking.get(path)?;
        let rows = listed[list].as_array().into_iter().flatten();
        ids.extend(rows.map(|row| row[field].clone()).filter(Value::is_string).take(3));
    }
    let Some(paths) = document["paths"].as_object_mut() else {
        return Err(CommandFailure::new("The server's document names no paths."));
    };
    for operations in paths.values_mut() {
        let Some(operations) = operations.as_object_mut() else { continue };
        operations.retain(|method, operation| {
            !METHODS.contains(&method.as_str()) || operation["x-stream"] != json!(true)
        });
        for operation in operations.values_mut() {
            let parameters = operation["parameters"].as_array_mut().into_iter().flatten();
            for parameter in parameters.filter(|one| one["in"] == "path") {
                parameter["schema"] = json!({ "anyOf": [{ "enum": ids }, parameter["schema"]] });
            }
        }
    }
    paths.retain(|path, operations| {
        let is_empty = operations.as_object().is_none_or(|all| all.is_empty());
        !is_empty && !LEFT_OUT.contains(&path.as_str())
    });
    Ok(document)
}
