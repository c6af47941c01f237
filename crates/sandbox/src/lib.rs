//! Confines one process, runs it to its end, and brings back what it said.
//!
//! The supervisor (`sandbox`, `running`) asks its helper (`helper`) for a sandbox; the first process in there
//! (`linux::init`) builds it, starts the program and reaps. What may be done is a `Confinement`; this room obeys it.
//! Without a sandbox (`child`) time, output and the process tree are bounded, and nothing else.
//! All that is Linux; `system` is what others see of any system. `macos` has not been run yet, `elsewhere` refuses.
//!
//! Must never: know a session, a model or an agent; wait without an end; hand our environment on; run a program
//! with less than its confinement.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(
    not(any(target_os = "linux", target_os = "macos")),
    expect(dead_code, reason = "most parts are for systems that have a sandbox")
)]

pub mod address;
mod asked;
#[cfg(target_os = "linux")]
mod attest;
pub mod child;
mod denial;
pub mod egress;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod elsewhere;
mod ended;
#[cfg(target_os = "linux")]
mod escape;
#[cfg(any(test, not(target_os = "linux")))]
mod group;
#[cfg(target_os = "linux")]
pub mod helper;
#[cfg(target_os = "linux")]
mod idle;
pub mod kept;
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
pub mod private_directory;
pub mod protect;
mod role;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod sandbox;
mod scratch;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod served;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "what namespaces are built from"))]
mod spec;
pub mod stop;
mod streams;
mod system;
#[cfg(target_os = "linux")]
mod tree;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "what namespaces are built from"))]
mod view;
mod watch;
#[cfg(target_os = "linux")]
mod wire;

pub use asked::{NoAnswer, Served};
pub use child::{Bounds, Command, Cwd, Ending, Error, Finished, Streams, run, run_heard};
pub use denial::{Denied, denied_paths};
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub use elsewhere::inside as helper;
pub use kept::Kept;
#[cfg(target_os = "macos")]
pub use macos::inside as helper;
pub use private_directory::PrivateDirectory;
pub use stop::Stop;
pub use streams::{Hear, Source};
pub use system::{Job, LEVELS, Sandbox, Setup, Unavailable};
