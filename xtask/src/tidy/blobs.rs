//! No large files: a repository carries every byte it ever held.
//!
//! Must never: read what it weighs.

use crate::{
    limits::TRACKED_FILE_BYTES_MAX,
    tidy::{TidyFinding, tree::SourceTree},
};

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    tree.files
        .iter()
        .filter(|file| file.bytes > TRACKED_FILE_BYTES_MAX && file.name() != "Cargo.lock")
        .map(|file| {
            TidyFinding::new(
                &file.path,
                1,
                format!("the file has {} KiB", file.bytes.div_ceil(1024)),
                format!(
                    "Generate it when it is needed, or cut it to {} KiB",
                    TRACKED_FILE_BYTES_MAX / 1024
                ),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    #[test]
    fn a_large_file_is_found_and_a_large_lock_file_is_not() {
        let large = "x".repeat(512 * 1024 + 1);
        fixture::check(
            check,
            &[("a.bin", &large), ("Cargo.lock", &large), ("fuzz/Cargo.lock", &large)],
            &["a.bin:1: the file has 513 KiB"],
        );
    }

    #[test]
    fn a_file_at_the_limit_is_fine() {
        fixture::check(check, &[("a.bin", &"x".repeat(512 * 1024))], &[]);
    }
}
