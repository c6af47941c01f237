//! Runs one process to its end, bounds it, and brings back what it said.
//!
//! Time, output and the whole process tree are bounded here. The process is *not* confined: it sees
//! the files and the network of whoever runs us.
//!
//! Must never: know a session, a model or an agent; wait without an end; hand our environment on.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod child;
#[cfg(target_os = "linux")]
pub mod helper;
pub mod kept;
pub mod limits;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod sandbox;
mod spec;
pub mod stop;
mod streams;
mod tree;
mod view;
mod wire;

pub use child::{Bounds, Command, Cwd, Ending, Error, Finished, Streams, run};
pub use kept::Kept;
#[cfg(target_os = "linux")]
pub use sandbox::{Job, Sandbox};
pub use stop::Stop;
pub use view::environment;
