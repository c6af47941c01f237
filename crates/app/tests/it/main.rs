//! Stories: the real binary, a directory of its own, and the whole of what a command says.

mod approvals;
mod check;
mod check_files;
mod cli;
mod config;
mod confinement;
mod crash;
mod explain;
mod guide;
mod init;
mod init_from;
mod loud;
mod policy;
mod record;
mod replay;
mod resume;
mod run;
mod schema;
mod secrets;
mod show_agent;
mod show_prompt;
mod stdio;
mod story;
mod tasks;
mod template;
mod wiggum;
