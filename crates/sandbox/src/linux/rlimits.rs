//! The resource limits of one process, enforced by the kernel (`setrlimit`).
//!
//! Must never: raise a limit that our parent has set.

use agentry_protocol::confinement::ConfinementLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::{CPU_SPARE_SECONDS, LOCKED_BYTES_MAX, QUEUED_BYTES_MAX};
use crate::linux::StepError;

/// Limits the calling process and its children; a limit that is already lower stays.
///
/// The memory limit is that of one process: a hard stop beside the watched sum of all processes.
pub(crate) fn limit(limits: &ConfinementLimits, cores: u64) -> Result<(), StepError> {
    for (resource, most, name) in table(limits, cores) {
        let most = lowest(most, getrlimit(resource));
        // Soft and hard are one, so that no child can raise it again.
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).map_err(
            |cause| StepError::new(format!("limit {name} to {most} (setrlimit)"), cause),
        )?;
    }
    Ok(())
}

fn table(limits: &ConfinementLimits, cores: u64) -> [(Resource, u64, &'static str); 8] {
    [
        (Resource::Nproc, limits.processes, "processes"),
        (Resource::Data, limits.memory_bytes, "memory"),
        (Resource::Fsize, limits.disk_bytes, "the size of a file"),
        (Resource::Nofile, limits.files, "open files"),
        // 0 would still feed a core dump handler; 1 is too little for a file or a handler.
        (Resource::Core, 1, "core dumps"),
        (Resource::Cpu, cpu_seconds(limits.timeout_ms, cores), "processor time"),
        (Resource::Memlock, LOCKED_BYTES_MAX, "locked memory"),
        (Resource::Msgqueue, QUEUED_BYTES_MAX, "message queues"),
    ]
}

/// Returns more than a process can use in its time; only one that outlives its call exceeds it.
fn cpu_seconds(timeout_ms: u64, cores: u64) -> u64 {
    timeout_ms.div_ceil(1000).saturating_mul(cores.max(1)).saturating_add(CPU_SPARE_SECONDS)
}

fn lowest(most: u64, now: Rlimit) -> u64 {
    now.maximum.map_or(most, |hard| most.min(hard))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tests::{again, in_child, say};

    const LIMITS: ConfinementLimits = ConfinementLimits {
        timeout_ms: 1_500,
        memory_bytes: 3 << 30,
        processes: 300,
        disk_bytes: 8 << 20,
        files: 90,
    };

    #[test]
    fn the_limits_of_a_process_are_soft_and_hard_at_once() {
        let said = again("linux::rlimits::tests::child_with_limits").run();
        assert!(said.contains("Max processes 300 300"), "{said}");
        assert!(said.contains("Max data size 3221225472 3221225472"), "{said}");
        assert!(said.contains("Max file size 8388608 8388608"), "{said}");
        assert!(said.contains("Max open files 90 90"), "{said}");
        assert!(said.contains("Max core file size 1 1"), "{said}");
        assert!(said.contains("Max cpu time 18 18"), "{said}");
        assert!(said.contains("Max msgqueue size 262144 262144"), "{said}");
    }

    #[test]
    #[ignore = "runs only as the child of another test"]
    fn child_with_limits() {
        in_child(|| {
            limit(&LIMITS, 4).unwrap();
            let text = std::fs::read_to_string("/proc/self/limits").unwrap();
            for line in text.lines() {
                say(format_args!("{}", line.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
            // As root we could raise it.
            limit(&ConfinementLimits { files: 80, processes: 1 << 40, ..LIMITS }, 4).unwrap();
            assert_eq!(getrlimit(Resource::Nofile).maximum, Some(80));
            assert_eq!(getrlimit(Resource::Nproc).maximum, Some(300));
        });
    }

    #[test]
    fn a_limit_that_is_lower_already_is_not_raised() {
        let hard = Rlimit { current: Some(3), maximum: Some(7) };
        assert_eq!(lowest(10, hard), 7);
        assert_eq!(lowest(5, hard), 5);
        assert_eq!(lowest(5, Rlimit { current: None, maximum: None }), 5);
    }

    #[test]
    fn processor_time_grows_with_the_cores_and_never_runs_over() {
        assert_eq!(cpu_seconds(120_000, 2), 250);
        assert_eq!(cpu_seconds(1, 0), 11);
        assert_eq!(cpu_seconds(u64::MAX, u64::MAX), u64::MAX);
    }
}
