//! Measures a model file: how often it takes the right tool, or how fast it writes.
//!
//! `figure choice FILE THREADS` prints the figures of the docs; `figure speed FILE THREADS` prints tokens a
//! second. `cargo xtask bench local` runs both.
//!
//! Must never: count a call that is not valid.

mod prompts;

use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use agentry_local::{
    Engine, EngineSettings, FinishReason, Generation, GenerationRequest, ToolChoice,
};
use agentry_protocol::message::{Message, ModelRequest};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::tool_call::{RepeatSafety, ToolSpec};

use crate::prompts::{ANSWERS, PROMPTS, Wanted, tools};

type Failure = Box<dyn std::error::Error>;

const SYSTEM: &str = "You are a coding agent. You work in a project directory and use tools.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["choice", file, threads] => choice(Path::new(file), threads, false),
        ["choice", file, threads, "--verbose"] => choice(Path::new(file), threads, true),
        ["speed", file, threads] => speed(Path::new(file), threads),
        _ => Err("use: figure choice FILE THREADS [--verbose] | figure speed FILE THREADS".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn choice(file: &Path, threads: &str, verbose: bool) -> Result<(), Failure> {
    let settings =
        EngineSettings { threads: Some(threads.parse()?), context_tokens: Some(4096), sessions: 2 };
    let engine = Engine::open(file, &settings)?;
    let mut answered = 0;
    for prompt in ANSWERS {
        let said = asked(&engine, prompt, ToolChoice::Either)?;
        answered += usize::from(said.calls.is_empty());
        if verbose {
            report("answer", prompt, &said, said.calls.is_empty());
        }
    }
    println!("to answer without a tool: {answered} of {} prompts", ANSWERS.len());
    for (way, choice) in [
        ("decide, then bind", ToolChoice::Either),
        ("must call", ToolChoice::Call),
        ("free", ToolChoice::Unguided),
    ] {
        let (mut valid, mut right_tool, mut right) = (0, 0, 0);
        for wanted in PROMPTS {
            let said = asked(&engine, wanted.prompt, choice)?;
            let call = said.calls.first();
            valid += usize::from(call.is_some());
            let tool = call.is_some_and(|call| call.name == wanted.tool);
            let all = tool && call.is_some_and(|call| fits(wanted, &call.input));
            right_tool += usize::from(tool);
            right += usize::from(all);
            if verbose {
                report(way, wanted.prompt, &said, all);
            }
        }
        let count = PROMPTS.len();
        println!(
            "{way}: of {count} prompts {valid} valid calls, {right_tool} right tool, \
             {right} right tool and argument"
        );
    }
    Ok(())
}

fn report(way: &str, prompt: &str, said: &Generation, right: bool) {
    let probability = said.call_probability.unwrap_or(0.0);
    let calls: Vec<String> =
        said.calls.iter().map(|call| format!("{} {}", call.name, call.input)).collect();
    let text: String = said.text.chars().take(200).collect();
    println!(
        "  {way} {right} p={probability:.4} {:?} {prompt:?} -> {calls:?} {text:?}",
        said.finish
    );
}

fn fits(wanted: &Wanted, input: &serde_json::Value) -> bool {
    let given = input.get(wanted.argument).and_then(serde_json::Value::as_str).unwrap_or_default();
    wanted.values.iter().any(|value| given.contains(value))
}

/// As Agentry asks: sorted first, if it may do either.
fn asked(engine: &Engine, prompt: &str, choice: ToolChoice) -> Result<Generation, Failure> {
    let request = request(prompt, tools(), 160);
    let talk = choice == ToolChoice::Either && engine.needs_no_tool(&request, &|| true)?;
    let request = if talk { ModelRequest { tools: [].into(), ..request } } else { request };
    let ask = GenerationRequest {
        request: &request,
        session: "figure",
        hear: &|_| {},
        go_on: &|| true,
        choice,
        seed: 1,
    };
    Ok(engine.answer(&ask)?)
}

fn request(prompt: &str, tools: Vec<ToolSpec>, most: u64) -> ModelRequest {
    ModelRequest {
        model: "local".into(),
        temperature: None,
        max_tokens: Some(most),
        system: SYSTEM.into(),
        tools: tools.into(),
        messages: vec![Message::user(prompt).into()],
    }
}

/// Tokens a second while text is written, the prompt apart.
fn speed(file: &Path, threads: &str) -> Result<(), Failure> {
    let settings =
        EngineSettings { threads: Some(threads.parse()?), context_tokens: Some(1024), sessions: 1 };
    let engine = Engine::open(file, &settings)?;
    let (mut tokens, mut seconds) = (0, 0.0);
    let mut seed = 1;
    while tokens < 96 && seed < 12 {
        let mut request = request("Write a long story about a ship.", Vec::new(), 64);
        request.temperature = Some(0.9);
        let first: Cell<Option<Instant>> = Cell::new(None);
        let ask = GenerationRequest {
            request: &request,
            session: "speed",
            hear: &|_| first.set(first.get().or_else(|| Some(Instant::now()))),
            go_on: &|| true,
            choice: ToolChoice::Either,
            seed,
        };
        let said = engine.answer(&ask)?;
        seed += 1;
        // The first answer warms up.
        if let (Some(first), true, true) =
            (first.get(), seed > 2, said.finish != FinishReason::Interrupted)
        {
            tokens += said.usage.output_tokens.saturating_sub(1);
            seconds += first.elapsed().as_secs_f64();
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred tokens")]
    let rate = tokens as f64 / seconds.max(f64::MIN_POSITIVE);
    println!("{rate:.3}");
    Ok(())
}

fn spec(name: &str, description: &str, parameters: serde_json::Value) -> ToolSpec {
    ToolSpec {
        name: ToolName::canonical(name),
        description: description.into(),
        parameters,
        category: ToolCategory::Custom,
        risk: Risk::Low,
        repeat: RepeatSafety::Harmless,
    }
}
