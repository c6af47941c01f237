//! The sandbox on Linux: namespaces and mounts, Landlock, the system call filter, limits.
//!
//! Must never: ignore a failed step; a program that is half confined is not confined.

mod step_error;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) mod bwrap;
pub(crate) mod cgroup;
pub(crate) mod file_copies;
pub(crate) mod init;
pub(crate) mod landlock;
pub(crate) mod lockdown;
pub(crate) mod memory;
pub(crate) mod mounts;
pub(crate) mod reset;
pub(crate) mod rlimits;
pub(crate) mod seccomp;
pub(crate) mod sys;

pub(crate) use step_error::StepError;
