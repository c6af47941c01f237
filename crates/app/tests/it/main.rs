//! Stories: the real binary, a directory of its own, and the whole of what a command says.

mod check;
mod check_files;
mod cli;
mod config;
mod explain;
mod guide;
mod init;
mod init_from;
mod loud;
mod schema;
mod show_agent;
mod show_prompt;
mod story;
mod template;
