//! Programs that take all they can get, to be run confined.
//!
//! Must never: be run without a sandbox.

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use crate::attack::raw;

const PIECE: usize = 4 << 20;
const LONG: Duration = Duration::from_secs(1_000);

/// Goes off.
pub(crate) fn run(kind: &str) -> ExitCode {
    match kind {
        "forks" => loop {
            // Every process goes on with it; who cannot make one tries again.
            if raw::fork().is_err() {
                std::thread::yield_now();
            }
        },
        "threads" => threads(),
        "memory" => take(usize::MAX),
        "memories" => {
            for _ in 0..8 {
                if raw::fork().unwrap_or(1) == 0 {
                    take(40 << 20);
                    std::thread::sleep(LONG);
                }
            }
            std::thread::sleep(LONG);
        }
        "temporary" => fill(&std::env::temp_dir()),
        "home" => fill(std::path::Path::new(&std::env::var_os("HOME").unwrap_or_default())),
        "flood" => {
            let piece = [b'x'; 64 * 1024];
            while std::io::stdout().write_all(&piece).is_ok() {}
        }
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

fn threads() {
    let mut made = 0;
    while std::thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(|| std::thread::sleep(LONG))
        .is_ok()
    {
        made += 1;
    }
    println!("{made}");
    std::thread::sleep(LONG);
}

/// Takes memory and touches it.
fn take(most: usize) {
    let mut held: Vec<Vec<u8>> = Vec::new();
    while held.len() * PIECE < most {
        let mut piece: Vec<u8> = Vec::new();
        if piece.try_reserve_exact(PIECE).is_err() {
            // A limit for each process holds it.
            println!("{} MiB", (held.len() * PIECE) >> 20);
            raw::exit(3);
        }
        piece.resize(PIECE, 1);
        held.push(piece);
    }
    std::mem::forget(held);
}

fn fill(place: &std::path::Path) {
    raw::ignore(libc::SIGXFSZ);
    let piece = vec![b'x'; PIECE];
    let mut written: u64 = 0;
    for number in 0..10_000 {
        let Ok(mut file) = File::create(place.join(format!("filler-{number}"))) else { break };
        let mut pieces = 0;
        while pieces < 1_000 && file.write_all(&piece).is_ok() {
            pieces += 1;
            written += PIECE as u64;
        }
        if pieces == 0 {
            break;
        }
    }
    println!("{} MiB", written >> 20);
}
