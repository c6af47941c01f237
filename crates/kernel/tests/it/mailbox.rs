//! A session's mailbox: dialogues of what it is told and what it says, texts, settings, and what always holds.

mod dialogue;
mod modes;
mod properties;
mod settings;
mod texts;
