//! The shared parts of a ledger that are files of the home: locks and long contents.
//!
//! Must never: be named outside the assembly of a ledger and the repair of its file.

mod blobs;
mod locks;

pub(crate) use blobs::FileBlobs;
pub(crate) use locks::FileLocks;
