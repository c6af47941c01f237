//! The helper for tests, and a way to try a command by hand.

use std::time::Duration;
use agentry_protocol::confinement::{Confinement, Level};
use agentry_sandbox::{Bounds, Command, Cwd, Job, Sandbox, Stop, Streams, environment, helper};

fn main() {
    if std::env::args().nth(1).is_some_and(|word| word == helper::VERB) {
        helper::serve(&[]).expect("serves");
        return;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let cwd = std::env::current_dir().unwrap();
    let sandbox = Sandbox::start(&std::env::current_exe().unwrap(), Level::Ns).unwrap();
    let confinement = Confinement { allow_write: vec![cwd.display().to_string()], ..Confinement::nothing() };
    let command = Command { program: words[0].clone().into(), args: words[1..].iter().map(Into::into).collect(),
        cwd: Cwd::Path(cwd), env: environment(&confinement, ""), stdin: None, streams: Streams::Together };
    let bounds = Bounds { time: Duration::from_secs(20), output_bytes_max: 100_000 };
    for _ in 0..std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(1) {
    match sandbox.run(&Job { command: &command, confinement: &confinement, bounds: &bounds }, &Stop::new()) {
        Ok(f) => { print!("{}", String::from_utf8_lossy(&f.stdout.whole().unwrap_or_default())); println!("{:?} {:?} left {}", f.ending, f.duration, f.left_behind); }
        Err(e) => println!("ERR {e}"),
    }}
}
