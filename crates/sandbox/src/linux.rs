//! What confines a process on Linux from inside, and what counts what it spends.
//!
//! Must never: pass over a step that failed; what is half confined is not confined.

mod failed;
#[cfg(test)]
mod tests;

#[cfg_attr(not(test), expect(dead_code, reason = "the code that starts processes calls it"))]
pub(crate) mod cgroup;
#[cfg_attr(not(test), expect(dead_code, reason = "the code that starts processes calls it"))]
pub(crate) mod landlock;
#[cfg_attr(not(test), expect(dead_code, reason = "the code that starts processes calls it"))]
pub(crate) mod memory;
#[cfg_attr(not(test), expect(dead_code, reason = "the code that starts processes calls it"))]
pub(crate) mod seccomp;
#[cfg_attr(not(test), expect(dead_code, reason = "the code that starts processes calls it"))]
pub(crate) mod spend;

pub(crate) use failed::Failed;
