//! Holes of the attack review: shell.
