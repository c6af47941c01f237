//! The sandbox on Linux: namespaces and mounts, Landlock, the system call filter, limits.
//!
//! Three processes take part. The supervisor (`backend`, `supervision`) has the threads and the
//! secrets; its helper (`helper`) starts sandboxes; the init process (`init`) lives in each one.
//!
//! Must never: ignore a failed step; a program that is half confined is not confined.

mod attest;
pub(crate) mod backend;
mod bwrap;
mod cgroup;
mod confined_child;
mod escape_probe;
mod fd_channel;
mod file_copies;
pub mod helper;
mod init;
mod init_process;
mod landlock;
mod lockdown;
mod memory;
mod mounts;
mod pool;
pub(crate) mod process_tree;
mod reset;
mod rlimits;
mod sandbox_user;
mod seccomp;
mod service;
mod step_error;
mod supervision;
pub(crate) mod sys;
#[cfg(test)]
pub(crate) mod tests;
mod working_directory;

use step_error::StepError;
