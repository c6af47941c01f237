//! Directories as text in, findings and agents as text out.

mod access;
mod agent_program;
mod channels;
mod codes;
mod config;
mod custom_tools;
mod documented;
mod event_hooks;
mod examples;
mod hooks;
mod hostile;
mod independence;
mod packs;
mod policies;
mod properties;
mod reading;
mod sandbox;
mod skills;
mod tasks;
mod templates;
mod texts;
mod trust;
