//! The switch that turns one change on, added to the lowest crate of the copy.
//!
//! A test and all processes that it starts belong to one session of the operating system. A file named by the number
//! of that session says which change is on, and where to note which changes are reached. Environment variables would
//! not do: tests start programs with an empty environment.
//!
//! Must never: be on in a process whose session has no such file.

use std::path::Path;

use crate::Error;

/// The directory of the files, below the copy.
pub(crate) const SESSIONS: &str = "sessions";
/// The crate that all others use.
const CRATE: &str = "crates/protocol/src/lib.rs";

const SWITCH: &str = r#"

/// Returns whether a change to the code is on.
pub fn mutant(number: usize) -> bool {
    use std::io::Write as _;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    static STATE: OnceLock<(usize, Option<String>)> = OnceLock::new();
    static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    let (active, notes) = STATE.get_or_init(|| {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let session = after_name.split_whitespace().nth(3).unwrap_or_default();
        let text = std::fs::read_to_string(format!("DIRECTORY/{session}")).unwrap_or_default();
        let mut lines = text.lines();
        let active = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
        (active, lines.next().map(str::to_owned))
    });
    if let Some(notes) = notes
        && !REACHED[number].swap(true, Ordering::Relaxed)
        && let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(notes)
    {
        drop(writeln!(file, "{number}"));
    }
    *active == number
}
"#;

/// Adds the switch for so many changes.
pub(crate) fn install(tree: &Path, changes: usize) -> Result<(), Error> {
    let directory = tree.join(SESSIONS);
    std::fs::create_dir_all(&directory)?;
    let path = tree.join(CRATE);
    let text = SWITCH
        .replace("COUNT", &(changes + 1).to_string())
        .replace("DIRECTORY", &directory.to_string_lossy());
    let mut source = std::fs::read_to_string(&path)?;
    source.push_str(&text);
    std::fs::write(&path, source)?;
    Ok(())
}
