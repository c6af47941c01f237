//! Runs one process to its end, bounds it, and brings back what it said.
//!
//! Time, output and the whole process tree are bounded here. The process is *not* confined: it sees
//! the files and the network of whoever runs us.
//!
//! Must never: know a session, a model or an agent; wait without an end; hand our environment on.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(target_os = "linux")]
mod attest;
pub mod child;
mod denial;
#[cfg(target_os = "linux")]
mod escape;
pub mod egress;
#[cfg(target_os = "linux")]
pub mod helper;
pub mod kept;
pub mod limits;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod served;
mod spec;
pub mod protect;
pub mod stop;
mod streams;
mod tree;
mod view;
mod wire;

pub use child::{Bounds, Command, Cwd, Ending, Error, Finished, Streams, run};
pub use denial::{Denied, denied_paths};
pub use kept::Kept;
#[cfg(target_os = "linux")]
pub use sandbox::{Job, LEVELS, Sandbox, Setup, Unavailable};
#[cfg(target_os = "linux")]
pub use served::{NoAnswer, Served};
pub use stop::Stop;
