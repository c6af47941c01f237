//! Room tests of the kernel: values in, decisions out.

mod access;
mod access_findings;
mod access_random;
mod access_reference;
mod approval;
mod authority;
mod confine;
mod models;
mod shell;
mod turn_explore;
mod turn_prefix;
