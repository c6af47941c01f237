//! The machine's resources: cores, free memory, and the processor's instruction sets.
//!
//! Must never: use more than the process was given.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::error::LocalError;
use crate::gguf::header::Header;
use crate::limits::{
    CONTEXT_TOKENS_MAX, CONTEXT_TOKENS_MIN, CONTEXT_TOKENS_STEP, MEMORY_SPARE_BYTES, THREADS_MAX,
};
use crate::model_summary::EngineSettings;

/// Returns the number of computing threads: one for each idle physical core of the process.
///
/// The engine's threads wait for each other in a busy loop: one thread that shares its core with
/// another program slows all of them down.
pub(crate) fn threads(settings: &EngineSettings) -> u32 {
    let allowed = std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(THREADS_MAX));
    let physical = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cores(&text));
    let load = fs::read_to_string("/proc/loadavg").ok().and_then(|text| busy(&text)).unwrap_or(0);
    let chosen = settings
        .threads
        .unwrap_or_else(|| physical.unwrap_or(allowed).min(allowed).saturating_sub(load));
    chosen.clamp(1, THREADS_MAX)
}

/// Returns the number of cores that were busy in the last minute, from `/proc/loadavg`.
fn busy(text: &str) -> Option<u32> {
    text.split(['.', ' ']).next()?.parse().ok()
}

/// Returns the number of physical cores, from the text of `/proc/cpuinfo`.
fn cores(text: &str) -> Option<u32> {
    let mut seen = BTreeSet::new();
    let mut package = "";
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        match key.trim() {
            "physical id" => package = value.trim(),
            "core id" => {
                seen.insert((package, value.trim()));
            }
            _ => {}
        }
    }
    u32::try_from(seen.len()).ok().filter(|count| *count > 0)
}

/// Returns the free memory of this process, in bytes; None if the system does not report it.
pub(crate) fn free_memory() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let free = available(&meminfo)?;
    let limit = number_in("/sys/fs/cgroup/memory.max");
    let used = number_in("/sys/fs/cgroup/memory.current").unwrap_or(0);
    Some(limit.map_or(free, |limit| free.min(limit.saturating_sub(used))))
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

fn number_in(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Returns the number of tokens that fit into the memory left after the weights.
pub(crate) fn fit_context(
    file: &Path,
    header: &Header,
    settings: &EngineSettings,
    free: Option<u64>,
) -> Result<u32, LocalError> {
    let trained = header
        .number("context_length")
        .and_then(|tokens| u32::try_from(tokens).ok())
        .unwrap_or(CONTEXT_TOKENS_MAX);
    let wanted = settings.context_tokens.unwrap_or(CONTEXT_TOKENS_MAX).min(trained);
    let wanted = wanted.max(CONTEXT_TOKENS_MIN.min(trained));
    let Some(free) = free else { return Ok(wanted) };
    let fixed = header.bytes.saturating_add(MEMORY_SPARE_BYTES);
    let per_token = header.bytes_per_token().max(1);
    let least = if settings.context_tokens.is_some() { wanted } else { CONTEXT_TOKENS_MIN };
    let needs = fixed.saturating_add(per_token.saturating_mul(u64::from(least)));
    if needs > free {
        return Err(LocalError::TooLittleMemory { file: file.to_owned(), needs, free });
    }
    if settings.context_tokens.is_some() {
        return Ok(wanted);
    }
    // Half of the rest: other programs need memory too.
    let fits = (free - fixed) / 2 / per_token;
    let fits = u32::try_from(fits).unwrap_or(u32::MAX) / CONTEXT_TOKENS_STEP * CONTEXT_TOKENS_STEP;
    Ok(wanted.min(fits.max(CONTEXT_TOKENS_MIN)))
}

/// Checks that the processor has the instruction sets that the engine was built for.
pub(crate) fn check_processor() -> Result<(), LocalError> {
    #[cfg(target_arch = "x86_64")]
    {
        let known = [
            ("AVX2", std::arch::is_x86_feature_detected!("avx2")),
            ("FMA", std::arch::is_x86_feature_detected!("fma")),
            ("F16C", std::arch::is_x86_feature_detected!("f16c")),
            ("BMI2", std::arch::is_x86_feature_detected!("bmi2")),
        ];
        if let Some((missing, _)) = known.into_iter().find(|(_, known)| !known) {
            return Err(LocalError::OldProcessor(missing));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_of_a_core_are_one_core() {
        let cpu =
            |package: u32, core: u32| format!("physical id : {package}\ncore id : {core}\n\n");
        let text = [cpu(0, 0), cpu(0, 1), cpu(0, 0), cpu(0, 1), cpu(1, 0)].concat();
        assert_eq!(cores(&text), Some(3));
        assert_eq!(cores("processor : 0\n"), None);
    }

    #[test]
    fn a_busy_core_is_counted_when_it_was_busy_all_the_time() {
        assert_eq!(busy("0.98 0.50 0.10 1/100 7\n"), Some(0));
        assert_eq!(busy("12.08 13.17 12.58 10/153 8656\n"), Some(12));
        assert_eq!(busy("nothing"), None);
    }

    #[test]
    fn free_memory_is_what_the_system_calls_available() {
        let text = "MemTotal: 100 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available(text), Some(2048 * 1024));
        assert_eq!(available("MemTotal: 100 kB\n"), None);
    }

    fn settings(context_tokens: Option<u32>) -> EngineSettings {
        EngineSettings { context_tokens, ..EngineSettings::default() }
    }

    #[test]
    fn the_context_is_what_was_trained_what_fits_and_at_most_the_limit() {
        let file = Path::new("a.gguf");
        let mut header = Header::default();
        header.bytes = 1_000_000;
        let fixed = header.bytes + MEMORY_SPARE_BYTES;
        let per_token = header.bytes_per_token();
        let context = |free, wanted| fit_context(file, &header, &settings(wanted), free);
        assert_eq!(context(None, None), Ok(CONTEXT_TOKENS_MAX));
        assert_eq!(context(Some(u64::MAX), None), Ok(CONTEXT_TOKENS_MAX));
        assert_eq!(context(Some(u64::MAX), Some(2000)), Ok(2000));
        let some = fixed + 2 * per_token * 4100;
        assert_eq!(context(Some(some), None), Ok(4096));
        let error = context(Some(fixed), None).expect_err("nothing is left for a context");
        assert!(matches!(error, LocalError::TooLittleMemory { .. }), "{error}");
        let error = context(Some(some), Some(30_000)).expect_err("it does not fit");
        assert!(matches!(error, LocalError::TooLittleMemory { .. }), "{error}");
    }

    #[test]
    fn threads_are_at_least_one_and_what_was_asked_for() {
        let asked =
            |threads| super::threads(&EngineSettings { threads, ..EngineSettings::default() });
        assert_eq!(asked(Some(3)), 3);
        assert_eq!(asked(Some(0)), 1);
        assert!(asked(None) >= 1);
    }
}
