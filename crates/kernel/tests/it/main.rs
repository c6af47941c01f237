//! Room tests of the kernel: values in, decisions out.

mod access;
mod access_findings;
mod access_random;
mod access_reference;
mod approval;
mod authority;
mod chunk;
mod compaction;
mod confine;
mod event_hook;
mod executes;
mod executor_choice;
mod home;
mod links;
mod mailbox;
mod models;
mod paths;
mod permission;
mod schedule;
mod shell;
mod turn_compaction;
mod turn_explore;
mod turn_hooks;
mod turn_prefix;
mod way_in;
