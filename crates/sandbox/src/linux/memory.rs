use std::path::Path;
pub(crate) fn is_over(_proc: &Path, _limit: u64) -> std::io::Result<bool> { Ok(false) }
pub(crate) fn processes(proc: &Path) -> usize {
    std::fs::read_dir(proc).map(|d| d.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok()).filter(|p| *p != 1).count()).unwrap_or(0)
}
