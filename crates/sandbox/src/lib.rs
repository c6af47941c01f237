//! Runs one process to its end, bounds it, and brings back what it said.
//!
//! Time, output and the whole process tree are bounded here. The process is *not* confined: it sees
//! the files and the network of whoever runs us.
//!
//! Must never: know a session, a model or an agent; wait without an end; hand our environment on.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod child;
pub mod kept;
pub mod limits;
#[cfg(target_os = "macos")]
pub mod macos;
pub mod seatbelt;
pub mod stop;
mod tree;

pub use child::{Bounds, Command, Cwd, Ending, Error, Finished, Streams, run};
pub use kept::Kept;
pub use stop::Stop;
