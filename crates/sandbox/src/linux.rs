//! The sandbox on Linux.

pub(crate) mod bwrap;
pub(crate) mod fence;
pub(crate) mod init;
pub(crate) mod memory;
pub(crate) mod mounts;
pub(crate) mod sys;
