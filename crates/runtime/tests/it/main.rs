//! Room tests: real directories in, snapshots out.

mod agents;
mod channels;
mod definition_names;
mod paths;
