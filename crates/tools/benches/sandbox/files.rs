//! What a file tool costs through the helper in the sandbox, beside the same call in this process.
//!
//! Must never: count a call that failed.

use std::sync::Arc;
use std::time::Instant;

use agentry_protocol::CallId;
use agentry_protocol::confinement::{Confinement, ConfinementLevel};
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall};

use agentry_protocol::tool::ToolName;
use agentry_sandbox::{CancelToken, Sandbox, SandboxSetup, egress};
use agentry_tools::{
    FetchRules, SandboxSession, ToolContext, ToolLimits, ToolSandbox, Toolset, Workspace,
};

use crate::Times;

const FILE_BYTES: usize = 4096;

pub(crate) fn measure(rounds: usize) {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let root = place.path().canonicalize().expect("it is there");
    let directory = root.join("project");
    std::fs::create_dir(&directory).expect("it is new");
    let line = "sixteen letters\n";
    std::fs::write(directory.join("file"), line.repeat(FILE_BYTES / line.len()))
        .expect("there is room");
    let setup = SandboxSetup {
        binary: "/proc/self/exe".into(),
        path: String::new(),
        quarantine: root.join("quarantine"),
        resolve: egress::system(),
    };
    let (sandbox, _) = match Sandbox::open_level(&setup, ConfinementLevel::Ns) {
        Ok(opened) => opened,
        Err(why) => return println!("file tools are not measured: {why}"),
    };
    let confinement = Confinement {
        allow_write: vec![directory.display().to_string()],
        ..Confinement::most_restricted()
    };
    let confined = SandboxSession::new(Arc::new(sandbox), confinement, directory.clone());
    let workspace = Workspace::open(&directory).expect("it is there");
    let (tools, fetch, stop) = (Toolset::builtin(), FetchRules::default(), CancelToken::new());
    let context = |confines| ToolContext {
        workspace: &workspace,
        stop: &stop,
        bounds: ToolLimits::default(),
        fetch: &fetch,
        env: &[],
        confines,
        judged: None,
    };
    let call = ToolCall {
        id: CallId::from_number(1),
        tool: ToolName::canonical("read_file"),
        input: serde_json::json!({ "path": "file" }),
    };
    let ways = [
        ("direct", context(ToolSandbox::Off)),
        ("through the helper", context(ToolSandbox::In(&confined))),
    ];
    let mut times = [Times::default(), Times::default()];
    for (_, context) in &ways {
        assert_eq!(tools.run(&call, context).status, OutcomeStatus::Done);
    }
    for _ in 0..rounds {
        for ((_, context), times) in ways.iter().zip(&mut times) {
            let start = Instant::now();
            let outcome = tools.run(&call, context);
            times.0.push(start.elapsed());
            assert_eq!(outcome.status, OutcomeStatus::Done);
        }
    }
    println!("\n`read_file` of {FILE_BYTES} bytes, {rounds} of each in turns\n");
    println!("{:<24} {:>10} {:>10} {:>16}", "", "median ms", "p95 ms", "above direct ms");
    for ((name, _), one) in ways.iter().zip(&times) {
        let above = one.middle_ms() - times[0].middle_ms();
        println!("{name:<24} {:>10.3} {:>10.3} {above:>16.3}", one.middle_ms(), one.ms_at(95));
    }
}
