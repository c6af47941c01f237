//! A program for tests: the helper, single attacks, and the table of all attacks.
//!
//! Must never: be shipped.

mod attack;
mod bomb;
mod bombs;
mod children;
mod leave;
mod planting;
mod rows;
mod scene;
mod table;

use std::process::ExitCode;

use agentry_sandbox::helper;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [word, ..] if *word == helper::VERB => {
            helper::serve(&[]).expect("the helper serves until its supervisor is gone");
            ExitCode::SUCCESS
        }
        ["attack", "whoami", ..] => {
            println!("{}", rustix::process::geteuid().as_raw());
            ExitCode::SUCCESS
        }
        ["attack", name, targets] => table::attack(name, targets),
        ["bomb", kind] => bomb::run(kind),
        ["leave", kind] => leave::run(kind),
        ["hold", level, directory] => bombs::hold(level, directory),
        ["loop", level, directory] => bombs::spawn_in_a_loop(level, directory),
        ["proof"] => bombs::proof(),
        ["planted", operations] => planting::act(operations),
        ["planting", level, seed, count] => planting::run(level, seed, count),
        ["gaps"] => {
            for row in rows::rows() {
                for gap in &row.gaps {
                    println!("{} {}", row.id, gap.level);
                }
            }
            ExitCode::SUCCESS
        }
        ["table", "--level", level] => table::run(level, table::Way::Run),
        ["table", "--level", level, "--spawn"] => table::run(level, table::Way::Spawn),
        ["hold-child", level, directory] => children::hold(level, directory),
        ["cycles", level, directory, count] => children::cycles(level, directory, count),
        _ => {
            eprintln!("usage: sandbox-probe table --level ns|bwrap|landlock|bare");
            ExitCode::FAILURE
        }
    }
}
