//! The helper for tests, and a way to try a command by hand.

use std::sync::Arc;
use std::time::Duration;
use agentry_protocol::confinement::{Confinement, Level};
use agentry_sandbox::{Bounds, Command, Cwd, Job, Sandbox, Setup, Stop, Streams, egress, helper};

fn main() {
    if std::env::args().nth(1).is_some_and(|word| word == helper::VERB) {
        helper::serve(&[]).expect("serves");
        return;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let cwd = std::env::current_dir().unwrap();
    let level = match std::env::var("LEVEL").as_deref() { Ok("bwrap") => Level::Bwrap, Ok("landlock") => Level::Landlock, _ => Level::Ns };
    let setup = Setup { binary: "/proc/self/exe".into(), path: String::new(), quarantine: "/tmp/q".into(), resolve: egress::system() };
    let t = std::time::Instant::now();
    let (sandbox, attestation) = match Sandbox::open_level(&setup, level) { Ok(x) => x, Err(e) => { println!("NO: {e}"); return } };
    if words.is_empty() { println!("{:?}", t.elapsed()); println!("{}", attestation.escapes.iter().map(|e| format!("{} {} {}\n", e.stopped, e.attempt, e.answer)).collect::<String>()); return }
    let confinement = Confinement { level, allow_write: vec![cwd.display().to_string()], ..Confinement::nothing() };
    let command = Command { program: words[0].clone().into(), args: words[1..].iter().map(Into::into).collect(),
        cwd: Cwd::Path(cwd), env: vec![], stdin: None, streams: Streams::Together };
    let bounds = Bounds { time: Duration::from_secs(20), output_bytes_max: 100_000 };
    for _ in 0..std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(1) {
    match sandbox.run(&Job { command: &command, confinement: &confinement, bounds: &bounds, connected: Arc::new(drop), hear: None }, &Stop::new()) {
        Ok(f) => { print!("{}", String::from_utf8_lossy(&f.stdout.whole().unwrap_or_default())); println!("{:?} {:?} left {}", f.ending, f.duration, f.left_behind); }
        Err(e) => println!("ERR {e}"),
    }}
}
