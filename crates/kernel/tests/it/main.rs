//! Room tests of the kernel: values in, decisions out.

mod approval;
mod authority;
mod confine;
mod models;
mod shell;
mod turn_explore;
mod turn_prefix;
