//! The sandbox on Linux: namespaces and mounts, Landlock, the filter of system calls, limits.
//!
//! Must never: pass over a step that failed; what is half confined is not confined.

mod failed;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) mod afresh;
pub(crate) mod bwrap;
pub(crate) mod cgroup;
pub(crate) mod copies;
pub(crate) mod fence;
pub(crate) mod init;
pub(crate) mod landlock;
pub(crate) mod memory;
pub(crate) mod mounts;
pub(crate) mod seccomp;
pub(crate) mod spend;
pub(crate) mod sys;

pub(crate) use failed::Failed;
