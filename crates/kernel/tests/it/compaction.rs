//! Compactions: which turns, what is shown, what is cut, and what always holds.

mod plans;
mod properties;
mod pruning;
mod session;
mod shown;
