//! The memory that the processes of one process table use together.
//!
//! The sum of resident memory counts shared pages once for each process: cheap, and never too
//! little. Only when the sum is over the limit are the shared pages split, for which the kernel
//! walks every page.
//!
//! Must never: count less than is used because a process could not be inspected.

use std::io;
use std::path::Path;

/// The first process of the table; it only watches and reaps.
const FIRST: u32 = 1;

/// Returns true if these processes of a `/proc` directory use more than the limit.
pub(crate) fn exceeds(proc: &Path, processes: Vec<u32>, limit_bytes: u64) -> bool {
    let page_bytes = u64::try_from(rustix::param::page_size()).unwrap_or(u64::MAX);
    let resident: Vec<(u32, u64)> = processes
        .into_iter()
        // It may have ended since the table was read; then it uses nothing.
        .filter_map(|pid| Some((pid, resident_pages(proc, pid)?.saturating_mul(page_bytes))))
        .collect();
    if sum(resident.iter().map(|(_, bytes)| *bytes)) <= limit_bytes {
        return false;
    }
    let mut used: u64 = 0;
    for (pid, resident) in resident {
        used = used.saturating_add(share_bytes(proc, pid).unwrap_or(resident));
        if used > limit_bytes {
            return true;
        }
    }
    false
}

fn sum(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}

/// Returns the processes of a table, but for the first and the caller.
pub(crate) fn processes(proc: &Path) -> io::Result<Vec<u32>> {
    // The link names the caller by the number it has in this table, if it is in it.
    let own: Option<u32> =
        std::fs::read_link(proc.join("self")).ok().and_then(|target| target.to_str()?.parse().ok());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(proc)? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        if pid != FIRST && Some(pid) != own {
            found.push(pid);
        }
    }
    Ok(found)
}

/// Parses `size resident shared …`, all in pages.
fn resident_pages(proc: &Path, pid: u32) -> Option<u64> {
    let statm = std::fs::read_to_string(proc.join(pid.to_string()).join("statm")).ok()?;
    statm.split(' ').nth(1)?.trim().parse().ok()
}

/// Parses the `Pss:` line: each shared page is divided by the number of its users.
fn share_bytes(proc: &Path, pid: u32) -> Option<u64> {
    const KIB: u64 = 1024;
    let path = proc.join(pid.to_string()).join("smaps_rollup");
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib.saturating_mul(KIB))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::linux::tests::{again, in_child, say};

    fn all_over(proc: &Path, limit_bytes: u64) -> bool {
        exceeds(proc, processes(proc).unwrap(), limit_bytes)
    }

    const MIB: u64 = 1 << 20;

    /// Makes a process table of files: number, resident MiB, and the share in MiB where readable.
    fn table(processes: &[(u32, u64, Option<u64>)]) -> tempfile::TempDir {
        let page_bytes = rustix::param::page_size() as u64;
        let proc = tempfile::tempdir().unwrap();
        fs::write(proc.path().join("uptime"), "1 1").unwrap();
        for (pid, resident, share) in processes {
            let dir = proc.path().join(pid.to_string());
            fs::create_dir(&dir).unwrap();
            let pages = resident * MIB / page_bytes;
            fs::write(dir.join("statm"), format!("99999999 {pages} 7 1 0 3 0\n")).unwrap();
            if let Some(share) = share {
                let rollup = format!(
                    "00-ff ---p 0 00:00 0 [rollup]\nRss: 9 kB\nPss:  {} kB\n",
                    share * 1024
                );
                fs::write(dir.join("smaps_rollup"), rollup).unwrap();
            }
        }
        proc
    }

    #[test]
    fn shared_pages_are_counted_once_when_the_cheap_sum_is_over() {
        let proc = table(&[(10, 60, Some(30)), (11, 60, Some(30))]);
        assert!(!all_over(proc.path(), 60 * MIB));
        assert!(all_over(proc.path(), 60 * MIB - 1));
    }

    #[test]
    fn the_cheap_sum_is_enough_when_it_is_below() {
        // If the shares were read, they would be over the limit.
        let proc = table(&[(10, 20, Some(900)), (11, 20, Some(900))]);
        assert!(!all_over(proc.path(), 40 * MIB));
    }

    #[test]
    fn a_process_that_cannot_be_looked_at_counts_in_full() {
        let proc = table(&[(10, 60, None), (11, 60, Some(1))]);
        assert!(!all_over(proc.path(), 61 * MIB));
        assert!(all_over(proc.path(), 61 * MIB - 1));
    }

    #[test]
    fn the_first_process_and_the_caller_do_not_count() {
        let proc = table(&[(1, 500, None), (7, 500, None), (10, 5, None)]);
        symlink("7", proc.path().join("self")).unwrap();
        assert!(!all_over(proc.path(), 5 * MIB));
        assert!(all_over(proc.path(), 5 * MIB - 1));
    }

    #[test]
    fn a_process_that_is_gone_uses_nothing() {
        let proc = table(&[(10, 5, None)]);
        fs::create_dir(proc.path().join("11")).unwrap();
        assert!(!all_over(proc.path(), 5 * MIB));
    }

    #[test]
    fn a_table_that_cannot_be_read_is_an_error() {
        assert!(processes(Path::new("/nowhere/proc")).is_err());
    }

    #[test]
    fn the_memory_of_a_real_process_is_seen() {
        let mut child = again("linux::memory::tests::child_with_memory").start();
        assert_eq!(child.line(), "ready");
        // A table with this process only.
        let proc = tempfile::tempdir().unwrap();
        let pid = child.id().to_string();
        symlink(format!("/proc/{pid}"), proc.path().join(&pid)).unwrap();
        let read = (all_over(proc.path(), 64 * MIB), all_over(proc.path(), 200 * MIB));
        assert_eq!(read, (true, false));
    }

    #[test]
    #[ignore = "runs only as the child of another test"]
    fn child_with_memory() {
        in_child(|| {
            let held = vec![1_u8; 80 * MIB as usize];
            say("ready");
            // Until the test closes its end.
            io::stdin().read_line(&mut String::new()).unwrap();
            assert_eq!(held.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 80 * MIB);
        });
    }
}
