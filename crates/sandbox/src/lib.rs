//! Runs one confined process to its end and returns its output, or starts a long-lived one.
//!
//! `sandbox` is the API for every system, `backend` the trait that each implements. On Linux
//! (`linux`) a supervisor asks its helper for a sandbox, and the sandbox's init process builds it,
//! starts the program and reaps. `macos` has not been run yet, `unsupported` refuses.
//! `child` runs without a sandbox and bounds only time, output and the process tree. A thread
//! supervises each long-lived process (`sandboxed_child`), another guards its files (`child_guard`).
//!
//! Must never: know a session, a model or an agent; wait without an end; pass our environment on;
//! run a program with less than its `Confinement`.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(
    not(any(target_os = "linux", target_os = "macos")),
    expect(dead_code, reason = "most parts are for systems that have a sandbox")
)]

pub mod address;
mod backend;
pub mod cancel;
pub mod child;
mod child_guard;
mod denial;
mod directory_cleaner;
pub mod egress;
mod exit_fd;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "what namespaces are built from"))]
mod fs_view;
pub mod head_tail;
pub mod limits;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, target_os = "macos"))]
#[cfg_attr(
    not(target_os = "macos"),
    expect(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "elsewhere only its parts are tested"
    )
)]
mod macos;
mod poll;
pub mod private_directory;
mod process;
#[cfg(any(test, not(target_os = "linux")))]
mod process_group;
mod process_signal;
pub mod protect;
mod role;
mod sandbox;
mod sandboxed_child;
mod scratch_directory;
pub mod seatbelt;
mod service;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "what namespaces are built from"))]
mod spec;
mod stdio_pump;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod unsupported;
mod watch;

pub use backend::{SandboxJob, SandboxSetup, SpawnJob};
pub use cancel::CancelToken;
pub use child::{run, run_with_listener, spawn};
pub use denial::{DeniedPath, denied_paths};
pub use head_tail::HeadTailBuffer;
#[cfg(target_os = "linux")]
pub use linux::helper;
#[cfg(target_os = "macos")]
pub use macos::launcher as helper;
pub use private_directory::PrivateDirectory;
pub use process::{
    ChildBounds, ChildCommand, ChildOutcome, Command, Cwd, Error, ProcessBounds, ProcessEnding,
    ProcessOutcome, Streams,
};
pub use sandbox::{LEVELS, Sandbox, SandboxUnavailable};
pub use sandboxed_child::{ChildHandle, SandboxedChild};
pub use service::{SandboxedService, ServiceError};
pub use stdio_pump::{OutputCallback, OutputSource};
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub use unsupported::launcher as helper;
